/* The tables of the HTML report: evidence, phases, environment and configuration, the recording itself. */
#include "report/gpu/gpu.h"
#include "report/render/html/figure.h"
#include "report/render/html/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *said(int supports)
{
    return supports > 0 ? "+ supports it" : supports < 0 ? "\xe2\x88\x92 speaks against" : "for context";
}

void pp_html_evidence(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"evidence", "#value", "threshold", "the verdict", NULL};
    const struct pp_report_verdict *v = &r->verdict;
    if (v->evidences == 0)
        return;
    pp_html_figure_begin(out, "evidence", "Evidence",
                         "What the verdict rests on, and what was weighed and ruled out.");
    pp_html_table_begin(out, "Evidence", 1, heads);
    for (size_t i = 0; i < v->evidences; i++) {
        const struct pp_report_evidence *e = &v->evidence[i];
        fputs("<tr>", out);
        pp_html_cell(out, e->name);
        fputs("<td class=\"n\">", out);
        pp_html_text(out, e->value);
        fputs("</td>", out);
        pp_html_cell(out, e->threshold);
        pp_html_cell(out, said(e->supports));
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    if (v->n_ruled_out)
        fputs("<h3>Ruled out</h3>\n<ul>", out);
    for (size_t i = 0; i < v->n_ruled_out; i++) {
        fputs("<li>", out);
        pp_html_text(out, v->ruled_out[i]);
        fputs("</li>\n", out);
    }
    if (v->n_ruled_out)
        fputs("</ul>\n", out);
    pp_html_figure_end(out);
}

/* ---- proofs, findings ---- */

/* Predicted above measured, for each change that was run. */
void pp_html_proofs(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"change", "to",    "#predicted", "#low",    "#high", "#measured",
                                        "#least", "#most", "#rounds",    "#off by", NULL};
    if (!r->n_proofs)
        return;
    pp_html_figure_begin(
        out, "proof", "Proved by running it",
        "Samples per second as predicted from this recording, and as measured by running the change for real.");
    pp_html_table_begin(out, "Predicted and measured", 1, heads);
    for (size_t i = 0; i < r->n_proofs; i++) {
        const struct pp_report_proof *p = &r->proofs[i];
        fputs("<tr>", out);
        pp_html_cell(out, p->change);
        pp_html_cell(out, p->value);
        pp_html_cell_num(out, PP_HTML_RATE, p->predicted, "proof.%zu.predicted_samples_per_s", i);
        pp_html_cell_num(out, PP_HTML_RATE, p->low, "proof.%zu.predicted_low", i);
        pp_html_cell_num(out, PP_HTML_RATE, p->high, "proof.%zu.predicted_high", i);
        pp_html_cell_num(out, PP_HTML_RATE, p->measured, "proof.%zu.measured_samples_per_s", i);
        pp_html_cell_num(out, PP_HTML_RATE, p->measured_low, "proof.%zu.measured_low", i);
        pp_html_cell_num(out, PP_HTML_RATE, p->measured_high, "proof.%zu.measured_high", i);
        pp_html_cell_num(out, PP_HTML_COUNT, (double)p->rounds, "proof.%zu.rounds", i);
        pp_html_cell_num(out, PP_HTML_SHARE, p->error, "proof.%zu.prediction_error", i);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    for (size_t i = 0; i < r->n_proofs; i++) {
        fputs("<p class=\"cap\">", out);
        pp_html_text(out, r->proofs[i].sentence);
        fputs(".</p>\n", out);
    }
    pp_html_figure_end(out);
}

/* Each thing that is looked for beside the wait, found or not. */
void pp_html_findings(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"looked for", "", "what was seen", "next", NULL},
                             *const states[] = {"found", "not there", "not measured"};
    if (!r->n_findings)
        return;
    pp_html_figure_begin(out, "findings", "Beside the wait",
                         "What is looked for in every run, whether or not the trainer waits.");
    pp_html_table_begin(out, "Looked for", 1, heads);
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pp_report_finding *f = &r->findings[i];
        fputs("<tr>", out);
        pp_html_cell(out, f->kind);
        pp_html_cell(out, states[f->state]);
        pp_html_cell(out, f->sentence);
        pp_html_cell(out, f->next_step);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    pp_html_figure_end(out);
}

/* ---- phases ---- */

static void put_phase_name(FILE *out, const struct pp_report_phase *p)
{
    const struct pp_phase_info *info = pp_phase_info(p->phase);
    fputs("<tr><th scope=\"row\" title=\"", out);
    pp_html_text(out, info ? info->text : "");
    fputs("\">", out);
    pp_html_text(out, info ? info->name : "?");
    fputs("</th>", out);
    pp_html_cell(out, pp_lane_name(p->lane));
}

