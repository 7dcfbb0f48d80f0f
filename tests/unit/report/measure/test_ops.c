/* Stacks joined with spans: which op a stack is of, what part of the stall each has, and what rows of a
 * stranger's file do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/fake_run.h"

#include "report/measure/ops.h"
#include "report/measure/stack_view.h"

#include <math.h>

/* ---- a made-up recording: two workers that are waited for, one that is not ---- */

static const struct pp_stack_function_row functions[] = {
    {.id = 1,
     .function = "_worker_loop",
     .file = "/usr/lib/python3/dist-packages/torch/utils/data/_utils/worker.py"},
    {.id = 2,
     .function = "_MapDatasetFetcher.fetch",
     .file = "/usr/lib/python3/dist-packages/torch/utils/data/_utils/fetch.py"},
    {.id = 3,
     .function = "_MapDatasetFetcher.fetch.<locals>.<listcomp>",
     .file = "/usr/lib/python3/dist-packages/torch/utils/data/_utils/fetch.py"},
    {.id = 4, .function = "Birds.__getitem__", .file = "/home/u/train.py"},
    {.id = 5,
     .function = "Compose.__call__",
     .file = "/v/site-packages/torchvision/transforms/transforms.py"},
    {.id = 6, .function = "Blur.__call__", .file = "/home/u/augment.py"},
    {.id = 7, .function = "Image.filter", .file = "/v/site-packages/PIL/Image.py"},
    {.id = 8, .function = "Noise.__call__", .file = "/home/u/augment.py"},
    {.id = 9, .function = "load", .file = "/home/u/files.py"},
    {.id = 10, .function = "DictReader.__next__", .file = "/usr/lib/python3.11/csv.py"},
    {.id = 11,
     .function = "default_collate",
     .file = "/usr/lib/python3/dist-packages/torch/utils/data/_utils/collate.py"},
    {.id = 12, .function = "Hot.__getitem__", .file = "/home/u/train.py"},
    {.id = 13, .function = "main", .file = "/home/u/train.py"},
    {.id = 14, .function = "<lambda>", .file = "<string>"},
    {.id = 15, .function = "all", .file = "/v/site-packages/numpy/_core/fromnumeric.py"},
    {.id = 16, .function = "Birds.__init__", .file = "/home/u/train.py"},
    {.id = 17, .function = "evaluate", .file = "/home/u/train.py"},
    {.id = 18, .function = "evaluate.<locals>.<lambda>", .file = "/home/u/train.py"},
    {.id = 19, .function = "unpack.<locals>.new_method", .file = "/v/site-packages/pandas/core/common.py"},
    {.id = 20, .function = "Subset.__getitems__", .file = "/v/site-packages/torch/utils/data/dataset.py"},
    {.id = 21,
     .function = "TensorDataset.__getitem__",
     .file = "/v/site-packages/torch/utils/data/dataset.py"},
    {.id = 22,
     .function = "TensorDataset.__getitem__.<locals>.<genexpr>",
     .file = "/v/site-packages/torch/utils/data/dataset.py"},
    {.id = 23, .function = "Dataset.__getitem__", .file = "/v/site-packages/datasets/arrow_dataset.py"},
    {.id = 24, .function = "Dataset._getitem", .file = "/v/site-packages/datasets/arrow_dataset.py"},
    {.id = 25, .function = "format_table", .file = "/v/site-packages/datasets/formatting/formatting.py"},
    {.id = 26, .function = "Table.__getitem__", .file = "/v/site-packages/datasets/table.py"},
    {.id = 27, .function = "Order.__iter__", .file = "/home/u/train.py"},
    {.id = 28, .function = "Order.__iter__.<locals>.<listcomp>", .file = "/home/u/train.py"},
    {.id = 29, .function = "RandomSampler.__iter__", .file = "/v/site-packages/torch/utils/data/sampler.py"},
};
static const struct pp_stack_op_row members[] = {
    {.id = 1, .path = "dataset", .class = "Birds", .arguments = ""},
    {.id = 2, .path = "dataset.transform", .class = "Compose", .arguments = ""},
    {.id = 3, .path = "dataset.transform.transforms[0]", .class = "Blur", .arguments = "radius=2"},
    {.id = 4, .path = "dataset.transform.transforms[1]", .class = "Noise", .arguments = ""},
};
/* The trie; the leaves that samples have are named. */
enum {
    BLUR = 7,
    NOISE = 9,
    CSV = 11,
    COLLATE = 12,
    HOT = 14,
    STEP = 15,
    FOLDED = 16,
    ALL = 17,
    INIT_CSV = 20,
    EVALUATE,
    LOOP,
    EVALUATE_TOO, /* another line of it */
    LOAD_TOO,     /* another line of what reads with CSV */
    EVALUATE_KEY, /* a function without a name in it */
    CSV_TOO = 28, /* by another line of Birds.__getitem__ */
    WRAPPED,
    FETCH = 3, /* its list of samples */
    TENSORS = 31,
    ROWS = 35,
    DRAW = 38, /* in the line of the frame before it */
    DRAW_TOO,
    DRAW_OF_TORCH,
    LAMBDA, /* that a function of the job's hands to a library */
    LEAVES
};
static const struct pp_stack_row frames[] = {
    {1, 0, 1, 300, 0},
    {2, 1, 2, 50, 0},
    {3, 2, 3, 51, 0},
    {4, 3, 4, 40, 1},
    {5, 4, 5, 94, 3},
    {6, 5, 6, 29, 3},
    {BLUR, 6, 7, 1305, 0},
    {8, 5, 8, 22, 4},
    {NOISE, 8, 14, 1, 0},
    {10, 4, 9, 7, 0},
    {CSV, 10, 10, 111, 0},
    {COLLATE, 2, 11, 140, 0},
    {13, 3, 12, 60, 0},
    {HOT, 13, 14, 1, 0},
    {STEP, 0, 13, 80, 0},
    {FOLDED, 6, 14, 3, 0},
    {ALL, 10, 15, 9, 0},
    {18, 0, 13, 70, 0},
    {19, 18, 16, 31, 0},
    {INIT_CSV, 19, 10, 111, 0},
    {EVALUATE, 18, 17, 90, 0},
    {LOOP, 0, 13, 71, 0},
    {EVALUATE_TOO, 18, 17, 93, 0},
    {LOAD_TOO, 4, 9, 8, 0},
    {EVALUATE_KEY, EVALUATE, 18, 90, 0},
    {26, 3, 4, 41, 1},
    {27, 26, 9, 7, 0},
    {CSV_TOO, 27, 10, 111, 0},
    {WRAPPED, 10, 19, 81, 0},
    {30, 2, 20, 420, 0},
    {TENSORS, 30, 21, 206, 0},
    {32, TENSORS, 22, 206, 0},
    {33, 3, 23, 2900, 0},
    {34, 33, 24, 2880, 0},
    {ROWS, 34, 25, 660, 0},
    {36, ROWS, 26, 90, 0},
    {37, STEP, 27, 12, 0},
    {DRAW, 37, 28, 13, 0},
    {DRAW_TOO, STEP, 27, 15, 0},
    {DRAW_OF_TORCH, STEP, 29, 180, 0},
    {LAMBDA, CSV, 18, 7, 0},
};

