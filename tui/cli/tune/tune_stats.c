#include "tui/cli/tune/tune_stats.h"

#include "report/stats/order.h"

#include <math.h>

/* Student's t and the normal distribution, quantile 0.9: two-sided 80 %. Abramowitz and Stegun, table 26.10.
 */
static const double t90[] = {NAN,   3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415,
                             1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341};
enum { T_ROWS = sizeof(t90) / sizeof(*t90) };
static const double z90 = 1.2816;

static double mean_log(const struct tune_sample *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += log(s->rate[i]);
    return s->n ? sum / (double)s->n : NAN;
}

double tune_spread(const struct tune_sample *samples, size_t n, size_t *freedom)
{
    double squares = 0;
    *freedom = 0;
    for (size_t i = 0; i < n; i++) {
        double mean = mean_log(&samples[i]);
        for (size_t k = 0; k < samples[i].n; k++)
            squares += pow(log(samples[i].rate[k]) - mean, 2);
        *freedom += samples[i].n ? samples[i].n - 1 : 0;
    }
    return *freedom ? sqrt(squares / (double)*freedom) : NAN;
}

/* The variance of mean_log, as far as the runs know it themselves. */
static double within(const struct tune_sample *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += isnan(s->noise[i]) ? 0 : s->noise[i] * s->noise[i];
    return sum / (double)(s->n * s->n);
}

struct tune_gain tune_gain_of(const struct tune_sample *base, const struct tune_sample *changed,
                              double spread, size_t freedom)
{
    struct tune_gain g = {NAN, NAN, NAN};
    if (!base->n || !changed->n)
        return g;
    double estimate = mean_log(changed) - mean_log(base);
    double between = freedom ? (freedom < T_ROWS ? t90[freedom] : z90) * spread *
                                   sqrt(1.0 / (double)base->n + 1.0 / (double)changed->n)
                             : 0;
    double half = fmax(between, z90 * sqrt(within(base) + within(changed)));
    g.gain = exp(estimate) - 1;
    if (half > 0) {
        g.low = exp(estimate - half) - 1;
        g.high = exp(estimate + half) - 1;
    }
    return g;
}

double tune_median(const struct tune_sample *s)
{
    return pp_stats_median(s->rate, s->n);
}

void tune_range(const struct tune_sample *s, double *least, double *most)
{
    *least = *most = NAN;
    for (size_t i = 0; i < s->n && s->n > 1; i++) {
        *least = isnan(*least) || s->rate[i] < *least ? s->rate[i] : *least;
        *most = isnan(*most) || s->rate[i] > *most ? s->rate[i] : *most;
    }
}
