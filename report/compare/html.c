/* The comparison as one page: two runs as one picture, and where the time of a sample went. */
#include "report/compare/render.h"

#include "probe/base/text.h"
#include "report/render/html/parts.h"

/* ---- the answer ---- */

static void put_answer(FILE *out, const struct pp_compare *c)
{
    int worse = c->answer == PP_REGRESSED, one_each = pp_compare_is_single(c) && !worse;
    const char *class = worse ? "bad" : c->answer == PP_NOT_REGRESSED ? "good" : "neutral";
    fprintf(
        out,
        "<section class=\"verdict %s\" id=\"verdict\"><p class=\"badge\"><span aria-hidden=\"true\">%s</span> %s</p>\n",
        class, worse ? "\xe2\x96\xb2" : "\xe2\x97\x86", one_each ? "two runs" : pp_answer_names[c->answer]);
    /* "108 samples/s instead of 86.3: +25 %". */
    const struct pp_compare_metric *m = &c->metric[PP_CMP_SAMPLES_PER_S];
    const char *unit = "samples/s";
    char head[32], base[32], by[64];
    if (m->answer == PP_NOT_MEASURED || isnan(m->change))
        m = &c->metric[PP_CMP_BATCHES_PER_S], unit = "batches/s";
    fputs("<h1>", out);
    if (isnan(m->change))
        pp_html_text(out, c->sentence);
    else
        fprintf(out, "%s %s instead of %s: %s", pp_text_rate(head, sizeof(head), m->head_median), unit,
                pp_text_rate(base, sizeof(base), m->base_median),
                pp_text_gain(by, sizeof(by), m->change, NAN, NAN));
    fputs("</h1>\n", out);
    if (one_each)
        fputs(
            "<p class=\"cause\">One run on each side: a change may be the difference that there is from run to run.</p>\n",
            out);
    else
        pp_html_in(out, "<p class=\"cause\">", c->sentence, "</p>\n");
    pp_html_in(out, "<p class=\"cause\"><strong>BASE</strong> ", c->base_label, "");
    pp_html_in(out, ": ", c->base_subject, "</p>\n");
    pp_html_in(out, "<p class=\"cause\"><strong>HEAD</strong> ", c->head_label, "");
    pp_html_in(out, ": ", c->head_subject, "</p>\n");
    for (size_t i = 0; i < c->n_changes; i++) {
        pp_html_in(out, "<p class=\"cause\"><strong>Changed</strong> ", c->change[i].name, ": ");
        pp_html_text(out, c->change[i].base[0] ? c->change[i].base : "(none)");
        pp_html_in(out, " \xe2\x86\x92 ", c->change[i].head[0] ? c->change[i].head : "(none)", "</p>\n");
    }
    fputs("</section>\n", out);
}

/* ---- where the time of a sample went ---- */

static void put_cell(FILE *out, const char *head, const char *text)
{
    fprintf(out, "<td class=\"n\" data-h=\"%s\"><span>%s</span></td>", head, text);
}

