/* The recording side: rings, laps, clock, names, fork. */
#include "probe/trace/trace.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"
#include "tests/tools/ring_peek.h"

#include <pipeprobe/ring.h>

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct pp_session *open_session(size_t ring_spans, int resources)
{
    struct pp_session *s = NULL;
    struct pp_err err;
    struct pp_session_opts opts = {.ring_spans = ring_spans, .resources = resources};
    pp_status status = pp_session_open(&opts, &s, &err);
    if (status)
        fail_msg("%s", err.text);
    return s;
}

static void spin_ns(uint64_t ns)
{
    uint64_t until = pp_now_ns() + ns;
    while (pp_now_ns() < until) {
    }
}

static void test_off_is_nothing(void **state)
{
    struct pp_lap lap = {0};
    struct pp_span span = {0};
    pp_lap_start(NULL);
    pp_lap_end(NULL, PP_PHASE_READ, &lap);
    pp_lap_skip(NULL);
    pp_span_put(NULL, &span);
    pp_counter_put(NULL, 1, 2);
    pp_thread_retire(NULL);
    assert_int_equal(pp_lap_stamp_ns(NULL), 0);
    assert_int_equal(pp_thread_id(NULL), UINT32_MAX);
    assert_null(pp_thread_register(NULL, PP_LANE_WORKER, "x"));
    assert_int_equal(pp_name_intern(NULL, "x"), 0);
}

static void test_laps_share_stamps(void **state)
{
    struct pp_session *s = open_session(0, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "pp-worker-0");
    struct pp_span out[8];
    uint64_t before = pp_now_ns();
    pp_lap_start(t);
    spin_ns(200000);
    pp_lap_end(t, PP_PHASE_READ,
               &(struct pp_lap){.sample = 7,
                                .batch = 3,
                                .bytes = 4096,
                                .epoch = 2,
                                .cache_hit_kib = 4,
                                .flags = PP_SPAN_HAS_CACHE});
    spin_ns(100000);
    pp_lap_end(t, PP_PHASE_DECODE, &(struct pp_lap){.sample = 7, .batch = 3});
    spin_ns(100000);
    pp_lap_skip(t);
    uint64_t stamp = pp_lap_stamp_ns(t);
    pp_lap_end(t, PP_PHASE_STEP, NULL);
    uint64_t after = pp_now_ns();
    assert_int_equal(ring_peek(s, 0, out, 8), 3);
    assert_int_equal(ring_peek(s, 0, out + 3, 5), 0); /* peeked once, not twice */
    assert_int_equal(out[0].phase, PP_PHASE_READ);
    assert_int_equal(out[0].sample, 7);
    assert_int_equal(out[0].batch, 3);
    assert_int_equal(out[0].bytes, 4096);
    assert_int_equal(out[0].epoch, 2);
    assert_int_equal(out[0].cache_hit_kib, 4);
    assert_int_equal(out[0].flags, PP_SPAN_HAS_CACHE);
    assert_int_equal(out[0].reserved, 0);
    assert_int_equal(out[0].start_ns + out[0].dur_ns, out[1].start_ns);
    assert_true(out[1].start_ns + out[1].dur_ns < out[2].start_ns); /* the skipped time belongs to nothing */
    assert_int_equal(out[2].start_ns, stamp);
    assert_int_equal(out[2].sample, PP_NO_SAMPLE);
    assert_int_equal(out[2].batch, PP_NO_BATCH);
    assert_in_range(out[0].dur_ns, 195000, 50000000);
    /* the tick clock and CLOCK_MONOTONIC agree to 20 us */
    assert_true(out[0].start_ns + 20000 >= before && out[2].start_ns + out[2].dur_ns <= after + 20000);
    pp_session_close(s, 0);
}

