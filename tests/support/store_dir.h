/* A directory for one test, in memory where there is such, and the file of a run in it: its name, its making,
 * and what SQLite says of it. */
#ifndef PP_TESTS_SUPPORT_STORE_DIR_H
#define PP_TESTS_SUPPORT_STORE_DIR_H

#include "collectors/store/writer.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path[96], rings[112];

static inline int setup(void **state)
{
    strcpy(dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/pp-test-XXXXXX"
                                              : "/tmp/pp-test-XXXXXX"); /* syncs are free there */
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    snprintf(rings, sizeof(rings), "%s.rings", path);
    return 0;
}

static inline int teardown(void **state)
{
    char cmd[192];
    snprintf(cmd, sizeof(cmd), "chmod -R u+w '%s' && rm -rf '%s'", dir, dir);
    return system(cmd);
}

/* Fails when anything but the run's file is left. */
static inline int teardown_only_the_run(void **state)
{
    unlink(path);
    return rmdir(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* At the test's path. */
static inline struct pp_store *create_with(struct pp_store_opts opts)
{
    struct pp_store *s = NULL;
    struct pp_err err;
    opts.path = path;
    if (pp_store_create(&opts, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static inline sqlite3_stmt *ask_first_row(sqlite3 **db, int flags, const char *sql)
{
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open_v2(path, db, flags, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(*db, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(*db));
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    return st;
}

/* The first value of the first row. */
static inline double query(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st = ask_first_row(&db, SQLITE_OPEN_READONLY, sql);
    double v = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}

static inline void assert_integrity(void)
{
    sqlite3 *db;
    sqlite3_stmt *st = ask_first_row(
        &db, SQLITE_OPEN_READWRITE,
        "PRAGMA integrity_check"); /* writing, for a log may have to be replayed */
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    sqlite3_close(db);
}

#endif
