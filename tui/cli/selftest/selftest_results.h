/* tui/cli/selftest/selftest_results.h: what a selftest has seen, one row per run, per label that was put to
 * the proof and per prediction that was checked; and the tables of it. Everything printed is counted from the
 * rows. */
#ifndef PP_TUI_CLI_SELFTEST_SELFTEST_RESULTS_H
#define PP_TUI_CLI_SELFTEST_SELFTEST_RESULTS_H

#include "report/model/model.h"
#include "tui/cli/selftest/rivals.h"
#include "tui/cli/selftest/scenario.h"

#include <stdio.h>

enum { SELFTEST_RIVALS = 16 };
/* Above this, others took enough of two CPUs to be a cause of their own. */
#define QUIET_CPUS 0.3

struct selftest_run {
    const struct scenario *s;
    int level;
    unsigned seed;
    const char *l0, *l1, *l2;         /* the verdict; l1 and l2 may be NULL */
    int l0_right, l1_right, l2_right; /* l2_right is 0 for a control, which has no cause */
    double wait, outside_cpus;        /* outside_cpus: what others used meanwhile; NAN: unknown */
    char first_fix[24];
    char why[256]; /* of a miss: what the true cause's rule misses; "" for none */
    struct pp_rival_verdict rival[SELFTEST_RIVALS];
};

/* A label put to the proof by turning every knob. */
struct selftest_truth {
    const struct scenario *s;
    int level;
    unsigned seed;
    int accepted, rounds; /* rounds: how often base and doubtful knobs were measured */
    double named, other;  /* best gain of a knob that the label names, and of any other */
    char best[24], first_fix[24];
    double first_gain; /* NAN: the verdict's first fix is no knob that can be turned here */
};

struct selftest_prediction {
    const struct scenario *s;
    char knob[24];
    double base, predicted, low, high, measured, outside_cpus;
    int of_cause; /* the cause itself was taken away */
};

struct selftest_results {
    struct selftest_run *runs;
    struct selftest_truth *truths;
    struct selftest_prediction *predictions;
    size_t n_runs, n_truths, n_predictions, not_run;
};

/* A zeroed row at the end; NULL without memory. */
struct selftest_run *selftest_add_run(struct selftest_results *r);
struct selftest_truth *selftest_add_truth(struct selftest_results *r);
struct selftest_prediction *selftest_add_prediction(struct selftest_results *r);
void selftest_results_free(struct selftest_results *r);

/* Fills the verdict's part of the row. */
void selftest_judge(struct selftest_run *row, const struct scenario *s, const struct pp_report *report);
/* "0.3"; "-" where what others used is not known. */
const char *selftest_cpus_text(char *buf, size_t size, double cpus);
/* The knob that the report advises first: the fix that gains most; of what lies outside the steady state,
 * which no replay knows, the cause's own remedy. "" for none. */
const char *selftest_first_fix(const struct pp_report_verdict *v);
int scenario_is_control(const struct scenario *s);
const char *scenario_level_name(int level);

void selftest_tables(const struct selftest_results *r, FILE *out);

#endif