static void put_spent(FILE *out, const struct pp_compare *c)
{
    static const char *const heads[] = {"", "#BASE", "#HEAD", "#difference", NULL};
    struct pp_compare_spent_row row[PP_SPENT_KINDS + 2];
    size_t n = pp_compare_spent_rows(c, row);
    char text[32];
    if (n == 0)
        return;
    const struct pp_compare_spent_row *sum = &row[n - 1];
    double scale = PP_HTML_WIDTH / fmax(sum->base_ns, sum->head_ns); /* the longer bar fills the width */
    pp_html_figure_begin(
        out, "spent", "Where the time of a sample goes",
        "In the steady state. A wait for data is divided by what the workers did meanwhile. The differences add up to the last row.");
    fputs("<div class=\"bars\">", out);
    for (int head = 0; head < 2; head++) {
        const char *side = head ? "HEAD" : "BASE";
        double x = 0;
        fprintf(out, "<div class=\"bar\"><span class=\"what\">%s</span><span class=\"track\">", side);
        pp_svg_begin(out, "full", PP_HTML_WIDTH, 22, side);
        for (size_t i = 0; i + 1 < n; i++) {
            double width = scale * fmax(head ? row[i].head_ns : row[i].base_ns, 0);
            pp_svg_rect(out, row[i].class, x, 0, width, 22);
            x += width;
        }
        pp_svg_end(out);
        fprintf(out, "</span><span class=\"v\">%s</span></div>\n",
                pp_text_duration(text, sizeof(text), head ? sum->head_ns : sum->base_ns));
    }
    fputs("</div>\n<p class=\"legend\">", out);
    for (size_t i = 0; i + 1 < n; i++)
        pp_html_key(out, row[i].class, row[i].words);
    fputs("</p>\n", out);
    pp_html_table_begin(out, "As a table", 1, heads);
    for (size_t i = 0; i < n; i++) {
        const char *strong = i + 1 < n ? "" : "strong";
        fprintf(out,
                strong[0] ? "<tr><th scope=\"row\"><strong>%s</strong></th>"
                          : "<tr><th scope=\"row\">%s</th>",
                row[i].words);
        put_cell(out, "BASE", pp_text_duration(text, sizeof(text), row[i].base_ns));
        put_cell(out, "HEAD", pp_text_duration(text, sizeof(text), row[i].head_ns));
        put_cell(out, "difference", pp_compare_ns_text(text, sizeof(text), row[i].head_ns - row[i].base_ns));
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    pp_html_figure_end(out);
}

/* ---- two runs as one picture ---- */

static void put_pictures(FILE *out, const struct pp_compare *c, const struct pp_report *base,
                         const struct pp_report *head)
{
    const struct pp_report *runs[] = {base, head};
    double end_s = 0;
    if (!base || !head || !base->n_slices || !head->n_slices)
        return;
    for (int i = 0; i < 2; i++)
        end_s = fmax(end_s, runs[i]->slices[runs[i]->n_slices - 1].end_s);
    pp_html_figure_begin(
        out, "steps", "The trainer over time",
        pp_compare_is_single(c)
            ? "Since the job started; one axis for both. Outside the steady state the colours are pale."
            : "Of each side the run with the median rate, since its start. Outside the steady state the colours are pale.");
    fputs("<p class=\"legend\">", out);
    pp_html_stack_keys(out, runs, 2);
    fputs("</p>\n", out);
    for (int i = 0; i < 2; i++) {
        struct pp_html_view v = {runs[i]->slices, runs[i]->n_slices};
        double wider = end_s / v.slice[v.n - 1].end_s; /* than the run's own part of the axis */
        fprintf(out, "<div class=\"plot\"><div class=\"y\"><span>%s</span></div>", i ? "HEAD" : "BASE");
        pp_svg_begin(out, "tall", PP_HTML_WIDTH * wider, 100, "Trainer time over the run");
        pp_html_stack(out, &v, 100);
        pp_html_window(out, runs[i], &v, 100);
        pp_svg_end(out);
        fputs("</div>\n", out);
        pp_html_in(out, "<p class=\"sub\">", runs[i]->verdict.head, "");
        pp_html_in(out, " Cause: ", runs[i]->verdict.cause_line, "");
        fputs("</p>\n", out);
    }
    pp_html_time_axis(out, 0, end_s);
    pp_html_figure_end(out);
}

/* ---- the metrics ---- */

int pp_compare_html(const struct pp_compare *c, const struct pp_report *base, const struct pp_report *head,
                    FILE *out)
{
    pp_html_page_begin(out, "comparison", "two sides compared");
    put_answer(out, c);
    put_spent(out, c);
    put_pictures(out, c, base, head);
    static const char *const of_runs[] = {"median of the runs", "#BASE", "#HEAD", "worse by", "answer", NULL},
                             *const of_two[] = {"", "#BASE", "#HEAD", "#change", NULL};
    int one_each = pp_compare_is_single(c);
    char text[96];
    pp_html_figure_begin(out, "metrics", "In numbers",
                         one_each ? "Of the steady state."
                                  : "Worse by: the time that it costs, with its interval.");
    pp_html_table_begin(out, "Metrics", 1, one_each ? of_two : of_runs);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const struct pp_cmp_metric *row = &pp_cmp_metrics[m->id];
        if (m->answer == PP_NOT_MEASURED)
            continue;
        fprintf(out, "<tr><th scope=\"row\">%s</th>", row->title);
        put_cell(out, "BASE", pp_cmp_value_text(text, sizeof(text), row, m->base_median));
        put_cell(out, "HEAD", pp_cmp_value_text(text, sizeof(text), row, m->head_median));
        if (one_each)
            put_cell(out, "change", pp_cmp_change_text(text, sizeof(text), m->change));
        else
            fprintf(out, "<td data-h=\"worse by\">%s</td><td data-h=\"answer\">%s</td>",
                    pp_compare_worse_text(text, sizeof(text), m), pp_compare_answer_text(m));
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    pp_html_in(out, "<p>", c->verdict.sentence, "</p>\n");
    if (c->attribution[0])
        pp_html_in(out, "<p>", c->attribution, "</p>\n");
    pp_html_figure_end(out);
    if (base)
        pp_html_in(out, "<p class=\"or\">BASE recorded ", base->made, "</p>\n");
    if (head)
        pp_html_in(out, "<p class=\"or\">HEAD recorded ", head->made, "</p>\n");
    return pp_html_page_end(out, "Shares and times are of the steady state.");
}