static void test_first_lap_end_only_stamps(void **state)
{
    struct pp_session *s = open_session(0, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[2];
    pp_lap_end(t, PP_PHASE_READ, NULL);
    assert_int_equal(ring_peek(s, 0, out, 2), 0);
    pp_lap_end(t, PP_PHASE_READ, NULL);
    assert_int_equal(ring_peek(s, 0, out, 2), 1);
    pp_session_close(s, 0);
}

/* Laps take a short way while nothing else is to be done. Whatever else happens in between, in any order, and
 * with a ring that is full now and then: each record is there once, in order and whole, or counted as
 * dropped. */
static void test_records_of_all_kinds_in_any_order(void **state)
{
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_rng rng = pp_rng_key(4, 2, 4, 2);
    struct pp_span out[64], now;
    struct pp_ring_info info;
    uint64_t made = 0, seen = 0, last = 0;
    pp_lap_start(t);
    for (int i = 0; i < 20000; i++) {
        struct pp_lap lap = {.sample = made + 1,
                             .batch = 7,
                             .bytes = 9,
                             .epoch = 3,
                             .flags = PP_SPAN_RETRY,
                             .name = 2,
                             .cache_hit_kib = 4};
        switch (pp_rng_below(&rng, 12)) {
        case 0: pp_lap_skip(t); continue;
        case 1: pp_lap_start(t); continue;
        case 2:
            pp_lap_expect(t, PP_PHASE_READ, &lap);
            assert_int_equal(pp_ring_open_now(s, 0, pp_now_ns(), &now), 1);
            continue;
        case 3:
            pp_span_put(t, &(struct pp_span){.sample = made + 1,
                                             .batch = 7,
                                             .bytes = 9,
                                             .epoch = 3,
                                             .flags = PP_SPAN_RETRY,
                                             .name = 2,
                                             .cache_hit_kib = 4,
                                             .phase = PP_PHASE_DECODE});
            break;
        case 4: pp_span_begin(t, PP_PHASE_DECODE, &lap), pp_span_end(t, 9, 0); break;
        case 5:
            pp_lap_end(t, PP_PHASE_STEP, NULL);
            assert_int_equal(pp_ring_open_now(s, 0, pp_now_ns(), &now), 0);
            break;
        default:
            pp_lap_end(t, PP_PHASE_DECODE, &lap);
            assert_int_equal(pp_ring_open_now(s, 0, pp_now_ns(), &now), 0);
            break;
        }
        made++;
        if (pp_rng_below(&rng, 40))
            continue;
        size_t n = ring_peek(s, 0, out, pp_rng_below(&rng, 64) + 1);
        pp_ring_release(s, 0);
        seen += n;
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(out[k].reserved, 0);
            if (out[k].phase == PP_PHASE_STEP) {
                assert_true(out[k].sample == PP_NO_SAMPLE && out[k].batch == PP_NO_BATCH &&
                            out[k].bytes == 0 && out[k].flags == 0);
                continue;
            }
            assert_true(out[k].phase == PP_PHASE_DECODE && out[k].batch == 7 && out[k].epoch == 3 &&
                        out[k].flags == PP_SPAN_RETRY && out[k].name == 2);
            assert_true(out[k].sample > last && out[k].sample <= made && out[k].cpu_ns == 0 &&
                        out[k].run_delay_ns == 0);
            last = out[k].sample;
        }
    }
    for (size_t n; (n = ring_peek(s, 0, out, 64)); seen += n) {
    }
    pp_session_ring_info(s, 0, &info);
    assert_int_equal(seen, info.recorded);
    assert_int_equal(info.recorded + info.dropped, made);
    assert_true(info.dropped > 100 && info.recorded > 1000);
    pp_session_close(s, 0);
}

static void test_resources_are_measured(void **state)
{
    struct pp_session *s = open_session(0, 1);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[2];
    /* A spinning thread either has the CPU or waits for it: cpu + run delay explains its wall time. 0.3 ms
     * for the hypervisor, which may take more now and then: one time of some has to be undisturbed. */
    int explained = 0, counted = 0;
    for (int tries = 0; tries < 20 && !(explained && counted); tries++) {
        uint64_t before = pp_thread_cpu_ns(), used;
        pp_lap_start(t);
        while ((used = pp_thread_cpu_ns() - before) <
               3000000) { /* however long others have the CPU meanwhile */
        }
        pp_lap_end(t, PP_PHASE_DECODE, NULL);
        usleep(3000);
        pp_lap_end(t, PP_PHASE_DATA_WAIT, NULL);
        assert_int_equal(ring_peek(s, 0, out, 2), 2);
        assert_true(out[0].flags & PP_SPAN_HAS_CPU);
        explained = !(out[0].flags & PP_SPAN_HAS_DELAY) ||
                    out[0].cpu_ns + out[0].run_delay_ns + 300000 >= out[0].dur_ns;
        counted = out[0].cpu_ns > used - 300000 && out[0].cpu_ns < used + 300000 &&
                  out[0].cpu_ns <= out[0].dur_ns + 100000;
    }
    assert_true(explained);
    assert_true(counted);
    assert_true(out[1].dur_ns >= 3000000);
    assert_true(out[1].cpu_ns < 1000000); /* a sleeping one has not */
    pp_session_close(s, 0);
}

