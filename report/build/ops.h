/* report/build/ops.h: which line costs the stall, as the report says it: the ops of the stacks
 * (measure/ops.h) with what half of each gains in a replay; as changes to measure; and as the verdict's cause
 * where one is sure. */
#ifndef PP_REPORT_BUILD_OPS_H
#define PP_REPORT_BUILD_OPS_H

#include "report/build/facts.h"

/* Fills r->ops, step_lines and flame, and adds changes behind those of changes.h, which are listed. costs is
 * calibrated where it was replayed. */
void pp_ops_tell(const struct pp_costs *costs, int replayed, struct pp_arena *arena, struct pp_report *r);
/* After changes are advised and before the action is chosen: where the work of samples holds the trainer up,
 * the op that costs most of it becomes the cause and what to make cheaper. */
void pp_ops_speak(struct pp_report *r, struct pp_arena *arena);
/* After the action is chosen: where too few stacks name a line, how long to record for it is what to do. */
void pp_ops_ask(struct pp_report *r);

#endif