static void put_durations(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"phase", "lane", "#count", "#total", "#mean",
                                        "#p50",  "#p95", "#p99",   "#max",   NULL};
    pp_html_table_begin(out, "How long", 1, heads);
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        put_phase_name(out, p);
        pp_html_cell_num(out, PP_HTML_COUNT, (double)p->count, "phases.%zu.count", i);
        pp_html_cell_num(out, PP_HTML_TIME, (double)p->total_ns, "phases.%zu.total_ns", i);
        pp_html_cell_num(out, PP_HTML_TIME, p->mean_ns, "phases.%zu.mean_ns", i);
        pp_html_cell_num(out, PP_HTML_TIME, (double)p->p50_ns, "phases.%zu.p50_ns", i);
        pp_html_cell_num(out, PP_HTML_TIME, (double)p->p95_ns, "phases.%zu.p95_ns", i);
        pp_html_cell_num(out, PP_HTML_TIME, (double)p->p99_ns, "phases.%zu.p99_ns", i);
        pp_html_cell_num(out, PP_HTML_TIME, (double)p->max_ns, "phases.%zu.max_ns", i);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
}

void pp_html_phases(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"phase",   "lane",       "#share",   "of its lane's time",
                                        "#on CPU", "#run-queue", "#blocked", "#bytes",
                                        NULL};
    if (r->n_phases == 0)
        return;
    pp_html_figure_begin(
        out, "phases", "Where the time goes",
        "Every phase of the steady state: its share of its lane's time, what that time was, and how long a span of it takes.");
    pp_html_table_begin(out, "Shares", 1, heads);
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        put_phase_name(out, p);
        pp_html_cell_num(out, PP_HTML_SHARE, p->share, "phases.%zu.share", i);
        fputs(
            "<td class=\"inbar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            out);
        pp_svg_rect(out, "rail", 0, 0, 100, 8);
        pp_svg_rect(out, "step", 0, 0, isnan(p->share) ? 0 : 100 * fmin(p->share, 1), 8);
        fputs("</svg></td>", out);
        pp_html_cell_num(out, PP_HTML_SHARE, p->cpu_share, "phases.%zu.cpu_share", i);
        pp_html_cell_num(out, PP_HTML_SHARE, p->run_delay_share, "phases.%zu.run_delay_share", i);
        pp_html_cell_num(out, PP_HTML_SHARE, p->blocked_share, "phases.%zu.blocked_share", i);
        pp_html_cell_num(out, PP_HTML_BYTES, (double)p->bytes, "phases.%zu.bytes", i);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
    put_durations(out, r);
    pp_html_figure_end(out);
}

/* ---- the GPU ---- */

static enum pp_html_form form_of(enum pp_gpu_unit unit)
{
    switch (unit) {
    case PP_GPU_SHARE: return PP_HTML_SHARE;
    case PP_GPU_COUNT: return PP_HTML_COUNT;
    case PP_GPU_TIME: return PP_HTML_TIME;
    case PP_GPU_BYTES:
    case PP_GPU_BYTES_PER_S: return PP_HTML_BYTES;
    case PP_GPU_NUMBER: break;
    }
    return PP_HTML_RATE;
}

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
    static const char *const heads[] = {"GPU", "#value", NULL};
    struct pp_gpu_item item[PP_GPU_ITEMS];
    if (!r->gpu)
        return;
    size_t n = pp_gpu_items(r->gpu, item);
    pp_html_figure_begin(
        out, "gpu", "What the GPU did",
        "Shares are of the steady state. Idle time is divided by what the awaited batch was doing meanwhile.");
    put_not_measured(out, "", r->gpu->not_measured);
    put_not_measured(out, "NVML ", r->gpu->counters_missing);
    if (!r->gpu->not_measured || !r->gpu->counters_missing) {
        pp_html_table_begin(out, "Busy, idle and why", 1, heads);
        for (size_t i = 0; i < n; i++) {
            if (!pp_gpu_item_shown(r->gpu, &item[i]))
                continue;
            fputs("<tr>", out);
            pp_html_cell(out, item[i].name);
            pp_html_cell_num(out, form_of(item[i].unit), item[i].value, "gpu.%s%s",
                             item[i].part == PP_GPU_IDLE_PART ? "idle." : "", item[i].key);
            fputs(item[i].unit == PP_GPU_BYTES_PER_S ? "<td>per second</td></tr>\n" : "</tr>\n", out);
        }
        pp_html_table_end(out);
    }
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
    pp_html_figure_begin(
        out, "setup", "How and where it ran",
        "The configuration as used, with the reason where it was chosen automatically, and the machine as found.");
    put_pairs(out, "Configuration", "config", 0, r->config, r->n_config);
    put_pairs(out, "Machine", "environment", 0, r->environment, r->n_environment);
    pp_html_figure_end(out);
}

/* ---- the recording ---- */

void pp_html_recording(FILE *out, const struct pp_report *r)
{
    static const char *const heads[] = {"what", "#how many", "why", NULL};
    pp_html_figure_begin(out, "recording", "The recording itself",
                         "What measuring cost, and what is missing from it.");
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
    if (r->n_losses) {
        pp_html_table_begin(out, "Losses and notes", 1, heads);
        for (size_t i = 0; i < r->n_losses; i++) {
            fputs("<tr>", out);
            pp_html_cell(out, r->losses[i].what);
            pp_html_cell_num(out, PP_HTML_COUNT, (double)r->losses[i].count, "losses.items.%zu.count", i);
            pp_html_cell(out, r->losses[i].why);
            fputs("</tr>\n", out);
        }
        pp_html_table_end(out);
    }
    pp_html_figure_end(out);
}
