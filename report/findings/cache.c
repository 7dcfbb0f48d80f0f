#include "report/findings/cache.h"

#include "report/findings/counters.h"
#include "report/findings/measure.h"

#include <math.h>

#define LEAST_REQUESTS 20.0 /* fewer say nothing about a share */

static const struct pp_counter_row rows[] = {
#define ROW(name, member, is_state) \
    { \
        "cache_" name, offsetof(struct pp_cache_use, member), is_state \
    }
    ROW("requests_total", requests, 0),
    ROW("hits_total", hits, 0),
    ROW("cold_total", cold, 0),
    ROW("coalesced_total", coalesced, 0),
    ROW("evicted_total", evicted, 0),
    ROW("again_total", again, 0),
    ROW("changed_total", changed, 0),
    ROW("bytes_total", bytes, 0),
    ROW("hit_bytes_total", hit_bytes, 0),
    ROW("page_cache_bytes_total", page_bytes, 0),
    ROW("fetched_bytes_total", fetched_bytes, 0),
    ROW("wait_ns_total", wait_ns, 0),
    ROW("damaged_total", damaged, 1), /* of the whole run */
    ROW("data_bytes", data_bytes, 1),
    ROW("limit_bytes", limit_bytes, 1),
    ROW("held_bytes", held_bytes, 1),
#undef ROW
};

pp_status pp_cache_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                         struct pp_cache_use *out, struct pp_err *err)
{
    const struct pp_counters_asked asked = {rows, sizeof(rows) / sizeof(*rows), start_ns, end_ns};
    size_t seen;
    double watched_ns;
    *out = (struct pp_cache_use){.recorded = 0};
    pp_status st = pp_counters_between(source, &asked, out, &watched_ns, &seen, err);
    out->recorded = seen > 0;
    if (!(watched_ns > 0) || out->requests < LEAST_REQUESTS || !(out->bytes > 0) || !(out->data_bytes > 0))
        out->unknown = "fewer than 20 reads were asked of the cache in the steady state";
    return st;
}

void pp_measure_cache(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_cache_use *u = &from->checks->cache;
    const struct pp_source *source = from->source;
    double *m = f->number, by_bytes = u->hit_bytes / u->bytes,
           from_page = fmin(u->page_bytes / u->bytes, by_bytes);
    if (!u->recorded)
        return;
    m[PP_FINDING_CACHE_RECORDED] = 1;
    f->text[PP_FINDING_CACHE_UNKNOWN] = u->unknown;
    m[PP_FINDING_CACHE_READS] = u->requests;
    m[PP_FINDING_CACHE_HITS] = u->hits / u->requests;
    m[PP_FINDING_CACHE_HIT_BYTES] = by_bytes;
    m[PP_FINDING_CACHE_PAGE_BYTES] = from_page;
    m[PP_FINDING_CACHE_DISK_BYTES] = by_bytes - from_page;
    m[PP_FINDING_CACHE_STORAGE_BYTES] = 1 - by_bytes;
    m[PP_FINDING_CACHE_ATTAINABLE] = fmin(u->limit_bytes / u->data_bytes, 1);
    m[PP_FINDING_CACHE_FETCHED] = u->fetched_bytes / u->bytes;
    m[PP_FINDING_CACHE_BYTES] = u->limit_bytes;
    m[PP_FINDING_CACHE_DATA] = u->data_bytes;
    m[PP_FINDING_CACHE_MISSED] = fmax(u->requests - u->hits - u->cold, 0) / u->requests;
    m[PP_FINDING_CACHE_COLD] = u->cold < 1 ? NAN : u->cold / u->requests;
    m[PP_FINDING_CACHE_COALESCED] = u->coalesced < 1 ? NAN : u->coalesced;
    m[PP_FINDING_CACHE_COALESCED_WAIT] = u->wait_ns / u->coalesced / 1e9;
    m[PP_FINDING_CACHE_AGAIN] = u->again;
    m[PP_FINDING_CACHE_AGAIN_SHARE] = u->again / u->requests;
    m[PP_FINDING_CACHE_EVICTED] = u->evicted;
    m[PP_FINDING_CACHE_DAMAGED] = u->damaged;
    m[PP_FINDING_CACHE_CHANGED] = u->changed;
    m[PP_FINDING_CACHE_HELD] = u->held_bytes;
    /* what the source gives is lent until it is asked again */
    const char *policy = pp_arena_copy(from->arena, source->meta(source->ctx, "config", "cache_policy"));
    f->text[PP_FINDING_CACHE_POLICY] = policy ? policy : "unknown";
    f->text[PP_FINDING_CACHE_TROUBLE] = pp_arena_copy(from->arena,
                                                      source->meta(source->ctx, "cache", "trouble"));
}
