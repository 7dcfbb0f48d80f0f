/* The verdict of a report: causes, confidence and what forbids one, of runs made up in memory whose truth is
 * known. */
#include "tests/support/made_report.h"
#include "report/verdict/verdict.h"

static void set_stages(struct fake_pipeline *p, const struct fake_stage *stages, int n)
{
    memset(p->stage, 0, sizeof(p->stage));
    memcpy(p->stage, stages, (size_t)n * sizeof(*stages));
}
#define STAGES(p, ...) \
    do { \
        const struct fake_stage list[] = {__VA_ARGS__}; \
        set_stages(p, list, (int)(sizeof(list) / sizeof(list[0]))); \
    } while (0)

static void expect(struct fake_pipeline *p, const char *cpus, const char *l0, const char *l1, const char *l2,
                   const char *words)
{
    struct fake_run *f = made(p, cpus);
    struct pp_report *r = report_of(f);
    const struct pp_report_verdict *v = &r->verdict;
    assert_string_equal(v->l0, l0);
    if (l1 == NULL || v->l1 == NULL)
        assert_ptr_equal(l1, v->l1);
    else
        assert_string_equal(v->l1, l1);
    if (l2 == NULL || v->l2 == NULL)
        assert_ptr_equal(l2, v->l2);
    else
        assert_string_equal(v->l2, l2);
    if (!strstr(v->sentence, words))
        fail_msg("\"%s\" does not say \"%s\"", v->sentence, words);
    assert_null(strpbrk(v->sentence, "{}"));
    assert_null(strpbrk(v->next_step, "{}"));
    assert_int_equal(pp_report_exit_code(r), strcmp(l0, "inconclusive") == 0 ? 3 : 0);
    report_done(r, f);
}

static void test_causes(void **state)
{
    struct fake_pipeline p = base();
    expect(&p, "2", "input-bound", "transform", "cpu-saturated",
           "all CPUs are busy, mostly with decode. 90 % of them are in use");
    expect(&p, "8", "input-bound", "loader", "under-parallel",
           "there are too few workers. The 2 workers are all busy with decode");

    STAGES(&p, {PP_PHASE_READ, 8 * FAKE_MS, 0.05, 0.01}, {PP_PHASE_DECODE, 2 * FAKE_MS, 0.98, 0.02});
    expect(
        &p, "2", "input-bound", "storage", NULL,
        "reads wait for storage. They take 80 % of the workers' time in the stalls, blocked for 94 % of it");

    p.workers = 8;
    STAGES(&p, {PP_PHASE_READ, FAKE_MS, 0.2, 0.6}, {PP_PHASE_DECODE, 8 * FAKE_MS, 0.25, 0.74});
    expect(&p, "2", "input-bound", "loader", "oversubscribed", "8 workers share 2 usable CPUs");
    expect(&p, "8", "input-bound", "transform", "cpu-contended", "of its time, while this run uses only");

    /* threads that wake up late from slow reads wait for a CPU too; storage is the larger part */
    p = base();
    STAGES(&p, {PP_PHASE_READ, 8 * FAKE_MS, 0.02, 0.45}, {PP_PHASE_DECODE, 2 * FAKE_MS, 0.5, 0.5});
    expect(&p, "8", "input-bound", "storage", NULL,
           "They take 80 % of the workers' time in the stalls, blocked for 53 % of it");
    STAGES(&p, {PP_PHASE_READ, 8 * FAKE_MS, 0.02, 0.65}, {PP_PHASE_DECODE, 2 * FAKE_MS, 0.5, 0.5});
    expect(&p, "8", "input-bound", "transform", "cpu-contended", "of its time, while this run uses only");

    p = base();
    STAGES(&p, {PP_PHASE_DECODE, 8 * FAKE_MS, 0.1, 0.01});
    expect(&p, "2", "input-bound", "loader", NULL, "decode waits");

    STAGES(&p, {PP_PHASE_READ, FAKE_MS, 0.2, 0.05}, {PP_PHASE_RETRY, 9 * FAKE_MS, 0, 0});
    expect(&p, "2", "input-bound", "loader", "errors", "reads fail and are tried again");

    STAGES(&p, {PP_PHASE_DECODE, FAKE_MS, 0.98, 0.01}, {PP_PHASE_SLOT_WAIT, 9 * FAKE_MS, 0, 0});
    p.h2d_ns = 28 * FAKE_MS;
    expect(&p, "2", "input-bound", "sync", NULL,
           "copies to the device are the limit. They run during 93 % of the stalls");
    p.copies = (struct fake_stage){.phase = PP_PHASE_PIN, .cpu = 0.95};
    expect(&p, "2", "input-bound", "loader", "pin-memory",
           "one thread pins every batch (pin_memory=True). It is busy with that for 93 %");
    p.copies = (struct fake_stage){.phase = PP_PHASE_GPU_DECODE, .cpu = 0.02};
    expect(&p, "2", "input-bound", "transform", "gpu-decode",
           "decoding JPEG on the GPU is the limit. Copies wait for it 93 %");
    p.copies = (struct fake_stage){0};
    p.h2d_ns = FAKE_MS;
    expect(&p, "2", "input-bound", "loader", NULL, "finished batches are late on their way to the trainer");

    p = base();
    p.sync_ns = 40 * FAKE_MS;
    p.wait_ns = FAKE_MS;
    expect(&p, "2", "input-bound", "sync", "implicit-sync", "of the wait is device sync");
}

