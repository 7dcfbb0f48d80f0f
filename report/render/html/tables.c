/* The tables of the HTML report: how a section is printed; evidence, phases, environment and configuration,
 * the recording itself. */
#include "report/render/answer.h"
#include "report/render/html/parts.h"

/* ---- a section ---- */

enum { MOST_HEADS = 16 };

static enum pp_html_form form_of(enum pp_field_unit unit)
{
    switch (unit) {
    case PP_UNIT_NONE:
    case PP_UNIT_COUNT: return PP_HTML_COUNT;
    case PP_UNIT_NS: return PP_HTML_TIME;
    case PP_UNIT_S: return PP_HTML_SECONDS;
    case PP_UNIT_SHARE: return PP_HTML_SHARE;
    case PP_UNIT_BYTES:
    case PP_UNIT_BYTES_PER_S: return PP_HTML_BYTES;
    case PP_UNIT_RATE:
    case PP_UNIT_GAIN:
    case PP_UNIT_FACTOR:
    case PP_UNIT_NUMBER: break;
    }
    return PP_HTML_RATE;
}

/* What is in the cell. */
static void put_parts(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                      size_t i, const void *row)
{
    char part[64], words[PP_CELL_TEXT];
    const struct pp_field *f;
    if (c->words) {
        pp_html_text(out, c->words(row, PP_IN_HTML, words));
        return;
    }
    for (size_t at = 0; pp_section_part(c, rows->fields, &at, &f, part, sizeof(part));) {
        struct pp_value v = f ? pp_section_value(rows, c, row, &f) : pp_value_text(part);
        if (v.kind == PP_VALUE_NULL || v.kind == PP_VALUE_TEXT)
            pp_html_text(out, v.text);
        else if (c->flags & PP_CELL_OF_LINE)
            pp_html_num(out, form_of(f->unit), pp_value_as_number(&v), "%s%s",
                        ((const struct pp_gpu_line *)row)->path, f->key);
        else
            pp_html_num(out, form_of(f->unit), pp_value_as_number(&v), "%s.%zu.%s", rows->path,
                        rows->number + i, f->key);
        if (f && f->unit == PP_UNIT_BYTES_PER_S)
            fputs("/s", out);
    }
}

static void put_cell(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                     size_t i)
{
    const char *row = rows->first + i * rows->stride;
    if (c->flags & PP_CELL_BAR) {
        struct pp_value v = pp_field_value(pp_fields_key(rows->fields, c->form), row, rows->report);
        double share = pp_value_as_number(&v);
        fputs(
            "<td class=\"inbar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            out);
        pp_svg_rect(out, "rail", 0, 0, 100, 8);
        pp_svg_rect(out, "step", 0, 0, isnan(share) ? 0 : 100 * fmin(share, 1), 8);
        fputs("</svg></td>", out);
        return;
    }
    if (c->title) {
        pp_html_in(out, "<th scope=\"row\" title=\"", c->title(row), "\">");
    } else if (c->flags & PP_CELL_ROW_HEAD) {
        fputs("<th scope=\"row\">", out);
    } else if (c->flags & PP_CELL_PATH) {
        fputs("<td class=\"path\"><bdi>", out);
    } else {
        int number = c->head[PP_IN_HTML][0] == '#';
        fputs(number ? "<td class=\"n\" data-h=\"" : "<td data-h=\"", out);
        pp_html_text(out, c->head[PP_IN_HTML] + number); /* beside the cell where a screen is too narrow */
        fputs("\">", out);
    }
    put_parts(out, rows, c, i, row);
    fputs(c->flags & PP_CELL_ROW_HEAD ? "</th>" : c->flags & PP_CELL_PATH ? "</bdi></td>" : "</td>", out);
}

static void put_list(FILE *out, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    int with_names = 0, any = 0;
    for (size_t k = 0; k < s->n_columns; k++)
        with_names |= s->columns[k].head[PP_IN_HTML] && s->columns[k].flags & PP_CELL_ROW_HEAD;
    for (size_t i = PP_NO_ROW; (i = pp_section_next(rows, PP_IN_HTML, i)) != PP_NO_ROW; any = 1) {
        const char *row = rows->first + i * rows->stride;
        if (!any && s->title[PP_IN_HTML])
            fprintf(out, "<h3>%s</h3>\n", s->title[PP_IN_HTML]);
        if (!any)
            fputs(with_names ? "<dl>" : "<ul>", out);
        fputs(with_names ? "<dt>" : "<li>", out);
        for (size_t k = 0; k < s->n_columns; k++) {
            const struct pp_section_column *c = &s->columns[k];
            int below = c->flags & PP_CELL_BELOW;
            if (!c->head[PP_IN_HTML] || (below && pp_section_is_null(rows, c, row)))
                continue;
            fputs(below ? ". <strong>" : "", out);
            put_parts(out, rows, c, i, row);
            fputs(below ? "</strong>" : c->flags & PP_CELL_ROW_HEAD ? "</dt><dd>" : "", out);
        }
        fputs(with_names ? "</dd>\n" : "</li>\n", out);
    }
    if (any)
        fputs(with_names ? "</dl>\n" : "</ul>\n", out);
}

void pp_html_section(FILE *out, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    const char *heads[MOST_HEADS + 1] = {NULL};
    size_t n = 0;
    if (s->layout[PP_IN_HTML] == PP_LIST) {
        put_list(out, rows);
        return;
    }
    size_t shown = rows->n;
    if (s->shows) {
        shown = 0;
        for (size_t k = PP_NO_ROW; (k = pp_section_next(rows, PP_IN_HTML, k)) != PP_NO_ROW;)
            shown++;
        if (!shown)
            return;
    }
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].head[PP_IN_HTML] && n < MOST_HEADS)
            heads[n++] = s->columns[i].head[PP_IN_HTML];
    pp_html_table_begin(out, s->title[PP_IN_HTML], shown <= s->open_up_to, heads);
    for (size_t k = PP_NO_ROW; (k = pp_section_next(rows, PP_IN_HTML, k)) != PP_NO_ROW;) {
        fputs("<tr>", out);
        for (size_t i = 0; i < s->n_columns; i++)
            if (s->columns[i].head[PP_IN_HTML])
                put_cell(out, rows, &s->columns[i], k);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
}

