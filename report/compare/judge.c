#include "report/compare/parts.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- answers ---- */

static enum pp_answer say(struct pp_compare_metric *m, enum pp_answer answer, const char *reason)
{
    snprintf(m->reason, sizeof(m->reason), "%s", reason);
    return answer;
}

/* The reason behind its lead, or nothing when none is known. */
static char *why_text(char *buf, size_t size, const char *lead, enum pp_why why)
{
    const char *text = pp_why_text(why);
    snprintf(buf, size, "%s%s", text[0] ? lead : "", text);
    return buf;
}

static enum pp_answer answer_incomplete(const struct pp_compare *c, struct pp_compare_metric *m)
{
    char text[300], base[110], head[110];
    int in_base = m->measured_base == c->n_base, in_head = m->measured_head == c->n_head,
        neither = m->measured_base == 0 && m->measured_head == 0;
    /* One of the two throughputs is that of every run; the other one is no question that went without an
     * answer. */
    if (neither && m->base_why == m->head_why &&
        (m->base_why == PP_WHY_COUNTS_SAMPLES || m->base_why == PP_WHY_NO_SAMPLES)) {
        m->gated = 0;
        return say(m, PP_NOT_MEASURED, "");
    }
    if (neither && m->base_why == m->head_why)
        snprintf(text, sizeof(text), "measured on neither side%s",
                 why_text(base, sizeof(base), ": ", m->base_why));
    else if (neither)
        snprintf(text, sizeof(text), "measured on neither side%s%s",
                 why_text(base, sizeof(base), "; BASE: ", m->base_why),
                 why_text(head, sizeof(head), "; HEAD: ", m->head_why));
    else if (m->measured_base == 0 || m->measured_head == 0)
        snprintf(text, sizeof(text), "measured in %s only%s", m->measured_base ? "BASE" : "HEAD",
                 why_text(base, sizeof(base), ": ", m->measured_base ? m->head_why : m->base_why));
    else
        snprintf(text, sizeof(text), "measured in %zu of %zu runs of BASE and %zu of %zu of HEAD%s%s",
                 m->measured_base, c->n_base, m->measured_head, c->n_head,
                 in_base ? "" : why_text(base, sizeof(base), "; BASE: ", m->base_why),
                 in_head ? "" : why_text(head, sizeof(head), "; HEAD: ", m->head_why));
    return say(m, neither ? PP_NOT_MEASURED : PP_INCONCLUSIVE, text);
}

static enum pp_answer answer_exact(struct pp_compare_metric *m)
{
    double base = m->base[0], head = m->head[0], worse = head - base;
    enum pp_cmp_better better = pp_cmp_metric(m->id)->better;
    if (better == PP_CMP_HIGHER)
        worse = -worse;
    if (better == PP_CMP_SAME)
        worse = fabs(worse);
    m->improved = worse < 0;
    return worse > m->threshold * fabs(base) ? PP_REGRESSED : PP_NOT_REGRESSED;
}

static enum pp_answer answer_tested(const struct pp_compare *c, struct pp_compare_metric *m)
{
    char text[200], floor_text[32], threshold_text[32];
    int below_noise = c->opts.refuse_below_noise && m->threshold < m->noise_floor;
    double limit = 1 + (below_noise ? m->noise_floor : m->threshold);
    if (m->gated && !pp_compare_can_show(c, c->n_base, c->n_head)) {
        snprintf(text, sizeof(text), "need at least %zu runs on each side, have %zu and %zu", c->runs_needed,
                 c->n_base, c->n_head);
        return say(m, PP_INCONCLUSIVE, text);
    }
    m->improved = m->high < 1 && m->p_better < c->level;
    if (m->low > limit && m->p_all < c->level)
        return PP_REGRESSED;
    if (below_noise && !m->improved) {
        snprintf(
            text, sizeof(text),
            "threshold %s is below the noise floor %s of these runs: quieter machine, more runs or a higher threshold",
            pp_text_percent(threshold_text, sizeof(threshold_text), m->threshold),
            pp_text_percent(floor_text, sizeof(floor_text), m->noise_floor));
        return say(m, PP_INCONCLUSIVE, text);
    }
    if (m->high < 1 + m->threshold)
        return PP_NOT_REGRESSED;
    if (m->low > limit)
        snprintf(text, sizeof(text), "worse by the interval, but p %.2g is not below %.2g", m->p_all,
                 c->level);
    else
        snprintf(text, sizeof(text), "the interval spans the threshold: more runs would narrow it");
    return say(m, PP_INCONCLUSIVE, text);
}

static enum pp_answer answer(const struct pp_compare *c, struct pp_compare_metric *m)
{
    if (m->measured_base < c->n_base || m->measured_head < c->n_head)
        return answer_incomplete(c, m);
    return m->exact ? answer_exact(m) : answer_tested(c, m);
}

static void count(struct pp_compare *c, enum pp_answer a)
{
    c->regressed += a == PP_REGRESSED;
    c->inconclusive += a == PP_INCONCLUSIVE;
}

/* The metric to name in the sentence: regressed before inconclusive, and the table's order. */
static const struct pp_compare_metric *foremost(const struct pp_compare *c, enum pp_answer a)
{
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].gated && c->metric[i].answer == a)
            return &c->metric[i];
    return NULL;
}

static void conclude(struct pp_compare *c)
{
    const struct pp_compare_metric *m;
    char change[32];
    size_t measured = 0;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        measured += c->metric[i].gated && c->metric[i].answer != PP_NOT_MEASURED;
    c->answer = c->regressed                   ? PP_REGRESSED
                : c->inconclusive || !measured ? PP_INCONCLUSIVE
                                               : PP_NOT_REGRESSED;
    m = foremost(c, c->answer);
    const char *title = m ? pp_cmp_metric(m->id)->title : "";
    if (c->answer == PP_REGRESSED && m)
        snprintf(c->sentence, sizeof(c->sentence), "REGRESSED: %s %s%s%s", title,
                 isnan(m->change) || isnan(m->ratio) ? "" : "worse by ",
                 isnan(m->change) ? "is no longer zero"
                 : isnan(m->ratio)
                     ? pp_cmp_change_text(change, sizeof(change), m->change)
                     : pp_cmp_change_text(change, sizeof(change), m->ratio - 1) + (m->ratio >= 1.0005),
                 c->regressed > 1 ? ", and more below" : "");
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

pp_status pp_compare_judge(struct pp_compare *c, struct pp_err *err)
{
    pp_status st = pp_compare_adjust(c, err);
    if (st != PP_OK)
        return st;
    c->runs_needed = pp_compare_runs_needed(c);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        c->metric[i].answer = answer(c, &c->metric[i]);
        if (c->metric[i].gated)
            count(c, c->metric[i].answer);
    }
    pp_compare_answer_verdict(c);
    if (c->opts.gate_verdict)
        count(c, c->verdict.answer);
    conclude(c);
    return PP_OK;
}
