/* Markdown for a pull request: the verdict, a table of the numbers people compare, the rest folded away.
 * Short: comments have a limit and readers too. */
#include "report/render/render.h"

#include "probe/base/text.h"
#include "report/render/answer.h"
#include "report/render/sections.h"

enum { CELL = 40, MOST_WORKERS = 8, MOST_ERRORS = 10, MOST_FIXES = 3 };

static void put_text(FILE *out, const char *lead, const char *text, const char *end)
{
    fputs(lead, out);
    pp_md_text(out, text);
    fputs(end, out);
}

static void put_verdict(FILE *out, const struct pp_report *r)
{
    static const enum pp_answer_part action[] = {PP_ANSWER_COST,  PP_ANSWER_PREDICTED, PP_ANSWER_ASSUMES,
                                                 PP_ANSWER_CODE,  PP_ANSWER_WORDS,     PP_ANSWER_COMMAND,
                                                 PP_ANSWER_OTHER, PP_ANSWER_PYTORCH,   PP_ANSWER_THEN};
    const struct pp_report_verdict *v = &r->verdict;
    char text[PP_ANSWER_TEXT];
    put_text(out, "### pipeprobe: ", v->ceiling ? "ceiling" : v->l0 ? v->l0 : "inconclusive", "");
    if (v->l1)
        put_text(out, ", ", v->l1, "");
    if (v->l1 && v->l2)
        put_text(out, " / ", v->l2, "");
    fputs("\n\n", out);
    if (r->ended)
        put_text(out, "> ", pp_answer(r, PP_ANSWER_OUTCOME, text), "\n\n");
    else if (r->outcome && strcmp(r->outcome, "finished") != 0)
        put_text(out, "> **This run is ", r->outcome,
                 ".** The numbers cover what was recorded until then.\n\n");
    put_text(out, "", pp_answer(r, PP_ANSWER_SUBJECT, text), "\n\n");
    put_text(out, "**", v->head, "**\n\n");
    const char *first = pp_answer(r, PP_ANSWER_FIRST, text);
    if (first)
        put_text(out, "**First:** ", first, "\n\n");
    if (v->cause_line)
        put_text(out, "**Cause:** ", v->cause_line, "\n\n");
    if (!v->next_step)
        return;
    put_text(out, "**Do:** ", v->next_step, "\n\n");
    for (size_t i = 0; i < sizeof(action) / sizeof(*action); i++) {
        const char *said = pp_answer(r, action[i], text);
        if (said && action[i] != PP_ANSWER_CODE)
            put_text(out, pp_answer_lead(r, action[i]), said, "\n\n");
        if (!said || action[i] != PP_ANSWER_CODE)
            continue;
        /* A line to copy: nothing of a recording is in it but numbers that its configuration has. */
        fputs("```python\n", out);
        for (; *said; said++)
            if (*said != '`' && (unsigned char)*said >= ' ')
                fputc(*said, out);
        fputs("\n```\n\n", out);
    }
}

static void put_number(FILE *out, const char *name, const char *value, const char *unit)
{
    fprintf(out, "| %s | %s%s%s |\n", name, value, unit[0] ? " " : "", unit);
}

