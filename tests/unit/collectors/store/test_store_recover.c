/* SIGKILL at random moments: every span that was in a ring is in the file afterwards, once. */
#include "tests/support/store_dir.h"

#include "collectors/record/drain.h"
#include "collectors/store/reader.h"
#include "collectors/store/recover.h"
#include "collectors/store/store.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"

#include <pipeprobe/ring.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PRODUCERS = 2 };

/* Shared with the recording child: what it was told is safe. */
struct acknowledged {
    uint64_t spans[PRODUCERS];
    int ready;
    int moves_log; /* for it: every few commits the log goes into the database, by its thread */
};

struct producer {
    struct pp_session *session;
    struct acknowledged *ack;
    int index;
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    char name[32];
    snprintf(name, sizeof(name), "producer-%d", p->index);
    struct pp_thread *t = pp_thread_register(p->session, PP_LANE_WORKER, name);
    struct pp_lap lap = {.batch = 1};
    pp_lap_start(t);
    for (;;) {
        lap.batch = (uint32_t)(lap.sample / 64);
        pp_lap_end(t, PP_PHASE_READ, &lap);
        lap.sample++;
        __atomic_store_n(&p->ack->spans[p->index], lap.sample, __ATOMIC_RELEASE);
        if (lap.sample % 64 == 0)
            usleep(20);
    }
    return NULL;
}

/* The child that is to be killed. Each producer numbers its spans; its ring never fills. */
static _Noreturn void record_until_killed(struct acknowledged *ack)
{
    struct pp_session *session = NULL;
    struct pp_store *store = NULL;
    struct pp_drain *drain = NULL;
    struct producer p[PRODUCERS];
    pthread_t thread;
    struct pp_err err;
    if (pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err)) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    if (ack->moves_log) {
        pp_store_end_checkpoints(store);
        store->checkpoint = pp_checkpoint_new(
            &(struct pp_checkpoint_opts){.db = store->db, .path = store_path, .from = 8, .most = 1 << 20});
    }
    if (pp_session_open(&(struct pp_session_opts){.dir = store_rings}, &session, &err) ||
        pp_drain_start(&(struct pp_drain_opts){.session = session,
                                               .store = store,
                                               .poll_ns = 2000000,
                                               .commit_ns = 7000000},
                       &drain, &err)) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){session, ack, i};
        pthread_create(&thread, NULL, produce, &p[i]);
    }
    __atomic_store_n(&ack->ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static struct acknowledged *share(void)
{
    struct acknowledged *ack = mmap(NULL, sizeof(*ack), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                    -1, 0);
    assert_ptr_not_equal(ack, MAP_FAILED);
    return ack;
}

static void kill_after(pid_t pid, uint64_t ns)
{
    int wstatus;
    pp_sleep_until_ns(pp_now_ns() + ns);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_true(WIFSIGNALED(wstatus) || WEXITSTATUS(wstatus) == 0);
}

static void record_and_kill(struct acknowledged *ack, uint64_t ns)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        record_until_killed(ack);
    while (!__atomic_load_n(&ack->ready, __ATOMIC_ACQUIRE) && waitpid(pid, NULL, WNOHANG) == 0)
        usleep(200);
    assert_int_equal(ack->ready, 1);
    kill_after(pid, ns);
}

struct seen {
    uint64_t next[PRODUCERS];
    int wrong;
};

static int see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct seen *seen = ctx;
    for (size_t i = 0; i < n; i++) {
        seen->wrong += thread >= PRODUCERS || spans[i].sample != seen->next[thread] ||
                       spans[i].batch != spans[i].sample / 64;
        if (thread < PRODUCERS)
            seen->next[thread]++;
    }
    return 0;
}

static void no_spans_wait(void *ctx, const char *what, uint64_t count, const char *why)
{
    if (strcmp(what, "spans in ring files") == 0)
        fail_msg("%llu spans not recovered: %s", (unsigned long long)count, why);
}

