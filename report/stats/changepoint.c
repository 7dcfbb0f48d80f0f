#include "report/stats/changepoint.h"

#include "probe/base/err.h"
#include "report/stats/order.h"
#include "report/stats/tests.h"

#define LAX 10 /* first pass, as in Hunter */

struct search {
    const double *x;
    size_t n;
    double *distance; /* (n + 1)^2 prefix sums: distance[i][j] = sum of |x_a - x_b| over a < i, b < j */
    size_t *split;    /* ascending; split[0] = 0 and split[n_splits - 1] = n are the ends */
    size_t n_splits;
};

/* Sum of distances between [a, b) and [c, d). */
static double between(const struct search *s, size_t a, size_t b, size_t c, size_t d)
{
    size_t w = s->n + 1;
    return s->distance[b * w + d] - s->distance[a * w + d] - s->distance[b * w + c] + s->distance[a * w + c];
}

/* Matteson and James, section 2: m n / (m + n) times the energy distance. A square counts each pair twice. */
static double energy(const struct search *s, size_t from, size_t at, size_t to)
{
    double m = (double)(at - from), n = (double)(to - at);
    double cross = 2 * between(s, from, at, at, to) / (m * n);
    double left = between(s, from, at, from, at) / (m * (m - 1)),
           right = between(s, at, to, at, to) / (n * (n - 1));
    return m * n / (m + n) * (cross - left - right);
}

/* A split of a segment at `at`, judged against what follows up to `until` only: a burst shows where the whole
 * rest would hide it. */
struct split {
    size_t at, until;
};

static double p_of(const struct search *s, size_t from, size_t at, size_t to)
{
    return pp_student(s->x + from, at - from, s->x + at, to - at);
}

/* Depth of recursion: at most n / PP_CHANGE_SEGMENT_MIN. */
static void divide(struct search *s, size_t from, size_t to, double max_p)
{
    /* The best split of [from, to) over both (the paper's tau and kappa); at is 0 when the segment is too
     * short. Ties go to the earliest. */
    struct split best = {0, 0};
    double most = -INFINITY;
    for (size_t at = from + PP_CHANGE_SEGMENT_MIN; at + PP_CHANGE_SEGMENT_MIN <= to; at++)
        for (size_t until = at + PP_CHANGE_SEGMENT_MIN; until <= to; until++) {
            double q = energy(s, from, at, until);
            if (q > most) {
                most = q;
                best = (struct split){at, until};
            }
        }
    if (!best.at || !(p_of(s, from, best.at, best.until) < max_p))
        return;
    divide(s, from, best.at, max_p);
    s->split[s->n_splits++] = best.at; /* in order: what is left of it came first */
    divide(s, best.at, to, max_p);
}

/* Takes the weakest split away until all that are left hold between their neighbours. */
static void merge_splits(struct search *s, double max_p)
{
    for (;;) {
        size_t weakest = 0;
        double highest = max_p;
        for (size_t i = 1; i + 1 < s->n_splits; i++) {
            double p = p_of(s, s->split[i - 1], s->split[i], s->split[i + 1]);
            if (p >= highest) {
                highest = p;
                weakest = i;
            }
        }
        if (!weakest)
            return;
        memmove(s->split + weakest, s->split + weakest + 1, (s->n_splits - weakest - 1) * sizeof(*s->split));
        s->n_splits--;
    }
}

pp_status pp_change_points(const double *series, size_t n, const struct pp_change_opts *opts,
                           struct pp_change **out, size_t *n_out, struct pp_err *err)
{
    struct search s = {.x = series, .n = n};
    pp_status st = PP_OK;
    *out = NULL;
    *n_out = 0;
    if (n > PP_CHANGE_MAX)
        return pp_fail(err, PP_E_USAGE,
                       "a series of %zu values is too long to search for changes; give the last %d", n,
                       PP_CHANGE_MAX);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(series[i]))
            return pp_fail(err, PP_E_USAGE, "value %zu of the series is not finite", i + 1);
    s.distance = calloc((n + 1) * (n + 1), sizeof(*s.distance));
    s.split = malloc((n + 2) * sizeof(*s.split));
    *out = malloc((n + 1) * sizeof(**out));
    if (!s.distance || !s.split || !*out) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to search %zu values for changes", n);
        goto out;
    }
    for (size_t i = 1, w = n + 1; i < w; i++)
        for (size_t j = 1; j < w; j++)
            s.distance[i * w + j] = fabs(series[i - 1] - series[j - 1]) + s.distance[(i - 1) * w + j] +
                                    s.distance[i * w + j - 1] - s.distance[(i - 1) * w + j - 1];
    s.split[s.n_splits++] = 0;
    divide(&s, 0, n, fmin(0.5, LAX * opts->max_p));
    s.split[s.n_splits++] = n;
    merge_splits(&s, opts->max_p);
    for (size_t i = 1; i + 1 < s.n_splits; i++) {
        size_t from = s.split[i - 1], at = s.split[i], to = s.split[i + 1];
        double before = pp_stats_median(s.x + from, at - from), after = pp_stats_median(s.x + at, to - at);
        if (fabs(after - before) >= opts->min_change * fabs(before))
            (*out)[(*n_out)++] = (struct pp_change){.at = at,
                                                    .before = before,
                                                    .after = after,
                                                    .p = p_of(&s, from, at, to)};
    }
out:
    free(s.distance);
    free(s.split);
    if (st != PP_OK) {
        free(*out);
        *out = NULL;
    }
    return st;
}
