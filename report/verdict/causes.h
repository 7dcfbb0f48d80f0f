/* report/verdict/causes.h: which rows of the table of causes (verdict_rules.h) the facts meet, and of those
 * that they do not meet, what they miss: "why was it not called bandwidth?" has an answer in numbers. */
#ifndef PP_REPORT_VERDICT_CAUSES_H
#define PP_REPORT_VERDICT_CAUSES_H

#include "report/verdict/verdict.h"

/* The first row that the facts meet and that no lane contradicts (pp_lane_rules), or NULL. */
const struct pp_rule *pp_cause_first(const struct pp_facts *f, const struct pp_rule *rules, size_t n);

/* The first row that names a want of CPU, which the facts meet and whose remedy gains: what may be said of a
 * trainer that hardly waits for data but whose own step does not get a CPU. NULL: there
 * is none, and no change mends it. */
const struct pp_rule *pp_cause_of_starving(const struct pp_facts *f);

/* Every cause of the table but the verdict's own, with the first condition that it misses, into v->rejected.
 */
void pp_causes_reject(const struct pp_facts *f, struct pp_arena *arena, struct pp_report_verdict *v);

#endif
