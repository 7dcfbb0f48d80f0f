/* report/build/spent.h: where the time of a sample goes (report/model/spent.h). */
#ifndef PP_REPORT_BUILD_SPENT_H
#define PP_REPORT_BUILD_SPENT_H

#include "probe/base/arena.h"
#include "report/measure/tally.h"
#include "report/model/model.h"

/* Fills spent of r, after its totals; nothing without a steady state. wait_share: of the workers' time in the
 * stalls, by phase; NULL: not known. */
void pp_spent_list(const struct pp_timeline *tl, const struct pp_tally *tally, const double *wait_share,
                   struct pp_arena *arena, struct pp_report *r);

#endif