void pp_html_section_at(FILE *out, const struct pp_section *s, const struct pp_report *r, const char *path)
{
    struct pp_section_rows rows = pp_section_rows(s, r, path);
    pp_html_section(out, &rows);
}

/* ---- the tables, in the order of the page ---- */

void pp_html_evidence(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    if (v->evidences == 0)
        return;
    pp_html_figure_begin(out, "evidence", "How this was decided",
                         "The numbers that decided the verdict, with their thresholds.");
    if (!isnan(v->confidence)) {
        fputs("<p>Confidence ", out);
        pp_html_num(out, PP_HTML_SHARE, v->confidence, "verdict.confidence");
        if (!isnan(v->explained)) {
            fputs("; the cause explains ", out);
            pp_html_num(out, PP_HTML_SHARE, v->explained, "verdict.explained");
            fputs(" of the wait", out);
        }
        fputs(".</p>\n", out);
    }
    if (!isnan(v->replay_error)) {
        fputs("<p>The replay of the unchanged run is off by ", out);
        pp_html_num(out, PP_HTML_SHARE, v->replay_error, "verdict.replay_error");
        fputs(".</p>\n", out);
    }
    pp_html_section_at(out, &pp_section_evidence, r, "verdict.evidence");
    pp_html_section_at(out, &pp_section_evidence_rest, r, "verdict.evidence");
    pp_html_section_at(out, &pp_section_ruled_out, r, "verdict.ruled_out");
    pp_html_figure_end(out);
}

/* ---- findings, proofs ---- */

void pp_html_findings(FILE *out, const struct pp_report *r)
{
    size_t found = 0;
    for (size_t i = 0; i < r->n_findings; i++)
        found += r->findings[i].state == PP_FINDING_FOUND;
    if (r->n_findings) { /* what was found, with what to do; all that was looked for is folded away */
        pp_html_figure_begin(out, "findings", "Other findings",
                             found ? "Found beside the verdict. What one means: pipeprobe explain NAME."
                                   : "Nothing else was found.");
        pp_html_section_at(out, &pp_section_found, r, "findings");
        pp_html_section_at(out, &pp_section_findings, r, "findings");
        pp_html_figure_end(out);
    }
    if (r->n_proofs) { /* predicted above measured, for each change that was run */
        pp_html_figure_begin(
            out, "proof", "Proved by experiment",
            "Samples per second: predicted from this recording, and measured by running the change.");
        pp_html_section_at(out, &pp_section_proofs, r, "proof");
        pp_html_section_at(out, &pp_section_proof_sentences, r, "proof");
        pp_html_figure_end(out);
    }
}

/* ---- phases ---- */

void pp_html_phases(FILE *out, const struct pp_report *r)
{
    if (r->n_phases == 0)
        return;
    pp_html_figure_begin(
        out, "phases", "Phases",
        "Every phase of the steady state: share of its lane's time, split of that time, and duration of a span.");
    pp_html_section_at(out, &pp_section_shares, r, "phases");
    pp_html_section_at(out, &pp_section_durations, r, "phases");
    pp_html_figure_end(out);
}

