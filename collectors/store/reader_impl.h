/* store/reader_impl.h: the reader behind reader.h, shared by the files that open it and tell what the
 * recording says of itself (reader.c), walk its spans and their roll-up (reader_spans.c), and list its other
 * rows (reader_rows.c). */
#pragma once

#include "collectors/store/db.h"
#include "collectors/store/reader.h"
#include "collectors/store/row.h"

#include "probe/base/allowance.h"
#include "probe/base/clock.h"
#include "probe/base/text.h"

#include <pipeprobe/ring.h>

struct pp_reader {
    sqlite3 *db;
    char *path;
    uint64_t busy_since_ns;                      /* while it waits for a writer */
    uint64_t bytes;                              /* of the file */
    uint64_t cpu_ns;                             /* when PP_ALLOWED_CPU was looked at */
    struct pp_allowance may[PP_ALLOWED_CPU + 1]; /* by kind: what the query that runs may still cost */
    int spent;                                   /* a query cost too much: there will be no other */
    struct pp_err as_it_stands;                  /* code not PP_OK: what was left alone beside the file */
    struct pp_chunk_codec *codec;
    void *kept;                     /* strings that were handed out: a tree of search.h */
    struct reader_threads *threads; /* rows that were handed out */
    struct pp_missing missing;      /* spans that still wait in ring files */
    struct pp_err unread;           /* code not PP_OK: the first answer that a damaged page cut off unsaid */
};

/* A query failed with this code of SQLite's, or was ended (SQLITE_INTERRUPT) because it cost too much. */
pp_status reader_fail(struct pp_reader *r, int code, struct pp_err *err);

/* For a query that begins. */
void reader_allow(struct pp_reader *r);

/* Numbers that say which thread a row belongs to; rows with other numbers are left out. */
static inline int pp_thread_id_is_sound(uint64_t id)
{
    return id < PP_THREADS_MAX;
}

/* One query from prepare to finalise: query_row until it is 0, then query_end, which tells an error of SQLite
 * from the end. Where preparing failed, st is NULL and there is no row. */
#define QUERY_COLUMNS 16
struct query {
    struct pp_reader *r;
    sqlite3_stmt *st;
    int code;
    char *plain[QUERY_COLUMNS]; /* texts of the row that are not handed out as they are */
};

static inline struct query reader_query(struct pp_reader *r, const char *sql)
{
    struct query q = {.r = r, .code = SQLITE_INTERRUPT};
    if (r->spent)
        return q;
    reader_allow(r);
    q.code = sqlite3_prepare_v2(r->db, sql, -1, &q.st, NULL);
    return q;
}

/* With these parameters: PP_ROW(...). */
static inline struct query reader_query_of(struct pp_reader *r, const char *sql, const struct pp_value *v,
                                           int n)
{
    struct query q = reader_query(r, sql);
    if (q.st)
        pp_row_bind(q.st, v, n);
    return q;
}

static inline void query_forget_row(struct query *q)
{
    for (int i = 0; i < QUERY_COLUMNS; i++) {
        free(q->plain[i]);
        q->plain[i] = NULL;
    }
}

static inline int query_row(struct query *q)
{
    query_forget_row(q);
    if (q->code == SQLITE_OK || q->code == SQLITE_ROW)
        q->code = sqlite3_step(q->st);
    return q->code == SQLITE_ROW;
}

static inline pp_status query_end(struct query *q, struct pp_err *err)
{
    q->r->spent |= q->code == SQLITE_INTERRUPT;
    pp_status status = q->code == SQLITE_DONE || q->code == SQLITE_ROW
                           ? PP_OK
                           : reader_fail(q->r, q->code & 0xff, err);
    query_forget_row(q);
    sqlite3_finalize(q->st);
    return status;
}

/* Ends a query whose rows have more bytes than the file: they share pages. */
static inline void query_fetched(struct query *q, int i)
{
    if (!pp_allowance_take(&q->r->may[PP_ALLOWED_TEXTS], (uint64_t)sqlite3_column_bytes(q->st, i)))
        q->code = SQLITE_INTERRUPT;
}

/* A file from before a table has none of it. */
static inline int reader_has_table(struct pp_reader *r, const char *name, pp_status *status,
                                   struct pp_err *err)
{
    struct query known = reader_query_of(r, "SELECT 1 FROM sqlite_master WHERE name = ?",
                                         PP_ROW(v_text(name)));
    int there = query_row(&known);
    *status = query_end(&known, err);
    return there;
}

/* Of a table that a file from before it has not: then of no row. */
static inline struct query reader_query_if(struct pp_reader *r, const char *table, const char *sql)
{
    struct query known = reader_query_of(r, "SELECT 1 FROM sqlite_master WHERE name = ?",
                                         PP_ROW(v_text(table)));
    if (!query_row(&known))
        return known;
    (void)query_end(&known, NULL);
    return reader_query(r, sql);
}

/* ---- columns of the row ---- */

/* A file may come from anywhere: its texts are made safe to print here (base/text.h). */
static inline const char *col_text_or_null(struct query *q, int i)
{
    const char *t = (const char *)sqlite3_column_text(q->st, i);
    query_fetched(q, i);
    if (!t || pp_text_is_plain(t))
        return t;
    free(q->plain[i]);
    return q->plain[i] = pp_text_plain(t);
}

static inline const char *col_text(struct query *q, int i)
{
    const char *t = col_text_or_null(q, i);
    return t ? t : "";
}

static inline uint64_t col_num(const struct query *q, int i)
{
    return (uint64_t)sqlite3_column_int64(q->st, i);
}

static inline uint64_t col_num_or(const struct query *q, int i, uint64_t none)
{
    return sqlite3_column_type(q->st, i) == SQLITE_NULL ? none : col_num(q, i);
}

static inline uint32_t col_id_or_none(const struct query *q, int i)
{
    return (uint32_t)col_num_or(q, i, UINT32_MAX);
}

static inline int col_int_or_absent(const struct query *q, int i)
{
    return sqlite3_column_type(q->st, i) == SQLITE_NULL ? -1 : sqlite3_column_int(q->st, i);
}

static inline int col_is_number(const struct query *q, int i)
{
    int type = sqlite3_column_type(q->st, i);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static inline double col_number_or_nan(const struct query *q, int i)
{
    return col_is_number(q, i) ? sqlite3_column_double(q->st, i) : NAN;
}
