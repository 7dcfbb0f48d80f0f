/* The report model: window, totals, shares, attribution and verdict, from runs made up in memory whose truth
 * is known. */
#include "tests/support/findings.h"
#include "tests/support/made_costs.h"
#include "report/build/parts.h"
#include "report/measure/stalls.h"
#include "report/verdict/verdict.h"

static void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, wanted);
}

static const struct pp_report_phase *phase(const struct pp_report *r, pp_phase id)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == id)
            return &r->phases[i];
    fail_msg("no phase %d", id);
    return NULL;
}

/* 2 workers, decode-heavy at full CPU, the trainer waits 30 of 50 ms: the base that cases below vary. */
static struct fake_pipeline base(void)
{
    return (struct fake_pipeline){
        .workers = 2,
        .batches = 60,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 30 * FAKE_MS,
        .step_ns = 20 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, FAKE_MS, 0.2, 0.05},
                  {PP_PHASE_DECODE, 8 * FAKE_MS, 0.98, 0.02},
                  {PP_PHASE_TRANSFORM, FAKE_MS, 0.98, 0.02}},
    };
}

static struct fake_run *made(const struct fake_pipeline *p, const char *usable_cpus)
{
    struct fake_run *f = fake_pipeline(p);
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    if (usable_cpus)
        fake_num(f, "environment", "usable_cpus", usable_cpus, NULL);
    return f;
}

static void test_window_and_totals(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->batches, 60);
    assert_int_equal(r->samples, 480);
    assert_int_equal(r->window_batches, 50);
    assert_int_equal(r->window_samples, 400);
    assert_int_equal(r->epochs, 1);
    assert_int_equal(r->has_steady_state, 1);
    near(r->window_s, 2.5, 1e-9);
    near(r->samples_per_s, 160, 1e-6);
    near(r->data_wait_share, 0.6, 1e-9);
    near(r->accelerator_utilization_share, 0.4, 1e-9);
    near(r->headroom_samples_per_s, 400, 1e-6);
    near(r->step_mean_ns, 20e6, 1e-3);
    near(r->startup_s, 0.1, 1e-9);
    near(r->first_batch_s, 0.13, 1e-9);
    near(r->duration_s, 3.1, 1e-9);
    near(r->bytes_per_s, 2 * 100000 / 0.010, 0.01 * 2e7);
    near(r->cache_hit_share, 0.5, 0.01); /* clamped: 98 KiB of 100,000 bytes is all of them */
    assert_string_equal(r->outcome, "finished");

    const struct pp_report_phase *wait = phase(r, PP_PHASE_DATA_WAIT);
    assert_int_equal(wait->count, 50);
    assert_int_equal(wait->total_ns, 1500 * FAKE_MS);
    near(wait->share, 0.6, 1e-9);
    near((double)wait->p50_ns, 30e6, 30e6 / 256);
    assert_int_equal(wait->max_ns, 30 * FAKE_MS);
    assert_true(isnan(wait->cpu_share)); /* not measured is not zero */
    const struct pp_report_phase *decode = phase(r, PP_PHASE_DECODE);
    near(decode->share, 0.8, 0.005);
    near(decode->cpu_share, 0.98, 1e-6);
    near(decode->run_delay_share, 0.02, 1e-6);
    near(decode->blocked_share, 0, 1e-6);

    assert_int_equal(r->n_workers, 2);
    near(r->workers[0].busy_share, 1, 0.001);
    near(r->workers[0].cpu_share, 0.902, 0.005);
    near((double)r->workers[1].samples, 250, 1);
    assert_string_equal(r->workers[1].name, "pp-worker-1");
    report_done(r, f);
}

/* Only what is inside the window counts: worker totals never exceed the lane's time. */
static void test_lane_shares_add_up(void **state)
{
    struct fake_pipeline p = base();
    p.stage[3] = (struct fake_stage){PP_PHASE_SLOT_WAIT, 777777, 0, 0};
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    double sum[PP_LANE_COUNT] = {0};
    for (size_t i = 0; i < r->n_phases; i++)
        sum[r->phases[i].lane] += r->phases[i].share;
    near(sum[PP_LANE_WORKER], 1, 0.002);
    near(sum[PP_LANE_TRAINER], 1, 1e-9);
    near(sum[PP_LANE_COPY], 1, 1e-9);
    near(r->workers[0].busy_share + r->workers[0].wait_share, 1, 0.002);
    report_done(r, f);
}

