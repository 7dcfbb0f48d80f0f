/* report/build/gather.h: the second pass over the spans, after the timeline: everything that needs no more
 * than the steady-state window is gathered in one walk, for reading and decoding the spans costs as much as
 * looking at them. What every lane did (tally.h), the secondary checks (checks.h), what samples
 * and batches cost (costs.h), and the pictures (series.h). */
#ifndef PP_REPORT_BUILD_GATHER_H
#define PP_REPORT_BUILD_GATHER_H

#include "report/findings/checks.h"
#include "report/measure/threads.h"
#include "report/model/model.h"
#include "report/replay/costs.h"
#include "report/pictures/series.h"

struct pp_gathered {
    struct pp_tally tally;
    struct pp_checks checks;
    struct pp_costs costs;
    pp_status costs_status;     /* PP_E_INCONCLUSIVE: there is nothing to replay, */
    struct pp_err why_no_costs; /* and this says why; without a steady state it does not */
    struct pp_thread_work threads;
    struct pp_series_targets targets;
};

/* After the rows of r are there; fills what its pictures need unless the source is a glance. Free with
 * pp_gathered_free, also after a failure. */
pp_status pp_gather(const struct pp_source *source, const struct pp_timeline *timeline,
                    struct pp_arena *arena, struct pp_report *r, struct pp_gathered *out, struct pp_err *err);
void pp_gathered_free(struct pp_gathered *g);

#endif