static void test_levels(void **state)
{
    struct fake_pipeline p = base();
    static const struct {
        uint64_t wait_ms, step_ms;
        const char *l0, *l1, *words;
    } rows[] = {
        {20, 80, "input-bound", "transform",
         "Training runs at 80.0 samples/s and waits for data 20 % of the time. "},
        {19, 81, "input-bound", "transform",
         "Training runs at 80.0 samples/s and waits for data 19 % of the time. "},
        {5, 95, "input-bound", "transform", "waits for data 5.0 % of the time. "},
        {4, 96, "not-input-bound", NULL, "waits for data 4.0 % of the time: NOT input-bound."},
        {0, 100, "not-input-bound", NULL, "waits for data 0 % of the time: NOT input-bound."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        p.wait_ns = rows[i].wait_ms * FAKE_MS;
        p.step_ns = rows[i].step_ms * FAKE_MS;
        p.h2d_ns = 0;
        expect(&p, "2", rows[i].l0, rows[i].l1, rows[i].l1 ? "cpu-saturated" : NULL, rows[i].words);
    }
}

static void test_missing_signals(void **state)
{
    struct fake_pipeline p = base();
    expect(&p, NULL, "input-bound", NULL, NULL, "the number of usable CPUs was not recorded");
    p.no_resources = 1;
    expect(&p, "2", "input-bound", NULL, NULL, "the time on a CPU and the wait for one were not recorded");
    p.workers = 0;
    expect(&p, "2", "input-bound", NULL, NULL, "no ranges of workers");
}

static struct pp_report *expect_next(const struct fake_pipeline *p, const char *const meta[][3], size_t n,
                                     const char *reason, const char *next_step)
{
    struct fake_run *f = made(p, "2");
    for (size_t i = 0; i < n; i++)
        fake_text(f, meta[i][0], meta[i][1], meta[i][2]);
    struct pp_report *r = report_of(f);
    if (!r->verdict.reason || !strstr(r->verdict.reason, reason) || !strstr(r->verdict.next_step, next_step))
        fail_msg("%s -> %s", r->verdict.sentence, r->verdict.next_step);
    fake_free(f);
    return r;
}

/* Workers that spend 15 % of their time in ranges: what holds the batches up is in the rest. */
static void test_a_cause_of_a_small_part_is_no_verdict(void **state)
{
    static const char *const job[][3] = {{"config", "source", "nvtx"},
                                         {"run", "command_line", "pipeprobe exec -- python train.py"}},
                             *const program[][3] = {{"run", "tool", "libpipeprobe"}};
    struct fake_pipeline p = base();
    STAGES(&p, {PP_PHASE_DECODE, 3 * FAKE_MS / 2, 0.98, 0.02},
           {PP_PHASE_USER, 85 * FAKE_MS / 10, 0.98, 0.02});
    struct fake_run *f = made(&p, "2");
    for (size_t t = 0; t < f->n_threads; t++) { /* the rest has no range at all */
        size_t kept = 0;
        for (size_t i = 0; i < f->n_spans[t]; i++)
            if (f->span[t][i].phase != PP_PHASE_USER)
                f->span[t][kept++] = f->span[t][i];
        f->n_spans[t] = kept;
    }
    for (size_t i = 0; i < 2; i++)
        fake_text(f, job[i][0], job[i][1], job[i][2]);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_null(r->verdict.l1);
    assert_true(isnan(r->verdict.confidence) && isnan(r->verdict.explained));
    if (!strstr(r->verdict.sentence,
                "85 % of the workers' time in the stalls is in code that no range names") ||
        !strstr(r->verdict.next_step, "Annotate") || !strstr(r->verdict.next_step, "collate"))
        fail_msg("%s -> %s", r->verdict.sentence, r->verdict.next_step);
    report_done(r, f);

    /* no ranges of workers at all */
    p.workers = 0;
    pp_report_free(expect_next(&p, job, 2, "no ranges of workers", "NVTX ranges"));
    pp_report_free(expect_next(&p, program, 1, "no ranges of workers", "pp_thread_open"));
}

/* What is explained is what the rule speaks of: its phases, of the time in which the workers had work. */
static void test_the_explained_share(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    near(r->verdict.explained, 1, 0.01); /* read, decode and transform are the work that saturates the CPUs */
    report_done(r, f);
    STAGES(&p, {PP_PHASE_READ, 4 * FAKE_MS, 0.02, 0.02}, {PP_PHASE_DECODE, FAKE_MS, 0.9, 0.1},
           {PP_PHASE_SLOT_WAIT, 4 * FAKE_MS, 0, 0});
    f = made(&p, "2");
    r = report_of(f);
    assert_string_equal(r->verdict.l1, "storage");
    near(r->verdict.explained, 0.8, 0.02);
    report_done(r, f);
}

/* A run is made longer by what ended it. */
static void test_too_short_has_advice_that_can_be_followed(void **state)
{
    static const struct {
        const char *source, *tool, *ended_by, *next_step;
    } rows[] = {{NULL, NULL, "steps", "--steps "},
                {NULL, NULL, "epochs", "--epochs"},
                {NULL, NULL, "duration", "a longer run"}, /* our flags are a line of their own */
                {NULL, NULL, NULL, "a longer run"},
                {"nvtx", NULL, NULL, "Let the job take 20 batches more, about 1 s"},
                {NULL, "libpipeprobe", NULL, "Let the job take 20 batches more, about 1 s"}};
    struct fake_pipeline p = base();
    p.batches = 15;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *meta[3][3] = {{"config", "source", rows[i].source},
                                  {"run", "tool", rows[i].tool},
                                  {"result", "ended_by", rows[i].ended_by}};
        const char *given[3][3];
        size_t n = 0;
        for (size_t k = 0; k < 3; k++)
            if (meta[k][2])
                memcpy(given[n++], meta[k], sizeof(meta[k]));
        struct pp_report *r = expect_next(&p, (const char *const(*)[3])given, n, "at least",
                                          rows[i].next_step);
        assert_true(!rows[i].source || !strstr(r->verdict.next_step, "--duration"));
        pp_report_free(r);
    }
}

