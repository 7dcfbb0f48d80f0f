#include "report/replay/slow_workers.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_READS = 3 };

struct read {
    uint32_t worker;
    float blocked;
};

static int by_worker(const void *a, const void *b)
{
    const struct read *x = a, *y = b;
    return x->worker != y->worker ? (x->worker > y->worker) - (x->worker < y->worker)
                                  : (x->blocked > y->blocked) - (x->blocked < y->blocked);
}

static int by_blocked(const void *a, const void *b)
{
    const struct read *x = a, *y = b;
    return (x->blocked > y->blocked) - (x->blocked < y->blocked);
}

/* Sorted reads into one of each worker, the median one, at the front. */
static size_t medians(struct read *r, size_t n)
{
    size_t workers = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && r[to].worker == r[from].worker; to++) {
        }
        if (to - from >= FEWEST_READS)
            r[workers++] = r[from + (to - from) / 2];
    }
    return workers;
}

pp_status pp_slow_workers_find(struct pp_costs *c, struct pp_err *err)
{
    struct read *r = malloc((c->n + 1) * sizeof(*r));
    c->n_slow = 0;
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to look at the reads of %zu samples", c->n);
    for (size_t i = 0; i < c->n; i++)
        r[i] = (struct read){c->samples[i].worker, c->samples[i].read_blocked};
    qsort(r, c->n, sizeof(*r), by_worker);
    size_t n = medians(r, c->n);
    qsort(r, n, sizeof(*r), by_blocked);
    double usual = n ? r[(n - 1) / 2].blocked : 0;
    for (size_t i = n; i-- > (n + 1) / 2 && c->n_slow < PP_SLOW_MOST;)
        if (r[i].blocked >= fmax(PP_SLOW_WORKER_TIMES * usual, usual + PP_SLOW_WORKER_NS))
            c->slow[c->n_slow++] = (struct pp_slow_worker){r[i].worker, r[i].blocked - usual};
    free(r);
    return PP_OK;
}

double pp_slow_worker_ns(const struct pp_costs *c, uint32_t worker)
{
    for (size_t i = 0; i < c->n_slow; i++)
        if (c->slow[i].worker == worker)
            return c->slow[i].more_ns;
    return 0;
}
