/* The pictures over the run's time: steps, queues, workers, errors. */
#include "report/render/html/parts.h"

#include "probe/base/text.h"
#include "report/pictures/series.h"

static void row_begin(FILE *out, const char *top, const char *bottom)
{
    pp_html_in(out, "<div class=\"plot\"><div class=\"y\"><span>", top, "</span><span>");
    pp_html_text(out, bottom);
    fputs("</span></div>", out);
}

/* ---- steps ---- */

void pp_html_steps(FILE *out, const struct pp_report *r)
{
    double copying[PP_SERIES_SLICES];
    struct pp_html_view v = {r->slices, r->n_slices};
    int copies = 0;
    if (r->n_slices == 0)
        return;
    for (size_t i = 0; i < r->n_slices; i++) {
        copying[i] = r->slices[i].h2d_share;
        copies |= copying[i] > 0;
    }
    pp_html_figure_begin(
        out, "steps", "The trainer over time",
        "Each column is one slice of the run: the trainer's time in steps and in waits. Outside the steady state the colours are pale.");
    row_begin(out, "100 %", "0");
    pp_svg_begin(out, "tall", PP_HTML_WIDTH, 100,
                 "Trainer time over the run: step, waits for a CPU, device sync, apart, data wait");
    pp_html_stack(out, &v, 100);
    pp_html_window(out, r, &v, 100);
    /* What a slice holds, for those who point at it. */
    char a[32], b[32], wait[32], step[32], rate[32];
    for (size_t i = 0; i < v.n; i++) {
        const struct pp_report_slice *s = &v.slice[i];
        fputs("<rect class=\"hover\"", out);
        pp_svg_attr(out, "x", PP_HTML_WIDTH * (double)i / (double)v.n);
        pp_svg_attr(out, "width", PP_HTML_WIDTH / (double)v.n);
        pp_svg_attr(out, "height", 100);
        fprintf(out, "><title>%s to %s: waits %s, step %s, %s samples/s</title></rect>",
                pp_text_duration(a, sizeof(a), s->start_s * 1e9),
                pp_text_duration(b, sizeof(b), s->end_s * 1e9),
                pp_text_percent(wait, sizeof(wait), s->wait_share + s->sync_share),
                pp_text_percent(step, sizeof(step), s->step_share),
                pp_text_rate(rate, sizeof(rate), s->samples_per_s));
    }
    pp_svg_end(out);
    fputs("</div>\n", out);
    if (copies) {
        fputs("<div class=\"plot thinrow\"><div class=\"y\"><span>copy</span></div>", out);
        pp_svg_begin(out, "thin", PP_HTML_WIDTH, 20,
                     "Share of each slice of time in which a batch was being copied to the device");
        pp_html_area(out, "h2d", &v, copying, 20);
        pp_svg_end(out);
        fputs("</div>\n", out);
    }
    pp_html_time_axis(out, 0, r->slices[r->n_slices - 1].end_s);
    pp_html_ruler(out, r);
    fputs("<p class=\"legend\">", out);
    pp_html_stack_keys(out, &r, 1);
    if (copies)
        pp_html_key(out, "h2d", "copy to the device");
    fputs("</p>\n", out);
    pp_html_parts(out, r);
    pp_html_section_at(out, &pp_section_steps_over_time, r, "series.coarse");
    pp_html_figure_end(out);
}

/* ---- queues ---- */

#define LEAST_DRAWN 0.02 /* of the capacity: less is no line that one can see */

