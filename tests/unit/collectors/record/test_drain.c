/* The way from the rings to the file, with the drain thread running. */
#include "tests/support/store_dir.h"

#include "collectors/system/counters.h"
#include "collectors/record/drain.h"
#include "collectors/store/reader.h"
#include "collectors/store/recover.h"

#include "probe/base/clock.h"
#include "probe/trace/observe.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { PRODUCERS = 3, SPANS = 60000 };

struct run {
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
};

static void start(struct run *run, size_t ring_spans, uint64_t poll_ns, uint64_t commit_ns)
{
    struct pp_err err;
    struct pp_session_opts so = {.ring_spans = ring_spans};
    if (pp_session_open(&so, &run->session, &err) ||
        pp_store_create(&(struct pp_store_opts){.path = store_path}, &run->store, &err) ||
        pp_drain_start(&(struct pp_drain_opts){.session = run->session,
                                               .store = run->store,
                                               .poll_ns = poll_ns,
                                               .commit_ns = commit_ns},
                       &run->drain, &err))
        fail_msg("%s", err.text);
}

static void *produce(void *arg)
{
    struct pp_session *session = arg;
    struct pp_thread *t = pp_thread_register(session, PP_LANE_WORKER, "producer");
    struct pp_lap lap = {0};
    pp_lap_start(t);
    for (uint32_t i = 0; i < SPANS; i++) {
        lap.sample = i;
        lap.batch = i / 64;
        pp_lap_end(t, PP_PHASE_DECODE, &lap);
        if (i % 2000 == 1999)
            usleep(500); /* the drain's wake-up on half full must be enough */
    }
    pp_thread_retire(t);
    return NULL;
}

struct seen {
    uint64_t next[PRODUCERS + 1], n;
    uint64_t last_end[PRODUCERS + 1];
    int wrong;
};

static int see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct seen *seen = ctx;
    for (size_t i = 0; i < n; i++) {
        seen->wrong += spans[i].sample != seen->next[thread]++ || spans[i].reserved != 0;
        seen->wrong += seen->last_end[thread] &&
                       spans[i].start_ns != seen->last_end[thread]; /* laps touch, also across chunks */
        seen->last_end[thread] = spans[i].start_ns + spans[i].dur_ns;
    }
    seen->n += n;
    return 0;
}

static void count_counters(void *ctx, uint64_t t_ns, const char *name, double value)
{
    *(int *)ctx += strcmp(name, "process_cpu_ns_total") == 0 && value > 0;
    *(int *)ctx += (strcmp(name, "rss_bytes") == 0 && value > 100000) << 8;
}

static void test_producers_and_drain(void **state)
{
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    pthread_t thread[PRODUCERS];
    struct seen seen = {.n = 0};
    const struct pp_thread_row *rows;
    uint64_t bad;
    double cost = 0;
    int counters = 0;
    start(&run, 16384, 0, 20000000);
    for (int i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, produce, run.session), 0);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(thread[i], NULL);
    pp_drain_stop(run.drain, &stats);
    assert_int_equal(stats.first_failure, PP_OK);
    assert_int_equal(stats.spans + stats.dropped, PRODUCERS * SPANS);
    assert_true(stats.commits >= 1 && stats.cpu_ns > 0);
    assert_int_equal(pp_store_finish(run.store, &err), PP_OK);
    pp_store_close(run.store);
    pp_session_close(run.session, 1);
    struct pp_reader *r;
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_chunk(r, see, &seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    if (stats.dropped == 0) { /* a drop turns detail down: then spans are merged */
        assert_int_equal(seen.n, stats.spans);
        assert_int_equal(seen.wrong, 0);
    }
    assert_int_equal(pp_reader_threads(r, &rows), PRODUCERS);
    uint64_t recorded = 0;
    for (int i = 0; i < PRODUCERS; i++)
        recorded += rows[i].recorded;
    assert_int_equal(recorded, stats.spans);
    assert_string_equal(rows[0].name, "producer");
    assert_int_equal(pp_reader_meta_num(r, "result", "recorder_cpu_ns", &cost), 1);
    assert_true(cost > 0);
    assert_non_null(pp_reader_meta(r, "run", "session_id"));
    assert_int_equal(pp_reader_each_counter(r, NULL, count_counters, &counters, &err), PP_OK);
    assert_true((counters & 0xff) >= 2 && counters >> 8 >= 2); /* at the start and at the end */
    pp_reader_close(r);
}

