#include "probe/sampler/sampler_alias.h"

#include "probe/base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Column i is hit with probability 1/n; it keeps the hit with probability keep[i] / 2^53 and passes it on to
 * alias[i] otherwise. */
struct pp_alias {
    uint64_t n;
    uint64_t *keep;
    uint32_t *alias;
};

#define UNIT 0x1.0p53

static pp_status check(const double *w, uint64_t n, uint64_t *heaviest, struct pp_err *err)
{
    *heaviest = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(w[i]) || w[i] < 0)
            return pp_fail(err, PP_E_USAGE,
                           "weight %" PRIu64 " is %g: weights must be finite and not negative", i, w[i]);
        if (w[i] > w[*heaviest])
            *heaviest = i;
    }
    if (w[*heaviest] == 0)
        return pp_fail(err, PP_E_USAGE, "all %" PRIu64 " weights are zero: at least one must be above zero",
                       n);
    return PP_OK;
}

/* scaled[i]: the weight in units of the mean. Dividing by the heaviest first keeps the sum finite for weights
 * near DBL_MAX. */
static void scale(const double *w, uint64_t n, double heaviest, double *scaled)
{
    long double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += w[i] / heaviest;
    for (uint64_t i = 0; i < n; i++)
        scaled[i] = (double)((long double)(w[i] / heaviest) * (long double)n / sum);
}

/* Pairs columns below the mean with ones above it. stack holds the small columns from the left and the large
 * ones from the right. */
static void pair_columns(struct pp_alias *a, double *scaled, uint32_t *stack, uint64_t heaviest)
{
    uint64_t smalls = 0, larges = a->n;
    for (uint64_t i = 0; i < a->n; i++) {
        if (scaled[i] < 1)
            stack[smalls++] = (uint32_t)i;
        else
            stack[--larges] = (uint32_t)i;
    }
    while (smalls > 0 && larges < a->n) {
        uint32_t small = stack[--smalls], large = stack[larges];
        a->keep[small] = (uint64_t)(scaled[small] * UNIT);
        a->alias[small] = large;
        scaled[large] -= 1 - scaled[small];
        if (scaled[large] < 1) {
            larges++;
            stack[smalls++] = large;
        }
    }
    for (; larges < a->n; larges++)
        a->keep[stack[larges]] = (uint64_t)UNIT;
    /* Rounding may leave small columns without a partner. The last 1e-15 goes to the heaviest index, so that
     * a zero stays a zero. */
    while (smalls > 0) {
        uint32_t small = stack[--smalls];
        a->keep[small] = (uint64_t)(scaled[small] * UNIT);
        a->alias[small] = (uint32_t)heaviest;
    }
}

pp_status pp_alias_create(const double *weights, uint64_t n, struct pp_alias **out, struct pp_err *err)
{
    pp_status status = PP_OK;
    uint64_t heaviest;
    struct pp_alias *a = NULL;
    double *scaled = NULL;
    uint32_t *stack = NULL;

    *out = NULL;
    status = check(weights, n, &heaviest, err);
    if (status != PP_OK)
        goto out;
    a = calloc(1, sizeof(*a));
    scaled = malloc(n * sizeof(*scaled));
    stack = malloc(n * sizeof(*stack));
    if (a) {
        a->n = n;
        a->keep = malloc(n * sizeof(*a->keep));
        a->alias = calloc(n, sizeof(*a->alias));
    }
    if (!a || !scaled || !stack || !a->keep || !a->alias) {
        status = pp_fail(err, PP_E_NO_MEMORY,
                         "no memory for the table of %" PRIu64 " weights (%" PRIu64 " MiB while it is built)",
                         n, n * 24 >> 20);
        goto out;
    }
    scale(weights, n, weights[heaviest], scaled);
    pair_columns(a, scaled, stack, heaviest);
    *out = a;
    a = NULL;
out:
    free(stack);
    free(scaled);
    pp_alias_destroy(a);
    return status;
}

void pp_alias_destroy(struct pp_alias *a)
{
    if (!a)
        return;
    free(a->alias);
    free(a->keep);
    free(a);
}

uint64_t pp_alias_pick(const struct pp_alias *a, struct pp_rng *rng)
{
    uint64_t column = pp_rng_below(rng, a->n);
    return pp_rng_next(rng) >> 11 < a->keep[column] ? column : a->alias[column];
}

size_t pp_alias_footprint(const struct pp_alias *a)
{
    return sizeof(*a) + a->n * (sizeof(*a->keep) + sizeof(*a->alias));
}