static void put_numbers(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    char a[CELL], b[CELL], c[CELL], row[3 * CELL + 8];
    fputs("| | |\n|---|---:|\n", out);
    put_number(out, "throughput", pp_text_rate(a, CELL, r->samples_per_s), "samples/s");
    if (!isnan(r->data_wait_share))
        put_number(out, "waits for data", pp_text_percent(a, CELL, r->data_wait_share), "of the time");
    if (!isnan(r->accelerator_utilization_share))
        put_number(out, "accelerator utilisation (AU)",
                   pp_text_percent(a, CELL, r->accelerator_utilization_share),
                   "steps / all time of the steady state, as MLPerf Storage counts it");
    if (!isnan(r->collective_share))
        put_number(out, "waiting for other ranks", pp_text_percent(a, CELL, r->collective_share),
                   "of the time");
    if (!isnan(r->headroom_samples_per_s)) {
        snprintf(row, sizeof(row), "%s samples/s (%s)", pp_text_predicted(a, CELL, r->headroom_samples_per_s),
                 pp_text_gain(b, CELL, r->headroom_gain, NAN, NAN));
        snprintf(c, sizeof(c), "if %s", r->headroom_if);
        put_number(out, c, row, "");
    }
    if (wait) {
        snprintf(row, sizeof(row), "%s / %s / %s", pp_text_duration(a, CELL, (double)wait->p50_ns),
                 pp_text_duration(b, CELL, (double)wait->p95_ns),
                 pp_text_duration(c, CELL, (double)wait->p99_ns));
        put_number(out, "wait per batch, p50 / p95 / p99", row, "");
    }
    if (r->has_step)
        put_number(out, "mean step", pp_text_duration(a, CELL, r->step_mean_ns), "");
    if (!isnan(r->bytes_per_s))
        put_number(out, "read", pp_text_bytes(a, CELL, r->bytes_per_s), "per second");
    if (!isnan(r->cache_hit_share))
        put_number(out, "of it from the page cache", pp_text_percent(a, CELL, r->cache_hit_share), "");
    if (!isnan(r->first_batch_s))
        put_number(out, "first batch after", pp_text_duration(a, CELL, r->first_batch_s * 1e9), "");
    snprintf(row, sizeof(row), "%s / %s", pp_text_count(a, CELL, (double)r->errors),
             pp_text_count(b, CELL, (double)r->retries));
    put_number(out, "errors / retries", row, "");
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

static void put_folded(FILE *out, const char *summary, const struct pp_report *r,
                       const struct pp_section *section, const char *path)
{
    fold(out, summary);
    put_table(out, r, section, path, SIZE_MAX);
    unfold(out);
}

static void put_tables(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    size_t n = 0; /* those that are not advised are the last */
    while (n < v->n_fixes && n < MOST_FIXES && v->fixes[n].advice != PP_ADVICE_NO)
        n++;
    if (n) {
        fold(out, "Predicted changes");
        put_table(out, r, &pp_section_fixes, "verdict.fixes", n);
        unfold(out);
    }
    if (put_table(out, r, &pp_section_found, "findings", SIZE_MAX))
        fputc('\n', out);
    if (put_table(out, r, &pp_section_proof_sentences, "proof", SIZE_MAX))
        fputc('\n', out);
    if (v->evidences) {
        fold(out, v->n_ruled_out ? "Evidence, and causes ruled out" : "Evidence");
        put_table(out, r, &pp_section_evidence, "verdict.evidence", SIZE_MAX);
        fputs(v->n_ruled_out ? "\n" : "", out);
        put_table(out, r, &pp_section_ruled_out, "verdict.ruled_out", SIZE_MAX);
        unfold(out);
    }
    if (r->n_ops)
        put_folded(out, "Lines that cost the stall", r, &pp_section_ops, "ops");
    if (r->n_phases)
        put_folded(out, "Where the time goes", r, &pp_section_shares, "phases");
    if (r->n_workers && r->n_workers <= MOST_WORKERS) {
        fold(out, "Workers and queues");
        put_table(out, r, &pp_section_workers, "workers", SIZE_MAX);
        if (r->n_queues) {
            fputc('\n', out);
            put_table(out, r, &pp_section_queues, "queues", SIZE_MAX);
        }
        unfold(out);
    }
    if (r->n_loaders > 1)
        put_folded(out, "DataLoaders", r, &pp_section_loaders, "loaders");
    if (r->n_slow_samples)
        put_folded(out, "Slowest samples", r, &pp_section_slow_samples, "slow_samples");
    if (r->n_error_kinds) {
        fold(out, "Errors");
        put_table(out, r, &pp_section_errors, "errors", MOST_ERRORS);
        if (r->n_error_kinds > MOST_ERRORS)
            fprintf(out, "\n%zu more kinds: see the JSON report.\n", r->n_error_kinds - MOST_ERRORS);
        unfold(out);
    }
}

int pp_render_md(const struct pp_report *r, FILE *out)
{
    put_verdict(out, r);
    put_numbers(out, r);
    put_tables(out, r);
    struct pp_gpu_line line[PP_GPU_LINES];
    char text[PP_ANSWER_TEXT];
    if (r->gpu) {
        struct pp_section_rows rows = pp_section_gpu_rows(r, line);
        if (r->gpu->not_measured)
            put_text(out, "**GPU: NOT MEASURED:** ", r->gpu->not_measured, "\n\n");
        if (r->gpu->counters_missing)
            put_text(out, "**NVML: NOT MEASURED:** ", r->gpu->counters_missing, "\n\n");
        if (rows.n) {
            fold(out, "GPU");
            pp_section_md(out, &rows, SIZE_MAX);
            unfold(out);
        }
    }
    if (r->decode) {
        fold(out, "Decoded on the GPU");
        put_text(out, "", pp_answer(r, PP_ANSWER_DECODE, text), "\n\n");
        put_table(out, r, &pp_section_differences, "decode.differences", SIZE_MAX);
        unfold(out);
    }
    char a[CELL], b[CELL], c[CELL], d[CELL];
    int lost = 0;
    fputs("<sub>", out);
    for (size_t i = 0; i < r->n_losses; i++)
        if (r->losses[i].count && lost++ < MOST_ERRORS) {
            fprintf(out, "%s%s ", lost == 1 ? "**Lost:** " : ", ",
                    pp_text_count(a, CELL, (double)r->losses[i].count));
            pp_md_text(out, r->losses[i].what);
            put_text(out, " (", r->losses[i].why, ")");
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
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
