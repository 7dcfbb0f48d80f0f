/* Workers in the live view are lanes, whichever process fills them: a DataLoader that forks its workers anew
 * for every epoch has as many workers in its last epoch as in its first. */
#include "tests/support/store_dir.h"

#include "report/live/live.h"

#include <math.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define T0 (1000 * S)
enum { TRAINER, WORKER0, WORKERS = 2, EPOCHS = 3, EPOCH_S = 3, TRAINER_PID = 100 };

static struct pp_live_snapshot snap;

static void at(struct pp_live *l, uint64_t second, unsigned window)
{
    assert_int_equal(pp_live_at(l, second, window, &snap, NULL), PP_OK);
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %g, want %g within %g", got, want, tolerance);
}

static void put(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t from, uint64_t ns,
                uint64_t sample, uint32_t batch)
{
    struct pp_span span = {
        .start_ns = from, .dur_ns = ns, .phase = (uint8_t)phase, .sample = sample, .batch = batch};
    assert_int_equal(pp_store_append(s, thread, &span, 1), PP_OK);
}

static void thread_row(struct pp_store *s, uint32_t id, pp_lane lane, const char *name, int64_t pid)
{
    pp_store_thread(
        s, &(struct pp_store_thread){
               .id = id, .lane = lane, .name = name, .pid = pid, .tid = pid, .recorded = 1, .dropped = 1});
}

static struct pp_store *begin(void)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_text(s, "environment", "hostname", "a host that is not this one");
    thread_row(s, TRAINER, PP_LANE_TRAINER, "python", TRAINER_PID);
    return s;
}

static uint32_t worker_of(int epoch, int w)
{
    return (uint32_t)(WORKER0 + epoch * WORKERS + w);
}

/* In each second each worker reads one sample in 800 ms; the workers are new processes. */
static void put_epoch(struct pp_store *s, int epoch)
{
    for (int w = 0; w < WORKERS; w++)
        thread_row(s, worker_of(epoch, w), PP_LANE_WORKER, "python", TRAINER_PID + worker_of(epoch, w));
    for (int i = 0; i < EPOCH_S; i++) {
        uint32_t batch = (uint32_t)(epoch * EPOCH_S + i);
        uint64_t t = T0 + batch * S;
        for (int w = 0; w < WORKERS; w++)
            put(s, worker_of(epoch, w), PP_PHASE_READ, t + 10 * MS + (uint64_t)w * MS, 800 * MS,
                10 * batch + (uint32_t)w, batch);
        put(s, TRAINER, PP_PHASE_DATA_WAIT, t, 850 * MS, PP_NO_SAMPLE, batch);
        put(s, TRAINER, PP_PHASE_STEP, t + 850 * MS, 100 * MS, PP_NO_SAMPLE, batch);
        if (i == 0)
            pp_store_error(s, &(struct pp_store_error){.t_ns = t + 500 * MS,
                                                       .thread = worker_of(epoch, 1),
                                                       .batch = batch,
                                                       .sample = 1,
                                                       .path = "x.jpg",
                                                       .kind = "corrupt",
                                                       .action = "skipped",
                                                       .reason = "cut"});
        assert_int_equal(pp_store_commit(s, NULL), PP_OK);
    }
}

static void check_workers(int epochs)
{
    assert_int_equal(snap.n_workers, WORKERS);
    assert_int_equal(snap.workers_n, WORKERS);
    for (int w = 0; w < WORKERS; w++) {
        const struct pp_live_worker *row = &snap.workers[w];
        char name[24];
        snprintf(name, sizeof(name), "worker %d", w);
        assert_string_equal(row->name, name);
        assert_int_equal(row->thread, WORKER0 + w); /* of the first process */
        assert_int_equal(row->state, PP_PHASE_READ);
        assert_int_equal(row->sample, 10 * (snap.at_s - T0 / S) + (uint64_t)w);
        assert_int_equal(row->errors, w == 1 ? epochs : 0);
        near(row->busy, 0.8, 0.02);
        near(row->samples_per_s, 1, 0.02);
    }
    assert_int_equal(snap.dropped, 1 + epochs * WORKERS);
}

static void a_worker_of_every_epoch_is_one_lane(void **state)
{
    struct pp_store *s = begin();
    struct pp_live *l;
    for (int e = 0; e < EPOCHS; e++)
        put_epoch(s, e);
    pp_store_meta_num(s, "run", "ended_mono_ns", (double)(T0 + EPOCHS * EPOCH_S * S), "ns");
    pp_store_meta_text(s, "run", "outcome", "finished");
    assert_int_equal(pp_store_finish(s, NULL), PP_OK);
    pp_store_close(s);
    assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
    at(l, UINT64_MAX, EPOCHS * EPOCH_S);
    check_workers(EPOCHS);
    for (size_t i = 0; i < snap.n_stages; i++)
        if (snap.stages[i].phase == PP_PHASE_READ) {
            assert_int_equal(snap.stages[i].threads, WORKERS);
            near(snap.stages[i].share, 0.8, 0.02); /* of two lanes, not of six threads */
        }
    assert_int_not_equal(snap.n_bars, 0);
    for (size_t i = 0; i < snap.n_bars; i++) /* of the last batch, which new processes made */
        assert_in_range(snap.bars[i].thread, TRAINER, WORKER0 + WORKERS - 1);
    pp_live_close(l);
}

static void lanes_are_joined_as_the_file_grows(void **state)
{
    struct pp_store *s = begin();
    struct pp_live *l = NULL;
    for (int e = 0; e < EPOCHS; e++) {
        put_epoch(s, e);
        if (e == 0)
            assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
        else
            assert_int_equal(pp_live_refresh(l, NULL, NULL), PP_OK);
        at(l, UINT64_MAX, EPOCH_S);
        check_workers(e + 1);
    }
    pp_live_close(l);
    pp_store_close(s);
}

