/* report/findings/checks.h: what is looked at besides the wait: whether the recording obeys the operational
 * laws (laws.h), what comes again at a fixed interval (periodic.h), which samples came in which order
 * (visits.h), and which rank came last (ranks.h). */
#ifndef PP_REPORT_FINDINGS_CHECKS_H
#define PP_REPORT_FINDINGS_CHECKS_H

#include "report/findings/laws.h"
#include "report/findings/periodic.h"
#include "report/findings/ranks.h"
#include "report/findings/visits.h"
#include "report/model/model.h"

struct pp_checks {
    struct pp_laws laws;
    struct pp_periodic periodic;
    struct pp_visits visits;
    struct pp_ranks ranks;
};

struct pp_checks_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory.
 * end comes after that of the tally, and after the rows of r are there; it accepts NULL and frees the pass.
 */
struct pp_checks_pass *pp_checks_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_checks_chunk(struct pp_checks_pass *p, uint32_t thread, const struct pp_span *spans,
                    size_t n); /* non-zero: no memory */
pp_status pp_checks_end(struct pp_checks_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_arena *arena, struct pp_checks *out, struct pp_err *err);

#endif
