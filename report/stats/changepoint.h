/* stats/changepoint.h: where a series of values over time changed its level: E-divisive with a t-test.
 *
 * A segment is split where the energy distance of its two parts is largest (Matteson and James, "A
 * Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 2014, section 2, with
 * alpha = 1), both parts are split again, and so on. The split is kept by a t-test instead of a permutation
 * test (Fleming et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE
 * 2023), so the result depends on the values alone: no randomness. As there, splits are found with a p-value
 * ten times as lax, and then the weakest is taken away until all that remain are below max_p between their
 * neighbours.
 *
 * The split point is the best of many, so the t-test's p is not the false alarm rate: with the default 0.001,
 * 2 % of series of 40 independent values of one distribution show a change
 * (tests/unit/report/stats/test_stats_changepoint.c measures it). */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_change {
    size_t at;            /* index of the first value of the new level */
    double before, after; /* medians of the two segments that meet here */
    double p;
};

struct pp_change_opts {
    double max_p;      /* 0.001 */
    double min_change; /* |after / before - 1| below it is not shown; 0: all */
};

#define PP_CHANGE_SEGMENT_MIN 3 /* values in a segment: fewer have no spread to speak of */
#define PP_CHANGE_MAX 2000      /* values in a series: the distances take 8 n^2 bytes */

/* Changes in time order into *out, malloc'd, to be freed by the caller; *n_out may be 0. PP_E_USAGE for a
 * series too long or a value that is not finite, PP_E_NO_MEMORY. Cost: O(n^2) per level of splits. */
pp_status pp_change_points(const double *series, size_t n, const struct pp_change_opts *opts,
                           struct pp_change **out, size_t *n_out, struct pp_err *err);