static void check_run(const struct acknowledged *ack)
{
    struct pp_reader *r;
    struct pp_err err;
    struct seen seen = {.wrong = 0};
    const struct pp_thread_row *threads;
    uint64_t bad = 0;
    if (pp_reader_open(store_path, &r, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pp_reader_each_chunk(r, see, &seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(pp_reader_each_loss(r, no_spans_wait, NULL, &err), PP_OK);
    size_t n = pp_reader_threads(r, &threads);
    assert_true(n <= PRODUCERS);
    int missing[PRODUCERS];
    memset(missing, 1, sizeof(missing));
    for (size_t i = 0; i < n; i++) {
        uint32_t id = threads[i].id; /* which producer registered first is a race */
        assert_memory_equal(threads[i].name, "producer-", 9);
        int producer = threads[i].name[9] - '0';
        missing[producer] = 0;
        assert_int_equal(threads[i].dropped, 0);
        assert_int_equal(threads[i].recorded, seen.next[id]);
        /* one span may be in the ring whose acknowledgement the kill cut off */
        assert_in_range(seen.next[id], ack->spans[producer], ack->spans[producer] + 1);
    }
    for (size_t i = 0; i < PRODUCERS; i++)
        assert_true(!missing[i] || ack->spans[i] == 0); /* killed before it had a ring */
    assert_non_null(pp_reader_meta(r, "run", "recovery"));
    pp_reader_close(r);
}

static void check_database(void)
{
    store_assert_integrity();
    double spans = store_query("SELECT sum(n) FROM chunk");
    assert_true(store_query("SELECT count(*) FROM span") == spans);
    assert_true(store_query("SELECT sum(n) FROM rollup_second") == spans);
    assert_true(store_query("SELECT sum(n) FROM rollup_batch") == spans);
}

static void test_random_kills(void **state)
{
    const char *asked = getenv("PP_TEST_KILLS");
    int kills = asked ? atoi(asked) : 25;
    struct pp_rng rng = pp_rng_key((uint64_t)getpid(), pp_now_ns(), 0, 0);
    uint64_t total = 0;
    for (int trial = 0; trial < kills; trial++) {
        struct acknowledged *ack = share();
        ack->moves_log = trial & 1;
        record_and_kill(ack, pp_rng_below(&rng, 40000000));
        /* every third time the recovery is killed too, and done again */
        for (int again = trial % 3 ? 0 : 2; again; again--) {
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                struct pp_reader *r;
                pp_reader_open(store_path, &r, NULL);
                _exit(0);
            }
            kill_after(pid, pp_rng_below(&rng, 6000000));
        }
        check_run(ack);
        check_database();
        assert_int_not_equal(access(store_rings, F_OK), 0);
        check_run(ack); /* a second opening changes nothing */
        for (int i = 0; i < PRODUCERS; i++)
            total += ack->spans[i];
        munmap(ack, sizeof(*ack));
        unlink(store_path);
    }
    print_message("# %d kills, %llu acknowledged spans, none lost, none doubled\n", kills,
                  (unsigned long long)total);
    assert_true(total > (uint64_t)kills * 10);
}

static void count_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    if (strcmp(what, "spans in ring files") == 0)
        *(uint64_t *)ctx += count;
}

static void test_rings_of_another_run(void **state)
{
    struct acknowledged *ack = share();
    char cmd[512];
    struct pp_err err;
    struct pp_reader *r;
    uint64_t n, waiting = 0;
    record_and_kill(ack, 20000000);
    snprintf(cmd, sizeof(cmd), "mv '%s' '%s/kept' && rm '%s' '%s-wal' '%s-shm'", store_rings, store_dir,
             store_path, store_path, store_path);
    assert_int_equal(system(cmd), 0);
    ack->ready = 0;
    record_and_kill(ack, 20000000);
    snprintf(cmd, sizeof(cmd), "rm -r '%s' && mv '%s/kept' '%s'", store_rings, store_dir, store_rings);
    assert_int_equal(system(cmd), 0);
    assert_int_equal(pp_store_recover(store_path, &n, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "another run"));
    assert_int_equal(pp_reader_open(store_path, &r, &err),
                     PP_OK); /* what was committed is still there, and what waits is said */
    assert_int_equal(pp_reader_each_loss(r, count_loss, &waiting, &err), PP_OK);
    assert_int_equal(waiting, n);
    pp_reader_close(r);
    munmap(ack, sizeof(*ack));
}

static void test_damaged_rings(void **state)
{
    struct acknowledged *ack = share();
    struct pp_rng rng = pp_rng_key(7, 7, 7, 7);
    char cmd[512], victim[160];
    record_and_kill(ack, 15000000);
    snprintf(cmd, sizeof(cmd), "mkdir '%s/kept' && cp -r '%s'* '%s/kept'", store_dir, store_path, store_dir);
    assert_int_equal(system(cmd), 0);
    for (int trial = 0; trial < 40; trial++) {
        snprintf(cmd, sizeof(cmd), "rm -rf '%s'* && cp -r '%s/kept/'* '%s'", store_path, store_dir,
                 store_dir);
        assert_int_equal(system(cmd), 0);
        snprintf(victim, sizeof(victim), trial & 1 ? "%s/session" : "%s/ring-0000", store_rings);
        int fd = open(victim, O_RDWR);
        assert_true(fd >= 0);
        for (int k = 0; k < 8; k++) {
            uint8_t b = (uint8_t)pp_rng_next(&rng);
            assert_int_equal(pwrite(fd, &b, 1, (off_t)pp_rng_below(&rng, k < 4 ? 400 : 40000)), 1);
        }
        if (trial % 5 == 4)
            assert_int_equal(ftruncate(fd, (off_t)pp_rng_below(&rng, 100000)), 0);
        close(fd);
        struct pp_reader *r;
        struct pp_err err;
        uint64_t bad;
        struct seen seen = {.wrong = 0};
        if (pp_reader_open(store_path, &r, &err))
            fail_msg("%s", err.text);
        assert_int_equal(pp_reader_each_chunk(r, see, &seen, &bad, &err), PP_OK);
        assert_int_equal(bad, 0);
        pp_reader_close(r);
    }
    munmap(ack, sizeof(*ack));
}

static void keep_missing(void *ctx, const char *what, uint64_t count, const char *why)
{
    if (strcmp(what, "spans in ring files") == 0)
        snprintf(ctx, 400, "%s", why);
}

/* Ring files that came with a file whose schema was changed are not appended: writing would run what the file
 * brings. What is in the file is read, what waits is said, and both stay as they are. */
static void test_triggers_do_not_run(void **state)
{
    static const char *const brought[] = {
        "CREATE TRIGGER x AFTER INSERT ON chunk BEGIN DELETE FROM error; INSERT INTO loss VALUES('ran', 1, 'a trigger'); END",
        "CREATE INDEX x ON chunk(hex(body))",
        "ALTER TABLE name RENAME TO n; CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK(length(hex(zeroblob(1000000))) > 0))",
    };
    for (size_t i = 0; i < sizeof(brought) / sizeof(*brought); i++) {
        struct acknowledged *ack = share();
        struct pp_reader *r;
        struct pp_err err;
        sqlite3 *db;
        struct seen seen = {.wrong = 0};
        char why[400] = "", session[160], cmd[300];
        record_and_kill(ack, 20000000);
        assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "PRAGMA legacy_alter_table=1", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, brought[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        if (pp_reader_open(store_path, &r, &err))
            fail_msg("%s", err.text);
        assert_int_equal(pp_reader_each_chunk(r, see, &seen, NULL, &err), PP_OK);
        assert_int_equal(seen.wrong, 0);
        assert_int_equal(pp_reader_each_loss(r, keep_missing, why, &err), PP_OK);
        assert_non_null(strstr(why, "not those that this version"));
        pp_reader_close(r);
        assert_true(store_query("SELECT count(*) FROM loss") == 0);
        snprintf(session, sizeof(session), "%s/session", store_rings);
        assert_int_equal(access(session, F_OK), 0);
        munmap(ack, sizeof(*ack));
        snprintf(cmd, sizeof(cmd), "rm -rf '%s'*", store_path);
        assert_int_equal(system(cmd), 0);
    }
}

/* Every name in the directory and beside the rings, with its bytes but for SQLite's shared memory. */
static void look_at_files(char *out, size_t size)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "cd '%s' && find . -type f ! -name '*-shm' | sort | xargs cksum", store_dir);
    FILE *in = popen(cmd, "r");
    assert_non_null(in);
    size_t n = fread(out, 1, size - 1, in);
    out[n] = '\0';
    assert_int_equal(pclose(in), 0);
}