/* 30 of 50 ms of a batch of 8 are waits, in which the workers decode; the rest is steps, a quarter of which
 * lacks a CPU. */
static void test_the_time_of_a_sample_adds_up(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_STEP) {
            f->span[0][i].run_delay_ns = f->span[0][i].dur_ns / 4;
            f->span[0][i].flags |= PP_SPAN_HAS_DELAY | PP_SPAN_HAS_CPU;
        }
    struct pp_report *r = report_of(f);
    double ns[PP_SPENT_KINDS] = {0}, all = 0, share = 0;
    for (size_t i = 0; i < r->n_spent; i++) {
        assert_true(i == 0 || r->spent[i].kind > r->spent[i - 1].kind);
        ns[r->spent[i].kind] = r->spent[i].per_sample_ns;
        all += r->spent[i].per_sample_ns;
        share += r->spent[i].share;
    }
    near(all, 1e9 / r->samples_per_s, 1e-3);
    near(share, 1, 1e-9);
    near(ns[PP_SPENT_STEP], 15e6 / 8, 1);
    near(ns[PP_SPENT_CPU], 5e6 / 8, 1);
    near(ns[PP_SPENT_DECODE], 0.8 * 30e6 / 8, 0.02 * 30e6 / 8);
    near(ns[PP_SPENT_READ] + ns[PP_SPENT_DECODE] + ns[PP_SPENT_TRANSFORM] + ns[PP_SPENT_COLLATE] +
             ns[PP_SPENT_HANDOVER] + ns[PP_SPENT_IDLE] + ns[PP_SPENT_WAIT],
         30e6 / 8, 1);
    report_done(r, f);
}

static void test_epoch_boundaries_are_apart(void **state)
{
    struct fake_pipeline p = base();
    p.batches_per_epoch = 20; /* batches 20 and 40 start an epoch inside the window; 0 is warm-up */
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_spans[0]; i++) {
        struct pp_span *s = &f->span[0][i];
        if (s->phase == PP_PHASE_DATA_WAIT && s->batch != 20 && s->batch != 40 && s->batch != 0)
            s->dur_ns = 0;
    }
    struct pp_report *r = report_of(f);
    near(r->data_wait_share, 0, 1e-12);
    near(r->boundary_s, 0.06, 1e-9);
    assert_int_equal(r->epochs, 3);
    assert_int_equal(r->window_batches, 50);
    assert_string_equal(r->verdict.l0, "not-input-bound");
    report_done(r, f);
}

/* Workers that stay for all epochs already need other advice; a loader without workers, one that is made
 * again for each epoch, and one that does not say, have none that stay. */
