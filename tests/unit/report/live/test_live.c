/* The live history: what it says of a run whose every nanosecond is known, while it grows and after; what
 * happens to it when the file goes. */
#include "tests/support/made_run.h"

#include "report/live/live.h"

#include <pipeprobe/span.h>

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

static struct pp_live_snapshot snap;

static void at(struct pp_live *l, uint64_t second, unsigned window)
{
    assert_int_equal(pp_live_at(l, second, window, &snap, NULL), PP_OK);
}

static const struct pp_live_stage *stage(pp_lane lane, pp_phase phase)
{
    for (size_t i = 0; i < snap.n_stages; i++)
        if (snap.stages[i].lane == lane && snap.stages[i].phase == phase)
            return &snap.stages[i];
    fail_msg("stage %d of lane %d is not there", (int)phase, (int)lane);
    return NULL;
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %g, want %g within %g", got, want, tolerance);
}

static void test_finished_run(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *l;
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    at(l, MADE_T0 / MADE_S + 19, 5);
    assert_int_equal(snap.state, PP_LIVE_FINISHED);
    assert_int_equal(snap.first_s, 1000);
    assert_int_equal(snap.last_s, 1060); /* spans that began before the end */
    near(snap.window_s, 5, 1e-9);
    /* a cycle of 4 + 7 + 2 + 6 ms on three workers; a batch in 50 ms */
    near(snap.samples_per_s, 3 / 0.019, 1);
    near(snap.batches_per_s, 20, 0.3);
    near(snap.wait_share, 2.0 / 50, 0.001);
    near(stage(PP_LANE_WORKER, PP_PHASE_DECODE)->share, 7.0 / 19, 0.005);
    near(stage(PP_LANE_WORKER, PP_PHASE_DECODE)->cpu, 0.9, 0.001);
    near(stage(PP_LANE_WORKER, PP_PHASE_DECODE)->run_queue, 0.08, 0.001);
    near(stage(PP_LANE_WORKER, PP_PHASE_READ)->blocked, 0.94, 0.001);
    near(stage(PP_LANE_WORKER, PP_PHASE_READ)->mean_ns, 4e6, 1);
    assert_int_equal(stage(PP_LANE_WORKER, PP_PHASE_READ)->threads, 3);
    assert_int_equal(snap.n_workers, 3);
    assert_string_equal(snap.workers[2].name, "pp-worker-2");
    assert_int_equal(snap.workers[0].state, PP_PHASE_DECODE);
    near(snap.workers[0].samples_per_s, 1 / 0.019, 1);
    near(snap.workers[0].busy, 13.0 / 19, 0.01);
    near(snap.workers[0].waiting, 6.0 / 19, 0.01);
    assert_true(snap.workers[0].sample != PP_NO_SAMPLE && snap.workers[0].sample_age_ns >= 0 &&
                snap.workers[0].sample_age_ns < 40e6);
    assert_int_equal(snap.n_queues, 1);
    assert_string_equal(snap.queues[0].name, "ready_batches");
    near(snap.queues[0].depth, 5, 1e-9);
    assert_int_equal(snap.queues[0].capacity, 7); /* 3 workers x 2 + 1 */
    assert_int_equal(snap.errors, 0);
    assert_int_equal(snap.n_series, 20);
    near(snap.wait_series[19], 0.04, 0.01);
    pp_live_close(l);
    made_free(r);
}

