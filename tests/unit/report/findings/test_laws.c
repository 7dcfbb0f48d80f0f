/* The operational laws as checks: a run that obeys them is judged, and one that breaks one of them is
 * rejected with the reason, whatever else it says. */
#include "tests/support/findings.h"

enum { BATCHES = 120, WARMUP = 10, BATCH = 8, CYCLE_MS = 25, READY_MS = 30 };

/* Two workers make 8 samples in 25 ms, which is what the trainer takes; a batch is ready 30 ms before the
 * copy lane fetches it. */
static struct fake_run *lawful(double cpu, double delay)
{
    struct fake_pipeline p = {
        .workers = 2,
        .batches = BATCHES,
        .warmup = WARMUP,
        .batch_size = BATCH,
        .wait_ns = 5 * FAKE_MS,
        .step_ns = 20 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, FAKE_MS, 0.2, 0.05},
                  {PP_PHASE_DECODE, 5 * FAKE_MS, cpu, delay},
                  {PP_PHASE_TRANSFORM, FAKE_MS / 4, 0.9, 0.02}},
    };
    struct fake_run *f = fake_pipeline(&p);
    uint32_t collator = fake_thread(f, PP_LANE_WORKER, "pp-worker-2"), copy = 1;
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t fetched = FAKE_T0 + (100 + b * CYCLE_MS) * FAKE_MS;
        fake_span(f, collator, PP_PHASE_COLLATE, fetched - READY_MS * FAKE_MS - 1000, 1000)->batch = b;
        fake_span(f, copy, PP_PHASE_GET_WAIT, fetched - FAKE_MS, FAKE_MS)->batch = b;
    }
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "config", "workers", "2", NULL);
    fake_num(f, "config", "prefetch", "2", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    f->queue[0] = (struct pp_queue_row){.name = "ready",
                                        .capacity = 5,
                                        .puts = BATCHES,
                                        .gets = BATCHES,
                                        .mean_depth = (double)READY_MS / CYCLE_MS};
    f->queue[1] = (struct pp_queue_row){
        .name = "device", .capacity = 2, .puts = BATCHES, .gets = BATCHES, .mean_depth = 4.0 / CYCLE_MS};
    f->n_queues = 2;
    return f;
}

static const char *shown(const struct pp_report *r, const char *evidence)
{
    for (size_t i = 0; i < r->verdict.evidences; i++)
        if (strcmp(r->verdict.evidence[i].name, evidence) == 0)
            return r->verdict.evidence[i].value;
    return NULL;
}

/* Rejected for this law, in the verdict and in the evidence, and the reason names what disagrees. */
static void rejected(struct fake_run *f, const char *law, const char *evidence, const char *reason)
{
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_int_equal(pp_report_exit_code(r), 3);
    if (!strstr(r->verdict.sentence, law) || !strstr(r->verdict.sentence, reason))
        fail_msg("'%s' does not say '%s' and '%s'", r->verdict.sentence, law, reason);
    assert_non_null(shown(r, evidence));
    report_done(r, f);
}

static void test_lawful(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_string_equal(shown(r, "utilisation law, off by"), "0 %");
    assert_string_equal(shown(r, "service-rate law, off by"), "0 %");
    assert_true(atof(shown(r, "Little's law, off by")) < 3);
    assert_string_equal(shown(r, "nearest limit reached"), "80 %");
    report_done(r, f);
    (void)state;
}

/* The trainer takes 4 % more than the workers make, from the batches that were in flight before: what it gets
 * stays within what workers and stock can give. */
static void test_no_window_exceeds_its_bound(void **state)
{
    struct fake_pipeline p = {
        .workers = 2,
        .batches = BATCHES,
        .warmup = WARMUP,
        .batch_size = BATCH,
        .wait_ns = 23 * FAKE_MS,
        .step_ns = FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, FAKE_MS, 0.2, 0.05},
                  {PP_PHASE_DECODE, 5 * FAKE_MS, 0.9, 0.05},
                  {PP_PHASE_TRANSFORM, FAKE_MS / 4, 0.9, 0.02}},
    };
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "config", "workers", "2", NULL);
    fake_num(f, "config", "prefetch", "2", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    struct pp_report *r = report_of(f);
    double reached = atof(shown(r, "nearest limit reached"));
    if (!(reached > 99 && reached <= 100))
        fail_msg("%s of the bound", shown(r, "nearest limit reached"));
    report_done(r, f);
    (void)state;
}

/* After the trainer's end one batch is still copied, which is not taken; three more are finished, for which
 * there is no queue any more; and a worker sits in a slow read, so that the queues are open for a while
 * longer. */
static void test_what_comes_after_the_trainer_is_in_no_queue(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    uint64_t end = FAKE_T0 + (100 + BATCHES * CYCLE_MS) * FAKE_MS, longer = 600;
    fake_span(f, 1, PP_PHASE_H2D, end, FAKE_MS)->batch = BATCHES;
    fake_span(f, 2, PP_PHASE_READ, end, longer * FAKE_MS)->batch = BATCHES;
    for (uint32_t b = BATCHES; b < BATCHES + 3; b++)
        fake_span(f, 4, PP_PHASE_COLLATE, end + (b - BATCHES + 1) * FAKE_MS, 1000)->batch = b;
    for (int i = 0; i < 2; i++)
        f->queue[i].mean_depth *= (double)(BATCHES * CYCLE_MS) / (double)(BATCHES * CYCLE_MS + longer);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_true(atof(shown(r, "Little's law, off by")) < 3);
    report_done(r, f);
}

