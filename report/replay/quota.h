/* report/replay/quota.h: storage that answers so many reads a second and no more, whatever their bytes and
 * whoever asks: a throttled volume, a metadata server.
 *
 * More reads at a time wait longer there, and no more of them come back; slow reads without a quota come back
 * the more often the more are asked for. One recording shows which it is only by the times of its reads. */
#ifndef PP_REPORT_REPLAY_QUOTA_H
#define PP_REPORT_REPLAY_QUOTA_H

#include "report/replay/costs.h"

/* order: c->samples by the end of their reads; v: room for c->n. Reads a second; 0: no quota is seen. */
double pp_quota_reads_per_s(const struct pp_costs *c, const struct pp_cost_sample **order, float *v);

#endif