struct made {
    struct fake_run *run;
    struct pp_stack_sample_row *samples;
    size_t n, room;
    const struct pp_stack_row *frames;
    size_t n_frames;
};

static const struct made *current; /* whose rows the source of a test has */

static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    const struct made *m = current;
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        to->function(to->ctx, &functions[i]);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        to->op(to->ctx, &members[i]);
    for (size_t i = 0; i < m->n_frames; i++)
        to->frame(to->ctx, &m->frames[i]);
    for (size_t i = 0; i < m->n; i++)
        to->sample(to->sample_ctx, &m->samples[i]);
    return PP_OK;
}

static void add_sample(struct made *m, uint64_t t_ns, uint32_t thread, uint32_t stack, char state)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 256;
        m->samples = realloc(m->samples, m->room * sizeof(*m->samples));
    }
    m->samples[m->n++] = (struct pp_stack_sample_row){.t_ns = t_ns,
                                                      .thread = thread,
                                                      .stack = stack,
                                                      .state = state};
}

enum { BATCHES = 200, CYCLE_MS = 50 };

/* Every 50 ms the trainer waits 30 ms for a batch and steps 20 ms. Two workers take turns and are busy all
 * the time: of a batch's 100 ms the first `blur` tenths are Blur, then Noise, and the last one collates. */
