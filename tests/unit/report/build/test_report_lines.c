/* What a report says of lines of the job: which are named, and what is advised. */
#include "tests/support/made_report.h"
#include "tests/support/made_costs.h"

/* Where the step is what takes the time, the line that takes most of it is said; beside other load as the
 * job's own. On a GPU such a line waits for it. */
static void test_the_line_of_the_step_is_named(void **state)
{
    static const struct {
        const char *l0;
        double low, waits;
        int on_gpu, next, then;
    } rows[] = {{"not-input-bound", 0.4, 0, 0, 1, 0}, {"cpu-starved", 0.4, 0.03, 0, 0, 1},
                {"cpu-starved", 0.4, 0.16, 0, 0, 1}, /* alone it would wait for data: not "the step itself" */
                {"input-bound", 0.4, 0, 0, 0, 0},     {"not-input-bound", 0.1, 0, 0, 0, 0},
                {"not-input-bound", 0.4, 0, 1, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report_gpu gpu = {0};
        struct pp_report_step_line line = {"step", "train.py:22", "copy.deepcopy", 0.5, rows[i].low, 0.6, 1};
        struct pp_report r = {.step_lines = &line, .n_step_lines = 1, .gpu = rows[i].on_gpu ? &gpu : NULL};
        r.verdict.l0 = rows[i].l0, r.verdict.next_step = "Optimise the step itself.";
        r.data_wait_share = rows[i].waits;
        pp_ops_speak(&r, &arena);
        assert_int_equal(strstr(r.verdict.next_step, "copy.deepcopy, train.py:22, 50 %") != NULL,
                         rows[i].next);
        assert_int_equal(r.verdict.then && strstr(r.verdict.then, "copy.deepcopy, train.py:22, 50 %"),
                         rows[i].then);
        assert_int_equal(r.verdict.then && strstr(r.verdict.then, "the step itself.") == r.verdict.then,
                         rows[i].then && rows[i].waits < 0.05);
        pp_arena_free(&arena);
    }
}

/* A line that mostly waits stands before a smaller want of CPUs; one that computes may be long for that want.
 */
static void test_a_line_that_waits_stands_first(void **state)
{
    static const struct {
        double stretched, cpu_share;
        int first;
    } rows[] = {{0.07, 0.1, 1}, {0.07, 0.9, 0}, {0.5, 0.1, 0}, {NAN, 0.1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report_step_line line = {"put", "log.py:14", NULL, 0.45, 0.4, 0.5, rows[i].cpu_share};
        struct pp_report r = {.step_lines = &line, .n_step_lines = 1};
        r.verdict.l0 = "not-input-bound", r.verdict.next_step = "Free CPUs.";
        r.verdict.stretched = rows[i].stretched;
        pp_ops_speak(&r, &arena);
        assert_string_equal(r.verdict.next_step,
                            rows[i].first ? "Batches come in time. Optimise the step itself. What takes most "
                                            "of a step: put, log.py:14, 45 %."
                                          : "Free CPUs. What takes most of a step: put, log.py:14, 45 %.");
        pp_arena_free(&arena);
    }
}

/* Where other processes take the CPUs and nothing else is said, the line that costs the workers most comes
 * second, and the step's after it; where something is, the line stands beside that. */
static void test_beside_others_the_line_comes_second(void **state)
{
    static const struct {
        const char *cause, *then;
        double gain, waits;
        int said, or_line;
    } rows[] = {{"cpu-contended", NULL, 0.3, 0.1, 1, 0},
                {"cpu-contended", NULL, 0.001, 0.1, 0, 0},
                {"cpu-contended", NULL, 0.001, 0.3, 0, 0},
                {"cpu-contended", NULL, NAN, 0.3, 1, 0},
                {"cpu-contended", NULL, NAN, 0.1, 0, 0},
                {"cpu-contended", "use more workers", 0.3, 0.1, 0, 1},
                {"latency", NULL, 0.3, 0.1, 0, 0},
                {"latency", NULL, 0.3, 0.03, 0, 0}}; /* the step's sentence is no cause of the input */
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report_op op = {.name = "moved",
                                  .place = "flow.py:26",
                                  .word = "moved",
                                  .judged = 1,
                                  .share = 0.89,
                                  .low = 0.8,
                                  .high = 0.94,
                                  .gain = rows[i].gain};
        struct pp_report_step_line line = {"step", "train.py:22", NULL, 0.5, 0.4, 0.6, 1};
        struct pp_report r = {.ops = &op, .n_ops = 1, .step_lines = &line, .n_step_lines = 1};
        r.data_wait_share = rows[i].waits;
        r.verdict.l0 = "cpu-starved", r.verdict.l1 = "transform", r.verdict.l2 = rows[i].cause;
        r.verdict.then = rows[i].then, r.verdict.then_l1 = rows[i].then ? "loader" : NULL;
        r.verdict.cause = "CPUs are short";
        r.verdict.next_step = "Move others.";
        pp_ops_speak(&r, &arena);
        assert_int_equal(r.verdict.then && strstr(r.verdict.then, "moved, flow.py:26, is 89 % of the stall"),
                         rows[i].said);
        assert_int_equal(strstr(r.verdict.then, "Or make moved (flow.py:26) cheaper: 89 % of the stall.") !=
                             NULL,
                         rows[i].or_line);
        assert_int_equal(strstr(r.verdict.then, "a step: step, train.py:22, 50 %.") != NULL,
                         !rows[i].or_line);
        assert_string_equal(r.verdict.next_step, "Move others.");
        pp_arena_free(&arena);
    }
}

/* Where workers wait for a lock, the line that takes it is named, and none is to be made cheaper. */
static void test_the_line_of_the_lock_is_named(void **state)
{
    for (int is_lock = 0; is_lock <= 1; is_lock++) {
        struct pp_arena arena = {0};
        struct pp_report_op op = {.name = "SemLock.__enter__ in Birds.__getitem__",
                                  .place = "birds.py:9",
                                  .word = "SemLock.__enter__",
                                  .judged = 1,
                                  .is_lock = is_lock,
                                  .share = 0.7,
                                  .low = 0.6,
                                  .high = 0.8,
                                  .gain = NAN};
        struct pp_report_finding finding = {.kind = "lockstep-waits",
                                            .state = PP_FINDING_FOUND,
                                            .remedy = &pp_remedies[PP_REMEDY_LOCKSTEP],
                                            .next_step = pp_remedies[PP_REMEDY_LOCKSTEP].sentence};
        struct pp_report r = {.ops = &op, .n_ops = 1, .findings = &finding, .n_findings = 1};
        r.verdict.l0 = "input-bound", r.verdict.l1 = "loader", r.verdict.l2 = "lock";
        r.verdict.cause = "workers wait";
        r.verdict.remedy = &pp_remedies[PP_REMEDY_HOLD_LESS];
        r.verdict.next_step = "Hold it for less.";
        pp_ops_speak(&r, &arena);
        assert_string_equal(
            r.verdict.next_step,
            is_lock ? "Hold it for less. It is taken in SemLock.__enter__ in Birds.__getitem__, birds.py:9."
                    : "Hold it for less.");
        pp_changes_agree(&r, &arena);
        assert_non_null(strstr(finding.next_step, "wait longer for the lock"));
        pp_arena_free(&arena);
    }
}

/* Two lines that cannot be told from one another stand beside another advice if surely half is theirs. */
static void test_two_lines_share_the_stall(void **state)
{
    static const struct {
        double low;
        int said;
    } rows[] = {{0.25, 1}, {0.1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report_op ops[] = {{"first", "a.py:1", .judged = 1, .share = 0.45, .low = 0.3, .high = 0.6,
                                      .gain = 0.3},
                                     {"second", "a.py:2", .judged = 1, .share = 0.4, .low = rows[i].low,
                                      .high = 0.55, .gain = 0.2}};
        struct pp_report r = {.ops = ops, .n_ops = 2, .data_wait_share = 0.1};
        r.verdict.l0 = "cpu-starved", r.verdict.l1 = "transform", r.verdict.l2 = "cpu-contended";
        r.verdict.then = "use more workers", r.verdict.then_l1 = "loader";
        r.verdict.cause = "CPUs are short", r.verdict.next_step = "Move others.";
        pp_ops_speak(&r, &arena);
        assert_int_equal(strstr(r.verdict.then,
                                "Or make first (a.py:1) and second (a.py:2) cheaper: 85 % of the stall.") !=
                             NULL,
                         rows[i].said);
        assert_int_equal(strstr(r.verdict.then, "cheaper") != NULL, rows[i].said);
        pp_arena_free(&arena);
    }
}

/* Such a second cause has the word that it has as the first: by what the line is of. */
static void test_the_second_cause_has_its_word(void **state)
{
    static const struct {
        const char *path, *loader, *l2;
        int of_batch;
    } rows[] = {{NULL, "torch", "getitem", 0},
                {"transforms[1]", "torch", "augment", 0},
                {NULL, "grain", "augment", 0}, /* it has no data set of PyTorch */
                {NULL, "torch", "collate", 1},
                {"collate_fn", "torch", "collate", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report_op op = {.name = "moved",
                                  .path = rows[i].path,
                                  .of_batch = rows[i].of_batch,
                                  .judged = 1,
                                  .share = 0.9,
                                  .low = 0.8,
                                  .high = 0.95,
                                  .gain = 0.3};
        struct pp_report_pair config = {.key = "loader", .value = rows[i].loader};
        struct pp_report r = {.ops = &op, .n_ops = 1, .config = &config, .n_config = 1};
        r.data_wait_share = 0.1;
        r.verdict.l0 = "cpu-starved", r.verdict.l1 = "transform", r.verdict.l2 = "cpu-contended";
        r.verdict.cause = "CPUs are short", r.verdict.next_step = "Move others.";
        pp_ops_speak(&r, &arena);
        assert_string_equal(r.verdict.then_l1, "transform");
        assert_string_equal(r.verdict.then_l2, rows[i].l2);
        pp_arena_free(&arena);
    }
}

/* What cannot be pickled has a remedy where workers are started, and is a sample's where a worker says it. */
static void test_what_cannot_be_pickled(void **state)
{
    static const struct {
        const char *exception, *remedy; /* how the remedy begins; NULL: there is none */
    } rows[] = {
        {"TypeError: cannot pickle '_io.BufferedReader' object", "If this is the start of the workers:"},
        {"AttributeError: Can't get local object 'main.<locals>.pad'",
         "If this is the start of the workers:"},
        {"TypeError: Caught TypeError in DataLoader worker process 1. || TypeError: cannot pickle 'generator' object",
         "Fix the sample"},
        {"UnpicklingError: pickle data was truncated", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fake_pipeline p = base();
        struct fake_run *f = fake_pipeline(&p);
        struct pp_source source = fake_source(f);
        struct pp_arena arena = {0};
        struct pp_report r = {.subject_kind = PP_SUBJECT_JOB, .outcome = "failed"};
        fake_num(f, "result", "exit_status", "1", NULL);
        fake_text(f, "process_end", "7", rows[i].exception);
        pp_ending_read(&source, &arena, &r);
        assert_non_null(strstr(r.ended, " raised "));
        assert_int_equal(r.ended_remedy != NULL, rows[i].remedy != NULL);
        assert_true(!rows[i].remedy || strstr(r.ended_remedy, rows[i].remedy) == r.ended_remedy);
        pp_arena_free(&arena);
        fake_free(f);
    }
}

/* As long as a recording of a few hours is missing the lines are listed, with why none is the cause. */
static void test_lines_are_listed_where_more_recording_is_no_help(void **state)
{
    struct pp_stack_function function = {.name = "blur", .file = "a.py"};
    struct pp_stack_frame frame = {.parent = PP_STACK_NONE, .line = 3};
    struct pp_op op = {.name = "blur", .word = "blur", .n = 40, .share = 0.9, .share_all = 0.9};
    float one = 1;
    struct pp_costs costs = {
        .ops = {.ops = &op,
                .n_ops = 1,
                .loaders = {{.judged = 1}},
                .n_loaders = 1,
                .frame_n = &one,
                .frame_weight = &one,
                .stacks = {.functions = &function, .frames = &frame, .n_functions = 1, .n_frames = 1}}};
    const double missing_s[] = {60, 5000, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct pp_arena arena = {0};
        struct pp_report r = {0};
        costs.ops.missing_s = missing_s[i];
        pp_ops_tell(&costs, 0, &arena, &r);
        assert_true((strncmp(r.why_no_ops, "record 60 s more", 16) == 0) == (i == 0));
        assert_int_equal(r.n_ops, i > 0);
        assert_int_equal(r.n_flame, i > 0);
        pp_arena_free(&arena);
    }
}

/* Where the sampler is what to change, its line is said, if most of the draws are surely in one. */
static void test_the_line_of_the_sampler_is_named(void **state)
{
    static const struct {
        enum pp_remedy_id remedy;
        double low;
        const char *next;
    } rows[] = {{PP_REMEDY_SAMPLER, 0.6, "Draw less. Most of it: Order.__iter__, train.py:12."},
                {PP_REMEDY_SAMPLER, 0.4, "Draw less."},
                {PP_REMEDY_MORE_WORKERS, 0.6, "Draw less."}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_report r = {.verdict = {.remedy = &pp_remedies[rows[i].remedy], .next_step = "Draw less."}};
        struct pp_costs costs = {.ops.draws = {.name = "Order.__iter__",
                                               .place = "train.py:12",
                                               .n = 40,
                                               .share_low = rows[i].low}};
        pp_ops_tell(&costs, 0, &arena, &r);
        assert_string_equal(r.verdict.next_step, rows[i].next);
        pp_arena_free(&arena);
    }
}

/* Beside a setting that may lose stands the line of which half surely gains. */
static void test_a_surer_line_stands_beside(void **state)
{
    static const double low[] = {0.1, -0.1};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pp_arena arena = {0};
        struct pp_report_fix workers = {.knob = "workers", .gain = 0.5, .low = -0.1};
        struct pp_report_op op = {.name = "load",
                                  .place = "files.py:7",
                                  .judged = 1,
                                  .share = 0.8,
                                  .gain = 0.4,
                                  .gain_low = low[i]};
        struct pp_report r = {.ops = &op, .n_ops = 1, .verdict = {.l1 = "loader", .next_step = "Do it."}};
        r.verdict.action.candidate = &workers;
        pp_ops_other_way(&r, &arena);
        assert_int_equal(r.verdict.other && strstr(r.verdict.other, "Make load (files.py:7) cheaper"),
                         i == 0);
        pp_arena_free(&arena);
    }
}

/* A picture's widths are of what the shares are of, with the weight of which no stack tells anything. */
static void test_widths_agree_with_shares(void **state)
{
    struct pp_stack_function function = {.name = "blur", .file = "a.py"};
    struct pp_stack_frame frame = {.parent = PP_STACK_NONE, .line = 3};
    struct pp_op op = {.name = "blur", .word = "blur", .n = 40, .share = 0.6, .share_all = 1};
    float n = 40, weight = 24;
    struct pp_costs costs = {
        .ops = {.ops = &op,
                .n_ops = 1,
                .loaders = {{.judged = 1}},
                .n_loaders = 1,
                .unnamed = 16,
                .frame_n = &n,
                .frame_weight = &weight,
                .stacks = {.functions = &function, .frames = &frame, .n_functions = 1, .n_frames = 1}}};
    struct pp_arena arena = {0};
    struct pp_report r = {0};
    (void)state;
    pp_ops_tell(&costs, 0, &arena, &r);
    near(r.flame->width, r.ops->share, 1e-9);
    near(r.flame->width_all, 1, 1e-9);
    pp_arena_free(&arena);
}

/* Batches of 300 of 12 ms, made in the trainer, which steps for 4 ms: in `calls` calls of the data set. */
static struct fake_run *table_read_in(uint32_t calls)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    fake_num(f, "config", "num_workers", "0", NULL);
    fake_num(f, "config", "workers", "1", NULL);
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    fake_text(f, "config", "source", "pytorch");
    fake_text(f, "config", "dataset_code", "torch.utils.data.dataset.TensorDataset.__getitem__");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < 300; b++) {
        uint64_t now = FAKE_T0 + b * 16 * FAKE_MS;
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 12 * FAKE_MS);
        s->batch = b, s->sample = 300, s->flags = PP_SPAN_COUNT;
        s = fake_span(f, trainer, PP_PHASE_STEP, now + 12 * FAKE_MS, 4 * FAKE_MS);
        s->batch = b;
        for (uint32_t k = 0; k < calls; k++) {
            s = fake_span(f, worker, PP_PHASE_TRANSFORM, now + k * 12 * FAKE_MS / calls,
                          12 * FAKE_MS / calls);
            s->batch = b, s->cpu_ns = s->dur_ns, s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
        }
    }
    return f;
}

