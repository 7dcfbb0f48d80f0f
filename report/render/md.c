/* Markdown for a pull request: the verdict, a table of the numbers people compare, the rest folded away.
 * Short: comments have a limit and readers too. */
#include "report/render/render.h"

#include "probe/base/text.h"
#include "report/render/answer.h"
#include "report/render/sections.h"

#include <math.h>
#include <string.h>

enum { CELL = 40, MOST_WORKERS = 8, MOST_ERRORS = 10, MOST_FIXES = 3 };

/* A line to copy: nothing of a recording is in it but numbers that its configuration has. */
static void put_code(FILE *out, const char *language, const char *code)
{
    fprintf(out, "```%s\n", language);
    for (; *code; code++)
        if (*code != '`' && (unsigned char)*code >= ' ')
            fputc(*code, out);
    fputs("\n```\n\n", out);
}

static void put_action(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    char text[PP_ANSWER_TEXT];
    const char *program, *words = pp_answer_words(r, &program);
    if (!v->next_step)
        return;
    fputs("**Do:** ", out);
    pp_md_text(out, v->next_step);
    fputs("\n\n", out);
    if (pp_answer_predicted(r, text)) {
        fputs(v->action.fix ? "Predicted with " : "Gain: ", out);
        pp_md_text(out, text);
        fputs("\n\n", out);
    }
    if (pp_answer_assumes(r)) {
        fputs("Assumes that ", out);
        pp_md_text(out, pp_answer_assumes(r));
        fputs("\n\n", out);
    }
    if (v->action.python)
        put_code(out, "python", v->action.python);
    if (words) {
        fprintf(out, "In %s: ", program);
        pp_md_text(out, words);
        fputs("\n\n", out);
    }
    if (v->action.command) {
        fputs("With pipeprobe's loader: ", out);
        pp_md_text(out, v->action.command);
        fputs("\n\n", out);
    }
    if (pp_answer_pytorch(r)) {
        pp_md_text(out, pp_answer_pytorch(r));
        fputs("\n\n", out);
    }
}

static void put_verdict(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    char text[PP_ANSWER_TEXT];
    fputs("### pipeprobe: ", out);
    pp_md_text(out, v->ceiling ? "ceiling" : v->l0 ? v->l0 : "inconclusive");
    if (v->l1) {
        fputs(", ", out);
        pp_md_text(out, v->l1);
        if (v->l2) {
            fputs(" / ", out);
            pp_md_text(out, v->l2);
        }
    }
    fputs("\n\n", out);
    if (r->outcome && strcmp(r->outcome, "finished") != 0) {
        fputs("> **This run is ", out);
        pp_md_text(out, r->outcome);
        fputs(".** The numbers cover what was recorded until then.\n\n", out);
    }
    pp_md_text(out, pp_answer_subject(r, text));
    fputs("\n\n**", out);
    pp_md_text(out, v->head);
    fputs("**\n\n", out);
    if (v->cause_line) {
        fputs("**Cause:** ", out);
        pp_md_text(out, v->cause_line);
        fputs("\n\n", out);
    }
    put_action(out, r);
}

static void put_row(FILE *out, const char *name, const char *value, const char *unit)
{
    fprintf(out, "| %s | %s%s%s |\n", name, value, unit[0] ? " " : "", unit);
}

