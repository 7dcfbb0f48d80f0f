/* export/nsys.h: the SQLite side of the nsys exporter: the tables as Nsight Systems' own exporter lays them
 * out, and rows into them. */
#ifndef PP_EXPORT_NSYS_H
#define PP_EXPORT_NSYS_H

#include "report/export/export.h"
#include "report/export/nsight.h"

#include <sqlite3.h>
#include <stdint.h>

/* Schema 3.0.0 (nsys 2022.4) and, beside it, the columns and tables that newer report scripts ask for;
 * docs/reference/exports.md has the list. Columns are always named in inserts: their order is not stable
 * between versions. */
extern const char nsys_schema[];
extern const char nsys_schema_gpu[]; /* only with device rows */
/* Columns that are always NULL: added when all rows are in, so that none carries them (SQLite rewrites no row
 * for a new column). */
extern const char nsys_schema_unused[];

/* Values of eventType, copyKind and memory kinds as nsys writes them (the memory kinds are not CUPTI's: one
 * less). */
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
 */
pp_status nsys_db_open(struct nsys_db *d, const char *path, const char *label, int gpu, struct pp_err *err);
/* Commits, and leaves the file in journal_mode=DELETE: nsys opens it immutable and would not see a log. */
pp_status nsys_db_finish(struct nsys_db *d, struct pp_err *err);
void nsys_db_close(struct nsys_db *d);

pp_status nsys_prepare(struct nsys_db *d, const char *sql, sqlite3_stmt **out, struct pp_err *err);
/* Runs a bound insert and resets it; its bindings stay. */
pp_status nsys_step(struct nsys_db *d, sqlite3_stmt *st, struct pp_err *err);
/* One insert of a plain row. types: i int64_t, s const char * (NULL is NULL), n no argument, NULL. */
pp_status nsys_row(struct nsys_db *d, struct pp_err *err, const char *sql, const char *types, ...);
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

/* Two tables are filled from spans where CUPTI recorded nothing (nsys.c), and from its records (nsys_gpu.c).
 */
#define NSYS_INTO_CALLS \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue) VALUES"
#define NSYS_INTO_COPIES \
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind," \
    " copyCount) VALUES"
#define NSYS_COPY_ROW "(?,?,?,?,?,?,?,?,?,?,?,1)"

/* into: "INSERT INTO TABLE(COLUMNS) VALUES"; row: "(?,?,0)", a ? for each value. */
pp_status nsys_rows_open(struct nsys_db *d, struct nsys_rows *r, const char *into, const char *row,
                         struct pp_err *err);
pp_status nsys_rows_put(struct nsys_db *d, struct nsys_rows *r, const int64_t *values,
                        struct pp_err *err); /* values: r->values of them, copied */
pp_status nsys_rows_flush(struct nsys_db *d, struct nsys_rows *r,
                          struct pp_err *err); /* the last rows, before the commit */
void nsys_rows_close(struct nsys_rows *r);     /* what is pending is gone */

/* A new row of StringIds. */
pp_status nsys_string(struct nsys_db *d, const char *text, uint32_t *id, struct pp_err *err);
/* A row of TARGET_INFO_GPU; name NULL: unknown. */
pp_status nsys_device(struct nsys_db *d, const char *name, uint32_t id, struct pp_err *err);

/* A row of NVTX_EVENTS that names something: ranges go the fast way. */
struct nsys_text_event {
    int64_t start;
    int type, category; /* category 0: none; no phase has this number */
    const char *text;
};
pp_status nsys_text_event(struct nsys_db *d, int64_t global_tid, const struct nsys_text_event *e,
                          struct pp_err *err);
pp_status nsys_name_thread(struct nsys_db *d, int64_t global_tid, const char *name, struct pp_err *err);

/* hw 8 | vm 8 | pid 24 | tid 24 bits; nsys numbers the only virtual machine 1. */
static inline int64_t nsys_global_pid(const struct pp_thread_row *t)
{
    return 1ll << 48 | (int64_t)pp_nsight_pid(t) << 24;
}

static inline int64_t nsys_global_tid(const struct pp_thread_row *t)
{
    return nsys_global_pid(t) | pp_nsight_tid(t);
}

/* The process that device rows belong to: a run drives its device from one. */
static inline int64_t nsys_process(const struct pp_export_run *run)
{
    return run->n_threads ? nsys_global_pid(&run->threads[0]) : 1ll << 48;
}

/* What a damaged recording may hold and SQLite's integers cannot is cut to what they can; one below, since an
 * end may have to be one above its start. */
static inline int64_t nsys_number(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX - 1;
}

/* Since the start of the run: the reports index times in 32-bit floats. */
static inline int64_t nsys_time(const struct pp_export_run *run, uint64_t t_ns)
{
    return nsys_number(t_ns > run->origin_ns ? t_ns - run->origin_ns : 0);
}

#endif