static void test_a_thread_in_two_phases_at_once(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    uint32_t worker = 2;
    for (size_t i = 0; i < f->n_spans[worker]; i++)
        if (f->span[worker][i].phase == PP_PHASE_DECODE)
            f->span[worker][i].dur_ns += FAKE_MS; /* of 6.25 ms: 16 % booked twice */
    rejected(f, "utilisation law", "utilisation law, off by", "pp-worker-0 overlap");
    (void)state;
}

static void test_more_cpu_time_than_time(void **state)
{
    rejected(lawful(0.98, 0.3), "utilisation law", "utilisation law, off by",
             "more CPU time plus CPU wait than wall time");
    (void)state;
}

static void test_more_cpu_time_than_cpus(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, "usable_cpus") == 0)
            f->meta[i].value = "0.5";
    rejected(f, "utilisation law", "utilisation law, off by", "CPUs, and 0.5 are usable");
    (void)state;
}

static void test_a_worker_is_missing(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    f->n_spans[3] = 0;
    rejected(f, "service-rate law", "service-rate law, off by", "the trainer got 880");
    (void)state;
}

/* The trainer never has every fourth batch. finished: the workers have made those, and they were thrown away.
 */
static struct fake_run *left_early(int finished)
{
    struct fake_run *f = lawful(0.9, 0.05);
    for (uint32_t thread = 0; thread <= 4; thread += 4) { /* the trainer, the collator */
        size_t kept = 0;
        for (size_t i = 0; i < f->n_spans[thread]; i++)
            if (f->span[thread][i].batch == PP_NO_BATCH || f->span[thread][i].batch % 4 != 3 ||
                (thread && finished))
                f->span[thread][kept++] = f->span[thread][i];
        f->n_spans[thread] = kept;
    }
    return f;
}

static void test_batches_that_are_thrown_away(void **state)
{
    struct fake_run *f = left_early(1);
    struct pp_report *r = report_of(f);
    assert_string_not_equal(r->verdict.l0, "inconclusive");
    assert_string_equal(shown(r, "service-rate law, off by"), "0 %");
    report_done(r, f);
    rejected(left_early(0), "service-rate law", "service-rate law, off by", "the trainer got 6");
}

static void test_a_queue_says_otherwise(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    f->queue[0].mean_depth *= 1.15;
    rejected(f, "Little's law", "Little's law, off by", "queue ready measured");
    f = lawful(0.9, 0.05);
    f->queue[1].mean_depth = 0.3; /* 0.14 batches off, of less than one */
    rejected(f, "Little's law", "Little's law, off by", "queue device measured");
    (void)state;
}

/* Out of order, a batch comes when it is finished: the same spans, in order, would have waited for batch 60.
 */
static void test_order_of_delivery(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    uint32_t collator = 4;
    f->span[collator][60]
        .start_ns += 25 * FAKE_MS; /* finished 5 ms before it is fetched; 61 was there before it */
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    report_done(r, f);
    (void)state;
}

/* What was not recorded is not held against a run. */
static void test_left_out(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    f->n_queues = 0;
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, "prefetch") == 0)
            f->meta[i].key = "unrelated";
    f->n_spans[3] = 0; /* would break the service-rate law */
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_null(shown(r, "service-rate law, off by"));
    assert_null(shown(r, "Little's law, off by"));
    assert_non_null(shown(r, "utilisation law, off by"));
    report_done(r, f);
    (void)state;
}

/* A span inside another one is no second use of the time (the C API nests). */
static void test_nested_spans(void **state)
{
    struct fake_run *f = lawful(0.9, 0.05);
    uint32_t worker = 2;
    size_t n = f->n_spans[worker];
    for (size_t i = 0; i < n; i++) {
        struct pp_span s = f->span[worker][i];
        if (s.phase == PP_PHASE_TRANSFORM)
            fake_span(f, worker, PP_PHASE_USER, s.start_ns - 6 * FAKE_MS, 6 * FAKE_MS + s.dur_ns);
    }
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    report_done(r, f);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lawful),
        cmocka_unit_test(test_no_window_exceeds_its_bound),
        cmocka_unit_test(test_what_comes_after_the_trainer_is_in_no_queue),
        cmocka_unit_test(test_a_thread_in_two_phases_at_once),
        cmocka_unit_test(test_more_cpu_time_than_time),
        cmocka_unit_test(test_more_cpu_time_than_cpus),
        cmocka_unit_test(test_a_worker_is_missing),
        cmocka_unit_test(test_batches_that_are_thrown_away),
        cmocka_unit_test(test_a_queue_says_otherwise),
        cmocka_unit_test(test_order_of_delivery),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_nested_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
