/* report/findings/remote.h: requests to remote storages in the steady state, from the counters of
 * collectors/record/counters.c: what they took, how many were in flight, and what was refused.
 *
 * Requests in flight are the time of all requests over the time they were counted in (Little's law). A
 * trainer that waits a share w of its time would take its batches 1 / (1 - w) times as fast; as requests take
 * no less time for that, as many times more have to be in flight. */
#ifndef PP_REPORT_FINDINGS_REMOTE_H
#define PP_REPORT_FINDINGS_REMOTE_H

#include "report/findings/checks.h"

/* start, end: of the steady state. One walk over the counters. */
pp_status pp_remote_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                          struct pp_remote_use *out, struct pp_err *err);

#endif
