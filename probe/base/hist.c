#include "probe/base/hist.h"

#define SUB ((uint64_t)1 << PP_HIST_SUB_BITS)

void pp_hist_clear(struct pp_hist *h)
{
    memset(h, 0, sizeof(*h));
    h->min = UINT64_MAX;
}

void pp_hist_add(struct pp_hist *h, uint64_t value)
{
    h->count++;
    /* Saturating, so that adding in any order and grouping gives the same sum. */
    if (__builtin_add_overflow(h->sum, value, &h->sum))
        h->sum = UINT64_MAX;
    if (value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->bucket[pp_hist_bucket(value)]++;
}

void pp_hist_merge(struct pp_hist *into, const struct pp_hist *from)
{
    into->count += from->count;
    if (__builtin_add_overflow(into->sum, from->sum, &into->sum))
        into->sum = UINT64_MAX;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    for (unsigned i = 0; i < PP_HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

uint64_t pp_hist_quantile(const struct pp_hist *h, double q)
{
    if (h->count == 0)
        return 0;
    /* Nearest rank: the smallest value with at least q of the values at or below it. */
    double exact = q * (double)h->count;
    uint64_t rank = exact <= 1 ? 1 : exact >= (double)h->count ? h->count : (uint64_t)exact, seen = 0;
    rank += (double)rank < exact && rank < h->count;
    if (rank == 1)
        return h->min;
    if (rank == h->count)
        return h->max;
    unsigned i = 0;
    while ((seen += h->bucket[i]) < rank)
        i++;
    uint64_t value = i; /* the middle of the bucket */
    if (i >= SUB) {
        unsigned shift = (i >> PP_HIST_SUB_BITS) - 1;
        uint64_t low = (SUB + (i & (SUB - 1))) << shift;
        value = low + (((uint64_t)1 << shift) >> 1);
    }
    return value < h->min ? h->min : value > h->max ? h->max : value;
}
