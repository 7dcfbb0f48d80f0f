/* The tables of the HTML report: evidence, phases, environment and configuration, the recording itself. */
#include "report/render/answer.h"
#include "report/render/html/figure.h"
#include "report/render/html/parts.h"
#include "report/render/html/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pp_html_evidence(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    if (v->evidences == 0)
        return;
    pp_html_figure_begin(out, "evidence", "Evidence",
                         "The numbers that decided the verdict, with their thresholds.");
    pp_html_section_at(out, &pp_section_evidence, r, "verdict.evidence");
    pp_html_section_at(out, &pp_section_evidence_rest, r, "verdict.evidence");
    pp_html_section_at(out, &pp_section_ruled_out, r, "verdict.ruled_out");
    pp_html_figure_end(out);
}

/* ---- proofs, findings ---- */

/* Predicted above measured, for each change that was run. */
void pp_html_proofs(FILE *out, const struct pp_report *r)
{
    if (!r->n_proofs)
        return;
    pp_html_figure_begin(
        out, "proof", "Proved by experiment",
        "Samples per second: predicted from this recording, and measured by running the change.");
    pp_html_section_at(out, &pp_section_proofs, r, "proof");
    pp_html_section_at(out, &pp_section_proof_sentences, r, "proof");
    pp_html_figure_end(out);
}

/* What was found, with what to do; all that was looked for is folded away. */
void pp_html_findings(FILE *out, const struct pp_report *r)
{
    size_t found = 0;
    if (!r->n_findings)
        return;
    for (size_t i = 0; i < r->n_findings; i++)
        found += r->findings[i].state == PP_FINDING_FOUND;
    pp_html_figure_begin(out, "findings", "Other findings",
                         found ? "Found beside the verdict." : "Nothing else was found.");
    pp_html_section_at(out, &pp_section_found, r, "findings");
    pp_html_section_at(out, &pp_section_findings, r, "findings");
    pp_html_figure_end(out);
}

/* ---- phases ---- */

void pp_html_phases(FILE *out, const struct pp_report *r)
{
    if (r->n_phases == 0)
        return;
    pp_html_figure_begin(
        out, "phases", "Where the time goes",
        "Every phase of the steady state: share of its lane's time, split of that time, and duration of a span.");
    pp_html_section_at(out, &pp_section_shares, r, "phases");
    pp_html_section_at(out, &pp_section_durations, r, "phases");
    pp_html_figure_end(out);
}

/* ---- the GPU ---- */

static void put_not_measured(FILE *out, const char *what, const char *why)
{
    if (!why)
        return;
    fprintf(out, "<p><strong>%sNOT MEASURED:</strong> ", what);
    pp_html_text(out, why);
    fputs("</p>\n", out);
}

void pp_html_gpu(FILE *out, const struct pp_report *r)
{
    struct pp_gpu_line line[PP_GPU_LINES];
    if (!r->gpu)
        return;
    struct pp_section_rows rows = pp_section_gpu_rows(r, line);
    pp_html_figure_begin(
        out, "gpu", "GPU",
        "Shares of the steady state. Idle time is divided by what the awaited batch was doing.");
    put_not_measured(out, "", r->gpu->not_measured);
    put_not_measured(out, "NVML ", r->gpu->counters_missing);
    if (rows.n)
        pp_html_section(out, &rows);
    pp_html_figure_end(out);
}

void pp_html_decode(FILE *out, const struct pp_report *r)
{
    char text[PP_ANSWER_TEXT];
    if (!r->decode)
        return;
    pp_html_figure_begin(out, "decode", "Decoded on the GPU",
                         "Images that the GPU decoded, of the whole run.");
    fputs("<p>", out);
    pp_html_text(out, pp_answer_decode(r, text));
    fputs("</p>\n", out);
    pp_html_section_at(out, &pp_section_differences, r, "decode.differences");
    pp_html_figure_end(out);
}

/* ---- environment, configuration ---- */

static void put_value(FILE *out, const char *section, const struct pp_report_pair *p)
{
    int bytes = p->unit && strcmp(p->unit, "bytes") == 0;
    fputs("<td>", out);
    if (p->numeric && p->value && bytes) {
        pp_html_num(out, PP_HTML_BYTES, strtod(p->value, NULL), "%s.%s", section, p->key);
    } else {
        pp_html_text(out, p->value);
        if (p->unit) {
            fputc(' ', out);
            pp_html_text(out, p->unit);
        }
    }
    if (p->note) {
        fputs(" <span class=\"note\">", out);
        pp_html_text(out, p->note);
        fputs("</span>", out);
    }
    fputs("</td></tr>\n", out);
}

static void put_pairs(FILE *out, const char *summary, const char *section, int open,
                      const struct pp_report_pair *pairs, size_t n)
{
    static const char *const heads[] = {"name", "value", NULL};
    if (n == 0)
        return;
    pp_html_table_begin(out, summary, open, heads);
    for (size_t i = 0; i < n; i++) {
        fputs("<tr><th scope=\"row\">", out);
        pp_html_text(out, pairs[i].key);
        fputs("</th>", out);
        put_value(out, section, &pairs[i]);
    }
    pp_html_table_end(out);
}

void pp_html_environment(FILE *out, const struct pp_report *r)
{
    if (r->n_config + r->n_environment == 0)
        return;
    pp_html_figure_begin(out, "setup", "Configuration and environment",
                         "The configuration, with the reason for automatic choices, and the machine.");
    put_pairs(out, "Configuration", "config", 0, r->config, r->n_config);
    put_pairs(out, "Machine", "environment", 0, r->environment, r->n_environment);
    pp_html_figure_end(out);
}

/* ---- the recording ---- */

void pp_html_recording(FILE *out, const struct pp_report *r)
{
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
}
