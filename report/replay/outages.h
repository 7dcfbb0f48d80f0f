/* report/replay/outages.h: times in which storage answered nobody: a failover, a throttle, a metadata server
 * that restarts.
 *
 * In the recording they look like slow samples, as many as there were workers to wait. Replayed as slow
 * samples they would come the more often the more samples are read, and hold up one worker at a time; but
 * what stopped was time, not a sample. So they are taken out of the samples and given to the replay as times
 * in which no read begins. */
#ifndef PP_REPORT_REPLAY_OUTAGES_H
#define PP_REPORT_REPLAY_OUTAGES_H

#include "report/replay/costs.h"

/* Slow: beyond five times the median, and 5 ms. Together: ended within 5 ms of another worker's. */
#define PP_OUTAGE_TIMES 5
#define PP_OUTAGE_NS 5e6
/* More slow reads come together than alone. */
#define PP_OUTAGE_SHARE 0.5

/* order: c->samples by the end of their reads; median: of the time blocked in them. The part of the slow
 * reads that come together; 0: too few to tell. */
double pp_outages_share(const struct pp_costs *c, const struct pp_cost_sample **order, double median);
/* Where that part is large, moves the outages from the samples' read_blocked into c->outages. PP_E_NO_MEMORY.
 */
pp_status pp_outages_take(struct pp_costs *c, const struct pp_cost_sample **order, double median,
                          struct pp_err *err);

#endif
