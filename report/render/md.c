/* Markdown for a pull request: the verdict, a table of the numbers people compare, the rest folded away.
 * Short: comments have a limit and readers too. */
#include "report/render/render.h"

#include "probe/base/text.h"
#include "report/gpu/gpu.h"

#include <math.h>
#include <string.h>

enum { CELL = 40, MOST_WORKERS = 8, MOST_ERRORS = 10, MOST_FIXES = 3, LONGEST = 300 };

/* Text of a run inside a paragraph or a table cell: nothing in it starts markup, a mention or a new row. */
static void put_text(FILE *out, const char *text)
{
    int n = 0;
    for (const unsigned char *s = (const unsigned char *)text; s && *s && n < LONGEST; s++, n++) {
        if (*s < 0x20 || *s == 0x7f)
            fputc(' ', out);
        else if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '@') /* mentions nobody */
            fputs("&#64;", out);
        else {
            if (strchr("\\`*_{}[]#|~$", *s))
                fputc('\\', out);
            fputc(*s, out);
        }
    }
    if (n == LONGEST)
        fputs("...", out);
}

static void put_verdict(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    char a[CELL];
    fputs("### pipeprobe: ", out);
    put_text(out, v->ceiling ? "ceiling" : v->l0 ? v->l0 : "inconclusive");
    if (v->l1) {
        fputs(", ", out);
        put_text(out, v->l1);
        if (v->l2) {
            fputs(" / ", out);
            put_text(out, v->l2);
        }
    }
    fputs("\n\n", out);
    if (r->outcome && strcmp(r->outcome, "finished") != 0) {
        fputs("> **This run is ", out);
        put_text(out, r->outcome);
        fputs(".** The numbers are of what was recorded until then.\n\n", out);
    }
    fputs("**", out);
    put_text(out, v->sentence);
    fputs("**", out);
    if (!isnan(v->confidence))
        fprintf(out, " (confidence %s)", pp_text_percent(a, CELL, v->confidence));
    fputs("\n\n", out);
    if (v->reason) {
        put_text(out, v->reason);
        fputs("\n\n", out);
    }
    if (v->next_step) {
        fputs("**Next:** ", out);
        put_text(out, v->next_step);
        fputs("\n\n", out);
    }
}

static void put_row(FILE *out, const char *name, const char *value, const char *unit)
{
    fprintf(out, "| %s | %s%s%s |\n", name, value, unit[0] ? " " : "", unit);
}

static const struct pp_report_phase *find_phase(const struct pp_report *r, pp_phase phase)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == phase)
            return &r->phases[i];
    return NULL;
}

static void put_numbers(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = find_phase(r, PP_PHASE_DATA_WAIT);
    char a[CELL], b[CELL], c[CELL], row[3 * CELL + 8];
    fputs("| | |\n|---|---:|\n", out);
    put_row(out, "throughput", pp_text_rate(a, CELL, r->samples_per_s), "samples/s");
    if (!isnan(r->data_wait_share))
        put_row(out, "exposed data wait", pp_text_percent(a, CELL, r->data_wait_share), "of step time");
    if (!isnan(r->collective_share))
        put_row(out, "waiting for other ranks", pp_text_percent(a, CELL, r->collective_share),
                "of step time");
    if (!isnan(r->headroom_samples_per_s)) {
        snprintf(row, sizeof(row), "%s samples/s (+%s)", pp_text_rate(a, CELL, r->headroom_samples_per_s),
                 pp_text_percent(b, CELL, r->headroom_gain));
        snprintf(c, sizeof(c), "if %s", r->headroom_if);
        put_row(out, c, row, "");
    }
    if (wait) {
        snprintf(row, sizeof(row), "%s / %s / %s", pp_text_duration(a, CELL, (double)wait->p50_ns),
                 pp_text_duration(b, CELL, (double)wait->p95_ns),
                 pp_text_duration(c, CELL, (double)wait->p99_ns));
        put_row(out, "wait per batch, p50 / p95 / p99", row, "");
    }
    if (r->has_step)
        put_row(out, "mean step", pp_text_duration(a, CELL, r->step_mean_ns), "");
    if (!isnan(r->bytes_per_s))
        put_row(out, "read", pp_text_bytes(a, CELL, r->bytes_per_s), "per second");
    if (!isnan(r->cache_hit_share))
        put_row(out, "of it from the page cache", pp_text_percent(a, CELL, r->cache_hit_share), "");
    if (!isnan(r->first_batch_s))
        put_row(out, "first batch after", pp_text_duration(a, CELL, r->first_batch_s * 1e9), "");
    snprintf(row, sizeof(row), "%s / %s", pp_text_count(a, CELL, (double)r->errors),
             pp_text_count(b, CELL, (double)r->retries));
    put_row(out, "errors / retries", row, "");
    fputc('\n', out);
}

