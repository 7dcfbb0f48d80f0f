#include "probe/storage/fault.h"

#include "probe/base/err.h"

#include <stdlib.h>

struct faulty {
    struct pp_storage base;
    struct pp_storage *inner;
    const struct pp_read_faults *faults;
};

static const struct faulty *faulty_of(const struct pp_storage *s)
{
    return (const struct faulty *)s;
}

/* An object of the wrapper is the inner one with the wrapper as its storage: nothing is allocated. */
static struct pp_object inner_of(const struct pp_object *o)
{
    struct pp_object inner = *o;
    inner.storage = faulty_of(o->storage)->inner;
    return inner;
}

static void faulty_detach(struct pp_storage *s)
{
    pp_storage_detach(faulty_of(s)->inner);
    free(s);
}

static pp_status faulty_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                             const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    struct pp_object in;
    return pp_storage_stat(faulty_of(s)->inner, dir ? (in = inner_of(dir), &in) : NULL, name, attempt, out,
                           err);
}

static pp_status faulty_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                             struct pp_err *err)
{
    struct pp_object in;
    struct pp_open how = *o;
    if (o->dir) {
        in = inner_of(o->dir);
        how.dir = &in;
    }
    pp_status st = pp_storage_open(faulty_of(s)->inner, &how, out, err);
    out->storage = s;
    return st;
}

static void faulty_close(struct pp_object *o)
{
    struct pp_object in = inner_of(o);
    pp_object_close(&in);
}

static pp_status faulty_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                             struct pp_err *err)
{
    struct pp_object in = inner_of(o);
    return pp_object_info(&in, name, out, err);
}

static pp_status faulty_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                             struct pp_err *err)
{
    struct pp_object in = inner_of(dir);
    return pp_object_list(&in, name, each, ctx, err);
}

static pp_status faulty_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                              struct pp_err *err)
{
    return pp_storage_match(faulty_of(s)->inner, pattern, each, ctx, err);
}

/* ---- what is changed ---- */

static pp_status before(const struct pp_storage *s, const struct pp_read *r, struct pp_err *err)
{
    const struct pp_read_faults *f = faulty_of(s)->faults;
    return r->context ? f->before(f->ctx, r->context, err) : PP_OK;
}

static pp_status after(const struct pp_storage *s, struct pp_read *r, pp_status st)
{
    const struct pp_read_faults *f = faulty_of(s)->faults;
    if (st == PP_OK && r->context)
        f->after(f->ctx, r->context, r);
    return st;
}

static pp_status faulty_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = inner_of(o);
    pp_status st = before(o->storage, r, err);
    return st == PP_OK ? after(o->storage, r, pp_object_read_at(&in, r, err)) : st;
}

static pp_status faulty_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = inner_of(o);
    pp_status st = before(o->storage, r, err);
    return st == PP_OK ? after(o->storage, r, pp_object_borrow(&in, r, err)) : st;
}

static pp_status faulty_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                   struct pp_err *err)
{
    struct pp_object in;
    pp_status st = before(s, r, err);
    if (st != PP_OK)
        return st;
    return after(s, r,
                 pp_storage_read_whole(faulty_of(s)->inner, dir ? (in = inner_of(dir), &in) : NULL, r, err));
}

static const struct pp_storage_ops faulty_ops = {
    .name = "faults",
    .help = "faults over another storage",
    .detach = faulty_detach,
    .stat = faulty_stat,
    .open = faulty_open,
    .close = faulty_close,
    .info = faulty_info,
    .read_at = faulty_read_at,
    .borrow = faulty_borrow,
    .read_whole = faulty_read_whole,
    .list = faulty_list,
    .match = faulty_match,
};

pp_status pp_storage_wrap_faults(struct pp_storage *inner, const struct pp_read_faults *f,
                                 struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    if (!f)
        return PP_OK;
    struct faulty *s = malloc(sizeof(*s));
    if (!s) {
        pp_storage_detach(inner);
        *out = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to inject faults into reads");
    }
    *s = (struct faulty){
        .base = {.ops = &faulty_ops,
                 .flags = inner->flags,
                 .request_bytes = inner->request_bytes,
                 .scope = inner->scope},
        .inner = inner,
        .faults = f,
    };
    *out = &s->base;
    return PP_OK;
}
