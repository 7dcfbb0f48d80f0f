#include "report/stats/periodicity.h"

#include "probe/base/array.h"
#include "probe/base/rng.h"
#include "report/stats/order.h"

enum { LEAST_EVENTS = 4, MOST_EVENTS = 64, NEIGHBOURS = 4, SHUFFLES = 999, ENOUGH = 5 };
#define LEAST_PRESENT 0.6
#define MOST_P ((double)ENOUGH / (SHUFFLES + 1))

static const double widths[] = {0.02, 0.05, 0.1};
static const size_t levels[] = {4, 5, 6, 8, 12, 16, 24, 32, 48, 64};

struct scan {
    double span, slot;  /* slot: the lattice's spacing */
    double least, most; /* lags that are looked at */
    double *times;      /* of all events that are looked at, the heaviest first */
    double sorted[MOST_EVENTS], lags[MOST_EVENTS * NEIGHBOURS];
    size_t n_lags;
};

struct peak {
    double score, low, high;
    size_t level, pairs;
};

/* ---- one level ---- */

/* To the next few events only: the lag of a period is among them, or too many others lie between for it to be
 * seen at this level. */
static void find_lags(struct scan *s, size_t k)
{
    for (size_t i = 0; i < k; i++)
        s->sorted[i] = s->times[i];
    pp_stats_sort(s->sorted, k);
    s->n_lags = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k && j <= i + NEIGHBOURS; j++)
            s->lags[s->n_lags++] = s->sorted[j] - s->sorted[i];
    pp_stats_sort(s->lags, s->n_lags);
}

/* Lags below v. */
static size_t below(const struct scan *s, double v)
{
    return PP_BEFORE(s->n_lags, i, s->lags[i] < v);
}

/* Pairs per unit of lag in [a, b). */
static double density(const struct scan *s, double a, double b)
{
    return (double)(below(s, b) - below(s, a)) / (b - a);
}

static double score_of(double pairs, double expected)
{
    return pairs > expected ? pairs * log(pairs / expected) - (pairs - expected) : 0;
}

/* Of a window of lags [a, b] with so many pairs; beside is looked at only where it can matter. */
static double score_window(const struct scan *s, size_t k, double a, double b, double pairs, double to_beat)
{
    double width = fmax(b - a, s->slot), middle = (a + b) / 2;
    double uniform = (double)k * (double)(k - 1) / (s->span * s->span) * (s->span - middle);
    if (score_of(pairs, uniform * width) <= to_beat)
        return 0;
    double beside = fmax(density(s, 0.6 * a, 0.85 * a), density(s, 1.15 * b, 1.5 * b));
    return score_of(pairs, fmax(uniform, beside) * width);
}

static struct peak scan_levels(struct scan *s, size_t n)
{
    struct peak best = {0};
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels) && levels[i] <= n; i++) {
        find_lags(s, levels[i]);
        for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
            size_t end = 0;
            for (size_t at = 0; at < s->n_lags; at++) {
                double low = s->lags[at], high = low * (1 + widths[w]) / (1 - widths[w]);
                while (end < s->n_lags && s->lags[end] <= high)
                    end++;
                if (low < s->least || high > s->most * (1 + widths[w]) || end - at < LEAST_EVENTS - 1)
                    continue;
                double score = score_window(s, levels[i], low, high, (double)(end - at), best.score);
                if (score > best.score)
                    best = (struct peak){score, low, high, levels[i], end - at};
            }
        }
    }
    return best;
}

/* ---- significance ---- */

static double significance(struct scan *s, const struct pp_stats_event *order, size_t n, double reach,
                           double score)
{
    int as_large = 0, draws = 0;
    while (draws < SHUFFLES && as_large < ENOUGH) {
        /* Each event in a random slot at most `reach` away from where it was; the run's ends send it back. */
        struct pp_rng rng = pp_rng_key((uint64_t)++draws, n, 0, 91);
        for (size_t i = 0; i < n; i++) {
            double from = fmax(order[i].t - reach, 0), to = fmin(order[i].t + reach, s->span);
            s->times[i] = floor((from + pp_rng_unit(&rng) * (to - from)) / s->slot) * s->slot;
        }
        as_large += scan_levels(s, n).score >= score;
    }
    return as_large < ENOUGH ? (double)(as_large + 1) / (SHUFFLES + 1) : (double)as_large / draws;
}

