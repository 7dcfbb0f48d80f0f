/* Pictures of rates and waits: headroom, what-if curves, the distribution of waits. */
#include "report/render/answer.h"
#include "report/render/html/parts.h"

#include "probe/base/text.h"

/* ---- headroom ---- */

struct bar {
    const char *name, *class;
    double value, low, high; /* low and high: of the thin line; not finite: none */
    enum pp_html_form form;
    const char *key;
};

static void put_bar(FILE *out, const struct bar *b, double most)
{
    double low = pp_html_percent(b->low, most), high = pp_html_percent(b->high, most);
    pp_html_in(out, "<div class=\"bar\"><span class=\"what\">", b->name, "</span><span class=\"track\">");
    pp_svg_begin(out, "full", 100, 10, b->name);
    pp_svg_rect(out, b->class, 0, 0, pp_html_percent(b->value, most), 10);
    if (isfinite(b->low) && isfinite(b->high))
        pp_svg_rect(out, "mark", low, 4.5, fmax(high - low, 0.3), 1);
    pp_svg_end(out);
    fputs("</span><span class=\"v\">", out);
    pp_html_num(out, b->form, b->value, "%s", b->key);
    fputs("</span></div>\n", out);
}

/* In the order of the list: what to do, then what to measure. */
static void put_fix_bars(FILE *out, const struct pp_report *r, double base, double most)
{
    char text[PP_ANSWER_TEXT], key[64];
    for (size_t i = 0; i < r->verdict.n_fixes; i++) {
        const struct pp_report_fix *f = &r->verdict.fixes[i];
        if (f->advice == PP_ADVICE_NO)
            continue;
        if (f->advice == PP_ADVICE_MEASURE && (i == 0 || f[-1].advice != PP_ADVICE_MEASURE))
            fprintf(out, "<p class=\"sub\">%s</p>\n",
                    i ? "Worth measuring: the prediction is unsure, or of an amount of work"
                      : "Uncertain. Worth measuring");
        snprintf(key, sizeof(key), "verdict.fixes.%zu.samples_per_s", i);
        put_bar(out,
                &(struct bar){pp_answer_change(f, text), "band", f->samples_per_s, base * (1 + f->low),
                              base * (1 + f->high), PP_HTML_PREDICTED, key},
                most);
    }
}

void pp_html_headroom(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    double then = r->headroom_samples_per_s, late = v->late_samples_per_s,
           base = late > 0 ? late : r->samples_per_s,
           most = fmax(then, r->samples_per_s); /* the longest bar */
    if (isnan(then) || isnan(r->samples_per_s))
        return;
    for (size_t i = 0; i < v->n_fixes; i++)
        if (v->fixes[i].advice != PP_ADVICE_NO)
            most = fmax(most, base * (1 + v->fixes[i].high));
    const char *gone = r->drawn_for_free
                           ? "without any wait for data, with a sampler that draws nothing before an epoch"
                       : r->workers_stay ? "without any wait for data, with workers that stay for all epochs"
                       : r->first_waits  ? "without any wait for data, for first batches too"
                       : r->taken_for_free ? "without any wait for data or time to take a batch"
                       : r->starved_s > 0  ? "without any wait for data or for a CPU"
                                           : "without any wait for data";
    char caption[256];
    if (v->n_fixes)
        snprintf(
            caption, sizeof(caption),
            "Samples per second: as recorded, %s, and predicted by the replay with a change; the thin line is the 80 %% interval.",
            gone);
    else
        snprintf(caption, sizeof(caption), "Samples per second: as recorded, and %s.", gone);
    pp_html_figure_begin(out, "headroom", "Possible gain", caption);
    fputs("<div class=\"bars\">", out);
    put_bar(out,
            &(struct bar){"as recorded", "step", r->samples_per_s, NAN, NAN, PP_HTML_RATE, "samples_per_s"},
            most);
    if (late > 0)
        put_bar(out,
                &(struct bar){"since others took CPUs", "step", late, NAN, NAN, PP_HTML_RATE,
                              "verdict.late_samples_per_s"},
                most);
    put_fix_bars(out, r, base, most);
    fputs("<p class=\"sub\">The limit</p>\n", out);
    put_bar(out,
            &(struct bar){"without waits", "gain", then, NAN, NAN, PP_HTML_PREDICTED,
                          "verdict.headroom_samples_per_s"},
            most);
    fputs("</div>\n<p class=\"cap\">Without waits: ", out);
    pp_html_num(out, PP_HTML_GAIN, r->headroom_gain, "verdict.headroom_gain");
    if (isnan(v->replay_error) && v->why_no_fixes && !v->n_fixes) {
        fputs(". No change is predicted: ", out);
        pp_html_text(out, v->why_no_fixes);
    }
    fputs(".</p>\n", out);
    if (v->n_fixes)
        pp_html_section_at(out, &pp_section_fixes, r, "verdict.fixes");
    pp_html_figure_end(out);
}

