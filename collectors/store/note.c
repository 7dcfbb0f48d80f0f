#include "collectors/store/note.h"

#include "collectors/store/db.h"

#define BUSY_MS 5000

pp_status pp_note_write(const char *path, const char *section, const struct pp_note *notes, size_t n,
                        struct pp_err *err)
{
    static const char what[] = "cannot write notes into",
                      sql[] = "INSERT OR REPLACE INTO meta(section, key, value) VALUES(?,?,?)";
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    pp_status status = rc == SQLITE_OK ? PP_OK : pp_db_fail(db, err, what, path);
    if (status == PP_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        status = pp_db_exec(db, "BEGIN IMMEDIATE", err, what, path);
    }
    if (status == PP_OK && sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        status = pp_db_fail(db, err, what, path);
    for (size_t i = 0; status == PP_OK && i < n; i++) {
        sqlite3_reset(st);
        sqlite3_bind_text(st, 1, section, -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 2, notes[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 3, notes[i].value, -1, SQLITE_STATIC);
        if (sqlite3_step(st) != SQLITE_DONE)
            status = pp_db_fail(db, err, what, path);
    }
    sqlite3_finalize(st);
    if (status == PP_OK)
        status = pp_db_exec(db, "COMMIT", err, what, path);
    sqlite3_close(db); /* rolls back what was not committed */
    return status;
}