static struct made make(int blur)
{
    struct made m = {.run = calloc(1, sizeof(*m.run)),
                     .frames = frames,
                     .n_frames = sizeof(frames) / sizeof(*frames)};
    uint32_t trainer = fake_thread(m.run, PP_LANE_TRAINER, "trainer"),
             worker[2] = {fake_thread(m.run, PP_LANE_WORKER, "worker 0"),
                          fake_thread(m.run, PP_LANE_WORKER, "worker 1")};
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t t = FAKE_T0 + b * CYCLE_MS * FAKE_MS, made_at = t - 70 * FAKE_MS;
        struct pp_span *s = fake_span(m.run, trainer, PP_PHASE_DATA_WAIT, t, 30 * FAKE_MS);
        s->batch = b;
        s = fake_span(m.run, trainer, PP_PHASE_STEP, t + 30 * FAKE_MS, 20 * FAKE_MS);
        s->batch = b;
        s = fake_span(m.run, worker[b % 2], PP_PHASE_TRANSFORM, made_at, 90 * FAKE_MS);
        s->batch = b;
        s->cpu_ns = 90 * FAKE_MS;
        s = fake_span(m.run, worker[b % 2], PP_PHASE_COLLATE, made_at + 90 * FAKE_MS, 10 * FAKE_MS);
        s->batch = b;
        for (int k = 0; k < 10; k++)
            add_sample(&m, made_at + (10 * (uint64_t)k + 5) * FAKE_MS, worker[b % 2],
                       k == 9     ? COLLATE
                       : k < blur ? BLUR
                                  : NOISE,
                       k < blur ? 'R' : 'S');
        add_sample(&m, t + 40 * FAKE_MS, trainer, STEP, 'R');
    }
    return m;
}

static struct pp_ops read_ops(struct made *m)
{
    struct pp_source source = fake_source(m->run);
    struct pp_timeline tl;
    struct pp_ops ops;
    struct pp_err err = {0};
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    source.each_stack = each_stack;
    current = m;
    assert_int_equal(pp_ops_read(&source, &tl, &ops, &err), PP_OK);
    pp_timeline_free(&tl);
    return ops;
}

static void drop(struct made *m)
{
    fake_free(m->run);
    free(m->samples);
}

static const struct pp_op *op_named(const struct pp_ops *ops, const char *word)
{
    const struct pp_op *op = pp_ops_find(ops, word, strlen(word));
    if (!op)
        fail_msg("no op %s", word);
    return op;
}

/* 30 epochs of ten batches, and 500 ms between two of them, in which `makes` of ten stacks are in a
 * constructor that reads, `evaluates` in a function of the loop, and the rest in the loop's own line. */
static struct made make_epochs(int makes, int evaluates)
{
    struct made m = {.run = calloc(1, sizeof(*m.run)),
                     .frames = frames,
                     .n_frames = sizeof(frames) / sizeof(*frames)};
    uint32_t trainer = fake_thread(m.run, PP_LANE_TRAINER, "trainer");
    uint64_t t = FAKE_T0;
    for (uint32_t b = 0; b < 300; b++, t += CYCLE_MS * FAKE_MS) {
        for (int k = 0; b && b % 10 == 0 && k < 10; k++, t += 50 * FAKE_MS)
            add_sample(&m, t + 20 * FAKE_MS, trainer,
                       k < makes               ? INIT_CSV
                       : k < makes + evaluates ? EVALUATE
                                               : LOOP,
                       'R');
        struct pp_span *s = fake_span(m.run, trainer, PP_PHASE_DATA_WAIT, t, 30 * FAKE_MS);
        s->batch = b, s->epoch = (uint16_t)(b / 10);
        s = fake_span(m.run, trainer, PP_PHASE_STEP, t + 30 * FAKE_MS, 20 * FAKE_MS);
        s->batch = b, s->epoch = (uint16_t)(b / 10);
        add_sample(&m, t + 40 * FAKE_MS, trainer, STEP, 'R');
    }
    return m;
}

/* ---- tests ---- */

