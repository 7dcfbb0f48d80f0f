#include "collectors/remote/requests.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/storage/http.h"
#include "probe/storage/request_log.h"
#include "probe/storage/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 48, AT_ONCE = 256 };

struct state {
    struct pp_store *store;
    char name[PP_TALLIES][NAME];
    uint8_t placed[PP_REQUEST_PLACES]; /* 1: the place stands in the file */
    struct pp_request taken[AT_ONCE];
};

static void store_request(struct state *s, const struct pp_request *r)
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

static void store_requests(struct state *s)
{
    size_t n;
    while ((n = pp_request_log_take(s->taken, AT_ONCE)) > 0)
        for (size_t i = 0; i < n; i++)
            store_request(s, &s->taken[i]);
}

static void requests_poll(void *state)
{
    struct state *s = state;
    uint64_t sum[PP_TALLIES], now = pp_now_ns();
    pp_tally_get(sum);
    for (int i = 0; sum[PP_TALLY_REQUESTS] && i < PP_TALLIES; i++)
        pp_store_counter(s->store, now, s->name[i], (double)sum[i]);
    store_requests(s);
}

/* What opening the data set took is stored too: the window of the report subtracts it. */
static pp_status requests_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s || !pp_request_log_on()) {
        free(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to count requests");
    }
    s->store = opts->store;
    for (int i = 0; i < PP_TALLIES; i++)
        snprintf(s->name[i], NAME, "remote_%s_total", pp_tally_name((enum pp_tally)i));
    requests_poll(s);
    *out = s;
    return PP_OK;
}

static void requests_stop(void *state)
{
    struct state *s = state;
    uint64_t lost = pp_request_log_lost();
    store_requests(s);
    if (lost)
        pp_store_loss(s->store, "requests", lost, "more ended between two polls than are kept");
    pp_request_log_off();
    free(s);
}

const struct pp_collector pp_collector_requests = {
    .name = "remote requests",
    .available = pp_http_available,
    .start = requests_start,
    .poll = requests_poll,
    .stop = requests_stop,
};
