/* report/verdict/signals.h: what tells causes apart that look the same in a table of means: tails, bursts,
 * one slow worker, one slow part of the data, a shared link, drift; and the counterfactuals: what a replay
 * gains when one thing is made better and nothing else.
 *
 * A metric is NAN when the recording cannot tell it; a rule that needs it then abstains. */
#pragma once

#include "report/replay/costs.h"
#include "report/replay/whatif.h"
#include "report/verdict/metrics.h"

/* The causes that are weighed against each other: each is made a quarter better, what that gains is its
 * sensitivity, and its weight is its part of the sum of all. */
struct pp_weighed_cause {
    enum pp_metric weight;
    const char *name; /* in a sentence */
};
enum { PP_WEIGHED_CAUSES = 7 };
extern const struct pp_weighed_cause pp_weighed_causes[PP_WEIGHED_CAUSES];

struct pp_fix {
    int remedy;       /* enum pp_remedy_id */
    const char *knob; /* "workers" */
    char to[48];      /* "8" */
    char set[64];     /* "num_workers=8", for pp_knobs_set_all */
    const char *text; /* what to do */
    int cost; /* 0: an option; 1: other hardware or data; ties go to the cheaper. PP_AN_AMOUNT: see there */
    struct pp_knobs knobs;
    struct pp_prediction p;
};
/* "work -> half" says how much there is to gain, not what to change: it is last, and no advice has it. */
enum { PP_AN_AMOUNT = 2 };
/* For qsort: the largest gain first, and amounts last. */
int pp_fix_by_gain(const void *a, const void *b);
enum { PP_FIXES_MAX = 26 }; /* every one that signals.c may offer */

struct pp_signals {
    /* All that are PP_FROM_REPLAY (metrics.h): W_ weights, G_ gains, tails, bursts, skews, parts of the work.
     * The others are NAN. */
    double metric[PP_METRIC_COUNT];
    /* The same with exclusive CPUs, as gains over the rate that those give; not where others use few CPUs,
     * nor at a glance. */
    int has_own;
    double own[PP_METRIC_COUNT], own_wait; /* own_wait: the share of the time that the trainer waits then */
    double sensitivity;              /* gain for a quarter better of everything that is not the trainer */
    double replay_error;             /* replay as recorded over measured, minus 1 */
    struct pp_fix fix[PP_FIXES_MAX]; /* ranked */
    int fixes;
};

/* costs must be calibrated. Costs about 60 replays. */
pp_status pp_signals_read(struct pp_costs *c, struct pp_signals *out, struct pp_err *err);
/* Gain of num_workers=0 where no others use the CPUs. It saves the hand-over, whose measured time holds waits
 * for a CPU: 0 where it surely gains nothing beside them, unless many bytes are handed over per batch. */
double pp_signals_own_without_workers(const struct pp_signals *s, double handed);
/* The fix of that knob, or NULL. */
const struct pp_fix *pp_signals_fix(const struct pp_signals *s, const char *knob);

/* signals_measured.c: the signals that no replay gives: tails, skew, caches, limits, parts of the work. */

/* Into m, by metric: those of PP_FROM_COUNTERS, and of PP_FROM_REPLAY what pp_storage_read has found in c. v:
 * room for c->n. */
void pp_signals_measure(const struct pp_costs *c, float *v, double *m);

/* Of those the ones that need no sample: what CPUs the run and others use. */
void pp_signals_cpus(const struct pp_costs *c, double *m);

/* The metrics of rules about remote storages (REMOTE_, SLOW_HOST, HOT_PREFIX): from the requests of the
 * recording (report/replay/requests.h). NAN where there are none. */

/* metric: PP_METRIC_COUNT of them; others are left alone. */
void pp_remote_signals(const struct pp_costs *c, double *metric);
