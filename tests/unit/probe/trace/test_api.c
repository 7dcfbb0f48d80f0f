/* The public API as a program uses it: one process, several, forked, killed, with a collector and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/store/reader.h"
#include "collectors/store/recover.h"
#include "tests/support/here.h"
#include "probe/base/clock.h"

#include <pipeprobe/pipeprobe.h>
#include <pipeprobe/ring.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPANS 3000u

static char dir[64], path[128], rings[160], collector[4096];

static int setup(void **state)
{
    strcpy(dir, "/tmp/pp-api-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    snprintf(rings, sizeof(rings), "%s.rings", path);
    return 0;
}

static int teardown(void **state)
{
    char cmd[192];
    snprintf(cmd, sizeof(cmd), "chmod -R u+w '%s' && rm -rf '%s'", dir, dir);
    return system(cmd);
}

static const struct pp_open_opts no_collector = {.collector = ""};

static struct pp_recorder *open_run(const struct pp_open_opts *opts)
{
    struct pp_recorder *r;
    struct pp_err err;
    if (pp_open(path, opts, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

static struct pp_recorder *open_collected(void)
{
    struct pp_recorder *r = open_run(&(struct pp_open_opts){.collector = collector});
    if (pp_open_note(r))
        fail_msg("%s", pp_open_note(r));
    return r;
}

/* ---- what the file says ---- */

struct seen {
    uint64_t n, unfinished, per_phase[PP_PHASE_COUNT], samples_sum;
    struct pp_span last[64]; /* in the order stored */
    size_t kept;
};

static int see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct seen *s = ctx;
    for (size_t i = 0; i < n; i++) {
        s->n++;
        s->unfinished += (spans[i].flags & PP_SPAN_UNFINISHED) != 0;
        s->per_phase[spans[i].phase]++;
        s->samples_sum += spans[i].sample;
        if (s->kept < 64)
            s->last[s->kept++] = spans[i];
    }
    return 0;
}