/* most: the capacity, 0 where it is not known. 0: nothing is known of the queue. */
static int put_fill(FILE *out, const struct pp_report *r, const char *title, const char *of, double most,
                    const void *first, size_t stride)
{
    struct pp_html_view v = {r->slices, r->n_slices};
    double fill[PP_SERIES_SLICES], fullest = 0;
    char top[32];
    for (size_t i = 0; i < r->n_slices; i++) {
        fill[i] = *(const double *)((const char *)first + i * stride);
        if (isnan(fill[i]))
            return 0;
        most = fmax(most, fill[i]);
        fullest = fmax(fullest, fill[i]);
    }
    fprintf(out, "<p class=\"sub\">%s", title);
    pp_html_in(out, " ", of, "");
    if (fullest < LEAST_DRAWN * most || fullest == 0) {
        fputs(": always empty</p>\n", out);
        return 1;
    }
    fputs("</p>\n", out);
    most = fmax(ceil(most), 1); /* where the capacity is not known */
    for (size_t i = 0; i < r->n_slices; i++)
        fill[i] /= most;
    snprintf(top, sizeof(top), "%.0f", most);
    row_begin(out, top, "0");
    pp_svg_begin(out, "low", PP_HTML_WIDTH, 40, title);
    pp_html_area(out, "fill", &v, fill, 40);
    pp_html_window(out, r, &v, 40);
    pp_svg_end(out);
    fputs("</div>\n", out);
    return 1;
}

static double capacity_of(const struct pp_report *r, const char *queue)
{
    double most = 0;
    for (size_t i = r->n_queues; i-- > 0;)
        if (strcmp(r->queues[i].name, queue) == 0)
            most = (double)r->queues[i].capacity;
    return most;
}

/* What a DataLoader asks of its workers ahead: num_workers x prefetch_factor. */
static double asked_ahead(const struct pp_report_loader *l)
{
    double most = l ? l->num_workers * l->prefetch_factor : NAN;
    return most > 0 ? most : 0;
}

void pp_html_queues(FILE *out, const struct pp_report *r)
{
    if (r->n_slices == 0 && r->n_queues == 0)
        return;
    pp_html_figure_begin(
        out, "queues", "Queue depth over time",
        "Always empty: the producer is the bottleneck. Always full: the consumer is the bottleneck.");
    int drawn = 0, copies = r->n_slices && !isnan(r->slices[0].device_batches);
    for (size_t i = 0; i < r->n_loader_queues; i++) {
        const struct pp_report_loader_queue *q = &r->loader_queues[i];
        const struct pp_report_loader *l = NULL;
        char number[32];
        for (size_t k = 0; k < r->n_loaders && !l; k++)
            if (r->loaders[k].row && q->row && strcmp(r->loaders[k].row, q->row) == 0)
                l = &r->loaders[k];
        snprintf(number, sizeof(number), "DataLoader %zu", l ? (size_t)(l - r->loaders) + 1 : i + 1);
        drawn += put_fill(out, r,
                          "Finished batches, not yet taken by the trainer:", l && l->at ? l->at : number,
                          asked_ahead(l), q->ready, sizeof(*q->ready));
    }
    if (!drawn && r->n_slices)
        drawn = put_fill(out, r,
                         copies ? "Finished batches, not yet fetched by the copy lane"
                                : "Finished batches, not yet taken by the trainer",
                         NULL, r->n_loaders == 1 ? asked_ahead(&r->loaders[0]) : capacity_of(r, "ready"),
                         &r->slices->ready_batches, sizeof(*r->slices));
    if (r->n_slices)
        drawn += put_fill(out, r, "Batches on the device, not yet taken by the trainer", NULL,
                          capacity_of(r, "device"), &r->slices->device_batches, sizeof(*r->slices));
    if (drawn)
        pp_html_time_axis(out, 0, r->slices[r->n_slices - 1].end_s);
    else if (r->own_loader || r->n_workers)
        fputs(
            "<p class=\"none\">Not drawn: the recording lacks the start or end of some batches in the queue.</p>\n",
            out);
    else
        fputs("<p class=\"none\">There is no queue: no worker makes batches ahead.</p>\n", out);
    if (drawn)
        pp_html_section_at(out, &pp_section_queues_over_time, r, "series.coarse");
    if (r->n_queues)
        pp_html_section_at(out, &pp_section_queues, r, "queues");
    pp_html_figure_end(out);
}

/* ---- workers ---- */

enum { FEW = 8 };

static double busy_of(const void *of, size_t row, size_t slice)
{
    const struct pp_report *r = of;
    return r->heat[row].busy[slice];
}