/* ---- where the time goes ---- */

void pp_html_spent(FILE *out, const struct pp_report *r)
{
    double x = 0, all = 0;
    char text[64], caption[256];
    if (r->n_spent == 0)
        return;
    for (size_t i = 0; i < r->n_spent; i++)
        all += r->spent[i].per_sample_ns;
    snprintf(caption, sizeof(caption),
             "%s a %s in the steady state. A wait for data is divided by what the workers did meanwhile.",
             pp_text_duration(text, sizeof(text), all), r->window_samples ? "sample" : "batch");
    pp_html_figure_begin(out, "spent", "Where the time goes", caption);
    pp_svg_begin(out, "spent", PP_HTML_WIDTH, 28, "The time of a sample, divided");
    for (size_t i = 0; i < r->n_spent; i++) {
        double width = PP_HTML_WIDTH * fmax(r->spent[i].share, 0);
        pp_svg_rect(out, pp_spent_kinds[r->spent[i].kind].class, x, 0, width, 28);
        x += width;
    }
    pp_svg_end(out);
    fputs("<p class=\"legend\">", out);
    for (size_t i = 0; i < r->n_spent; i++) {
        const struct pp_spent_kind *kind = &pp_spent_kinds[r->spent[i].kind];
        snprintf(caption, sizeof(caption), "%s %s", kind->words,
                 pp_text_share(text, sizeof(text), r->spent[i].share));
        if (r->spent[i].share >= 0.005)
            pp_html_key(out, kind->class, caption);
    }
    fputs("</p>\n", out);
    pp_html_section_at(out, &pp_section_spent, r, "spent");
    pp_html_figure_end(out);
}

/* ---- what-if ---- */

static void put_whatif(FILE *out, const struct pp_report *r, size_t k)
{
    const struct pp_report_curve *c = &r->curves[k];
    char a[32], title[96], path[64];
    double top = 0, low_x = c->points[0].value, high_x = c->points[c->n_points - 1].value;
    for (size_t i = 0; i < c->n_points; i++)
        top = fmax(top, fmax(c->points[i].high, c->points[i].samples_per_s));
    snprintf(title, sizeof(title), "Predicted samples per second by %s, with its interval", c->knob);
    pp_html_in(out, "<p class=\"sub\">", title, "</p><div class=\"plot\"><div class=\"y\"><span>");
    pp_html_text(out, pp_text_rate(a, sizeof(a), top));
    fputs("</span><span>0</span></div>", out);
    pp_svg_begin(out, "tall", PP_HTML_WIDTH, 100, title);
    double most = top > 0 ? top : 1;
    double w = PP_HTML_WIDTH / (high_x > low_x ? high_x - low_x : 1);
    for (int band = 1; band >= 0; band--) {
        fprintf(out, "<path class=\"%s\" d=\"", band ? "band" : "line");
        for (size_t i = 0; i < c->n_points; i++) {
            fputc(i ? 'L' : 'M', out);
            pp_svg_num(out, (c->points[i].value - low_x) * w);
            fputc(' ', out);
            pp_svg_num(out, 100 * (1 - (band ? c->points[i].high : c->points[i].samples_per_s) / most));
        }
        for (size_t i = c->n_points; band && i-- > 0;) {
            fputc('L', out);
            pp_svg_num(out, (c->points[i].value - low_x) * w);
            fputc(' ', out);
            pp_svg_num(out, 100 * (1 - c->points[i].low / most));
        }
        fputs(band ? "Z\"/>" : "\"/>", out);
    }
    if (c->now >= low_x && c->now <= high_x)
        pp_svg_rect(out, "mark", (c->now - low_x) * w - 1, 0, 2, 100);
    pp_svg_end(out);
    fputs("</div>\n<div class=\"x\">", out);
    for (size_t i = 0, every = (c->n_points + 7) / 8; i < c->n_points; i += every) {
        pp_html_tick(out, pp_html_percent(c->points[i].value - low_x, high_x - low_x));
        fprintf(out, "%g</span>", c->points[i].value);
    }
    fputs("</div>\n<p class=\"legend\">", out);
    pp_html_key(out, "line-key", "predicted");
    pp_html_key(out, "band", "interval");
    pp_html_key(out, "mark", "as recorded");
    fputs("</p>\n", out);
    struct pp_section_rows rows = pp_section_rows_below(&pp_section_curve, r, "series.curves", k, "points",
                                                        path);
    pp_html_section(out, &rows);
}