/* Whole batches are advised where the data set is asked for samples one by one, and not where it already gets
 * the list of indices: by the cause, and by what is known of the library's code. */
static void test_by_batch_is_advised_where_samples_are_asked_for(void **state)
{
    static const uint32_t calls[] = {300, 1};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *f = table_read_in(calls[i]);
        struct pp_report *r = report_of(f);
        struct pp_arena arena = {0};
        struct pp_report told = {0};
        struct pp_costs costs = made_costs_new();
        struct pp_op op = {.name = "TensorDataset.__getitem__",
                           .word = "TensorDataset.__getitem__",
                           .code = "torch/utils/data/dataset.py:TensorDataset.__getitem__",
                           .n = 60,
                           .cpu = 60,
                           .share = 0.9,
                           .share_all = 0.9};
        assert_int_equal(r->verdict.remedy == &pp_remedies[PP_REMEDY_BY_BATCH], calls[i] > 1);
        for (size_t k = 0; k < costs.n; k++)
            costs.samples[k].transform_cpu = 8e6;
        costs.whole_batches = calls[i] == 1;
        costs.ops = (struct pp_ops){.ops = &op, .n_ops = 1, .n_loaders = 1};
        costs.ops.loaders[0] = (struct pp_ops_loader){.judged = 1, .n = {60}, .cpu = {60}};
        pp_ops_tell(&costs, 1, &arena, &told);
        assert_true(told.ops->gain > 0.05);
        assert_int_equal(told.ops->advice != NULL, calls[i] > 1);
        costs.ops = (struct pp_ops){0};
        pp_costs_free(&costs);
        pp_arena_free(&arena);
        pp_report_free(r);
        fake_free(f);
    }
}