/* What the kernel says of this thread is a file of ours: it waited for seconds before the span began. */
static void test_a_span_waits_no_longer_than_it_lasts(void **state)
{
    struct pp_session *s = open_session(0, 1);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[2];
    char path[] = "/tmp/pp-schedstat-XXXXXX", link[64], to[256];
    int said = mkstemp(path), found = 0;
    assert_true(said >= 0);
    for (int fd = 3; fd < 256; fd++) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, to, sizeof(to) - 1);
        to[n > 0 ? n : 0] = '\0';
        if (strstr(to, "schedstat"))
            found = dup2(said, fd) == fd;
    }
    if (found) {
        assert_int_equal(pwrite(said, "1 1000 1\n", 9, 0), 9);
        pp_lap_start(t);
        assert_int_equal(pwrite(said, "1 9000000000 1\n", 15, 0), 15);
        usleep(2000);
        pp_lap_end(t, PP_PHASE_READ, NULL);
        pp_span_begin(t, PP_PHASE_DECODE, NULL);
        assert_int_equal(pwrite(said, "1 99000000000 1\n", 16, 0), 16);
        usleep(2000);
        pp_span_end(t, 0, 0);
        assert_int_equal(ring_peek(s, 0, out, 2), 2);
        for (int i = 0; i < 2; i++)
            assert_true(out[i].run_delay_ns > 0 && out[i].cpu_ns + out[i].run_delay_ns <= out[i].dur_ns);
    }
    unlink(path);
    close(said);
    pp_session_close(s, 0);
}

static void test_full_ring_drops_and_counts(void **state)
{
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[128], span = {.phase = PP_PHASE_READ};
    struct pp_ring_info info;
    for (uint64_t i = 0; i < 100; i++) {
        span.sample = i;
        pp_span_put(t, &span);
    }
    assert_true(pp_session_fill(s) == 1.0);
    pp_session_ring_info(s, 0, &info);
    assert_int_equal(info.recorded, 64);
    assert_int_equal(info.dropped, 36);
    assert_int_equal(ring_peek(s, 0, out, 128), 64);
    for (uint64_t i = 0; i < 64; i++)
        assert_int_equal(out[i].sample, i);
    assert_true(pp_session_fill(s) == 1.0); /* peeked is not released: */
    pp_span_put(t, &span);                  /* still full */
    pp_session_ring_info(s, 0, &info);
    assert_int_equal(info.dropped, 37);
    pp_ring_release(s, 0);
    pp_span_put(t, &span);
    assert_true(pp_session_fill(s) == 1.0 / 64);
    struct pp_ring_reader r = pp_ring_reader(s, 0);
    pp_span_put(t, &span);
    assert_int_equal(pp_ring_read(&r, out, 128), 1); /* what came later is for the next reader */
    assert_int_equal(pp_ring_read(&r, out, 128), 0);
    assert_int_equal(ring_peek(s, 0, out, 128), 1);
    r = pp_ring_reader(s, 1);
    assert_int_equal(pp_ring_read(&r, out, 128), 0); /* no such thread */
    pp_session_close(s, 0);
}

static void test_half_full_wakes(void **state)
{
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span span = {.phase = PP_PHASE_READ};
    for (int i = 0; i < 32; i++)
        pp_span_put(t, &span);
    assert_int_equal(pp_session_wait(s, 1000000), 0); /* below half: times out */
    pp_span_put(t, &span);
    uint64_t before = pp_now_ns();
    assert_int_equal(pp_session_wait(s, 5000000000u), 1);
    assert_true(pp_now_ns() - before < 1000000000u);
    assert_int_equal(pp_session_wait(s, 1000000), 0); /* asked once */
    pp_session_wake(s);
    assert_int_equal(pp_session_wait(s, 5000000000u), 1);
    pp_session_close(s, 0);
}

