/* import/foreign_db.h: an SQLite file of another program, read by name of table and column. What the store's
 * reader holds against a stranger's file holds here: opened to read only through its file system, no view,
 * trigger, virtual table or generated column runs, and reading that takes more steps, pages or bytes of text
 * than a file of that size can need ends. One thread at a time. */
#ifndef PP_IMPORT_FOREIGN_DB_H
#define PP_IMPORT_FOREIGN_DB_H

#include <pipeprobe/status.h>

#include <sqlite3.h>
#include <stdint.h>

struct pp_foreign_db {
    sqlite3 *db;
    const char *path; /* borrowed */
    uint64_t steps_left;
};

/* Close it with pp_foreign_db_close, also after a failure. */
pp_status pp_foreign_db_open(struct pp_foreign_db *d, const char *path, struct pp_err *err);
void pp_foreign_db_close(struct pp_foreign_db *d);

/* A statement that reads these columns (names with blanks between them) of an ordinary table, in the order of
 * the file; a column that the table lacks is NULL in every row. *out NULL with PP_OK: there is no such table.
 */
pp_status pp_foreign_db_select(struct pp_foreign_db *d, const char *table, const char *columns,
                               sqlite3_stmt **out, struct pp_err *err);
/* PP_OK: a row; PP_END: none any more. */
pp_status pp_foreign_db_step(struct pp_foreign_db *d, sqlite3_stmt *st, struct pp_err *err);

#endif
