/* Files that are not as they should be: what is damaged, cut or foreign is refused in words, where nothing
 * can be written it is said, and a file that goes away is noticed. */
#include "tests/support/store_spans.h"

#include "probe/base/rng.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void expect_create(const char *p, int force, pp_status want, const char *words)
{
    struct pp_store *s = NULL;
    struct pp_err err = {.code = PP_OK};
    pp_status got = pp_store_create(&(struct pp_store_opts){.path = p, .force = force}, &s, &err);
    if (got != want)
        fail_msg("%s: got %s (%s), wanted %s", p, pp_status_name(got), err.text, pp_status_name(want));
    assert_null(s);
    assert_non_null(strstr(err.text, words));
}

static void test_places_that_do_not_work(void **state)
{
    char p[160];
    struct pp_store *s = store_create(0);
    spans_append(s, 0, 10);
    pp_store_close(s);
    expect_create(store_path, 0, PP_E_EXISTS, "--force");
    expect_create(store_dir, 1, PP_E_USAGE, "is a directory");
    expect_create("", 0, PP_E_USAGE, "needs a file name");
    snprintf(p, sizeof(p), "%s/none/x.sqlite", store_dir);
    expect_create(p, 0, PP_E_NOT_FOUND, "none");
    snprintf(p, sizeof(p), "%s/x.sqlite", store_path);
    expect_create(p, 0, PP_E_NOT_FOUND, "not a directory");
    if (geteuid() != 0) {
        chmod(store_dir, 0500);
        snprintf(p, sizeof(p), "%s/x.sqlite", store_dir);
        expect_create(p, 0, PP_E_ACCESS, "not writable");
        chmod(store_dir, 0700);
    }
    struct pp_err err;
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path, .force = 1}, &s, &err),
                     PP_OK);
    pp_store_close(s);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 0); /* replaced, not appended to */
    pp_reader_close(r);
}

static void expect_open(const char *p, pp_status want, const char *words)
{
    struct pp_reader *r = NULL;
    struct pp_err err = {.code = PP_OK};
    pp_status got = pp_reader_open(p, &r, &err);
    if (got != want)
        fail_msg("%s: got %s (%s), wanted %s", p, pp_status_name(got), err.text, pp_status_name(want));
    if (want)
        assert_non_null(strstr(err.text, words));
    pp_reader_close(r);
}