/* Where the CPU time of most of the work was not read, a gain of zero is not known to be one. */
static void test_time_that_was_not_read_has_no_gain(void **state)
{
    static const double unread_ns[] = {0, 4e6, 6e6};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pp_arena arena = {0};
        struct pp_report r = {0};
        struct pp_costs costs = made_costs_new();
        struct pp_op op = {
            .name = "pick", .word = "pick", .n = 60, .cpu = 60, .share = 0.9, .share_all = 0.9};
        for (size_t k = 0; k < costs.n; k++)
            costs.samples[k].decode_cpu = costs.samples[k].transform_cpu = 0;
        costs.work_wall_ns = 10e6, costs.work_unread_ns = unread_ns[i];
        costs.ops = (struct pp_ops){.ops = &op, .n_ops = 1, .n_loaders = 1};
        costs.ops.loaders[0] = (struct pp_ops_loader){.judged = 1, .n = {60}, .cpu = {60}};
        pp_ops_tell(&costs, 1, &arena, &r);
        assert_int_equal(r.n_ops, 1);
        assert_int_equal(isnan(r.ops[0].gain), unread_ns[i] > 5e6);
        assert_true(isnan(r.ops[0].gain) || r.ops[0].gain < 0.05);
        costs.ops = (struct pp_ops){0};
        pp_costs_free(&costs);
        pp_arena_free(&arena);
    }
}

