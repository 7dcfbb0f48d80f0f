/* Pictures of rates and waits: headroom, what-if curves, the distribution of waits. */
#include "report/render/answer.h"
#include "report/render/html/figure.h"
#include "report/render/html/parts.h"
#include "report/render/html/section.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- headroom ---- */

static void bar_begin(FILE *out, const char *name, const char *class, double value, double most)
{
    fputs("<div class=\"bar\"><span class=\"what\">", out);
    pp_html_text(out, name);
    fputs("</span><span class=\"track\">", out);
    pp_svg_begin(out, "full", 100, 10, name);
    pp_svg_rect(out, class, 0, 0, pp_html_percent(value, most), 10);
}

static void bar_end(FILE *out, double value, const char *key)
{
    pp_svg_end(out);
    fputs("</span><span class=\"v\">", out);
    pp_html_num(out, PP_HTML_RATE, value, "%s", key);
    fputs("</span></div>\n", out);
}

/* Fixes that gain less than this are in the table only. */
#define WORTH_A_BAR 0.03

/* Settings first, then what needs work; each by gain. */
static void put_fix_bars(FILE *out, const struct pp_report *r, double most)
{
    char text[PP_ANSWER_TEXT], key[64];
    const struct pp_report_fix **order = calloc(r->verdict.n_fixes + 1, sizeof(*order));
    size_t n = order ? pp_answer_fixes(r, WORTH_A_BAR, order) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_report_fix *f = order[i];
        if (f->effort && (i == 0 || order[i - 1]->effort != f->effort))
            fprintf(out, "<p class=\"sub\">%s%s</p>\n", i ? "" : "No setting gains 3 %. ",
                    f->effort == 1 ? "What needs work on code, data or machines"
                                   : "How much the work weighs");
        snprintf(key, sizeof(key), "verdict.fixes.%zu.samples_per_s", (size_t)(f - r->verdict.fixes));
        bar_begin(out, pp_answer_change(f, text), "band", f->samples_per_s, most);
        double low = pp_html_percent(r->samples_per_s * (1 + f->low), most),
               high = pp_html_percent(r->samples_per_s * (1 + f->high), most);
        pp_svg_rect(out, "mark", low, 4.5, fmax(high - low, 0.3), 1);
        bar_end(out, f->samples_per_s, key);
    }
    free(order);
}

static double longest_bar(const struct pp_report *r)
{
    double most = fmax(r->headroom_samples_per_s, r->samples_per_s);
    for (size_t i = 0; i < r->verdict.n_fixes; i++)
        if (r->verdict.fixes[i].gain >= WORTH_A_BAR)
            most = fmax(most, r->samples_per_s * (1 + r->verdict.fixes[i].high));
    return most;
}

void pp_html_headroom(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    double then = r->headroom_samples_per_s, most = longest_bar(r);
    if (isnan(then) || isnan(r->samples_per_s))
        return;
    const char *gone = r->workers_stay  ? "without any wait for data, with workers that stay for all epochs"
                       : r->first_waits ? "without any wait for data, for first batches too"
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
    bar_begin(out, "as recorded", "step", r->samples_per_s, most);
    bar_end(out, r->samples_per_s, "samples_per_s");
    put_fix_bars(out, r, most);
    fputs("<p class=\"sub\">The limit</p>\n", out);
    bar_begin(out, "without stalls", "gain", then, most);
    bar_end(out, then, "verdict.headroom_samples_per_s");
    fputs("</div>\n<p class=\"cap\">Without stalls: +", out);
    pp_html_num(out, PP_HTML_SHARE, r->headroom_gain, "verdict.headroom_gain");
    if (!isnan(v->replay_error)) {
        fputs(". The replay of the unchanged run is off by ", out);
        pp_html_num(out, PP_HTML_SHARE, v->replay_error, "verdict.replay_error");
    } else if (v->why_no_fixes) {
        fputs(". No change is predicted: ", out);
        pp_html_text(out, v->why_no_fixes);
    }
    fputs(".</p>\n", out);
    if (v->n_fixes)
        pp_html_section_at(out, &pp_section_fixes, r, "verdict.fixes");
    pp_html_figure_end(out);
}

/* ---- what-if ---- */

static void put_curve(FILE *out, const struct pp_report_curve *c, double low_x, double high_x, double top)
{
    double w = PP_HTML_WIDTH / (high_x > low_x ? high_x - low_x : 1);
    for (int band = 1; band >= 0; band--) {
        fprintf(out, "<path class=\"%s\" d=\"", band ? "band" : "line");
        for (size_t i = 0; i < c->n_points; i++) {
            fputc(i ? 'L' : 'M', out);
            pp_svg_num(out, (c->points[i].value - low_x) * w);
            fputc(' ', out);
            pp_svg_num(out, 100 * (1 - (band ? c->points[i].high : c->points[i].samples_per_s) / top));
        }
        for (size_t i = c->n_points; band && i-- > 0;) {
            fputc('L', out);
            pp_svg_num(out, (c->points[i].value - low_x) * w);
            fputc(' ', out);
            pp_svg_num(out, 100 * (1 - c->points[i].low / top));
        }
        fputs(band ? "Z\"/>" : "\"/>", out);
    }
    if (c->now >= low_x && c->now <= high_x)
        pp_svg_rect(out, "mark", (c->now - low_x) * w - 1, 0, 2, 100);
}

static void put_whatif(FILE *out, const struct pp_report *r, size_t k)
{
    const struct pp_report_curve *c = &r->curves[k];
    char a[32], title[96], path[64];
    double top = 0, low_x = c->points[0].value, high_x = c->points[c->n_points - 1].value;
    for (size_t i = 0; i < c->n_points; i++)
        top = fmax(top, fmax(c->points[i].high, c->points[i].samples_per_s));
    snprintf(title, sizeof(title), "Predicted samples per second by %s, with its interval", c->knob);
    fputs("<p class=\"sub\">", out);
    pp_html_text(out, title);
    fputs("</p><div class=\"plot\"><div class=\"y\"><span>", out);
    pp_html_text(out, pp_text_rate(a, sizeof(a), top));
    fputs("</span><span>0</span></div>", out);
    pp_svg_begin(out, "tall", PP_HTML_WIDTH, 100, title);
    put_curve(out, c, low_x, high_x, top > 0 ? top : 1);
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

/* Whole decades around what there is; at least two. */
static struct log_axis log_axis(const struct pp_report *r)
{
    double low = floor(log10(fmax(r->wait_cdf[0].x, 100))),
           high = ceil(log10(fmax(r->wait_cdf[r->n_wait_cdf - 1].x, 1000)));
    return (struct log_axis){pow(10, low), fmax(high - low, 2)};
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
    struct log_axis a = log_axis(r);
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
