/* Judges a comparison: each metric is measured on both sides and tested, several questions share alpha, and
 * each gets its answer. */
#include "report/compare/compare.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/stats/bootstrap.h"
#include "report/stats/paired.h"
#include "report/stats/tests.h"

/* ---- a metric: medians, intervals, p, noise floor ---- */

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

static struct pp_bootstrap_opts bootstrap_of(const struct pp_compare *c, double confidence)
{
    return (struct pp_bootstrap_opts){confidence, c->opts.resamples, c->opts.seed};
}

static int is_complete(const struct pp_compare *c, const struct pp_compare_metric *m)
{
    return m->measured_base == c->n_base && m->measured_head == c->n_head;
}

/* Side against side. */
static pp_status test_runs(const struct pp_compare *c, struct pp_compare_metric *m, const double *base,
                           const double *head, struct pp_err *err)
{
    struct pp_bootstrap_opts o = bootstrap_of(c, c->confidence);
    struct pp_mann_whitney mw;
    struct pp_ratio r;
    pp_status st = pp_bootstrap_median_ratio((struct pp_values){head, c->n_head},
                                             (struct pp_values){base, c->n_base}, &o, &r, err);
    if (st == PP_OK)
        st = pp_mann_whitney(head, c->n_head, base, c->n_base, &mw, err);
    if (st == PP_OK && c->n_base > 1 && c->n_head > 1) { /* one run says nothing of noise */
        /* Both sides, each around its own median: what is left is noise, whatever changed between them. */
        struct pp_bootstrap_opts noise = bootstrap_of(c, NOISE_CONFIDENCE);
        size_t n = c->n_base + c->n_head;
        double *pool = malloc(n * sizeof(*pool)), of_base = pp_stats_median(base, c->n_base),
               of_head = pp_stats_median(head, c->n_head);
        for (size_t i = 0; pool && i < n; i++)
            pool[i] = i < c->n_base ? base[i] / of_base : head[i - c->n_base] / of_head;
        st = pool ? pp_bootstrap_noise_floor((struct pp_values){pool, n}, c->n_base, c->n_head, &noise,
                                             &m->noise_floor, err)
                  : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu values", n);
        free(pool);
    }
    if (st == PP_OK) {
        m->ratio = r.ratio;
        m->low = r.low;
        m->high = r.high;
        m->u = mw.u;
        m->p = mw.p;
    }
    return st;
}

