#include "report/compare/render.h"

#include "probe/base/text.h"

#include <string.h>

/* Text inside a table cell or sentence: what Markdown or HTML would read as markup is escaped, control
 * characters become spaces. */
static void put_escaped(const char *s, FILE *out)
{
    for (; *s; s++) {
        if ((unsigned char)*s < ' ')
            fputc(' ', out);
        else if (*s == '<' || *s == '>' || *s == '&')
            fputs(*s == '<' ? "&lt;" : *s == '>' ? "&gt;" : "&amp;", out);
        else {
            if (strchr("|\\`*_[]#~", *s))
                fputc('\\', out);
            fputc(*s, out);
        }
    }
}

static void put_row(const struct pp_compare_metric *m, FILE *out)
{
    char base[32], head[32], worse[80], p[32], threshold[32];
    const struct pp_cmp_metric *row = pp_cmp_metric(m->id);
    const char *strong = m->answer == PP_REGRESSED && m->gated ? "**" : "";
    fprintf(out, "| %s | %s | %s | %s | %s | %s | %s%s%s |\n", row->title,
            pp_cmp_value_text(base, sizeof(base), row, m->base_median),
            pp_cmp_value_text(head, sizeof(head), row, m->head_median),
            pp_compare_worse_text(worse, sizeof(worse), m), pp_compare_p_text(p, sizeof(p), m),
            m->gated ? pp_text_percent(threshold, sizeof(threshold), m->threshold) : "not gated", strong,
            pp_compare_answer_text(m), strong);
}

static void put_item(const char *what, const char *text, FILE *out)
{
    fprintf(out, "- %s", what);
    put_escaped(text, out);
    fputc('\n', out);
}

static void put_differences(const char *what, const struct pp_difference *d, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "- %s ", what);
        put_escaped(d[i].name, out);
        fputs(": ", out);
        put_escaped(d[i].base[0] ? d[i].base : "(none)", out);
        fputs(" → ", out);
        put_escaped(d[i].head[0] ? d[i].head : "(none)", out);
        fputc('\n', out);
    }
}

int pp_compare_markdown(const struct pp_compare *c, FILE *out)
{
    char what[96], unmeasured[600];
    fputs("### pipeprobe: ", out);
    put_escaped(c->sentence, out);
    fputs("\n\nBASE ", out);
    put_escaped(c->base_label, out);
    fprintf(out, " (%zu runs%s", c->n_base, c->base_subject[0] ? " of " : "");
    put_escaped(c->base_subject, out);
    fputs("), HEAD ", out);
    put_escaped(c->head_label, out);
    fprintf(out, " (%zu runs%s", c->n_head, c->head_subject[0] ? " of " : "");
    put_escaped(c->head_subject, out);
    fprintf(
        out,
        ")\n\n| metric | BASE | HEAD | worse by (time) | p | threshold | answer |\n|---|--:|--:|--:|--:|--:|---|\n");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].answer != PP_NOT_MEASURED)
            put_row(&c->metric[i], out);
    fputc('\n', out);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].reason[0] && c->metric[i].answer != PP_NOT_MEASURED) {
            snprintf(what, sizeof(what), "%s: ", pp_cmp_metric(c->metric[i].id)->title);
            put_item(what, c->metric[i].reason, out);
        }
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (pp_compare_unmeasured_text(unmeasured, sizeof(unmeasured), c, i)[0])
            put_item("", unmeasured, out);
    put_item("", c->verdict.sentence, out);
    if (c->attribution[0])
        put_item("", c->attribution, out);
    put_differences("option", c->change, c->n_changes, out);
    put_differences("environment, allowed to differ:", c->allowed, c->n_allowed, out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
