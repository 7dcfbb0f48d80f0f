/* report/replay/ops.h: one operation of the transforms, or one line of the user's code, made cheaper: what
 * op=NAME:FACTOR does to the recorded costs (report/measure/ops.h).
 *
 * An op has a part of the CPU time and a part of the blocked time of making samples, or of collating, as the
 * stacks have it: that part is multiplied. The op of a loader that is not judged leaves the judged one's
 * samples as they are: what it gains is the CPUs that its workers no longer use. */
#ifndef PP_REPORT_REPLAY_OPS_H
#define PP_REPORT_REPLAY_OPS_H

#include "report/replay/costs.h"
#include "report/replay/knobs.h"

/* "Blur:0.5", behind op=. PP_E_USAGE with the ops that there are; PP_E_UNSUPPORTED: there are no stacks. */
pp_status pp_op_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err);
void pp_op_scale(struct pp_knobs *k, const struct pp_costs *c, const struct pp_op *op, double factor);
/* CPUs that others used and that the knobs free, as a part of what they used. */
double pp_op_others_part(const struct pp_knobs *k, const struct pp_costs *c);

#endif
