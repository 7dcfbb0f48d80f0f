/* The comparison as text for a terminal and as Markdown. */
#include "report/compare/render.h"

#include "probe/base/page.h"
#include "probe/base/text.h"

/* ---- what the renderers say alike ---- */

char *pp_compare_worse_text(char *buf, size_t size, const struct pp_compare_metric *m)
{
    char by[32], low[32], high[32];
    if (isnan(m->low) || isnan(m->ratio))
        return pp_cmp_change_text(buf, size, m->change);
    pp_cmp_change_text(low, sizeof(low), m->low - 1);
    pp_cmp_change_text(high, sizeof(high), m->high - 1);
    low[strcspn(low, " ")] = high[strcspn(high, " ")] = '\0'; /* one per cent sign is enough */
    snprintf(buf, size, "%s (%s .. %s)", pp_cmp_change_text(by, sizeof(by), m->ratio - 1), low, high);
    return buf;
}

char *pp_compare_p_text(char *buf, size_t size, const struct pp_compare_metric *m)
{
    if (m->exact || isnan(m->p_all))
        snprintf(buf, size, "%s", m->exact ? "exact" : "-");
    else
        snprintf(buf, size, m->p_all < 0.001 ? "%.0e" : "%.3f", m->p_all);
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

/* "opens per epoch, reads per epoch: measured on neither side: no epoch was completed; give --epochs": all
 * that share metric id's reason for not being measured, said once, with the first of them; empty for the
 * others. buf of at least 600 bytes. */
static char *unmeasured_text(char *buf, size_t size, const struct pp_compare *c, int id)
{
    const char *reason = c->metric[id].reason;
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS && at < size; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        if (m->answer != PP_NOT_MEASURED || !reason[0] || strcmp(m->reason, reason) != 0)
            continue;
        if (i < id)
            return buf; /* named with that one */
        at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", pp_cmp_metrics[i].title);
    }
    if (at > 0 && at < size)
        snprintf(buf + at, size - at, ": %s", reason);
    return buf;
}

size_t pp_compare_spent_rows(const struct pp_compare *c, struct pp_compare_spent_row row[PP_SPENT_KINDS + 2])
{
    struct pp_compare_spent_row sum = {"in all", "", 0, 0}, rest = {"other", "idle", 0, 0};
    size_t n = 0;
    for (size_t i = 0; i < c->n_spent; i++) {
        sum.base_ns += c->spent[i].base_ns;
        sum.head_ns += c->spent[i].head_ns;
    }
    for (size_t i = 0; i < c->n_spent; i++) {
        const struct pp_compare_spent *s = &c->spent[i];
        if (fmax(s->base_ns / sum.base_ns, s->head_ns / sum.head_ns) >= 0.01) {
            row[n++] = (struct pp_compare_spent_row){pp_spent_kinds[s->kind].words,
                                                     pp_spent_kinds[s->kind].class, s->base_ns, s->head_ns};
        } else {
            rest.base_ns += s->base_ns;
            rest.head_ns += s->head_ns;
        }
    }
    if (n && (fabs(rest.base_ns) >= 1 || fabs(rest.head_ns) >= 1))
        row[n++] = rest;
    if (n)
        row[n++] = sum;
    return n;
}

char *pp_compare_ns_text(char *buf, size_t size, double ns)
{
    char by[32];
    snprintf(buf, size, "%c%s", ns < 0 ? '-' : '+', pp_text_duration(by, sizeof(by), fabs(ns)));
    return buf;
}

/* ---- two single runs side by side ---- */

int pp_compare_is_single(const struct pp_compare *c)
{
    return c->n_base == 1 && c->n_head == 1;
}

/* "1,310 +-3 %": the larger half of the quartiles around the value. */
static void spread_text(char *buf, size_t size, const struct pp_cmp_metric *m, double v,
                        const struct pp_run_spread *s, int id)
{
    char value[32];
    pp_cmp_value_text(value, sizeof(value), m, v);
    if (s->known && !isnan(s->low[id]) && v > 0)
        snprintf(buf, size, "%s +-%.0f %%", value,
                 100 * fmax(fabs(s->high[id] - v), fabs(v - s->low[id])) / v);
    else
        snprintf(buf, size, "%s", value);
}

/* A page too narrow for the tables, where a terminal would break numbers in two. */
static int is_narrow(const struct pp_page *page)
{
    enum { LEAST_COLUMNS = 76 };
    return page->columns < LEAST_COLUMNS;
}

