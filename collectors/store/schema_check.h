/* store/schema_check.h: what a file of SQLite's may hold before it is taken for a recording. Its schema comes
 * from elsewhere like its rows, and a view, a virtual table or a generated column in place of a table makes a
 * query run what the file says, for as long as it says. For collectors/store, and collectors/import. */
#ifndef PP_STORE_SCHEMA_CHECK_H
#define PP_STORE_SCHEMA_CHECK_H

#include <pipeprobe/status.h>

#include <sqlite3.h>

/* On a connection that has just been opened: no views, triggers, virtual tables and extensions, no trust in
 * the schema, no value longer than a chunk can be. */
void pp_schema_distrust(sqlite3 *db);

/* PP_E_CORRUPT unless every table of a recording that is there is an ordinary one with the columns that are
 * read (tables of newer versions may be absent, but not `meta` and `chunk`). What else is in the file does
 * not matter: it is not used. */
pp_status pp_schema_check_read(sqlite3 *db, const char *path, struct pp_err *err);

/* PP_E_UNSUPPORTED unless the schema is, word by word, the one that this version makes: writing into a table
 * runs its checks, triggers and indexes. */
pp_status pp_schema_check_write(sqlite3 *db, const char *path, struct pp_err *err);

#endif
