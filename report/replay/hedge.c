#include "report/replay/hedge.h"

#include "probe/base/array.h"

#include <stdlib.h>
#include <string.h>

enum { EACH = 16 };
#define MOST_SPARE 5.0 /* requests that may be made twice in a row */

uint64_t pp_hedge_after_ns(const struct pp_hedge *h)
{
    return h->quantile > 0 && h->n >= PP_HEDGE_LEAST ? h->ns : UINT64_MAX;
}

void pp_hedge_note(struct pp_hedge *h, uint64_t first_byte_ns)
{
    float sorted[PP_HEDGE_RECENT];
    h->recent[h->n++ % PP_HEDGE_RECENT] = (float)first_byte_ns;
    h->spare = h->spare + 1 - h->quantile < MOST_SPARE ? h->spare + 1 - h->quantile : MOST_SPARE;
    if (h->n < PP_HEDGE_LEAST || (h->n != PP_HEDGE_LEAST && h->n % EACH != 0))
        return;
    size_t n = h->n < PP_HEDGE_RECENT ? (size_t)h->n : PP_HEDGE_RECENT;
    memcpy(sorted, h->recent, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), pp_by_float);
    h->ns = (uint64_t)sorted[(size_t)(h->quantile * (double)(n - 1))];
}

int pp_hedge_spend(struct pp_hedge *h)
{
    int may = h->spare >= 1;
    h->spare -= may;
    return may;
}