static void test_stalls_and_events(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *l;
    int seen[PP_LIVE_EVENT_KINDS] = {0};
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    at(l, 1010, 1);
    assert_in_range(snap.stall_after_s, 1030, 1031);
    assert_int_equal(snap.stall_before_s, 1010);
    at(l, 1050, 1);
    assert_in_range(snap.stall_before_s, 1030, 1031);
    assert_int_equal(snap.stall_after_s, 1050);
    at(l, 1032, 1);
    near(snap.wait_share, 60.0 / 108, 0.05); /* waits and steps of a second are those that end in it */
    near(snap.queues[0].depth, 0, 0);
    assert_int_not_equal(snap.batch, PP_NO_BATCH);
    assert_int_equal(snap.batch_wait_ns, 60 * MADE_MS);
    assert_true(snap.n_bars > 0 && snap.batch_from_ns < snap.batch_to_ns);
    for (size_t i = 0; i < snap.n_bars; i++)
        assert_true(snap.bars[i].start_ns >= snap.batch_from_ns &&
                    snap.bars[i].start_ns + snap.bars[i].dur_ns <= snap.batch_to_ns);
    at(l, UINT64_MAX, 1);
    for (size_t i = 0; i < snap.n_events; i++) {
        seen[snap.events[i].kind]++;
        assert_true(i == 0 || snap.events[i].t_ns >= snap.events[i - 1].t_ns);
    }
    assert_int_equal(seen[PP_LIVE_ERROR], 1);
    assert_int_equal(seen[PP_LIVE_CHECKPOINT], 1);
    assert_true(seen[PP_LIVE_STRAGGLER] >= 1 && seen[PP_LIVE_STALL] >= 1 && seen[PP_LIVE_EPOCH] >= 2);
    assert_int_equal(snap.errors, 1);
    at(l, 1039, 1);
    assert_int_equal(snap.errors, 0); /* of second 1040 */
    at(l, 1040, 1);
    assert_int_equal(snap.workers[1].errors, 1);
    pp_live_close(l);
    made_free(r);
}

/* What is read piece by piece says the same as what is read at once. */
static void test_growing_equals_whole(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *grown, *whole;
    struct pp_live_snapshot a;
    int changed;
    assert_int_equal(pp_store_commit(r->store, NULL), PP_OK);
    assert_int_equal(pp_live_open(r->path, &grown, NULL), PP_OK);
    at(grown, UINT64_MAX, 5);
    assert_true(snap.last_s < snap.first_s);
    assert_int_equal(snap.n_stages, 0);
    for (int s = 0; s < 50; s += 5) {
        made_seconds(r, s, s + 5);
        assert_int_equal(pp_live_refresh(grown, &changed, NULL), PP_OK);
        assert_true(changed);
        at(grown, UINT64_MAX, 5);
        assert_int_equal(snap.state, PP_LIVE_RUNNING);
        assert_int_equal(snap.at_s, 1000 + (uint64_t)s + 4); /* the second being written is left out */
    }
    assert_int_equal(pp_live_refresh(grown, &changed, NULL), PP_OK);
    assert_false(changed);
    assert_int_equal(pp_live_open(r->path, &whole, NULL), PP_OK);
    for (uint64_t s = 1000; s < 1050; s += 7) {
        at(grown, s, 15);
        a = snap;
        struct pp_live_stage first = a.stages[0];
        at(whole, s, 15);
        assert_int_equal(a.n_stages, snap.n_stages);
        assert_int_equal(a.n_events, snap.n_events);
        assert_true(a.samples_per_s == snap.samples_per_s && a.wait_share == snap.wait_share &&
                    first.mean_ns == snap.stages[0].mean_ns);
    }
    pp_live_close(grown);
    pp_live_close(whole);
    made_free(r);
}

static void set_back(const struct made_run *r, const char *tail, time_t by_s)
{
    char name[128];
    struct timespec t[2];
    snprintf(name, sizeof(name), "%s%s", r->path, tail);
    clock_gettime(CLOCK_REALTIME, &t[0]);
    t[0].tv_sec -= by_s;
    t[1] = t[0];
    assert_int_equal(utimensat(AT_FDCWD, name, t, 0), 0);
}

/* The clock of a file server may be behind ours, by minutes here: no silence is longer than the machine is
 * up: a file that changes between two looks is live. */
static void test_a_servers_clock_is_no_silence(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *l;
    int changed;
    made_seconds(r, 0, 5);
    set_back(r, "", 120);
    set_back(r, "-wal", 120);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    at(l, UINT64_MAX, 5);
    assert_true(snap.quiet_s > 100); /* there was no look before */
    made_seconds(r, 5, 10);
    set_back(r, "", 60);
    set_back(r, "-wal", 60);
    assert_int_equal(pp_live_refresh(l, &changed, NULL), PP_OK);
    assert_true(changed);
    at(l, UINT64_MAX, 5);
    assert_true(snap.quiet_s < 30);
    pp_live_close(l);
    made_free(r);
}

/* Workers that hang in a read end no span. The seconds go on all the same, the trainer's wait grows, and who
 * hangs on what is told. */
