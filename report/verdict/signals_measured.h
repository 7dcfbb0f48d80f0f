/* report/verdict/signals_measured.h: the signals that no replay gives: tails, skew, caches, limits, and the
 * parts of the work. */
#ifndef PP_REPORT_VERDICT_SIGNALS_MEASURED_H
#define PP_REPORT_VERDICT_SIGNALS_MEASURED_H

#include "report/replay/costs.h"
#include "report/verdict/metrics.h"

/* Into m, by metric: those of PP_FROM_COUNTERS, and of PP_FROM_REPLAY what pp_storage_read has found in c. v:
 * room for c->n. */
void pp_signals_measure(const struct pp_costs *c, float *v, double *m);

/* Of those the ones that need no sample: what CPUs the run and others use. */
void pp_signals_cpus(const struct pp_costs *c, double *m);

#endif
