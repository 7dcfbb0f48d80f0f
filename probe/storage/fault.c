#include "probe/storage/fault.h"

#include "probe/base/err.h"
#include "probe/storage/wrap.h"

#include <stdlib.h>

struct faulty {
    struct pp_wrapper wrap;
    const struct pp_read_faults *faults;
};

static const struct faulty *faulty_of(const struct pp_storage *s)
{
    return (const struct faulty *)s;
}

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
    struct pp_object in = pp_wrapped_object(o);
    pp_status st = before(o->storage, r, err);
    return st == PP_OK ? after(o->storage, r, pp_object_read_at(&in, r, err)) : st;
}

static pp_status faulty_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_wrapped_object(o);
    pp_status st = before(o->storage, r, err);
    return st == PP_OK ? after(o->storage, r, pp_object_borrow(&in, r, err)) : st;
}

static pp_status faulty_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                   struct pp_err *err)
{
    pp_status st = before(s, r, err);
    return st == PP_OK ? after(s, r, pp_wrapped_read_whole(s, dir, r, err)) : st;
}

static const struct pp_storage_ops faulty_ops = {
    .name = "faults",
    .help = "faults over another storage",
    .detach = pp_wrapped_detach,
    .stat = pp_wrapped_stat,
    .open = pp_wrapped_open,
    .close = pp_wrapped_close,
    .info = pp_wrapped_info,
    .read_at = faulty_read_at,
    .borrow = faulty_borrow,
    .read_whole = faulty_read_whole,
    .list = pp_wrapped_list,
    .match = pp_wrapped_match,
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
        .wrap = {.base = {.ops = &faulty_ops,
                          .flags = inner->flags,
                          .request_bytes = inner->request_bytes,
                          .scope = inner->scope},
                 .inner = inner},
        .faults = f,
    };
    *out = &s->wrap.base;
    return PP_OK;
}
