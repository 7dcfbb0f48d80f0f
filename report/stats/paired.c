#include "report/stats/paired.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/stats/order.h"

#define PAIRS_MAX 10000
#define ROUNDING 1e-12 /* r of ways that are equal but for rounding are equal */

static pp_status check_differences(const double *d, size_t n, struct pp_err *err)
{
    if (n == 0 || n > PAIRS_MAX)
        return pp_fail(err, PP_E_USAGE, "a paired test needs 1 to %d pairs, but has %zu", PAIRS_MAX, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(d[i]))
            return pp_fail(err, PP_E_USAGE, "a paired test needs finite differences");
    return PP_OK;
}

/* ---- sign flips ---- */

pp_status pp_sign_flip(const double *d, size_t questions, size_t n, double *p_one, double *p_all,
                       struct pp_err *err)
{
    const uint64_t ways = (uint64_t)1 << (n < PP_SIGN_FLIP_EXACT ? n : PP_SIGN_FLIP_EXACT);
    double *room = NULL;
    pp_status st = PP_OK;
    for (size_t q = 0; q < questions && st == PP_OK; q++) {
        st = check_differences(d + q * n, n, err);
        p_one[q] = p_all[q] = 0;
    }
    if (st != PP_OK || questions == 0)
        return st;
    if (!(room = malloc((n + 2 * questions) * sizeof(*room))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a test of %zu pairs", n);
    /* Ways whose r (mean over root mean square; all zero: 0), and whose largest r, is at least the one seen,
     * way 0 among them. No way changes the mean square. */
    double *sign = room, *rms = sign + n, *seen = rms + questions;
    for (size_t q = 0; q < questions; q++) {
        double squares = 0;
        for (size_t i = 0; i < n; i++)
            squares += d[q * n + i] * d[q * n + i];
        rms[q] = sqrt(squares / (double)n);
    }
    for (uint64_t way = 0; way < ways; way++) {
        double largest = -INFINITY;
        /* Which pairs are turned round in one way. Way 0 turns none. */
        struct pp_rng rng = pp_rng_key(2, way, n, 0);
        for (size_t i = 0; i < n; i++) {
            int turned = n <= PP_SIGN_FLIP_EXACT ? (int)(way >> i & 1) : way > 0 && pp_rng_below(&rng, 2);
            sign[i] = turned ? -1 : 1;
        }
        for (size_t q = 0; q < questions; q++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += sign[i] * d[q * n + i];
            double r = rms[q] > 0 ? sum / (double)n / rms[q] : 0;
            seen[q] = way == 0 ? r - ROUNDING : seen[q];
            p_one[q] += r >= seen[q];
            largest = fmax(largest, r);
        }
        for (size_t q = 0; q < questions; q++)
            p_all[q] += largest >= seen[q];
    }
    for (size_t q = 0; q < questions; q++) {
        p_one[q] /= (double)ways;
        p_all[q] /= (double)ways;
    }
    free(room);
    return PP_OK;
}

double pp_sign_flip_floor(size_t n)
{
    return ldexp(1, n < PP_SIGN_FLIP_EXACT ? -(int)n : -PP_SIGN_FLIP_EXACT);
}

/* ---- Walsh averages ---- */

static size_t walsh_count(size_t n)
{
    return n * (n + 1) / 2;
}

/* Ascending; out has room for walsh_count(n). */
static void walsh_averages(const double *d, size_t n, double *out)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            out[at++] = d[i] + (d[k] - d[i]) / 2;
    pp_stats_sort(out, at);
}

pp_status pp_signed_rank_interval(const double *d, size_t n, double confidence, struct pp_shift *out,
                                  struct pp_err *err)
{
    size_t rank = 0, count = walsh_count(n);
    double tail = (1 - confidence) / 2;
    pp_status st = check_differences(d, n, err);
    *out = (struct pp_shift){NAN, NAN, NAN};
    if (st == PP_OK && !(confidence > 0 && confidence < 1))
        st = pp_fail(err, PP_E_USAGE, "confidence %g is not between 0 and 1", confidence);
    if (st != PP_OK)
        return st;
    /* How many Walsh averages to leave out at each end: the k + 1 of Wilcoxon's W with P(W <= k) <= tail, or
     * 0 when even P(W <= 0) is above it. p[w]: chance of W = w; the rank i joins the sum with chance 1/2
     * (Wilcoxon, 1945). */
    double *p = calloc(count + 1, sizeof(*p)), below = 0;
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the rank sums of %zu pairs", n);
    p[0] = 1;
    for (size_t i = 1; i <= n; i++)
        for (size_t s = walsh_count(i) + 1; s-- > 0;)
            p[s] = (p[s] + (s >= i ? p[s - i] : 0)) / 2;
    for (; rank <= count && below + p[rank] <= tail * (1 + ROUNDING); rank++)
        below += p[rank];
    free(p);
    double *walsh = malloc(count * sizeof(*walsh));
    if (!walsh)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the averages of %zu pairs", n);
    walsh_averages(d, n, walsh);
    out->estimate = pp_stats_median_sorted(walsh, count);
    if (rank > 0) {
        out->low = walsh[rank - 1];
        out->high = walsh[count - rank];
    }
    free(walsh);
    return PP_OK;
}

/* ---- noise ---- */

#define AVERAGES_MAX 20000000 /* Walsh averages of all resamples together: about a second */

pp_status pp_paired_noise_floor(const double *d, size_t n, const struct pp_bootstrap_opts *opts,
                                double *floor, struct pp_err *err)
{
    struct pp_shift whole;
    double *drawn = NULL, *walsh = NULL, *stray = NULL;
    uint32_t resamples = opts->resamples;
    size_t most = n ? AVERAGES_MAX / walsh_count(n) : 0;
    pp_status st = pp_signed_rank_interval(d, n, opts->confidence, &whole, err);
    if (st != PP_OK)
        return st;
    if (resamples > most)
        resamples = most < 100 ? 100 : (uint32_t)most;
    drawn = malloc(n * sizeof(*drawn));
    walsh = malloc(walsh_count(n) * sizeof(*walsh));
    stray = malloc(resamples * sizeof(*stray));
    if (!drawn || !walsh || !stray) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %u resamples of %zu pairs", resamples, n);
        goto out;
    }
    for (uint32_t i = 0; i < resamples; i++) {
        struct pp_rng rng = pp_rng_key(opts->seed, 2, i, 0);
        for (size_t k = 0; k < n; k++) {
            double one = d[pp_rng_below(&rng, n)] - whole.estimate;
            drawn[k] = pp_rng_below(&rng, 2) ? one : -one;
        }
        walsh_averages(drawn, n, walsh);
        stray[i] = fabs(pp_stats_median_sorted(walsh, walsh_count(n)));
    }
    pp_stats_sort(stray, resamples);
    *floor = expm1(pp_stats_quantile_sorted(stray, resamples, opts->confidence));
out:
    free(drawn);
    free(walsh);
    free(stray);
    return st;
}