/* ---- the events that make the period ---- */

int pp_stats_in_period(const struct pp_stats_event *e, size_t n, size_t i, const struct pp_period *p)
{
    if (e[i].weight < p->weight)
        return 0;
    for (size_t j = i + 1; j < n && e[j].t - e[i].t <= p->high; j++)
        if (e[j].weight >= p->weight && e[j].t - e[i].t >= p->low)
            return 1;
    for (size_t j = i; j-- > 0 && e[i].t - e[j].t <= p->high;)
        if (e[j].weight >= p->weight && e[i].t - e[j].t >= p->low)
            return 1;
    return 0;
}

static void gather(const struct pp_stats_event *e, size_t n, struct pp_period *out)
{
    double first = 0, last = 0;
    out->events = 0;
    for (size_t i = 0; i < n; i++)
        if (pp_stats_in_period(e, n, i, out)) {
            first = out->events++ ? first : e[i].t;
            last = e[i].t;
        }
    out->expected = (size_t)((last - first) / out->period + 0.5) + 1;
}

PP_BY_FALLING(heavier, struct pp_stats_event, weight)

int pp_stats_period(const struct pp_stats_event *events, size_t n, double span, size_t slots,
                    double least_period, struct pp_period *out)
{
    size_t looked_at = n < MOST_EVENTS ? n : MOST_EVENTS;
    int found = 0;
    struct scan *s = calloc(1, sizeof(*s));
    struct pp_stats_event *order = malloc((n ? n : 1) * sizeof(*order));
    double times[MOST_EVENTS];
    if (!s || !order || n < LEAST_EVENTS || slots < n)
        goto out;
    for (size_t i = 0; i < n; i++)
        order[i] = events[i];
    qsort(order, n, sizeof(*order), heavier);
    for (size_t i = 0; i < looked_at; i++)
        times[i] = order[i].t;
    *s = (struct scan){
        .span = span, .slot = span / (double)slots, .least = least_period, .most = span / 3, .times = times};
    struct peak best = scan_levels(s, looked_at);
    if (best.pairs == 0)
        goto out;
    find_lags(s, best.level);
    size_t from = below(s, best.low);
    *out = (struct pp_period){.period = pp_stats_median_sorted(s->lags + from, best.pairs),
                              .low = best.low,
                              .high = best.high,
                              .weight = order[best.level - 1].weight / 2};
    gather(events, n, out);
    double jitter = out->period;
    /* A lag of several periods may score as high. Then more events come than one to a period, and the period
     * is that part of it. */
    double parts = out->expected > 1 ? round((double)(out->events - 1) / (double)(out->expected - 1)) : 1;
    struct pp_period finer = *out;
    finer.period = out->period / parts;
    finer.low = out->low / parts - s->slot / 2;
    finer.high = out->high / parts + s->slot / 2;
    if (parts >= 2)
        gather(events, n, &finer);
    if (parts >= 2 && (double)finer.events >= LEAST_PRESENT * (double)finer.expected)
        *out = finer;
    if ((double)out->events < LEAST_PRESENT * (double)out->expected)
        goto out;
    out->p = significance(s, order, looked_at, span, best.score);
    if (out->p <= MOST_P) { /* among lags near it alone, and events that keep their clusters */
        s->least = fmax(s->least, best.low / 2);
        s->most = fmin(s->most, best.high * 2);
        out->p = fmax(out->p, significance(s, order, looked_at, jitter, best.score));
    }
    found = out->p <= MOST_P;
out:
    free(order);
    free(s);
    return found;
}