static void fold(FILE *out, const char *summary)
{
    fprintf(out, "<details><summary>%s</summary>\n\n", summary);
}

static void unfold(FILE *out)
{
    fputs("\n</details>\n\n", out);
}

static void put_fixes(FILE *out, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    const struct pp_report_verdict *v = &r->verdict;
    if (v->l1 && v->n_fixes == 0 && v->why_no_fixes) {
        fputs("No change is predicted: ", out);
        put_text(out, v->why_no_fixes);
        fputs(".\n\n", out);
    }
    if (v->n_fixes == 0)
        return;
    fputs("| change | predicted gain (80 % interval) | samples/s |\n|---|---:|---:|\n", out);
    for (size_t i = 0; i < v->n_fixes && i < MOST_FIXES; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        fputs("| ", out);
        put_text(out, f->knob);
        fputs(" to ", out);
        put_text(out, f->to);
        fprintf(out, " | %s (%s to %s) | %s |\n", pp_text_percent(a, CELL, f->gain),
                pp_text_percent(b, CELL, f->low), pp_text_percent(c, CELL, f->high),
                pp_text_rate(d, CELL, f->samples_per_s));
    }
    fputc('\n', out);
}

static void put_proofs(FILE *out, const struct pp_report *r)
{
    if (r->n_proofs)
        fputs("**Proved by running it:**\n\n", out);
    for (size_t i = 0; i < r->n_proofs; i++) {
        fputs("- ", out);
        put_text(out, r->proofs[i].sentence);
        fputs(i + 1 < r->n_proofs ? "\n" : "\n\n", out);
    }
}

/* What was found; the rest is in the other formats. */
static void put_findings(FILE *out, const struct pp_report *r)
{
    int any = 0;
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pp_report_finding *f = &r->findings[i];
        if (f->state != PP_FINDING_FOUND)
            continue;
        fputs(any ? "- **" : "**Also found:**\n\n- **", out);
        any = 1;
        put_text(out, f->kind);
        fputs(":** ", out);
        put_text(out, f->sentence);
        fputs(". ", out);
        put_text(out, f->next_step);
        fputc('\n', out);
    }
    if (any)
        fputc('\n', out);
}

static void put_evidence(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    if (v->evidences == 0)
        return;
    fold(out, v->n_ruled_out ? "Evidence, and what was ruled out" : "Evidence");
    fputs("| | evidence | value | threshold |\n|---|---|---:|---|\n", out);
    for (size_t i = 0; i < v->evidences; i++) {
        const struct pp_report_evidence *e = &v->evidence[i];
        fprintf(out, "| %s | ", e->supports > 0 ? "supports" : e->supports < 0 ? "against" : "");
        put_text(out, e->name);
        fputs(" | ", out);
        put_text(out, e->value);
        fputs(" | ", out);
        put_text(out, e->threshold);
        fputs(" |\n", out);
    }
    for (size_t i = 0; i < v->n_ruled_out; i++) {
        fputs(i ? "- " : "\nRuled out:\n\n- ", out);
        put_text(out, v->ruled_out[i]);
        fputc('\n', out);
    }
    unfold(out);
}

static void put_phases(FILE *out, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], f[CELL], g[CELL];
    if (r->n_phases == 0)
        return;
    fold(out, "Where the time goes");
    fputs(
        "| lane | phase | share | cpu | run-queue | blocked | mean | p95 | max |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        out);
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", pp_lane_name(p->lane),
                info ? info->name : "?", pp_text_percent(a, CELL, p->share),
                pp_text_percent(b, CELL, p->cpu_share), pp_text_percent(c, CELL, p->run_delay_share),
                pp_text_percent(d, CELL, p->blocked_share), pp_text_duration(e, CELL, p->mean_ns),
                pp_text_duration(f, CELL, (double)p->p95_ns), pp_text_duration(g, CELL, (double)p->max_ns));
    }
    unfold(out);
}

