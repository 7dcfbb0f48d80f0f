#include "report/render/render.h"

#include "probe/base/text.h"
#include "report/render/answer.h"
#include "report/render/sections.h"
#include "report/source/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 40, MOST_WORKERS = 16, ENDS = 4 };

/* A sentence put together from parts. */
struct line {
    char text[2048];
};

#define add(l, ...) pp_text_add((l)->text, sizeof((l)->text), __VA_ARGS__)

static void put_line(const struct pp_page *p, const char *lead, int indent, const struct line *l)
{
    pp_page_text(p, PP_TONE_PLAIN, lead, indent, 0, l->text);
}

static void put_section(const struct pp_page *p, const struct pp_report *r, const struct pp_section *section,
                        const char *path)
{
    struct pp_section_rows rows = pp_section_rows(section, r, path);
    pp_section_text(p, &rows);
}

/* ---- verdict ---- */

/* Rows that check the recording itself are one line while they hold. */
static void put_evidence(const struct pp_page *p, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    int laws = 0;
    put_section(p, r, &pp_section_evidence, "verdict.evidence");
    for (size_t i = 0; i < v->evidences; i++)
        laws |= v->evidence[i].kind == PP_EVIDENCE_LAW && v->evidence[i].supports == 0;
    if (laws)
        pp_page_text(p, PP_TONE_PLAIN, "    ", 4, 0,
                     "the recording is consistent: its operational laws hold");
}

/* ---- throughput ---- */

static void put_rates(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL];
    struct line l = {.text = ""};
    if (isnan(r->samples_per_s) && r->batches)
        add(&l, "%s batches/s; samples were not counted", pp_text_rate(b, CELL, r->batches_per_s));
    else if (isnan(r->samples_per_s))
        add(&l, "not known: the trainer got no batch");
    else
        add(&l, "%s samples/s, %s batches/s", pp_text_rate(a, CELL, r->samples_per_s),
            pp_text_rate(b, CELL, r->batches_per_s));
    if (!isnan(r->bytes_per_s))
        add(&l, ", %s/s read", pp_text_bytes(a, CELL, r->bytes_per_s));
    if (!isnan(r->cache_hit_share))
        add(&l, ", %s of it from the page cache", pp_text_percent(a, CELL, r->cache_hit_share));
    if (!isnan(r->step_mean_ns))
        add(&l, ", mean step %s", pp_text_duration(a, CELL, r->step_mean_ns));
    put_line(p, "  ", 2, &l);
}

static void put_utilization(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL];
    struct line l = {.text = ""};
    if (isnan(r->accelerator_utilization_share))
        return;
    add(&l, "accelerator utilisation (AU): %s of all time, as MLPerf Storage counts",
        pp_text_percent(a, CELL, r->accelerator_utilization_share));
    put_line(p, "  ", 2, &l);
}

static void put_window(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL];
    struct line l = {.text = ""};
    if (r->window_batches == 0)
        return;
    add(&l, r->has_steady_state ? "steady state: "
                                : "no steady state was reached; numbers of all batches, with warm-up: ");
    add(&l, "%s, %s, %s", pp_text_duration(a, CELL, r->window_s * 1e9),
        pp_text_counted(b, CELL, (double)r->window_batches, "batch", "batches"),
        pp_text_counted(c, CELL, (double)r->window_samples, "sample", "samples"));
    if (r->boundary_s > 0)
        add(&l, ", %s of it at epoch boundaries and checkpoints",
            pp_text_duration(a, CELL, r->boundary_s * 1e9));
    put_line(p, "  ", 2, &l);
}

static void put_whole_run(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    struct line l = {.text = ""};
    add(&l, "whole run: %s, %s, %s, %s, %s", pp_text_duration(a, CELL, r->duration_s * 1e9),
        pp_text_counted(b, CELL, (double)r->batches, "batch", "batches"),
        pp_text_counted(c, CELL, (double)r->samples, "sample", "samples"),
        pp_text_counted(d, CELL, (double)r->epochs, "epoch", "epochs"), r->outcome);
    if (!isnan(r->startup_s))
        add(&l, "; start-up %s", pp_text_duration(a, CELL, r->startup_s * 1e9));
    if (!isnan(r->first_batch_s))
        add(&l, "; first batch after %s", pp_text_duration(a, CELL, r->first_batch_s * 1e9));
    put_line(p, "  ", 2, &l);
}