static void test_the_advice_for_epochs_knows_whether_workers_stay(void **state)
{
    static const struct {
        const char *num_workers, *persistent_workers, *made_again;
        int stay;
    } rows[] = {{"2", "1", NULL, 1},
                {"2", "0", NULL, 0},
                {"2", NULL, NULL, 0},
                {NULL, "1", NULL, 0},
                {"2", "1", "1", 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 2;
        struct fake_run *f = made(&p, "2");
        if (rows[row].num_workers)
            fake_num(f, "config", "num_workers", rows[row].num_workers, NULL);
        if (rows[row].persistent_workers)
            fake_num(f, "config", "persistent_workers", rows[row].persistent_workers, NULL);
        if (rows[row].made_again)
            fake_num(f, "config", "loader_made_again", rows[row].made_again, NULL);
        for (size_t i = 0; i < f->n_spans[0]; i++)
            if (f->span[0][i].phase == PP_PHASE_DATA_WAIT && f->span[0][i].batch % 2)
                f->span[0][i].dur_ns = 0;
        struct pp_report *r = report_of(f);
        assert_string_equal(r->verdict.l2, "epoch-drain");
        if ((strstr(r->verdict.next_step, "one iteration of the loader") != NULL) != rows[row].stay)
            fail_msg("row %zu: %s", row, r->verdict.next_step);
        report_done(r, f);
    }
}

/* As the loader records it: the wait for an epoch's first batch is an epoch_boundary span. Its batch counts
 * in every rate, with a step or without. */
static void test_first_batches_of_epochs_count(void **state)
{
    for (int step = 0; step < 2; step++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 20;
        struct fake_run *f = made(&p, "2");
        for (size_t i = 0; i < f->n_spans[0]; i++) {
            struct pp_span *s = &f->span[0][i];
            if (s->phase == PP_PHASE_DATA_WAIT && (s->batch == 20 || s->batch == 40))
                s->phase = PP_PHASE_EPOCH_BOUNDARY;
            if (!step && s->phase == PP_PHASE_STEP)
                s->phase = PP_PHASE_USER;
        }
        struct pp_report *r = report_of(f);
        assert_int_equal(r->window_batches, 50);
        near(r->boundary_s, 0.06, 1e-9);
        near(r->samples_per_s, 50 * 8 / r->window_s, 1e-6);
        report_done(r, f);
    }
}

/* Ranges of a foreign program without batch numbers: a batch is what lies between one step and the next. */
static void test_batches_without_numbers(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *numbered = report_of(f);
    for (size_t i = 0; i < f->n_spans[0]; i++)
        f->span[0][i].batch = PP_NO_BATCH;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->batches, numbered->batches);
    assert_int_equal(r->window_batches, numbered->window_batches);
    near(r->data_wait_share, numbered->data_wait_share, 1e-9);
    assert_string_equal(r->verdict.l0, numbered->verdict.l0);
    pp_report_free(r);
    report_done(numbered, f);
}

/* A data set no larger than a batch: with a step there is no wait inside an epoch to judge, and the verdict
 * says so instead of asking for a longer run; without a step the rate is known all the same. */
static void test_an_epoch_of_one_batch(void **state)
{
    for (int step = 0; step < 2; step++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 1;
        struct fake_run *f = made(&p, "2");
        for (size_t i = 0; i < f->n_spans[0]; i++) {
            struct pp_span *s = &f->span[0][i];
            if (s->phase == PP_PHASE_DATA_WAIT)
                s->phase = PP_PHASE_EPOCH_BOUNDARY;
            if (!step && s->phase == PP_PHASE_STEP)
                s->dur_ns = 0;
        }
        struct pp_report *r = report_of(f);
        assert_int_equal(r->window_batches, 50);
        assert_string_equal(r->verdict.l0, "inconclusive");
        assert_int_equal(r->verdict.ceiling, !step);
        assert_int_equal(pp_report_exit_code(r), step ? 3 : 0);
        if (step)
            assert_non_null(strstr(r->verdict.sentence, "an epoch has one batch"));
        report_done(r, f);
    }
}

static void test_a_failed_run_is_not_asked_to_run_longer(void **state)
{
    struct fake_pipeline p = base();
    p.batches = p.warmup;
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, "outcome") == 0)
            f->meta[i].value = "failed";
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.reason, "the run failed before a steady state was reached");
    assert_null(strstr(r->verdict.next_step, "longer"));
    report_done(r, f);
}

static void test_first_batch_is_never_steady(void **state)
{
    struct fake_pipeline p = base();
    p.warmup = 0;
    struct fake_run *f = made(&p, "2");
    f->span[0][1].dur_ns = 29 * FAKE_MS;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->window_batches, 59);
    report_done(r, f);
}

static void test_whole_run_in_warmup(void **state)
{
    struct fake_pipeline p = base();
    p.warmup = 100;
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->has_steady_state, 0);
    assert_int_equal(r->window_batches, 60);
    near(r->samples_per_s, 160, 1e-6);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_string_equal(
        r->verdict.sentence,
        "INCONCLUSIVE: the recording ends before a steady state was reached; measured: 160 samples/s.");
    assert_int_equal(pp_report_exit_code(r), 3);
    report_done(r, f);
}

