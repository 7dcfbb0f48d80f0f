#include "tests/support/counted_storage.h"

#include "probe/base/err.h"
#include "probe/storage/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "counted:"

int counted_reads, counted_stats;

static const char *path_of(const char *name)
{
    return strncmp(name, SCHEME, strlen(SCHEME)) == 0 ? name + strlen(SCHEME) : name;
}

const char *counted_name(const char *path)
{
    static char name[512];
    snprintf(name, sizeof(name), SCHEME "%s", path);
    return name;
}

static int counted_accepts(const char *place)
{
    return path_of(place) != place ? 100 : 0;
}

static pp_status counted_attach(const char *place, struct pp_storage **out, struct pp_err *err);

static pp_status counted_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                              const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    __atomic_add_fetch(&counted_stats, 1, __ATOMIC_RELAXED);
    return pp_wrapped_stat(s, dir, path_of(name), attempt, out, err);
}

static pp_status counted_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                              struct pp_err *err)
{
    struct pp_open how = *o;
    how.name = path_of(o->name);
    return pp_wrapped_open(s, &how, out, err);
}

static pp_status counted_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_wrapped_object(o);
    __atomic_add_fetch(&counted_reads, 1, __ATOMIC_RELAXED);
    return pp_object_read_at(&in, r, err);
}

static pp_status counted_read_whole(const struct pp_storage *s, const struct pp_object *dir,
                                    struct pp_read *r, struct pp_err *err)
{
    const char *name = r->name;
    __atomic_add_fetch(&counted_reads, 1, __ATOMIC_RELAXED);
    r->name = path_of(name);
    pp_status st = pp_wrapped_read_whole(s, dir, r, err);
    r->name = name;
    return st;
}

static const struct pp_storage_ops counted_ops = {.name = "counted",
                                                  .help = "files, with each read counted",
                                                  .accepts = counted_accepts,
                                                  .attach = counted_attach,
                                                  .detach = pp_wrapped_detach,
                                                  .stat = counted_stat,
                                                  .open = counted_open,
                                                  .close = pp_wrapped_close,
                                                  .info = pp_wrapped_info,
                                                  .read_at = counted_read_at,
                                                  .read_whole = counted_read_whole,
                                                  .list = pp_wrapped_list};

static pp_status counted_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    struct pp_wrapper *w = calloc(1, sizeof(*w));
    pp_status st = w ? pp_storage_attach("/", &w->inner, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (st != PP_OK) {
        free(w);
        return st;
    }
    w->base = (struct pp_storage){.ops = &counted_ops, .request_bytes = PP_REQUEST_BYTES};
    *out = &w->base;
    return PP_OK;
}

void counted_register(void)
{
    if (pp_storage_register(&counted_ops) != 0)
        abort();
}
