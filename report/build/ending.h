/* report/build/ending.h: how a job ended that did not finish: why, which worker, and the remedy, from its
 * exit status, the exception that its interpreter ended with, kills of its control group, and the last spans
 * of its threads. */
#ifndef PP_REPORT_BUILD_ENDING_H
#define PP_REPORT_BUILD_ENDING_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* Sets r->ended and its remedy, of a recording of `exec` whose outcome (set, as are times and totals) is not
 * that it finished; else they stay NULL. */
void pp_ending_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

#endif
