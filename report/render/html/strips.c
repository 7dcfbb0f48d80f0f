#include "report/render/html/parts.h"

#include "probe/base/text.h"
#include "report/pictures/series.h"

enum { MOST_SLICES = PP_SERIES_SLICES * PP_SERIES_ZOOM };

void pp_html_area(FILE *out, const char *class, const struct pp_html_view *v, const double *top,
                  double height)
{
    double at = 0;
    fprintf(out, "<path class=\"%s\" d=\"M0 ", class);
    pp_svg_num(out, height);
    for (size_t i = 0; i < v->n; i++) {
        double y = round(10 * height * top[i]) / 10;
        if (y == at)
            continue;
        if (i) {
            fputc('H', out);
            pp_svg_num(out, PP_HTML_WIDTH * (double)i / (double)v->n);
        }
        fputc('V', out);
        pp_svg_num(out, height - y);
        at = y;
    }
    fprintf(out, "H%.0fV", PP_HTML_WIDTH);
    pp_svg_num(out, height);
    fputs("Z\"/>", out);
}

/* From the top down, each over the one before: only upper edges are written. */
void pp_html_stack(FILE *out, const struct pp_html_view *v, double height)
{
    static const char *const class[] = {"wait", "apart", "sync", "starved", "step"};
    double top[MOST_SLICES];
    for (int k = 0; k < 5; k++) {
        int any = 0;
        for (size_t i = 0; i < v->n; i++) {
            const struct pp_report_slice *s = &v->slice[i];
            const double part[] = {s->wait_share, s->apart_share, s->sync_share, s->starved_share,
                                   s->step_share - s->starved_share};
            top[i] = 0;
            for (int below = k; below < 5; below++)
                top[i] += part[below];
            top[i] = fmin(top[i], 1);
            any |= part[k] > 0;
        }
        if (any)
            pp_html_area(out, class[k], v, top, height);
    }
}

void pp_html_stack_keys(FILE *out, const struct pp_report *const *runs, size_t n)
{
    int synchronizes = 0, starved = 0, others = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < runs[k]->n_slices; i++) {
            synchronizes |= runs[k]->slices[i].sync_share > 0;
            starved |= runs[k]->slices[i].starved_share > 0;
            others |= !isnan(runs[k]->collective_share);
        }
    pp_html_key(out, "step", "step");
    pp_html_key(out, "wait", "waits for data");
    if (starved)
        pp_html_key(out, "starved", "step, waiting for a CPU");
    if (synchronizes)
        pp_html_key(out, "sync", others ? "device sync, other ranks" : "device sync");
    pp_html_key(out, "apart", "start-up, epoch boundary, checkpoint");
}

/* The steady-state window: what is outside is veiled. */
void pp_html_window(FILE *out, const struct pp_report *r, const struct pp_html_view *v, double height)
{
    double start = v->slice[0].start_s, range = v->slice[v->n - 1].end_s - start,
           from = PP_HTML_WIDTH * pp_html_percent(r->window_start_s - start, range) / 100,
           to = PP_HTML_WIDTH * pp_html_percent(r->window_end_s - start, range) / 100;
    if (!r->has_steady_state)
        return;
    if (from > 0)
        pp_svg_rect(out, "veil", 0, 0, from, height);
    if (to < PP_HTML_WIDTH)
        pp_svg_rect(out, "veil", to, 0, PP_HTML_WIDTH - to, height);
}

/* ---- a look closer: each part of the run, folded away ---- */

static double mean_of(const struct pp_html_view *v, size_t offset)
{
    double sum = 0;
    for (size_t i = 0; i < v->n; i++)
        sum += *(const double *)((const char *)&v->slice[i] + offset);
    return sum / (double)v->n;
}

#define MEAN(v, member) mean_of(v, offsetof(struct pp_report_slice, member))

struct closer {
    const struct pp_report *r;
    size_t from;
    double most; /* batches that were ready at a time */
};

/* The row below the workers' is the queue's. */
static double busy_closer(const void *of, size_t row, size_t slice)
{
    const struct closer *c = of;
    return row < c->r->n_heat ? c->r->heat[row].fine[c->from + slice]
                              : c->r->fine[c->from + slice].ready_batches / c->most;
}

