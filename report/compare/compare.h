/* compare/compare.h: repeated runs of BASE against repeated runs of HEAD: one model, computed once; renderers
 * compute nothing.
 *
 * The run is the sample, never the batch: batches of one run share its page cache, its neighbours and its
 * clock. Or the pair of runs is, when run k of both sides was made side by side (ci run --ab). Per metric
 * there are three answers:
 *   regressed      the lower end of the interval of the ratio, turned so that more is worse, is above
 *                  1 + threshold, and p over all gated questions is below alpha. Runs: bootstrap interval of
 *                  the ratio of medians, Mann-Whitney's p adjusted by Holm (stats/bootstrap.h, tests.h).
 *                  Pairs: signed-rank interval of the ratios within pairs, sign-flip p over all questions at
 *                  once (stats/paired.h)
 *   not regressed  the upper end is below 1 + threshold
 *   inconclusive   anything else, with the reason; always when so few runs could never show a regression
 *
 * A COUNT metric that is the same in all runs of a side is compared exactly: there is no noise to test
 * against, one run is enough. A change of the verdict's class is a question of its own (Fisher's exact test
 * over runs, sign flips over pairs), in the same family. */
#pragma once

#include "report/compare/run.h"
#include "report/stats/order.h"

/* May these runs be compared at all? A declared table of fields that must be equal. */

/* What a difference means: never comparable without --allow-env, for different reasons. */
enum pp_same {
    PP_SAME_MACHINE, /* between sides: not comparable unless allowed */
    PP_SAME_WORK,    /* likewise: other data or another trainer, so the numbers are of another question */
};

struct pp_same_field {
    const char *name;
    enum pp_same what;
    double tolerance; /* relative, for numbers; 0: equal as text */
    const char *text;
};

/* The table, ending with name == NULL. */
extern const struct pp_same_field pp_same_fields[];

struct pp_difference {
    const char *name;        /* of the table, or of the runs' field */
    const char *base, *head; /* values, owned by the runs; "unknown" when one side lacks it */
    const char *base_path, *head_path;
};

/* Finds the fields of the table in which any run differs from the first of b, at most max; allow (may be
 * NULL) ends with NULL and names fields to be left out, "all" for every one. Returns how many. Both sides
 * have at least one run. */
size_t pp_differences(const struct pp_runs *a, const struct pp_runs *b, const char *const *allow,
                      struct pp_difference *out, size_t max);

/* Options ("config.") that differ between the first runs of both and are not in the table: what was changed
 * on purpose. */
size_t pp_config_changes(const struct pp_run *a, const struct pp_run *b, struct pp_difference *out,
                         size_t max);

/* A short text that is the same for runs of the same machine, work and options: "AMD EPYC, 2 CPUs,
 * image-folder [8f3a12cd]". Kernel and library versions are not part of it: when they change a history, it is
 * to show. buf of at least 128 bytes. */
void pp_series_name(const struct pp_run *r, char *buf, size_t size);

/* ---- the comparison ---- */

enum pp_answer { PP_NOT_REGRESSED, PP_REGRESSED, PP_INCONCLUSIVE, PP_NOT_MEASURED };
extern const char *const pp_answer_names[]; /* "not-regressed", ...; ends with NULL */

struct pp_compare_opts {
    double alpha;       /* 0.01 */
    double confidence;  /* 0.95, of the intervals */
    uint32_t resamples; /* 10000 */
    uint64_t seed;
    /* Of alpha and of 1 - confidence, when this comparison may look again at more data: the shares of all
     * looks add up to 1 (Bonferroni), so that buying more runs when the first look was inconclusive does not
     * buy false alarms. 1: this is the only look. */
    double look_share;
    int paired; /* run k of BASE and run k of HEAD were made side by side; PP_E_USAGE if the sides differ */
    int refuse_below_noise; /* a threshold below the A/A noise floor gives no "not regressed", and "regressed"
                               only beyond the floor */
    int gate_verdict;       /* a verdict that changed for the worse is a regression */
    const char *const *allow; /* fields of the environment that may differ; ends with NULL; may be NULL */
    double threshold[PP_CMP_COUNT_OF_METRICS];
    unsigned char gated[PP_CMP_COUNT_OF_METRICS];
};
/* The defaults above, all metrics gated with their table's thresholds. */
void pp_compare_defaults(struct pp_compare_opts *o);

