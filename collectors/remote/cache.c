#include "collectors/remote/cache.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/storage/cache/cache_tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 48 };

struct state {
    struct pp_store *store;
    char name[PP_CACHE_TALLIES][NAME];
};

static int cache_available(char *text, size_t size)
{
    snprintf(text, size, "run --cache DIR");
    return 1;
}

static void cache_poll(void *state)
{
    const struct state *s = state;
    uint64_t sum[PP_CACHE_TALLIES], now = pp_now_ns();
    pp_cache_tally_get(sum);
    for (int i = 0; sum[PP_CACHE_TALLY_LIMIT_BYTES] && i < PP_CACHE_TALLIES; i++)
        pp_store_counter(s->store, now, s->name[i], (double)sum[i]);
}

static pp_status cache_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct state *s = malloc(sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to count what the cache does");
    s->store = opts->store;
    for (int i = 0; i < PP_CACHE_TALLIES; i++)
        snprintf(s->name[i], NAME, "cache_%s", pp_cache_tally_name((enum pp_cache_tally)i));
    cache_poll(s);
    *out = s;
    return PP_OK;
}

static void cache_stop(void *state)
{
    struct state *s = state;
    char text[480];
    cache_poll(s);
    if (pp_cache_said(text, sizeof(text)))
        pp_store_meta_text(s->store, "cache", "trouble", text);
    free(s);
}

const struct pp_collector pp_collector_cache = {
    .name = "cache",
    .available = cache_available,
    .start = cache_start,
    .poll = cache_poll,
    .stop = cache_stop,
};