static void put_workers(FILE *out, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    if (r->n_workers == 0 || r->n_workers > MOST_WORKERS)
        return;
    fold(out, "Workers and queues");
    fputs("| worker | samples/s | busy | waiting | run-queue |\n|---|---:|---:|---:|---:|\n", out);
    for (size_t i = 0; i < r->n_workers; i++) {
        const struct pp_report_worker *w = &r->workers[i];
        fputs("| ", out);
        put_text(out, w->name);
        fprintf(out, " | %s | %s | %s | %s |\n", pp_text_rate(a, CELL, w->samples_per_s),
                pp_text_percent(b, CELL, w->busy_share), pp_text_percent(c, CELL, w->wait_share),
                pp_text_percent(d, CELL, w->run_delay_share));
    }
    if (r->n_queues)
        fputs("\n| queue | capacity | mean depth | empty | full |\n|---|---:|---:|---:|---:|\n", out);
    for (size_t i = 0; i < r->n_queues; i++) {
        const struct pp_report_queue *q = &r->queues[i];
        fputs("| ", out);
        put_text(out, q->name);
        fprintf(out, " | %s | %s | %s | %s |\n", pp_text_count(a, CELL, (double)q->capacity),
                pp_text_rate(b, CELL, q->mean_depth), pp_text_percent(c, CELL, q->share_empty),
                pp_text_percent(d, CELL, q->share_full));
    }
    unfold(out);
}

static void put_errors(FILE *out, const struct pp_report *r)
{
    char a[CELL];
    if (r->n_error_kinds == 0)
        return;
    fold(out, "Errors");
    fputs("| count | kind | action | example |\n|---:|---|---|---|\n", out);
    for (size_t i = 0; i < r->n_error_kinds && i < MOST_ERRORS; i++) {
        const struct pp_report_error_kind *e = &r->error_kinds[i];
        fprintf(out, "| %s | ", pp_text_count(a, CELL, (double)e->count));
        put_text(out, e->kind);
        fputs(" | ", out);
        put_text(out, e->action);
        fputs(" | ", out);
        put_text(out, e->example_path);
        fputs(e->example_path && e->example_reason ? ": " : "", out);
        put_text(out, e->example_reason);
        fputs(" |\n", out);
    }
    if (r->n_error_kinds > MOST_ERRORS)
        fprintf(out, "\n%zu more kinds: see the JSON report.\n", r->n_error_kinds - MOST_ERRORS);
    unfold(out);
}

static void put_not_measured(FILE *out, const char *what, const char *why)
{
    if (!why)
        return;
    fprintf(out, "**%s: NOT MEASURED:** ", what);
    put_text(out, why);
    fputs("\n\n", out);
}

static void put_gpu(FILE *out, const struct pp_report_gpu *g)
{
    struct pp_gpu_item item[PP_GPU_ITEMS];
    char value[CELL];
    if (!g)
        return;
    size_t n = pp_gpu_items(g, item);
    put_not_measured(out, "GPU", g->not_measured);
    put_not_measured(out, "NVML", g->counters_missing);
    if (g->not_measured && g->counters_missing)
        return;
    fold(out, "What the GPU did");
    fputs("| GPU | |\n|---|---:|\n", out);
    for (size_t i = 0; i < n; i++)
        if (pp_gpu_item_shown(g, &item[i]))
            put_row(out, item[i].name, pp_gpu_item_text(&item[i], value, CELL), "");
    unfold(out);
}

static void put_recording(FILE *out, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    int lost = 0;
    fputs("<sub>", out);
    for (size_t i = 0; i < r->n_losses; i++)
        if (r->losses[i].count && lost++ < MOST_ERRORS) {
            fprintf(out, "%s%s ", lost == 1 ? "**Lost:** " : ", ",
                    pp_text_count(a, CELL, (double)r->losses[i].count));
            put_text(out, r->losses[i].what);
            fputs(" (", out);
            put_text(out, r->losses[i].why);
            fputs(")", out);
        }
    fprintf(out, "%s %s batches, %s samples in the %s of ", lost ? "." : "Nothing was lost.",
            pp_text_count(a, CELL, (double)r->window_batches),
            pp_text_count(b, CELL, (double)r->window_samples),
            r->has_steady_state ? "steady state" : "whole run");
    put_text(out, r->path);
    if (!isnan(r->overhead_share))
        fprintf(out, "; recording took %s CPU time, %s of the usable CPUs",
                pp_text_duration(c, CELL, r->overhead_cpu_s * 1e9),
                pp_text_percent(d, CELL, r->overhead_share));
    fputs("</sub>\n", out);
}

int pp_render_md(const struct pp_report *r, FILE *out)
{
    put_verdict(out, r);
    put_numbers(out, r);
    put_fixes(out, r);
    put_findings(out, r);
    put_proofs(out, r);
    put_evidence(out, r);
    put_phases(out, r);
    put_workers(out, r);
    put_errors(out, r);
    put_gpu(out, r->gpu);
    put_recording(out, r);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
