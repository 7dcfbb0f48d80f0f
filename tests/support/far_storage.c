#include "tests/support/far_storage.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct far *far_of(const struct pp_storage *s)
{
    return (struct far *)s;
}

static uint64_t word_at(unsigned object, int64_t version, uint64_t word)
{
    uint64_t x = (word + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)object << 32) ^ (uint64_t)version;
    x ^= x >> 29;
    return x * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Word by word: sanitizers make single bytes slow. */
static void make_bytes(unsigned object, int64_t version, uint64_t offset, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t word = word_at(object, version, (offset + i) / 8);
        size_t skip = (offset + i) & 7, take = 8 - skip < n - i ? 8 - skip : n - i;
        memcpy(out + i, (uint8_t *)&word + skip, take);
        i += take;
    }
}

int far_is(unsigned object, int64_t version, uint64_t offset, const uint8_t *bytes, size_t n)
{
    uint8_t want[4096];
    for (size_t i = 0; i < n; i += sizeof(want)) {
        size_t size = n - i < sizeof(want) ? n - i : sizeof(want);
        make_bytes(object, version, offset + i, want, size);
        if (memcmp(bytes + i, want, size) != 0)
            return 0;
    }
    return 1;
}

static int number_of(const char *name)
{
    unsigned n;
    return sscanf(name, "obj-%u", &n) == 1 && n < FAR_OBJECTS ? (int)n : -1;
}

static pp_status tell(const struct far *f, int n, const char *name, struct pp_place_info *out,
                      struct pp_err *err)
{
    if (n < 0)
        return pp_fail(err, PP_E_NOT_FOUND, "no object is called %s", name);
    *out = (struct pp_place_info){.kind = PP_PLACE_OBJECT, .size = f->size[n], .version = f->version[n]};
    return PP_OK;
}

static pp_status far_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    __atomic_add_fetch(&far_of(s)->stats, 1, __ATOMIC_RELAXED);
    return tell(far_of(s), number_of(name), name, out, err);
}

static pp_status far_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err)
{
    out->handle = number_of(o->name);
    return o->how & PP_OPEN_DIRECTORY || out->handle >= 0
               ? PP_OK
               : pp_fail(err, PP_E_NOT_FOUND, "no object is called %s", o->name);
}

static void far_close(struct pp_object *o)
{
}

static pp_status far_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                          struct pp_err *err)
{
    return tell(far_of(o->storage), (int)o->handle, name, out, err);
}

static void fill(struct far *f, unsigned object, uint64_t offset, uint8_t *out, size_t n)
{
    __atomic_add_fetch(&f->reads, 1, __ATOMIC_RELAXED);
    if (f->delay_us)
        usleep(f->delay_us);
    make_bytes(object, f->version[object], offset, out, n);
}

static pp_status far_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct far *f = far_of(o->storage);
    uint64_t size = f->size[o->handle];
    r->got = r->offset >= size ? 0 : size - r->offset < r->size ? (size_t)(size - r->offset) : r->size;
    fill(f, (unsigned)o->handle, r->offset, r->buf, r->got);
    r->data = r->buf;
    return PP_OK;
}

static pp_status far_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                struct pp_err *err)
{
    struct far *f = far_of(s);
    int n = number_of(r->name);
    struct pp_place_info info = {0};
    pp_status st = tell(f, n, r->name, &info, err);
    if (st == PP_OK && r->limit && info.size > r->limit)
        st = pp_read_fail_limit(r, info.size, err);
    if (st == PP_OK)
        st = pp_read_reserve(r, (size_t)info.size, err);
    if (st != PP_OK)
        return st;
    fill(f, (unsigned)n, 0, r->buf, (size_t)info.size);
    r->got = (size_t)info.size;
    r->data = r->buf;
    r->version = f->base.request_bytes ? info.version : 0;
    return PP_OK;
}

static void far_detach(struct pp_storage *s)
{
}

static const struct pp_storage_ops far_ops = {
    .name = "far",
    .detach = far_detach,
    .stat = far_stat,
    .open = far_open,
    .close = far_close,
    .info = far_info,
    .read_at = far_read_at,
    .read_whole = far_read_whole,
};

void far_begin(struct far *f, uint64_t size)
{
    *f = (struct far){.base = {.ops = &far_ops, .request_bytes = PP_REQUEST_BYTES}};
    for (int i = 0; i < FAR_OBJECTS; i++) {
        f->size[i] = size;
        f->version[i] = 1;
    }
}