static void collect_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    if (strcmp(what, "spans") == 0) {
        assert_string_equal(why, "the ring of thread small was full");
        *(uint64_t *)ctx += count;
    }
}

static void test_losses_are_rows(void **state)
{
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    struct pp_reader *r;
    uint64_t lost = 0;
    start(&run, 16, 3600000000000u, 3600000000000u);
    struct pp_thread *t = pp_thread_register(run.session, PP_LANE_WORKER, "small");
    for (int i = 0; i < 50000; i++)
        pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ});
    pp_drain_stop(run.drain, &stats);
    assert_true(stats.dropped > 0);
    assert_int_equal(stats.spans + stats.dropped, 50000);
    pp_store_finish(run.store, &err);
    pp_store_close(run.store);
    pp_session_close(run.session, 0);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, collect_loss, &lost, &err), PP_OK);
    assert_int_equal(lost, stats.dropped);
    pp_reader_close(r);
}

/* A forked child that registers again is drained by the parent. */
static void test_child_process(void **state)
{
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    struct pp_reader *r;
    const struct pp_thread_row *rows;
    int wstatus;
    start(&run, 1024, 0, 10000000);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct pp_thread *t = pp_thread_register(run.session, PP_LANE_WORKER, "child");
        for (uint64_t i = 0; i < 500; i++)
            pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ, .sample = i});
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_int_equal(wstatus, 0);
    pp_drain_stop(run.drain, &stats);
    assert_int_equal(stats.spans, 500);
    pp_store_finish(run.store, &err);
    pp_store_close(run.store);
    pp_session_close(run.session, 0);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_threads(r, &rows), 1);
    assert_int_equal(rows[0].pid, pid);
    assert_int_equal(rows[0].recorded, 500);
    pp_reader_close(r);
}

static int count_samples(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct seen *seen = ctx;
    for (size_t i = 0; i < n; i++)
        seen->wrong += spans[i].sample != seen->n++;
    return 0;
}

static int name_of(void *ctx, uint64_t sample, char *buf, size_t size)
{
    ++*(int *)ctx;
    return snprintf(buf, size, "train/%llu.jpg", (unsigned long long)sample) > 0;
}

struct hang {
    int rows;
    struct pp_open_phase_row last;
    char path[64];
};

static void note_hang(void *ctx, const struct pp_open_phase_row *row)
{
    struct hang *h = ctx;
    h->rows++;
    h->last = *row;
    snprintf(h->path, sizeof(h->path), "%s", row->path ? row->path : "");
}

/* A read that does not end is seen while it hangs, with the name of what it hangs on; what has ended is not.
 */
static void test_open_phases(void **state)
{
    struct run run;
    struct pp_err err;
    struct pp_reader *r;
    struct hang hang = {.rows = 0};
    int asked = 0;
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &run.store, &err), PP_OK);
    assert_int_equal(pp_session_open(&(struct pp_session_opts){.ring_spans = 1024}, &run.session, &err),
                     PP_OK);
    assert_int_equal(pp_drain_start(&(struct pp_drain_opts){.session = run.session,
                                                            .store = run.store,
                                                            .commit_ns = 50000000,
                                                            .sample_path = name_of,
                                                            .sample_ctx = &asked},
                                    &run.drain, &err),
                     PP_OK);
    struct pp_thread *t = pp_thread_register(run.session, PP_LANE_WORKER, "w");
    pp_lap_start(t);
    pp_phase_begin_sample(t, PP_PHASE_READ, 7, 41);
    pp_lap_end(t, PP_PHASE_READ, &(struct pp_lap){.sample = 41, .batch = 7});
    uint64_t began = pp_now_ns();
    pp_phase_begin_sample(t, PP_PHASE_READ, 7, 42);
    for (int i = 0; i < 50 && hang.rows == 0; i++) {
        usleep(100000);
        assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
        assert_int_equal(pp_reader_each_open_phase(r, 0, UINT64_MAX, note_hang, &hang, &err), PP_OK);
        pp_reader_close(r);
    }
    assert_true(hang.rows >= 1);
    assert_int_equal(hang.last.phase, PP_PHASE_READ);
    assert_int_equal(hang.last.sample, 42);
    assert_int_equal(hang.last.batch, 7);
    assert_true(hang.last.since_ns <= began && hang.last.t_ns - hang.last.since_ns > 500000000);
    assert_string_equal(hang.path, "train/42.jpg");
    pp_lap_end(t, PP_PHASE_READ, &(struct pp_lap){.sample = 42, .batch = 7});
    pp_thread_retire(t);
    pp_drain_stop(run.drain, NULL);
    assert_true(asked >= 1);
    pp_store_close(run.store);
    pp_session_close(run.session, 1);
}

