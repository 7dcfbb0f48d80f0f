#include "collectors/store/amend.h"

#include "collectors/store/db.h"

#include <math.h>

#define BUSY_MS 5000

/* A transaction of n rows and the statement that inserts one; text: SQL to run before. */
struct amend {
    const char *path, *what;
    sqlite3 *db;
    sqlite3_stmt *st;
    struct pp_err *err;
};

static pp_status amend_begin(struct amend *a, const char *text, const char *insert)
{
    pp_status status = PP_OK;
    if (sqlite3_open_v2(a->path, &a->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return pp_db_fail(a->db, a->err, a->what, a->path);
    sqlite3_busy_timeout(a->db, BUSY_MS);
    status = pp_db_exec(a->db, "BEGIN IMMEDIATE", a->err, a->what, a->path);
    if (status == PP_OK && text)
        status = pp_db_exec(a->db, text, a->err, a->what, a->path);
    if (status == PP_OK && sqlite3_prepare_v2(a->db, insert, -1, &a->st, NULL) != SQLITE_OK)
        status = pp_db_fail(a->db, a->err, a->what, a->path);
    return status;
}

static pp_status amend_end(struct amend *a, pp_status status)
{
    sqlite3_finalize(a->st);
    if (status == PP_OK)
        status = pp_db_exec(a->db, "COMMIT", a->err, a->what, a->path);
    sqlite3_close(a->db); /* rolls back what was not committed */
    return status;
}

pp_status pp_note_write(const char *path, const char *section, const struct pp_note *notes, size_t n,
                        struct pp_err *err)
{
    struct amend a = {.path = path, .what = "cannot write notes into", .err = err};
    pp_status status = amend_begin(&a, NULL,
                                   "INSERT OR REPLACE INTO meta(section, key, value) VALUES(?,?,?)");
    for (size_t i = 0; status == PP_OK && i < n; i++) {
        sqlite3_reset(a.st);
        sqlite3_bind_text(a.st, 1, section, -1, SQLITE_STATIC);
        sqlite3_bind_text(a.st, 2, notes[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_text(a.st, 3, notes[i].value, -1, SQLITE_STATIC);
        if (sqlite3_step(a.st) != SQLITE_DONE)
            status = pp_db_fail(a.db, err, a.what, path);
    }
    return amend_end(&a, status);
}

static void bind_number(sqlite3_stmt *st, int at, double v)
{
    if (isnan(v))
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_double(st, at, v);
}

static int insert_proof(sqlite3_stmt *st, const struct pp_proof_row *p)
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
    struct amend a = {.path = path, .what = "cannot write the proof into", .err = err};
    pp_status status = amend_begin(&a, pp_schema_empty_proof,
                                   "INSERT INTO proof VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; status == PP_OK && i < n; i++)
        if (insert_proof(a.st, &rows[i]) != SQLITE_DONE)
            status = pp_db_fail(a.db, err, a.what, path);
    return amend_end(&a, status);
}