void pp_html_curves(FILE *out, const struct pp_report *r)
{
    int any = 0;
    for (size_t i = 0; i < r->n_curves; i++)
        any |= r->curves[i].n_points > 0;
    if (!any)
        return;
    pp_html_figure_begin(out, "whatif", "What if",
                         "The recorded costs replayed with another setting: prediction and 80 % interval.");
    for (size_t i = 0; i < r->n_curves; i++)
        if (r->curves[i].n_points)
            put_whatif(out, r, i);
    pp_html_figure_end(out);
}

/* ---- the distribution of waits ---- */

struct log_axis {
    double low, decades; /* low is a power of ten */
};

static double log_x(const struct log_axis *a, double ns)
{
    return fmin(fmax(log10(fmax(ns, a->low) / a->low) / a->decades, 0), 1);
}

static void put_quantile(FILE *out, const struct log_axis *a, const char *name, int row, double ns)
{
    double x = 100 * log_x(a, ns);
    char buf[32];
    fprintf(out, "<span class=\"q%s\" style=\"top:%dpx;%s:", x > 60 ? " left" : "", 6 + 20 * row,
            x > 60 ? "right" : "left");
    pp_svg_num(out, x > 60 ? 100 - x : x);
    fprintf(out, "%%\">%s %s</span>", name, pp_text_duration(buf, sizeof(buf), ns));
}

void pp_html_wait_cdf(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *p = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    if (!p || r->n_wait_cdf == 0)
        return;
    /* Whole decades around what there is; at least two. */
    double low = floor(log10(fmax(r->wait_cdf[0].x, 100))),
           high = ceil(log10(fmax(r->wait_cdf[r->n_wait_cdf - 1].x, 1000)));
    struct log_axis a = {pow(10, low), fmax(high - low, 2)};
    pp_html_figure_begin(
        out, "waits", "Wait for a batch: distribution",
        "Share of batches ready within a time, on a logarithmic axis. A steep rise far left: the pipeline keeps up. A long tail to the right: stalls.");
    fputs(
        "<div class=\"plot\"><div class=\"y\"><span>100 %</span><span>0</span></div><div class=\"h\" style=\"height:140px\">",
        out);
    pp_svg_begin(out, "full", PP_HTML_WIDTH, 100,
                 "Cumulative distribution of data waits in the steady state");
    for (int i = 1; i < (int)a.decades; i++)
        pp_svg_rect(out, "grid", PP_HTML_WIDTH * i / a.decades, 0, 1, 100);
    fputs("<path class=\"area\" d=\"M0 100", out);
    for (size_t i = 0; i < r->n_wait_cdf; i++) {
        fputc('H', out);
        pp_svg_num(out, PP_HTML_WIDTH * log_x(&a, r->wait_cdf[i].x));
        fputc('V', out);
        pp_svg_num(out, 100 * (1 - r->wait_cdf[i].y));
    }
    fprintf(out, "H%.0fV100Z\"/>", PP_HTML_WIDTH);
    const double marks[] = {(double)p->p50_ns, (double)p->p95_ns, (double)p->p99_ns};
    for (int i = 0; i < 3; i++)
        pp_svg_rect(out, "mark", PP_HTML_WIDTH * log_x(&a, marks[i]) - 1, 0, 2, 100);
    pp_svg_end(out);
    put_quantile(out, &a, "p50", 0, marks[0]);
    put_quantile(out, &a, "p95", 1, marks[1]);
    put_quantile(out, &a, "p99", 2, marks[2]);
    fputs("</div></div>\n<div class=\"x\">", out);
    for (int i = 0; i <= (int)a.decades; i++) {
        pp_html_tick(out, 100 * i / a.decades);
        double ns = a.low * pow(10, i);
        fprintf(out, "%.0f %s</span>",
                ns < 1e3   ? ns
                : ns < 1e6 ? ns / 1e3
                : ns < 1e9 ? ns / 1e6
                           : ns / 1e9,
                ns < 1e3   ? "ns"
                : ns < 1e6 ? "us"
                : ns < 1e9 ? "ms"
                           : "s");
    }
    fputs("</div>\n", out);
    struct pp_section_rows rows = pp_section_rows(&pp_section_waits, r, "phases");
    rows.number = (size_t)(p - r->phases);
    rows.first = (const char *)p;
    rows.n = 1;
    pp_html_section(out, &rows);
    pp_html_figure_end(out);
}

/* ---- two batches followed: who worked on them and when, and their critical path ---- */

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

