#include "report/stats/tests.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

/* ---- Mann and Whitney ---- */

/* One value of the pooled sample. Ranks are doubled, so that mid-ranks are whole numbers. */
struct ranked {
    double value;
    uint32_t rank2, at; /* at: in the pool, before it is sorted */
};

PP_BY(by_value, struct ranked, value)

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
    for (size_t i = 0; i < n; i++) {
        pool[i] = (struct ranked){.value = i < nx ? x[i] : y[i - nx], .at = (uint32_t)i};
        finite &= isfinite(pool[i].value) != 0;
    }
    pp_status st = finite ? PP_OK : pp_fail(err, PP_E_USAGE, "a rank test needs finite values");
    if (st != PP_OK)
        goto out;
    double ties = rank_pool(pool, n);
    uint32_t w = 0;
    for (size_t i = 0; i < n; i++)
        w += pool[i].at < nx ? pool[i].rank2 : 0;
    out->u = (double)w / 2 - (double)nx * ((double)nx + 1) / 2;
    out->exact = n <= PP_MANN_WHITNEY_EXACT;
    double all = (double)n, pairs = (double)nx * (double)ny,
           variance = pairs / 12 * (all + 1 - ties / (all * (all - 1))),
           off = fmax(0, fabs(out->u - pairs / 2) - 0.5);
    if (out->exact)
        st = exact_p(pool, n, nx, w, &out->p, err);
    else
        out->p = variance > 0 ? fmin(1, erfc(off / sqrt(2 * variance))) : 1;
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

/* ---- Spearman ---- */

/* rank[i]: of x[i], from their middle, so that ranks sum to 0. Returns the sum of their squares. */
static double rank_around_0(const double *x, size_t n, struct ranked *pool, double *rank)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        pool[i] = (struct ranked){.value = x[i], .at = (uint32_t)i};
    rank_pool(pool, n);
    for (size_t i = 0; i < n; i++) {
        double middle = ((double)pool[i].rank2 - 1 - (double)n) / 2;
        rank[pool[i].at] = middle;
        squares += middle * middle;
    }
    return squares;
}

double pp_stats_spearman(const double *x, const double *y, size_t n)
{
    struct ranked *pool = n >= 2 ? malloc(n * sizeof(*pool)) : NULL;
    double *of_x = pool ? malloc(2 * n * sizeof(*of_x)) : NULL, *of_y = of_x ? of_x + n : NULL, xy = 0,
           r = NAN;
    if (of_x) {
        double xx = rank_around_0(x, n, pool, of_x), yy = rank_around_0(y, n, pool, of_y);
        for (size_t i = 0; i < n; i++)
            xy += of_x[i] * of_y[i];
        r = xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
    }
    free(of_x);
    free(pool);
    return r;
}

/* ---- Fisher ---- */

static double log_choose(size_t n, size_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double pp_fisher_exact(size_t a, size_t n, size_t b, size_t m)
{
    size_t yes = a + b, low = yes > m ? yes - m : 0, high = yes < n ? yes : n;
    double all = log_choose(n + m, yes), here = log_choose(n, a) + log_choose(m, b) - all, p = 0;
    /* Tables as likely as this one must not be missed for a rounding error: R allows 1e-7 too. */
    for (size_t k = low; k <= high; k++) {
        double log_p = log_choose(n, k) + log_choose(m, yes - k) - all;
        p += log_p <= here + 1e-7 ? exp(log_p) : 0;
    }
    return fmin(1, p);
}

/* ---- Student ---- */

/* DLMF 8.17.22; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return f;
}

double pp_incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Mean, and the sum of squares around it. */
static void moments(const double *x, size_t n, double *mean, double *squares)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    *squares = 0;
    for (size_t i = 0; i < n; i++)
        *squares += (x[i] - *mean) * (x[i] - *mean);
}

double pp_student(const double *x, size_t nx, const double *y, size_t ny)
{
    double mx, my, sx, sy;
    if (nx < 2 || ny < 2)
        return 1;
    moments(x, nx, &mx, &sx);
    moments(y, ny, &my, &sy);
    if (sx + sy == 0)
        return mx == my ? 1 : 0;
    double df = (double)(nx + ny - 2), variance = (sx + sy) / df;
    double t2 = (mx - my) * (mx - my) / (variance * (1.0 / (double)nx + 1.0 / (double)ny));
    return pp_incomplete_beta(df / 2, 0.5, df / (df + t2));
}

/* ---- Holm ---- */

struct asked {
    double p;
    size_t at;
};

PP_BY_BOTH(by_p, struct asked, p, at)

pp_status pp_holm(const double *p, size_t n, double *out, struct pp_err *err)
{
    struct asked *asked = malloc((n ? n : 1) * sizeof(*asked));
    size_t m = 0;
    double highest = 0;
    if (!asked)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to adjust %zu p-values", n);
    for (size_t i = 0; i < n; i++) {
        if (!isnan(p[i]))
            asked[m++] = (struct asked){p[i], i};
        out[i] = p[i];
    }
    qsort(asked, m, sizeof(*asked), by_p);
    for (size_t i = 0; i < m; i++) {
        highest = fmax(highest, fmin(1, asked[i].p * (double)(m - i)));
        out[asked[i].at] = highest;
    }
    free(asked);
    return PP_OK;
}
