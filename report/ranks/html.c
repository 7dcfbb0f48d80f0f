/* The judgement on the ranks of a job as one page: sentence, map, readiness, ranks. */
#include "probe/base/text.h"
#include "report/ranks/judge.h"
#include "report/render/html/html.h"

enum { CELL = 48, ROW = 16, SHOWN = 256 };

/* ---- the judgement ---- */

static void put_line(FILE *out, const char *label, const char *text)
{
    if (text)
        fprintf(out, "<p class=\"cause\"><strong>%s</strong> ", label);
    pp_html_in(out, "", text, "</p>\n");
}

/* ---- rank x time ---- */

/* Of a rank that was there also a cell without waiting is drawn. */
static double wait_of(const void *of, size_t row, size_t column)
{
    const struct pp_ranks_map *m = of;
    double share = m->wait_share[row * m->n_columns + column];
    return isnan(share) ? NAN : fmax(share, 0.01);
}

static void put_label(FILE *out, const struct pp_ranks_group *g)
{
    pp_html_text(out, g->label);
    if (g->n_ranks > 1)
        fprintf(out, " (%zu)", g->n_ranks);
}

static void put_map(FILE *out, const struct pp_ranks *r)
{
    static const char *const shade_names[] = {"",           "under 20 %", "20 to 40 %",
                                              "40 to 60 %", "60 to 80 %", "over 80 % of step time"};
    const struct pp_ranks_map *m = &r->map;
    char length[CELL], caption[400];
    if (!m->n_columns)
        return;
    snprintf(
        caption, sizeof(caption),
        "A row is %s, a column %s. The shade is the wait for data and device as a share of step time%s. The worst "
        "are on top. Time is that of the machines' calendars.",
        m->by_host                ? "a machine with its number of ranks"
        : m->n_groups < r->n_rows ? "a group of ranks"
                                  : "a rank",
        pp_text_duration(length, sizeof(length), m->column_s * 1e9),
        m->n_groups < r->n_rows ? ", of the worst rank in the row" : "");
    pp_html_figure_begin(out, "map", "Wait for data over ranks and time", caption);
    fputs("<div class=\"plot rows\"><div class=\"names\">", out);
    for (size_t g = 0; g < m->n_groups; g++) {
        fputs("<span>", out);
        put_label(out, &m->groups[g]);
        fputs("</span>", out);
    }
    fputs("</div>", out);
    pp_html_heat(out,
                 &(struct pp_html_heat){.n_rows = m->n_groups,
                                        .n_columns = m->n_columns,
                                        .row_height = ROW,
                                        .value = wait_of,
                                        .of = m,
                                        .title = "Wait for data as a share of step time, by rank and time",
                                        .shade_names = shade_names,
                                        .end_s = m->column_s * (double)m->n_columns});
    pp_html_figure_end(out);
}

/* ---- rank x epoch ---- */

