#include "probe/storage/wrap.h"

#include <stdlib.h>

static struct pp_storage *inner_storage(const struct pp_storage *s)
{
    return ((const struct pp_wrapper *)s)->inner;
}

struct pp_object pp_wrapped_object(const struct pp_object *o)
{
    struct pp_object inner = *o;
    inner.storage = inner_storage(o->storage);
    return inner;
}

void pp_wrapped_detach(struct pp_storage *s)
{
    pp_storage_detach(inner_storage(s));
    free(s);
}

pp_status pp_wrapped_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    struct pp_object in;
    return pp_storage_stat(inner_storage(s), dir ? (in = pp_wrapped_object(dir), &in) : NULL, name, attempt,
                           out, err);
}

pp_status pp_wrapped_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err)
{
    struct pp_object in;
    struct pp_open how = *o;
    if (o->dir) {
        in = pp_wrapped_object(o->dir);
        how.dir = &in;
    }
    pp_status st = pp_storage_open(inner_storage(s), &how, out, err);
    out->storage = s;
    return st;
}

void pp_wrapped_close(struct pp_object *o)
{
    struct pp_object in = pp_wrapped_object(o);
    pp_object_close(&in);
}

pp_status pp_wrapped_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                          struct pp_err *err)
{
    struct pp_object in = pp_wrapped_object(o);
    return pp_object_info(&in, name, out, err);
}

pp_status pp_wrapped_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                          struct pp_err *err)
{
    struct pp_object in = pp_wrapped_object(dir);
    return pp_object_list(&in, name, each, ctx, err);
}

pp_status pp_wrapped_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                           struct pp_err *err)
{
    return pp_storage_match(inner_storage(s), pattern, each, ctx, err);
}

pp_status pp_wrapped_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                struct pp_err *err)
{
    struct pp_object in;
    return pp_storage_read_whole(inner_storage(s), dir ? (in = pp_wrapped_object(dir), &in) : NULL, r, err);
}
