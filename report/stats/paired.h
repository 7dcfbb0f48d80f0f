/* stats/paired.h: what pairs of runs made side by side tell: of each pair one difference d (the log of a
 * ratio), and of n differences whether they lie around zero, how far from it, and with which interval. What
 * both runs of a pair share (a slow neighbour, a warm machine) is gone from d; this is why a pair tells more
 * than two runs.
 *
 * The one assumption: without an effect either run of a pair could as well have been the other, so d and -d
 * are equally likely. Nothing is assumed about the shape of the noise, so all p-values and intervals are
 * exact for small n. Pure computation, any thread. */
#pragma once

#include "report/stats/bootstrap.h"

/* Up to this many pairs all 2^n ways to turn pairs round are counted; above, 65,536 of a fixed seed. */
#define PP_SIGN_FLIP_EXACT 16

/* Are the differences above zero, asked of several questions about the same pairs? Fisher's randomisation
 * test (The Design of Experiments, 1935, section 21) with r = mean(d) / sqrt(mean(d^2)), which orders the
 * ways as Student's t does; one-sided. *p_one[q] is the share of ways to turn pairs round whose r is at least
 * the one seen. *p_all[q] takes of each way the largest r of all questions (Westfall and Young,
 * Resampling-Based Multiple Testing, 1993, section 2.3: single-step maxT): rejecting where it is below alpha
 * is wrong anywhere with probability at most alpha. A pair is turned round as a whole, so questions that move
 * together, as throughput and stall share do, cost next to nothing, where Holm would divide alpha among them.
 *
 * d: questions rows of n differences. Drawn ways count themselves in: p = (b + 1) / (m + 1), Phipson and
 * Smyth, 2010. PP_E_USAGE when there are no pairs or one is not finite, PP_E_NO_MEMORY. Cost: O(2^min(n, 16)
 * x n x questions). */
pp_status pp_sign_flip(const double *d, size_t questions, size_t n, double *p_one, double *p_all,
                       struct pp_err *err);

/* The smallest p that n pairs can give, 2^-n: 7 pairs are the least that get below 0.01. */
double pp_sign_flip_floor(size_t n);

struct pp_shift {
    double estimate; /* Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963: the median of
                        the Walsh averages (d_i + d_j) / 2, i <= j */
    double low,
        high; /* NAN when n is too small for the confidence: no interval that short holds what it promises */
};

/* The interval that Wilcoxon's signed-rank test does not reject (Tukey, 1949; Hollander and Wolfe,
 * Nonparametric Statistical Methods, section 3.3; R's wilcox.test with conf.int): its ends are the (k+1)-th
 * smallest and largest Walsh average, k the largest count with P(W <= k) <= (1 - confidence) / 2. At least
 * the confidence asked for. d: n >= 1 finite values in any order; n above 10,000 is PP_E_USAGE,
 * PP_E_NO_MEMORY. */
pp_status pp_signed_rank_interval(const double *d, size_t n, double confidence, struct pp_shift *out,
                                  struct pp_err *err);

/* The A/A noise floor of pairs: the quantile opts->confidence of |estimate|, as a ratio - 1, among n pairs
 * drawn with replacement from these around their own estimate, each turned round by chance: what a comparison
 * of nothing shows. Above 60 pairs fewer resamples are drawn (never below 100). */
pp_status pp_paired_noise_floor(const double *d, size_t n, const struct pp_bootstrap_opts *opts,
                                double *floor, struct pp_err *err);
