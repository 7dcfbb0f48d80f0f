/* report/build/diagnose.h: the replay's part of the verdict: the recorded costs (costs.h) are replayed with
 * one thing better at a time (signals.h), and what that gains, and what tells alike causes apart, becomes
 * metrics for the rules (verdict_rules.h) and the ranked fixes of the report. */
#ifndef PP_REPORT_BUILD_DIAGNOSE_H
#define PP_REPORT_BUILD_DIAGNOSE_H

#include "report/build/gather.h"
#include "report/verdict/signals.h"
#include "report/verdict/verdict.h"

struct pp_diagnosis {
    struct pp_signals signals;
    int replayed;
    double starved_ns; /* of the judged batches: how much longer the trainer's steps took for want of a CPU; 0
                          where that is not exposed time */
    struct pp_err why_not;
};

/* Fills the metrics of facts that a replay knows; where there is none they are NAN, and the trainer's exposed
 * time stays as it is. Calibrates the costs. */
void pp_diagnose(struct pp_gathered *gathered, const struct pp_timeline *timeline, struct pp_facts *facts,
                 struct pp_diagnosis *out);
/* Fixes, what was ruled out, and the replay's own error into the verdict. */
void pp_diagnosis_show(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report_verdict *v);

#endif
