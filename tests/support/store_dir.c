#include "tests/support/store_dir.h"

char store_dir[64], store_path[96], store_rings[112];

int store_setup(void **state)
{
    strcpy(store_dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/pp-test-XXXXXX"
                                                    : "/tmp/pp-test-XXXXXX"); /* syncs are free there */
    if (!mkdtemp(store_dir))
        return -1;
    snprintf(store_path, sizeof(store_path), "%s/run.sqlite", store_dir);
    snprintf(store_rings, sizeof(store_rings), "%s.rings", store_path);
    return 0;
}

int store_teardown(void **state)
{
    char cmd[192];
    snprintf(cmd, sizeof(cmd), "chmod -R u+w '%s' && rm -rf '%s'", store_dir, store_dir);
    return system(cmd);
}

int store_teardown_only_the_run(void **state)
{
    unlink(store_path);
    return rmdir(store_dir);
}

struct pp_store *store_create_with(struct pp_store_opts opts)
{
    struct pp_store *s = NULL;
    struct pp_err err;
    opts.path = store_path;
    if (pp_store_create(&opts, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

sqlite3_stmt *store_first_row(sqlite3 **db, int flags, const char *sql)
{
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open_v2(store_path, db, flags, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(*db, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(*db));
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    return st;
}

double store_query(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st = store_first_row(&db, SQLITE_OPEN_READONLY, sql);
    double v = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}

void store_assert_integrity(void)
{
    sqlite3 *db;
    sqlite3_stmt *st = store_first_row(
        &db, SQLITE_OPEN_READWRITE,
        "PRAGMA integrity_check"); /* writing, for a log may have to be replayed */
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    sqlite3_close(db);
}
