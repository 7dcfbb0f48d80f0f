/* stats/order.h: order statistics of small samples: median, quantiles, Tukey's fences. Pure computation, any
 * thread. Values are finite; callers leave NAN out. */
#pragma once

#include "probe/base/std.h"

/* Ascending, in place. */
void pp_stats_sort(double *x, size_t n);

/* Of a sorted sample; NAN when n is 0. Quantile q in [0, 1] by linear interpolation between the order
 * statistics around (n - 1) q: definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages",
 * 1996 (the one of R and NumPy). */
double pp_stats_median_sorted(const double *x, size_t n);
double pp_stats_quantile_sorted(const double *x, size_t n, double q);

/* Of a sample in any order, which is not changed. NAN when n is 0 or memory ran out. */
double pp_stats_median(const double *x, size_t n);

/* The value that would stand at k < n were x sorted; x is reordered. Hoare's selection (FIND, 1961), which
 * takes time in proportion to n, and in the worst case that of sorting. Of numbers; not NAN. */
float pp_stats_nth(float *x, size_t n, size_t k);

/* Of costs, which are floats. The order statistic at or below (n - 1) q of a sorted sample; NAN: n is 0. */
double pp_stats_at_sorted(const float *sorted, size_t n, double q);
/* Sorts x; the upper of the two in the middle, 0 when n is 0. */
float pp_stats_middle(float *x, size_t n);

/* Tukey's fences (Exploratory Data Analysis, 1977): mild beyond 1.5, severe beyond 3 interquartile ranges
 * from the quartiles. A severe value is not counted as mild too. Below four values there are no quartiles
 * worth the name: both are 0. */
struct pp_outliers {
    size_t mild, severe;
};
struct pp_outliers pp_stats_outliers(const double *x, size_t n);
