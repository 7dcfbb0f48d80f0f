#include "probe/storage/cache/cache_policy.h"

static int oldest(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    for (size_t i = 0; i < n; i++)
        if (!c[i].busy)
            return (int)i;
    return -1;
}

/* Second chance: twice round at most, for the first round clears what it passes. */
static int unused(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    size_t first = 0;
    while (first < n && c[first].number <= *hand)
        first++;
    for (size_t k = 0; k < 2 * n; k++) {
        size_t i = (first + k) % n;
        if (c[i].busy)
            continue;
        *hand = c[i].number;
        if (!c[i].used)
            return (int)i;
        c[i].used = 0;
    }
    return -1;
}

static int stale(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    for (size_t i = 0; i < n; i++)
        if (!c[i].busy && c[i].stale)
            return (int)i;
    return -1;
}

const struct pp_cache_policy pp_cache_policies[PP_CACHE_POLICIES] = {
    [PP_CACHE_KEEP] = {"keep", "what is read each epoch stays; the rest is not stored", stale},
    [PP_CACHE_CLOCK] = {"clock", "the segment goes that was not read for the longest, about", unused},
    [PP_CACHE_FIFO] = {"fifo", "the oldest segment goes", oldest},
};
