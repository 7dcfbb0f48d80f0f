#include "tests/support/counted_storage.h"

#include "probe/base/err.h"

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
    struct pp_object in;
    if (dir)
        in = pp_inner_object(dir);
    return pp_storage_stat(s->inner, dir ? &in : NULL, path_of(name), attempt, out, err);
}

static pp_status counted_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                              struct pp_err *err)
{
    struct pp_open how = *o;
    struct pp_object in;
    if (o->dir)
        in = pp_inner_object(o->dir), how.dir = &in;
    how.name = path_of(o->name);
    pp_status st = pp_storage_open(s->inner, &how, out, err);
    out->storage = s;
    return st;
}

static pp_status counted_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_inner_object(o);
    __atomic_add_fetch(&counted_reads, 1, __ATOMIC_RELAXED);
    return pp_object_read_at(&in, r, err);
}

static pp_status counted_read_whole(const struct pp_storage *s, const struct pp_object *dir,
                                    struct pp_read *r, struct pp_err *err)
{
    const char *name = r->name;
    __atomic_add_fetch(&counted_reads, 1, __ATOMIC_RELAXED);
    r->name = path_of(name);
    pp_status st = pp_inner_read_whole(s, dir, r, err);
    r->name = name;
    return st;
}

static const struct pp_storage_ops counted_ops = {.name = "counted",
                                                  .help = "files, with each read counted",
                                                  .accepts = counted_accepts,
                                                  .attach = counted_attach,
                                                  .stat = counted_stat,
                                                  .open = counted_open,
                                                  .read_at = counted_read_at,
                                                  .read_whole = counted_read_whole};

static pp_status counted_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    struct pp_storage *s = calloc(1, sizeof(*s));
    pp_status st = s ? pp_storage_attach("/", &s->inner, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (st != PP_OK) {
        free(s);
        return st;
    }
    s->ops = &counted_ops;
    s->request_bytes = PP_REQUEST_BYTES;
    *out = s;
    return PP_OK;
}

void counted_register(void)
{
    if (pp_storage_register(&counted_ops) != 0)
        abort();
}