/* ---- verdicts ---- */

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

/* ---- the subject ---- */

/* A verdict is about what was recorded, and says whose pipeline that is. */
static void test_the_subject_is_named(void **state)
{
    static const struct {
        const char *tool, *command, *source, *format, *dataset, *synthetic, *loader;
        enum pp_subject_kind kind;
        const char *subject;
    } rows[] = {
        {"pipeprobe", "pipeprobe run D/train", NULL, "folder", "D/train", "", NULL, PP_SUBJECT_OWN_LOADER,
         "pipeprobe's own loader on D/train"},
        {"pipeprobe", NULL, NULL, "synthetic", "n=3000,size=256x192", "n=3000,size=256x192", NULL,
         PP_SUBJECT_OWN_LOADER, "pipeprobe's own loader on synthetic data"},
        {"pipeprobe", "pipeprobe run --loader pytorch D", NULL, "folder", "D", "", "pytorch",
         PP_SUBJECT_PYTORCH_LOADER, "PyTorch's DataLoader on D"},
        {"pipeprobe", "pipeprobe exec -- /usr/bin/python3.11 -u src/train.py --epochs 2", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- OMP_NUM_THREADS=1 torchrun --nproc=2 main.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job main.py"},
        {"pipeprobe", "pipeprobe exec -- timeout 60s python3 -W ignore train.py -c x.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- flock /tmp/lock taskset -c 0-3 python3 train.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- bash -c uv run train.py --steps 5", "nvtx", NULL, NULL, NULL, NULL,
         PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- taskset -c 0 /usr/bin/python3 -c import torch; print(7)", "nvtx",
         NULL, NULL, NULL, NULL, PP_SUBJECT_JOB, "the job python3 -c"},
        {"pipeprobe", "pipeprobe exec -- python3", "nvtx", NULL, NULL, NULL, NULL, PP_SUBJECT_JOB,
         "the job python3"},
        {"pipeprobe", "pipeprobe exec --", "nvtx", NULL, NULL, NULL, NULL, PP_SUBJECT_JOB,
         "the job that pipeprobe exec ran"},
        {"libpipeprobe", "./c_loader run.sqlite", NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_PROGRAM,
         "the program c_loader (libpipeprobe)"},
        {"libpipeprobe", NULL, NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_PROGRAM,
         "a program that records itself (libpipeprobe)"},
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_UNKNOWN, "the recorded program"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = calloc(1, sizeof(*f));
        const char *text[][3] = {{"run", "tool", rows[i].tool},
                                 {"run", "command_line", rows[i].command},
                                 {"config", "source", rows[i].source},
                                 {"config", "format", rows[i].format},
                                 {"config", "dataset", rows[i].dataset},
                                 {"config", "synthetic", rows[i].synthetic},
                                 {"config", "loader", rows[i].loader}};
        for (size_t k = 0; k < sizeof(text) / sizeof(*text); k++)
            if (text[k][2])
                fake_text(f, text[k][0], text[k][1], text[k][2]);
        struct pp_report *r = report_of(f);
        assert_string_equal(r->subject, rows[i].subject);
        assert_int_equal(r->subject_kind, rows[i].kind);
        report_done(r, f);
    }
}

/* ---- samples, errors, retries ---- */

static struct pp_span *work(struct fake_run *f, uint32_t id, pp_phase ph, uint64_t *t, uint64_t sample,
                            unsigned flags)
{
    struct pp_span *s = fake_span(f, id, ph, *t, FAKE_MS);
    s->sample = sample;
    s->batch = 20;
    s->flags = (uint16_t)flags;
    *t += FAKE_MS;
    return s;
}

static void test_samples_of_a_worker(void **state)
{
    struct fake_pipeline p = base();
    p.workers = 0;
    struct fake_run *f = made(&p, "2");
    uint32_t id = fake_thread(f, PP_LANE_WORKER, "pp-worker-0");
    uint64_t t = FAKE_T0 + 1000 * FAKE_MS;
    for (int i = 0; i < 3; i++) { /* the same index three times in one batch: a dataset of one image */
        work(f, id, PP_PHASE_READ, &t, 7, 0);
        work(f, id, PP_PHASE_DECODE, &t, 7, 0);
    }
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_ERROR); /* fails, is retried, succeeds: one sample */
    work(f, id, PP_PHASE_RETRY, &t, 8, PP_SPAN_RETRY);
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_RETRY);
    work(f, id, PP_PHASE_DECODE, &t, 8, 0);
    work(f, id, PP_PHASE_READ, &t, 9, 0); /* corrupt */
    work(f, id, PP_PHASE_DECODE, &t, 9, PP_SPAN_ERROR);
    work(f, id, PP_PHASE_READ, &t, 10, 0); /* in its place */
    work(f, id, PP_PHASE_DECODE, &t, 10, 0);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_workers, 1);
    assert_int_equal(r->workers[0].samples, 5);
    assert_int_equal(r->workers[0].errors, 1);
    assert_int_equal(r->workers[0].retries, 1);
    report_done(r, f);
}