/* The user's own line has all of the stall, and workers read many times what samples are made of: what is
 * read for nothing is what to leave out, and that gains more than half of the line. What is known of a
 * library stays, and so does another cause. */
static void test_reading_less_is_what_to_do(void **state)
{
    static const struct {
        enum pp_remedy_id cause;
        double low;
        const char *known, *path;
        int less;
    } rows[] = {{PP_REMEDY_OP, 0.9, NULL, NULL, 1},
                {PP_REMEDY_OP, 0.3, NULL, NULL, 0},
                {PP_REMEDY_OP, 0.9, "Unpack the archive once.", NULL, 0},
                {PP_REMEDY_OP, 0.9, NULL, "transforms[1]", 0}, /* a member of a transform */
                {PP_REMEDY_MORE_WORKERS, 0.9, NULL, NULL, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_arena arena = {0};
        struct pp_costs costs = made_costs_new();
        struct pp_op op = {.name = "Rows.scan", .word = "Rows.scan", .n = 60, .cpu = 60};
        struct pp_report_op told = {"Rows.scan", "train.py:9", .word = "Rows.scan", .judged = 1};
        const struct pp_remedy *less = &pp_remedies[PP_REMEDY_READ_LESS];
        struct pp_report_finding read = {.kind = "read-amplification", .next_step = less->sentence};
        struct pp_report r = {.ops = &told, .n_ops = 1, .findings = &read, .n_findings = 1};
        for (size_t k = 0; k < costs.n; k++)
            costs.samples[k].transform_cpu = 8e6;
        costs.ops = (struct pp_ops){.ops = &op, .n_ops = 1, .n_loaders = 1};
        costs.ops.loaders[0] = (struct pp_ops_loader){.judged = 1, .n = {60}, .cpu = {60}};
        told.share = told.high = 0.95, told.low = rows[i].low, told.advice = rows[i].known,
        told.path = rows[i].path;
        told.gain = 0.2, told.gain_low = 0.1;
        r.verdict.remedy = &pp_remedies[rows[i].cause];
        pp_ops_read_less(&costs, &arena, &r);
        assert_int_equal(r.verdict.remedy == less, rows[i].less);
        assert_int_equal(r.verdict.n_fixes, rows[i].less);
        assert_int_equal(read.next_step == NULL, rows[i].less);
        if (rows[i].less) {
            assert_ptr_equal(r.verdict.action.fix, r.verdict.fixes);
            assert_string_equal(r.verdict.fixes->change, "Rows.scan reads only what a sample needs");
            assert_true(r.verdict.fixes->gain > told.gain && r.verdict.fixes->low == told.gain_low);
            assert_non_null(strstr(r.verdict.next_step, "Make Rows.scan (train.py:9) cheaper. Read what"));
        }
        costs.ops = (struct pp_ops){0};
        pp_costs_free(&costs);
        pp_arena_free(&arena);
    }
}

/* A training thread that makes its batches, of the samples of another DataLoader with workers: which one, if
 * it was begun and gave the loop no batch. */
static void test_the_loader_within_a_data_set_is_found(void **state)
{
    static const struct {
        double own, workers, epochs, batches;
        int found;
    } rows[] = {{0, 2, 1, 0, 1}, {2, 2, 1, 0, 0}, {0, 0, 1, 0, 0}, {0, 2, 0, 0, 0}, {0, 2, 1, 9, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_report_loader loaders[] = {
            {.judged = 1, .num_workers = rows[i].own, .epochs = 1, .batches = 40},
            {.at = "queue.py:8 (inner)",
             .num_workers = rows[i].workers,
             .epochs = rows[i].epochs,
             .batches = rows[i].batches}};
        struct pp_report r = {.loaders = loaders, .n_loaders = 2};
        const char *inner = pp_loaders_inner(&r);
        assert_int_equal(inner != NULL, rows[i].found);
        assert_true(!inner || strcmp(inner, "queue.py:8 (inner)") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_line_of_the_step_is_named),
        cmocka_unit_test(test_what_cannot_be_pickled),
        cmocka_unit_test(test_reading_less_is_what_to_do),
        cmocka_unit_test(test_time_that_was_not_read_has_no_gain),
        cmocka_unit_test(test_a_line_that_waits_stands_first),
        cmocka_unit_test(test_beside_others_the_line_comes_second),
        cmocka_unit_test(test_the_line_of_the_lock_is_named),
        cmocka_unit_test(test_two_lines_share_the_stall),
        cmocka_unit_test(test_the_second_cause_has_its_word),
        cmocka_unit_test(test_the_loader_within_a_data_set_is_found),
        cmocka_unit_test(test_lines_are_listed_where_more_recording_is_no_help),
        cmocka_unit_test(test_widths_agree_with_shares),
        cmocka_unit_test(test_a_surer_line_stands_beside),
        cmocka_unit_test(test_the_line_of_the_sampler_is_named),
        cmocka_unit_test(test_by_batch_is_advised_where_samples_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
