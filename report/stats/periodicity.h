/* stats/periodicity.h: do events (stalls) come again at a fixed interval, and at which?
 *
 * The statistic is the autocorrelation of the series "a stall begins at t": R(L) = number of pairs of events
 * that are L apart (pair correlation of a point process: Bartlett, The Spectral Analysis of Point Processes,
 * 1963; Cox and Lewis, The Statistical Analysis of Series of Events, 1966, ch. 4). Events of no period leave
 * pairs at all lags alike: for k events in a time T, E(a, b) = k (k - 1) / T^2 x integral from a to b of (T -
 * L) dL of them are between a and b apart. Where events come in clusters, or the run changes, E is raised to
 * the density of pairs on either side of (a, b): a period is a peak, not a slope. A window of lags is scored
 * by the likelihood ratio of a Poisson scan, n ln(n / E) - (n - E) for n > E pairs (Kulldorff, A Spatial Scan
 * Statistic, 1997), and the largest score over all lags, three widths (2, 5 and 10 % of the lag on either
 * side: exact and jittered periods) and the 4, 5, ... 64 heaviest events (so that small stalls do not hide a
 * period of large ones) is taken.
 *
 * Significance: the same maximum over sets of as many events at random places, 999 times (Monte Carlo test,
 * Besag and Clifford, Sequential Monte Carlo p-values, 1991: it stops at the fifth that is as large). Since
 * the maximum is compared with maxima, looking at many lags costs nothing in validity. The same once more
 * with each event at most one period away from where it was (a jitter test: Amarasingham, Harrison,
 * Hatsopoulos and Geman, Conditional modeling and the jitter method, 2012) and lags from half to twice the
 * period: events keep their clusters, and a slow change of the run is no period. A period is reported when
 * both give p <= 0.005: at most one in 200 sets of random stalls is called periodic.
 *
 * Periods from least_period to a third of the time can be found: three returns, so four events at least. Pure
 * computation; the same input gives the same output. Cost: some 0.1 s where there is a period, a few ms
 * elsewhere. */
#pragma once

#include "probe/base/std.h"

struct pp_stats_event {
    double t, weight;
};

struct pp_period {
    double period;    /* median of the lags in the window */
    double low, high; /* the window */
    double weight;    /* events at least this heavy belong to it */
    size_t events;    /* that have another one period before or after */
    size_t expected;  /* from the first to the last of them, had none been missing */
    double p;         /* of random stalls; 1 / 1000 is the least that can be told */
};

/* Events in order of time, within [0, span). slots: places where an event can begin (batches), for their
 * lattice is not a period. Returns 1 and fills out when there is a period, of which at least six in ten
 * expected events came. */
int pp_stats_period(const struct pp_stats_event *events, size_t n, double span, size_t slots,
                    double least_period, struct pp_period *out);
/* Whether event i of them belongs to the period. */
int pp_stats_in_period(const struct pp_stats_event *events, size_t n, size_t i, const struct pp_period *p);