struct pp_compare_metric {
    enum pp_cmp_id id;
    int gated, exact, improved;
    enum pp_answer answer;
    double base_median, head_median;
    double change; /* head_median / base_median - 1, as shown; NAN when base is zero or one side is missing */
    double ratio, low, high; /* times worse, with its interval; NAN when not computed */
    double u;                /* of Mann-Whitney; NAN for pairs, and when not tested */
    double p,
        p_all; /* NAN when not tested; p_all: over all gated questions together, p for what is not gated */
    double p_better;    /* as p_all, that it got better; the same as p_all where the test is two-sided */
    double threshold;   /* as a share */
    double noise_floor; /* what A/A of these runs shows, as a share; NAN when not computed */
    double *pair; /* of pairs: log of times worse, one per pair; NULL when not tested pair by pair; owned by
                     the comparison */
    double *base, *head; /* raw values, one per run, NAN where missing; n_base and n_head of the comparison;
                            owned by it */
    size_t measured_base, measured_head;
    enum pp_why base_why, head_why;                  /* of the first run of the side that has no value */
    struct pp_outliers base_outliers, head_outliers; /* reported, never removed */
    char reason[300];                                /* why inconclusive or not measured; else empty */
};

/* "input-bound/storage": L0 and L1. Finer changes are no finding. */
struct pp_compare_verdict {
    enum pp_answer answer;       /* NOT_REGRESSED when the class is the same or changed for the better */
    int changed;                 /* beyond chance */
    char base[56], head[56];     /* the commonest class of each side */
    size_t base_runs, head_runs; /* runs that show their side's class */
    double p, p_all;
    double *pair; /* 1: HEAD alone shows another class than BASE's commonest, -1: BASE alone; NULL when not
                     paired; owned by the comparison */
    char sentence[240];
};

/* Where the difference in time per batch sits. Worker lanes are per thread: a lane's parts add up to it. */
struct pp_compare_part {
    pp_lane lane;
    pp_phase phase;
    enum pp_part part;
    double base_s, head_s; /* medians over runs */
};

/* Where the time of a sample goes on each side: the mean over its runs, so that a side's kinds add up to the
 * mean time of a sample. */
struct pp_compare_spent {
    enum pp_spent kind;
    double base_ns, head_ns;
};

#define PP_COMPARE_DIFFERENCES 64

struct pp_compare {
    const char *base_label, *head_label;     /* the caller's */
    const char *base_subject, *head_subject; /* of the side's first run; "": unknown */
    size_t n_base, n_head;
    double level, confidence; /* alpha and confidence of this look */
    size_t runs_needed;       /* on each side, for a regression to be shown at all */
    struct pp_compare_opts opts;
    struct pp_compare_metric metric[PP_CMP_COUNT_OF_METRICS];
    struct pp_compare_verdict verdict;
    double base_batch_s, head_batch_s;             /* medians; NAN when unknown */
    struct pp_run_spread base_spread, head_spread; /* of single runs: of the first run of the side */
    struct pp_compare_part *part; /* largest difference first; only those with a share in it */
    size_t n_parts;
    struct pp_compare_spent spent[PP_SPENT_KINDS];
    size_t n_spent;        /* 0: a run does not say */
    char attribution[240]; /* "+3.1 ms per batch (12.0 -> 15.1 ms), of which decode cpu +2.9 ms"; empty when
                              nothing moved */
    struct pp_difference allowed[PP_COMPARE_DIFFERENCES]; /* of the environment, allowed on request */
    size_t n_allowed;
    struct pp_difference change[PP_COMPARE_DIFFERENCES]; /* options that differ */
    size_t n_changes;
    size_t regressed, inconclusive; /* gated findings, the verdict's class among them */
    enum pp_answer answer;
    char sentence[480];
};

struct pp_compare_side {
    const char *label;
    const struct pp_runs *runs;
};

/* PP_E_INCONCLUSIVE: not comparable (environment, an unfinished run, a run without batches or rate), with the
 * name of the field or file. PP_E_EMPTY: a side without runs. PP_E_USAGE: the same run twice, pairs without
 * partners, options out of range. On PP_OK free with pp_compare_free; the runs must live as long as the
 * comparison. Any thread. */
pp_status pp_compare_build(const struct pp_compare_side *base, const struct pp_compare_side *head,
                           const struct pp_compare_opts *opts, struct pp_compare *out, struct pp_err *err);
void pp_compare_free(struct pp_compare *c);

/* Whether the runs may stand for their side: finished, with batches and a rate, each of them once,
 * repetitions of each other. */
pp_status pp_compare_check_side(const struct pp_compare_side *side, struct pp_err *err);

/* Whether head may be compared with base at all, as pp_compare_build asks: before runs are made in vain. */
pp_status pp_compare_check_environment(const struct pp_runs *base, const struct pp_runs *head,
                                       const struct pp_compare_opts *o, struct pp_err *err);

/* Inconclusive for want of runs, not for want of a measurement: more of the same runs may settle it. */
int pp_compare_more_runs_help(const struct pp_compare *c);

/* 0, 1 or 3; strict turns 3 into 1. */
int pp_compare_exit_code(const struct pp_compare *c, int strict);

/* A step of pp_compare_build (judge.c): measures every metric and the verdict's class, adjusts all p-values
 * and answers. */
pp_status pp_compare_judge(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                           struct pp_err *err);
