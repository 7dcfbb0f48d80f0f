#include "report/ranks/clock.h"

#include "probe/base/err.h"
#include "report/source/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERRORS 4.0
#define MOST_DRIFT 1e-3     /* clocks of computers drift by some 1e-5 */
#define MEDIAN_ERROR 1.2533 /* of a median over that of a mean */
#define SIGMA_OF_MAD 1.4826

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static double median(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct work {
    const struct pp_clock_pair *pairs;
    size_t n, blocks;
    double *left, *of_block, *middle; /* left: n; the others: one per block */
    double scratch[2 * PP_CLOCK_WINDOW];
};

static size_t first_of(const struct work *w, size_t block)
{
    return block * w->n / w->blocks;
}

static double at_of(const struct work *w, size_t i)
{
    return (double)(w->pairs[i].own_ns - w->pairs[0].own_ns);
}

static void take_medians(struct work *w)
{
    for (size_t b = 0; b < w->blocks; b++) {
        size_t from = first_of(w, b), n = first_of(w, b + 1) - from;
        memcpy(w->scratch, w->left + from, n * sizeof(double));
        w->of_block[b] = median(w->scratch, n);
        w->middle[b] = (at_of(w, from) + at_of(w, from + n - 1)) / 2;
    }
}

/* The median of the slopes between blocks that are half of the recording apart; of a single window, between
 * its halves. */
static double slope(struct work *w)
{
    size_t half = w->blocks / 2, n = 0;
    double *slopes = w->middle + w->blocks; /* behind it: as many again */
    for (size_t b = 0; half && b + half < w->blocks; b++)
        slopes[n++] = (w->of_block[b + half] - w->of_block[b]) / fmax(w->middle[b + half] - w->middle[b], 1);
    return n ? median(slopes, n) : 0;
}

static double spread_error(struct work *w, size_t block)
{
    size_t from = first_of(w, block), n = first_of(w, block + 1) - from;
    for (size_t i = 0; i < n; i++)
        w->scratch[i] = fabs(w->left[from + i] - w->of_block[block]);
    return ERRORS * MEDIAN_ERROR * SIGMA_OF_MAD * median(w->scratch, n) / sqrt((double)n);
}

static void fit(struct work *w, struct pp_clock *out)
{
    /* The first look is for the drift alone: blocks of half a window, so that one window has two. */
    for (size_t i = 0; i < w->n; i++)
        w->left[i] = (double)(int64_t)(w->pairs[i].reference_ns - w->pairs[i].own_ns -
                                       (uint64_t)out->ahead_ns);
    w->blocks = w->n / (PP_CLOCK_WINDOW / 2) > 1 ? w->n / (PP_CLOCK_WINDOW / 2) : 2;
    take_medians(w);
    out->drift = slope(w);
    for (size_t i = 0; i < w->n; i++)
        w->left[i] -= out->drift * at_of(w, i);
    w->blocks = w->n / PP_CLOCK_WINDOW ? w->n / PP_CLOCK_WINDOW : 1;
    take_medians(w);
    out->error_ns = 0;
    out->n_knots = w->blocks;
    for (size_t b = 0; b < w->blocks; b++) {
        out->knots[b] = (struct pp_clock_knot){w->middle[b], w->of_block[b]};
        out->error_ns = fmax(out->error_ns, spread_error(w, b));
    }
}

pp_status pp_clock_fit(const struct pp_clock_pair *pairs, size_t n, struct pp_clock *out, struct pp_err *err)
{
    *out = (struct pp_clock){.steps = n, .error_ns = NAN};
    if (n < PP_CLOCK_LEAST) {
        out->unknown = "fewer than 50 collective steps in common";
        return PP_OK;
    }
    size_t most = n / (PP_CLOCK_WINDOW / 2) + 2;
    struct work w = {.pairs = pairs,
                     .n = n,
                     .left = malloc(n * sizeof(double)),
                     .of_block = malloc(most * sizeof(double)),
                     .middle = malloc(2 * most * sizeof(double))};
    out->knots = malloc(most * sizeof(*out->knots));
    out->from_ns = pairs[0].own_ns;
    out->ahead_ns = (int64_t)(pairs[0].reference_ns - pairs[0].own_ns);
    pp_status st = w.left && w.of_block && w.middle && out->knots
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory to align clocks by %zu steps", n);
    if (st == PP_OK)
        fit(&w, out);
    if (st == PP_OK && !(fabs(out->drift) <= MOST_DRIFT)) {
        pp_clock_free(out);
        out->unknown = "the ends of the collective steps do not keep their distance";
        out->error_ns = NAN;
        out->drift = 0;
    }
    free(w.left);
    free(w.of_block);
    free(w.middle);
    return st;
}

void pp_clock_free(struct pp_clock *c)
{
    free(c->knots);
    c->knots = NULL;
    c->n_knots = 0;
}

/* What the line leaves at that time: between two middles of windows, in proportion. */
static double left_at(const struct pp_clock *c, double at)
{
    size_t low = 0, high = c->n_knots;
    if (!high)
        return 0;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (c->knots[middle].at_ns <= at)
            low = middle;
        else
            high = middle;
    }
    const struct pp_clock_knot *a = &c->knots[low], *b = a + 1;
    if (at <= a->at_ns || low + 1 == c->n_knots)
        return a->left_ns;
    return a->left_ns + (b->left_ns - a->left_ns) * (at - a->at_ns) / (b->at_ns - a->at_ns);
}

uint64_t pp_clock_to_reference(const struct pp_clock *c, uint64_t own_ns)
{
    double at = (double)(int64_t)(own_ns - c->from_ns);
    return own_ns + (uint64_t)c->ahead_ns + (uint64_t)llround(c->drift * at + left_at(c, at));
}

int pp_clock_order(const struct pp_clock *a, uint64_t a_ns, const struct pp_clock *b, uint64_t b_ns)
{
    double apart = (double)(int64_t)(pp_clock_to_reference(b, b_ns) - pp_clock_to_reference(a, a_ns));
    if (!(fabs(apart) > a->error_ns + b->error_ns)) /* also where an error is not known */
        return 0;
    return apart > 0 ? -1 : 1;
}
