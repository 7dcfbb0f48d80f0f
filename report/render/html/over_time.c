/* The pictures over the run's time: steps, queues, workers, errors. */
#include "report/render/html/parts.h"

#include "probe/base/text.h"
#include "report/pictures/series.h"

#include <math.h>
#include <string.h>

static double end_s(const struct pp_report *r)
{
    return r->slices[r->n_slices - 1].end_s;
}

static double slice_x(const struct pp_report *r, size_t i)
{
    return PP_HTML_WIDTH * (double)i / (double)r->n_slices;
}

/* An area between two stacked heights, as steps: from[i]..to[i] of slice i, in parts of 1 from below. */
static void put_area(FILE *out, const char *class, const struct pp_report *r, const double *from,
                     const double *to, double height)
{
    fprintf(out, "<path class=\"%s\" d=\"M0 ", class);
    pp_svg_num(out, height * (1 - from[0]));
    for (size_t i = 0; i < r->n_slices; i++) {
        fputc('V', out);
        pp_svg_num(out, height * (1 - to[i]));
        fputc('H', out);
        pp_svg_num(out, slice_x(r, i + 1));
    }
    for (size_t i = r->n_slices; i-- > 0;) {
        fputc('V', out);
        pp_svg_num(out, height * (1 - from[i]));
        fputc('H', out);
        pp_svg_num(out, slice_x(r, i));
    }
    fputs("Z\"/>", out);
}

/* The steady-state window: what is outside is veiled. */
static void put_window(FILE *out, const struct pp_report *r, double height)
{
    double from = PP_HTML_WIDTH * r->window_start_s / end_s(r),
           to = PP_HTML_WIDTH * r->window_end_s / end_s(r);
    if (!r->has_steady_state)
        return;
    pp_svg_rect(out, "veil", 0, 0, from, height);
    pp_svg_rect(out, "veil", to, 0, PP_HTML_WIDTH - to, height);
}

/* What a slice holds, for those who point at it. */
static void put_hovers(FILE *out, const struct pp_report *r, double height)
{
    char a[32], b[32], wait[32], step[32], rate[32];
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct pp_report_slice *s = &r->slices[i];
        fputs("<rect class=\"hover\"", out);
        pp_svg_attr(out, "x", slice_x(r, i));
        pp_svg_attr(out, "width", PP_HTML_WIDTH / (double)r->n_slices);
        pp_svg_attr(out, "height", height);
        fprintf(out, "><title>%s to %s: waits %s, step %s, %s samples/s</title></rect>",
                pp_text_duration(a, sizeof(a), s->start_s * 1e9),
                pp_text_duration(b, sizeof(b), s->end_s * 1e9),
                pp_text_percent(wait, sizeof(wait), s->wait_share + s->sync_share),
                pp_text_percent(step, sizeof(step), s->step_share),
                pp_text_rate(rate, sizeof(rate), s->samples_per_s));
    }
}

static void row_begin(FILE *out, const char *top, const char *bottom)
{
    pp_html_in(out, "<div class=\"plot\"><div class=\"y\"><span>", top, "</span><span>");
    pp_html_text(out, bottom);
    fputs("</span></div>", out);
}

/* ---- steps ---- */

static void put_stack(FILE *out, const struct pp_report *r)
{
    static const struct {
        const char *class;
        size_t offset;
    } layers[] = {
        {"step", offsetof(struct pp_report_slice, step_share)},
        {"sync", offsetof(struct pp_report_slice, sync_share)},
        {"apart", offsetof(struct pp_report_slice, apart_share)},
        {"wait", offsetof(struct pp_report_slice, wait_share)},
    };
    double from[PP_SERIES_SLICES] = {0}, to[PP_SERIES_SLICES];
    for (size_t l = 0; l < sizeof(layers) / sizeof(*layers); l++) {
        int any = 0;
        for (size_t i = 0; i < r->n_slices; i++) {
            double part = *(const double *)((const char *)&r->slices[i] + layers[l].offset);
            to[i] = fmin(from[i] + part, 1);
            any |= part > 0;
        }
        if (any)
            put_area(out, layers[l].class, r, from, to, 100);
        memcpy(from, to, sizeof(from));
    }
}