static void test_names(void **state)
{
    struct pp_session *s = open_session(0, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_MAIN,
                                             "a name that is far longer than thirty-one bytes");
    struct pp_ring_info info;
    struct pp_span out[1];
    char name[32], said[PP_NAME_BYTES];
    pp_session_ring_info(s, 0, &info);
    assert_string_equal(info.name, "a name that is far longer than ");
    assert_int_equal(info.pid, getpid());
    uint16_t depth = pp_name_intern(s, "queue_depth"), other = pp_name_intern(s, "rss_bytes");
    assert_true(depth && other && depth != other);
    assert_int_equal(pp_name_intern(s, "queue_depth"), depth);
    assert_string_equal(pp_session_name(s, depth, said), "queue_depth");
    assert_null(pp_session_name(s, 0, said));
    assert_null(pp_session_name(s, 999, said));
    assert_null(pp_session_name(s, UINT16_MAX, said));
    pp_counter_put(t, depth, 42);
    assert_int_equal(ring_peek(s, 0, out, 1), 1);
    assert_int_equal(out[0].phase, PP_PHASE_COUNTER);
    assert_int_equal(out[0].name, depth);
    assert_int_equal(out[0].bytes, 42);
    for (int i = 0; i < PP_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        uint16_t id = pp_name_intern(s, name);
        assert_int_equal(id == 0, i >= PP_NAMES_MAX - 3); /* ids 1..1023, two of them taken */
    }
    pp_session_close(s, 0);
}

/* One producer against one consumer through a tiny ring: what is not counted as dropped arrives once and in
 * order. */
struct producer {
    struct pp_session *session;
    uint64_t n;
    uint32_t id;
    int done;
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    struct pp_thread *t = pp_thread_register(p->session, PP_LANE_WORKER, "producer");
    struct pp_span span = {.phase = PP_PHASE_READ, .batch = 1};
    __atomic_store_n(&p->id, pp_thread_id(t), __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < p->n; i++) {
        span.sample = i;
        span.bytes = i * 3;
        pp_span_put(t, &span);
    }
    pp_thread_retire(t);
    __atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void test_nothing_lost_uncounted(void **state)
{
    enum { PRODUCERS = 3 };
    struct pp_session *s = open_session(256, 0);
    struct producer p[PRODUCERS];
    pthread_t thread[PRODUCERS];
    uint64_t got[PRODUCERS] = {0}, next[PRODUCERS] = {0};
    static struct pp_span out[100];
    for (int i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){.session = s, .n = 200000};
        assert_int_equal(pthread_create(&thread[i], NULL, produce, &p[i]), 0);
    }
    for (int running = PRODUCERS; running;) {
        running = 0;
        for (int i = 0; i < PRODUCERS; i++)
            running += !__atomic_load_n(&p[i].done, __ATOMIC_ACQUIRE);
        for (uint32_t id = 0; id < pp_session_threads(s); id++) {
            size_t n;
            while ((n = ring_peek(s, id, out, 100))) {
                for (size_t k = 0; k < n; k++) {
                    assert_true(out[k].sample >= next[id]);
                    assert_int_equal(out[k].bytes, out[k].sample * 3);
                    next[id] = out[k].sample + 1;
                }
                got[id] += n;
                pp_ring_release(s, id);
            }
        }
    }
    for (uint32_t id = 0; id < PRODUCERS; id++) {
        struct pp_ring_info info;
        pthread_join(thread[id], NULL);
        pp_session_ring_info(s, id, &info);
        assert_true(info.retired);
        assert_int_equal(info.recorded, got[id]);
        assert_int_equal(info.recorded + info.dropped, 200000);
    }
    pp_session_close(s, 0);
}