/* The disk fills while the run goes: the run ends normally, the drain says why it stopped, what was committed
 * is there, and the rest comes out of the rings once there is room. */
static void test_disk_fills(void **state)
{
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    struct rlimit old, low;
    struct pp_reader *r;
    struct seen seen = {.n = 0};
    uint64_t put = 0, bad = 0;
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &run.store, &err), PP_OK);
    assert_int_equal(pp_session_open(&(struct pp_session_opts){.dir = store_rings, .ring_spans = 16384},
                                     &run.session, &err),
                     PP_OK);
    assert_int_equal(pp_drain_start(&(struct pp_drain_opts){.session = run.session,
                                                            .store = run.store,
                                                            .poll_ns = 1000000,
                                                            .commit_ns = 5000000},
                                    &run.drain, &err),
                     PP_OK);
    struct pp_thread *t = pp_thread_register(run.session, PP_LANE_WORKER, "w");
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 600000;
    setrlimit(RLIMIT_FSIZE, &low);
    for (; put < 14000; put++) {
        pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ,
                                         .sample = put,
                                         .start_ns = put * 0x9e3779b97f4a7c15u >> 1,
                                         .bytes = put * 0x2545f4914f6cdd1du,
                                         .batch = PP_NO_BATCH});
        if (put % 500 == 0)
            usleep(4000);
    }
    pp_drain_stop(run.drain, &stats);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(stats.first_failure, PP_E_NO_SPACE);
    assert_non_null(strstr(stats.err_text, store_path));
    assert_true(stats.spans < put);
    assert_int_equal(pp_store_finish(run.store, &err), PP_E_NO_SPACE);
    pp_store_close(run.store);
    pp_session_close(run.session, 1);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_chunk(r, count_samples, &seen, &bad, &err), PP_OK);
    assert_int_equal(seen.n, put);
    assert_int_equal(seen.wrong + (int)bad, 0);
    pp_reader_close(r);
}

static void test_counter_parsing(void **state)
{
    double v = -1;
    static const char psi[] =
        "some avg10=1.53 avg60=0.87 avg300=0.73 total=1098\nfull avg10=0.00 avg60=0.13 avg300=0.68 total=77\n";
    static const char io[] = "rchar: 323934931\nwchar: 323929600\nread_bytes: 12\ncancelled_write_bytes: 0\n";
    assert_int_equal(pp_counters_find(psi, "some", "total=", &v), 1);
    assert_true(v == 1098);
    assert_int_equal(pp_counters_find(psi, "full", "total=", &v), 1);
    assert_true(v == 77);
    assert_int_equal(pp_counters_find(io, NULL, "read_bytes:", &v), 1);
    assert_true(v == 12);
    assert_int_equal(pp_counters_find(io, NULL, "write_bytes:", &v),
                     0); /* not the tail of cancelled_write_bytes */
    assert_int_equal(pp_counters_find("", NULL, "x", &v), 0);
    assert_int_equal(pp_counters_find("x", NULL, "x", &v), 0);
    assert_int_equal(pp_counters_find("full", "full", "total=", &v), 0);
}

static int count_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    *(uint64_t *)ctx += n;
    return 0;
}

