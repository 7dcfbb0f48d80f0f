#include "collectors/import/foreign_db.h"

#include "collectors/store/db.h"
#include "collectors/store/row.h"
#include "collectors/store/vfs.h"
#include "probe/base/err.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS_BETWEEN = 10000, COLUMNS_MOST = 24 };
#define LEAST_STEPS UINT64_C(50000000)
#define STEPS_PER_BYTE 50 /* a row of twenty columns takes about a hundred steps, and more than ten bytes */
/* What a step costs besides itself, as steps: a page that is fetched, and bytes of a text that are copied. */
enum { STEPS_PER_PAGE = 20, BYTES_PER_STEP = 8 };

static int count_steps(void *ctx)
{
    struct pp_foreign_db *d = ctx;
    if (d->steps_left < STEPS_BETWEEN)
        return 1;
    d->steps_left -= STEPS_BETWEEN;
    return 0;
}

static pp_status fail_beyond_size(struct pp_foreign_db *d, struct pp_err *err)
{
    return pp_fail(
        err, PP_E_CORRUPT,
        "cannot read %s: reading it would take much longer than its size allows; it is damaged, or was made "
        "to do so",
        d->path);
}

static pp_status fail_read(struct pp_foreign_db *d, struct pp_err *err)
{
    if ((sqlite3_errcode(d->db) & 0xff) == SQLITE_INTERRUPT)
        return fail_beyond_size(d, err);
    return pp_db_fail(d->db, err, "cannot read", d->path);
}

pp_status pp_foreign_db_open(struct pp_foreign_db *d, const char *path, struct pp_err *err)
{
    char uri[3 * PATH_MAX + 64];
    struct stat st;
    const char *vfs = pp_read_vfs();
    size_t n = (size_t)snprintf(uri, sizeof(uri), "file:");
    *d = (struct pp_foreign_db){.path = path};
    if (strlen(path) >= PATH_MAX || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return pp_fail(err, PP_E_NOT_FOUND, "%s is no file that can be read", path);
    for (const char *p = path; *p; p++)
        n += (size_t)snprintf(uri + n, sizeof(uri) - n, strchr("?#% ", *p) ? "%%%02X" : "%c",
                              (unsigned char)*p);
    snprintf(uri + n, sizeof(uri) - n, "?immutable=1"); /* nothing beside it is looked at */
    if (!vfs)
        return pp_fail(err, PP_E_SYSTEM, "SQLite has no file system to read %s with", path);
    if (sqlite3_open_v2(uri, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, vfs) !=
        SQLITE_OK)
        return pp_db_fail(d->db, err, "cannot read", path);
    d->steps_left = LEAST_STEPS + STEPS_PER_BYTE * (uint64_t)st.st_size;
    sqlite3_extended_result_codes(d->db, 1);
    pp_schema_distrust(d->db);
    sqlite3_progress_handler(d->db, STEPS_BETWEEN, count_steps, d);
    return PP_OK;
}

void pp_foreign_db_close(struct pp_foreign_db *d)
{
    sqlite3_close(d->db);
    d->db = NULL;
}

pp_status pp_foreign_db_step(struct pp_foreign_db *d, sqlite3_stmt *st, struct pp_err *err)
{
    int code = sqlite3_step(st), n = code == SQLITE_ROW ? sqlite3_data_count(st) : 0, pages = 0, most;
    uint64_t steps = 0;
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? PP_END : fail_read(d, err);
    /* A row that is asked for again and again may hold megabytes, which the handler above does not see. */
    for (int i = 0; i < n; i++)
        if (sqlite3_column_type(st, i) == SQLITE_TEXT || sqlite3_column_type(st, i) == SQLITE_BLOB)
            steps += (uint64_t)sqlite3_column_bytes(st, i) / BYTES_PER_STEP;
    for (int kind = SQLITE_DBSTATUS_CACHE_HIT; kind <= SQLITE_DBSTATUS_CACHE_MISS; kind++)
        if (sqlite3_db_status(d->db, kind, &pages, &most, 1) == SQLITE_OK)
            steps += (uint64_t)pages * STEPS_PER_PAGE;
    if (steps > d->steps_left)
        return fail_beyond_size(d, err);
    d->steps_left -= steps;
    return PP_OK;
}

/* Bits of the wanted columns that are there, as ordinary ones. */
static pp_status find_columns(struct pp_foreign_db *d, const char *table, char names[][32], int n,
                              unsigned *there, struct pp_err *err)
{
    char sql[96];
    sqlite3_stmt *st = NULL;
    pp_status status;
    *there = 0;
    snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", table);
    if (sqlite3_prepare_v2(d->db, sql, -1, &st, NULL) != SQLITE_OK)
        return fail_read(d, err);
    while ((status = pp_foreign_db_step(d, st, err)) == PP_OK) {
        const char *name = (const char *)sqlite3_column_text(st, 1);
        for (int i = 0; name && i < n && sqlite3_column_int(st, 6) == 0; i++)
            *there |= strcmp(name, names[i]) == 0 ? 1u << i : 0;
    }
    sqlite3_finalize(st);
    return status == PP_END ? PP_OK : status;
}

pp_status pp_foreign_db_select(struct pp_foreign_db *d, const char *table, const char *columns,
                               sqlite3_stmt **out, struct pp_err *err)
{
    char names[COLUMNS_MOST][32], sql[1024] = "SELECT ";
    sqlite3_stmt *st = NULL;
    unsigned there = 0;
    int n = 0, kind = 0; /* kind: 1 an ordinary table, 0 no such, -1 something else of that name */
    pp_status status;
    *out = NULL;
    for (const char *p = columns; *p && n < COLUMNS_MOST; p += strcspn(p, " "), p += strspn(p, " "), n++)
        snprintf(names[n], sizeof(names[n]), "%.*s", (int)strcspn(p, " "), p);
    if (sqlite3_prepare_v2(d->db, "SELECT type, rootpage FROM sqlite_master WHERE name = ?", -1, &st, NULL) !=
        SQLITE_OK)
        return fail_read(d, err);
    pp_row_bind(st, PP_ROW(v_text(table)));
    while ((status = pp_foreign_db_step(d, st, err)) == PP_OK) {
        const char *type = (const char *)sqlite3_column_text(st, 0);
        kind = !kind && type && strcmp(type, "table") == 0 && sqlite3_column_int64(st, 1) > 0 ? 1 : -1;
    }
    sqlite3_finalize(st);
    status = status == PP_END ? PP_OK : status;
    if (status == PP_OK && kind < 0)
        status = pp_fail(err, PP_E_CORRUPT,
                         "%s: its %s is not an ordinary table; it was changed, and is not read", d->path,
                         table);
    if (status != PP_OK || !kind)
        return status;
    status = find_columns(d, table, names, n, &there, err);
    for (int i = 0; i < n; i++)
        snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), there >> i & 1 ? "%s\"%s\"" : "%sNULL",
                 i ? ", " : "", names[i]);
    snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " FROM main.\"%s\"", table);
    if (status == PP_OK && sqlite3_prepare_v2(d->db, sql, -1, out, NULL) != SQLITE_OK)
        status = fail_read(d, err);
    return status;
}