/* Without recovery a reader takes what is in the file and leaves file, log and rings as they are. */
static void test_reading_writes_nothing(void **state)
{
    struct acknowledged *ack = share();
    struct pp_reader *r;
    struct pp_err err;
    struct seen seen = {.wrong = 0};
    char before[4096], after[4096];
    uint64_t waiting = 0;
    record_and_kill(ack, 30000000);
    look_at_files(before, sizeof(before));
    assert_non_null(strstr(before, "run.sqlite.rings/session"));
    pp_reader_set_before(NULL);
    pp_status status = pp_reader_open(store_path, &r, &err);
    pp_reader_set_before(pp_recording_recover);
    assert_int_equal(status, PP_OK);
    assert_int_equal(pp_reader_each_chunk(r, see, &seen, NULL, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, count_loss, &waiting, &err), PP_OK);
    assert_int_equal(waiting, 0); /* it does not know */
    assert_null(pp_reader_meta(r, "run", "recovery"));
    pp_reader_close(r);
    look_at_files(after, sizeof(after));
    assert_string_equal(after, before);
    check_run(ack); /* and recovery still finds everything */
    munmap(ack, sizeof(*ack));
}

static void test_live_run_is_left_alone(void **state)
{
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
    struct pp_err err;
    struct pp_drain_stats stats;
    uint64_t n = 99;
    assert_int_equal(pp_session_open(&(struct pp_session_opts){.dir = store_rings, .ring_spans = 64},
                                     &session, &err),
                     PP_OK);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err),
                     PP_OK); /* our own live rings are no obstacle */
    assert_int_equal(
        pp_drain_start(&(struct pp_drain_opts){.session = session, .store = store, .commit_ns = 60000000000u},
                       &drain, &err),
        PP_OK);
    struct pp_thread *t = pp_thread_register(session, PP_LANE_MAIN, "producer-0");
    pp_span_put(t, &(struct pp_span){.phase = PP_PHASE_READ});
    assert_int_equal(pp_store_recover(store_path, &n, &err), PP_OK);
    assert_int_equal(n, 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { /* another process may not replace it */
        struct pp_store *other;
        _exit(pp_store_create(&(struct pp_store_opts){.path = store_path, .force = 1}, &other, &err) ==
                      PP_E_EXISTS
                  ? 0
                  : 1);
    }
    int wstatus;
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_int_equal(wstatus, 0);
    pp_drain_stop(drain, &stats);
    assert_int_equal(stats.spans, 1);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    pp_session_close(session, 1);
    assert_int_not_equal(access(store_rings, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_random_kills),           STORE_TEST(test_rings_of_another_run),
        STORE_TEST(test_damaged_rings),          STORE_TEST(test_reading_writes_nothing),
        STORE_TEST(test_live_run_is_left_alone), STORE_TEST(test_triggers_do_not_run),
    };
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
