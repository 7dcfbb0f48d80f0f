/* compare/run.h: what a comparison knows of one recorded run: one number per metric, where a batch's time
 * went, the verdict, and on what it ran. Plain data: from a recording (compare/load.h), from a baseline
 * (ci/baseline.h), or made by a test. */
#ifndef PP_COMPARE_RUN_H
#define PP_COMPARE_RUN_H

#include "report/compare/metrics.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

#include <stddef.h>

/* On what a thread spends a phase's time. UNSPLIT: the recording did not measure CPU time there. */
enum pp_part { PP_PART_CPU, PP_PART_RUN_DELAY, PP_PART_BLOCKED, PP_PART_UNSPLIT, PP_PART_COUNT };
const char *pp_part_name(enum pp_part part); /* "cpu", "waiting for a CPU", "blocked", "" */

struct pp_run_field {
    char *name; /* "kernel": of the environment; "config.workers": an option as used */
    char *value;
};

/* Why a run has no value of a metric: a key for baselines, and words for people. */
enum pp_why {
    PP_WHY_UNKNOWN, /* it has one, or the reason is not known */
    PP_WHY_NO_FIRST_BATCH,
    PP_WHY_NO_STEADY_STATE,
    PP_WHY_NO_STEP,
    PP_WHY_NO_WAIT,
    PP_WHY_NO_CPU_TIME, /* of timings */
    PP_WHY_NO_EPOCH,
    PP_WHY_LOST_SPANS,
    PP_WHY_PART_OF_EPOCH,
    PP_WHY_NOT_COUNTED,
    PP_WHY_MAPPED,         /* of counts */
    PP_WHY_COUNTS_SAMPLES, /* these two: which of the two throughputs a run has */
    PP_WHY_NO_SAMPLES,
    PP_WHY_COUNT
};
const char *pp_why_key(enum pp_why why);    /* "no-epoch"; "" for UNKNOWN */
const char *pp_why_text(enum pp_why why);   /* "no epoch was completed; give --epochs"; "" for UNKNOWN */
enum pp_why pp_why_of_key(const char *key); /* UNKNOWN for NULL and for what this version does not know */

/* How much a metric moved within one run: quartiles over equal windows of its steady state. It says nothing
 * of the difference from run to run. */
enum { PP_RUN_WINDOWS = 10 };
struct pp_run_spread {
    int known;       /* the steady state is long enough for the windows */
    double window_s; /* length of one */
    double low[PP_CMP_COUNT_OF_METRICS], high[PP_CMP_COUNT_OF_METRICS]; /* NAN: this metric has none */
};

struct pp_run {
    char *path;
    char session[24];  /* this recording and no other, whatever its file is called; empty: unknown */
    char outcome[16];  /* "finished", or why it is no sample */
    char subject[160]; /* whose pipeline was recorded; empty: unknown */
    char l0[24], l1[24], l2[32];              /* verdict; l1 and l2 may be empty */
    double metric[PP_CMP_COUNT_OF_METRICS];   /* NAN: not measured */
    enum pp_why why[PP_CMP_COUNT_OF_METRICS]; /* of those that are NAN */
    double batch_s;                           /* steady-state time per batch */
    struct pp_run_spread spread;              /* not of runs from a baseline file */
    /* Seconds per batch, per thread of the lane: the parts of one lane, waiting included, add up to batch_s.
     */
    double part_s[PP_LANE_COUNT][PP_PHASE_COUNT][PP_PART_COUNT];
    struct pp_run_field *field;
    size_t n_fields;
};

/* Everything unknown, no fields; the path is copied. 0 when memory ran out. */
int pp_run_init(struct pp_run *r, const char *path);
void pp_run_free(struct pp_run *r); /* half-built is fine */

/* Sets or replaces; 0 when memory ran out. */
int pp_run_set_field(struct pp_run *r, const char *name, const char *value);
const char *pp_run_field(const struct pp_run *r, const char *name); /* NULL when absent */

/* A list of runs that owns them. */
struct pp_runs {
    struct pp_run *run;
    size_t n;
};
/* A new, zeroed element at the end, or NULL. */
struct pp_run *pp_runs_push(struct pp_runs *runs);
void pp_runs_free(struct pp_runs *runs);

#endif
