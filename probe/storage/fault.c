#include "probe/storage/fault.h"

#include "probe/base/err.h"

struct faulty {
    struct pp_storage base;
    const struct pp_read_faults *faults;
};

typedef pp_status read_fn(const struct pp_object *o, struct pp_read *r, struct pp_err *err);

/* read NULL: of a whole object, in the directory o. */
static pp_status faulty_read(const struct pp_storage *s, const struct pp_object *o, read_fn *read,
                             struct pp_read *r, struct pp_err *err)
{
    const struct pp_read_faults *f = ((const struct faulty *)s)->faults;
    pp_status st = r->context ? f->before(f->ctx, r->context, err) : PP_OK;
    if (st == PP_OK && read) {
        struct pp_object in = pp_inner_object(o);
        st = read(&in, r, err);
    } else if (st == PP_OK) {
        st = pp_inner_read_whole(s, o, r, err);
    }
    if (st == PP_OK && r->context)
        f->after(f->ctx, r->context, r);
    return st;
}

static pp_status faulty_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    return faulty_read(o->storage, o, pp_object_read_at, r, err);
}

static pp_status faulty_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    return faulty_read(o->storage, o, pp_object_borrow, r, err);
}

static pp_status faulty_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                   struct pp_err *err)
{
    return faulty_read(s, dir, NULL, r, err);
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
