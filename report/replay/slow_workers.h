/* report/replay/slow_workers.h: workers that wait longer than the others for every sample, whatever it is: a
 * process in a bad place, a mount of its own.
 *
 * What they take more is theirs and not the samples': replayed with the samples, it would be shared by all
 * workers, and two slow samples of a batch would be made side by side by two workers, which are made one
 * after the other by the slow one. */
#ifndef PP_REPORT_REPLAY_SLOW_WORKERS_H
#define PP_REPORT_REPLAY_SLOW_WORKERS_H

#include "report/replay/costs.h"

/* Slow: its median time blocked in reads is twice that of the median worker, and 1 ms more. */
#define PP_SLOW_WORKER_TIMES 2
#define PP_SLOW_WORKER_NS 1e6

/* Fills c->slow, of at most half of the workers. What was there is forgotten. PP_E_NO_MEMORY. */
pp_status pp_slow_workers_find(struct pp_costs *c, struct pp_err *err);
/* What that worker takes more for a sample than the others; 0: it is not slow. */
double pp_slow_worker_ns(const struct pp_costs *c, uint32_t worker);

#endif
