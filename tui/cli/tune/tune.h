/* tui/cli/tune/tune.h: what the parts of `pipeprobe tune` share: the candidates, from the prediction to the
 * measurement, and how they are shown. */
#ifndef PP_TUI_CLI_TUNE_TUNE_H
#define PP_TUI_CLI_TUNE_TUNE_H

#include "probe/base/opts.h"
#include "report/render/answer.h"
#include "tui/cli/tune/tune_run.h"

#include <stddef.h>
#include <stdio.h>

/* What a change gained, from the rates of a few runs each, with an 80 % interval
 * like the predictions have. Pure computation.
 *
 * Rates are compared as logarithms: log gain = mean(log changed) - mean(log base). Its variance is
 * s^2 (1/n + 1/m), s^2 the variance between runs of the same thing, pooled over all of them, with Student's t
 * for its degrees of freedom. Two runs that happen to agree make s small by chance, so the scatter within the
 * runs (their slices) is a floor: half = max(t s, z w). */

enum { TUNE_REPEATS_MAX = 20, TUNE_RUNS_MAX = TUNE_REPEATS_MAX + 1 };

/* Runs of one thing that were measured. */
struct tune_sample {
    double rate[TUNE_RUNS_MAX], noise[TUNE_RUNS_MAX]; /* as in struct tune_run */
    size_t n;
};

struct tune_gain {
    double gain, low, high; /* 0.4 is +40 %; NAN: not known */
};

/* Between runs of the same thing: the pooled standard deviation of log rates, and its degrees of freedom; NAN
 * and 0 when nothing was run twice. */
double tune_spread(const struct tune_sample *samples, size_t n, size_t *freedom);
/* spread and freedom: as tune_spread says of all samples of the session. */
struct tune_gain tune_gain_of(const struct tune_sample *base, const struct tune_sample *changed,
                              double spread, size_t freedom);
double tune_median(const struct tune_sample *s);
void tune_range(const struct tune_sample *s, double *least, double *most);

enum { TUNE_CANDIDATES_MAX = 32, TUNE_FIXES_MAX = 3 };

struct tune_candidate {
    struct tune_set set;
    char words[TUNE_TEXT];      /* "num_workers=8, prefetch_factor=4" */
    struct tune_gain predicted; /* over the first baseline; NAN: no replay knows the change */
    struct tune_sample sample;
    struct tune_gain measured;
    char why[320];            /* not, or not wholly, measured: the reason; else "" */
    char left[320];           /* what was asked for beside set and could not be applied, and why */
    char recording[PATH_MAX]; /* of the last run */
};

struct tune_session {
    struct tune_job job;
    struct tune_run baseline;         /* the first: predictions are made from it */
    const struct tune_loader *loader; /* of baseline.loaders: the one that is changed */
    struct tune_sample base;          /* all baselines */
    struct tune_candidate candidate[TUNE_CANDIDATES_MAX];
    int candidates;
    double spread; /* tune_spread of the whole session */
    size_t freedom;
    int best;          /* of the candidates; -1: none gains for sure */
    char verdict[480]; /* the sentence of the first baseline's report */
    char advice[480];  /* its next step, and what that is predicted to gain; "": none */
    char advice_gain[PP_ANSWER_TEXT];
    int asked;          /* the changes are the user's (--try) */
    int inconclusive;   /* its verdict */
    int is_other;       /* the report, and what it predicts, is about another loader than this one */
    char left_out[480]; /* a fix that is predicted to gain, and why the loader does not take it; "": none */
};

/* ---- tune.c: what `verify` shares ---- */

/* What could not be measured, and is known before it is run. */
pp_status tune_check_job(char *const *program, struct pp_err *err);
void tune_add_run(struct tune_sample *sample, const struct tune_run *r);

/* ---- tune_plan.c ---- */

/* The candidates: those of tries, else the best fixes of the baseline's report that are arguments of a
 * DataLoader and gain 3 % or more; with their predictions. What cannot be applied to the loader is left out,
 * and said on notes (NULL: nowhere). Of a loader that the report is not about nothing is predicted. */
pp_status tune_plan(struct tune_session *s, const struct pp_opt_list *tries, FILE *notes, struct pp_err *err);

/* The prediction of a candidate of which a part was not applied. */
void tune_predict_again(struct tune_session *s, struct tune_candidate *c);

/* ---- tune_result.c ---- */

/* Gains, the best candidate, and the table of proofs of the first baseline's recording; a failure is that of
 * the table alone. */
pp_status tune_sum_up(struct tune_session *s, struct pp_err *err);
/* "+41 % (+36 to +47 %)"; "not known" */
char *tune_percent(const struct tune_gain *g, char *text, size_t size);
/* "the DataLoader made first of 2: ImageFolder, 1,281 samples, batch_size=64, num_workers=2" */
char *tune_loader_text(const struct tune_session *s, char *text, size_t size);
void tune_print(const struct tune_session *s, FILE *out);
void tune_print_json(const struct tune_session *s, FILE *out);
void tune_print_md(const struct tune_session *s, FILE *out); /* nothing of a stranger's */

#endif
