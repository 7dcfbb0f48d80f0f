/* store/row.h: a row of values for the parameters of an SQLite statement. For collectors/store, and for who
 * else writes SQLite files.
 *
 *     pp_row_bind(st, PP_ROW(v_int(id), v_text(name), v_unless(batch, PP_NO_BATCH)));  */
#pragma once

#include "probe/base/std.h"

#include <sqlite3.h>

/* Texts and blobs live in the caller until the statement was stepped. */
struct pp_value {
    enum { PP_VALUE_NULL, PP_VALUE_INT, PP_VALUE_REAL, PP_VALUE_TEXT, PP_VALUE_BLOB } kind;
    sqlite3_int64 number;
    double real;
    const void *at;
    size_t bytes;
};

#define PP_ROW(...) \
    (const struct pp_value[]){__VA_ARGS__}, \
        (int)(sizeof((const struct pp_value[]){__VA_ARGS__}) / sizeof(struct pp_value))

/* Unsigned numbers are stored as SQLite's signed ones. */
static inline struct pp_value v_int(uint64_t v)
{
    return (struct pp_value){.kind = PP_VALUE_INT, .number = (sqlite3_int64)v};
}

/* NULL unless it is there. */
static inline struct pp_value v_if(int there, uint64_t v)
{
    return there ? v_int(v) : (struct pp_value){.kind = PP_VALUE_NULL};
}

static inline struct pp_value v_unless(uint64_t v, uint64_t none)
{
    return v_if(v != none, v);
}

/* NAN is NULL. */
static inline struct pp_value v_real(double v)
{
    return (struct pp_value){.kind = isnan(v) ? PP_VALUE_NULL : PP_VALUE_REAL, .real = v};
}

/* NULL is NULL. */
static inline struct pp_value v_text(const char *text)
{
    return (struct pp_value){.kind = PP_VALUE_TEXT, .at = text};
}

static inline struct pp_value v_blob(const void *at, size_t bytes)
{
    return (struct pp_value){.kind = PP_VALUE_BLOB, .at = at, .bytes = bytes};
}

static inline void pp_row_bind(sqlite3_stmt *st, const struct pp_value *v, int n)
{
    for (int i = 0; i < n; i++) {
        switch (v[i].kind) {
        case PP_VALUE_NULL: sqlite3_bind_null(st, i + 1); break;
        case PP_VALUE_INT: sqlite3_bind_int64(st, i + 1, v[i].number); break;
        case PP_VALUE_REAL: sqlite3_bind_double(st, i + 1, v[i].real); break;
        case PP_VALUE_TEXT: sqlite3_bind_text(st, i + 1, v[i].at, -1, SQLITE_STATIC); break;
        case PP_VALUE_BLOB: sqlite3_bind_blob64(st, i + 1, v[i].at, v[i].bytes, SQLITE_STATIC); break;
        }
    }
}
