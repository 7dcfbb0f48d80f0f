/* compare/run.h: what a comparison knows of one recorded run: one number per metric, where a batch's time
 * went, the verdict, and on what it ran. Plain data: from a recording (load.c), from a baseline
 * (ci/baseline.h), or made by a test. */
#pragma once

#include "report/model/spent.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

/* ---- what is compared between runs, as numbers and as a table (metrics.def) ---- */

enum pp_cmp_id {
#define PP_CMP_METRIC(sym, key, title, unit, better, kind, threshold, floor, text) PP_CMP_##sym,
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
    PP_CMP_COUNT_OF_METRICS
};

enum pp_cmp_unit { PP_CMP_RATE, PP_CMP_PERCENT, PP_CMP_SECONDS, PP_CMP_BYTES, PP_CMP_NUMBER };
enum pp_cmp_better { PP_CMP_HIGHER, PP_CMP_LOWER, PP_CMP_SAME };
enum pp_cmp_kind { PP_CMP_TIMING, PP_CMP_SHARE, PP_CMP_COUNT };

struct pp_cmp_metric {
    const char *key, *title, *text;
    enum pp_cmp_unit unit;
    enum pp_cmp_better better;
    enum pp_cmp_kind kind;
    double threshold, floor;
};

extern const struct pp_cmp_metric pp_cmp_metrics[PP_CMP_COUNT_OF_METRICS];
/* -1 for a name that is not in the table. */
int pp_cmp_find(const char *key);
/* All keys, ending with NULL, for pp_nearest. */
extern const char *const pp_cmp_keys[];

/* The unit as OpenMetrics and JSON consumers spell it: "samples/s", "ratio", "seconds", "bytes", "". */
extern const char *const pp_cmp_unit_names[]; /* by enum pp_cmp_unit */
/* A value as people read it, NAN as "-"; buf of at least 32 bytes. */
char *pp_cmp_value_text(char *buf, size_t size, const struct pp_cmp_metric *m, double value);
/* A change as people read it: share 0.0312 -> "+3.1 %". */
char *pp_cmp_change_text(char *buf, size_t size, double share);

/* ---- a run ---- */

/* On what a thread spends a phase's time. UNSPLIT: the recording did not measure CPU time there. */
enum pp_part { PP_PART_CPU, PP_PART_RUN_DELAY, PP_PART_BLOCKED, PP_PART_UNSPLIT, PP_PART_COUNT };
extern const char *const pp_part_names[PP_PART_COUNT]; /* "cpu", "waiting for a CPU", "blocked", "" */

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
/* "no-epoch", "no epoch was completed; give --epochs"; both "" for UNKNOWN. */
extern const struct pp_why_words {
    const char *key, *text;
} pp_whys[PP_WHY_COUNT];

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
    /* Seconds per batch, per thread of the lane: the parts of a lane, waiting included, make up batch_s. */
    double part_s[PP_LANE_COUNT][PP_PHASE_COUNT][PP_PART_COUNT];
    int has_spent;                   /* not of runs from a baseline file */
    double spent_ns[PP_SPENT_KINDS]; /* per sample, or per batch where samples are not known */
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

/* Recordings (load.c): files, directories (their *.sqlite, not below) and globs into runs, sorted by name.
 * PP_E_NOT_FOUND when a word leads to nothing; else as pp_report_build. */
pp_status pp_runs_load(const char *const *operands, size_t n, struct pp_runs *out, struct pp_err *err);
