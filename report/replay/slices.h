/* report/replay/slices.h: a quota that shows only by the times of its reads: the kernel's block throttle, a
 * volume's IOPS or throughput. Each slice of time lets so many reads or bytes through; the rest waits. */
#ifndef PP_REPORT_REPLAY_SLICES_H
#define PP_REPORT_REPLAY_SLICES_H

#include "report/replay/costs.h"

enum pp_ration { PP_NO_RATION, PP_RATION_OF_READS, PP_RATION_OF_BYTES };

/* order: c's samples by the end of their read; v: room for c->n. Where it cannot be told from reads that are
 * slow by themselves, or held up by an outage, nothing is claimed. */
enum pp_ration pp_slices_ration(const struct pp_costs *c, const struct pp_cost_sample **order, float *v);

#endif