/* Run k of BASE against run k of HEAD; p is found with all the other questions below. */
static pp_status test_pairs(const struct pp_compare *c, struct pp_compare_metric *m, const double *base,
                            const double *head, struct pp_err *err)
{
    struct pp_bootstrap_opts noise = bootstrap_of(c, NOISE_CONFIDENCE);
    struct pp_shift shift;
    if (!(m->pair = malloc(c->n_base * sizeof(*m->pair))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu pairs", c->n_base);
    for (size_t i = 0; i < c->n_base; i++)
        m->pair[i] = log(head[i] / base[i]);
    pp_status st = pp_signed_rank_interval(m->pair, c->n_base, c->confidence, &shift, err);
    if (st == PP_OK && c->n_base > 1 && c->n_head > 1) /* one run says nothing of noise */
        st = pp_paired_noise_floor(m->pair, c->n_base, &noise, &m->noise_floor, err);
    if (st == PP_OK) {
        m->ratio = exp(shift.estimate);
        m->low = exp(shift.low);
        m->high = exp(shift.high);
    }
    return st;
}

static pp_status measure_metric(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                                enum pp_cmp_id id, struct pp_err *err)
{
    const struct pp_cmp_metric *row = &pp_cmp_metrics[id];
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
    if (!is_complete(c, m))
        return PP_OK; /* never over a part of the runs: which part would be chance or choice */
    m->base_median = pp_stats_median(m->base, c->n_base);
    m->head_median = pp_stats_median(m->head, c->n_head);
    m->change = m->base_median != 0 ? m->head_median / m->base_median - 1 : m->head_median == 0 ? 0 : NAN;
    m->base_outliers = pp_stats_outliers(m->base, c->n_base);
    m->head_outliers = pp_stats_outliers(m->head, c->n_head);
    m->exact = row->kind == PP_CMP_COUNT && all_equal(m->base, c->n_base) && all_equal(m->head, c->n_head);
    if (m->exact)
        return PP_OK;
    /* Values turned so that ratios of them are "times worse" (metrics.def: KIND, floor, BETTER), of both. */
    double *worse = malloc((c->n_base + c->n_head) * sizeof(*worse));
    if (!worse)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to compare %s", row->key);
    for (size_t i = 0; i < c->n_base + c->n_head; i++) {
        double value = i < c->n_base ? m->base[i] : m->head[i - c->n_base], felt = fmax(value, row->floor);
        worse[i] = row->kind == PP_CMP_SHARE      ? 1 / (1 - fmin(value, 0.999999))
                   : row->better == PP_CMP_HIGHER ? 1 / felt
                                                  : felt;
    }
    pp_status st = (c->opts.paired ? test_pairs : test_runs)(c, m, worse, worse + c->n_base, err);
    free(worse);
    return st;
}

/* ---- the verdict's class ---- */

static void class_of(const struct pp_run *r, char *buf, size_t size)
{
    if (!r->l0[0])
        snprintf(buf, size, "unknown");
    else
        snprintf(buf, size, "%s%s%s", r->l0, r->l1[0] ? "/" : "", r->l1);
}

static int shows(const struct pp_run *r, const char *class)
{
    char own[56];
    class_of(r, own, sizeof(own));
    return strcmp(own, class) == 0;
}

static size_t with_class(const struct pp_runs *runs, const char *class)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        n += (size_t)shows(&runs->run[i], class);
    return n;
}

/* The first of the commonest. */
static size_t commonest(const struct pp_runs *runs, char *class, size_t size)
{
    char own[56];
    size_t most = 0;
    for (size_t i = 0; i < runs->n; i++) {
        class_of(&runs->run[i], own, sizeof(own));
        size_t n = with_class(runs, own);
        if (n > most) {
            most = n;
            snprintf(class, size, "%s", own);
        }
    }
    return most;
}

/* ---- several questions share alpha: Holm for runs, sign flips of whole pairs for pairs ---- */

#define RUNS_MAX 1000
#define QUESTIONS (PP_CMP_COUNT_OF_METRICS + 1) /* the verdict's class is the last */

/* Whether the metric is one of those that share alpha: gated, measured in all runs, no exact count. */
static int is_asked(const struct pp_compare *c, const struct pp_compare_metric *m)
{
    return m->gated && !m->exact && is_complete(c, m);
}

/* Whether so many runs could show a regression at all: samples that do not overlap, pairs that all agree. */
static int can_show(const struct pp_compare *c, size_t n_base, size_t n_head)
{
    size_t questions = c->opts.gate_verdict;
    if (c->opts.paired) {
        double floor = pp_sign_flip_floor(n_base);
        return floor < c->level && floor <= (1 - c->confidence) / 2;
    }
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        questions += is_asked(c, &c->metric[i]);
    return pp_mann_whitney_floor(n_base, n_head) * (double)questions < c->level;
}

/* The differences of question q, or NULL when it was not asked of pairs. */
static const double *pairs_of(const struct pp_compare *c, int q)
{
    return q < PP_CMP_COUNT_OF_METRICS ? c->metric[q].pair : c->verdict.pair;
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
    int asked[QUESTIONS], apart[QUESTIONS];
    size_t questions = 0, n_apart = 0;
    for (int q = 0; q < QUESTIONS; q++) {
        int gated = q < PP_CMP_COUNT_OF_METRICS ? is_asked(c, &c->metric[q]) : c->opts.gate_verdict;
        if (pairs_of(c, q) && gated)
            asked[questions++] = q;
        else if (pairs_of(c, q))
            apart[n_apart++] = q;
    }
    pp_status st = flip(c, asked, questions, sign, out, err);
    for (size_t i = 0; i < n_apart && st == PP_OK; i++)
        st = flip(c, &apart[i], 1, sign, out, err);
    return st;
}

/* Every p over all questions together. */
static pp_status adjust(struct pp_compare *c, struct pp_err *err)
{
    enum { VERDICT = PP_CMP_COUNT_OF_METRICS };
    double p[QUESTIONS];
    pp_status st;
    if (!c->opts.paired) {
        for (int i = 0; i < VERDICT; i++)
            p[i] = c->metric[i].gated ? c->metric[i].p : NAN;
        p[VERDICT] = c->opts.gate_verdict ? c->verdict.p : NAN;
        st = pp_holm(p, QUESTIONS, p, err);
        for (int i = 0; i < VERDICT; i++)
            c->metric[i].p_all = c->metric[i].p_better = c->metric[i].gated ? p[i] : c->metric[i].p;
        c->verdict.p_all = c->opts.gate_verdict ? p[VERDICT] : c->verdict.p;
        return st;
    }
    struct flipped worse, better;
    for (int q = 0; q < QUESTIONS; q++)
        worse.one[q] = worse.all[q] = better.one[q] = better.all[q] = NAN;
    st = flip_all(c, 1, &worse, err);
    if (st == PP_OK)
        st = flip_all(c, -1, &better, err);
    for (int i = 0; i < VERDICT; i++) {
        c->metric[i].p = worse.one[i];
        c->metric[i].p_all = worse.all[i];
        c->metric[i].p_better = better.all[i];
    }
    c->verdict.p = worse.one[VERDICT];
    c->verdict.p_all = worse.all[VERDICT];
    return st;
}

/* ---- answers ---- */

/* The reason behind its lead, or nothing when none is known. */
static char *why_text(char *buf, size_t size, const char *lead, enum pp_why why)
{
    const char *text = pp_whys[why].text;
    snprintf(buf, size, "%s%s", text[0] ? lead : "", text);
    return buf;
}

static enum pp_answer answer_incomplete(const struct pp_compare *c, struct pp_compare_metric *m)
{
    char base[110], head[110];
    int in_base = m->measured_base == c->n_base, in_head = m->measured_head == c->n_head,
        neither = m->measured_base == 0 && m->measured_head == 0;
    /* One of the two throughputs is that of every run; the other one is no question without an answer. */
    if (neither && m->base_why == m->head_why &&
        (m->base_why == PP_WHY_COUNTS_SAMPLES || m->base_why == PP_WHY_NO_SAMPLES)) {
        m->gated = 0;
        return PP_NOT_MEASURED;
    }
    if (neither && m->base_why == m->head_why)
        snprintf(m->reason, sizeof(m->reason), "measured on neither side%s",
                 why_text(base, sizeof(base), ": ", m->base_why));
    else if (neither)
        snprintf(m->reason, sizeof(m->reason), "measured on neither side%s%s",
                 why_text(base, sizeof(base), "; BASE: ", m->base_why),
                 why_text(head, sizeof(head), "; HEAD: ", m->head_why));
    else if (m->measured_base == 0 || m->measured_head == 0)
        snprintf(m->reason, sizeof(m->reason), "measured in %s only%s", m->measured_base ? "BASE" : "HEAD",
                 why_text(base, sizeof(base), ": ", m->measured_base ? m->head_why : m->base_why));
    else
        snprintf(m->reason, sizeof(m->reason),
                 "measured in %zu of %zu runs of BASE and %zu of %zu of HEAD%s%s", m->measured_base,
                 c->n_base, m->measured_head, c->n_head,
                 in_base ? "" : why_text(base, sizeof(base), "; BASE: ", m->base_why),
                 in_head ? "" : why_text(head, sizeof(head), "; HEAD: ", m->head_why));
    return neither ? PP_NOT_MEASURED : PP_INCONCLUSIVE;
}

/* Of what was measured in all runs: an exact count, or what was tested. */
static enum pp_answer answer_measured(const struct pp_compare *c, struct pp_compare_metric *m)
{
    char floor_text[32], threshold_text[32];
    if (m->exact) {
        double base = m->base[0], more = m->head[0] - base;
        enum pp_cmp_better better = pp_cmp_metrics[m->id].better;
        double worse = better == PP_CMP_HIGHER ? -more : better == PP_CMP_SAME ? fabs(more) : more;
        m->improved = worse < 0;
        return worse > m->threshold * fabs(base) ? PP_REGRESSED : PP_NOT_REGRESSED;
    }
    int below_noise = c->opts.refuse_below_noise && m->threshold < m->noise_floor;
    double limit = 1 + (below_noise ? m->noise_floor : m->threshold);
    if (m->gated && !can_show(c, c->n_base, c->n_head)) {
        snprintf(m->reason, sizeof(m->reason), "need at least %zu runs on each side, have %zu and %zu",
                 c->runs_needed, c->n_base, c->n_head);
        return PP_INCONCLUSIVE;
    }
    m->improved = m->high < 1 && m->p_better < c->level;
    if (m->low > limit && m->p_all < c->level)
        return PP_REGRESSED;
    if (below_noise && !m->improved) {
        snprintf(
            m->reason, sizeof(m->reason),
            "threshold %s is below the noise floor %s of these runs: quieter machine, more runs or a higher threshold",
            pp_text_percent(threshold_text, sizeof(threshold_text), m->threshold),
            pp_text_percent(floor_text, sizeof(floor_text), m->noise_floor));
        return PP_INCONCLUSIVE;
    }
    if (m->high < 1 + m->threshold)
        return PP_NOT_REGRESSED;
    if (m->low > limit)
        snprintf(m->reason, sizeof(m->reason), "worse by the interval, but p %.2g is not below %.2g",
                 m->p_all, c->level);
    else
        snprintf(m->reason, sizeof(m->reason), "the interval spans the threshold: more runs would narrow it");
    return PP_INCONCLUSIVE;
}

static void conclude(struct pp_compare *c)
{
    const struct pp_compare_metric *m = NULL;
    char change[32];
    size_t measured = 0;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        measured += c->metric[i].gated && c->metric[i].answer != PP_NOT_MEASURED;
    c->answer = c->regressed                   ? PP_REGRESSED
                : c->inconclusive || !measured ? PP_INCONCLUSIVE
                                               : PP_NOT_REGRESSED;
    /* The metric to name: the first that has this answer, in the table's order. */
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS && !m; i++)
        if (c->metric[i].gated && c->metric[i].answer == c->answer)
            m = &c->metric[i];
    const char *title = m ? pp_cmp_metrics[m->id].title : "";
    if (c->answer == PP_REGRESSED && m)
        snprintf(c->sentence, sizeof(c->sentence), "REGRESSED: %s %s%s%s", title,
                 isnan(m->change) || isnan(m->ratio) ? "" : "worse by ",
                 isnan(m->change) ? "is no longer zero"
                 : isnan(m->ratio)
                     ? pp_cmp_change_text(change, sizeof(change), m->change)
                     : pp_cmp_change_text(change, sizeof(change), m->ratio - 1) + (m->ratio >= 1.0005),
                 c->regressed > 1 ? ", and more" : "");
    else if (c->answer == PP_REGRESSED)
        snprintf(c->sentence, sizeof(c->sentence), "REGRESSED: %s", c->verdict.sentence);
    else if (c->answer == PP_INCONCLUSIVE && m)
        snprintf(c->sentence, sizeof(c->sentence), "INCONCLUSIVE: %s: %s", title, m->reason);
    else if (c->answer == PP_INCONCLUSIVE)
        snprintf(c->sentence, sizeof(c->sentence), "INCONCLUSIVE: %s",
                 measured ? c->verdict.sentence : "no gated metric was measured");
    else
        snprintf(c->sentence, sizeof(c->sentence),
                 "NOT REGRESSED: no gated metric is worse by more than its threshold");
}