static void put(const char *name, const void *bytes, size_t n, char *p, size_t size)
{
    snprintf(p, size, "%s/%s", store_dir, name);
    FILE *f = fopen(p, "w");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void sql(const char *p, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(p, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void test_files_that_are_not_runs(void **state)
{
    char p[160];
    static char zeros[5000];
    expect_open("/nonexistent/run.sqlite", PP_E_NOT_FOUND, "/nonexistent/run.sqlite");
    expect_open(store_dir, PP_E_USAGE, "is not a file");
    put("empty", "", 0, p, sizeof(p));
    expect_open(p, PP_E_EMPTY, "empty");
    put("text", "hello, this is no database", 26, p, sizeof(p));
    expect_open(p, PP_E_CORRUPT, "not an SQLite file");
    put("zeros", zeros, sizeof(zeros), p, sizeof(p));
    expect_open(p, PP_E_CORRUPT, "not an SQLite file");
    snprintf(p, sizeof(p), "%s/foreign", store_dir);
    sql(p, "CREATE TABLE meta(x)");
    expect_open(p, PP_E_UNSUPPORTED, "not a pipeprobe run");
    struct pp_store *s = store_create(0);
    spans_append(s, 0, 100);
    pp_store_finish(s, NULL);
    pp_store_close(s);
    expect_open(store_path, PP_OK, "");
    sql(store_path, "PRAGMA user_version=99");
    expect_open(store_path, PP_E_VERSION, "newer");
    sql(store_path, "PRAGMA user_version=1; DROP TABLE meta");
    expect_open(store_path, PP_E_CORRUPT, "no table meta");
}

static long file_size(const char *p)
{
    struct stat st;
    return stat(p, &st) == 0 ? (long)st.st_size : -1;
}

/* A file cut at any point is refused or read as far as it goes. */
static void test_cut_files(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_reader *r;
    struct pp_err err;
    spans_append(s, 0, 20000);
    pp_store_finish(s, NULL);
    pp_store_close(s);
    long size = file_size(store_path);
    for (long cut = size - 1; cut > 0; cut -= 1 + size / 37) {
        assert_int_equal(truncate(store_path, cut), 0);
        pp_status status = pp_reader_open(store_path, &r, &err);
        assert_int_equal(status, PP_E_CORRUPT);
        assert_true(err.text[0]);
    }
}

/* Bytes changed anywhere: no crash, and whatever walks past the checksum is what was written. */
static void test_damaged_files(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_rng rng = pp_rng_key(3, 1, 4, 1);
    char copy[160], cmd[400];
    uint64_t bad_total = 0, refused = 0;
    for (int i = 0; i < 20; i++) {
        spans_append(s, (uint64_t)i * 500, 500);
        pp_store_commit(s, NULL);
    }
    pp_store_close(s);
    snprintf(copy, sizeof(copy), "%s/copy.sqlite", store_dir);
    for (int trial = 0; trial < 60; trial++) {
        snprintf(cmd, sizeof(cmd), "cp '%s' '%s'", store_path, copy);
        assert_int_equal(system(cmd), 0);
        int fd = open(copy, O_RDWR);
        for (int k = 0; k < 20; k++) {
            uint8_t b = (uint8_t)pp_rng_next(&rng);
            assert_int_equal(pwrite(fd, &b, 1,
                                    (off_t)(100 + pp_rng_below(&rng, (uint64_t)file_size(copy) - 100))),
                             1);
        }
        close(fd);
        struct pp_reader *r;
        struct pp_err err;
        const struct pp_thread_row *threads;
        uint64_t bad = 0;
        struct spans_seen seen = {0};
        if (pp_reader_open(copy, &r, &err)) {
            assert_true(err.text[0]);
            refused++;
            continue;
        }
        if (pp_reader_each_chunk(r, spans_see, &seen, &bad, &err))
            refused++;
        bad_total += bad;
        pp_reader_threads(r, &threads);
        pp_reader_meta(r, "run", "journal_mode");
        pp_reader_close(r);
    }
    assert_true(bad_total > 0);
}

static void test_damaged_chunk_is_counted(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    struct spans_seen seen = {0};
    uint64_t bad = 0;
    for (int i = 0; i < 3; i++) {
        spans_append(s, (uint64_t)i * 100, 100);
        pp_store_commit(s, &err);
    }
    pp_store_finish(s, NULL);
    pp_store_close(s);
    sql(store_path, "UPDATE chunk SET body = zeroblob(length(body)) WHERE id = 2");
    struct pp_reader *r = store_open_reader();
    assert_int_equal(pp_reader_each_chunk(r, spans_see, &seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 1);
    assert_int_equal(seen.n, 200);
    pp_reader_close(r);
    sql(store_path, "UPDATE chunk SET seq0 = seq0 + 1 WHERE id = 3"); /* a sound body in the wrong place */
    r = store_open_reader();
    assert_int_equal(pp_reader_each_chunk(r, spans_see, &seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 2);
    pp_reader_close(r);
}

static void test_read_only_directory(void **state)
{
    struct pp_store *s = store_create(0);
    spans_append(s, 0, 100);
    pp_store_finish(s, NULL);
    pp_store_close(s);
    chmod(store_path, 0400);
    chmod(store_dir, 0500);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 100);
    pp_reader_close(r);
    chmod(store_dir, 0700);
}

static void put_foreign(void)
{
    sqlite3 *db;
    char other[sizeof(store_path) + 8];
    snprintf(other, sizeof(other), "%s.other", store_path);
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES(7)", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(rename(other, store_path), 0);
}

/* Deleted, replaced by another database, moved: the next commit says so, no file of ours is left beside the
 * name, and the other's file is as it was. */
static void test_file_goes_away(void **state)
{
    enum { DELETED, REPLACED, MOVED, WAYS };
    char moved[sizeof(store_path) + 8], log[sizeof(store_path) + 8];
    snprintf(moved, sizeof(moved), "%s.moved", store_path);
    snprintf(log, sizeof(log), "%s-wal", store_path);
    for (int way = 0; way < WAYS; way++) {
        struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
        struct pp_err err;
        spans_append(s, 0, 5000);
        assert_int_equal(pp_store_commit(s, &err), PP_OK);
        assert_false(pp_store_progress(s).lost);
        if (way == DELETED)
            unlink(store_path);
        else if (way == REPLACED)
            put_foreign();
        else
            rename(store_path, moved);
        spans_append(s, 5000, 100);
        assert_int_equal(pp_store_commit(s, &err), PP_E_IO);
        assert_non_null(strstr(err.text, "deleted, moved or replaced"));
        assert_true(pp_store_progress(s).lost);
        assert_int_equal(pp_store_finish(s, &err), PP_E_IO);
        assert_null(strstr(err.text, "stay readable"));
        pp_store_close(s);
        assert_int_not_equal(access(log, F_OK), 0);
        if (way == REPLACED) {
            assert_true(store_query("SELECT x FROM t") == 7);
            store_assert_integrity();
        } else {
            assert_int_not_equal(access(store_path, F_OK), 0);
        }
    }
    assert_int_equal(rename(moved, store_path), 0);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 5000); /* what had been committed went along */
    pp_reader_close(r);
}

/* All at the same moment, in the place of a recording or of none, with --force: one of them has it, whole,
 * and what the others say is that a process records there. */
static void test_one_of_many_gets_the_name(void **state)
{
    enum { ROUNDS = 20, MANY = 6 };
    for (int round = 0; round < ROUNDS; round++) {
        int go[2], got = 0, refused = 0, other = 0, status;
        assert_int_equal(pipe(go), 0);
        fflush(NULL);
        for (int i = 0; i < MANY; i++) {
            if (fork())
                continue;
            struct pp_store *s;
            struct pp_err err;
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0)
                _exit(9);
            pp_status st = pp_store_create(&(struct pp_store_opts){.path = store_path,
                                                                   .force = round % 4 > 0},
                                           &s, &err);
            if (st)
                _exit(st == PP_E_EXISTS && strstr(err.text, store_path) ? 1 : 2);
            spans_append(s, 0, 500);
            usleep(200000);
            pp_status finished = pp_store_finish(s, &err);
            pp_store_close(s);
            _exit(finished ? 3 : 0);
        }
        close(go[0]);
        close(go[1]); /* off they go */
        for (int i = 0; i < MANY; i++) {
            assert_true(wait(&status) > 0);
            got += WEXITSTATUS(status) == 0;
            refused += WEXITSTATUS(status) == 1;
            other = WEXITSTATUS(status) > 1 || WIFSIGNALED(status) ? status : other;
        }
        if (got != 1 || refused != MANY - 1)
            fail_msg("round %d: %d have it, %d are refused, and one ended with wait status %#x", round, got,
                     refused, (unsigned)other);
        struct pp_reader *r = store_open_reader();
        assert_int_equal(spans_count(r, NULL), 500);
        pp_reader_close(r);
        if (round % 2)
            unlink(store_path);
        else if (round % 4 == 2)
            assert_int_equal(truncate(store_path, 0), 0);
    }
}

/* A start that was killed left an empty file: its name may be had without force. One that is discarded leaves
 * none. */
static void test_an_empty_file_is_replaced(void **state)
{
    char p[160];
    put("run.sqlite", "", 0, p, sizeof(p));
    put("run.sqlite-wal", "left", 4, p, sizeof(p));
    struct pp_store *s = store_create(0);
    spans_append(s, 0, 100);
    assert_int_equal(pp_store_finish(s, NULL), PP_OK);
    pp_store_close(s);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 100);
    pp_reader_close(r);
    assert_int_not_equal(access(p, F_OK), 0);
    s = store_create_with((struct pp_store_opts){.force = 1});
    pp_store_discard(s);
    pp_store_close(s);
    assert_int_not_equal(access(store_path, F_OK), 0);
}

/* Ring files that another user could make there, or a directory that others may write, are no place for ours.
 */
static void test_foreign_rings_are_refused(void **state)
{
    char p[160];
    snprintf(p, sizeof(p), "%s/session", store_rings);
    for (int way = 0; way < 2; way++) {
        assert_int_equal(mkdir(store_rings, 0700), 0);
        FILE *f = fopen(p, "w");
        fclose(f);
        if (way == 0)
            assert_int_equal(chmod(store_rings, 0777), 0);
        else if (chown(store_rings, 12345, 12345) != 0)
            skip();
        expect_create(store_path, 1, PP_E_ACCESS, "run.sqlite.rings belongs to another user");
        assert_int_equal(access(p, F_OK), 0);
        unlink(p);
        rmdir(store_rings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_places_that_do_not_work),
        STORE_TEST(test_files_that_are_not_runs),
        STORE_TEST(test_cut_files),
        STORE_TEST(test_damaged_files),
        STORE_TEST(test_damaged_chunk_is_counted),
        STORE_TEST(test_read_only_directory),
        STORE_TEST(test_file_goes_away),
        STORE_TEST(test_one_of_many_gets_the_name),
        STORE_TEST(test_an_empty_file_is_replaced),
        STORE_TEST(test_foreign_rings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
