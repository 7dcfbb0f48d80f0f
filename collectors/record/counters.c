#include "collectors/record/counters.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/counters.h"
#include "probe/base/err.h"
#include "probe/columns/pages.h"
#include "probe/storage/cache/cache.h"
#include "probe/storage/request_log.h"

#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 256 };

/* ---- counters ---- */

static const struct pp_counter_set *const sets[] = {&pp_request_counters, &pp_cache_counters,
                                                    &pp_pages_counters};

static int counters_available(char *text, size_t size)
{
    snprintf(text, size, "of requests, the cache and pages of columns, where a recording has them");
    return 1;
}

static void counters_poll(void *store)
{
    uint64_t now = pp_now_ns();
    for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
        int any = 0;
        for (unsigned i = 0; i < sets[k]->n; i++)
            any |= pp_counted(sets[k], i) > 0;
        for (unsigned i = 0; any && i < sets[k]->n; i++)
            pp_store_counter(store, now, sets[k]->name[i], (double)pp_counted(sets[k], i));
    }
}

/* What opening the data set took is stored too: the window of the report subtracts it. */
static pp_status counters_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    counters_poll(*out = opts->store);
    return PP_OK;
}

static void counters_stop(void *store)
{
    char trouble[480];
    counters_poll(store);
    if (pp_cache_trouble(trouble, sizeof(trouble)))
        pp_store_meta_text(store, "cache", "trouble", trouble);
}

const struct pp_collector pp_collector_counters = {
    .name = "counters of the loader",
    .available = counters_available,
    .start = counters_start,
    .poll = counters_poll,
    .stop = counters_stop,
};

/* ---- requests ---- */

struct requests {
    struct pp_store *store;
    uint8_t placed[PP_REQUEST_PLACES]; /* 1: the place stands in the file */
    struct pp_request taken[AT_ONCE];
};

static void store_request(struct requests *s, const struct pp_request *r)
{
    struct pp_request_place place;
    if (r->place && !s->placed[r->place] && pp_request_log_place(r->place, &place)) {
        s->placed[r->place] = 1;
        pp_store_request_place(s->store, r->place, place.address, place.prefix);
    }
    pp_store_request(s->store, &(struct pp_request_row){.start_ns = r->start_ns,
                                                        .queue_ns = r->queue_ns,
                                                        .resolve_ns = r->resolve_ns,
                                                        .connect_ns = r->connect_ns,
                                                        .tls_ns = r->tls_ns,
                                                        .first_byte_ns = r->first_byte_ns,
                                                        .transfer_ns = r->transfer_ns,
                                                        .cpu_ns = r->cpu_ns,
                                                        .bytes = r->bytes,
                                                        .sample = r->sample,
                                                        .epoch = (uint32_t)r->epoch,
                                                        .status = (uint32_t)r->status,
                                                        .attempt = (uint32_t)r->attempt,
                                                        .flags = r->flags,
                                                        .place = r->place});
}

static void requests_poll(void *state)
{
    struct requests *s = state;
    size_t n;
    while ((n = pp_request_log_take(s->taken, AT_ONCE)) > 0)
        for (size_t i = 0; i < n; i++)
            store_request(s, &s->taken[i]);
}

static pp_status requests_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct requests *s = calloc(1, sizeof(*s));
    if (!s || !pp_request_log_on()) {
        free(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record requests");
    }
    s->store = opts->store;
    *out = s;
    return PP_OK;
}

static void requests_stop(void *state)
{
    struct requests *s = state;
    uint64_t lost = pp_request_log_lost();
    requests_poll(s);
    if (lost)
        pp_store_loss(s->store, "requests", lost, "more ended between two polls than are kept");
    pp_request_log_off();
    free(s);
}

const struct pp_collector pp_collector_requests = {
    .name = "remote requests",
    .available = counters_available,
    .start = requests_start,
    .poll = requests_poll,
    .stop = requests_stop,
};
