#include "collectors/columns/pages.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/columns/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 48 };

struct state {
    struct pp_store *store;
    char name[PP_PAGES_TALLIES][NAME];
};

static void pages_poll(void *state)
{
    const struct state *s = state;
    uint64_t sum[PP_PAGES_TALLIES], now = pp_now_ns();
    pp_pages_tally_get(sum);
    int any = sum[PP_PAGES_TALLY_DECODED] || sum[PP_PAGES_TALLY_LOCK_HELD_NS];
    for (int i = 0; any && i < PP_PAGES_TALLIES; i++)
        pp_store_counter(s->store, now, s->name[i], (double)sum[i]);
}

static int pages_available(char *text, size_t size)
{
    snprintf(text, size, "pages of Parquet and HDF5 files, where the data are some");
    return 1;
}

static pp_status pages_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct state *s = malloc(sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to count pages");
    s->store = opts->store;
    for (int i = 0; i < PP_PAGES_TALLIES; i++)
        snprintf(s->name[i], NAME, "pages_%s_total", pp_pages_tally_name((enum pp_pages_tally)i));
    pages_poll(s);
    *out = s;
    return PP_OK;
}

static void pages_stop(void *state)
{
    pages_poll(state);
    free(state);
}

const struct pp_collector pp_collector_pages = {
    .name = "pages of columns",
    .available = pages_available,
    .start = pages_start,
    .poll = pages_poll,
    .stop = pages_stop,
};
