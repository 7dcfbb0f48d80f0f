#include "probe/storage/model.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/net/http.h"
#include "probe/storage/request_log.h"
#include "probe/storage/wrap.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 100000000u /* how often a long wait looks whether the run is interrupted */

static const struct pp_storage_model models[] = {
    {"s3", 30, 150, 80e6, "first byte p50 30 ms, p99 150 ms; 80 MB/s per connection"},
    {"s3-express", 4, 12, 80e6, "first byte p50 4 ms, p99 12 ms; 80 MB/s per connection"},
    {"nfs", 1, 10, 500e6, "first byte p50 1 ms, p99 10 ms; 500 MB/s per read"},
    {"lustre", 0.8, 10, 1e9, "first byte p50 0.8 ms, p99 10 ms; 1 GB/s per read"},
    {"aistore", 1.5, 10, 500e6, "first byte p50 1.5 ms, p99 10 ms; 500 MB/s per connection"},
};

const struct pp_storage_model *pp_storage_model_at(size_t i)
{
    return i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

/* Box and Muller's normal deviate; the 99th percentile lies 2.326 standard deviations above the median. */
double pp_storage_model_first_ns(const struct pp_storage_model *m, uint64_t draw)
{
    struct pp_rng rng = pp_rng_key(draw, 0, 0, 41);
    double u = 1 - pp_rng_unit(&rng), v = pp_rng_unit(&rng);
    double z = sqrt(-2 * log(u)) * cos(2 * M_PI * v), sigma = log(m->first_p99_ms / m->first_p50_ms) / 2.326;
    return m->first_p50_ms * 1e6 * exp(sigma * z);
}

struct modelled {
    struct pp_wrapper wrap;
    const struct pp_storage_model *model;
    char address[PP_HTTP_ADDRESS];
    atomic_uint_least64_t reads; /* that are for no sample */
};

static struct modelled *modelled_of(const struct pp_storage *s)
{
    return (struct modelled *)s;
}

/* ---- the time of a request ---- */

static pp_status wait_until(uint64_t ends, struct pp_err *err)
{
    for (uint64_t now; (now = pp_now_ns()) < ends;) {
        if (pp_http_is_interrupted())
            return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
        pp_sleep_until_ns(ends - now > LOOK_NS ? now + LOOK_NS : ends);
    }
    return PP_OK;
}

static uint64_t draw_of(struct modelled *m, const struct pp_read *r)
{
    const struct pp_read_context *c = r->context;
    return c ? pp_mix64(c->sample * 0x9e3779b97f4a7c15u + c->epoch * 977 + (uint64_t)c->attempt)
             : atomic_fetch_add_explicit(&m->reads, 1, memory_order_relaxed);
}

/* begins: it is a range, from the first byte on */
static void note(const struct modelled *m, const struct pp_read *r, int begins, uint64_t began,
                 uint64_t first_ns, uint64_t cpu)
{
    uint64_t all = pp_now_ns() - began, transfer = all > first_ns ? all - first_ns : 0;
    pp_request_log_add(&(struct pp_request){.start_ns = began,
                                            .first_byte_ns = first_ns,
                                            .transfer_ns = transfer,
                                            .cpu_ns = pp_thread_cpu_ns() - cpu,
                                            .bytes = r->got,
                                            .sample = r->context ? r->context->sample : UINT64_MAX,
                                            .epoch = r->context ? r->context->epoch : UINT64_MAX,
                                            .status = 200,
                                            .attempt = r->context ? r->context->attempt : 0,
                                            .flags = PP_REQUEST_MODEL | (begins ? PP_REQUEST_BEGINS : 0u)},
                       m->address, r->name);
}

/* The first byte comes, then the bytes are read, and then as long as a connection would take for them. */
static pp_status begin(struct modelled *m, const struct pp_read *r, uint64_t *began, uint64_t *first_ns,
                       struct pp_err *err)
{
    *began = pp_now_ns();
    pp_status st = wait_until(*began + (uint64_t)pp_storage_model_first_ns(m->model, draw_of(m, r)), err);
    *first_ns = pp_now_ns() - *began;
    return st;
}

static pp_status end(const struct modelled *m, struct pp_read *r, uint64_t began, uint64_t first_ns,
                     struct pp_err *err)
{
    r->cache_known = 0;
    r->cache_hit_bytes = 0;
    return wait_until(began + first_ns + (uint64_t)((double)r->got / m->model->bytes_per_s * 1e9), err);
}

static pp_status model_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct modelled *m = modelled_of(o->storage);
    struct pp_object in = pp_wrapped_object(o);
    uint64_t began, first_ns, cpu = pp_thread_cpu_ns();
    pp_status st = begin(m, r, &began, &first_ns, err);
    if (st == PP_OK)
        st = pp_object_read_at(&in, r, err);
    if (st == PP_OK)
        st = end(m, r, began, first_ns, err);
    if (st == PP_OK)
        note(m, r, r->offset == 0, began, first_ns, cpu);
    return st;
}

/* What a store's answer says of the object; version 0: nothing. */
static struct pp_place_info ask(const struct pp_storage *s, const struct pp_object *dir, const char *name)
{
    struct pp_place_info info;
    return pp_wrapped_stat(s, dir, name, "read", &info, NULL) == PP_OK ? info : (struct pp_place_info){0};
}

/* The version is that of the bytes, unless the file changed while they were read. */
static pp_status model_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                  struct pp_err *err)
{
    struct modelled *m = modelled_of(s);
    uint64_t began, first_ns, cpu = pp_thread_cpu_ns();
    struct pp_place_info info = ask(s, dir, r->name);
    pp_status st = begin(m, r, &began, &first_ns, err);
    if (st == PP_OK)
        st = pp_wrapped_read_whole(s, dir, r, err);
    if (st == PP_OK) {
        r->version = ask(s, dir, r->name).version == info.version ? info.version : 0;
        memcpy(r->id, info.id, sizeof(r->id));
        st = end(m, r, began, first_ns, err);
    }
    if (st == PP_OK)
        note(m, r, 0, began, first_ns, cpu);
    return st;
}

static const struct pp_storage_ops model_ops = {
    .name = "model",
    .help = "the time that another kind of storage would take, over one that is there",
    .detach = pp_wrapped_detach,
    .stat = pp_wrapped_stat,
    .open = pp_wrapped_open,
    .close = pp_wrapped_close,
    .info = pp_wrapped_info,
    .read_at = model_read_at,
    .read_whole = model_read_whole,
    .list = pp_wrapped_list,
    .match = pp_wrapped_match,
};

pp_status pp_storage_wrap_model(struct pp_storage *inner, const struct pp_storage_model *m,
                                struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    if (!m)
        return PP_OK;
    pp_status st = inner->request_bytes ? PP_E_USAGE : PP_OK;
    struct modelled *s = st == PP_OK ? calloc(1, sizeof(*s)) : NULL;
    if (!s) {
        pp_storage_detach(inner);
        *out = NULL;
        if (st != PP_OK)
            return pp_fail(err, st,
                           "--like %s is for local data, and these are behind requests already; leave it out",
                           m->name);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to model a storage");
    }
    unsigned without = PP_STORAGE_PAGE_CACHE | PP_STORAGE_BORROWS;
    s->wrap = (struct pp_wrapper){.base = {.ops = &model_ops,
                                           .flags = inner->flags & ~without,
                                           .request_bytes = PP_REQUEST_BYTES,
                                           .scope = inner->scope},
                                  .inner = inner};
    s->model = m;
    snprintf(s->address, sizeof(s->address), "model:%s", m->name);
    *out = &s->wrap.base;
    return PP_OK;
}
