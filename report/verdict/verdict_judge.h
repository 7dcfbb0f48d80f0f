/* report/verdict/verdict_judge.h: one judgement while it is made, for the two files that make it: verdict.c
 * says what bounds the trainer, verdict_doubt.c why that cannot be said, and what would decide it. */
#pragma once

#include "report/verdict/verdict.h"

struct judge {
    const struct pp_facts *facts;
    struct pp_arena *arena;
    struct pp_report_verdict *out;
    struct pp_values values;
};

const char *pp_judge_fill(const struct judge *j, const char *sentence);
/* threshold: NULL without one; supports: 1 for the verdict, -1 against it, 0 neither, or it is unknown. */
void pp_judge_evidence(const struct judge *j, enum pp_metric m, const char *threshold, int supports);
void pp_judge_advise(const struct judge *j, enum pp_remedy_id id);
void pp_judge_next_step(const struct judge *j, const char *text); /* that is no row's */

/* Where the trainer hardly waits, what stretches its steps is a want of CPU. Without an owner of the stalls,
 * the replay may still know it. NULL: no rule of a cause holds. */
const struct pp_rule *pp_judge_cause(const struct pp_facts *f);

/* The first guard that does not hold; NULL: something may be said. */
const struct pp_guard_rule *pp_judge_guard(const struct pp_facts *f);
void pp_judge_inconclusive(const struct judge *j, const struct pp_guard_rule *g);
/* Most of the wait is not where the cause is. */
void pp_judge_unexplained(const struct judge *j);
/* No rule of a cause holds. */
void pp_judge_missing(const struct judge *j);
