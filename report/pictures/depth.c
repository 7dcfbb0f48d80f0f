#include "report/pictures/depth.h"

#include "probe/base/array.h"

#include <stdlib.h>

enum { FIRST_MATCH = 4096 };

static int by_batch_and_kind(const void *a, const void *b)
{
    const struct pp_depth_end *x = a, *y = b;
    return x->batch != y->batch   ? PP_COMPARE(x->batch, y->batch)
           : x->taken != y->taken ? PP_COMPARE(x->taken, y->taken)
                                  : PP_COMPARE(x->t_ns, y->t_ns);
}

/* Tells the batches that have both ends, and keeps the others. */
static void match_ends(struct pp_depth *d, pp_depth_fn *fn, void *ctx)
{
    size_t kept = 0;
    if (d->n)
        qsort(d->end, d->n, sizeof(*d->end), by_batch_and_kind);
    for (size_t i = 0; i < d->n; i++) {
        const struct pp_depth_end *e = &d->end[i], *next = i + 1 < d->n ? e + 1 : e;
        if (!e->taken && next->taken && next->batch == e->batch) {
            if (next->t_ns > e->t_ns)
                fn(ctx, e->batch, e->t_ns, next->t_ns);
            i++;
        } else {
            d->end[kept++] = *e;
        }
    }
    d->n = kept;
    d->match_at = 2 * kept > FIRST_MATCH ? 2 * kept : FIRST_MATCH;
}

int pp_depth_put(struct pp_depth *d, struct pp_depth_end end, pp_depth_fn *fn, void *ctx)
{
    if (d->n >= FIRST_MATCH && d->n >= d->match_at)
        match_ends(d, fn, ctx);
    if (!pp_grow(&d->end, &d->room, d->n + 1, sizeof(*d->end)))
        return 0;
    d->end[d->n++] = end;
    return 1;
}

void pp_depth_finish(struct pp_depth *d, pp_depth_fn *fn, void *ctx)
{
    match_ends(d, fn, ctx);
    free(d->end);
    *d = (struct pp_depth){0};
}