static void put_numbers(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    char a[CELL], b[CELL], c[CELL], row[3 * CELL + 8];
    fputs("| | |\n|---|---:|\n", out);
    put_row(out, "throughput", pp_text_rate(a, CELL, r->samples_per_s), "samples/s");
    if (!isnan(r->data_wait_share))
        put_row(out, "data stall", pp_text_percent(a, CELL, r->data_wait_share), "of step time");
    if (!isnan(r->accelerator_utilization_share))
        put_row(out, "accelerator utilisation (AU)",
                pp_text_percent(a, CELL, r->accelerator_utilization_share),
                "steps / all time of the steady state, as MLPerf Storage counts it");
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

static size_t put_table(FILE *out, const struct pp_report *r, const struct pp_section *section,
                        const char *path, size_t most)
{
    struct pp_section_rows rows = pp_section_rows(section, r, path);
    return pp_section_md(out, &rows, most);
}

#define WORTH_A_ROW 0.03 /* of throughput */

static void put_fixes(FILE *out, const struct pp_report *r)
{
    size_t n = 0; /* they are ranked: the first that gains nothing ends the table */
    while (n < r->verdict.n_fixes && n < MOST_FIXES && r->verdict.fixes[n].gain >= WORTH_A_ROW)
        n++;
    if (n == 0)
        return;
    fold(out, "Predicted changes");
    put_table(out, r, &pp_section_fixes, "verdict.fixes", n);
    unfold(out);
}

/* A list between paragraphs. */
static void put_list(FILE *out, const struct pp_report *r, const struct pp_section *section, const char *path)
{
    if (put_table(out, r, section, path, SIZE_MAX))
        fputc('\n', out);
}

static void put_evidence(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    if (v->evidences == 0)
        return;
    fold(out, v->n_ruled_out ? "Evidence, and causes ruled out" : "Evidence");
    put_table(out, r, &pp_section_evidence, "verdict.evidence", SIZE_MAX);
    if (v->n_ruled_out)
        fputc('\n', out);
    put_table(out, r, &pp_section_ruled_out, "verdict.ruled_out", SIZE_MAX);
    unfold(out);
}

static void put_phases(FILE *out, const struct pp_report *r)
{
    if (r->n_phases == 0)
        return;
    fold(out, "Where the time goes");
    put_table(out, r, &pp_section_shares, "phases", SIZE_MAX);
    unfold(out);
}

static void put_workers(FILE *out, const struct pp_report *r)
{
    if (r->n_workers == 0 || r->n_workers > MOST_WORKERS)
        return;
    fold(out, "Workers and queues");
    put_table(out, r, &pp_section_workers, "workers", SIZE_MAX);
    if (r->n_queues) {
        fputc('\n', out);
        put_table(out, r, &pp_section_queues, "queues", SIZE_MAX);
    }
    unfold(out);
}

static void put_loaders(FILE *out, const struct pp_report *r)
{
    if (r->n_loaders < 2)
        return;
    fold(out, "DataLoaders");
    put_table(out, r, &pp_section_loaders, "loaders", SIZE_MAX);
    unfold(out);
}

static void put_errors(FILE *out, const struct pp_report *r)
{
    if (r->n_error_kinds == 0)
        return;
    fold(out, "Errors");
    put_table(out, r, &pp_section_errors, "errors", MOST_ERRORS);
    if (r->n_error_kinds > MOST_ERRORS)
        fprintf(out, "\n%zu more kinds: see the JSON report.\n", r->n_error_kinds - MOST_ERRORS);
    unfold(out);
}

static void put_not_measured(FILE *out, const char *what, const char *why)
{
    if (!why)
        return;
    fprintf(out, "**%s: NOT MEASURED:** ", what);
    pp_md_text(out, why);
    fputs("\n\n", out);
}

static void put_gpu(FILE *out, const struct pp_report *r)
{
    struct pp_gpu_line line[PP_GPU_LINES];
    if (!r->gpu)
        return;
    struct pp_section_rows rows = pp_section_gpu_rows(r, line);
    put_not_measured(out, "GPU", r->gpu->not_measured);
    put_not_measured(out, "NVML", r->gpu->counters_missing);
    if (rows.n == 0)
        return;
    fold(out, "GPU");
    pp_section_md(out, &rows, SIZE_MAX);
    unfold(out);
}

static void put_decode(FILE *out, const struct pp_report *r)
{
    char text[PP_ANSWER_TEXT];
    if (!r->decode)
        return;
    fold(out, "Decoded on the GPU");
    pp_md_text(out, pp_answer_decode(r, text));
    fputs("\n\n", out);
    put_table(out, r, &pp_section_differences, "decode.differences", SIZE_MAX);
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
            pp_md_text(out, r->losses[i].what);
            fputs(" (", out);
            pp_md_text(out, r->losses[i].why);
            fputs(")", out);
        }
    fprintf(out, "%s %s batches, %s samples in the %s of ", lost ? "." : "Nothing was lost.",
            pp_text_count(a, CELL, (double)r->window_batches),
            pp_text_count(b, CELL, (double)r->window_samples),
            r->has_steady_state ? "steady state" : "whole run");
    pp_md_text(out, r->path);
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
    put_list(out, r, &pp_section_found, "findings");
    put_list(out, r, &pp_section_proof_sentences, "proof");
    put_evidence(out, r);
    put_phases(out, r);
    put_workers(out, r);
    put_loaders(out, r);
    put_errors(out, r);
    put_gpu(out, r);
    put_decode(out, r);
    put_recording(out, r);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