static void put_readiness(FILE *out, const struct pp_ranks *r)
{
    const struct pp_ranks_map *m = &r->map;
    char names[PP_RANKS_MAP_EPOCHS][CELL];
    const char *heads[PP_RANKS_MAP_EPOCHS + 2] = {m->n_groups < r->n_rows ? "Ranks" : "Rank"};
    char caption[320];
    if (!m->n_epochs)
        return;
    snprintf(
        caption, sizeof(caption),
        "How long after its last step a rank had the first batch of an epoch; before the first epoch, after its "
        "recording began%s.%s",
        m->n_groups < r->n_rows ? ". Of several ranks the last one" : "",
        m->epochs_left_out ? " Later epochs are left out." : "");
    pp_html_figure_begin(out, "epochs", "Readiness by rank and epoch", caption);
    for (size_t k = 0; k < m->n_epochs; k++) {
        snprintf(names[k], sizeof(names[k]), "#epoch %u", m->epoch[k]);
        heads[k + 1] = names[k];
    }
    pp_html_table_begin(out, "First batch after", 1, heads);
    for (size_t g = 0; g < m->n_groups; g++) {
        fputs("<tr><th scope=\"row\">", out);
        put_label(out, &m->groups[g]);
        fputs("</th>", out);
        for (size_t k = 0; k < m->n_epochs; k++) {
            fprintf(out, "<td class=\"n\" data-h=\"epoch %u\">", m->epoch[k]);
            pp_html_num(out, PP_HTML_SECONDS, m->ready_s[g * m->n_epochs + k], "map.ready_s.%zu.%zu", g, k);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    pp_html_figure_end(out);
}

/* ---- the ranks ---- */

static void put_ranks(FILE *out, const struct pp_ranks *r)
{
    static const char *const heads[] = {"Rank",       "Node",         "GPU",   "#samples/s", "#own time",
                                        "#data wait", "#other ranks", "#last", "Verdict",    NULL};
    static const struct {
        enum pp_html_form form;
        size_t at;
        const char *key;
    } numbers[] = {{PP_HTML_RATE, offsetof(struct pp_ranks_row, samples_per_s), "samples_per_s"},
                   {PP_HTML_TIME, offsetof(struct pp_ranks_row, own_ns), "own_ns"},
                   {PP_HTML_SHARE, offsetof(struct pp_ranks_row, data_wait_share), "data_wait_share"},
                   {PP_HTML_SHARE, offsetof(struct pp_ranks_row, collective_share), "collective_share"},
                   {PP_HTML_SHARE, offsetof(struct pp_ranks_row, last_share), "last_share"}};
    const struct pp_ranks_row **order = ranks_by_last(r);
    size_t shown = r->n_rows < SHOWN ? r->n_rows : SHOWN;
    char caption[200];
    snprintf(caption, sizeof(caption), "Those that are last most often first%s.",
             shown < r->n_rows ? "; the others are in pipeprobe ranks --all and --json" : "");
    pp_html_figure_begin(out, "ranks", "Ranks", caption);
    pp_html_table_begin(out, "All numbers are of the rank's steady state", 1, heads);
    for (size_t i = 0; order && i < shown; i++) {
        const struct pp_ranks_row *p = order[i];
        fprintf(out, "<tr><th scope=\"row\">%.0f</th>", p->rank);
        pp_html_in(out, "<td>", p->host ? p->host : "-", "</td>");
        pp_html_in(out, "<td>", p->gpu ? p->gpu : "-", "</td>");
        for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
            fputs("<td class=\"n\">", out);
            pp_html_num(out, numbers[k].form, *(const double *)((const char *)p + numbers[k].at),
                        "ranks.%zu.%s", (size_t)(p - r->rows), numbers[k].key);
            fputs("</td>", out);
        }
        pp_html_in(out, "<td>", p->l1 ? p->l1 : p->l0 ? p->l0 : "-", p->l2 ? ", " : "");
        pp_html_in(out, "", p->l2 ? p->l2 : "", "</td></tr>\n");
    }
    pp_html_table_end(out);
    pp_html_figure_end(out);
    free(order);
}

int pp_ranks_html(const struct pp_ranks *r, FILE *out)
{
    char cost[160], rate[40];
    const char *name = r->job ? r->job : "ranks of a job";
    const struct {
        const char *name;
        enum pp_html_form form;
        double value;
        const char *key, *below;
    } tiles[] = {
        {"Ranks", PP_HTML_COUNT, (double)r->n_rows, "ranks.length", "recorded"},
        {"Steps", PP_HTML_COUNT, (double)r->compared_steps, "compared_steps", "of all ranks"},
        {"A step", PP_HTML_TIME, r->step_ns, "step_ns", "median rank"},
        {"Lost", PP_HTML_TIME, r->lost_ns, "lost_ns", "per step and rank"},
        {"Wait for data, p50", PP_HTML_TIME, r->wait_p50_ns, "wait_p50_ns", "all steps of all ranks"},
        {"Wait for data, p99", PP_HTML_TIME, r->wait_p99_ns, "wait_p99_ns", "all steps of all ranks"},
        {"Gain", PP_HTML_SHARE, r->gain_share, "gain_share",
         isnan(r->exchange_delay_ns) ? "if the last were as the next" : "if the last had its CPUs"},
    };
    pp_html_page_begin(out, name, name);
    fprintf(out, "<section class=\"verdict %s\" id=\"verdict\"><p class=\"badge\">",
            r->kind == PP_RANKS_INCONCLUSIVE || r->kind == PP_RANKS_APART ? "neutral"
            : r->kind == PP_RANKS_BALANCED                                ? "good"
                                                                          : "bad");
    pp_html_in(out, "", r->kind_name, "</p>\n");
    pp_html_in(out, "<h1>", r->sentence, "</h1>\n");
    put_line(out, "Why", r->why);
    put_line(out, "Where", r->where);
    if (r->lost_cost_per_day > 0) {
        snprintf(cost, sizeof(cost), "the wait for the last rank: %s a day at %.4g an hour",
                 pp_text_rate(rate, sizeof(rate), r->lost_cost_per_day), r->gpu_hour);
        put_line(out, "Cost", cost);
    }
    if (r->missing_ranks) {
        fputs("<p class=\"cause\"><strong>Missing</strong> ", out);
        pp_html_num(out, PP_HTML_COUNT, (double)r->missing_ranks, "missing_ranks");
        pp_html_in(out,
                   r->missing_ranks == 1 ? " rank has no recording here: "
                                         : " ranks have no recording here: ",
                   r->missing, "</p>\n");
    }
    put_line(out, "No end", r->no_end);
    put_line(out, "Clocks", r->clocks);
    put_line(out, "Note", r->note);
    pp_html_in(out, "<div class=\"next\"><h2>Next</h2><pre class=\"paste\"><code>", r->next_step,
               "</code></pre></div>\n");
    fputs("</section>\n<div class=\"tiles\">", out);
    for (size_t i = 0; i < sizeof(tiles) / sizeof(*tiles); i++) {
        if (isnan(tiles[i].value))
            continue;
        fprintf(out, "<div class=\"tile\"><p>%s</p><p class=\"big\">", tiles[i].name);
        pp_html_num(out, tiles[i].form, tiles[i].value, "%s", tiles[i].key);
        fprintf(out, "<small>%s</small></p></div>\n", tiles[i].below);
    }
    fputs("</div>\n", out);
    put_map(out, r);
    put_readiness(out, r);
    put_ranks(out, r);
    return pp_html_page_end(out, "A dash means not known, not zero.");
}