/* Their row there. */
static void put_narrow(const struct pp_page *page, const char *name, const char *base, const char *head,
                       const char *rest)
{
    char lead[64], text[256];
    snprintf(lead, sizeof(lead), "%s: ", name);
    snprintf(text, sizeof(text), "BASE %s, HEAD %s, %s", base, head, rest);
    pp_page_text(page, PP_TONE_PLAIN, lead, 2, 0, text);
}

/* Where the time of a sample went, in kinds that add up. */
static void put_spent(const struct pp_compare *c, const struct pp_page *page)
{
    FILE *out = page->out;
    struct pp_compare_spent_row row[PP_SPENT_KINDS + 2];
    size_t n = pp_compare_spent_rows(c, row);
    char base[32], head[32], by[32];
    if (n && is_narrow(page))
        pp_page_heading(page, "where the time of a sample goes");
    else if (n)
        fprintf(out, "\n%-32s %10s %10s %11s\n", "where the time of a sample goes", "BASE", "HEAD",
                "difference");
    for (size_t i = 0; i < n; i++) {
        pp_text_duration(base, sizeof(base), row[i].base_ns);
        pp_text_duration(head, sizeof(head), row[i].head_ns);
        pp_compare_ns_text(by, sizeof(by), row[i].head_ns - row[i].base_ns);
        if (is_narrow(page))
            put_narrow(page, row[i].words, base, head, by);
        else
            fprintf(out, "%-32s %10s %10s %11s\n", row[i].words, base, head, by);
    }
}

/* ---- terminal ---- */

#define BAD "\033[1;33m" /* orange and blue, which colour-blind readers distinguish; the words say it too */
#define GOOD "\033[34m"
#define PLAIN "\033[0m"

static void text_row(const struct pp_compare_metric *m, const struct pp_page *page)
{
    FILE *out = page->out;
    int color = page->color;
    char base[32], head[32], worse[80];
    const struct pp_cmp_metric *row = &pp_cmp_metrics[m->id];
    const char *start = color ? m->answer == PP_REGRESSED || m->answer == PP_INCONCLUSIVE ? BAD
                                : m->improved                                             ? GOOD
                                                                                          : ""
                              : "";
    pp_cmp_value_text(base, sizeof(base), row, m->base_median);
    pp_cmp_value_text(head, sizeof(head), row, m->head_median);
    pp_compare_worse_text(worse, sizeof(worse), m);
    if (is_narrow(page)) {
        char rest[128];
        snprintf(rest, sizeof(rest), "worse by %s: %s", worse, pp_compare_answer_text(m));
        put_narrow(page, row->title, base, head, rest);
        return;
    }
    fprintf(out, "%-20s %9s %9s %24s  %s%s%s", row->title, base, head, worse, start,
            pp_compare_answer_text(m), start[0] ? PLAIN : "");
    fputc('\n', out);
}

static void put_sentence(const struct pp_page *page, const char *text)
{
    pp_page_text(page, PP_TONE_PLAIN, "", 2, 0, text);
}

enum listed { LIST_P, LIST_NOISE };

/* "LEAD: a, b, c", of those metrics that have it; nothing when there is none. */
static void put_list(const struct pp_compare *c, const struct pp_page *page, const char *lead,
                     enum listed what)
{
    char text[1024], one[32];
    size_t at = (size_t)snprintf(text, sizeof(text), "%s", lead), before = at;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS && at < sizeof(text); i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        /* p where it decides something: what is not worse needs none */
        if (what == LIST_P ? m->answer != PP_REGRESSED || m->exact : isnan(m->noise_floor))
            continue;
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s %s", at == before ? ":" : ",",
                               pp_cmp_metrics[m->id].title,
                               what == LIST_P ? pp_compare_p_text(one, sizeof(one), m)
                                              : pp_text_percent(one, sizeof(one), m->noise_floor));
    }
    if (at > before)
        put_sentence(page, text);
}

static void text_differences(const struct pp_page *page, const char *what, const struct pp_difference *d,
                             size_t n)
{
    char text[512];
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%s %s: %.160s -> %.160s", what, d[i].name,
                 d[i].base[0] ? d[i].base : "(none)", d[i].head[0] ? d[i].head : "(none)");
        put_sentence(page, text);
    }
}

static void put_sides(const struct pp_compare *c, const struct pp_page *page)
{
    char text[1024];
    const struct {
        const char *name, *label, *subject;
        size_t n;
    } side[] = {{"BASE", c->base_label, c->base_subject, c->n_base},
                {"HEAD", c->head_label, c->head_subject, c->n_head}};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%s (%zu run%s%s%s)", side[i].label, side[i].n,
                 side[i].n == 1 ? "" : "s", side[i].subject[0] ? " of " : "", side[i].subject);
        pp_page_text(page, PP_TONE_PLAIN, side[i].name, 5, 0, text);
    }
    fputc('\n', page->out);
}