/* ---- workers ---- */

static int slowest_first(const void *a, const void *b)
{
    const struct pp_report_worker *x = *(const struct pp_report_worker *const *)a,
                                  *y = *(const struct pp_report_worker *const *)b;
    return x->samples != y->samples ? (x->samples > y->samples) - (x->samples < y->samples)
                                    : (x->thread > y->thread) - (x->thread < y->thread);
}

/* Many workers: the slowest and the fastest, where a straggler would show. */
static void put_ends(const struct pp_page *p, const struct pp_section_rows *rows, const struct pp_report *r)
{
    const struct pp_report_worker **order = calloc(r->n_workers, sizeof(*order));
    if (!order)
        return;
    for (size_t i = 0; i < r->n_workers; i++)
        order[i] = &r->workers[i];
    qsort(order, r->n_workers, sizeof(*order), slowest_first);
    for (size_t i = 0; i < ENDS; i++)
        pp_section_text_row(p, rows, order[i]);
    fprintf(p->out, "  ... and %zu more between the slowest and the fastest (--format json has all)\n",
            r->n_workers - 2 * ENDS);
    for (size_t i = r->n_workers - ENDS; i < r->n_workers; i++)
        pp_section_text_row(p, rows, order[i]);
    free(order);
}

static void put_workers(const struct pp_page *p, const struct pp_report *r)
{
    struct pp_section_rows rows = pp_section_rows(&pp_section_workers, r, "workers");
    if (rows.n <= MOST_WORKERS) {
        pp_section_text(p, &rows);
    } else {
        pp_section_text_heads(p, rows.section);
        put_ends(p, &rows, r);
    }
}

/* ---- errors, the recording itself ---- */

static void put_errors(const struct pp_page *p, const struct pp_report *r)
{
    char n[CELL], head[120];
    if (r->n_error_kinds == 0 && r->errors == 0 && r->retries == 0)
        return;
    int at = snprintf(head, sizeof(head), "Errors: %s", pp_text_count(n, CELL, (double)r->errors));
    if (r->error_files)
        at += snprintf(head + at, sizeof(head) - (size_t)at, " visit%s to %s%s", r->errors == 1 ? "" : "s",
                       r->more_error_files ? "at least " : "",
                       pp_text_counted(n, CELL, (double)r->error_files, "file", "files"));
    if (r->retries)
        snprintf(head + at, sizeof(head) - (size_t)at, " (and %s)",
                 pp_text_counted(n, CELL, (double)r->retries, "retry", "retries"));
    pp_page_heading(p, head);
    put_section(p, r, &pp_section_errors, "errors");
    if (r->error_files > PP_REPORT_ERROR_EXAMPLES)
        pp_page_text(p, PP_TONE_PLAIN, "  ", 4, 0, "All files: view v_error_file of the recording");
}

/* What the GPU did with its time. Not measured is said as loudly as a number would be. */
static void put_gpu(const struct pp_page *p, const struct pp_report *r)
{
    struct pp_gpu_line line[PP_GPU_LINES];
    if (!r->gpu)
        return;
    struct pp_section_rows rows = pp_section_gpu_rows(r, line);
    pp_page_heading(p, "GPU (shares of the steady state)");
    if (r->gpu->not_measured)
        pp_page_text(p, PP_TONE_STRONG, "  NOT MEASURED: ", 2, 0, r->gpu->not_measured);
    pp_section_text(p, &rows);
    if (r->gpu->counters_missing)
        pp_page_text(p, PP_TONE_STRONG, "  NVML NOT MEASURED: ", 2, 0, r->gpu->counters_missing);
}

static void put_decode(const struct pp_page *p, const struct pp_report *r)
{
    char text[PP_ANSWER_TEXT];
    if (!r->decode)
        return;
    pp_page_heading(p, "Decoded on the GPU (whole run)");
    pp_page_text(p, PP_TONE_PLAIN, "  ", 2, 0, pp_answer_decode(r, text));
    put_section(p, r, &pp_section_differences, "decode.differences");
}

static void add_losses(struct line *l, const struct pp_report *r)
{
    char count[CELL];
    int lost = 0;
    for (size_t i = 0; i < r->n_losses; i++) {
        const struct pp_report_loss *loss = &r->losses[i];
        const char *what = loss->what ? loss->what : "?", *why = loss->why ? loss->why : "unknown why";
        if (loss->count)
            add(l, "%s %s %s: %s", lost++ ? "," : "; LOST:", pp_text_count(count, CELL, (double)loss->count),
                what, why);
    }
    if (!lost)
        add(l, ", nothing lost");
    for (size_t i = 0; i < r->n_losses; i++)
        if (r->losses[i].count == 0 && r->losses[i].why)
            add(l, "; %s", r->losses[i].why);
}

