#include "report/compare/render.h"

#include "probe/base/text.h"

#include <math.h>
#include <string.h>

char *pp_compare_interval_text(char *buf, size_t size, const struct pp_compare_metric *m)
{
    char low[32], high[32];
    if (isnan(m->low))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, "%s .. %s", pp_cmp_change_text(low, sizeof(low), m->low - 1), pp_cmp_change_text(high, sizeof(high), m->high - 1));
    return buf;
}

char *pp_compare_p_text(char *buf, size_t size, const struct pp_compare_metric *m)
{
    if (m->exact || isnan(m->p_holm))
        snprintf(buf, size, "%s", m->exact ? "exact" : "-");
    else
        snprintf(buf, size, m->p_holm < 0.001 ? "%.0e" : "%.3f", m->p_holm);
    return buf;
}

const char *pp_compare_answer_text(const struct pp_compare_metric *m)
{
    switch (m->answer) {
    case PP_REGRESSED: return m->gated ? "REGRESSED" : "worse";
    case PP_INCONCLUSIVE: return "inconclusive";
    case PP_NOT_MEASURED: return "not measured";
    case PP_NOT_REGRESSED: break;
    }
    return m->improved ? "improved" : "ok";
}

/* ---- terminal ----------------------------------------------------------------------------------------------------------------- */

#define BOLD "\033[1m"
#define BAD "\033[1;33m"  /* orange and blue: told apart by colour-blind eyes; the words say it too */
#define GOOD "\033[34m"
#define PLAIN "\033[0m"

static const char *tone(const struct pp_compare_metric *m)
{
    return m->answer == PP_REGRESSED || m->answer == PP_INCONCLUSIVE ? BAD : m->improved ? GOOD : "";
}

static void put_row(const struct pp_compare_metric *m, FILE *out, int color)
{
    char base[32], head[32], change[32], interval[80], p[32];
    const struct pp_cmp_metric *row = pp_cmp_metric(m->id);
    const char *start = color ? tone(m) : "";
    fprintf(out, "%-20s %11s %11s %8s %18s %6s %s%s%s\n", row->title, pp_cmp_value_text(base, sizeof(base), row, m->base_median),
            pp_cmp_value_text(head, sizeof(head), row, m->head_median), pp_cmp_change_text(change, sizeof(change), m->change),
            pp_compare_interval_text(interval, sizeof(interval), m), pp_compare_p_text(p, sizeof(p), m), start, pp_compare_answer_text(m), start[0] ? PLAIN : "");
}

static void put_reasons(const struct pp_compare *c, FILE *out)
{
    char floor[32];
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const char *title = pp_cmp_metric(m->id)->title;
        if (m->reason[0] && m->answer != PP_NOT_MEASURED)
            fprintf(out, "  %s: %s\n", title, m->reason);
        if (m->answer == PP_INCONCLUSIVE && !isnan(m->noise_floor))
            fprintf(out, "  %s: the same thing measured twice would differ by up to %s\n", title, pp_text_percent(floor, sizeof(floor), m->noise_floor));
        if (m->base_outliers.severe || m->head_outliers.severe)
            fprintf(out, "  %s: far outliers, kept: %zu in BASE, %zu in HEAD (Tukey, 3 interquartile ranges)\n", title, m->base_outliers.severe, m->head_outliers.severe);
    }
}

static void put_not_measured(const struct pp_compare *c, FILE *out)
{
    const char *apart = "not measured: ";
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].answer == PP_NOT_MEASURED) {
            fprintf(out, "%s%s", apart, pp_cmp_metric(c->metric[i].id)->title);
            apart = ", ";
        }
    if (apart[0] == ',')
        fputc('\n', out);
}

static void put_differences(const char *what, const struct pp_difference *d, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s: %s %s -> %s\n", what, d[i].name, d[i].base[0] ? d[i].base : "(none)", d[i].head[0] ? d[i].head : "(none)");
}

int pp_compare_text(const struct pp_compare *c, FILE *out, int color)
{
    const char *start = !color ? "" : c->answer == PP_NOT_REGRESSED ? BOLD : BAD;
    fprintf(out, "%s%s%s\n", start, c->sentence, start[0] ? PLAIN : "");
    fprintf(out, "BASE %s (%zu run%s)  HEAD %s (%zu run%s)\n\n", c->base_label, c->n_base, c->n_base == 1 ? "" : "s", c->head_label, c->n_head, c->n_head == 1 ? "" : "s");
    fprintf(out, "%-20s %11s %11s %8s %18s %6s %s\n", "median of the runs", "BASE", "HEAD", "change", "worse by", "p", "answer");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].answer != PP_NOT_MEASURED)
            put_row(&c->metric[i], out, color);
    put_not_measured(c, out);
    fputc('\n', out);
    put_reasons(c, out);
    fprintf(out, "%s\n", c->verdict.sentence);
    if (c->attribution[0])
        fprintf(out, "%s\n", c->attribution);
    put_differences("option", c->change, c->n_changes, out);
    put_differences("environment, allowed to differ", c->allowed, c->n_allowed, out);
    fprintf(out, "Regressed: the %.4g %% bootstrap interval of the ratio of medians lies above the threshold, and Mann-Whitney p after Holm is below %.2g.\n",
            100 * (1 - (1 - c->opts.confidence) / c->opts.looks), c->opts.alpha / c->opts.looks);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
