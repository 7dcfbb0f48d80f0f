/* report/verdict/verdict_rules.h: the rules of the verdict as tables: what is measured, which thresholds it
 * meets, where each threshold comes from, what is said and what is advised. verdict.c applies them and adds
 * none of its own.
 *
 * Sentences hold {name} where a metric's value goes ({owner}: the name of the owning phase). */
#ifndef PP_REPORT_VERDICT_VERDICT_RULES_H
#define PP_REPORT_VERDICT_VERDICT_RULES_H

#include "report/verdict/metrics.h"
#include "report/verdict/remedies.h"

#include <pipeprobe/phase.h>

#include <stddef.h>

/* Limits that other code applies too; in the tables each has its source beside it. */
#define PP_LEAST_SHARE 0.05 /* of a step: the smallest that counts */
#define PP_LEAST_TRACE_STEPS \
    3 /* of a trace of another profiler: fewer have no interval; trace.h asks whether it allows a level */
#define PP_LEAST_EXPLAINED \
    0.5 /* of the wait: a cause by shares of time owns more of it than all else together */
#define PP_MOST_REPLAY_ERROR \
    0.25 /* how far the replay of the run as recorded may be from it before its answers are \
            not used: three times the median error of predictions */
#define PP_WORTH_A_FIX 0.15 /* of throughput: what a fix has to gain */
#define PP_LARGEST_WEIGHT \
    0.4 /* of a cause, in what all of them gain: the largest, or tied for the largest \
         */
#define PP_MOST_MEETINGS \
    (2.0 / 3.0) /* of the collective steps: one rank is last more than all others together */

/* Highest first; the last row takes everything. */
struct pp_level_rule {
    double at_least; /* of DATA_WAIT */
    const char *l0, *level;
    const char *threshold; /* as shown beside the value */
};
extern const struct pp_level_rule pp_level_rules[];
extern const struct pp_level_rule *const pp_level_moderate; /* the least that is input-bound */

/* Any that holds makes the verdict inconclusive. An unknown metric counts as too little, but for a law that
 * could not be checked. */
struct pp_guard_rule {
    enum pp_metric metric;
    int at_least; /* 1: at least limit is needed; 0: at most */
    int if_known; /* 1: says nothing when the metric is unknown */
    double limit;
    const char *source, *reason;
    enum pp_remedy_id remedy;
    double of_trace; /* the limit for a trace of another profiler, which has few steps; 0: the same */
};
extern const struct pp_guard_rule pp_guard_rules[];
extern const size_t pp_guard_rules_n;

/* A condition holds, does not hold, or is unknown because its metric is. */
enum pp_compare { PP_NO_CONDITION, PP_AT_LEAST, PP_BELOW };
struct pp_condition {
    enum pp_metric metric;
    enum pp_compare compare;
    double limit;
    const char *source; /* where the limit comes from */
};

/* In this order; the first whose owner and conditions match is the cause. */
#define PP_ANY_OWNER 0xffffffffu
enum { PP_CONDITIONS_MOST = 5 };
struct pp_cause_rule {
    const char *l1, *l2;                          /* l2 may be NULL */
    unsigned owners;                              /* bit per pp_phase; PP_PHASE_NONE is the hand-off */
    struct pp_condition when[PP_CONDITIONS_MOST]; /* all of them; up to PP_NO_CONDITION */
    struct pp_condition
        relief; /* of a want of CPU: its remedy gains, by the replay. A step that is stretched
                 * where the trainer hardly waits for data may be charged to these causes alone,
                 * and only if that holds. PP_NO_CONDITION: the cause is no want of CPU */
    const char *sentence;
    enum pp_remedy_id remedy;
};

/* The GPU's own records and the replay decide. Where there is neither, their metrics are unknown and these
 * rules abstain. */
extern const struct pp_cause_rule pp_cause_rules_replay[];
extern const size_t pp_cause_rules_replay_n;
/* Then, by shares: which phase owns the stalls, and what it is doing. */
extern const struct pp_cause_rule pp_cause_rules_shares[];
extern const size_t pp_cause_rules_shares_n;

/* Outside the steady state: asked when the trainer does not wait in it, or when epoch boundaries take more
 * than its waits. */
extern const struct pp_cause_rule pp_outside_rules[];
extern const size_t pp_outside_rules_n;

/* Of a trace that another profiler wrote, in place of all others: what it can show (trace.h). */
extern const struct pp_cause_rule pp_trace_rules[];
extern const size_t pp_trace_rules_n;

#endif
