#include "collectors/store/proof.h"

#include "collectors/store/db.h"

#include <math.h>

#define BUSY_MS 5000

static void bind_number(sqlite3_stmt *st, int at, double v)
{
    if (isnan(v))
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_double(st, at, v);
}

static int insert(sqlite3_stmt *st, const struct pp_proof_row *p)
{
    const double number[] = {p->base,     p->predicted,    p->predicted_low, p->predicted_high,
                             p->measured, p->measured_low, p->measured_high};
    const int numbers = sizeof(number) / sizeof(*number);
    int at = 1;
    sqlite3_reset(st);
    sqlite3_bind_text(st, at++, p->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, at++, p->change, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, at++, p->value, -1, SQLITE_STATIC);
    for (int i = 0; i < numbers; i++)
        bind_number(st, at++, number[i]);
    sqlite3_bind_int64(st, at++, (sqlite3_int64)p->rounds);
    bind_number(st, at++, p->ballast_cpus);
    sqlite3_bind_text(st, at++, p->recording, -1, SQLITE_STATIC);
    return sqlite3_step(st);
}

pp_status pp_proof_write(const char *path, const struct pp_proof_row *rows, size_t n, struct pp_err *err)
{
    static const char what[] = "cannot write the proof into";
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    pp_status status = rc == SQLITE_OK ? PP_OK : pp_db_fail(db, err, what, path);
    if (status == PP_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        status = pp_db_exec(db, "BEGIN IMMEDIATE", err, what, path);
    }
    if (status == PP_OK)
        status = pp_db_exec(db, pp_schema_proof, err, what,
                            path); /* a file of an older version has no such table */
    if (status == PP_OK)
        status = pp_db_exec(db, "DELETE FROM proof", err, what, path);
    if (status == PP_OK)
        rc = sqlite3_prepare_v2(db, "INSERT INTO proof VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &st, NULL);
    for (size_t i = 0; status == PP_OK && i < n && (rc == SQLITE_OK || rc == SQLITE_DONE); i++)
        rc = insert(st, &rows[i]);
    if (status == PP_OK && rc != SQLITE_OK && rc != SQLITE_DONE)
        status = pp_db_fail(db, err, what, path);
    sqlite3_finalize(st);
    if (status == PP_OK)
        status = pp_db_exec(db, "COMMIT", err, what, path);
    sqlite3_close(db); /* rolls back what was not committed */
    return status;
}