void pp_html_steps(FILE *out, const struct pp_report *r)
{
    double from[PP_SERIES_SLICES] = {0}, to[PP_SERIES_SLICES] = {0};
    int synchronizes = 0;
    if (r->n_slices == 0)
        return;
    pp_html_figure_begin(
        out, "steps", "The trainer over time",
        "Each column is one slice of the run: the trainer's time in steps and in waits for data. Outside the steady state the colours are pale.");
    row_begin(out, "100 %", "0");
    pp_svg_begin(out, "tall", PP_HTML_WIDTH, 100,
                 "Trainer time over the run: step, device sync, apart, data wait");
    put_stack(out, r);
    put_window(out, r, 100);
    put_hovers(out, r, 100);
    pp_svg_end(out);
    fputs("</div>\n", out);

    for (size_t i = 0; i < r->n_slices; i++) {
        to[i] = r->slices[i].h2d_share;
        synchronizes |= r->slices[i].sync_share > 0;
    }
    fputs("<div class=\"plot thinrow\"><div class=\"y\"><span>copy</span></div>", out);
    pp_svg_begin(out, "thin", PP_HTML_WIDTH, 20,
                 "Share of each slice of time in which a batch was being copied to the device");
    put_area(out, "h2d", r, from, to, 20);
    pp_svg_end(out);
    fputs("</div>\n", out);
    pp_html_time_axis(out, end_s(r));
    fputs("<p class=\"legend\">", out);
    pp_html_key(out, "step", "step");
    pp_html_key(out, "wait", "waits for data");
    if (synchronizes)
        pp_html_key(out, "sync", isnan(r->collective_share) ? "device sync" : "device sync, other ranks");
    pp_html_key(out, "apart", "start-up, epoch boundary, checkpoint");
    pp_html_key(out, "h2d", "copy to the device");
    fputs("</p>\n", out);
    pp_html_section_at(out, &pp_section_steps_over_time, r, "series.coarse");
    pp_html_figure_end(out);
}

/* ---- queues ---- */

#define LEAST_DRAWN 0.02 /* of the capacity: less is no line that one can see */

static int put_fill(FILE *out, const struct pp_report *r, const char *name, const char *title, size_t offset)
{
    double from[PP_SERIES_SLICES] = {0}, to[PP_SERIES_SLICES], most = 0, fullest = 0;
    char top[32];
    for (size_t i = r->n_queues; i-- > 0;)
        if (strcmp(r->queues[i].name, name) == 0)
            most = (double)r->queues[i].capacity;
    for (size_t i = 0; i < r->n_slices; i++) {
        to[i] = *(const double *)((const char *)&r->slices[i] + offset);
        if (isnan(to[i]))
            return 0;
        most = fmax(most, to[i]);
        fullest = fmax(fullest, to[i]);
    }
    if (fullest < LEAST_DRAWN * most) {
        fprintf(out, "<p class=\"sub\">%s: always empty</p>\n", title);
        return 1;
    }
    most = fmax(ceil(most), 1); /* where the capacity is not known */
    for (size_t i = 0; i < r->n_slices; i++)
        to[i] /= most;
    snprintf(top, sizeof(top), "%.0f", most);
    fprintf(out, "<p class=\"sub\">%s</p>\n", title);
    row_begin(out, top, "0");
    pp_svg_begin(out, "low", PP_HTML_WIDTH, 40, title);
    put_area(out, "fill", r, from, to, 40);
    put_window(out, r, 40);
    pp_svg_end(out);
    fputs("</div>\n", out);
    return 1;
}

void pp_html_queues(FILE *out, const struct pp_report *r)
{
    if (r->n_slices == 0 && r->n_queues == 0)
        return;
    pp_html_figure_begin(
        out, "queues", "Queue depth over time",
        "Always empty: the producer is the bottleneck. Always full: the consumer is the bottleneck.");
    int drawn = 0;
    if (r->n_slices) {
        drawn += put_fill(out, r, "ready", "Finished batches, not yet fetched by the copy lane",
                          offsetof(struct pp_report_slice, ready_batches));
        drawn += put_fill(out, r, "device", "Batches on the device, not yet taken by the trainer",
                          offsetof(struct pp_report_slice, device_batches));
    }
    if (drawn)
        pp_html_time_axis(out, end_s(r));
    else
        fputs(
            "<p class=\"none\">Not drawn: the recording lacks the start or end of some batches in the queue.</p>\n",
            out);
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
                                                 .end_s = end_s(r)});
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

/* A table per kind: a file with its reason and how often it was visited. */
static void put_files(FILE *out, const struct pp_report *r)
{
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
}

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
                pp_svg_rect(out, "fault", slice_x(r, i), 40 - h, PP_HTML_WIDTH / (double)r->n_slices, h);
            }
        pp_svg_end(out);
        fputs("</div>\n", out);
        pp_html_time_axis(out, end_s(r));
    }
    if (r->n_coarse)
        pp_html_section_at(out, &pp_section_errors_over_time, r, "series.coarse");
    pp_html_section_at(out, &pp_section_errors, r, "errors");
    put_files(out, r);
    pp_html_figure_end(out);
}
