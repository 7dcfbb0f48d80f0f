#include "collectors/store/amend.h"

#include "collectors/store/db.h"
#include "collectors/store/row.h"

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

static pp_status amend_insert(struct amend *a, const struct pp_value *v, int n)
{
    sqlite3_reset(a->st);
    pp_row_bind(a->st, v, n);
    return sqlite3_step(a->st) == SQLITE_DONE ? PP_OK : pp_db_fail(a->db, a->err, a->what, a->path);
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
    for (size_t i = 0; status == PP_OK && i < n; i++)
        status = amend_insert(&a, PP_ROW(v_text(section), v_text(notes[i].key), v_text(notes[i].value)));
    return amend_end(&a, status);
}

pp_status pp_proof_write(const char *path, const struct pp_proof_row *rows, size_t n, struct pp_err *err)
{
    struct amend a = {.path = path, .what = "cannot write the proof into", .err = err};
    pp_status status = amend_begin(&a, pp_schema_empty_proof,
                                   "INSERT INTO proof VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (const struct pp_proof_row *p = rows; status == PP_OK && p < rows + n; p++)
        status = amend_insert(&a, PP_ROW(v_text(p->kind), v_text(p->change), v_text(p->value),
                                         v_real(p->base), v_real(p->predicted), v_real(p->predicted_low),
                                         v_real(p->predicted_high), v_real(p->measured),
                                         v_real(p->measured_low), v_real(p->measured_high), v_int(p->rounds),
                                         v_real(p->ballast_cpus), v_text(p->recording)));
    return amend_end(&a, status);
}