/* A row per thread, and an axis of the time since the trainer asked. */
static void put_gantt(FILE *out, const struct pp_report_batch *b)
{
    static const double steps[] = {1, 2, 5};
    double height = (double)b->n_rows * LANE_ROW, range = b->end_ns - b->start_ns, step = 0,
           scale = PP_HTML_WIDTH / range;
    double zero = PP_HTML_WIDTH * pp_html_percent(-b->start_ns, range) / 100;
    double waited = PP_HTML_WIDTH * pp_html_percent(b->wait_ns, range) / 100;
    char buf[32];
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
        for (size_t k = 0; k < b->rows[i].n_bars; k++) {
            const struct pp_report_bar *bar = &b->rows[i].bars[k];
            const struct pp_phase_info *info = pp_phase_info(bar->phase);
            double ns = bar->end_ns - bar->start_ns, x = (bar->start_ns - b->start_ns) * scale,
                   top = (double)i * LANE_ROW,
                   lack = (LANE_ROW - 8) * pp_html_percent(bar->lack_ns, ns) / 100;
            int thin = class_of(bar->phase)[0] == 'i';
            fprintf(out, "<rect class=\"%s%s\"", class_of(bar->phase), bar->other ? " other" : "");
            pp_svg_attr(out, "x", x);
            pp_svg_attr(out, "y", top + (thin ? 10 : 4));
            pp_svg_attr(out, "width", fmax(ns * scale, 0.5));
            pp_svg_attr(out, "height", thin ? 4 : LANE_ROW - 8);
            fprintf(out, "><title>%s%s, %s</title></rect>", info ? info->name : "?",
                    bar->other ? " (another batch)" : "", pp_text_duration(buf, sizeof(buf), ns));
            if (lack >= 1) /* in proportion, below: when in the step it was is not recorded */
                pp_svg_rect(out, "starved", x, top + LANE_ROW - 4 - lack, ns * scale, lack);
        }
    pp_svg_rect(out, "mark", zero - 0.75, 0, 1.5, height);
    pp_svg_end(out);
    fputs("</div></div>\n", out);

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

void pp_html_waterfalls(FILE *out, const struct pp_report *r)
{
    static const pp_phase shown[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE,
                                     PP_PHASE_H2D,  PP_PHASE_STEP,   PP_PHASE_DATA_WAIT, PP_PHASE_RETRY};
    if (r->n_waterfalls == 0)
        return;
    pp_html_figure_begin(
        out, "batches", "Two batches in detail",
        "A time here is since the trainer asked for the batch; the shaded stretch is its wait. Bold names are the critical path: the worker that finished the batch, the copy, the trainer. Pale bars belong to other batches, thin bars are waits.");
    fputs("<p class=\"legend\">", out);
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        pp_html_key(out, class_of(shown[i]), pp_phase_info(shown[i])->name);
    pp_html_key(out, "starved", "step, waiting for a CPU");
    pp_html_key(out, "idle", "waits for a slot, a queue or the shard reader");
    fputs("</p>\n", out);
    for (size_t i = 0; i < r->n_waterfalls; i++) {
        const struct pp_report_batch *b = &r->waterfalls[i];
        char buf[32], path[64];
        fprintf(out, "<h3>%s batch</h3><p class=\"sub\">Batch ",
                strcmp(b->which, "worst") == 0 ? "The worst" : "A typical");
        pp_html_num(out, PP_HTML_COUNT, (double)b->batch, "series.waterfalls.%zu.batch", i);
        fputs(" of epoch ", out);
        pp_html_num(out, PP_HTML_COUNT, (double)b->epoch, "series.waterfalls.%zu.epoch", i);
        fputs(": asked for at ", out);
        pp_html_num(out, PP_HTML_SECONDS, b->asked_s, "series.waterfalls.%zu.asked_s", i);
        fputs(", waited for ", out);
        pp_html_num(out, PP_HTML_TIME, b->wait_ns, "series.waterfalls.%zu.wait_ns", i);
        fputs(", step ", out);
        pp_html_num(out, PP_HTML_TIME, b->step_ns, "series.waterfalls.%zu.step_ns", i);
        if (!isnan(b->ready_ns))
            fprintf(out, "; it was on the device %s %s the trainer asked",
                    pp_text_duration(buf, sizeof(buf), fabs(b->ready_ns)),
                    b->ready_ns < 0 ? "before" : "after");
        if (b->other_workers)
            fprintf(out, "; %zu more workers contributed", b->other_workers);
        fputs(".</p>\n", out);
        put_gantt(out, b);
        struct pp_section_rows rows = pp_section_rows_below(&pp_section_legs, r, "series.waterfalls", i,
                                                            "legs", path);
        pp_html_section(out, &rows);
    }
    pp_html_figure_end(out);
}
