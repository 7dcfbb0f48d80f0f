/* Several questions share alpha: Holm for runs, sign flips of whole pairs for pairs. */
#include "report/compare/parts.h"

#include "probe/base/err.h"
#include "report/stats/paired.h"
#include "report/stats/tests.h"

#include <math.h>
#include <stdlib.h>

#define RUNS_MAX 1000
#define QUESTIONS (PP_CMP_COUNT_OF_METRICS + 1) /* the verdict's class is the last */

/* Whether the metric belongs to the family of questions that share alpha: gated, measured in all runs, not an
 * exact count. */
static int is_asked(const struct pp_compare *c, const struct pp_compare_metric *m)
{
    return m->gated && !m->exact && m->measured_base == c->n_base && m->measured_head == c->n_head;
}

static size_t family(const struct pp_compare *c)
{
    size_t n = c->opts.gate_verdict;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        n += is_asked(c, &c->metric[i]);
    return n;
}

int pp_compare_can_show(const struct pp_compare *c, size_t n_base, size_t n_head)
{
    if (!c->opts.paired)
        return pp_mann_whitney_floor(n_base, n_head) * (double)family(c) < c->level;
    double floor = pp_sign_flip_floor(n_base);
    return floor < c->level && floor <= (1 - c->confidence) / 2;
}

size_t pp_compare_runs_needed(const struct pp_compare *c)
{
    size_t n = 1;
    while (n < RUNS_MAX && !pp_compare_can_show(c, n, n))
        n++;
    return n;
}

/* ---- runs ---- */

static pp_status adjust_runs(struct pp_compare *c, struct pp_err *err)
{
    double p[QUESTIONS];
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        p[i] = c->metric[i].gated ? c->metric[i].p : NAN;
    p[PP_CMP_COUNT_OF_METRICS] = c->opts.gate_verdict ? c->verdict.p : NAN;
    pp_status st = pp_holm(p, QUESTIONS, p, err);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        c->metric[i].p_all = c->metric[i].p_better = c->metric[i].gated ? p[i] : c->metric[i].p;
    c->verdict.p_all = c->opts.gate_verdict ? p[PP_CMP_COUNT_OF_METRICS] : c->verdict.p;
    return st;
}

/* ---- pairs ---- */

/* The differences of question q, or NULL when it was not asked of pairs. */
static const double *pairs_of(const struct pp_compare *c, int q)
{
    return q < PP_CMP_COUNT_OF_METRICS ? c->metric[q].pair : c->verdict.pair;
}

static int in_family(const struct pp_compare *c, int q)
{
    return q < PP_CMP_COUNT_OF_METRICS ? is_asked(c, &c->metric[q]) : c->opts.gate_verdict;
}

/* p by question: by itself, and for all questions of its test together. */
struct flipped {
    double one[QUESTIONS], all[QUESTIONS];
};

/* One test of the questions listed in `asked`; out takes its p. sign -1 asks whether it got better. */
static pp_status flip(const struct pp_compare *c, const int *asked, size_t questions, double sign,
                      struct flipped *out, struct pp_err *err)
{
    size_t n = c->n_base;
    double p_one[QUESTIONS], p_all[QUESTIONS], *d = calloc((questions ? questions : 1) * n, sizeof(*d));
    if (!d)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu pairs", n);
    for (size_t q = 0; q < questions; q++)
        for (size_t i = 0; i < n; i++)
            d[q * n + i] = sign * pairs_of(c, asked[q])[i];
    pp_status st = pp_sign_flip(d, questions, n, p_one, p_all, err);
    for (size_t q = 0; q < questions && st == PP_OK; q++) {
        out->one[asked[q]] = p_one[q];
        out->all[asked[q]] = p_all[q];
    }
    free(d);
    return st;
}

/* What is gated in one test, everything else each by itself. */
static pp_status flip_all(const struct pp_compare *c, double sign, struct flipped *out, struct pp_err *err)
{
    int asked[QUESTIONS];
    size_t questions = 0;
    for (int q = 0; q < QUESTIONS; q++)
        if (pairs_of(c, q) && in_family(c, q))
            asked[questions++] = q;
    pp_status st = flip(c, asked, questions, sign, out, err);
    for (int q = 0; q < QUESTIONS && st == PP_OK; q++)
        if (pairs_of(c, q) && !in_family(c, q))
            st = flip(c, &q, 1, sign, out, err);
    return st;
}

static pp_status adjust_pairs(struct pp_compare *c, struct pp_err *err)
{
    struct flipped worse, better;
    for (int q = 0; q < QUESTIONS; q++)
        worse.one[q] = worse.all[q] = better.one[q] = better.all[q] = NAN;
    pp_status st = flip_all(c, 1, &worse, err);
    if (st == PP_OK)
        st = flip_all(c, -1, &better, err);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        c->metric[i].p = worse.one[i];
        c->metric[i].p_all = worse.all[i];
        c->metric[i].p_better = better.all[i];
    }
    c->verdict.p = worse.one[PP_CMP_COUNT_OF_METRICS];
    c->verdict.p_all = worse.all[PP_CMP_COUNT_OF_METRICS];
    return st;
}

pp_status pp_compare_adjust(struct pp_compare *c, struct pp_err *err)
{
    return c->opts.paired ? adjust_pairs(c, err) : adjust_runs(c, err);
}