static void test_fork_child_is_silent_then_fresh(void **state)
{
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_MAIN, "parent");
    struct pp_span span = {.phase = PP_PHASE_READ, .sample = 1}, out[8];
    struct pp_ring_info info;
    int wstatus;
    pp_span_put(t, &span);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        span.sample = 2;
        pp_span_put(t, &span); /* inherited: silent */
        struct pp_thread *mine = pp_thread_register(s, PP_LANE_WORKER, "child");
        span.sample = 3;
        pp_span_put(mine, &span);
        pp_thread_retire(mine);
        pp_session_close(s, 0); /* must not take the files away */
        _exit(mine ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_int_equal(wstatus, 0);
    pp_span_put(t, &span);
    assert_int_equal(pp_session_threads(s), 2);
    assert_int_equal(ring_peek(s, 0, out, 8), 2);
    assert_int_equal(out[0].sample, 1);
    assert_int_equal(ring_peek(s, 1, out, 8), 1);
    assert_int_equal(out[0].sample, 3);
    pp_session_ring_info(s, 1, &info);
    assert_string_equal(info.name, "child");
    assert_int_equal(info.pid, pid);
    assert_int_equal(access(pp_session_dir(s), F_OK), 0);
    pp_session_close(s, 0);
}

/* A child that outlives its parent must not look like a live recorder. */
static void test_fork_child_does_not_hold_the_lock(void **state)
{
    char path[128];
    int hold[2], ready[2], wstatus;
    char c;
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_MAIN, "main");
    pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ});
    snprintf(path, sizeof(path), "%s/session", pp_session_dir(s));
    assert_int_equal(pipe(hold) | pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(hold[1]);
        if (write(ready[1], "", 1) != 1)
            _exit(2);
        _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1); /* its fork handler has run */
    int fd = open(path, O_RDWR);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), -1);
    pp_session_close(s, 1);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        close(hold[i]);
        close(ready[i]);
    }
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_int_equal(wstatus, 0);
    unlink(path);
    *strrchr(path, '/') = '\0';
    strcat(path, "/ring-0000");
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void test_directory(void **state)
{
    char dir[] = "/tmp/pp-test-XXXXXX", path[64], ring[96];
    struct pp_session *s = NULL, *again = NULL;
    struct pp_err err;
    struct stat st;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run.sqlite.rings", dir);
    struct pp_session_opts opts = {.dir = path, .ring_spans = 64};
    assert_int_equal(pp_session_open(&opts, &s, &err), PP_OK);
    assert_string_equal(pp_session_dir(s), path);
    assert_int_equal(pp_session_open(&opts, &again, &err), PP_E_EXISTS);
    assert_null(again);
    assert_non_null(strstr(err.text, path));
    struct pp_thread *t = pp_thread_register(s, PP_LANE_MAIN, "main");
    pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ});
    pp_session_close(s, 1); /* an unread span is kept */
    snprintf(ring, sizeof(ring), "%s/ring-0000", path);
    assert_int_equal(stat(ring, &st), 0);
    assert_int_equal(st.st_mode & 0077, 0); /* for its owner alone */
    unlink(ring);
    snprintf(ring, sizeof(ring), "%s/session", path);
    unlink(ring);
    assert_int_equal(pp_session_open(&opts, &s, &err), PP_OK);
    pp_session_close(s, 1); /* nothing unread: nothing kept */
    assert_int_not_equal(stat(path, &st), 0);
    /* A directory that exists already may belong to another user. */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(pp_session_open(&opts, &s, &err), PP_E_ACCESS);
    assert_non_null(strstr(err.text, "written by others"));
    rmdir(path);
    assert_int_equal(symlink(dir, path), 0);
    assert_int_equal(pp_session_open(&opts, &s, &err), PP_E_ACCESS);
    unlink(path);
    opts.dir = "/nonexistent/dir";
    assert_int_equal(pp_session_open(&opts, &s, &err), PP_E_NOT_FOUND);
    assert_null(s);
    rmdir(dir);
}

static long blocks_of(const struct pp_session *s, unsigned ring)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, pp_session_dir(s), ring);
    assert_int_equal(stat(path, &st), 0);
    return (long)st.st_blocks;
}

/* Threads that come and go: what they recorded takes room until it is stored, not until the run ends. One
 * that still records keeps its ring. */
