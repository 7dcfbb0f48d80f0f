/* report/verdict/signals.h: what tells causes apart that look the same in a table of means: tails, bursts,
 * one slow worker, one slow part of the data, a shared link, drift; and the counterfactuals: what a replay
 * gains when one thing is made better and nothing else.
 *
 * Everything is NAN when it cannot be told; a rule that needs it then abstains. */
#ifndef PP_REPORT_VERDICT_SIGNALS_H
#define PP_REPORT_VERDICT_SIGNALS_H

#include "report/replay/storage.h"
#include "report/replay/whatif.h"

/* The causes that are weighed against each other: each is made a quarter better, and what that gains is its
 * sensitivity. */
enum pp_cause {
    PP_CAUSE_STORAGE,
    PP_CAUSE_ERRORS,
    PP_CAUSE_LOCK,
    PP_CAUSE_WORK,
    PP_CAUSE_COPY,
    PP_CAUSE_SYNC,
    PP_CAUSE_COLLECTIVE,
    PP_CAUSES
};

struct pp_fix {
    const char *knob; /* "workers" */
    char to[48];      /* "8" */
    const char *text; /* what to do */
    int cost;         /* 0: an option; 1: other hardware or data; ties go to the cheaper */
    struct pp_knobs knobs;
    struct pp_prediction p;
};
enum { PP_FIXES_MAX = 16 }; /* every one that signals.c may offer */

struct pp_signals {
    double weight[PP_CAUSES]; /* sensitivities as parts of their sum */
    double sensitivity;       /* their sum: gain for a quarter better of everything that is not the trainer */
    double replay_error;      /* replay as recorded over measured, minus 1 */
    double cpus_workers;      /* gain of the CPUs to ourselves, with a worker for each; NAN: there are as many
                                 workers, or nobody competes */
    double read_tail,
        read_burst; /* p99 / p50 of time blocked; part of the slow reads that come together on most workers */
    double shard_skew;  /* slowest of 16 parts of the data over the median one, by the median time blocked in
                           reads */
    double work_tail;   /* CPU time of samples: p99 / p50 */
    double worker_skew; /* slowest worker over the median one, per sample */
    double read_serial; /* 0..1: how exactly reads finish one by one at a fixed rate of bytes (correlation) */
    double read_bytes;  /* mean */
    double hit_share, first_touch; /* reads answered by the page cache, of those that told; samples seen for
                                      the first time */
    double fits_memory;            /* dataset bytes over available memory */
    double drift;                  /* median time blocked in reads after the sharpest change over before it */
    double drift_at;               /* where, as a part of the window */
    double transform_part, collate_part; /* of the workers' CPU time */
    double copy_cpu;                     /* of the copies' time */
    double contended;                    /* CPUs that others used, of the usable ones */
    double throttled;
    double major_faults;             /* per sample: reads of mapped memory that was not there */
    struct pp_fix fix[PP_FIXES_MAX]; /* ranked */
    int fixes;
};

/* costs must be calibrated. Costs about 60 replays. */
pp_status pp_signals_read(struct pp_costs *c, struct pp_signals *out, struct pp_err *err);
/* The fix of that knob, or NULL. */
const struct pp_fix *pp_signals_fix(const struct pp_signals *s, const char *knob);

#endif
