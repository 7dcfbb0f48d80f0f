#include "collectors/remote/requests.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/storage/http.h"
#include "probe/storage/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 48 };

struct state {
    struct pp_store *store;
    char name[PP_TALLIES][NAME];
};

static void requests_poll(void *state)
{
    const struct state *s = state;
    uint64_t sum[PP_TALLIES], now = pp_now_ns();
    pp_tally_get(sum);
    for (int i = 0; sum[PP_TALLY_REQUESTS] && i < PP_TALLIES; i++)
        pp_store_counter(s->store, now, s->name[i], (double)sum[i]);
}

/* What opening the data set took is stored too: the window of the report subtracts it. */
static pp_status requests_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct state *s = malloc(sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to count requests");
    s->store = opts->store;
    for (int i = 0; i < PP_TALLIES; i++)
        snprintf(s->name[i], NAME, "remote_%s_total", pp_tally_name((enum pp_tally)i));
    requests_poll(s);
    *out = s;
    return PP_OK;
}

const struct pp_collector pp_collector_requests = {
    .name = "remote requests",
    .available = pp_http_available,
    .start = requests_start,
    .poll = requests_poll,
    .stop = free,
};