static void test_retired_rings_give_space_back(void **state)
{
    struct pp_session *s = open_session(65536, 0);
    struct pp_span out[16];
    struct pp_thread *gone = pp_thread_register(s, PP_LANE_WORKER, "gone"),
                     *here = pp_thread_register(s, PP_LANE_WORKER, "here");
    for (int i = 0; i < 10; i++) {
        pp_span_put(gone, &(struct pp_span){.phase = PP_PHASE_READ, .sample = (uint64_t)i});
        pp_span_put(here, &(struct pp_span){.phase = PP_PHASE_READ});
    }
    long full = blocks_of(s, 0);
    assert_int_equal(ring_peek(s, 0, out, 4), 4);
    pp_thread_retire(gone);
    pp_ring_release(s, 0);
    assert_int_equal(blocks_of(s, 0), full); /* six are still in it */
    assert_int_equal(ring_peek(s, 0, out, 16), 6);
    assert_int_equal(out[5].sample, 9);
    assert_int_equal(ring_peek(s, 1, out, 16), 10);
    for (unsigned i = 0; i < 2; i++)
        pp_ring_release(s, i);
    char path[4096];
    snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, pp_session_dir(s), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(blocks_of(s, 1), full);
    struct pp_ring_info info;
    pp_session_ring_info(s, 0, &info);
    assert_true(info.recorded == 10 && info.retired && strcmp(info.name, "gone") == 0);
    pp_session_close(s, 0);
}

/* The directory was deleted and made anew by another session: its rings have the same names. */
static void test_rings_of_a_successor_stay(void **state)
{
    struct pp_session *s = open_session(65536, 0);
    struct pp_span out[4];
    struct pp_thread *gone = pp_thread_register(s, PP_LANE_WORKER, "gone");
    char file[4096], ring[4096];
    snprintf(file, sizeof(file), "%s/" PP_SESSION_FILE_NAME, pp_session_dir(s));
    snprintf(ring, sizeof(ring), "%s/" PP_RING_FILE_FORMAT, pp_session_dir(s), 0);
    assert_int_equal(unlink(file) | unlink(ring), 0);
    for (int i = 0; i < 2; i++)
        close(open(i ? ring : file, O_CREAT | O_WRONLY, 0600));
    pp_span_put(gone, &(struct pp_span){.phase = PP_PHASE_READ});
    pp_thread_retire(gone);
    assert_int_equal(ring_peek(s, 0, out, 4), 1);
    pp_ring_release(s, 0);
    assert_int_equal(access(ring, F_OK), 0);
    char dir[4096];
    snprintf(dir, sizeof(dir), "%s", pp_session_dir(s));
    pp_session_close(s, 0);
    assert_int_equal(access(ring, F_OK) | access(file, F_OK), 0);
    assert_int_equal(unlink(file) | unlink(ring) | rmdir(dir), 0);
}

static struct pp_thread *with_spans(struct pp_session *s, const char *name, uint64_t first, int n)
{
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, name);
    assert_non_null(t);
    for (int i = 0; i < n; i++)
        pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ, .sample = first + (uint64_t)i});
    return t;
}

/* From PP_THREADS_ONCE on a thread goes on where one of its lane and name has ended: behind its records,
 * whether these are read yet or not, and never where one still records. */