static void test_too_little(void **state)
{
    struct fake_pipeline p = base();
    p.batches = 19;
    p.step_ns = 200 * FAKE_MS;
    expect(&p, "2", "inconclusive", NULL, NULL,
           "INCONCLUSIVE: only 9 batches were delivered in steady state");
    p.batches = 20;
    expect(&p, "2", "input-bound", "transform", "cpu-saturated", "waits for data 13 %");
    p.step_ns = 60 * FAKE_MS;
    expect(&p, "2", "inconclusive", NULL, NULL, "the steady state lasted 900 ms, at least 1 s is needed");
}

/* Of batches of a second and more four will do, where the wait is clear of the limit; of three nothing is
 * said but what is known. */
static void test_long_steps_need_few_batches(void **state)
{
    struct fake_pipeline p = base();
    p.step_ns = 1500 * FAKE_MS;
    p.batches = 13;
    expect(
        &p, "2", "inconclusive", NULL, NULL,
        "INCONCLUSIVE: only 3 batches were delivered in steady state, at least 4 are needed; so far training waits 2.0 % of the time");
    p.batches = 17;
    expect(&p, "2", "not-input-bound", NULL, NULL, "waits for data");
    p.step_ns = 90 * FAKE_MS; /* short ones still need ten */
    expect(&p, "2", "inconclusive", NULL, NULL,
           "INCONCLUSIVE: only 7 batches were delivered in steady state");
}