static void put_recording(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL];
    struct line l = {.text = ""};
    pp_page_heading(p, "Recording");
    add(&l, "%s spans", pp_text_count(a, CELL, (double)r->spans));
    add_losses(&l, r);
    if (isnan(r->overhead_cpu_s))
        add(&l, "; its own cost was not recorded");
    else
        add(&l, "; own CPU time %s", pp_text_duration(a, CELL, r->overhead_cpu_s * 1e9));
    if (!isnan(r->overhead_share))
        add(&l, ", %s of the usable CPUs", pp_text_percent(b, CELL, r->overhead_share));
    put_line(p, "  ", 2, &l);
}

static void add_pair(struct line *l, const struct pp_report_pair *pair)
{
    char value[CELL];
    int bytes = pair->numeric && pair->unit && strcmp(pair->unit, "bytes") == 0;
    add(l, "%s%s ", l->text[0] ? ", " : "", pair->key);
    if (bytes)
        add(l, "%s", pp_text_bytes(value, CELL, atof(pair->value)));
    else
        add(l, "%s%s%s", pair->value ? pair->value : "-", pair->unit ? " " : "",
            pair->unit ? pair->unit : "");
    if (pair->note)
        add(l, " (%s)", pair->note);
}

/* What was asked or chosen: the keys people compare runs by, and whatever has a note. */
static void put_config(const struct pp_page *p, const struct pp_report *r)
{
    static const char *const keys[] = {"workers", "batch_size", "prefetch", "sampler", "transform",
                                       "dtype",   "device",     "step",     "step_ms"};
    struct line l = {.text = ""};
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        const struct pp_report_pair *pair = pp_rows_find(r->config, r->n_config, keys[k]);
        if (pair && !pair->note)
            add_pair(&l, pair);
    }
    for (size_t i = 0; i < r->n_config; i++)
        if (r->config[i].note)
            add_pair(&l, &r->config[i]);
    if (l.text[0])
        put_line(p, "Run         ", 12, &l);
}

static void put_environment(const struct pp_page *p, const struct pp_report *r)
{
    struct line l = {.text = ""};
    for (size_t i = 0; i < r->n_environment; i++)
        add_pair(&l, &r->environment[i]);
    if (l.text[0])
        pp_page_text(p, PP_TONE_PLAIN, "Machine     ", 12, 2, l.text);
}

/* What was found; what was not, and what is not known, by name. */
static void put_findings(const struct pp_page *p, const struct pp_report *r)
{
    if (r->n_findings)
        pp_page_heading(p, "Other findings");
    put_section(p, r, &pp_section_found, "findings");
    put_section(p, r, &pp_section_not_found, "findings");
    put_section(p, r, &pp_section_not_measured, "findings");
}

int pp_render_text(const struct pp_report *r, FILE *out, int color, int columns)
{
    struct pp_page p = {.out = out,
                        .color = color,
                        .columns = columns < 40    ? 40
                                   : columns > 120 ? 120
                                                   : columns};
    pp_answer_put(&p, r, PP_ANSWER_FULL);
    put_evidence(&p, r);
    put_section(&p, r, &pp_section_fixes, "verdict.fixes");
    put_section(&p, r, &pp_section_ruled_out, "verdict.ruled_out");
    put_section(&p, r, &pp_section_proof_sentences, "proof");
    put_findings(&p, r);
    pp_page_heading(&p, "Throughput");
    put_rates(&p, r);
    put_utilization(&p, r);
    put_window(&p, r);
    put_whole_run(&p, r);
    put_section(&p, r, &pp_section_durations, "phases");
    put_section(&p, r, &pp_section_shares, "phases");
    put_workers(&p, r);
    if (r->n_loaders > 1)
        put_section(&p, r, &pp_section_loaders, "loaders");
    put_section(&p, r, &pp_section_queues, "queues");
    put_errors(&p, r);
    put_gpu(&p, r);
    put_decode(&p, r);
    put_recording(&p, r);
    fputc('\n', out);
    put_config(&p, r);
    put_environment(&p, r);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
