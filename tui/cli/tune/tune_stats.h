/* tui/cli/tune/tune_stats.h: what a change gained, from the rates of a few runs each, with an 80 % interval
 * like the predictions have. Pure computation.
 *
 * Rates are compared as logarithms: log gain = mean(log changed) - mean(log base). Its variance is
 * s^2 (1/n + 1/m), s^2 the variance between runs of the same thing, pooled over all of them, with Student's t
 * for its degrees of freedom. Two runs that happen to agree make s small by chance, so the scatter within the
 * runs (their slices) is a floor: half = max(t s, z w). */
#ifndef PP_TUI_CLI_TUNE_TUNE_STATS_H
#define PP_TUI_CLI_TUNE_TUNE_STATS_H

#include <stddef.h>

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

#endif
