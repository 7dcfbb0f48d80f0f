/* The log written in large pieces: what a commit has said is in the files, whatever the transactions did, and
 * what it has not is not. */
#include "tests/support/store_dir.h"

#include "collectors/store/vfs.h"

#include "probe/base/rng.h"

#include <sys/stat.h>

static sqlite3 *db;

/* ---- the file system below: SQLite's own, which counts the writes to a log and lets one fail ---- */

struct witness {
    sqlite3_file file;
    sqlite3_file *base;
};

static sqlite3_vfs *own, witnesses;
static long long log_writes, failing; /* since `watch`; failing: the Nth, 0: none */

static void watch(long long nth_fails)
{
    log_writes = 0;
    failing = nth_fails;
}

#define TO_BASE(name, parameters, call) \
    static int witness_##name parameters \
    { \
        struct witness *w = (struct witness *)file; \
        return w->base->pMethods->call; \
    }
TO_BASE(close, (sqlite3_file * file), xClose(w->base))
TO_BASE(read, (sqlite3_file * file, void *out, int n, sqlite3_int64 at), xRead(w->base, out, n, at))
TO_BASE(truncate, (sqlite3_file * file, sqlite3_int64 n), xTruncate(w->base, n))
TO_BASE(sync, (sqlite3_file * file, int flags), xSync(w->base, flags))
TO_BASE(size, (sqlite3_file * file, sqlite3_int64 *n), xFileSize(w->base, n))
TO_BASE(lock, (sqlite3_file * file, int level), xLock(w->base, level))
TO_BASE(unlock, (sqlite3_file * file, int level), xUnlock(w->base, level))
TO_BASE(reserved, (sqlite3_file * file, int *out), xCheckReservedLock(w->base, out))
TO_BASE(control, (sqlite3_file * file, int op, void *arg), xFileControl(w->base, op, arg))
TO_BASE(sector, (sqlite3_file * file), xSectorSize(w->base))
TO_BASE(device, (sqlite3_file * file), xDeviceCharacteristics(w->base))

static int witness_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    struct witness *w = (struct witness *)file;
    return ++log_writes == failing ? SQLITE_IOERR_WRITE : w->base->pMethods->xWrite(w->base, bytes, n, at);
}

static const sqlite3_io_methods witness_methods = {
    .iVersion = 1,
    .xClose = witness_close,
    .xRead = witness_read,
    .xWrite = witness_write,
    .xTruncate = witness_truncate,
    .xSync = witness_sync,
    .xFileSize = witness_size,
    .xLock = witness_lock,
    .xUnlock = witness_unlock,
    .xCheckReservedLock = witness_reserved,
    .xFileControl = witness_control,
    .xSectorSize = witness_sector,
    .xDeviceCharacteristics = witness_device,
};

static int witness_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct witness *w = (struct witness *)file;
    if (!(flags & SQLITE_OPEN_WAL))
        return own->xOpen(own, name, file, flags, out_flags);
    *w = (struct witness){.base = (sqlite3_file *)(w + 1)};
    int code = own->xOpen(own, name, w->base, flags, out_flags);
    if (code == SQLITE_OK)
        w->file.pMethods = &witness_methods;
    return code;
}

/* The default from here on, which the tested one then stands on. */
static int be_witness(void **state)
{
    own = sqlite3_vfs_find(NULL);
    witnesses = *own;
    witnesses.zName = "witness";
    witnesses.szOsFile = (int)sizeof(struct witness) + own->szOsFile;
    witnesses.xOpen = witness_open;
    return sqlite3_vfs_register(&witnesses, 1);
}

/* ---- a database in a directory of its own ---- */

static int log_setup(void **state)
{
    if (store_setup(state) || !pp_log_vfs())
        return -1;
    return sqlite3_open_v2(store_path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                           pp_log_vfs()) != SQLITE_OK ||
           sqlite3_exec(
               db,
               "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB); CREATE INDEX i ON t(length(v))",
               NULL, NULL, NULL) != SQLITE_OK;
}