/* The trainer above, its workers below, on one axis. */
static void put_part(FILE *out, const struct pp_report *r, size_t k)
{
    enum { ROW = 16, MOST_ROWS = 8 };
    const struct pp_report_part *p = &r->parts[k];
    struct pp_html_view v = {&r->fine[p->from], p->to - p->from};
    struct closer c = {r, p->from, 0};
    for (size_t i = 0; i < r->n_fine; i++)
        c.most = fmax(c.most, r->fine[i].ready_batches);
    double start = v.slice[0].start_s, end = v.slice[v.n - 1].end_s;
    fputs("<details>", out);
    char text[64];
    if (isnan(p->epoch))
        fputs("<summary>", out);
    else
        fprintf(out, "<summary>Epoch %.0f: ", p->epoch);
    fprintf(out, "%s", pp_text_duration(text, sizeof(text), start * 1e9));
    fprintf(out, " to %s", pp_text_duration(text, sizeof(text), end * 1e9));
    fprintf(out, ": waits %s", pp_text_share(text, sizeof(text), MEAN(&v, wait_share)));
    if (MEAN(&v, starved_share) >= 0.01)
        fprintf(out, ", for a CPU %s", pp_text_share(text, sizeof(text), MEAN(&v, starved_share)));
    fprintf(out, ", %s samples/s</summary>\n", pp_text_rate(text, sizeof(text), MEAN(&v, samples_per_s)));
    fprintf(out, "<div class=\"plot rows\" id=\"part-%zu\"><div class=\"y\"><span>trainer</span></div>", k);
    pp_svg_begin(out, "closer", PP_HTML_WIDTH, 100, "Trainer time: step, waits");
    pp_html_stack(out, &v, 100);
    pp_html_window(out, r, &v, 100);
    pp_svg_end(out);
    fputs("</div>\n", out);
    if (r->n_heat && r->n_heat <= MOST_ROWS) {
        fputs("<div class=\"plot rows\"><div class=\"names\">", out);
        for (size_t i = 0; i < r->n_heat; i++)
            pp_html_in(out, "<span><bdi>", r->heat[i].name, "</bdi></span>");
        fputs(c.most > 0 ? "<span title=\"batches that are ready\">queue</span></div>" : "</div>", out);
        pp_html_heat(out, &(struct pp_html_heat){.n_rows = r->n_heat + (c.most > 0),
                                                 .n_columns = v.n,
                                                 .row_height = ROW,
                                                 .value = busy_closer,
                                                 .of = &c,
                                                 .title = "Busy share per worker, and how full the queue is",
                                                 .start_s = start,
                                                 .end_s = end});
    } else {
        fputs("<div class=\"axis rows\">", out);
        pp_html_time_axis(out, start, end);
        fputs("</div>\n", out);
    }
    fputs("</details>\n", out);
}

void pp_html_ruler(FILE *out, const struct pp_report *r)
{
    enum { LEAST_PERCENT = 6 }; /* of the width: less has no room for a number on a phone */
    if (r->n_parts == 0)
        return;
    fputs("<div class=\"ruler\">", out);
    for (size_t k = 0; k < r->n_parts; k++) {
        const struct pp_report_part *p = &r->parts[k];
        double number = isnan(p->epoch) ? (double)k + 1 : p->epoch,
               width = pp_html_percent((double)(p->to - p->from), (double)r->n_fine);
        fprintf(out, "<a href=\"#part-%zu\" title=\"%s %.0f\" style=\"left:", k,
                isnan(p->epoch) ? "part" : "epoch", number);
        pp_svg_num(out, pp_html_percent((double)p->from, (double)r->n_fine));
        fputs("%;width:", out);
        pp_svg_num(out, width);
        fputs("%\">", out);
        if (width >= LEAST_PERCENT && number < 1000)
            fprintf(out, "%.0f", number);
        fputs("</a>", out);
    }
    fputs("</div>\n", out);
}

void pp_html_parts(FILE *out, const struct pp_report *r)
{
    if (r->n_parts == 0)
        return;
    fprintf(
        out,
        "<p class=\"sub\">Closer, %s: the trainer, how busy its workers were, and how full the queue. The ruler opens them, too.</p>\n",
        isnan(r->parts[0].epoch) ? "part by part" : "epoch by epoch");
    for (size_t k = 0; k < r->n_parts; k++)
        put_part(out, r, k);
}
