#include "report/findings/checks.h"

#include "report/findings/findings.h"

#define LEAST_REQUESTS 20.0 /* fewer say nothing about their mean, or about a share */
#define NEVER_FULL 0.98     /* a trainer that only waits says nothing about what it could take */

/* Of which part a counter is; the first of a part counts what it is about. */
enum part { REMOTE, CACHE, PAGES, PARTS };

/* Names as the collector stores them, and the double that each becomes. */
static const struct {
    const char *name;
    size_t offset;
    enum part part;
    int is_state; /* the last reading counts; else the difference of a sum that only grows */
} rows[] = {
/* clang-format off */
#define REMOTE(member) {"remote_" #member "_total", offsetof(struct pp_checks, remote.member), REMOTE, 0}
#define CACHE(name, member, is_state) {"cache_" name, offsetof(struct pp_checks, cache.member), CACHE, is_state}
#define PAGES(member) {"pages_" #member "_total", offsetof(struct pp_checks, pages.member), PAGES, 0}
    REMOTE(requests), REMOTE(failed), REMOTE(throttled), REMOTE(retries), REMOTE(connections), REMOTE(bytes),
    REMOTE(busy_ns), REMOTE(resolve_ns), REMOTE(connect_ns), REMOTE(tls_ns), REMOTE(first_byte_ns),
    REMOTE(transfer_ns),
    CACHE("requests_total", requests, 0), CACHE("hits_total", hits, 0), CACHE("cold_total", cold, 0),
    CACHE("coalesced_total", coalesced, 0), CACHE("evicted_total", evicted, 0), CACHE("again_total", again, 0),
    CACHE("changed_total", changed, 0), CACHE("bytes_total", bytes, 0), CACHE("hit_bytes_total", hit_bytes, 0),
    CACHE("page_cache_bytes_total", page_bytes, 0), CACHE("fetched_bytes_total", fetched_bytes, 0),
    CACHE("wait_ns_total", wait_ns, 0), CACHE("damaged_total", damaged, 1), /* of the whole run */
    CACHE("data_bytes", data_bytes, 1), CACHE("limit_bytes", limit_bytes, 1), CACHE("held_bytes", held_bytes, 1),
    PAGES(samples), PAGES(used_bytes), PAGES(decoded), PAGES(decoded_bytes), PAGES(decode_ns), PAGES(lock_ns),
    PAGES(lock_held_ns),
#undef REMOTE
#undef CACHE
#undef PAGES
    /* clang-format on */
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

struct walk {
    uint64_t start_ns, end_ns;
    struct {
        uint64_t from_ns, to_ns; /* 0: none yet */
        double from, to;
    } of[ROWS];
    int seen[PARTS];
};

/* A reading counts from the last one before start, or the first, to the first behind end, or the last. */
static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    size_t i = 0;
    if (!isfinite(value) || value < 0)
        return;
    while (i < ROWS && strcmp(rows[i].name, name) != 0)
        i++;
    if (i == ROWS)
        return;
    w->seen[rows[i].part] = 1;
    if (!w->of[i].from_ns || (t_ns <= w->start_ns && t_ns > w->of[i].from_ns)) {
        w->of[i].from_ns = t_ns;
        w->of[i].from = value;
    }
    if (!w->of[i].to_ns || (t_ns > w->of[i].to_ns && w->of[i].to_ns < w->end_ns)) {
        w->of[i].to_ns = t_ns;
        w->of[i].to = value;
    }
}

pp_status pp_counters_check(const struct pp_source *source, const struct pp_timeline *timeline,
                            struct pp_checks *out, struct pp_err *err)
{
    struct walk w = {.start_ns = timeline->start_ns, .end_ns = timeline->end_ns};
    pp_status st = source->each_counter ? source->each_counter(source->ctx, on_counter, &w, err) : PP_OK;
    double watched_ns[PARTS] = {0};
    out->remote = (struct pp_remote_use){.recorded = w.seen[REMOTE]};
    out->cache = (struct pp_cache_use){.recorded = w.seen[CACHE]};
    out->pages = (struct pp_pages_use){.recorded = w.seen[PAGES]};
    for (size_t i = 0; i < ROWS; i++) {
        double *to = (double *)((char *)out + rows[i].offset);
        *to = rows[i].is_state ? w.of[i].to : fmax(w.of[i].to - w.of[i].from, 0);
        if ((i == 0 || rows[i].part != rows[i - 1].part) && w.of[i].to_ns > w.of[i].from_ns)
            watched_ns[rows[i].part] = (double)(w.of[i].to_ns - w.of[i].from_ns);
    }
    const struct pp_cache_use *cache = &out->cache;
    out->remote.watched_ns = watched_ns[REMOTE];
    out->pages.watched_ns = watched_ns[PAGES];
    if (!(watched_ns[REMOTE] > 0) || out->remote.requests < LEAST_REQUESTS || !(out->remote.busy_ns > 0))
        out->remote.unknown = "fewer than 20 requests were counted in the steady state";
    if (!(watched_ns[CACHE] > 0) || cache->requests < LEAST_REQUESTS || !(cache->bytes > 0) ||
        !(cache->data_bytes > 0))
        out->cache.unknown = "fewer than 20 reads were asked of the cache in the steady state";
    if (!(watched_ns[PAGES] > 0) || out->pages.samples < LEAST_REQUESTS || !(out->pages.used_bytes > 0))
        out->pages.unknown = "fewer than 20 samples out of pages were counted in the steady state";
    return st;
}