static int log_teardown(void **state)
{
    sqlite3_close(db);
    return store_teardown(state);
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

static const char contents[] =
    "SELECT count(*) || ' ' || coalesce(sum(id * length(v)), 0) || ' ' || coalesce(sum(id * unicode(hex(substr(v, length(v), 1)))), 0) FROM t";

/* What SQLite's own file system finds in the files as they are now, as after a kill. */
static void contents_after_kill(char out[128])
{
    char cmd[640], copy[96], sound[128];
    sqlite3 *killed;
    snprintf(copy, sizeof(copy), "%s/killed", store_dir);
    snprintf(cmd, sizeof(cmd), "rm -f %s %s-shm && cp %s %s && cp %s-wal %s-wal", copy, copy, store_path,
             copy, store_path, copy);
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
    unsigned long long id = pp_rng_below(rng, 60),
                       bytes = pp_rng_below(rng, 2) ? pp_rng_below(rng, 200) : pp_rng_below(rng, 90000);
    if (pp_rng_below(rng, 8) == 0)
        snprintf(sql, sizeof(sql), "DELETE FROM t WHERE id = %llu", id);
    else
        snprintf(sql, sizeof(sql), "REPLACE INTO t VALUES(%llu, randomblob(%llu))", id, bytes);
    run(sql);
}

/* Transactions of any size with a cache of some pages, so that they are spilled, and spilled again: SQLite
 * then goes back and writes headers anew. */
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
        run(commit
                ? "COMMIT"
                : "ROLLBACK"); /* after which nothing is asked of the log before the files are looked at, */
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
    snprintf(wal, sizeof(wal), "%s-wal", store_path);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size > 1000000); /* of 246 pages, each with its header */
    if (before < 0)
        print_message("# the kernel counts no writes: not looked at\n");
    else
        assert_in_range(made, 16, 24);
}

/* A transaction that fails after pages of it were written: what was committed before stays, and so does what
 * comes once there is room. */
static void test_fails_within(void **state)
{
    char before[128], after[128];
    run("PRAGMA cache_size=8; PRAGMA wal_autocheckpoint=0; INSERT INTO t VALUES(1, randomblob(100000))");
    ask(db, contents, before);
    run("PRAGMA max_page_count=64");
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES(2, randomblob(1000000))", NULL, NULL, NULL),
                     SQLITE_FULL);
    contents_after_kill(after);
    assert_string_equal(after, before);
    run("PRAGMA max_page_count=100000; INSERT INTO t VALUES(2, randomblob(1000000))");
    ask(db, contents, before);
    contents_after_kill(after);
    assert_string_equal(after, before);
}

/* Whichever write of a transaction fails, also one that was asked for pages ago: the transaction fails, and
 * nothing of it is there. */
static void test_each_write_fails(void **state)
{
    char before[128], after[128];
    int n = 1;
    run("PRAGMA cache_size=8; PRAGMA wal_autocheckpoint=0; INSERT INTO t VALUES(1, randomblob(100000))");
    for (;; n++) {
        ask(db, contents, before);
        watch(n);
        int code = sqlite3_exec(
            db,
            "BEGIN; REPLACE INTO t VALUES(1, randomblob(300000)); REPLACE INTO t VALUES(2, randomblob(70000)); COMMIT",
            NULL, NULL, NULL);
        if (!sqlite3_get_autocommit(db))
            run("ROLLBACK");
        int failed = log_writes >= n;
        watch(0);
        contents_after_kill(after);
        if (!failed)
            break;
        assert_int_equal(code & 0xff, SQLITE_IOERR);
        assert_string_equal(after, before);
        ask(db, contents, after);
        assert_string_equal(after, before);
    }
    ask(db, contents, before);
    assert_string_equal(after, before);
    assert_true(n > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {LOG_TEST(test_commits_are_whole), LOG_TEST(test_few_writes),
                                       LOG_TEST(test_fails_within), LOG_TEST(test_each_write_fails)};
    return cmocka_run_group_tests(tests, be_witness, NULL);
}
