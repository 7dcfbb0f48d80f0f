/* report/build/slow.h: the slowest samples of the judged loader, with the names that the recording has of
 * them (meta section slow_sample). Those are listed that take SLOW_TIMES the median or more. */
#ifndef PP_REPORT_BUILD_SLOW_H
#define PP_REPORT_BUILD_SLOW_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/replay/costs.h"

/* Fills r->slow_samples, from the costs of samples of the steady state; texts from arena. */
void pp_slow_samples_list(const struct pp_source *source, const struct pp_costs *c, struct pp_arena *arena,
                          struct pp_report *r);
/* "a.jpg (1.20 s, 3 of 3 times), b.jpg (...)": the worst three that have a name, for a sentence; NULL: none.
 */
const char *pp_slow_samples_worst(const struct pp_report *r, struct pp_arena *arena);

#endif
