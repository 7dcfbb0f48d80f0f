#include "report/export/nsys.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

static pp_status no_memory(const struct nsys_db *d, struct pp_err *err)
{
    return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", d->label);
}

static pp_status prepare(struct nsys_db *d, const char *into, const char *row, int rows, sqlite3_stmt **out,
                         struct pp_err *err)
{
    char *sql = malloc(strlen(into) + (size_t)rows * (strlen(row) + 1) + 1);
    if (!sql)
        return no_memory(d, err);
    char *at = stpcpy(sql, into);
    for (int i = 0; i < rows; i++)
        at = stpcpy(stpcpy(at, i ? "," : ""), row);
    pp_status st = nsys_prepare(d, sql, out, err);
    free(sql);
    return st;
}

pp_status nsys_rows_open(struct nsys_db *d, struct nsys_rows *r, const char *into, const char *row,
                         struct pp_err *err)
{
    pp_status st = prepare(d, into, row, NSYS_ROWS, &r->many, err);
    if (st == PP_OK)
        st = prepare(d, into, row, 1, &r->one, err);
    if (st != PP_OK)
        return st;
    r->values = sqlite3_bind_parameter_count(r->one);
    r->pending = malloc(NSYS_ROWS * (size_t)r->values * sizeof(*r->pending));
    return r->pending ? PP_OK : no_memory(d, err);
}

static void bind(sqlite3_stmt *st, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i] == NSYS_NULL)
            sqlite3_bind_null(st, i + 1);
        else
            sqlite3_bind_int64(st, i + 1, values[i]);
}

pp_status nsys_rows_put(struct nsys_db *d, struct nsys_rows *r, const int64_t *values, struct pp_err *err)
{
    memcpy(r->pending + (ptrdiff_t)r->n * r->values, values, (size_t)r->values * sizeof(*values));
    if (++r->n < NSYS_ROWS)
        return PP_OK;
    bind(r->many, r->pending, NSYS_ROWS * r->values);
    r->n = 0;
    return nsys_step(d, r->many, err);
}

pp_status nsys_rows_flush(struct nsys_db *d, struct nsys_rows *r, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (int i = 0; i < r->n && st == PP_OK; i++) {
        bind(r->one, r->pending + (ptrdiff_t)i * r->values, r->values);
        st = nsys_step(d, r->one, err);
    }
    r->n = 0;
    return st;
}

void nsys_rows_close(struct nsys_rows *r)
{
    sqlite3_finalize(r->many);
    sqlite3_finalize(r->one);
    free(r->pending);
    *r = (struct nsys_rows){0};
}
