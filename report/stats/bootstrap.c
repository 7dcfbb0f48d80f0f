#include "report/stats/bootstrap.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/stats/order.h"

/* A sample to draw from: sorted values, and how often each was drawn. */
struct urn {
    double *value;
    uint32_t *drawn;
    size_t n;
};

static void urn_free(struct urn *u)
{
    free(u->value);
    free(u->drawn);
}

static pp_status urn_fill(struct urn *u, struct pp_values x, struct pp_err *err)
{
    if (x.n == 0)
        return pp_fail(err, PP_E_USAGE, "a bootstrap interval needs at least one value on each side");
    for (size_t i = 0; i < x.n; i++)
        if (!(x.at[i] > 0) || !isfinite(x.at[i]))
            return pp_fail(err, PP_E_USAGE, "a ratio of medians needs values above zero, but one is %g",
                           x.at[i]);
    u->n = x.n;
    u->value = malloc(x.n * sizeof(*u->value));
    u->drawn = malloc(x.n * sizeof(*u->drawn));
    if (!u->value || !u->drawn)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a sample of %zu values", x.n);
    memcpy(u->value, x.at, x.n * sizeof(*x.at));
    pp_stats_sort(u->value, x.n);
    return PP_OK;
}

/* The value of rank `rank` (from 0) among those drawn. */
static double drawn_of_rank(const struct urn *u, size_t rank)
{
    size_t at = 0, seen = u->drawn[0];
    while (seen <= rank)
        seen += u->drawn[++at];
    return u->value[at];
}

/* Median of k values drawn with replacement: counted, not sorted. */
static double median_of_draws(struct urn *u, size_t k, struct pp_rng *rng)
{
    memset(u->drawn, 0, u->n * sizeof(*u->drawn));
    for (size_t i = 0; i < k; i++)
        u->drawn[pp_rng_below(rng, u->n)]++;
    double upper = drawn_of_rank(u, k / 2);
    return k % 2 ? upper : (drawn_of_rank(u, k / 2 - 1) + upper) / 2;
}

static pp_status check_opts(const struct pp_bootstrap_opts *o, struct pp_err *err)
{
    if (!(o->confidence > 0 && o->confidence < 1))
        return pp_fail(err, PP_E_USAGE, "confidence %g is not between 0 and 1", o->confidence);
    if (o->resamples < 100)
        return pp_fail(err, PP_E_USAGE, "%u resamples are too few for an interval; give at least 100",
                       o->resamples);
    return PP_OK;
}

pp_status pp_bootstrap_median_ratio(struct pp_values x, struct pp_values y,
                                    const struct pp_bootstrap_opts *opts, struct pp_ratio *out,
                                    struct pp_err *err)
{
    struct urn ux = {0}, uy = {0};
    double *ratio = NULL, tail = (1 - opts->confidence) / 2;
    pp_status st = check_opts(opts, err);
    if (st == PP_OK)
        st = urn_fill(&ux, x, err);
    if (st == PP_OK)
        st = urn_fill(&uy, y, err);
    if (st != PP_OK)
        goto out;
    if (!(ratio = malloc(opts->resamples * sizeof(*ratio)))) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %u resamples", opts->resamples);
        goto out;
    }
    for (uint32_t i = 0; i < opts->resamples; i++) {
        struct pp_rng of_x = pp_rng_key(opts->seed, 0, i, 0), of_y = pp_rng_key(opts->seed, 0, i, 1);
        ratio[i] = median_of_draws(&ux, x.n, &of_x) / median_of_draws(&uy, y.n, &of_y);
    }
    pp_stats_sort(ratio, opts->resamples);
    out->ratio = pp_stats_median_sorted(ux.value, x.n) / pp_stats_median_sorted(uy.value, y.n);
    out->low = pp_stats_quantile_sorted(ratio, opts->resamples, tail);
    out->high = pp_stats_quantile_sorted(ratio, opts->resamples, 1 - tail);
out:
    free(ratio);
    urn_free(&ux);
    urn_free(&uy);
    return st;
}

pp_status pp_bootstrap_noise_floor(struct pp_values values, size_t nx, size_t ny,
                                   const struct pp_bootstrap_opts *opts, double *floor, struct pp_err *err)
{
    struct urn u = {0};
    double *stray = NULL;
    pp_status st = nx && ny ? check_opts(opts, err)
                            : pp_fail(err, PP_E_USAGE, "a noise floor is of two samples, but one is empty");
    if (st == PP_OK)
        st = urn_fill(&u, values, err);
    if (st != PP_OK)
        goto out;
    if (!(stray = malloc(opts->resamples * sizeof(*stray)))) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %u resamples", opts->resamples);
        goto out;
    }
    for (uint32_t i = 0; i < opts->resamples; i++) {
        struct pp_rng rng = pp_rng_key(opts->seed, 1, i, 0);
        double a = median_of_draws(&u, nx, &rng), b = median_of_draws(&u, ny, &rng);
        stray[i] = fabs(log(a / b));
    }
    pp_stats_sort(stray, opts->resamples);
    *floor = expm1(pp_stats_quantile_sorted(stray, opts->resamples, opts->confidence));
out:
    free(stray);
    urn_free(&u);
    return st;
}