static void test_hanging_run(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *l;
    uint64_t from = MADE_T0 + 5 * MADE_S;
    made_seconds(r, 0, 5);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    at(l, UINT64_MAX, 5);
    assert_int_equal(snap.at_s, 1004);
    for (int s = 1; s <= 4; s++) {
        uint64_t t = from + (uint64_t)s * MADE_S + 400 * MADE_MS;
        for (uint32_t w = 0; w < MADE_WORKERS; w++)
            pp_store_open_phase(r->store,
                                &(struct pp_store_open_phase){.t_ns = t,
                                                              .thread = MADE_WORKER0 + w,
                                                              .phase = PP_PHASE_READ,
                                                              .since_ns = from,
                                                              .sample = 900 + w,
                                                              .batch = 99,
                                                              .path = w == 1 ? "train/stuck.jpg" : NULL});
        pp_store_open_phase(r->store, &(struct pp_store_open_phase){.t_ns = t,
                                                                    .thread = MADE_TRAINER,
                                                                    .phase = PP_PHASE_DATA_WAIT,
                                                                    .since_ns = from,
                                                                    .sample = PP_NO_SAMPLE,
                                                                    .batch = PP_NO_BATCH});
        assert_int_equal(pp_store_commit(r->store, NULL), PP_OK);
    }
    assert_int_equal(pp_live_refresh(l, NULL, NULL), PP_OK);
    at(l, UINT64_MAX, 2);
    assert_int_equal(snap.at_s, 1008);
    near(snap.wait_share, 1, 1e-9);
    near(snap.wait_series[snap.n_series - 1], 1, 1e-6);
    assert_int_equal(snap.workers[1].state, PP_PHASE_READ);
    assert_int_equal(snap.workers[1].sample, 901);
    assert_string_equal(snap.workers[1].path, "train/stuck.jpg");
    assert_null(snap.workers[0].path);
    near(snap.workers[1].sample_age_ns, 3.4e9, 1);
    near(stage(PP_LANE_WORKER, PP_PHASE_READ)->share, 0.7,
         1e-9); /* the newest look is of 1.4 s into the two */
    assert_true(isnan(stage(PP_LANE_WORKER, PP_PHASE_READ)->mean_ns)); /* none has ended */
    at(l, 1002, 1);
    for (size_t w = 0; w < snap.n_workers; w++) { /* the past is as it was */
        assert_int_equal(snap.workers[w].state, PP_PHASE_DECODE);
        assert_true(snap.workers[w].sample == PP_NO_SAMPLE ? isnan(snap.workers[w].sample_age_ns)
                                                           : snap.workers[w].sample_age_ns < 40e6);
    }
    pp_live_close(l);
    made_free(r);
}

static void test_file_goes(void **state)
{
    struct made_run *r = made_begin();
    struct pp_live *l;
    made_seconds(r, 0, 5);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    unlink(r->path);
    assert_int_equal(pp_live_refresh(l, NULL, NULL), PP_OK);
    at(l, UINT64_MAX, 5);
    assert_true(snap.deleted);
    assert_true(snap.n_stages > 0); /* what was read stays */
    pp_live_close(l);
    made_free(r);
}

static void test_replaced_by_another_run(void **state)
{
    struct made_run *r = made_begin(), *other = made_begin();
    struct pp_live *l;
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    made_seconds(other, 0, 3);
    made_finish(other);
    assert_int_equal(pp_live_open(r->path, &l, NULL), PP_OK);
    assert_int_equal(rename(other->path, r->path), 0);
    assert_int_equal(pp_live_refresh(l, NULL, NULL), PP_OK);
    at(l, UINT64_MAX, 5);
    assert_int_equal(snap.last_s, 1003);
    assert_int_equal(snap.n_events, 0);
    pp_live_close(l);
    made_free(r);
    made_free(other);
}

static void test_refuses_what_is_no_run(void **state)
{
    struct pp_live *l;
    struct pp_err err;
    assert_int_equal(pp_live_open("/tmp/there/is/no/such.sqlite", &l, &err), PP_E_NOT_FOUND);
    assert_null(l);
    assert_int_equal(pp_live_open("Makefile", &l, &err), PP_E_CORRUPT);
    assert_null(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finished_run),
        cmocka_unit_test(test_stalls_and_events),
        cmocka_unit_test(test_growing_equals_whole),
        cmocka_unit_test(test_a_servers_clock_is_no_silence),
        cmocka_unit_test(test_hanging_run),
        cmocka_unit_test(test_file_goes),
        cmocka_unit_test(test_replaced_by_another_run),
        cmocka_unit_test(test_refuses_what_is_no_run),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
