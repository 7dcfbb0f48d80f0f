/* The ranks of a run in one rank's recording: waiting for them is exposed time and no wait for data, who came
 * last is named, and the class follows from that. */
#include "tests/support/findings.h"

enum { BATCHES = 60, WARMUP = 10, LAST_RANK = 1, OTHERS_NS = 2 };

static const char *name_of(void *ctx, uint16_t id)
{
    return id == LAST_RANK ? "collective_last_rank" : id == OTHERS_NS ? "collective_others_ns" : NULL;
}

/* 5 ms of wait, 20 of step, 25 for the other ranks; the workers mostly have nothing to do. */
static struct fake_run *made(const char *rank, int (*last)(int batch))
{
    struct fake_run *f = fake_pipeline(
        &(struct fake_pipeline){.workers = 2,
                                .batches = BATCHES,
                                .warmup = WARMUP,
                                .batch_size = 8,
                                .wait_ns = 5 * FAKE_MS,
                                .step_ns = 20 * FAKE_MS,
                                .sync_ns = 25 * FAKE_MS,
                                .stage = {{PP_PHASE_READ, FAKE_MS, 0.2, 0},
                                          {PP_PHASE_DECODE, FAKE_MS, 0.98, 0.02},
                                          {PP_PHASE_TRANSFORM, FAKE_MS, 0.98, 0.02},
                                          {PP_PHASE_SLOT_WAIT, 9 * FAKE_MS, 0, 0}}});
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    fake_num(f, "config", "rank", rank, NULL);
    fake_num(f, "config", "world_size", "4", NULL);
    size_t spans = f->n_spans[0];
    for (size_t i = 0; i < spans; i++) {
        struct pp_span s = f->span[0][i];
        if (s.phase != PP_PHASE_DEVICE_SYNC)
            continue;
        f->span[0][i].phase = PP_PHASE_COLLECTIVE;
        if (!last)
            continue;
        struct pp_span *counter = fake_span(f, 0, PP_PHASE_COUNTER, s.start_ns + s.dur_ns - 1, 0);
        counter->name = LAST_RANK;
        counter->bytes = (uint64_t)last((int)s.batch);
    }
    return f;
}

static struct pp_report *build(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    source.name = name_of;
    return report_of_source(&source);
}

static int mostly_three(int batch)
{
    return batch % 10 ? 3 : 1;
}

static int in_turns(int batch)
{
    return batch % 4;
}

static void test_waiting_for_ranks_is_no_wait_for_data(void **state)
{
    struct fake_run *f = made("0", mostly_three);
    struct pp_report *r = build(f);
    assert_true(fabs(r->data_wait_share - 0.1) < 1e-9);
    assert_true(fabs(r->collective_share - 0.5) < 1e-9);
    assert_true(fabs(r->verdict.exposed_share - 0.6) < 1e-9);
    assert_true(fabs(r->headroom_gain - 1.5) < 0.01); /* 50 ms a batch, 20 of them the step */
    says(r->verdict.sentence, "waits 10 % of the time for data and 50 % for other ranks");
    report_done(r, f);
}

static void test_one_rank_or_all_of_them(void **state)
{
    static const struct {
        int (*last)(int batch);
        const char *l2, *sentence;
        enum pp_finding_state found;
    } rows[] = {
        {mostly_three, "rank-straggler", "rank 3 was last in 90 % of the steps", PP_FINDING_FOUND},
        {in_turns, "rank-imbalance", "the ranks take turns at being slow", PP_FINDING_NOT_FOUND},
        {NULL, NULL, "does not say for which", PP_FINDING_NOT_MEASURED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = made("0", rows[i].last);
        struct pp_report *r = build(f);
        assert_string_equal(r->verdict.l0, "input-bound");
        assert_string_equal(r->verdict.l1, "sync");
        if (rows[i].l2)
            assert_string_equal(r->verdict.l2, rows[i].l2);
        else
            assert_null(r->verdict.l2);
        says(r->verdict.sentence, rows[i].sentence);
        assert_int_equal(finding(r, "late-rank")->state, rows[i].found);
        report_done(r, f);
    }
}

static void test_the_late_rank_is_named_and_knows_itself(void **state)
{
    struct fake_run *f = made("0", mostly_three);
    struct pp_report *r = build(f);
    says(finding(r, "late-rank")->sentence,
         "rank 3 was last in 90 % of 50 collective steps; this rank waited 50 % of its step time for others");
    says(finding(r, "late-rank")->next_step, "See that rank's recording");
    report_done(r, f);
    f = made("3", mostly_three);
    r = build(f);
    says(finding(r, "late-rank")->sentence, ": this rank");
    says(finding(r, "late-rank")->next_step, "All ranks wait for this one");
    report_done(r, f);
}

/* What ranks wait for each other before the first step is neither a batch nor a part of making the first one.
 */
static void test_beginning_together_is_apart(void **state)
{
    struct fake_run *f = made("0", mostly_three);
    struct pp_span *first = &f->span[0][1], gather = {.start_ns = FAKE_T0 + 100 * FAKE_MS,
                                                      .dur_ns = 12000 * FAKE_MS,
                                                      .phase = PP_PHASE_COLLECTIVE,
                                                      .sample = PP_NO_SAMPLE,
                                                      .batch = PP_NO_BATCH};
    assert_int_equal(first->batch, 0);
    fake_span(f, 0, PP_PHASE_COUNTER, FAKE_T0, 0); /* room for one more */
    memmove(&f->span[0][2], &f->span[0][1], (f->n_spans[0] - 2) * sizeof(gather));
    f->span[0][1] = gather;
    for (size_t t = 0; t < f->n_threads; t++)
        for (size_t i = 0; i < f->n_spans[t]; i++)
            if (!(t == 0 && i <= 1))
                f->span[t][i].start_ns += 12000 * FAKE_MS;
    struct pp_report *r = build(f);
    assert_int_equal(r->batches, BATCHES);
    assert_true(fabs(r->collective_share - 0.5) < 1e-9);
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].kind, "first-batch") == 0)
            says(r->findings[i].sentence, "waiting for the other ranks to begin");
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_for_ranks_is_no_wait_for_data),
        cmocka_unit_test(test_one_rank_or_all_of_them),
        cmocka_unit_test(test_the_late_rank_is_named_and_knows_itself),
        cmocka_unit_test(test_beginning_together_is_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
