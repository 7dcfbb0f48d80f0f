#include "probe/storage/fault.h"

#include "probe/base/err.h"

struct faulty {
    struct pp_storage base;
    const struct pp_read_faults *faults;
};

static pp_status faulty_before(const struct pp_storage *s, const struct pp_read *r, struct pp_err *err)
{
    const struct pp_read_faults *f = ((const struct faulty *)s)->faults;
    return r->context ? f->before(f->ctx, r->context, err) : PP_OK;
}

static pp_status faulty_after(const struct pp_storage *s, struct pp_read *r, pp_status st)
{
    const struct pp_read_faults *f = ((const struct faulty *)s)->faults;
    if (st == PP_OK && r->context)
        f->after(f->ctx, r->context, r);
    return st;
}

static pp_status faulty_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_inner_object(o);
    pp_status st = faulty_before(o->storage, r, err);
    return st == PP_OK ? faulty_after(o->storage, r, pp_object_read_at(&in, r, err)) : st;
}

static pp_status faulty_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_inner_object(o);
    pp_status st = faulty_before(o->storage, r, err);
    return st == PP_OK ? faulty_after(o->storage, r, pp_object_borrow(&in, r, err)) : st;
}

static pp_status faulty_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                   struct pp_err *err)
{
    pp_status st = faulty_before(s, r, err);
    return st == PP_OK ? faulty_after(s, r, pp_inner_read_whole(s, dir, r, err)) : st;
}

static const struct pp_storage_ops faulty_ops = {
    .name = "faults",
    .help = "faults over another storage",
    .read_at = faulty_read_at,
    .borrow = faulty_borrow,
    .read_whole = faulty_read_whole,
};

pp_status pp_storage_wrap_faults(struct pp_storage *inner, const struct pp_read_faults *f,
                                 struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    if (!f)
        return PP_OK;
    struct faulty *s = malloc(sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to inject faults into reads");
    *s = (struct faulty){.base = *inner, .faults = f};
    s->base.ops = &faulty_ops;
    s->base.inner = inner;
    *out = &s->base;
    return PP_OK;
}
