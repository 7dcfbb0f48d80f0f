#include "report/stats/tests.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>

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

static int by_p(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

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
