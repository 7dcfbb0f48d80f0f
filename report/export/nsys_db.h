/* export/nsys_db.h: the SQLite side of the nsys exporter: the tables as Nsight Systems' own exporter lays
 * them out, and rows into them.
 *
 * Schema 3.0.0 (nsys 2022.4) and, beside it, the columns and tables that newer report scripts ask for;
 * docs/reference/exports.md has the list. Columns are always named in inserts: their order is not stable
 * between versions. Reports join the enumerations by id, newer ones skip when an enumeration is missing. Our
 * own tables (pipeprobe_*) lie beside them: nsys looks at tables by name, and their columns are not called
 * start and end, which would make `nsys analyze` take them for event tables. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#include <sqlite3.h>

/* Values of eventType, copyKind and memory kinds as nsys writes them (the latter are CUPTI's less one). */
enum {
    NSYS_CATEGORY = 33,
    NSYS_MARK = 34,
    NSYS_THREAD_NAME = 39,
    NSYS_PUSH_POP = 59,
    NSYS_START_END = 60,
    NSYS_DOMAIN = 75
};
enum {
    NSYS_COPY_UNKNOWN = 0,
    NSYS_COPY_HTOD = 1,
    NSYS_COPY_DTOH = 2,
    NSYS_COPY_DTOD = 8,
    NSYS_COPY_HTOH = 9
};
enum { NSYS_MEMORY_PAGEABLE = 0, NSYS_MEMORY_PINNED = 1, NSYS_MEMORY_DEVICE = 2, NSYS_MEMORY_UNKNOWN = 7 };

#define NSYS_DOMAIN_ID 1 /* 0 is NVTX's default domain */

struct nsys_db {
    sqlite3 *db;
    const char *label; /* the output, for sentences */
    uint32_t strings;  /* in StringIds so far; ids from 1 */
};

/* The file exists and is empty. No journal: it has a temporary name and is thrown away when anything fails.
 * gpu: with the tables of the device. */
pp_status nsys_db_open(struct nsys_db *d, const char *path, const char *label, int gpu, struct pp_err *err);
/* Commits, and leaves the file in journal_mode=DELETE: nsys opens it immutable and would not see a log. */
pp_status nsys_db_finish(struct nsys_db *d, struct pp_err *err);

pp_status nsys_prepare(struct nsys_db *d, const char *sql, sqlite3_stmt **out, struct pp_err *err);
/* Runs a bound insert and resets it; its bindings stay. */
pp_status nsys_step(struct nsys_db *d, sqlite3_stmt *st, struct pp_err *err);
/* One insert of a plain row. types: i int64_t, s const char * (NULL is NULL), n no argument, NULL. */
pp_status nsys_row(struct nsys_db *d, struct pp_err *err, const char *sql, const char *types, ...);
/* A new row of StringIds. */
pp_status nsys_string(struct nsys_db *d, const char *text, uint32_t *id, struct pp_err *err);

/* Rows of integers into one table, NSYS_ROWS of them a statement: per row a statement of one costs twice as
 * much. They reach the table in the order they were put, some later than rows of other tables. All zero: not
 * open, which flush and close take. */
enum { NSYS_ROWS = 64 };
#define NSYS_NULL INT64_MIN /* a value that is NULL in the table */

struct nsys_rows {
    sqlite3_stmt *many, *one; /* owned */
    int64_t *pending;         /* n x values, row by row; owned */
    int values, n;
};

/* into: "INSERT INTO TABLE(COLUMNS) VALUES"; row: "(?,?,0)", a ? for each value. */
pp_status nsys_rows_open(struct nsys_db *d, struct nsys_rows *r, const char *into, const char *row,
                         struct pp_err *err);
pp_status nsys_rows_put(struct nsys_db *d, struct nsys_rows *r, const int64_t *values,
                        struct pp_err *err); /* values: r->values of them, copied */
pp_status nsys_rows_flush(struct nsys_db *d, struct nsys_rows *r,
                          struct pp_err *err); /* the last rows, before the commit */
