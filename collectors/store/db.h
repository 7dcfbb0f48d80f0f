/* store/db.h: the few things every file of the store does with SQLite. For collectors/store, and
 * collectors/import. */
#pragma once

#include "probe/base/bytes.h"

#include <pipeprobe/status.h>
#include <sqlite3.h>

/* SQLite's progress handler is called once in so many steps of its machine; what a step costs. */
enum { PP_DB_STEPS = 10000, PP_DB_STEP_BYTES = 8 };

#define PP_STORE_APPLICATION_ID 0x70707231 /* "ppr1" */
#define PP_STORE_VERSION 2 /* 1: chunks without palettes, one row per batch and phase in rollup_batch */

extern const char pp_schema_tables[];      /* at creation */
extern const char pp_schema_empty_proof[]; /* makes table proof where it is not there yet, and empties it */
extern const char pp_schema_finish[];      /* indexes, when the rows are there */

/* Sentence "what: SQLite's reason" with the status that fits (SQLITE_FULL and a full disk or quota behind an
 * I/O error: PP_E_NO_SPACE). */
pp_status pp_db_fail(sqlite3 *db, struct pp_err *err, const char *what, const char *path);
pp_status pp_db_exec(sqlite3 *db, const char *sql, struct pp_err *err, const char *what, const char *path);

/* The number in the first row's first column; otherwise: there is none, or that could not be read. */
sqlite3_int64 pp_db_number(sqlite3 *db, const char *sql, sqlite3_int64 otherwise);
/* Size of the database with what is in its log and in the open transaction. */
uint64_t pp_db_bytes(sqlite3 *db);
/* "PRAGMA journal_mode=<mode>"; returns 1 when the answer is that mode. */
int pp_db_journal_mode(sqlite3 *db, const char *mode);

/* Looks at the first page and the size without SQLite: PP_E_NOT_FOUND, PP_E_ACCESS, PP_E_EMPTY, PP_E_CORRUPT
 * (no SQLite file, cut short), PP_E_UNSUPPORTED (another application's), PP_E_VERSION (newer than this
 * program). */
pp_status pp_db_check_file(const char *path, struct pp_err *err);

/* ---- what a file of SQLite's may hold before it is taken for a recording ----
 *
 * Its schema comes from elsewhere like its rows, and a view, a virtual table or a generated column in place
 * of a table makes a query run what the file says, for as long as it says. */

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

/* The files that SQLite uses beside a recording (FILE-journal, FILE-wal, FILE-shm), looked at before SQLite
 * does. They arrive with a recording from elsewhere, and SQLite obeys them: it writes back what a journal
 * says, and deletes the file that a journal names. Nothing here writes. Private to collectors/store. */

enum pp_beside {
    PP_BESIDE_ABSENT,
    PP_BESIDE_OURS,    /* a regular file of the effective user, with one name */
    PP_BESIDE_FOREIGN, /* a regular file of another user, or one with several names */
    PP_BESIDE_UNFIT    /* a link, pipe, device or directory */
};

/* The name SQLite uses: links in path are followed. real has PATH_MAX bytes; a path that leads nowhere stays
 * as it is. */
void pp_beside_real(const char *path, char *real);
/* suffix: "-journal", "-wal", "-shm", or "" for the file itself. */
enum pp_beside pp_beside_look(const char *real, const char *suffix);

/* PP_E_UNSUPPORTED with a sentence when one of them is no regular file: SQLite would wait for a pipe for
 * ever. */
pp_status pp_beside_check(const char *real, struct pp_err *err);

/* Whether a transaction that was cut off may be rolled back, which writes into the file and deletes the
 * journal. PP_OK: the journal is the effective user's, as is the file, and only of this file; or there is
 * none. Else *err has a clause: why not. */
pp_status pp_beside_may_roll_back(const char *real, struct pp_err *err);
/* Whether the effective user may append to the file: it and what lies beside it are theirs. */
pp_status pp_beside_may_write(const char *real, struct pp_err *err);
