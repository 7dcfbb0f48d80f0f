/* Two batches followed: who worked on them and when, and their critical path. */
#include "report/render/html/figure.h"
#include "report/render/html/parts.h"
#include "report/render/html/section.h"

#include "probe/base/text.h"

#include <math.h>
#include <string.h>

enum { LANE_ROW = 24 };

static const char *class_of(pp_phase phase)
{
    switch (phase) {
    case PP_PHASE_READ: return "read";
    case PP_PHASE_GPU_DECODE:
    case PP_PHASE_DECODE: return "decode";
    case PP_PHASE_TRANSFORM: return "transform";
    case PP_PHASE_COLLATE: return "collate";
    case PP_PHASE_PIN:
    case PP_PHASE_H2D: return "h2d";
    case PP_PHASE_STEP: return "step";
    case PP_PHASE_DATA_WAIT: return "wait";
    case PP_PHASE_DEVICE_SYNC:
    case PP_PHASE_COLLECTIVE: return "sync";
    case PP_PHASE_RETRY: return "fault";
    case PP_PHASE_DISPATCH_WAIT:
    case PP_PHASE_SLOT_WAIT:
    case PP_PHASE_PUT_WAIT:
    case PP_PHASE_LEASE_WAIT:
    case PP_PHASE_GET_WAIT: return "idle";
    default: return "apart";
    }
}

static void put_lane(FILE *out, const struct pp_report_batch *b, const struct pp_report_bar_row *row,
                     size_t at)
{
    double scale = PP_HTML_WIDTH / (b->end_ns - b->start_ns);
    char buf[32];
    for (size_t i = 0; i < row->n_bars; i++) {
        const struct pp_report_bar *bar = &row->bars[i];
        const struct pp_phase_info *info = pp_phase_info(bar->phase);
        int thin = class_of(bar->phase)[0] == 'i';
        fprintf(out, "<rect class=\"%s%s\"", class_of(bar->phase), bar->other ? " other" : "");
        pp_svg_attr(out, "x", (bar->start_ns - b->start_ns) * scale);
        pp_svg_attr(out, "y", (double)at * LANE_ROW + (thin ? 10 : 4));
        pp_svg_attr(out, "width", fmax((bar->end_ns - bar->start_ns) * scale, 0.5));
        pp_svg_attr(out, "height", thin ? 4 : LANE_ROW - 8);
        fprintf(out, "><title>%s%s, %s</title></rect>", info ? info->name : "?",
                bar->other ? " (another batch)" : "",
                pp_text_duration(buf, sizeof(buf), bar->end_ns - bar->start_ns));
    }
}

static void put_wait_axis(FILE *out, const struct pp_report_batch *b)
{
    static const double steps[] = {1, 2, 5};
    double range = b->end_ns - b->start_ns, step = 0;
    char buf[32];
    for (double decade = 1; step == 0; decade *= 10)
        for (int i = 0; i < 3 && step == 0; i++)
            if (range / (steps[i] * decade) <= 6)
                step = steps[i] * decade;
    fputs("<div class=\"axis rows\"><div class=\"x\">", out);
    for (double t = ceil(b->start_ns / step) * step; t <= b->end_ns; t += step) {
        pp_html_tick(out, pp_html_percent(t - b->start_ns, range));
        fputs(t == 0 ? "<b>" : "", out);
        pp_html_text(out, t == 0 ? "0" : pp_text_duration(buf, sizeof(buf), t));
        fputs(t == 0 ? "</b>" : "", out);
        fputs("</span>", out);
    }
    fputs("</div></div>\n", out);
}

static void put_gantt(FILE *out, const struct pp_report_batch *b)
{
    double height = (double)b->n_rows * LANE_ROW,
           zero = PP_HTML_WIDTH * pp_html_percent(-b->start_ns, b->end_ns - b->start_ns) / 100;
    double waited = PP_HTML_WIDTH * pp_html_percent(b->wait_ns, b->end_ns - b->start_ns) / 100;
    fputs("<div class=\"plot rows roomy\"><div class=\"names\">", out);
    for (size_t i = 0; i < b->n_rows; i++) {
        fprintf(out, "<span%s><bdi>", b->rows[i].critical ? " class=\"crit\"" : "");
        pp_html_text(out, b->rows[i].name);
        fputs("</bdi></span>", out);
    }
    fprintf(out, "</div><div class=\"h\" style=\"height:%.0fpx\">", height);
    pp_svg_begin(out, "full", PP_HTML_WIDTH, height, "Threads that worked on the batch, over time");
    pp_svg_rect(out, "waited", zero, 0, waited, height);
    for (size_t i = 0; i < b->n_rows; i++)
        put_lane(out, b, &b->rows[i], i);
    pp_svg_rect(out, "mark", zero - 0.75, 0, 1.5, height);
    pp_svg_end(out);
    fputs("</div></div>\n", out);
    put_wait_axis(out, b);
}

static void put_legs(FILE *out, const struct pp_report *r, size_t k)
{
    char path[64];
    struct pp_section_rows rows = pp_section_rows_below(&pp_section_legs, r, "series.waterfalls", k, "legs",
                                                        path);
    pp_html_section(out, &rows);
}

static void put_batch(FILE *out, const struct pp_report *r, size_t k)
{
    const struct pp_report_batch *b = &r->waterfalls[k];
    char buf[32];
    fprintf(out, "<h3>%s batch</h3><p class=\"sub\">Batch ",
            strcmp(b->which, "worst") == 0 ? "The worst" : "A typical");
    pp_html_num(out, PP_HTML_COUNT, (double)b->batch, "series.waterfalls.%zu.batch", k);
    fputs(" of epoch ", out);
    pp_html_num(out, PP_HTML_COUNT, (double)b->epoch, "series.waterfalls.%zu.epoch", k);
    fputs(": waited for ", out);
    pp_html_num(out, PP_HTML_TIME, b->wait_ns, "series.waterfalls.%zu.wait_ns", k);
    fputs(", step ", out);
    pp_html_num(out, PP_HTML_TIME, b->step_ns, "series.waterfalls.%zu.step_ns", k);
    if (!isnan(b->ready_ns))
        fprintf(out, "; it was on the device %s %s the trainer asked",
                pp_text_duration(buf, sizeof(buf), fabs(b->ready_ns)), b->ready_ns < 0 ? "before" : "after");
    if (b->other_workers)
        fprintf(out, "; %zu more workers contributed", b->other_workers);
    fputs(".</p>\n", out);
    put_gantt(out, b);
    put_legs(out, r, k);
}

void pp_html_waterfalls(FILE *out, const struct pp_report *r)
{
    static const pp_phase shown[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE,
                                     PP_PHASE_H2D,  PP_PHASE_STEP,   PP_PHASE_DATA_WAIT, PP_PHASE_RETRY};
    if (r->n_waterfalls == 0)
        return;
    pp_html_figure_begin(
        out, "batches", "Two batches in detail",
        "At time 0 the trainer asks for the batch; the shaded stretch is its wait. Bold names are the critical path: the worker that finished the batch, the copy, the trainer. Pale bars belong to other batches, thin bars are waits.");
    fputs("<p class=\"legend\">", out);
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        pp_html_key(out, class_of(shown[i]), pp_phase_info(shown[i])->name);
    pp_html_key(out, "idle", "waits for a slot, a queue or the shard reader");
    fputs("</p>\n", out);
    for (size_t i = 0; i < r->n_waterfalls; i++)
        put_batch(out, r, i);
    pp_html_figure_end(out);
}
