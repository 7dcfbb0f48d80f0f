#include "tests/support/second_hist.h"

#include "collectors/store/hist_blob.h"

int second_hist(const struct pp_second_row *s, struct pp_hist *into)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, total = 0;
    uint32_t count;
    while (p && p < stop) {
        p = pp_hist_blob_next(p, stop, &bucket, &count);
        if (!p)
            return 0;
        into->bucket[bucket] += count;
        total += count;
    }
    if (total != s->n)
        return 0;
    if (total && into->min > s->max_ns)
        into->min = 0; /* the least value is not stored; 0 keeps quantiles inside their bucket */
    into->count += total;
    into->sum += s->total_ns;
    into->max = s->max_ns > into->max ? s->max_ns : into->max;
    return 1;
}