/* Its last span ended before the other worker began, and it is at work all the same. */
static void a_worker_in_a_long_read_keeps_its_lane(void **state)
{
    for (int works = 0; works <= 1; works++) {
        struct pp_store *s = begin();
        struct pp_live *l;
        for (uint32_t w = 0; w < WORKERS; w++)
            thread_row(s, WORKER0 + w, PP_LANE_WORKER, "python", TRAINER_PID + 1 + w);
        put(s, TRAINER, PP_PHASE_DATA_WAIT, T0, S, PP_NO_SAMPLE, 0);
        put(s, WORKER0, PP_PHASE_READ, T0, S, 1, 0);
        put(s, WORKER0 + 1, PP_PHASE_READ, T0 + 3 * S, S, 2, 0);
        pp_store_open_phase(s, &(struct pp_store_open_phase){.t_ns = T0 + 4 * S,
                                                             .thread = WORKER0,
                                                             .phase = works ? PP_PHASE_READ
                                                                            : PP_PHASE_DISPATCH_WAIT,
                                                             .since_ns = T0 + S,
                                                             .sample = 3,
                                                             .batch = 1});
        assert_int_equal(pp_store_commit(s, NULL), PP_OK);
        assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
        at(l, UINT64_MAX, 2);
        assert_int_equal(snap.n_workers, works ? 2 : 1); /* in a wait: it may have ended */
        pp_live_close(l);
        pp_store_close(s);
        unlink(store_path);
    }
}

/* One span may stand for many samples that take microseconds each: samples are counted, and their time is of
 * one. Spans without a number, as of an imported trace, count as one each. */
static void a_span_of_many_samples_counts_them(void **state)
{
    for (int counted = 0; counted <= 1; counted++) {
        struct pp_store *s = begin();
        struct pp_live *l;
        double samples = counted ? 40 : 1;
        thread_row(s, WORKER0, PP_LANE_WORKER, "python", TRAINER_PID + 1);
        for (uint32_t i = 0; i < 4; i++) {
            struct pp_span span = {.start_ns = T0 + i * S + MS,
                                   .dur_ns = 800 * MS,
                                   .phase = PP_PHASE_TRANSFORM,
                                   .batch = i,
                                   .sample = counted ? 40 : PP_NO_SAMPLE,
                                   .flags = counted ? PP_SPAN_COUNT : 0};
            assert_int_equal(pp_store_append(s, WORKER0, &span, 1), PP_OK);
            put(s, TRAINER, PP_PHASE_DATA_WAIT, T0 + i * S, 900 * MS, PP_NO_SAMPLE, i);
        }
        pp_store_meta_num(s, "run", "ended_mono_ns", (double)(T0 + 4 * S), "ns");
        assert_int_equal(pp_store_finish(s, NULL), PP_OK);
        pp_store_close(s);
        assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
        at(l, UINT64_MAX, 4);
        near(snap.samples_per_s, samples, 0.01);
        near(snap.workers[0].samples_per_s, samples, 0.01);
        near(snap.rate_series[snap.n_series - 1], samples, 0.01);
        near(pp_live_totals(l)->samples, 4 * samples, 0);
        for (size_t i = 0; i < snap.n_stages; i++)
            if (snap.stages[i].phase == PP_PHASE_TRANSFORM)
                near(snap.stages[i].mean_ns, 800e6 / samples, 1);
        pp_live_close(l);
        unlink(store_path);
    }
}

/* PyTorch says that an epoch ended when it has no more batches: that brings none. */
static void an_epochs_end_is_no_batch(void **state)
{
    for (int pytorch = 0; pytorch <= 1; pytorch++) {
        struct pp_store *s = begin();
        struct pp_live *l;
        size_t told = 0;
        pp_store_meta_text(s, "config", "source", pytorch ? "pytorch" : "nvtx");
        for (int e = 0; e < EPOCHS; e++) {
            put_epoch(s, e);
            put(s, TRAINER, PP_PHASE_EPOCH_BOUNDARY, T0 + (uint64_t)(e + 1) * EPOCH_S * S - 40 * MS, 12 * MS,
                PP_NO_SAMPLE, PP_NO_BATCH);
        }
        assert_int_equal(pp_store_finish(s, NULL), PP_OK);
        pp_store_close(s);
        assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
        near(pp_live_totals(l)->batches, EPOCHS * EPOCH_S + (pytorch ? 0 : EPOCHS), 0);
        at(l, UINT64_MAX, EPOCHS * EPOCH_S);
        near(snap.batches_per_s, pytorch ? 1 : 1 + 1.0 / EPOCH_S, pytorch ? 0.02 : 0.1);
        for (size_t i = 0; i < snap.n_events; i++) {
            if (snap.events[i].kind != PP_LIVE_EPOCH)
                continue;
            assert_string_equal(snap.events[i].text, pytorch ? "1 epoch ended, in 12.0 ms"
                                                             : "1 new epoch, first batch after 12.0 ms");
            told++;
        }
        assert_int_equal(told, EPOCHS);
        pp_live_close(l);
        unlink(store_path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_worker_of_every_epoch_is_one_lane),
        STORE_TEST(lanes_are_joined_as_the_file_grows),
        STORE_TEST(a_worker_in_a_long_read_keeps_its_lane),
        STORE_TEST(a_span_of_many_samples_counts_them),
        STORE_TEST(an_epochs_end_is_no_batch),
    };
    return cmocka_run_group_tests_name("live_lanes", tests, NULL, NULL);
}