void pp_html_workers(FILE *out, const struct pp_report *r)
{
    static const char *const shade_names[] = {"",           "under 20 %", "20 to 40 %",
                                              "40 to 60 %", "60 to 80 %", "over 80 % busy"};
    if (r->n_heat == 0 && r->n_workers == 0)
        return;
    pp_html_figure_begin(
        out, "workers", "Worker utilisation over time",
        "One row per worker, one column per slice of time; stronger colour: busier. A weak row: one slow worker. A weak column: all workers waited.");
    if (r->n_heat) {
        fprintf(out, "<div class=\"plot rows%s\"><div class=\"names\">", r->n_heat <= FEW ? " roomy" : "");
        for (size_t i = 0; i < r->n_heat; i++) {
            pp_html_in(out, "<span><bdi>", r->heat[i].name, "</bdi></span>");
        }
        fputs("</div>", out);
        pp_html_heat(out, &(struct pp_html_heat){.n_rows = r->n_heat,
                                                 .n_columns = r->n_slices,
                                                 .row_height = r->n_heat <= FEW
                                                                   ? 24
                                                                   : 16, /* as the style sheet has them */
                                                 .value = busy_of,
                                                 .of = r,
                                                 .title = "Busy share per worker and slice of time",
                                                 .shade_names = shade_names,
                                                 .end_s = r->slices[r->n_slices - 1].end_s});
    }
    if (r->n_workers)
        pp_html_section_at(out, &pp_section_workers, r, "workers");
    if (r->n_loaders > 1)
        pp_html_section_at(out, &pp_section_loaders, r, "loaders");
    if (r->n_slow_samples)
        pp_html_section_at(out, &pp_section_slow_samples, r, "slow_samples");
    pp_html_figure_end(out);
}

/* ---- errors ---- */

void pp_html_errors(FILE *out, const struct pp_report *r)
{
    uint64_t most = 0; /* in a slice */
    char top[32];
    if (r->n_error_kinds == 0 && r->errors == 0 && r->retries == 0)
        return;
    pp_html_figure_begin(out, "errors", "Errors",
                         "Samples that could not be read or decoded, and retried reads, over time.");
    for (size_t i = 0; i < r->n_slices; i++)
        most = r->slices[i].errors > most ? r->slices[i].errors : most;
    if (most) {
        row_begin(out, pp_text_count(top, sizeof(top), (double)most), "0");
        pp_svg_begin(out, "low", PP_HTML_WIDTH, 40, "Errors and retries per slice of time");
        for (size_t i = 0; i < r->n_slices; i++)
            if (r->slices[i].errors) {
                double h = 40 * (double)r->slices[i].errors / (double)most;
                pp_svg_rect(out, "fault", PP_HTML_WIDTH * (double)i / (double)r->n_slices, 40 - h,
                            PP_HTML_WIDTH / (double)r->n_slices, h);
            }
        pp_svg_end(out);
        fputs("</div>\n", out);
        pp_html_time_axis(out, 0, r->slices[r->n_slices - 1].end_s);
    }
    if (r->n_coarse)
        pp_html_section_at(out, &pp_section_errors_over_time, r, "series.coarse");
    pp_html_section_at(out, &pp_section_errors, r, "errors");
    /* A table per kind: a file with its reason and how often it was visited. */
    char path[64];
    int more = 0;
    for (size_t i = 0; i < r->n_error_kinds; i++) {
        const struct pp_report_error_kind *k = &r->error_kinds[i];
        if (!k->n_examples)
            continue;
        struct pp_section_rows rows = pp_section_rows_below(&pp_section_error_files, r, "errors", i,
                                                            "examples", path);
        pp_html_in(out, "<p class=\"sub\">", k->kind, ", ");
        pp_html_text(out, k->action);
        fputs("</p>\n", out);
        pp_html_section(out, &rows);
        more |= k->files > k->n_examples || k->more_files;
    }
    if (more)
        fputs(
            "<p class=\"cap\">At most five files of a kind; view v_error_file of the recording has all.</p>\n",
            out);
    pp_html_figure_end(out);
}
