#include "report/stats/order.h"

#include "probe/base/array.h"

#define FENCE_MIN 4

void pp_stats_sort(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof(*x), pp_by_double);
}

double pp_stats_median_sorted(const double *x, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? x[n / 2] : x[n / 2 - 1] + (x[n / 2] - x[n / 2 - 1]) / 2;
}

double pp_stats_quantile_sorted(const double *x, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double at = (double)(n - 1) * q;
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return x[n - 1];
    return x[below] + (at - (double)below) * (x[below + 1] - x[below]);
}

static double *sorted_copy(const double *x, size_t n)
{
    double *copy = n ? malloc(n * sizeof(*copy)) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, x, n * sizeof(*copy));
    pp_stats_sort(copy, n);
    return copy;
}

double pp_stats_median(const double *x, size_t n)
{
    double *copy = sorted_copy(x, n);
    double median = copy ? pp_stats_median_sorted(copy, n) : NAN;
    free(copy);
    return median;
}

/* Made for it, an order of values can let each round take one value only: then they are sorted. */
enum { MOST_ROUNDS = 64 };

float pp_stats_nth(float *x, size_t n, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;
    for (int round = 0; low < high; round++) {
        float pivot = x[at];
        ptrdiff_t i = low, j = high;
        if (round == MOST_ROUNDS) {
            qsort(x + low, (size_t)(high - low + 1), sizeof(*x), pp_by_float);
            break;
        }
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (pivot < x[j])
                j--;
            if (i > j)
                break;
            float t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
        if (j < at)
            low = i;
        if (at < i)
            high = j;
    }
    return x[k];
}

double pp_stats_at_sorted(const float *sorted, size_t n, double q)
{
    return n ? sorted[(size_t)(q * (double)(n - 1))] : NAN;
}

float pp_stats_middle(float *x, size_t n)
{
    qsort(x, n, sizeof(*x), pp_by_float);
    return n ? x[n / 2] : 0;
}

struct pp_outliers pp_stats_outliers(const double *x, size_t n)
{
    struct pp_outliers out = {0, 0};
    double *s = n >= FENCE_MIN ? sorted_copy(x, n) : NULL;
    if (!s)
        return out;
    double q1 = pp_stats_quantile_sorted(s, n, 0.25), q3 = pp_stats_quantile_sorted(s, n, 0.75),
           range = q3 - q1;
    for (size_t i = 0; i < n; i++) {
        double beyond = s[i] < q1 ? q1 - s[i] : s[i] > q3 ? s[i] - q3 : 0;
        out.severe += beyond > 3 * range;
        out.mild += beyond > 1.5 * range && beyond <= 3 * range;
    }
    free(s);
    return out;
}
