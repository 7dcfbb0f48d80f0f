/* report/verdict/remote_signals.h: the metrics of rules about remote storages (REMOTE_, SLOW_HOST,
 * HOT_PREFIX): from the requests of the recording (report/replay/requests.h). NAN where there are none. */
#ifndef PP_REPORT_VERDICT_REMOTE_SIGNALS_H
#define PP_REPORT_VERDICT_REMOTE_SIGNALS_H

#include "report/replay/whatif.h"

/* metric: PP_METRIC_COUNT of them; others are left alone. */
void pp_remote_signals(const struct pp_costs *c, double *metric);

#endif
