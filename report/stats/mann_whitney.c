#include "report/stats/tests.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* One value of the pooled sample. Ranks are doubled, so that mid-ranks are whole numbers. */
struct ranked {
    double value;
    uint32_t rank2;
    int first_sample;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

/* Sorts, ranks, and returns the sum of t^3 - t over groups of t tied values. */
static double rank_pool(struct ranked *pool, size_t n)
{
    double ties = 0;
    qsort(pool, n, sizeof(*pool), by_value);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && pool[to].value == pool[from].value; to++)
            ;
        double t = (double)(to - from);
        ties += t * t * t - t;
        for (size_t i = from; i < to; i++)
            pool[i].rank2 = (uint32_t)(from + to + 1); /* ranks from+1 .. to: twice their mean */
    }
    return ties;
}

/* P(rank sum <= w) and P(rank sum >= w) over all ways to choose the first sample out of the pool. ways[k][s]:
 * subsets of k values whose doubled ranks sum to s; each value in turn shifts the table by its rank. Counts
 * stay below C(60, 30) = 1.2e17, where double's rounding (1e-16 of the whole) is far below any p of interest.
 */
static pp_status exact_p(const struct ranked *pool, size_t n, size_t nx, uint32_t w, double *p,
                         struct pp_err *err)
{
    size_t sums = n * (n + 1) + 1; /* all doubled ranks together, and zero */
    double *ways = calloc((nx + 1) * sums, sizeof(*ways)), total = 0, below = 0, above = 0;
    if (!ways)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a rank test of %zu values", n);
    ways[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1 < nx ? i + 1 : nx; k >= 1; k--)
            for (size_t s = sums - 1; s >= pool[i].rank2; s--)
                ways[k * sums + s] += ways[(k - 1) * sums + s - pool[i].rank2];
    for (size_t s = 0; s < sums; s++) {
        double here = ways[nx * sums + s];
        total += here;
        below += s <= w ? here : 0;
        above += s >= w ? here : 0;
    }
    *p = fmin(1, 2 * fmin(below, above) / total);
    free(ways);
    return PP_OK;
}

static double normal_p(double u, double nx, double ny, double ties)
{
    double n = nx + ny, variance = nx * ny / 12 * (n + 1 - ties / (n * (n - 1)));
    if (!(variance > 0))
        return 1;
    double off = fmax(0, fabs(u - nx * ny / 2) - 0.5);
    return fmin(1, erfc(off / sqrt(2 * variance)));
}

static void add_to_pool(struct ranked *pool, const double *x, size_t n, int first, int *finite)
{
    for (size_t i = 0; i < n; i++) {
        pool[i] = (struct ranked){.value = x[i], .first_sample = first};
        *finite &= isfinite(x[i]) != 0;
    }
}

pp_status pp_mann_whitney(const double *x, size_t nx, const double *y, size_t ny, struct pp_mann_whitney *out,
                          struct pp_err *err)
{
    size_t n = nx + ny;
    int finite = 1;
    if (nx == 0 || ny == 0)
        return pp_fail(err, PP_E_USAGE, "a rank test needs values on both sides, but has %zu and %zu", nx,
                       ny);
    struct ranked *pool = malloc(n * sizeof(*pool));
    if (!pool)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a rank test of %zu values", n);
    add_to_pool(pool, x, nx, 1, &finite);
    add_to_pool(pool + nx, y, ny, 0, &finite);
    pp_status st = finite ? PP_OK : pp_fail(err, PP_E_USAGE, "a rank test needs finite values");
    if (st != PP_OK)
        goto out;
    double ties = rank_pool(pool, n);
    uint32_t w = 0;
    for (size_t i = 0; i < n; i++)
        w += pool[i].first_sample ? pool[i].rank2 : 0;
    out->u = (double)w / 2 - (double)nx * ((double)nx + 1) / 2;
    out->exact = n <= PP_MANN_WHITNEY_EXACT;
    if (out->exact)
        st = exact_p(pool, n, nx, w, &out->p, err);
    else
        out->p = normal_p(out->u, (double)nx, (double)ny, ties);
out:
    free(pool);
    return st;
}

double pp_mann_whitney_floor(size_t nx, size_t ny)
{
    double ways = 1;
    if (nx == 0 || ny == 0)
        return 1;
    for (size_t i = 1; i <= nx; i++)
        ways *= (double)(ny + i) / (double)i;
    return fmin(1, 2 / ways);
}
