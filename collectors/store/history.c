#include "collectors/store/history.h"

#include "collectors/store/db.h"
#include "collectors/store/row.h"
#include "collectors/store/vfs.h"
#include "probe/base/err.h"

#include <unistd.h>

#define APPLICATION_ID 0x70707268 /* "pprh" */
#define VERSION 1

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS series(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
    "CREATE TABLE IF NOT EXISTS point(id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series(id), utc_s INTEGER NOT NULL, label TEXT NOT NULL, UNIQUE(series, label));"
    "CREATE TABLE IF NOT EXISTS value(point INTEGER NOT NULL REFERENCES point(id), metric TEXT NOT NULL, median REAL NOT NULL, runs INTEGER NOT NULL, PRIMARY KEY(point, metric)) WITHOUT ROWID;"
    "CREATE VIEW IF NOT EXISTS v_history AS SELECT s.text AS series, p.utc_s, p.label, v.metric, v.median, v.runs FROM value v JOIN point p ON p.id = v.point JOIN series s ON s.id = p.series"
    " ORDER BY s.id, v.metric, p.utc_s, p.id;"
    "PRAGMA application_id=1886417512; PRAGMA user_version=1; COMMIT;";

struct pp_history {
    sqlite3 *db;
    char *path;
};

pp_status pp_history_open(const char *path, int create, struct pp_history **out, struct pp_err *err)
{
    struct pp_history *h = calloc(1, sizeof(*h));
    struct pp_err why = {.code = PP_OK};
    char real[PATH_MAX];
    pp_status st = PP_OK;
    *out = NULL;
    pp_beside_real(path, real);
    if (!h || !(h->path = strdup(path)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the history %s", path);
    else if (!create && access(path, F_OK) != 0)
        st = pp_fail_errno(err, errno, "history %s does not exist; 'pipeprobe history add' creates it", path);
    /* As for a recording: no pipe, and no journal that is another's or names another file. */
    else if (pp_beside_look(real, "") == PP_BESIDE_UNFIT)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the history %s is not a regular file", path);
    else if ((st = pp_beside_check(real, err)) != PP_OK)
        ;
    else if ((st = pp_beside_may_roll_back(real, &why)) != PP_OK)
        pp_fail(err, st, "the history %s cannot be used because of its journal: %s", path, why.text);
    else if (sqlite3_open_v2(path, &h->db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0),
                             pp_log_vfs()) != SQLITE_OK)
        st = pp_db_fail(h->db, err, "cannot open the history", path);
    if (st == PP_OK) {
        sqlite3_busy_timeout(h->db, 10000); /* two CI jobs may add at once */
        sqlite3_int64 id = pp_db_number(h->db, "PRAGMA application_id", -1),
                      version = pp_db_number(h->db, "PRAGMA user_version", -1),
                      tables = pp_db_number(h->db, "SELECT count(*) FROM sqlite_schema", -1);
        if (id < 0 || tables < 0)
            st = pp_db_fail(h->db, err, "cannot read the history", path);
        else if (tables == 0)
            st = pp_db_exec(h->db, schema, err, "cannot create the history", path);
        else if (id != APPLICATION_ID)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s is an SQLite file, but not a pipeprobe history", path);
        else if (version != VERSION)
            st = pp_fail(err, PP_E_VERSION, "the history %s has version %lld, this program supports %d", path,
                         (long long)version, VERSION);
    }
    if (st == PP_OK)
        *out = h;
    else
        pp_history_close(h);
    return st;
}

void pp_history_close(struct pp_history *h)
{
    if (!h)
        return;
    sqlite3_close(h->db);
    free(h->path);
    free(h);
}

/* Runs the statement once; an SQLite code. */
static int run_once(struct pp_history *h, const char *sql, const struct pp_value *v, int n)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(h->db, sql, -1, &st, NULL);
    if (code == SQLITE_OK) {
        pp_row_bind(st, v, n);
        code = sqlite3_step(st);
    }
    sqlite3_finalize(st);
    return code;
}

pp_status pp_history_add(struct pp_history *h, const struct pp_history_point *p, struct pp_err *err)
{
    pp_status st = pp_db_exec(h->db, "BEGIN IMMEDIATE", err, "cannot write to the history", h->path);
    if (st != PP_OK)
        return st;
    int code = run_once(h, "INSERT OR IGNORE INTO series(text) VALUES(?1)", PP_ROW(v_text(p->series)));
    if (code == SQLITE_DONE)
        code = run_once(
            h, "INSERT INTO point(series, utc_s, label) SELECT id, ?2, ?3 FROM series WHERE text = ?1",
            PP_ROW(v_text(p->series), v_int((uint64_t)p->utc_s), v_text(p->label)));
    if (code == SQLITE_CONSTRAINT)
        st = pp_fail(
            err, PP_E_EXISTS,
            "the history %s already has a point '%s' of this machine and workload; give another --label",
            h->path, p->label);
    sqlite3_int64 point = sqlite3_last_insert_rowid(h->db);
    for (size_t i = 0; i < p->n_values && code == SQLITE_DONE; i++)
        code = run_once(h, "INSERT INTO value(point, metric, median, runs) VALUES(?1, ?2, ?3, ?4)",
                        PP_ROW(v_int((uint64_t)point), v_text(p->value[i].metric), v_real(p->value[i].median),
                               v_int(p->value[i].runs)));
    if (code != SQLITE_DONE && st == PP_OK)
        st = pp_db_fail(h->db, err, "cannot add to the history", h->path);
    if (st == PP_OK)
        st = pp_db_exec(h->db, "COMMIT", err, "cannot write to the history", h->path);
    if (st != PP_OK)
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

pp_status pp_history_each(struct pp_history *h, const char *metric, pp_history_fn *fn, void *ctx,
                          struct pp_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(
        h->db, "SELECT series, label, metric, utc_s, median, runs FROM v_history WHERE metric = ?1", -1, &st,
        NULL);
    if (rc == SQLITE_OK)
        sqlite3_bind_text(st, 1, metric, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            fn(ctx, &(struct pp_history_row){.series = (const char *)sqlite3_column_text(st, 0),
                                             .label = (const char *)sqlite3_column_text(st, 1),
                                             .metric = (const char *)sqlite3_column_text(st, 2),
                                             .utc_s = sqlite3_column_int64(st, 3),
                                             .median = sqlite3_column_double(st, 4),
                                             .runs = (size_t)sqlite3_column_int64(st, 5)});
    }
    pp_status status = rc == SQLITE_DONE ? PP_OK : pp_db_fail(h->db, err, "cannot read the history", h->path);
    sqlite3_finalize(st);
    return status;
}
