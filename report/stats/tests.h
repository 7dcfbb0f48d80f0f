/* stats/tests.h: does this differ by more than chance? Mann-Whitney for values, Fisher for a yes/no, Student
 * for means, Holm for several questions at once; all p-values are two-sided. And does one value grow with
 * another? Spearman's correlation. Pure computation, any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* Up to this many values in all, Mann-Whitney is exact, with ties and without. */
#define PP_MANN_WHITNEY_EXACT 60

struct pp_mann_whitney {
    double u; /* of the first sample: pairs with x > y, plus half the ties */
    double p;
    int exact;
};

/* Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the
 * Other", 1947. nx + ny <= PP_MANN_WHITNEY_EXACT: the exact permutation distribution of the mid-ranks, ties
 * included, by the shift algorithm of Streitberg and Roehmel, 1986; p is twice the smaller tail, at most 1.
 * Above: the normal approximation with the tie correction (Lehmann, Nonparametrics, 1975, eq. 1.36) and a
 * continuity correction of 1/2. All values equal: p is 1. PP_E_USAGE when a side is empty or a value is not
 * finite, PP_E_NO_MEMORY. */
pp_status pp_mann_whitney(const double *x, size_t nx, const double *y, size_t ny, struct pp_mann_whitney *out,
                          struct pp_err *err);

/* The smallest p that samples of these sizes can give, 2 / C(nx + ny, nx): below it nothing can be shown. 1
 * when a side is empty. */
double pp_mann_whitney_floor(size_t nx, size_t ny);

/* Fisher's exact test (The Design of Experiments, 1935) of a of n against b of m: the sum over all tables at
 * most as likely as this one. */
double pp_fisher_exact(size_t a, size_t n, size_t b, size_t m);

/* Student's t-test with pooled variance ("The Probable Error of a Mean", Biometrika 6, 1908). Pooled, because
 * a short segment whose values happen to lie close together must not pass for a precise one. Below two values
 * on a side: 1. No spread on either side: 1 when equal, else 0. */
double pp_student(const double *x, size_t nx, const double *y, size_t ny);

/* Regularised incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1: continued fraction DLMF 8.17.22 by
 * Lentz's method. */
double pp_incomplete_beta(double a, double b, double x);

/* Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979: out[i] is p[i] adjusted so that
 * rejecting where it is below alpha is wrong anywhere with probability at most alpha. NAN stays NAN and is
 * not counted. out may be p. PP_E_NO_MEMORY. */
pp_status pp_holm(const double *p, size_t n, double *out, struct pp_err *err);

/* Spearman's rank correlation ("The proof and measurement of association between two things", 1904): how
 * surely one value grows with another, whatever the shape of that and however far a few of them lie out.
 * -1 .. 1: Pearson's correlation of the ranks, equal values having the mean of theirs. Values are finite. 0
 * where one of the two does not vary; NAN below two pairs, and without memory (32 bytes a pair). */
double pp_stats_spearman(const double *x, const double *y, size_t n);