pp_status pp_compare_judge(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                           struct pp_err *err)
{
    pp_status st = PP_OK;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS && st == PP_OK; i++)
        st = measure_metric(c, base, head, (enum pp_cmp_id)i, err);
    struct pp_compare_verdict *v = &c->verdict;
    v->base_runs = commonest(base, v->base, sizeof(v->base));
    v->head_runs = commonest(head, v->head, sizeof(v->head));
    v->p = NAN; /* of pairs: found with all the other questions below */
    if (!c->opts.paired)
        v->p = pp_fisher_exact(v->base_runs, base->n, with_class(head, v->base), head->n);
    else if (st == PP_OK && !(v->pair = malloc(base->n * sizeof(*v->pair))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu pairs", base->n);
    for (size_t i = 0; v->pair && i < base->n; i++)
        v->pair[i] = shows(&base->run[i], v->base) - shows(&head->run[i], v->base);
    if (st == PP_OK)
        st = adjust(c, err);
    if (st != PP_OK)
        return st;
    for (c->runs_needed = 1; c->runs_needed < RUNS_MAX && !can_show(c, c->runs_needed, c->runs_needed);)
        c->runs_needed++;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        struct pp_compare_metric *m = &c->metric[i];
        m->answer = is_complete(c, m) ? answer_measured(c, m) : answer_incomplete(c, m);
        c->regressed += m->gated && m->answer == PP_REGRESSED;
        c->inconclusive += m->gated && m->answer == PP_INCONCLUSIVE;
    }
    int differ = strcmp(v->base, v->head) != 0,
        worse = strncmp(v->head, "input-bound", 11) == 0 && strncmp(v->base, "input-bound", 11) != 0;
    v->changed = differ && v->p_all < c->level;
    v->answer = !worse || !differ ? PP_NOT_REGRESSED : v->changed ? PP_REGRESSED : PP_INCONCLUSIVE;
    if (!differ)
        snprintf(v->sentence, sizeof(v->sentence), "the verdict is %s on both sides", v->base);
    else
        snprintf(v->sentence, sizeof(v->sentence),
                 "the verdict %s from %s (%zu of %zu runs) to %s (%zu of %zu)%s",
                 v->changed ? "changed" : "may have changed", v->base, v->base_runs, c->n_base, v->head,
                 v->head_runs, c->n_head, v->changed ? "" : ": too few runs agree to exclude chance");
    c->regressed += c->opts.gate_verdict && c->verdict.answer == PP_REGRESSED;
    c->inconclusive += c->opts.gate_verdict && c->verdict.answer == PP_INCONCLUSIVE;
    conclude(c);
    return PP_OK;
}
