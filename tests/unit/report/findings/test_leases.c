/* The finding about leases: its numbers, when it counts, and that other runs have no such row. */
#include "tests/support/findings.h"

enum { BATCHES = 60, LEASES = 6 };

/* A run of some 2 s whose reader leased LEASES shards and waited wait_ns in all. */
static struct fake_run *made(uint64_t wait_ns, const char *stolen)
{
    struct fake_run *f = fake_pipeline(&(struct fake_pipeline){.workers = 1,
                                                               .batches = BATCHES,
                                                               .warmup = 10,
                                                               .batch_size = 8,
                                                               .wait_ns = FAKE_MS,
                                                               .step_ns = 30 * FAKE_MS,
                                                               .stage = {{PP_PHASE_DECODE, FAKE_MS, 1, 0}}});
    uint32_t reader = fake_thread(f, PP_LANE_READER, "pp-reader-0");
    uint64_t t = FAKE_T0;
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_text(f, "config", "lease", "/scratch/leases");
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    for (int i = 0; i < LEASES; i++, t += 200 * FAKE_MS) {
        fake_span(f, reader, PP_PHASE_LEASE, t, 2 * FAKE_MS);
        if (wait_ns)
            fake_span(f, reader, PP_PHASE_LEASE_WAIT, t + 2 * FAKE_MS, wait_ns / LEASES);
    }
    if (stolen) {
        fake_num(f, "result", "leases", "6", "shards");
        fake_num(f, "result", "leases_stolen", stolen, "shards");
        fake_num(f, "result", "leases_lost", "0", "shards");
    }
    return f;
}

static void waits_are_summed_and_count_from_a_share_on(void **state)
{
    (void)state;
    static const struct {
        uint64_t wait_ns;
        const char *stolen;
        enum pp_finding_state want;
        const char *words;
    } rows[] = {
        {0, "0", PP_FINDING_NOT_FOUND, "6 shards leased; the shard reader waited 0"},
        {60 * FAKE_MS, "0", PP_FINDING_NOT_FOUND, "waited 60.0 ms"},
        {600 * FAKE_MS, "1", PP_FINDING_FOUND,
         "6 shards leased; 1 was of ranks that died or left; the shard reader"},
        {600 * FAKE_MS, NULL, PP_FINDING_NOT_MEASURED, "killed"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = made(rows[i].wait_ns, rows[i].stolen);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *row = finding(r, "lease-waits");
        assert_int_equal(row->state, rows[i].want);
        if (!strstr(row->sentence, rows[i].words))
            fail_msg("'%s' does not say '%s'", row->sentence, rows[i].words);
        if (rows[i].stolen) {
            assert_true(fabs(number(row, "wait_s") - (double)rows[i].wait_ns / 1e9) < 1e-6);
            assert_true(fabs(number(row, "leasing_s") - 0.012) < 1e-6);
        }
        assert_int_equal(row->next_step != NULL, rows[i].want == PP_FINDING_FOUND);
        report_done(r, f);
    }
}

static void other_runs_have_no_such_row(void **state)
{
    (void)state;
    struct fake_run *f = fake_pipeline(&(struct fake_pipeline){.workers = 1,
                                                               .batches = BATCHES,
                                                               .warmup = 10,
                                                               .batch_size = 8,
                                                               .wait_ns = FAKE_MS,
                                                               .step_ns = 30 * FAKE_MS,
                                                               .stage = {{PP_PHASE_DECODE, FAKE_MS, 1, 0}}});
    struct pp_report *r = report_of(f);
    assert_null(finding_or_null(r, "lease-waits"));
    report_done(r, f);
}

/* A job of 3 s in two epochs, whose trainer waits wait_ns for every batch and epoch_ns for the second epoch,
 * while its worker has no work and its reader waits for leases. */
static struct fake_run *waiting(uint64_t wait_ns, uint64_t epoch_ns)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "t"), worker = fake_thread(f, PP_LANE_WORKER, "w"),
             reader = fake_thread(f, PP_LANE_READER, "r");
    uint64_t t = FAKE_T0;
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_text(f, "config", "stream", "true");
    fake_text(f, "config", "lease", "/scratch/leases");
    fake_num(f, "result", "leases", "6", "shards");
    fake_num(f, "result", "leases_stolen", "0", "shards");
    fake_num(f, "result", "leases_lost", "0", "shards");
    fake_text(f, "result", "leases_holder", "node3.4711");
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint16_t epoch = b >= BATCHES / 2;
        uint64_t wait = b == BATCHES / 2 ? epoch_ns : wait_ns;
        struct {
            uint32_t thread;
            pp_phase phase;
            uint64_t from, ns;
        } spans[] = {
            {reader, PP_PHASE_LEASE, t, 1000},
            {reader, PP_PHASE_LEASE_WAIT, t + 1000, wait - 1000},
            {worker, PP_PHASE_DISPATCH_WAIT, t, wait},
            {trainer, PP_PHASE_DATA_WAIT, t, wait},
            {worker, PP_PHASE_DECODE, t + wait, 10 * FAKE_MS},
            {trainer, PP_PHASE_STEP, t + wait, 40 * FAKE_MS},
        };
        for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
            struct pp_span *s = fake_span(f, spans[i].thread, spans[i].phase, spans[i].from, spans[i].ns);
            s->batch = spans[i].thread == reader ? PP_NO_BATCH : b;
            s->epoch = epoch;
            s->sample = PP_NO_SAMPLE;
        }
        t += wait + 40 * FAKE_MS;
    }
    return f;
}

static void waits_for_leases_are_a_cause(void **state)
{
    (void)state;
    static const struct {
        uint64_t wait_ns, epoch_ns;
        const char *l2, *words; /* NULL: not input-bound */
    } rows[] = {
        {20 * FAKE_MS, 20 * FAKE_MS, "lease-wait",
         "other ranks hold the shards that are left, most of them node3.4711"},
        {FAKE_MS / 2, 1500 * FAKE_MS, "lease-wait",
         "other ranks hold the last shards of each epoch, most of them node3.4711"},
        {3 * FAKE_MS, 1500 * FAKE_MS, "lease-wait", "between epochs"},
        {FAKE_MS / 2, 100 * FAKE_MS, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = waiting(rows[i].wait_ns, rows[i].epoch_ns);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *row = finding(r, "lease-waits");
        if (!rows[i].l2 ? r->verdict.l2 != NULL
                        : !r->verdict.l2 || strcmp(r->verdict.l2, rows[i].l2) != 0 ||
                              !strstr(r->verdict.sentence, rows[i].words))
            fail_msg("%zu: %s / %s: %s", i, r->verdict.l0, r->verdict.l2 ? r->verdict.l2 : "-",
                     r->verdict.sentence);
        assert_non_null(row);
        assert_true(fabs(number(row, "epoch_wait_s") - (double)(rows[i].epoch_ns - 1000) / 1e9) < 1e-6);
        report_done(r, f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_summed_and_count_from_a_share_on),
        cmocka_unit_test(other_runs_have_no_such_row),
        cmocka_unit_test(waits_for_leases_are_a_cause),
    };
    return cmocka_run_group_tests_name("leases", tests, NULL, NULL);
}