/* Two single runs, in the manner of benchstat: each value with its spread within the run, and a change only
 * where the spreads lie apart. It claims nothing about other runs. */
static int text_of_single(const struct pp_compare *c, const struct pp_page *page)
{
    const struct pp_run_spread *a = &c->base_spread, *b = &c->head_spread;
    char text[400], base[64], head[64], change[32];
    if (c->answer == PP_REGRESSED) /* counts are exact in one run */
        pp_page_text(page, PP_TONE_BAD, "", 0, 0, c->sentence);
    put_sides(c, page);
    if (!is_narrow(page))
        fprintf(page->out, "%-20s %17s %17s %8s  %s\n", "", "BASE", "HEAD", "change", "from");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const struct pp_cmp_metric *row = &pp_cmp_metrics[m->id];
        if (m->answer == PP_NOT_MEASURED)
            continue;
        int spread = a->known && b->known && !isnan(a->low[i]) && !isnan(b->low[i]);
        int overlap = spread && a->low[i] <= b->high[i] && b->low[i] <= a->high[i];
        const char *by = "~", *from = spread ? "windows of the run" : "one value each";
        if (!isnan(m->change) && !overlap && m->change != 0)
            by = pp_cmp_change_text(change, sizeof(change), m->change);
        else if (!isnan(m->change) && !overlap && m->exact)
            by = "=";
        if (m->exact)
            from = m->answer == PP_REGRESSED ? "exact: REGRESSED" : "exact";
        spread_text(base, sizeof(base), row, m->base_median, a, i);
        spread_text(head, sizeof(head), row, m->head_median, b, i);
        if (is_narrow(page))
            put_narrow(page, row->title, base, head, by);
        else
            fprintf(page->out, "%-20s %17s %17s %8s  %s\n", row->title, base, head, by, from);
    }
    put_spent(c, page);
    fputc('\n', page->out);
    put_sentence(page, c->verdict.sentence);
    if (c->attribution[0])
        put_sentence(page, c->attribution);
    text_differences(page, "option", c->change, c->n_changes);
    text_differences(page, "environment, allowed to differ:", c->allowed, c->n_allowed);
    if (a->known && b->known) {
        snprintf(
            text, sizeof(text),
            "+-: quartiles over %d windows within each run (%.2g s and %.2g s each); ~: the windows of the two runs overlap, no "
            "change that they show.",
            PP_RUN_WINDOWS, a->window_s, b->window_s);
        put_sentence(page, text);
    }
    snprintf(
        text, sizeof(text),
        "One run on each side: a change may be the difference that there is from run to run. To decide, compare %zu runs on each side: "
        "pipeprobe ci run --ab.",
        c->runs_needed);
    put_sentence(page, text);
    return fflush(page->out) == 0 && !ferror(page->out) ? 0 : -1;
}

int pp_compare_text(const struct pp_compare *c, FILE *out, int color, int columns)
{
    struct pp_page page = {.out = out, .columns = columns, .color = color};
    char unmeasured[600], text[320];
    if (pp_compare_is_single(c))
        return text_of_single(c, &page);
    pp_page_text(&page, c->answer == PP_NOT_REGRESSED ? PP_TONE_STRONG : PP_TONE_BAD, "", 0, 0, c->sentence);
    put_sides(c, &page);
    if (!is_narrow(&page))
        fprintf(out, "%-20s %9s %9s %24s  %s\n", "median of the runs", "BASE", "HEAD", "worse by", "answer");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].answer != PP_NOT_MEASURED)
            text_row(&c->metric[i], &page);
    put_spent(c, &page);
    fputc('\n', out);
    put_sentence(&page, c->verdict.sentence);
    if (c->attribution[0])
        put_sentence(&page, c->attribution);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const char *title = pp_cmp_metrics[m->id].title;
        if (m->reason[0] && m->answer != PP_NOT_MEASURED) {
            snprintf(text, sizeof(text), "%s: %s", title, m->reason);
            put_sentence(&page, text);
        }
        if (m->base_outliers.severe || m->head_outliers.severe) {
            snprintf(
                text, sizeof(text),
                "%s: far outliers, not removed: %zu in BASE, %zu in HEAD (Tukey, 3 interquartile ranges)",
                title, m->base_outliers.severe, m->head_outliers.severe);
            put_sentence(&page, text);
        }
    }
    text_differences(&page, "option", c->change, c->n_changes);
    text_differences(&page, "environment, allowed to differ:", c->allowed, c->n_allowed);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (unmeasured_text(unmeasured, sizeof(unmeasured), c, i)[0])
            put_sentence(&page, unmeasured);
    put_list(c, &page, c->opts.paired ? "p over all questions" : "p after Holm", LIST_P);
    put_list(c, &page,
             "A/A noise floor (95 % of the differences of the same command measured twice are smaller)",
             LIST_NOISE);
    put_sentence(
        &page, "Worse by: the time that it costs, per sample or batch, with its interval; minus is better.");
    snprintf(
        text, sizeof(text),
        c->opts.paired
            ? "Regressed: the %.4g %% signed-rank interval of the ratios within pairs lies above the threshold, and the sign-flip p over all questions is below %.2g."
            : "Regressed: the %.4g %% bootstrap interval of the ratio of medians lies above the threshold, and Mann-Whitney's p after Holm is below %.2g.",
        100 * c->confidence, c->level);
    put_sentence(&page, text);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- Markdown ---- */