void pp_measure_remote(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_remote_use *u = &from->checks->remote;
    double *m = f->number, in_flight = u->busy_ns / u->watched_ns, wait = from->report->data_wait_share;
    if (!u->recorded)
        return;
    m[PP_FINDING_REMOTE_RECORDED] = 1;
    f->text[PP_FINDING_REMOTE_UNKNOWN] = u->unknown;
    m[PP_FINDING_REMOTE_REQUESTS] = u->requests;
    m[PP_FINDING_REMOTE_FLIGHT] = in_flight;
    m[PP_FINDING_REMOTE_NEEDED] = wait <= NEVER_FULL ? in_flight / (1 - wait) : NAN;
    m[PP_FINDING_REMOTE_MEAN] = u->busy_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_FIRST] = u->first_byte_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_TRANSFER] = u->transfer_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_FIRST_SHARE] = u->first_byte_ns / u->busy_ns;
    m[PP_FINDING_REMOTE_RATE] = u->bytes / u->watched_ns * 1e9;
    m[PP_FINDING_REMOTE_THROTTLED] = u->throttled;
    m[PP_FINDING_REMOTE_THROTTLED_SHARE] = u->throttled / u->requests;
    m[PP_FINDING_REMOTE_FAILED] = u->failed;
    m[PP_FINDING_REMOTE_RETRIES] = u->retries;
    m[PP_FINDING_REMOTE_REQUEST_RATE] = u->requests / u->watched_ns * 1e9;
    m[PP_FINDING_REMOTE_CONNECTIONS] = u->connections;
    m[PP_FINDING_REMOTE_CONNECTIONS_EACH] = u->connections / u->requests;
    m[PP_FINDING_REMOTE_SETUP_SHARE] = (u->resolve_ns + u->connect_ns + u->tls_ns) / u->busy_ns;
    m[PP_FINDING_REMOTE_RESOLVE] = u->resolve_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_CONNECT] = u->connect_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_TLS] = u->tls_ns / u->requests / 1e9;
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

/* The lock is a server with one place: how much of the time it is taken, and how many wait. */
void pp_measure_pages(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_pages_use *u = &from->checks->pages;
    double *m = f->number;
    if (!u->recorded)
        return;
    f->text[PP_FINDING_PAGES_UNKNOWN] = u->unknown;
    m[PP_FINDING_PAGES_DECODED] = m[PP_FINDING_AMPLIFIED] = u->decoded > 0 ? u->decoded : NAN;
    m[PP_FINDING_PAGES_SAMPLES] = u->samples;
    m[PP_FINDING_PAGES_AMPLIFICATION] = u->decoded_bytes / u->used_bytes;
    m[PP_FINDING_PAGES_SAMPLE_BYTES] = u->used_bytes / u->samples;
    m[PP_FINDING_PAGES_BYTES] = u->decoded_bytes / u->samples;
    m[PP_FINDING_PAGES_EACH] = u->decoded / u->samples;
    m[PP_FINDING_PAGES_TIME] = u->decode_ns / u->samples / 1e9;
    m[PP_FINDING_LOCK_RECORDED] = u->lock_held_ns > 0 ? 1 : NAN;
    m[PP_FINDING_LOCK_HELD_SHARE] = u->lock_held_ns / u->watched_ns;
    m[PP_FINDING_LOCK_WAITING] = u->lock_ns / u->watched_ns;
    m[PP_FINDING_LOCK_HELD] = u->lock_held_ns / u->samples / 1e9;
}
