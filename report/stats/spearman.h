/* stats/spearman.h: Spearman's rank correlation ("The proof and measurement of association between two
 * things", 1904): how surely one value grows with another, whatever the shape of that and however far a few
 * of them lie out. Pure computation, any thread. */
#ifndef PP_STATS_SPEARMAN_H
#define PP_STATS_SPEARMAN_H

#include <stddef.h>

/* -1 .. 1: Pearson's correlation of the ranks, equal values having the mean of theirs. Values are finite. 0
 * where one of the two does not vary; NAN below two pairs, and without memory (32 bytes a pair). */
double pp_stats_spearman(const double *x, const double *y, size_t n);

#endif
