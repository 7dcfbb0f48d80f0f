#include "probe/storage/model.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/storage/request_log.h"

#define LOOK_NS 100000000u /* how often a long wait looks whether the run is interrupted */

const struct pp_storage_model pp_storage_models[] = {
    {"s3", 30, 150, 80e6, "first byte p50 30 ms, p99 150 ms; 80 MB/s per connection"},
    {"s3-express", 4, 12, 80e6, "first byte p50 4 ms, p99 12 ms; 80 MB/s per connection"},
    {"nfs", 1, 10, 500e6, "first byte p50 1 ms, p99 10 ms; 500 MB/s per read"},
    {"lustre", 0.8, 10, 1e9, "first byte p50 0.8 ms, p99 10 ms; 1 GB/s per read"},
    {"aistore", 1.5, 10, 500e6, "first byte p50 1.5 ms, p99 10 ms; 500 MB/s per connection"},
    {.name = NULL},
};

/* Box and Muller's normal deviate; the 99th percentile lies 2.326 standard deviations above the median. */
double pp_storage_model_first_ns(const struct pp_storage_model *m, uint64_t draw)
{
    struct pp_rng rng = pp_rng_key(draw, 0, 0, 41);
    double u = 1 - pp_rng_unit(&rng), v = pp_rng_unit(&rng);
    double z = sqrt(-2 * log(u)) * cos(2 * M_PI * v), sigma = log(m->first_p99_ms / m->first_p50_ms) / 2.326;
    return m->first_p50_ms * 1e6 * exp(sigma * z);
}

struct modelled {
    struct pp_storage base;
    const struct pp_storage_model *model;
    char address[PP_HTTP_ADDRESS];
    atomic_uint_least64_t reads; /* that are for no sample */
};

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

/* A read with the time of a request: the first byte comes, then the bytes are read, and then as long passes
 * as a connection would take for them. */
struct request {
    struct modelled *m;
    uint64_t began, first_ns, cpu_ns;
};

static pp_status begin_request(struct request *q, const struct pp_storage *s, const struct pp_read *r,
                               struct pp_err *err)
{
    const struct pp_read_context *c = r->context;
    struct modelled *m = (struct modelled *)s;
    *q = (struct request){.m = m, .began = pp_now_ns(), .cpu_ns = pp_thread_cpu_ns()};
    uint64_t draw = c ? pp_mix64(c->sample * 0x9e3779b97f4a7c15u + c->epoch * 977 + (uint64_t)c->attempt)
                      : atomic_fetch_add_explicit(&m->reads, 1, memory_order_relaxed);
    pp_status st = wait_until(q->began + (uint64_t)pp_storage_model_first_ns(m->model, draw), err);
    q->first_ns = pp_now_ns() - q->began;
    return st;
}

/* flags: PP_REQUEST_BEGINS for a range from the first byte on */
static pp_status end_request(const struct request *q, struct pp_read *r, unsigned flags, struct pp_err *err)
{
    struct pp_request log = pp_request_for(r->context);
    r->cache_known = 0;
    r->cache_hit_bytes = 0;
    pp_status st = wait_until(q->began + q->first_ns +
                                  (uint64_t)((double)r->got / q->m->model->bytes_per_s * 1e9),
                              err);
    if (st != PP_OK)
        return st;
    uint64_t all = pp_now_ns() - q->began;
    log.start_ns = q->began;
    log.first_byte_ns = q->first_ns;
    log.transfer_ns = all > q->first_ns ? all - q->first_ns : 0;
    log.cpu_ns = pp_thread_cpu_ns() - q->cpu_ns;
    log.bytes = r->got;
    log.status = 200;
    log.flags = PP_REQUEST_MODEL | flags;
    pp_request_log_add(&log, q->m->address, r->name);
    return PP_OK;
}

static pp_status model_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_object in = pp_inner_object(o);
    struct request q;
    pp_status st = begin_request(&q, o->storage, r, err);
    if (st == PP_OK)
        st = pp_object_read_at(&in, r, err);
    return st == PP_OK ? end_request(&q, r, r->offset == 0 ? PP_REQUEST_BEGINS : 0, err) : st;
}

/* As a store's answer has it, the version is that of the bytes, unless the file changed while they were read.
 * 0: nothing is said. */
static pp_status model_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                  struct pp_err *err)
{
    struct pp_place_info before, after;
    struct request q;
    int known = pp_storage_stat(s, dir, r->name, "read", &before, NULL) == PP_OK;
    pp_status st = begin_request(&q, s, r, err);
    if (st == PP_OK)
        st = pp_inner_read_whole(s, dir, r, err);
    if (st != PP_OK)
        return st;
    known = known && pp_storage_stat(s, dir, r->name, "read", &after, NULL) == PP_OK &&
            after.version == before.version;
    r->version = known ? before.version : 0;
    memcpy(r->id, before.id, sizeof(r->id));
    return end_request(&q, r, 0, err);
}

static const struct pp_storage_ops model_ops = {
    .name = "model",
    .help = "the time that another kind of storage would take, over one that is there",
    .read_at = model_read_at,
    .read_whole = model_read_whole,
};

pp_status pp_storage_wrap_model(struct pp_storage *inner, const struct pp_storage_model *m,
                                struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    if (!m)
        return PP_OK;
    if (inner->request_bytes)
        return pp_fail(err, PP_E_USAGE,
                       "--like %s is for local data, and these are behind requests already; leave it out",
                       m->name);
    struct modelled *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to model a storage");
    s->base = *inner;
    s->base.ops = &model_ops;
    s->base.flags &= ~(unsigned)(PP_STORAGE_PAGE_CACHE | PP_STORAGE_BORROWS);
    s->base.request_bytes = PP_REQUEST_BYTES;
    s->base.inner = inner;
    s->model = m;
    snprintf(s->address, sizeof(s->address), "model:%s", m->name);
    *out = &s->base;
    return PP_OK;
}
