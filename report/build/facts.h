/* report/build/facts.h: the facts of a run, from which the verdict is judged (report/verdict/verdict.h),
 * computed in one place and in one order; and the rest of what a replay gives: ranked changes (changes.h),
 * and causes that it rules out. */
#ifndef PP_REPORT_BUILD_FACTS_H
#define PP_REPORT_BUILD_FACTS_H

#include "report/build/gather.h"
#include "report/verdict/signals.h"
#include "report/verdict/verdict.h"

/* What facts are computed from; all borrowed. The totals, times and rates of the report are set. */
struct pp_facts_from {
    const struct pp_source *source;
    struct pp_arena *arena; /* of texts that are made */
    const struct pp_report *report;
    const struct pp_timeline *timeline;
    struct pp_gathered *gathered; /* its costs are calibrated */
    double usable_cpus;           /* NAN: unknown */
    double loss_share;
};

struct pp_diagnosis {
    struct pp_signals signals;
    int replayed;      /* the replay comes out as the run did; without, no metric of it is known */
    double starved_ns; /* of the judged batches: how much longer the trainer's steps took for want of a CPU; 0
                          where that is not exposed time */
    double stretch_ns; /* likewise, exposed or not */
    double taking_ns; /* of the judged batches' waits, what taking batches that are there costs; 0: unknown */
    struct pp_err why_not;
};

/* Each metric is written once, by the part that metrics.h names; a part that was not recorded leaves NAN.
 * DATA_WAIT then grows by the other times that expose the trainer. */
void pp_facts_build(const struct pp_facts_from *from, struct pp_facts *facts, struct pp_diagnosis *out);
/* A run of given length, so that its start is a part of what it takes; a run that was stopped after a while
 * has any length. */
int pp_run_ended_by_itself(const struct pp_source *source);
/* What was ruled out, and the replay's own error, into the verdict. */
void pp_diagnosis_rule_out(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report_verdict *v);

#endif
