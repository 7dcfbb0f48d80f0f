/* The log of a database goes into it while others commit: by a thread of its own, by the committing one where
 * that cannot be, and by SQLite when both are gone. */
#include "tests/support/store_dir.h"

#include "collectors/store/store.h"

#include "probe/base/clock.h"

#include <sys/stat.h>

enum { PAGE = 4096, FROM = 16 };

static sqlite3 *db;

static int log_setup(void **state)
{
    if (store_setup(state))
        return -1;
    return sqlite3_open(store_path, &db) != SQLITE_OK ||
           sqlite3_exec(
               db,
               "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x)",
               NULL, NULL, NULL) != SQLITE_OK;
}

static int log_teardown(void **state)
{
    sqlite3_close(db);
    return store_teardown(state);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, log_setup, log_teardown)

static long size_of(const char *suffix)
{
    char name[128];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", store_path, suffix);
    return stat(name, &st) == 0 ? (long)st.st_size : 0;
}

static void commit_pages(int n)
{
    char sql[96];
    snprintf(sql, sizeof(sql), "INSERT INTO t VALUES(zeroblob(%d))", n * PAGE);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static struct pp_checkpoint *watch(const char *where, int most)
{
    struct pp_checkpoint *c = pp_checkpoint_new(
        &(struct pp_checkpoint_opts){.db = db, .path = where, .from = FROM, .most = most});
    assert_non_null(c);
    return c;
}

/* Only the thread moves it: the bound is far away. */
static void test_thread_moves_the_log(void **state)
{
    struct pp_checkpoint *c = watch(store_path, 1 << 30);
    long before = size_of("");
    commit_pages(FROM / 2);
    assert_int_equal(size_of(""), before); /* too little */
    commit_pages(4 * FROM);
    for (uint64_t stop = pp_now_ns() + 20000000000u;
         size_of("") < before + 4 * FROM * PAGE && pp_now_ns() < stop;)
        pp_sleep_until_ns(pp_now_ns() + 1000000);
    assert_true(size_of("") >= before + 4 * FROM * PAGE);
    pp_checkpoint_free(c); /* it has said all it will say */
    long log = size_of("-wal");
    commit_pages(FROM / 2);
    assert_int_equal(size_of("-wal"), log); /* begun again, not gone on */
}

static void test_cpu_time_is_told(void **state)
{
    struct pp_checkpoint *c = watch(store_path, 1 << 30);
    assert_int_equal(pp_checkpoint_cpu_ns(c), 0);
    for (uint64_t stop = pp_now_ns() + 20000000000u; !pp_checkpoint_cpu_ns(c) && pp_now_ns() < stop;)
        commit_pages(FROM);
    assert_true(pp_checkpoint_cpu_ns(c) > 0);
    pp_checkpoint_free(c);
    assert_int_equal(pp_checkpoint_cpu_ns(NULL), 0);
    pp_checkpoint_free(NULL);
}

/* A thread that finds no database there: the committing one does it, from the commit on at which that is
 * known. */
static void test_without_a_thread_the_commit_does_it(void **state)
{
    char nowhere[128];
    snprintf(nowhere, sizeof(nowhere), "%s/none/run.sqlite", store_dir);
    struct pp_checkpoint *c = watch(nowhere, 1 << 30);
    long before = size_of("");
    commit_pages(FROM);
    for (uint64_t stop = pp_now_ns() + 20000000000u; size_of("") == before && pp_now_ns() < stop;)
        commit_pages(1);
    assert_true(size_of("") > before);
    long size = size_of("");
    commit_pages(2 * FROM);
    assert_true(size_of("") >= size + 2 * FROM * PAGE); /* at once */
    pp_checkpoint_free(c);
}

static void test_a_log_at_its_bound(void **state)
{
    struct pp_checkpoint *c = watch(store_path, 4 * FROM);
    for (int i = 0; i < 200; i++)
        commit_pages(FROM);
    /* A checkpoint that meets the other's does nothing, so the bound is passed by a few commits, not by all.
     */
    assert_true(size_of("-wal") < 100 * FROM * PAGE);
    pp_checkpoint_free(c);
}

static void test_sqlite_does_it_again_afterwards(void **state)
{
    pp_checkpoint_free(watch(store_path, 4 * FROM));
    long before = size_of("");
    commit_pages(2 * FROM);
    assert_true(size_of("") >= before + 2 * FROM * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(test_thread_moves_the_log),
        LOG_TEST(test_cpu_time_is_told),
        LOG_TEST(test_without_a_thread_the_commit_does_it),
        LOG_TEST(test_a_log_at_its_bound),
        LOG_TEST(test_sqlite_does_it_again_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
