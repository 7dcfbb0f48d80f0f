/* report/findings/findings.h: what every run is checked for, apart from the wait of its steady state, as rows
 * of the model: each found, not found, or not measured. What is said, and where the limits are:
 * rules/findings.def; this room measures what they rest on (measure.h).
 *
 * A finding does not change the verdict; limits are the verdict's own where it has them. */
#ifndef PP_REPORT_FINDINGS_FINDINGS_H
#define PP_REPORT_FINDINGS_FINDINGS_H

#include "report/findings/measure.h"

/* Appends them to r, which is from->report; its times are set. */
void pp_findings_add(const struct pp_findings_from *from, struct pp_report *r);
/* What such rules say of what was measured: a row of r for each code. */
void pp_findings_conclude(const struct pp_rule *rules, size_t n_rules, const struct pp_values *v,
                          struct pp_arena *arena, struct pp_report *r);

#endif
