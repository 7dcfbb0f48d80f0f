/* store/bind.h: values into the parameters of a statement. Private to collectors/store. */
#ifndef PP_STORE_BIND_H
#define PP_STORE_BIND_H

#include <sqlite3.h>
#include <stdint.h>

/* The text lives in the caller until the statement was stepped. NULL is NULL. */
static inline void pp_bind_text(sqlite3_stmt *st, int i, const char *text)
{
    sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC);
}

static inline void pp_bind_uint(sqlite3_stmt *st, int i, uint64_t v)
{
    sqlite3_bind_int64(st, i, (sqlite3_int64)v);
}

/* NULL unless it is there. */
static inline void pp_bind_if(sqlite3_stmt *st, int i, int there, uint64_t v)
{
    if (there)
        pp_bind_uint(st, i, v);
    else
        sqlite3_bind_null(st, i);
}

static inline void pp_bind_unless(sqlite3_stmt *st, int i, uint64_t v, uint64_t none)
{
    pp_bind_if(st, i, v != none, v);
}

#endif
