/* base/hist.h: log-linear histogram of durations that merges exactly.
 *
 * Values below 2^7 are exact; above, each power of two is cut into 2^7 = 128 equal buckets and a percentile
 * is answered with the middle of its bucket, so the relative error is at most 1/256 < 0.4 % (half a bucket of
 * 1/128). fio's stat.h derives the same bound for its own grid. Range: all of uint64_t. Not thread-safe: one
 * per thread, then merge. */
#pragma once

#include "probe/base/std.h"

#define PP_HIST_SUB_BITS 7
#define PP_HIST_BUCKETS ((64 - PP_HIST_SUB_BITS + 1) << PP_HIST_SUB_BITS)

struct pp_hist {
    uint64_t count, sum, min, max; /* min is UINT64_MAX while empty */
    uint64_t bucket[PP_HIST_BUCKETS];
};

static inline unsigned pp_hist_bucket(uint64_t value)
{
    uint64_t sub = UINT64_C(1) << PP_HIST_SUB_BITS;
    if (value < sub)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - PP_HIST_SUB_BITS;
    return ((shift + 1) << PP_HIST_SUB_BITS) + (unsigned)((value >> shift) & (sub - 1));
}

void pp_hist_clear(struct pp_hist *h);
void pp_hist_add(struct pp_hist *h, uint64_t value);
void pp_hist_merge(struct pp_hist *into, const struct pp_hist *from);
/* q in [0, 1]; 0 for an empty histogram. Clamped to [min, max], so q = 0 and 1 are exact. */
uint64_t pp_hist_quantile(const struct pp_hist *h, double q);
