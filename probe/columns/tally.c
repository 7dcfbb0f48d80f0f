#include "probe/columns/tally.h"

#include <stdatomic.h>

static atomic_uint_least64_t sums[PP_PAGES_TALLIES];

void pp_pages_tally_add(enum pp_pages_tally which, uint64_t amount)
{
    atomic_fetch_add_explicit(&sums[which], amount, memory_order_relaxed);
}

void pp_pages_tally_get(uint64_t out[PP_PAGES_TALLIES])
{
    for (int i = 0; i < PP_PAGES_TALLIES; i++)
        out[i] = atomic_load_explicit(&sums[i], memory_order_relaxed);
}

const char *pp_pages_tally_name(enum pp_pages_tally which)
{
    static const char *const names[] = {
#define NAME(sym, name, unit, help) name,
        PP_PAGES_TALLY_MAP(NAME)
#undef NAME
    };
    return names[which];
}