static void look(struct seen *seen, struct pp_reader **keep)
{
    struct pp_reader *r;
    struct pp_err err;
    uint64_t bad;
    memset(seen, 0, sizeof(*seen));
    if (pp_reader_open(path, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(pp_reader_each_chunk(r, see, seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    if (keep)
        *keep = r;
    else
        pp_reader_close(r);
}

static void check_database(void)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* ---- recording ---- */

/* Every process and thread records the same, so that the sum tells whether anything is missing or doubled. */
static void record(struct pp_recorder *r, const char *name)
{
    struct pp_thread *t = pp_thread_open(r, PP_LANE_WORKER, name);
    assert_non_null(t);
    for (unsigned i = 0; i < SPANS; i++) {
        pp_span_begin(t, PP_PHASE_READ, &(struct pp_lap){.batch = i / 8, .sample = i});
        pp_span_end(t, 100, 0);
    }
    pp_thread_retire(t);
}

static void test_spans(void **state)
{
    struct pp_recorder *r = open_run(&no_collector);
    struct pp_thread *t = pp_thread_open(r, PP_LANE_TRAINER, "trainer");
    uint16_t name = pp_name(r, "augment");
    assert_non_null(pp_open_note(r));
    assert_int_equal(name, pp_name(r, "augment"));
    assert_int_equal(pp_name(r, ""), 0);
    pp_span_end(t, 0, 0); /* nothing is open */
    pp_span_begin(t, PP_PHASE_STEP,
                  &(struct pp_lap){.batch = 4, .sample = 8, .flags = PP_SPAN_COUNT, .epoch = 2});
    pp_span_begin(t, PP_PHASE_TRANSFORM, &(struct pp_lap){.batch = 4, .sample = 77, .name = name});
    pp_span_end(t, 4096, PP_SPAN_ERROR);
    pp_span_end(t, 0, 0);
    pp_span_begin(t, PP_PHASE_CHECKPOINT, NULL);
    pp_thread_retire(t);                   /* ends it */
    pp_span_begin(t, PP_PHASE_READ, NULL); /* silent from here on */
    pp_span_end(t, 0, 0);
    struct pp_err err;
    assert_int_equal(pp_close(r, &err), PP_E_INCONCLUSIVE);
    struct seen s;
    struct pp_reader *reader;
    look(&s, &reader);
    assert_int_equal(s.n, 3);
    const struct pp_span *inner = &s.last[0], *outer = &s.last[1], *cut = &s.last[2];
    assert_int_equal(inner->phase, PP_PHASE_TRANSFORM);
    assert_int_equal(inner->sample, 77);
    assert_int_equal(inner->bytes, 4096);
    assert_int_equal(inner->flags, PP_SPAN_ERROR);
    assert_string_equal(pp_reader_name(reader, inner->name), "augment");
    assert_int_equal(outer->phase, PP_PHASE_STEP);
    assert_int_equal(outer->batch, 4);
    assert_int_equal(outer->epoch, 2);
    assert_int_equal(outer->flags, PP_SPAN_COUNT);
    assert_true(outer->start_ns <= inner->start_ns &&
                outer->start_ns + outer->dur_ns >= inner->start_ns + inner->dur_ns);
    assert_int_equal(cut->phase, PP_PHASE_CHECKPOINT);
    assert_int_equal(cut->flags, PP_SPAN_UNFINISHED);
    assert_int_equal(cut->sample, PP_NO_SAMPLE);
    assert_int_equal(cut->batch, PP_NO_BATCH);
    pp_reader_close(reader);
    check_database();
}

static void test_resources(void **state)
{
    struct pp_recorder *r = open_run(&(struct pp_open_opts){.collector = "", .resources = 1});
    struct pp_thread *t = pp_thread_open(r, PP_LANE_WORKER, "w");
    pp_span_begin(t, PP_PHASE_DECODE, NULL);
    for (uint64_t until = pp_now_ns() + 3000000; pp_now_ns() < until;) {
    }
    pp_span_end(t, 0, 0);
    pp_close(r, NULL);
    struct seen s;
    look(&s, NULL);
    assert_int_equal(s.n, 1);
    assert_true(s.last[0].flags & PP_SPAN_HAS_CPU);
    assert_true(s.last[0].cpu_ns > 100000 && s.last[0].cpu_ns <= s.last[0].dur_ns + 1000000);
}

static void test_deep_nesting_is_counted(void **state)
{
    struct pp_recorder *r = open_run(&no_collector);
    struct pp_thread *t = pp_thread_open(r, PP_LANE_WORKER, "deep");
    for (unsigned i = 0; i < PP_OPEN_SPANS_MAX + 5; i++)
        pp_span_begin(t, PP_PHASE_READ, &(struct pp_lap){.batch = i});
    for (unsigned i = 0; i < PP_OPEN_SPANS_MAX + 5; i++)
        pp_span_end(t, 0, 0);
    pp_close(r, NULL);
    struct seen s;
    struct pp_reader *reader;
    const struct pp_thread_row *rows;
    look(&s, &reader);
    assert_int_equal(s.n, PP_OPEN_SPANS_MAX);
    assert_int_equal(s.last[0].batch, PP_OPEN_SPANS_MAX - 1);
    assert_int_equal(pp_reader_threads(reader, &rows), 1);
    assert_int_equal(rows[0].dropped, 5);
    pp_reader_close(reader);
}

static void test_off_is_null(void **state)
{
    struct pp_thread *t = pp_thread_open(NULL, PP_LANE_WORKER, "x");
    assert_null(t);
    pp_span_begin(t, PP_PHASE_READ, NULL);
    pp_span_end(t, 0, 0);
    pp_lap_expect(t, PP_PHASE_READ, NULL);
    pp_lap_end(t, PP_PHASE_READ, NULL);
    pp_counter_put(t, 1, 1);
    pp_thread_retire(t);
    assert_int_equal(pp_name(NULL, "x"), 0);
    assert_null(pp_open_note(NULL));
    assert_int_equal(pp_close(NULL, NULL), PP_OK);
}

static void refuses(const char *name, const struct pp_open_opts *opts, pp_status want, const char *says)
{
    struct pp_recorder *r;
    struct pp_err err = {.code = PP_OK};
    assert_int_equal(pp_open(name, opts, &r, &err), want);
    assert_null(r);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_refusals(void **state)
{
    char missing[160], long_name[PATH_MAX + 10];
    snprintf(missing, sizeof(missing), "%s/none/run.sqlite", dir);
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    refuses("", &no_collector, PP_E_USAGE, "needs a file name");
    refuses(NULL, &no_collector, PP_E_USAGE, "needs a file name");
    refuses("/tmp/", &no_collector, PP_E_USAGE, "needs a file name");
    refuses(long_name, &no_collector, PP_E_USAGE, "name");
    refuses(missing, &no_collector, PP_E_NOT_FOUND, "its directory");
    if (geteuid() != 0) {
        assert_int_equal(chmod(dir, 0500), 0);
        refuses(path, &no_collector, PP_E_ACCESS, "its directory");
        assert_int_equal(chmod(dir, 0700), 0);
    }
    FILE *f = fopen(path, "w");
    fputs("somebody's work\n", f);
    fclose(f);
    refuses(path, &no_collector, PP_E_EXISTS, "another name");
    assert_int_not_equal(access(rings, F_OK), 0); /* nothing was left behind */
    struct pp_recorder *r = open_run(&(struct pp_open_opts){.collector = "", .replace = 1});
    record(r, "w");
    pp_close(r, NULL);
    refuses(path, &no_collector, PP_E_EXISTS,
            "pipeprobe report"); /* what the last one recorded still waits in its rings */
    struct seen s;
    look(&s, NULL);
    assert_int_equal(s.n, SPANS);
}

static void test_collector_that_cannot_run(void **state)
{
    static const char *const programs[] = {"/nonexistent/pipeprobe", "/bin/true", "/bin/cat"};
    for (size_t i = 0; i < 3; i++) {
        struct pp_recorder *r = open_run(&(struct pp_open_opts){.collector = programs[i]});
        assert_non_null(pp_open_note(r));
        assert_non_null(strstr(pp_open_note(r), "no collector"));
        record(r, "w");
        assert_int_equal(pp_close(r, NULL), PP_E_INCONCLUSIVE);
        struct seen s;
        look(&s, NULL);
        assert_int_equal(s.n, SPANS);
        unlink(path);
    }
}

/* ---- processes ---- */

static void *record_thread(void *arg)
{
    record(arg, "second");
    return NULL;
}

static void reap(int n)
{
    int status;
    while (n-- > 0) {
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void wait_until_gone(const char *name)
{
    for (uint64_t until = pp_now_ns() + 20000000000ull; access(name, F_OK) == 0;) {
        if (pp_now_ns() > until)
            fail_msg("%s is still there", name);
        usleep(2000);
    }
}

/* One that opens, children it forks (with a thread each), and strangers that open the same run. */
static void test_processes(void **state)
{
    enum { CHILDREN = 3, STRANGERS = 2 };
    int go[2];
    char c;
    assert_int_equal(pipe(go), 0);
    fflush(NULL);
    for (int i = 0; i < STRANGERS; i++) {
        if (fork())
            continue;
        close(go[1]);
        while (read(go[0], &c, 1) < 0) {
        }
        struct pp_recorder *own = open_collected();
        record(own, "stranger");
        _exit(pp_close(own, NULL) == PP_OK ? 0 : 1);
    }
    struct pp_recorder *r = open_collected();
    record(r, "first");
    for (int i = 0; i < CHILDREN; i++) {
        if (fork())
            continue;
        close(go[0]);
        close(go[1]);
        pthread_t thread;
        pthread_create(&thread, NULL, record_thread, r);
        record(r, "child");
        pthread_join(thread, NULL);
        if (i == 0)
            _exit(pp_close(r, NULL) == PP_OK ? 0 : 1);
        _exit(0); /* without a word, as forked workers often end */
    }
    close(go[0]);
    close(go[1]);
    struct pp_err err = {.code = PP_OK};
    reap(CHILDREN + STRANGERS);
    if (pp_close(r, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_not_equal(access(rings, F_OK), 0);
    struct seen s;
    struct pp_reader *reader;
    const struct pp_thread_row *rows;
    look(&s, &reader);
    assert_int_equal(s.n, SPANS * (1 + 2 * CHILDREN + STRANGERS));
    assert_int_equal(s.samples_sum, (uint64_t)(1 + 2 * CHILDREN + STRANGERS) * (SPANS * (SPANS - 1) / 2));
    assert_int_equal(s.unfinished, 0);
    assert_int_equal(pp_reader_threads(reader, &rows), 1 + 2 * CHILDREN + STRANGERS);
    assert_string_equal(pp_reader_meta(reader, "run", "outcome"), "finished");
    assert_string_equal(pp_reader_meta(reader, "run", "tool"), "libpipeprobe");
    pp_reader_close(reader);
    check_database();
}

/* The one that opened ends first; what its child records later is in the file all the same. */
static void test_child_outlives_the_opener(void **state)
{
    fflush(NULL);
    if (fork() == 0) {
        struct pp_recorder *r = open_collected();
        if (fork() == 0) {
            usleep(150000);
            record(r, "late");
            _exit(0);
        }
        record(r, "early");
        _exit(pp_close(r, NULL) == PP_OK ? 0 : 1); /* others still record: it does not wait for them */
    }
    reap(1);
    wait_until_gone(rings);
    struct seen s;
    look(&s, NULL);
    assert_int_equal(s.n, 2 * SPANS);
}

static void test_all_open_at_once(void **state)
{
    enum { N = 4 };
    struct seen s;
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    for (int i = 0; i < N; i++) {
        if (fork())
            continue;
        close(ready[1]);
        while (read(ready[0], &c, 1) < 0) {
        }
        struct pp_recorder *r = open_collected();
        record(r, "rank");
        usleep(300000); /* the others are to find it live */
        _exit(pp_close(r, NULL) == PP_OK ? 0 : 1);
    }
    close(ready[0]);
    close(ready[1]); /* all at once */
    reap(N);
    wait_until_gone(rings);
    look(&s, NULL);
    assert_int_equal(s.n, N * SPANS);
}

/* ---- unplanned ends ---- */

static void record_until_killed(const struct pp_open_opts *opts)
{
    char c = 'x';
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct pp_recorder *r = open_run(opts);
        record(r, "whole");
        struct pp_thread *t = pp_thread_open(r, PP_LANE_TRAINER, "cut");
        pp_span_begin(t, PP_PHASE_STEP, &(struct pp_lap){.batch = 9, .sample = 1});
        pp_span_begin(t, PP_PHASE_READ, &(struct pp_lap){.batch = 9, .sample = 2});
        pp_span_end(t, 0, 0);
        pp_span_begin(t, PP_PHASE_DECODE, &(struct pp_lap){.batch = 9, .sample = 3});
        pp_lap_start(t);
        pp_lap_expect(t, PP_PHASE_H2D, &(struct pp_lap){.batch = 9, .sample = 4});
        if (write(ready[1], &c, 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void check_cut_off(void)
{
    struct seen s;
    look(&s, NULL);
    assert_int_equal(s.n, SPANS + 1 + 3);
    assert_int_equal(s.unfinished, 3);
    assert_int_equal(s.per_phase[PP_PHASE_STEP], 1);
    assert_int_equal(s.per_phase[PP_PHASE_DECODE], 1);
    assert_int_equal(s.per_phase[PP_PHASE_H2D], 1);
    look(&s, NULL); /* a second opening changes nothing */
    assert_int_equal(s.n, SPANS + 1 + 3);
    check_database();
}

static void test_killed_without_a_collector(void **state)
{
    record_until_killed(&no_collector);
    check_cut_off();
}

static void test_killed_with_a_collector(void **state)
{
    record_until_killed(&(struct pp_open_opts){.collector = collector});
    wait_until_gone(rings); /* the collector finishes the file by itself */
    check_cut_off();
    struct seen s;
    struct pp_reader *reader;
    look(&s, &reader);
    assert_string_equal(pp_reader_meta(reader, "run", "outcome"), "ended without closing");
    pp_reader_close(reader);
}

static pid_t find_collector(void)
{
    char name[300], line[4096];
    pid_t found = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        snprintf(name, sizeof(name), "/proc/%s/cmdline", e->d_name);
        FILE *f = atoi(e->d_name) > 0 ? fopen(name, "r") : NULL;
        size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
        if (f)
            fclose(f);
        line[n] = '\0';
        if (n > strlen(path) && memmem(line, n, path, strlen(path)) && memmem(line, n, "drain", 5))
            found = atoi(e->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static void test_killed_collector(void **state)
{
    struct pp_recorder *r = open_collected();
    record(r, "before");
    usleep(20000);
    pid_t pid = find_collector();
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    usleep(20000);
    record(r, "after");
    struct pp_err err;
    assert_int_equal(pp_close(r, &err), PP_E_INCONCLUSIVE);
    assert_non_null(strstr(err.text, "recovered"));
    struct seen s;
    look(&s, NULL);
    assert_int_equal(s.n, 2 * SPANS);
    check_database();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_spans),
        TEST(test_resources),
        TEST(test_deep_nesting_is_counted),
        TEST(test_off_is_null),
        TEST(test_refusals),
        TEST(test_collector_that_cannot_run),
        TEST(test_processes),
        TEST(test_child_outlives_the_opener),
        TEST(test_all_open_at_once),
        TEST(test_killed_without_a_collector),
        TEST(test_killed_with_a_collector),
        TEST(test_killed_collector),
    };
    snprintf(collector, sizeof(collector), "%s", built("pipeprobe"));
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
