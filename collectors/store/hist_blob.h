/* store/hist_blob.h: the histogram of durations in a row of rollup_second: the grid of base/hist.h, and the
 * blob's varint pairs (buckets since the one before, count). Private to collectors/store: roll-ups write it,
 * the reader reads it. */
#pragma once

#include "probe/base/bytes.h"
#include "probe/base/hist.h"

#define PP_HIST_EXACT (1ull << PP_HIST_SUB_BITS) /* below, a bucket per value */

/* As pp_hist_bucket, only faster. A double has the bucket in its bits: the exponent is the power of two, and
 * the top of the fraction which part of it. */
static inline size_t pp_hist_blob_bucket(uint64_t v)
{
    uint64_t bits;
    if (v - PP_HIST_EXACT >= (1ull << 53) - PP_HIST_EXACT) /* small, or not exact as a double */
        return pp_hist_bucket(v);
    double d = (double)(int64_t)v;
    memcpy(&bits, &d, sizeof(bits));
    return (bits >> (52 - PP_HIST_SUB_BITS)) - ((1023 + PP_HIST_SUB_BITS - 1) << PP_HIST_SUB_BITS);
}

/* The lower and upper end (inclusive) of a bucket. */
static inline void pp_hist_blob_range(uint32_t bucket, uint64_t *low, uint64_t *high)
{
    unsigned group = bucket >> PP_HIST_SUB_BITS, octave = group ? group - 1 : 0;
    uint64_t base = group ? (1u << PP_HIST_SUB_BITS) : 0;
    *low = (base + (bucket & ((1u << PP_HIST_SUB_BITS) - 1))) << octave;
    *high = *low + ((1ull << octave) - 1);
}

/* The next bucket that is not empty, counted on in *bucket (0 at first); NULL for a damaged blob. */
static inline const uint8_t *pp_hist_blob_next(const uint8_t *p, const uint8_t *stop, uint64_t *bucket,
                                               uint32_t *count)
{
    uint64_t step, n;
    if (stop - p >= 2 && !((p[0] | p[1]) & 0x80)) { /* as most are */
        step = p[0];
        n = p[1];
        p += 2;
    } else if (!pp_varint_get(&p, stop, &step) || !pp_varint_get(&p, stop, &n)) {
        return NULL;
    }
    if (step >= PP_HIST_BUCKETS || n > UINT32_MAX)
        return NULL;
    *bucket += step;
    *count = (uint32_t)n;
    return *bucket < PP_HIST_BUCKETS ? p : NULL;
}
