#include "report/compare/parts.h"

#include "probe/base/err.h"
#include "report/stats/bootstrap.h"
#include "report/stats/paired.h"
#include "report/stats/tests.h"

#include <math.h>
#include <stdlib.h>

#define NOISE_CONFIDENCE 0.95

static double *values_of(const struct pp_runs *runs, enum pp_cmp_id id, size_t *measured, enum pp_why *why)
{
    double *v = malloc(runs->n * sizeof(*v));
    *measured = 0;
    for (size_t i = 0; v && i < runs->n; i++) {
        v[i] = runs->run[i].metric[id];
        if (isnan(v[i]) && *measured == i)
            *why = runs->run[i].why[id];
        *measured += !isnan(v[i]);
    }
    return v;
}

static int all_equal(const double *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0])
            return 0;
    return 1;
}

static void burdens(const struct pp_cmp_metric *m, const double *v, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = pp_cmp_burden(m, v[i]);
}

/* Both sides, each around its own median: what is left is noise, whatever changed between them. */
static pp_status noise_floor(const struct pp_compare *c, const double *base, const double *head,
                             double *floor, struct pp_err *err)
{
    size_t n = c->n_base + c->n_head;
    double *pool = malloc(n * sizeof(*pool)), of_base = pp_stats_median(base, c->n_base),
           of_head = pp_stats_median(head, c->n_head);
    struct pp_bootstrap_opts o = {.confidence = NOISE_CONFIDENCE,
                                  .resamples = c->opts.resamples,
                                  .seed = c->opts.seed};
    if (!pool)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu values", n);
    for (size_t i = 0; i < n; i++)
        pool[i] = i < c->n_base ? base[i] / of_base : head[i - c->n_base] / of_head;
    pp_status st = pp_bootstrap_noise_floor((struct pp_values){pool, n}, c->n_base, c->n_head, &o, floor,
                                            err);
    free(pool);
    return st;
}

/* One run says nothing of noise: its floor is unknown, not zero. */
static int has_spread(const struct pp_compare *c)
{
    return c->n_base > 1 && c->n_head > 1;
}

/* Side against side. */
static pp_status test_runs(const struct pp_compare *c, struct pp_compare_metric *m, const double *base,
                           const double *head, struct pp_err *err)
{
    struct pp_bootstrap_opts o = {.confidence = c->confidence,
                                  .resamples = c->opts.resamples,
                                  .seed = c->opts.seed};
    struct pp_mann_whitney mw;
    struct pp_ratio r;
    pp_status st = pp_bootstrap_median_ratio((struct pp_values){head, c->n_head},
                                             (struct pp_values){base, c->n_base}, &o, &r, err);
    if (st == PP_OK)
        st = pp_mann_whitney(head, c->n_head, base, c->n_base, &mw, err);
    if (st == PP_OK && has_spread(c))
        st = noise_floor(c, base, head, &m->noise_floor, err);
    if (st == PP_OK) {
        m->ratio = r.ratio;
        m->low = r.low;
        m->high = r.high;
        m->u = mw.u;
        m->p = mw.p;
    }
    return st;
}

/* Run k of BASE against run k of HEAD; p is found with all the other questions (adjust.c). */
static pp_status test_pairs(const struct pp_compare *c, struct pp_compare_metric *m, const double *base,
                            const double *head, struct pp_err *err)
{
    struct pp_bootstrap_opts noise = {.confidence = NOISE_CONFIDENCE,
                                      .resamples = c->opts.resamples,
                                      .seed = c->opts.seed};
    struct pp_shift shift;
    if (!(m->pair = malloc(c->n_base * sizeof(*m->pair))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu pairs", c->n_base);
    for (size_t i = 0; i < c->n_base; i++)
        m->pair[i] = log(head[i] / base[i]);
    pp_status st = pp_signed_rank_interval(m->pair, c->n_base, c->confidence, &shift, err);
    if (st == PP_OK && has_spread(c))
        st = pp_paired_noise_floor(m->pair, c->n_base, &noise, &m->noise_floor, err);
    if (st == PP_OK) {
        m->ratio = exp(shift.estimate);
        m->low = exp(shift.low);
        m->high = exp(shift.high);
    }
    return st;
}

static pp_status test(const struct pp_compare *c, struct pp_compare_metric *m, struct pp_err *err)
{
    const struct pp_cmp_metric *row = pp_cmp_metric(m->id);
    double *base = malloc(c->n_base * sizeof(*base)), *head = malloc(c->n_head * sizeof(*head));
    pp_status st = base && head ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to compare %s", row->key);
    if (st == PP_OK) {
        burdens(row, m->base, c->n_base, base);
        burdens(row, m->head, c->n_head, head);
        st = c->opts.paired ? test_pairs(c, m, base, head, err) : test_runs(c, m, base, head, err);
    }
    free(base);
    free(head);
    return st;
}

pp_status pp_compare_measure(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                             enum pp_cmp_id id, struct pp_err *err)
{
    const struct pp_cmp_metric *row = pp_cmp_metric(id);
    struct pp_compare_metric *m = &c->metric[id];
    *m = (struct pp_compare_metric){
        .id = id,
        .gated = c->opts.gated[id],
        .threshold = c->opts.threshold[id],
        .answer = PP_INCONCLUSIVE,
        .base_median = NAN,
        .head_median = NAN,
        .change = NAN,
        .ratio = NAN,
        .low = NAN,
        .high = NAN,
        .u = NAN,
        .p = NAN,
        .p_all = NAN,
        .p_better = NAN,
        .noise_floor = NAN,
    };
    m->base = values_of(base, id, &m->measured_base, &m->base_why);
    m->head = values_of(head, id, &m->measured_head, &m->head_why);
    if (!m->base || !m->head)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to compare %s", row->key);
    if (m->measured_base < c->n_base || m->measured_head < c->n_head)
        return PP_OK; /* never over a part of the runs: which part would be chance or choice */
    m->base_median = pp_stats_median(m->base, c->n_base);
    m->head_median = pp_stats_median(m->head, c->n_head);
    m->change = m->base_median != 0 ? m->head_median / m->base_median - 1 : m->head_median == 0 ? 0 : NAN;
    m->base_outliers = pp_stats_outliers(m->base, c->n_base);
    m->head_outliers = pp_stats_outliers(m->head, c->n_head);
    m->exact = row->kind == PP_CMP_COUNT && all_equal(m->base, c->n_base) && all_equal(m->head, c->n_head);
    return m->exact ? PP_OK : test(c, m, err);
}
