/* The log written in large pieces: what a commit has said is in the files, whatever the transactions did, and what it has not is not. */
#include "store_dir.h"

#include "collectors/store/log_vfs.h"

#include "probe/base/rng.h"

#include <sys/stat.h>

static sqlite3 *db;

static int log_setup(void **state)
{
    if (setup(state) || !pp_log_vfs())
        return -1;
    return sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, pp_log_vfs()) != SQLITE_OK
        || sqlite3_exec(db, "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB); CREATE INDEX i ON t(length(v))", NULL, NULL, NULL) != SQLITE_OK;
}

static int log_teardown(void **state)
{
    sqlite3_close(db);
    return teardown(state);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, log_setup, log_teardown)

static void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* One row of text. */
static void ask(sqlite3 *of, const char *sql, char out[128])
{
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_prepare_v2(of, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    snprintf(out, 128, "%s", (const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
}

static const char contents[] = "SELECT count(*) || ' ' || coalesce(sum(id * length(v)), 0) || ' ' || coalesce(sum(id * unicode(hex(substr(v, length(v), 1)))), 0) FROM t";

/* What SQLite's own file system finds in the files as they are now, as after a kill. */
static void contents_after_kill(char out[128])
{
    char cmd[640], copy[96], sound[128];
    sqlite3 *killed;
    snprintf(copy, sizeof(copy), "%s/killed", dir);
    snprintf(cmd, sizeof(cmd), "rm -f %s %s-shm && cp %s %s && cp %s-wal %s-wal", copy, copy, path, copy, path, copy);
    assert_int_equal(system(cmd), 0);
    assert_int_equal(sqlite3_open_v2(copy, &killed, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
    ask(killed, "PRAGMA integrity_check", sound);
    assert_string_equal(sound, "ok");
    ask(killed, contents, out);
    sqlite3_close(killed);
}

static void change_something(struct pp_rng *rng)
{
    char sql[160];
    unsigned long long id = pp_rng_below(rng, 60), bytes = pp_rng_below(rng, 2) ? pp_rng_below(rng, 200) : pp_rng_below(rng, 90000);
    if (pp_rng_below(rng, 8) == 0)
        snprintf(sql, sizeof(sql), "DELETE FROM t WHERE id = %llu", id);
    else
        snprintf(sql, sizeof(sql), "REPLACE INTO t VALUES(%llu, randomblob(%llu))", id, bytes);
    run(sql);
}

/* Transactions of any size with a cache of some pages, so that they are spilled, and spilled again: SQLite then goes back and writes headers anew. */
static void test_commits_are_whole(void **state)
{
    struct pp_rng rng = pp_rng_key(4, 6, 9, 2);
    char before[128], after[128];
    run("PRAGMA cache_size=8; PRAGMA wal_autocheckpoint=500");
    ask(db, contents, before);
    for (int i = 0; i < 300; i++) {
        run("BEGIN");
        for (uint64_t n = pp_rng_below(&rng, 12); n; n--)
            change_something(&rng);
        if (i % 7 == 0) { /* killed within it */
            contents_after_kill(after);
            assert_string_equal(after, before);
        }
        int commit = pp_rng_below(&rng, 4) != 0;
        run(commit ? "COMMIT" : "ROLLBACK"); /* after which nothing is asked of the log before the files are looked at, */
        if (i % 3 == 0)
            contents_after_kill(after);
        if (commit) /* nor, after a rollback, before the next transaction writes */
            ask(db, contents, before);
        if (i % 3 == 0)
            assert_string_equal(after, before);
    }
}

/* Calls that write, of this process; -1: the kernel does not count them. */
static long long writes(void)
{
    char line[64];
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "syscw: %lld", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static void test_few_writes(void **state)
{
    struct stat st;
    char wal[128];
    run("PRAGMA wal_autocheckpoint=0");
    long long before = writes();
    run("INSERT INTO t VALUES(1, randomblob(1000000))");
    long long made = writes() - before;
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size > 1000000); /* of 246 pages, each with its header */
    if (before < 0)
        print_message("# the kernel counts no writes: not looked at\n");
    else
        assert_in_range(made, 16, 24);
}

/* A transaction that fails after pages of it were written: what was committed before stays, and so does what comes once there is room. */
static void test_fails_within(void **state)
{
    char before[128], after[128];
    run("PRAGMA cache_size=8; PRAGMA wal_autocheckpoint=0; INSERT INTO t VALUES(1, randomblob(100000))");
    ask(db, contents, before);
    run("PRAGMA max_page_count=64");
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES(2, randomblob(1000000))", NULL, NULL, NULL), SQLITE_FULL);
    contents_after_kill(after);
    assert_string_equal(after, before);
    run("PRAGMA max_page_count=100000; INSERT INTO t VALUES(2, randomblob(1000000))");
    ask(db, contents, before);
    contents_after_kill(after);
    assert_string_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {LOG_TEST(test_commits_are_whole), LOG_TEST(test_few_writes), LOG_TEST(test_fails_within)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
