/* stats/bootstrap.h: an interval for the ratio of two medians, and how far the ratio of two samples of the
 * same thing strays from 1.
 *
 * Efron's percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13):
 * resample both sides with replacement, take the ratio of the medians, cut off the tails. Not BCa: its
 * acceleration comes from the jackknife, which is inconsistent for the median (ibid., ch. 10.6). The
 * resamples depend on the seed and their number alone: the same input gives the same interval on every
 * machine. Pure computation, any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_bootstrap_opts {
    double confidence;  /* 0.95: two-sided */
    uint32_t resamples; /* at least 100 */
    uint64_t seed;
};

/* A sample: borrowed values, in any order. */
struct pp_values {
    const double *at;
    size_t n;
};

struct pp_ratio {
    double ratio;     /* median(x) / median(y) of the samples as they are */
    double low, high; /* of the interval */
};

/* x, y: values > 0 in any order, at least one of each. PP_E_USAGE for anything else, PP_E_NO_MEMORY. Cost:
 * O(resamples x (x.n + y.n)). */
pp_status pp_bootstrap_median_ratio(struct pp_values x, struct pp_values y,
                                    const struct pp_bootstrap_opts *opts, struct pp_ratio *out,
                                    struct pp_err *err);

/* The A/A noise floor: the quantile opts->confidence of |log ratio of medians|, as a ratio - 1, among pairs
 * of samples of sizes nx and ny both drawn with replacement from the values of one and the same thing: what a
 * comparison of nothing shows. */
pp_status pp_bootstrap_noise_floor(struct pp_values values, size_t nx, size_t ny,
                                   const struct pp_bootstrap_opts *opts, double *floor, struct pp_err *err);
