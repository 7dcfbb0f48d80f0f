#include "probe/storage/tally.h"

#include <stdatomic.h>

static const char *const names[PP_TALLIES] = {
#define PP_TALLY_NAME(sym, name, unit, help) name,
    PP_TALLY_MAP(PP_TALLY_NAME)
#undef PP_TALLY_NAME
};

static atomic_uint_least64_t sums[PP_TALLIES];

void pp_tally_add(enum pp_tally which, uint64_t amount)
{
    atomic_fetch_add_explicit(&sums[which], amount, memory_order_relaxed);
}

void pp_tally_get(uint64_t out[PP_TALLIES])
{
    for (int i = 0; i < PP_TALLIES; i++)
        out[i] = atomic_load_explicit(&sums[i], memory_order_relaxed);
}

const char *pp_tally_name(enum pp_tally which)
{
    return names[which];
}