/* Text inside a table cell or sentence: what Markdown or HTML would read as markup is escaped, control
 * characters become spaces. */
static void md_text(const char *s, FILE *out)
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

static void md_item(const char *what, const char *text, FILE *out)
{
    fprintf(out, "- %s", what);
    md_text(text, out);
    fputc('\n', out);
}

static void md_differences(const char *what, const struct pp_difference *d, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "- %s ", what);
        md_text(d[i].name, out);
        fputs(": ", out);
        md_text(d[i].base[0] ? d[i].base : "(none)", out);
        fputs(" → ", out);
        md_text(d[i].head[0] ? d[i].head : "(none)", out);
        fputc('\n', out);
    }
}

int pp_compare_markdown(const struct pp_compare *c, FILE *out)
{
    struct pp_compare_spent_row spent[PP_SPENT_KINDS + 2];
    size_t n = pp_compare_spent_rows(c, spent);
    char what[96], unmeasured[600], base[32], head[32], worse[80];
    fputs("### pipeprobe: ", out);
    md_text(c->sentence, out);
    fputs("\n\nBASE ", out);
    md_text(c->base_label, out);
    fprintf(out, " (%zu runs%s", c->n_base, c->base_subject[0] ? " of " : "");
    md_text(c->base_subject, out);
    fputs("), HEAD ", out);
    md_text(c->head_label, out);
    fprintf(out, " (%zu runs%s", c->n_head, c->head_subject[0] ? " of " : "");
    md_text(c->head_subject, out);
    fprintf(
        out,
        ")\n\n| metric | BASE | HEAD | worse by (time) | p | threshold | answer |\n|---|--:|--:|--:|--:|--:|---|\n");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].answer != PP_NOT_MEASURED) {
            const struct pp_compare_metric *m = &c->metric[i];
            char p[32], threshold[32];
            const struct pp_cmp_metric *row = &pp_cmp_metrics[m->id];
            const char *strong = m->answer == PP_REGRESSED && m->gated ? "**" : "";
            fprintf(out, "| %s | %s | %s | %s | %s | %s | %s%s%s |\n", row->title,
                    pp_cmp_value_text(base, sizeof(base), row, m->base_median),
                    pp_cmp_value_text(head, sizeof(head), row, m->head_median),
                    pp_compare_worse_text(worse, sizeof(worse), m), pp_compare_p_text(p, sizeof(p), m),
                    m->gated ? pp_text_percent(threshold, sizeof(threshold), m->threshold) : "not gated",
                    strong, pp_compare_answer_text(m), strong);
        }
    fputc('\n', out);
    if (n)
        fputs("| where the time of a sample goes | BASE | HEAD | difference |\n|---|--:|--:|--:|\n", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "| %s | %s | %s | %s |\n", spent[i].words,
                pp_text_duration(base, sizeof(base), spent[i].base_ns),
                pp_text_duration(head, sizeof(head), spent[i].head_ns),
                pp_compare_ns_text(worse, sizeof(worse), spent[i].head_ns - spent[i].base_ns));
    if (n)
        fputc('\n', out);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].reason[0] && c->metric[i].answer != PP_NOT_MEASURED) {
            snprintf(what, sizeof(what), "%s: ", pp_cmp_metrics[c->metric[i].id].title);
            md_item(what, c->metric[i].reason, out);
        }
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (unmeasured_text(unmeasured, sizeof(unmeasured), c, i)[0])
            md_item("", unmeasured, out);
    md_item("", c->verdict.sentence, out);
    if (c->attribution[0])
        md_item("", c->attribution, out);
    md_differences("option", c->change, c->n_changes, out);
    md_differences("environment, allowed to differ:", c->allowed, c->n_allowed, out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