/* Batches that were fetched in one call, and one that was recorded as a whole: the stage that has all samples
 * counts. */
static void test_samples_that_are_counted(void **state)
{
    struct fake_pipeline p = base();
    p.workers = 0;
    struct fake_run *f = made(&p, "2");
    uint32_t id = fake_thread(f, PP_LANE_WORKER, "pp-worker-0");
    uint64_t t = FAKE_T0 + 1000 * FAKE_MS;
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 8, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 8, PP_SPAN_COUNT); /* what it needed had been read before */
    work(f, id, PP_PHASE_TRANSFORM, &t, 5, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 3, 0); /* one sample, its number is 3 */
    work(f, id, PP_PHASE_TRANSFORM, &t, 4, 0);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->workers[0].samples, 23);
    report_done(r, f);
}

static void test_rows(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    f->error[0] = (struct pp_error_row){
        .path = "a.jpg", .kind = "corrupt", .action = "skipped", .reason = "ends early", .count = 1};
    f->error[1] = (struct pp_error_row){
        .path = "b.jpg", .kind = "corrupt", .action = "skipped", .reason = "no SOI", .count = 40};
    f->error[2] = (struct pp_error_row){
        .path = "c.jpg", .kind = "transient", .action = "retried", .reason = "EIO", .count = 2};
    f->n_errors = 3;
    f->queue[0] = (struct pp_queue_row){.name = "ready",
                                        .capacity = 4,
                                        .mean_depth = 1.5,
                                        .share_empty = 0.25};
    f->n_queues = 1;
    fake_num(f, "config", "workers", "2", NULL);
    fake_text(f, "chosen", "workers", "auto: one per usable CPU");
    fake_num(f, "result", "recorder_cpu_ns", "31000000", "ns");
    fake_num(f, "result", "span_cost_ns", "100", "ns");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->errors, 41);
    assert_int_equal(r->n_error_kinds, 2);
    assert_int_equal(r->error_kinds[0].count, 41);
    assert_string_equal(r->error_kinds[0].example_path, "a.jpg");
    assert_int_equal(r->error_kinds[0].files, 2);
    assert_int_equal(r->error_kinds[0].n_examples, 2);
    assert_string_equal(r->error_kinds[0].examples[1].path, "b.jpg");
    assert_string_equal(r->error_kinds[0].examples[1].reason, "no SOI");
    assert_int_equal(r->error_files, 2); /* a retried read is no failure */
    assert_int_equal(r->n_queues, 1);
    assert_string_equal(r->queues[0].name, "ready");
    assert_string_equal(r->config[1].note, "auto: one per usable CPU");
    near(r->overhead_cpu_s, 0.031 + (double)r->spans * 100e-9, 1e-12);
    near(r->overhead_share, r->overhead_cpu_s / (r->duration_s * 2), 1e-12);
    report_done(r, f);
}

/* ---- the stall index, against counting ---- */