static void test_ended_threads_are_followed(void **state)
{
    struct pp_session *s = open_session(16, 0);
    struct pp_span out[32];
    struct pp_ring_info info;
    for (uint32_t i = 0; i < PP_THREADS_ONCE; i++)
        pp_thread_retire(with_spans(s, "w", 0, 0)); /* none of these is followed */
    struct pp_thread *first = with_spans(s, "w", 0, 10);
    uint32_t id = pp_thread_id(first);
    assert_int_equal(id, PP_THREADS_ONCE);
    struct pp_thread *beside = with_spans(s, "w", 0, 1);
    assert_int_equal(pp_thread_id(beside), id + 1); /* the first one still records */
    pp_thread_retire(first);
    assert_int_equal(pp_thread_id(pp_thread_register(s, PP_LANE_COPY, "w")), id + 2);
    assert_int_equal(pp_thread_id(with_spans(s, "v", 0, 0)), id + 3);
    struct pp_thread *second = with_spans(s, "w", 10, 7); /* a ring of 16, not emptied */
    assert_int_equal(pp_thread_id(second), id);
    pp_span_put(first, &(struct pp_span){.phase = PP_PHASE_READ}); /* it has retired */
    pp_session_ring_info(s, id, &info);
    assert_true(!info.retired && info.taken_over == 1 && info.recorded == 16 && info.dropped == 1);
    assert_int_equal(ring_peek(s, id, out, 32), 16);
    for (uint64_t i = 0; i < 16; i++)
        assert_int_equal(out[i].sample, i);
    pp_ring_release(s, id);
    assert_false(pp_ring_is_over(s, id)); /* the second one goes on */
    long full = blocks_of(s, id);
    pp_thread_retire(second);
    pp_ring_release(s, id);
    assert_true(pp_ring_is_over(s, id));
    assert_true(blocks_of(s, id) <= full);
    struct pp_thread *third = with_spans(s, "w", 50, 3);
    assert_int_equal(pp_thread_id(third), id);
    assert_false(pp_ring_is_over(s, id));
    assert_int_equal(blocks_of(s, id), full); /* reserved again */
    pp_thread_retire(third);
    pp_thread_retire(with_spans(s, "w", 60, 2)); /* before anything was read */
    pp_ring_release(s, id);
    assert_false(pp_ring_is_over(s, id)); /* there is something in it */
    assert_int_equal(ring_peek(s, id, out, 32), 5);
    assert_int_equal(out[0].sample, 50);
    assert_int_equal(out[4].sample, 61);
    pp_ring_release(s, id);
    assert_true(pp_ring_is_over(s, id));
    assert_int_equal(pp_session_threads(s), PP_THREADS_ONCE + 4);
    assert_int_equal(pp_session_unregistered(s), 0);
    pp_session_close(s, 0);
}

/* As above, of another process. */
static void test_a_child_follows_a_child(void **state)
{
    struct pp_session *s = open_session(16, 0);
    struct pp_span out[32];
    struct pp_ring_info info;
    int wstatus;
    for (uint32_t i = 0; i < PP_THREADS_ONCE; i++)
        pp_thread_retire(with_spans(s, "w", 0, 0));
    for (uint64_t i = 0; i < 3; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            pp_thread_retire(with_spans(s, "w", 10 * i, 2));
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &wstatus, 0), pid);
        assert_int_equal(wstatus, 0);
        pp_session_ring_info(s, PP_THREADS_ONCE, &info);
        assert_int_equal(info.pid, pid);
        if (i == 0)
            continue; /* the second one comes before the first one's records are read */
        assert_int_equal(ring_peek(s, PP_THREADS_ONCE, out, 32), i == 1 ? 4 : 2);
        assert_int_equal(out[0].sample, i == 1 ? 0 : 20);
        pp_ring_release(s, PP_THREADS_ONCE);
        assert_true(pp_ring_is_over(s, PP_THREADS_ONCE));
    }
    assert_int_equal(pp_session_threads(s), PP_THREADS_ONCE + 1);
    pp_session_close(s, 0);
}