/* ---- the GPU ---- */

void pp_html_gpu(FILE *out, const struct pp_report *r)
{
    struct pp_gpu_line line[PP_GPU_LINES];
    char text[PP_ANSWER_TEXT];
    if (r->gpu) {
        struct pp_section_rows rows = pp_section_gpu_rows(r, line);
        pp_html_figure_begin(
            out, "gpu", "GPU",
            "Shares of the steady state. Idle time is divided by what the awaited batch was doing.");
        pp_html_in(out, "<p><strong>NOT MEASURED:</strong> ", r->gpu->not_measured, "</p>\n");
        pp_html_in(out, "<p><strong>NVML NOT MEASURED:</strong> ", r->gpu->counters_missing, "</p>\n");
        if (rows.n)
            pp_html_section(out, &rows);
        pp_html_figure_end(out);
    }
    if (r->decode) {
        pp_html_figure_begin(out, "decode", "Decoded on the GPU",
                             "Images that the GPU decoded, of the whole run.");
        pp_html_in(out, "<p>", pp_answer(r, PP_ANSWER_DECODE, text), "</p>\n");
        pp_html_section_at(out, &pp_section_differences, r, "decode.differences");
        pp_html_figure_end(out);
    }
}

/* ---- environment, configuration ---- */

static void put_pairs(FILE *out, const char *summary, const char *section, const struct pp_report_pair *pairs,
                      size_t n)
{
    static const char *const heads[] = {"name", "value", NULL};
    if (n == 0)
        return;
    pp_html_table_begin(out, summary, 0, heads);
    for (size_t i = 0; i < n; i++) {
        const struct pp_report_pair *p = &pairs[i];
        if (pp_section_is_internal(p))
            continue;
        pp_html_in(out, "<tr><th scope=\"row\">", p->key, "</th><td>");
        int bytes = p->unit && strcmp(p->unit, "bytes") == 0;
        if (p->numeric && p->value && bytes) {
            pp_html_num(out, PP_HTML_BYTES, strtod(p->value, NULL), "%s.%s", section, p->key);
        } else {
            pp_html_text(out, p->value);
            pp_html_in(out, " ", p->unit, "");
        }
        pp_html_in(out, " <span class=\"note\">", p->note, "</span>");
        fputs("</td></tr>\n", out);
    }
    pp_html_table_end(out);
}

/* ---- the recording ---- */

void pp_html_recording(FILE *out, const struct pp_report *r)
{
    static const char *const keys[] = {"cpu_model", "usable_cpus", "hostname"};
    if (r->n_config + r->n_environment) {
        pp_html_figure_begin(out, "setup", "Configuration and environment",
                             "The configuration, with the reason for automatic choices, and the machine.");
        put_pairs(out, "Configuration", "config", r->config, r->n_config);
        put_pairs(out, "Machine", "environment", r->environment, r->n_environment);
        pp_html_figure_end(out);
    }
    pp_html_figure_begin(out, "recording", "Recording",
                         "Cost of the recording, and what is missing from it.");
    fputs("<p>", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->spans, "span_count");
    fputs(" spans. Own CPU time: ", out);
    if (isnan(r->overhead_cpu_s))
        fputs("not recorded", out);
    else
        pp_html_num(out, PP_HTML_SECONDS, r->overhead_cpu_s, "overhead.cpu_s");
    if (!isnan(r->overhead_share)) {
        fputs(", ", out);
        pp_html_num(out, PP_HTML_SHARE, r->overhead_share, "overhead.share");
        fputs(" of the usable CPUs", out);
    }
    fputs(r->n_losses ? ".</p>\n" : ". Nothing was lost.</p>\n", out);
    if (r->n_losses)
        pp_html_section_at(out, &pp_section_losses, r, "losses.items");
    pp_html_figure_end(out);
    if (!r->made)
        return;
    /* How it was made, as far as that was recorded, and on what. */
    pp_html_figure_begin(out, "made", "What produced this file",
                         "Date, command, directory and commit, and on what it ran.");
    pp_html_in(out, "<p>Recorded ", r->made, ".</p>\n<p class=\"sub\">");
    for (size_t k = 0, n = 0; k < sizeof(keys) / sizeof(*keys); k++)
        for (size_t i = 0; i < r->n_environment; i++) {
            const struct pp_report_pair *p = &r->environment[i];
            if (strcmp(p->key, keys[k]) != 0 || !p->value)
                continue;
            pp_html_in(out, n++ ? ", " : "", p->key, " ");
            pp_html_text(out, p->value);
            pp_html_in(out, " ", p->unit, "");
        }
    fputs("</p>\n", out);
    pp_html_figure_end(out);
}