/* Workers that are started anew each epoch: more of them in the life of a run than it ever has at once. */
static void test_threads_come_and_go(void **state)
{
    enum { COMERS = 3000, EACH = 5 };
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    const struct pp_thread_row *rows;
    struct pp_reader *r;
    uint64_t n = 0, short_rows = 0;
    start(&run, 16, 1000000, 20000000);
    for (int i = 0; i < COMERS; i++) {
        struct pp_thread *t = pp_thread_register(run.session, PP_LANE_WORKER, "comer");
        assert_non_null(t);
        for (int k = 0; k < EACH; k++)
            pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ,
                                             .start_ns = (uint64_t)(i * EACH + k),
                                             .dur_ns = 1,
                                             .batch = PP_NO_BATCH});
        pp_thread_retire(t);
    }
    pp_drain_stop(run.drain, &stats);
    assert_int_equal(stats.spans, COMERS * EACH);
    assert_int_equal(pp_store_finish(run.store, &err), PP_OK);
    pp_store_close(run.store);
    pp_session_close(run.session, 1);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_threads(r, &rows), COMERS);
    for (size_t i = 0; i < COMERS; i++)
        short_rows += rows[i].recorded != EACH || rows[i].dropped != 0;
    assert_int_equal(short_rows, 0);
    assert_int_equal(pp_reader_each_chunk(r, count_spans, &n, NULL, &err), PP_OK);
    assert_int_equal(n, COMERS * EACH);
    pp_reader_close(r);
}

/* One epoch's workers, all at once. */
static void work(struct pp_session *session, int workers)
{
    struct pp_thread *t[8];
    for (int w = 0; w < workers; w++) {
        char name[24];
        snprintf(name, sizeof(name), "worker %d", w);
        t[w] = pp_thread_register(session, PP_LANE_WORKER, name);
        assert_non_null(t[w]);
        for (int k = 0; k < 2; k++)
            pp_span_put(t[w], &(struct pp_span){.phase = PP_PHASE_READ, .dur_ns = 1, .batch = PP_NO_BATCH});
    }
    for (int w = 0; w < workers; w++)
        pp_thread_retire(t[w]);
}

/* More workers than there are slots: all that they recorded is stored, in few rows, and what the last one
 * recorded when the drain had gone is recovered. */
static void test_workers_without_end(void **state)
{
    enum { EPOCHS = 3000, WORKERS = 8, ALL = EPOCHS * WORKERS };
    struct run run;
    struct pp_drain_stats stats;
    struct pp_err err;
    const struct pp_thread_row *rows;
    struct pp_reader *r;
    uint64_t n = 0, recorded = 0;
    double taken_over = 0;
    _Static_assert(ALL > PP_THREADS_MAX, "more than there are slots");
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &run.store, &err), PP_OK);
    assert_int_equal(pp_session_open(&(struct pp_session_opts){.dir = store_rings, .ring_spans = 256},
                                     &run.session, &err),
                     PP_OK);
    assert_int_equal(pp_drain_start(&(struct pp_drain_opts){.session = run.session,
                                                            .store = run.store,
                                                            .poll_ns = 1000000,
                                                            .commit_ns = 5000000},
                                    &run.drain, &err),
                     PP_OK);
    for (int e = 0; e < EPOCHS; e++) {
        work(run.session, WORKERS);
        while (e % 50 == 0 && pp_session_fill(run.session) > 0.25)
            usleep(1000);
    }
    pp_drain_stop(run.drain, &stats);
    assert_int_equal(stats.spans, 2 * ALL);
    work(run.session, 1);
    assert_int_equal(pp_session_unregistered(run.session), 0);
    pp_store_close(run.store);
    pp_session_close(run.session, 1);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    size_t threads = pp_reader_threads(r, &rows);
    assert_in_range(threads, PP_THREADS_ONCE + WORKERS, PP_THREADS_MAX / 2);
    for (size_t i = 0; i < threads; i++)
        recorded += rows[i].recorded;
    assert_int_equal(recorded, 2 * ALL + 2);
    assert_int_equal(pp_reader_meta_num(r, "result", "threads_taken_over", &taken_over), 1);
    assert_int_equal((uint64_t)taken_over + threads, ALL);
    assert_int_equal(pp_reader_each_chunk(r, count_spans, &n, NULL, &err), PP_OK);
    assert_int_equal(n, 2 * ALL + 2);
    pp_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_producers_and_drain), STORE_TEST(test_losses_are_rows),
        STORE_TEST(test_child_process),       STORE_TEST(test_open_phases),
        STORE_TEST(test_disk_fills),          cmocka_unit_test(test_counter_parsing),
        STORE_TEST(test_threads_come_and_go), STORE_TEST(test_workers_without_end),
    };
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
