/* tests/lab/results.h: what the lab has seen, one row per run, per label that was put to
 * the proof and per prediction that was checked; and the tables of it. Everything printed is counted from the
 * rows. */
#pragma once

#include "report/model/model.h"
#include "tests/lab/other_tools.h"
#include "tests/lab/scenario.h"

#include <stdio.h>

enum { LAB_OTHER_TOOLS = 16 };
/* Above this, others took enough of two CPUs to be a cause of their own. */
#define QUIET_CPUS 0.3

struct lab_run {
    const struct scenario *s;
    int level;
    unsigned seed;
    const char *l0, *l1, *l2;         /* the verdict; l1 and l2 may be NULL */
    int l0_right, l1_right, l2_right; /* l2_right is 0 for a control, which has no cause */
    double confidence, score;         /* of the verdict; NAN: it has none (report/verdict/verdict.h) */
    double wait, outside_cpus;        /* outside_cpus: what others used meanwhile; NAN: unknown */
    char first_fix[24];
    char why[256]; /* of a miss: what the true cause's rule misses; "" for none */
    struct other_tool_verdict tool[LAB_OTHER_TOOLS];
};

/* A label put to the proof by turning every knob. */
struct lab_truth {
    const struct scenario *s;
    int level;
    unsigned seed;
    int accepted, rounds; /* rounds: how often base and doubtful knobs were measured */
    double named, other;  /* best gain of a knob that the label names, and of any other */
    char best[24], first_fix[24];
    double first_gain; /* NAN: the verdict's first fix is no knob that can be turned here */
};

struct lab_prediction {
    const struct scenario *s;
    char knob[24];
    double base, predicted, low, high, measured, outside_cpus;
    int of_cause; /* the cause itself was taken away */
};

struct lab_results {
    struct lab_run *runs;
    struct lab_truth *truths;
    struct lab_prediction *predictions;
    size_t n_runs, n_truths, n_predictions, not_run;
};

/* A zeroed row at the end; NULL without memory. */
struct lab_run *lab_add_run(struct lab_results *r);
struct lab_truth *lab_add_truth(struct lab_results *r);
struct lab_prediction *lab_add_prediction(struct lab_results *r);
void lab_results_free(struct lab_results *r);

/* Fills the verdict's part of the row. */
void lab_judge(struct lab_run *row, const struct scenario *s, const struct pp_report *report);
/* "0.3"; "-" where what others used is not known. */
const char *lab_cpus_text(char *buf, size_t size, double cpus);
/* The knob that the report advises first: the fix that gains most; of what lies outside the steady state,
 * which no replay knows, the cause's own remedy. "" for none. */
const char *lab_first_fix(const struct pp_report_verdict *v);
int scenario_is_control(const struct scenario *s);
const char *scenario_level_name(int level);

void lab_tables(const struct lab_results *r, FILE *out);