static void test_stalled_before(void **state)
{
    struct pp_stall stalls[] = {{10, 20, 0}, {25, 26, 10}, {40, 60, 11}};
    struct pp_timeline tl = {.stalls = stalls, .n_stalls = 3};
    for (int round = 0; round < 2; round++) {
        size_t cursor = 0;
        for (uint64_t step = 0; step < 400; step++) {
            uint64_t t = round ? step * 37 % 80 : step / 5, counted = 0;
            for (uint64_t ns = 0; ns < t; ns++)
                for (int k = 0; k < 3; k++)
                    counted += ns >= stalls[k].start_ns && ns < stalls[k].end_ns;
            assert_int_equal(pp_timeline_stalled_before(&tl, t, &cursor), counted);
        }
    }
}

/* Every stretch, in order of time and out of it: the stalled time before its end without that before its
 * start. */
static void test_stalled_between(void **state)
{
    struct pp_stall stalls[] = {{10, 20, 0}, {25, 26, 10}, {40, 60, 11}};
    struct pp_timeline tl = {.stalls = stalls, .n_stalls = 3}, none = {.n_stalls = 0};
    for (uint64_t stride = 1; stride < 80; stride += 6) {
        size_t cursor = 0, of_none = 0;
        for (uint64_t step = 0; step < 80; step++)
            for (uint64_t from = step * stride % 80, to = from; to <= 80; to++) {
                size_t first = 0, second = 0;
                uint64_t want = pp_timeline_stalled_before(&tl, to, &first) -
                                pp_timeline_stalled_before(&tl, from, &second);
                assert_int_equal(pp_timeline_stalled_between(&tl, from, to, &cursor), want);
                assert_int_equal(pp_timeline_stalled_between(&none, from, to, &of_none), 0);
            }
    }
}

/* A span of an unknown phase or lane, or an open end, must not be more than a loss. */
static void test_strange_spans(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    fake_span(f, 2, (pp_phase)200, FAKE_T0 + 1000 * FAKE_MS, FAKE_MS);
    fake_span(f, 2, PP_PHASE_READ, UINT64_MAX - 5, 3)->flags = PP_SPAN_UNFINISHED;
    fake_span(f, 0, PP_PHASE_DATA_WAIT, FAKE_T0 + 4000 * FAKE_MS,
              9000 * FAKE_MS); /* for the end of the data: no batch */
    f->thread[3].lane = (pp_lane)99;
    struct pp_report *r = report_of(f);
    near(r->data_wait_share, 0.6, 1e-9);
    assert_int_equal(r->n_workers, 1);
    assert_int_equal(r->n_losses, 1);
    assert_int_equal(r->losses[0].count, 1);
    report_done(r, f);
}

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
        cmocka_unit_test(test_beside_others_the_line_comes_second),
        cmocka_unit_test(test_two_lines_share_the_stall),
        cmocka_unit_test(test_the_second_cause_has_its_word),
        cmocka_unit_test(test_the_loader_within_a_data_set_is_found),
        cmocka_unit_test(test_window_and_totals),
        cmocka_unit_test(test_lane_shares_add_up),
        cmocka_unit_test(test_the_time_of_a_sample_adds_up),
        cmocka_unit_test(test_epoch_boundaries_are_apart),
        cmocka_unit_test(test_the_advice_for_epochs_knows_whether_workers_stay),
        cmocka_unit_test(test_first_batches_of_epochs_count),
        cmocka_unit_test(test_batches_without_numbers),
        cmocka_unit_test(test_an_epoch_of_one_batch),
        cmocka_unit_test(test_a_failed_run_is_not_asked_to_run_longer),
        cmocka_unit_test(test_first_batch_is_never_steady),
        cmocka_unit_test(test_whole_run_in_warmup),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_missing_signals),
        cmocka_unit_test(test_lines_are_listed_where_more_recording_is_no_help),
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
        cmocka_unit_test(test_the_subject_is_named),
        cmocka_unit_test(test_samples_of_a_worker),
        cmocka_unit_test(test_samples_that_are_counted),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_stalled_before),
        cmocka_unit_test(test_stalled_between),
        cmocka_unit_test(test_strange_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