static void test_ring_that_cannot_be_made(void **state)
{
    struct pp_session *s = open_session(64, 0);
    char dir[512];
    snprintf(dir, sizeof(dir), "%s/ring-0000", pp_session_dir(s));
    assert_int_equal(mkdir(dir, 0700), 0); /* in the way */
    assert_null(pp_thread_register(s, PP_LANE_WORKER, "w"));
    assert_int_equal(pp_session_unregistered(s), 1);
    assert_int_equal(pp_session_threads(s), 1);
    struct pp_span out[1];
    struct pp_ring_info info;
    assert_int_equal(ring_peek(s, 0, out, 1), 0);
    pp_session_ring_info(s, 0, &info);
    assert_int_equal(info.recorded, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    assert_int_equal(pp_thread_id(t), 1);
    rmdir(dir);
    pp_session_close(s, 0);
}

/* Conversion is a function of the tick alone: monotonic, and continuous where segments meet. */
static void test_clock_segments(void **state)
{
    struct pp_session_file *f = calloc(1, sizeof(*f));
    f->clock = PP_CLOCK_TSC;
    uint64_t mult = (1ull << 32) * 10 / 23; /* 2.3 GHz */
    f->segment[0] = (struct pp_clock_segment){1000000, 5000000000u, mult};
    f->segment[1] = (struct pp_clock_segment){2000000, pp_clock_apply(&f->segment[0], 2000000), mult + 4000};
    f->segment[2] = (struct pp_clock_segment){3000000, pp_clock_apply(&f->segment[1], 3000000), mult - 9000};
    f->segments = 3;
    uint64_t last = 0;
    for (uint64_t tick = 500000; tick < 4000000; tick += 997) {
        uint64_t ns = pp_clock_ns_of(f, tick);
        assert_true(ns >= last);
        assert_true(last == 0 || ns - last <= 997 * 10 / 23 + 2);
        last = ns;
    }
    assert_int_equal(pp_clock_ns_of(f, 1000000), 5000000000u);
    assert_int_equal(pp_clock_ns_of(f, 999977), 5000000000u - 10);
    /* A reader, which remembers where the last tick lay, says the same in any order. */
    struct pp_clock_reader r = pp_clock_reader(f);
    for (uint64_t i = 0, tick = 500000; i < 20000; i++, tick = 500000 + pp_mix64(i / 2 * 2 + i % 3) % 3500000)
        assert_int_equal(pp_clock_read(&r, tick), pp_clock_ns_of(f, tick));
    for (uint64_t edge = 1000000; edge <= 3000000; edge += 1000000)
        for (uint64_t tick = edge - 2; tick <= edge + 2; tick++)
            assert_int_equal(pp_clock_read(&r, tick), pp_clock_ns_of(f, tick));
    free(f);
}

static void test_clock_stays_with_monotonic(void **state)
{
    struct pp_session *s = open_session(64, 0);
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[8];
    for (int i = 0; i < 40; i++) {
        uint64_t before = pp_now_ns();
        pp_lap_start(t);
        uint64_t stamp = pp_lap_stamp_ns(t), after = pp_now_ns();
        assert_true(stamp + 20000 >= before && stamp <= after + 20000);
        usleep(10000);
        pp_lap_end(t, PP_PHASE_READ, NULL);
        ring_peek(s, 0, out, 8); /* re-anchors */
        assert_int_equal(out[0].start_ns, stamp);
        pp_ring_release(s, 0);
    }
    pp_session_close(s, 0);
}

static void test_fallback_clock(void **state)
{
    setenv("PIPEPROBE_CLOCK", "monotonic", 1);
    struct pp_session *s = open_session(64, 0);
    unsetenv("PIPEPROBE_CLOCK");
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "w");
    struct pp_span out[1];
    uint64_t before = pp_now_ns();
    pp_lap_start(t);
    pp_lap_end(t, PP_PHASE_READ, NULL);
    uint64_t after = pp_now_ns();
    assert_int_equal(ring_peek(s, 0, out, 1), 1);
    assert_true(before <= out[0].start_ns &&
                out[0].start_ns + out[0].dur_ns <= after); /* exactly, no conversion */
    pp_session_close(s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_is_nothing),
        cmocka_unit_test(test_laps_share_stamps),
        cmocka_unit_test(test_first_lap_end_only_stamps),
        cmocka_unit_test(test_records_of_all_kinds_in_any_order),
        cmocka_unit_test(test_resources_are_measured),
        cmocka_unit_test(test_a_span_waits_no_longer_than_it_lasts),
        cmocka_unit_test(test_full_ring_drops_and_counts),
        cmocka_unit_test(test_half_full_wakes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_nothing_lost_uncounted),
        cmocka_unit_test(test_fork_child_is_silent_then_fresh),
        cmocka_unit_test(test_fork_child_does_not_hold_the_lock),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_ended_threads_are_followed),
        cmocka_unit_test(test_a_child_follows_a_child),
        cmocka_unit_test(test_ring_that_cannot_be_made),
        cmocka_unit_test(test_retired_rings_give_space_back),
        cmocka_unit_test(test_rings_of_a_successor_stay),
        cmocka_unit_test(test_clock_segments),
        cmocka_unit_test(test_clock_stays_with_monotonic),
        cmocka_unit_test(test_fallback_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