static void test_losses_forbid_a_verdict(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    uint64_t spans = 0;
    for (size_t i = 0; i < f->n_threads; i++)
        spans += f->n_spans[i];
    f->thread[2].dropped = spans / 49 + 1; /* a little over 2 % of all that was recorded */
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_non_null(strstr(r->verdict.sentence, "2.0 % of the spans were lost"));
    assert_int_equal(r->n_losses, 1);
    assert_int_equal(r->losses[0].count, spans / 49 + 1);
    pp_report_free(r);
    f->thread[2].dropped = spans / 200;
    r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_int_equal(r->n_losses, 1); /* still told */
    pp_report_free(r);
    f->thread[2].dropped = 0;
    f->bad_chunks = 20;
    r = report_of(f);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_string_equal(r->losses[0].what, "chunks");
    report_done(r, f);
}

static void test_a_recovery_is_told(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    fake_text(f, "run", "recovery", "recovered 7 spans from the ring files of a killed run");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_losses, 1);
    assert_int_equal(r->losses[0].count, 0);
    assert_non_null(strstr(r->losses[0].why, "recovered 7 spans"));
    assert_string_equal(r->verdict.l0, "input-bound");
    report_done(r, f);
}

static void test_rows_left_out_are_no_loss_to_the_report(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    f->loss[f->n_losses].what = "span_rows";
    f->loss[f->n_losses].why = "table span is a sample of whole batches";
    f->loss[f->n_losses++].count = 706266;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_losses, 1);
    assert_int_equal(r->losses[0].count, 0);
    report_done(r, f);
}

static void test_ceiling(void **state)
{
    struct fake_pipeline p = base();
    p.step_ns = 0;
    p.batches = 100;
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "config", "step", "none");
    fake_num(f, "config", "batch-size", "8", NULL);
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_int_equal(r->verdict.ceiling, 1);
    assert_int_equal(pp_report_exit_code(r), 0);
    assert_string_equal(
        r->verdict.sentence,
        "CEILING 267 samples/s with 2 workers. A training step shorter than 30.0 ms per batch of 8 would wait for data. "
        "Give --step-ms to compare it with your step. Cause: all CPUs are busy, mostly with decode. 90 % of them are in use, 90 % by this run. "
        "[transform/cpu-saturated]");
    assert_string_equal(r->verdict.l1, "transform");
    assert_true(isnan(r->data_wait_share));
    assert_string_equal(r->outcome, "unfinished"); /* no outcome was written */
    report_done(r, f);
}

static void test_empty_recording(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_string_equal(r->outcome, "unfinished");
    assert_int_equal(r->n_phases, 0);
    assert_true(isnan(r->samples_per_s));
    assert_int_equal(pp_report_exit_code(r), 3);
    report_done(r, f);
}

/* A spread that reaches over the threshold lowers the confidence: one wait of 3 s among none is not sure to
 * be 5 %. It is a chance that was seen on labelled runs, and not the share that the cause explains. */
static void test_confidence(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    double certain = r->verdict.confidence, score = r->verdict.confidence_score;
    near(certain, pp_confidence_of(score), 1e-9);
    assert_true(certain > 0.5 && certain < 1 && certain != r->verdict.explained);
    pp_report_free(r);
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_DATA_WAIT)
            f->span[0][i].dur_ns = f->span[0][i].batch == 30 ? 80 * FAKE_MS : 0;
    r = report_of(f);
    near(r->data_wait_share, 80.0 / 1080, 1e-9);
    assert_true(r->verdict.confidence_score < score && r->verdict.confidence <= certain);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_missing_signals),
        cmocka_unit_test(test_a_cause_of_a_small_part_is_no_verdict),
        cmocka_unit_test(test_the_explained_share),
        cmocka_unit_test(test_too_short_has_advice_that_can_be_followed),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_long_steps_need_few_batches),
        cmocka_unit_test(test_losses_forbid_a_verdict),
        cmocka_unit_test(test_a_recovery_is_told),
        cmocka_unit_test(test_rows_left_out_are_no_loss_to_the_report),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_empty_recording),
        cmocka_unit_test(test_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