static void test_what_runs_between_epochs_is_named(void **state)
{
    static const struct {
        int makes, evaluates;
        const char *name, *place, *class;
        double share;
    } rows[] = {{8, 2, "Birds.__init__", "train.py:31", "Birds", 0.8},
                {3, 7, "evaluate", "train.py:90", NULL, 0.7},
                {1, 1, "main", "train.py:71", NULL, 0.8}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made m = make_epochs(rows[i].makes, rows[i].evaluates);
        struct pp_ops ops = read_ops(&m);
        const struct pp_op_step *b = &ops.between;
        assert_string_equal(b->name, rows[i].name);
        assert_string_equal(b->place, rows[i].place);
        assert_true(rows[i].class ? b->class && strcmp(b->class, rows[i].class) == 0 : !b->class);
        assert_true(fabs(b->share - rows[i].share) < 0.01 && b->share_low < b->share);
        assert_true(ops.step_n > 290); /* and is no step's line */
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* A function that a step calls is one row, whatever its lines, with the line that has most; each line of the
 * loop is a row of its own. */
static void test_a_function_of_a_step_is_one(void **state)
{
    static const uint32_t turn[] = {EVALUATE_KEY, EVALUATE_TOO, EVALUATE_TOO, STEP, LOOP};
    (void)state;
    struct made m = make(6);
    for (size_t i = 0, k = 0; i < m.n; i++)
        if (m.samples[i].stack == STEP)
            m.samples[i].stack = turn[k++ % 5];
    struct pp_ops ops = read_ops(&m);
    assert_int_equal(ops.n_steps, 3);
    assert_string_equal(ops.steps[0].name, "evaluate");
    assert_string_equal(ops.steps[0].place, "train.py:93");
    assert_true(fabs(ops.steps[0].share - 0.6) < 0.02);
    assert_true(fabs(ops.steps[1].share - 0.2) < 0.02 && strcmp(ops.steps[1].name, "main") == 0);
    pp_ops_free(&ops);
    drop(&m);
}

/* A job of whom no step is known, as of one without a loader: all of its first thread. */
static void test_a_job_without_steps_has_its_line(void **state)
{
    struct made m = {.run = calloc(1, sizeof(*m.run)),
                     .frames = frames,
                     .n_frames = sizeof(frames) / sizeof(*frames)};
    uint32_t trainer = fake_thread(m.run, PP_LANE_TRAINER, "trainer");
    (void)state;
    fake_span(m.run, trainer, PP_PHASE_DATA_WAIT, FAKE_T0, FAKE_MS)->batch = 0;
    for (uint64_t i = 0; i < 100; i++) {
        add_sample(&m, FAKE_T0 + i * 100 * FAKE_MS, trainer, i % 4 ? EVALUATE : LOOP, 'R');
        add_sample(&m, FAKE_T0 + i * 100 * FAKE_MS, trainer + 1, CSV, 'R');
    }
    struct pp_ops ops = read_ops(&m);
    assert_true(ops.steps_known && ops.n_steps == 2 && ops.step_n == 100);
    assert_string_equal(ops.steps[0].name, "evaluate");
    assert_string_equal(ops.steps[0].place, "train.py:90");
    assert_true(fabs(ops.steps[0].share - 0.75) < 0.01);
    pp_ops_free(&ops);
    drop(&m);
}

static void test_members_have_their_share_and_their_line(void **state)
{
    struct made m = make(6);
    struct pp_ops ops = read_ops(&m);
    const struct pp_op *blur = op_named(&ops, "Blur"), *noise = op_named(&ops, "Noise");
    (void)state;
    assert_string_equal(blur->name, "Blur(radius=2)");
    assert_string_equal(blur->place, "augment.py:29");
    assert_string_equal(blur->path, "transforms[0]");
    assert_string_equal(blur->callee, "Image.filter");
    assert_true(fabs(blur->share - 0.6) < 0.01 && fabs(blur->share_all - 0.6) < 0.01);
    assert_true(blur->share_low < 0.6 && blur->share_high > 0.6 && blur->share_high - blur->share_low < 0.06);
    assert_true(blur->cpu == blur->n && noise->cpu == 0);
    assert_true(fabs(noise->share - 0.3) < 0.01);
    assert_true(op_named(&ops, "default_collate")->of_batch);
    assert_true(ops.missing_s == 0 && ops.weighted > 1500);
    assert_int_equal(ops.n_loaders, 1);
    assert_true(ops.loaders[0].n[1] > 0 && fabs(ops.loaders[0].n[0] / ops.loaders[0].n[1] - 9) < 0.2);
    /* the step's line is the trainer's */
    assert_int_equal(ops.n_steps, 1);
    assert_string_equal(ops.steps[0].place, "train.py:80");
    pp_ops_free(&ops);
    drop(&m);
}

/* Without a member the op is a line of the user's code; what only hands on is passed over, and a line is
 * named by what it calls. */
/* Reading fails more often in one phase than in another: the spans say what each phase has. */
static void test_a_phase_has_the_share_of_its_spans(void **state)
{
    (void)state;
    struct made m = make(6);
    size_t kept = 0;
    for (size_t i = 0; i < m.n; i++)
        if (i % 3 || m.samples[i].stack == COLLATE || m.samples[i].stack == STEP)
            m.samples[kept++] = m.samples[i];
    m.n = kept;
    struct pp_ops ops = read_ops(&m);
    double collate = 0;
    for (size_t i = 0; i < ops.n_ops; i++)
        collate += ops.ops[i].of_batch ? ops.ops[i].share : 0;
    assert_true(fabs(collate - 0.1) < 0.002); /* of the samples 1 in 7 */
    assert_true(fabs(op_named(&ops, "Blur")->share - 0.6) < 0.02);
    pp_ops_free(&ops);
    drop(&m);
}

static void test_lines_without_members(void **state)
{
    struct made m = make(0);
    (void)state;
    for (size_t i = 0; i < m.n; i++)
        m.samples[i].stack = m.samples[i].stack == NOISE ? CSV : m.samples[i].stack;
    struct pp_ops ops = read_ops(&m);
    const struct pp_op *op = &ops.ops[0];
    assert_string_equal(op->name, "DictReader.__next__ in load");
    assert_string_equal(op->word, "DictReader.__next__");
    assert_string_equal(op->place, "files.py:7");
    assert_null(op->path);
    assert_non_null(strstr(op->code, "csv.py:DictReader.__next__"));
    pp_ops_free(&ops);
    drop(&m);
}

/* A line that calls two dear functions has both names; of one that is a tenth, the other's alone. */
static void test_a_line_with_two_calls(void **state)
{
    static const struct {
        size_t every;
        const char *name;
    } rows[] = {{3, "DictReader.__next__ and numpy.all in load"}, {10, "DictReader.__next__ in load"}};
    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        struct made m = make(0);
        for (size_t i = 0, k = 0; i < m.n; i++)
            if (m.samples[i].stack == NOISE)
                m.samples[i].stack = k++ % rows[r].every ? CSV : ALL;
        struct pp_ops ops = read_ops(&m);
        assert_string_equal(ops.ops[0].name, rows[r].name);
        assert_string_equal(ops.ops[0].word, "DictReader.__next__");
        assert_string_equal(ops.ops[0].place, "files.py:7");
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* Two lines that call one function are that function once. */
static void test_a_function_that_two_lines_call(void **state)
{
    struct made m = make(0);
    (void)state;
    for (size_t i = 0, k = 0; i < m.n; i++)
        if (m.samples[i].stack == NOISE)
            m.samples[i].stack = k++ % 2 ? CSV : CSV_TOO;
    struct pp_ops ops = read_ops(&m);
    assert_int_equal(ops.n_ops, 2); /* and collating */
    assert_string_equal(ops.ops[0].name, "load");
    assert_string_equal(ops.ops[0].place, "files.py:7");
    assert_true(fabs(ops.ops[0].share - 0.9) < 0.01);
    pp_ops_free(&ops);
    drop(&m);
}

/* A sample of the first seconds, which are read more often, stands for less time. */
static void test_dense_samples_weigh_less(void **state)
{
    struct made m = make(0);
    (void)state;
    for (size_t i = 0; i < m.n; i++) {
        int early = m.samples[i].t_ns < FAKE_T0 + (uint64_t)BATCHES / 2 * CYCLE_MS * FAKE_MS;
        m.samples[i].flags = early ? PP_STACK_DENSE : 0;
        m.samples[i].stack = m.samples[i].stack == NOISE && !early ? BLUR : m.samples[i].stack;
    }
    struct pp_ops ops = read_ops(&m);
    const double part = 0.9 * PP_STACKS_DENSER / (PP_STACKS_DENSER + 1);
    assert_true(fabs(op_named(&ops, "Blur")->share - part) < 0.02);
    assert_true(fabs(op_named(&ops, "Blur")->share_all - part) < 0.02);
    pp_ops_free(&ops);
    drop(&m);
}

/* A library's function has its package, which a short name needs. */
static void test_a_function_of_a_library_has_its_package(void **state)
{
    struct made m = make(0);
    (void)state;
    for (size_t i = 0; i < m.n; i++)
        m.samples[i].stack = m.samples[i].stack == NOISE ? ALL : m.samples[i].stack;
    struct pp_ops ops = read_ops(&m);
    assert_string_equal(ops.ops[0].name, "numpy.all in load");
    assert_string_equal(ops.ops[0].word, "numpy.all");
    pp_ops_free(&ops);
    drop(&m);
}

/* What a decorator of a library puts around a function has no name that a user knows. */
static void test_a_wrapper_names_nothing(void **state)
{
    struct made m = make(0);
    (void)state;
    for (size_t i = 0; i < m.n; i++)
        m.samples[i].stack = m.samples[i].stack == NOISE ? WRAPPED : m.samples[i].stack;
    struct pp_ops ops = read_ops(&m);
    assert_string_equal(ops.ops[0].name, "load");
    assert_string_equal(ops.ops[0].place, "files.py:7");
    assert_null(ops.ops[0].callee);
    pp_ops_free(&ops);
    drop(&m);
}

/* Comprehensions and generated code stand for no line of their own. */
static void test_folded_code_is_its_callers(void **state)
{
    static const struct {
        uint32_t stack;
        const char *name, *place;
    } rows[] = {{HOT, "Hot.__getitem__", "train.py:60"},
                {LAMBDA, "DictReader.__next__ in load", "files.py:7"}};
    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        struct made m = make(0);
        for (size_t i = 0; i < m.n; i++)
            m.samples[i].stack = m.samples[i].stack == NOISE ? rows[k].stack : m.samples[i].stack;
        struct pp_ops ops = read_ops(&m);
        assert_string_equal(ops.ops[0].name, rows[k].name);
        assert_string_equal(ops.ops[0].place, rows[k].place);
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* A data set that is a library's is an operation with the share of its phase. What
 * tells nothing is of the rest of its phase: stacks whose inner frames were not read, and few that end in the
 * fetch; if no stack of the phase tells anything, nothing has its share. */
static void test_a_data_set_of_a_library_is_an_operation(void **state)
{
    static const struct {
        uint32_t stack, other; /* other: of every third one, with these flags */
        uint32_t flags;
        const char *name, *word;
    } rows[] = {
        {TENSORS, TENSORS + 1, 0, "TensorDataset.__getitem__", "TensorDataset.__getitem__"},
        {TENSORS, FETCH, 0, "TensorDataset.__getitem__", "TensorDataset.__getitem__"},
        {TENSORS, TENSORS, PP_STACK_TOP_UNKNOWN, "TensorDataset.__getitem__", "TensorDataset.__getitem__"},
        {ROWS, ROWS + 1, 0, "datasets.format_table in Dataset.__getitem__", "datasets.format_table"},
        {FETCH, TENSORS, 0, "TensorDataset.__getitem__", "TensorDataset.__getitem__"},
        {FETCH, FETCH, PP_STACK_CUT, NULL, "dataset.__getitem__"},
        {0, 0, 0, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made m = make(0);
        double made_share = 0, collates = 0;
        for (size_t k = 0, of = 0; k < m.n; k++)
            if (m.samples[k].stack == NOISE) {
                int other = of++ % 3 == 0;
                m.samples[k].stack = !rows[i].word ? FETCH : other ? rows[i].other : rows[i].stack;
                m.samples[k].flags = !rows[i].word ? PP_STACK_TOP_UNKNOWN : other ? rows[i].flags : 0;
            }
        struct pp_ops ops = read_ops(&m);
        for (size_t k = 0; k < ops.n_ops; k++)
            *(ops.ops[k].of_batch ? &collates : &made_share) += ops.ops[k].share;
        assert_true(fabs(collates - 0.1) < 0.005 && fabs(made_share - (rows[i].word ? 0.9 : 0)) < 0.005);
        if (rows[i].word)
            assert_string_equal(ops.ops[0].word, rows[i].word);
        if (rows[i].name)
            assert_string_equal(ops.ops[0].name, rows[i].name);
        assert_int_equal(ops.n_ops, !rows[i].word ? 1 : 2);
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* A data set with frames is Python in each of its phases: one stack that ends in the fetch does not have the
 * weight of a phase of which no other stack is known. */
static void test_a_stray_stack_has_no_phase(void **state)
{
    struct made m = make(0);
    size_t kept = 0, strays = 0;
    (void)state;
    for (uint32_t t = 1; t <= 2; t++)
        for (size_t i = 0; i < m.run->n_spans[t]; i++)
            if (m.run->span[t][i].phase == PP_PHASE_TRANSFORM && m.run->span[t][i].batch % 10 == 0)
                m.run->span[t][i].phase = PP_PHASE_READ;
    for (size_t i = 0, made = 0; i < m.n; i++) {
        int reads = m.samples[i].stack == NOISE && made++ / 9 % 10 == 0;
        if (reads && strays++ == 50) /* of the steady state */
            m.samples[i].stack = FETCH, reads = 0;
        if (!reads)
            m.samples[kept++] = m.samples[i];
    }
    m.n = kept;
    struct pp_ops ops = read_ops(&m);
    double named = 0;
    for (size_t i = 0; i < ops.n_ops; i++)
        named += ops.ops[i].share;
    assert_int_equal(ops.n_ops, 2); /* and collating */
    assert_true(fabs(named - 0.91) < 0.01);
    pp_ops_free(&ops);
    drop(&m);
}

/* Where the job's own sampler draws is known by its class; a library's has no line that a user can change. */
static void test_the_line_that_draws(void **state)
{
    static const struct {
        const char *sampler;
        uint32_t stack;
        size_t every; /* of the draws: in the other line */
        int told;
    } rows[] = {{"__main__.Order", DRAW, 10, 1},
                {"__main__.Order", DRAW, 2, 0},
                {"__main__.Other", DRAW, 10, 0},
                {NULL, DRAW, 10, 0},
                {"torch.utils.data.sampler.RandomSampler", DRAW_OF_TORCH, 1000, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made m = make(6);
        if (rows[i].sampler)
            fake_text(m.run, "config", "sampler", rows[i].sampler);
        for (uint32_t b = 1; b < 100; b++)
            add_sample(&m, FAKE_T0 + (b * CYCLE_MS + 10) * FAKE_MS, 0,
                       b % rows[i].every ? rows[i].stack : DRAW_TOO, 'R');
        struct pp_ops ops = read_ops(&m);
        assert_int_equal(pp_op_step_is_told(&ops.draws), rows[i].told);
        if (rows[i].told) {
            assert_string_equal(ops.draws.name, "Order.__iter__");
            assert_string_equal(ops.draws.place, "train.py:12");
        }
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* A worker that is never waited for has no share, however hot it is. */
static void test_what_nobody_waits_for_weighs_nothing(void **state)
{
    struct made m = make(6);
    (void)state;
    uint32_t decoy = fake_thread(m.run, PP_LANE_WORKER, "worker 2");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t t = FAKE_T0 + b * CYCLE_MS * FAKE_MS;
        struct pp_span *s = fake_span(m.run, decoy, PP_PHASE_TRANSFORM, t, 49 * FAKE_MS);
        s->batch = (1u << 24) + b; /* which the trainer takes without waiting */
        for (int k = 0; k < 5; k++)
            add_sample(&m, t + (uint64_t)(10 * k + 3) * FAKE_MS, decoy, HOT, 'R');
    }
    struct pp_ops ops = read_ops(&m);
    const struct pp_op *hot = op_named(&ops, "Hot.__getitem__");
    assert_true(hot->share < 0.001 && hot->share_all > 0.15);
    assert_true(fabs(op_named(&ops, "Blur")->share - 0.6) < 0.01);
    pp_ops_free(&ops);
    drop(&m);
}

/* Few samples suffice where the largest share is clearly that, fewer where it is surely most of the stall;
 * and no more are asked for. */
static void test_too_few_samples_are_silent(void **state)
{
    static const struct {
        int blur;
        size_t n;
        int silent;
        double windows; /* that they ask for at most */
    } rows[] = {{6, 300, 0, 0}, {5, 110, 1, 4}, {8, 110, 0, 0}, {5, 60, 1, 7}, {8, 60, 0, 0}, {8, 40, 1, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made m = make(rows[i].blur);
        m.n = rows[i].n;
        struct pp_ops ops = read_ops(&m);
        assert_true(ops.weighted < (double)rows[i].n && ops.n_ops > 0);
        assert_int_equal(ops.missing_s >= 1 && isfinite(ops.missing_s), rows[i].silent);
        assert_true(ops.missing_s <= ceil(rows[i].windows * BATCHES * CYCLE_MS / 1e3));
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* Of a function whose lines take turns, one line has most only of many samples; the function has it of few.
 */
static void test_a_function_is_named_before_its_lines(void **state)
{
    static const struct {
        size_t n, ops; /* ops: of the function */
        double share;
    } rows[] = {{100, 1, 0.85}, {1200, 2, 0.4}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made m = make(5);
        size_t ops_of = 0;
        m.n = rows[i].n;
        for (size_t k = 0; k < m.n; k++)
            m.samples[k].stack = m.samples[k].stack == NOISE  ? LOAD_TOO
                                 : m.samples[k].stack == BLUR ? CSV
                                                              : m.samples[k].stack;
        struct pp_ops ops = read_ops(&m);
        for (size_t k = 0; k < ops.n_ops; k++)
            ops_of += ops.ops[k].place && strncmp(ops.ops[k].place, "files.py:", 9) == 0;
        assert_true(ops.missing_s == 0 && ops.ops[0].share >= rows[i].share);
        assert_true(ops_of == rows[i].ops && strstr(ops.ops[0].name, "load"));
        pp_ops_free(&ops);
        drop(&m);
    }
}

/* Rows that name what there is not, or themselves, are left out with what hangs on them. */
static void test_rows_that_do_not_hold_together(void **state)
{
    static const struct pp_stack_row wrong[] = {{1, 1, 1, 0, 0},  {2, 9, 1, 0, 0}, {3, 0, 77, 0, 0},
                                                {4, 0, 1, 5, 99}, {4, 0, 1, 5, 0}, {9, 4, 2, 0, 0},
                                                {0, 0, 1, 0, 0}};
    struct made m = make(6);
    (void)state;
    m.frames = wrong;
    m.n_frames = sizeof(wrong) / sizeof(*wrong);
    struct pp_ops ops = read_ops(&m);
    assert_int_equal(ops.stacks.n_frames, 2);
    assert_true(ops.stacks.left_out >= m.n_frames - 2);
    assert_true(ops.stacks.frames[0].op == PP_STACK_NONE && ops.stacks.frames[1].parent == 0);
    pp_ops_free(&ops);
    drop(&m);
}

static void test_code_is_told_by_its_file(void **state)
{
    static const struct {
        const char *file, *name;
        enum pp_code_kind kind;
    } rows[] = {
        {"/home/u/train.py", "main", PP_CODE_USER},
        {"/home/u/train.py", "f.<locals>.<lambda>", PP_CODE_USER},
        {"/home/u/train.py", "f.<locals>.<listcomp>", PP_CODE_FOLDED},
        {"/home/u/python3.11/train.py", "main", PP_CODE_LIBRARY},
        {"/usr/lib/python3.11/random.py", "shuffle", PP_CODE_LIBRARY},
        {"/opt/python/cp39/python39.zip/csv.py", "reader", PP_CODE_LIBRARY},
        {"/home/u/mypython/train.py", "main", PP_CODE_USER},
        {"/home/u/.venv/lib/python3.12/site-packages/PIL/Image.py", "open", PP_CODE_LIBRARY},
        {"<frozen importlib._bootstrap>", "_find", PP_CODE_FOLDED},
        {"/x/pipeprobe_hooks.py", "f", PP_CODE_FOLDED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (pp_code_kind(&(struct pp_stack_function){1, 0, rows[i].name, rows[i].file}) != rows[i].kind)
            fail_msg("%s %s", rows[i].file, rows[i].name);
    assert_string_equal(pp_function_short("a.<locals>.B.c"), "B.c");
    assert_string_equal(pp_function_short("f"), "f");
    assert_string_equal(pp_function_short("pkg.mod.Class.method"), "Class.method");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_have_their_share_and_their_line),
        cmocka_unit_test(test_a_phase_has_the_share_of_its_spans),
        cmocka_unit_test(test_lines_without_members),
        cmocka_unit_test(test_a_line_with_two_calls),
        cmocka_unit_test(test_a_function_that_two_lines_call),
        cmocka_unit_test(test_dense_samples_weigh_less),
        cmocka_unit_test(test_a_function_of_a_library_has_its_package),
        cmocka_unit_test(test_a_wrapper_names_nothing),
        cmocka_unit_test(test_folded_code_is_its_callers),
        cmocka_unit_test(test_a_data_set_of_a_library_is_an_operation),
        cmocka_unit_test(test_a_stray_stack_has_no_phase),
        cmocka_unit_test(test_the_line_that_draws),
        cmocka_unit_test(test_what_nobody_waits_for_weighs_nothing),
        cmocka_unit_test(test_what_runs_between_epochs_is_named),
        cmocka_unit_test(test_a_function_of_a_step_is_one),
        cmocka_unit_test(test_a_job_without_steps_has_its_line),
        cmocka_unit_test(test_too_few_samples_are_silent),
        cmocka_unit_test(test_a_function_is_named_before_its_lines),
        cmocka_unit_test(test_rows_that_do_not_hold_together),
        cmocka_unit_test(test_code_is_told_by_its_file),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
