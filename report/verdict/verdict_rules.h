/* report/verdict/verdict_rules.h: the rules of the verdict as tables: what is measured, which thresholds it
 * meets, where each threshold comes from, what is said and what is advised (rules/rules.h). */
#pragma once

#include "report/verdict/metrics.h"
#include "report/rules/limits.h"
#include "report/rules/remedies.h"

#include <pipeprobe/phase.h>

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
    double of_long;  /* for batches of a second and more, where the wait is clear of 5 %; 0: the same */
};
extern const struct pp_guard_rule pp_guard_rules[];
extern const size_t pp_guard_rules_n;

/* Causes, in this order; the first that holds is the cause. */

/* The GPU's own records and the replay decide. Without them these rules abstain: metrics are unknown. */
extern const struct pp_rule pp_cause_rules_replay[];
extern const size_t pp_cause_rules_replay_n;
/* Then, by shares: which phase owns the stalls, and what it is doing. */
extern const struct pp_rule pp_cause_rules_shares[];
extern const size_t pp_cause_rules_shares_n;
/* Where no span says what the loader does, and where spans say that it is blocked though it computes: by what
 * the job's threads do in the stalls. */
extern const struct pp_rule pp_cause_rules_threads[];
extern const size_t pp_cause_rules_threads_n;

/* What a lane must have done in the stalls for a cause to be named: where it is known to have done otherwise,
 * no rule of that cause holds, whatever else the rule asks. */
struct pp_lane_rule {
    const char *l1, *l2;
    struct pp_condition when;
};
extern const struct pp_lane_rule pp_lane_rules[];
extern const size_t pp_lane_rules_n;

/* Outside the steady state: asked when the trainer does not wait in it, or when epoch boundaries take more
 * than its waits. */
extern const struct pp_rule pp_outside_rules[];
extern const size_t pp_outside_rules_n;

/* Of a trace that another profiler wrote, in place of all others: what it can show (trace.h). */
extern const struct pp_rule pp_trace_rules[];
extern const size_t pp_trace_rules_n;
