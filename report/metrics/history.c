/* A run as a server would have stored it: every series with its points in order of time. The format wants the
 * points of a series together, so they are collected while the seconds go by, and put in order at the end. */
#include "report/metrics/metrics.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_MOST = 1024 };

struct line {
    const struct pp_metric *metric;
    uint32_t series, at; /* at: which point of the walk */
    char *text;
};

struct history {
    const struct pp_metrics_view *view;
    char *key[SERIES_MOST]; /* metric and labels of a series */
    uint32_t n_keys;
    struct line *lines;
    size_t n, cap;
    uint32_t at;
    double at_s;
    int no_memory;
};

/* SERIES_MOST: no memory, or more series than a run can have. */
static uint32_t series_of(struct history *h, const struct pp_metric *m, const struct pp_metric_point *p)
{
    char *key = NULL;
    size_t size;
    uint32_t i = 0;
    FILE *out = open_memstream(&key, &size);
    if (!out)
        return SERIES_MOST;
    fprintf(out, "%s\n", m->name);
    for (size_t k = 0; k < p->n_labels; k++)
        fprintf(out, "%s=%s\n", p->label[k].name, p->label[k].value);
    int whole = fclose(out) == 0;
    while (whole && i < h->n_keys && strcmp(h->key[i], key) != 0)
        i++;
    if (whole && i == h->n_keys && i < SERIES_MOST) {
        h->key[h->n_keys++] = key;
        return i;
    }
    free(key);
    return whole ? i : SERIES_MOST;
}

static void keep_point(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct history *h = ctx;
    struct line l = {.metric = m, .at = h->at};
    size_t size;
    l.series = series_of(h, m, p);
    FILE *out = l.series < SERIES_MOST && pp_grow(&h->lines, &h->cap, h->n + 1, sizeof(*h->lines))
                    ? open_memstream(&l.text, &size)
                    : NULL;
    if (!out) {
        h->no_memory |= l.series < SERIES_MOST;
        return;
    }
    pp_metric_point_text(h->view, m, p, h->at_s, out);
    if (fclose(out) != 0) {
        free(l.text);
        h->no_memory = 1;
        return;
    }
    h->lines[h->n++] = l;
}

static int by_series(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1; /* rows of one table */
    return a->series != b->series ? PP_COMPARE(a->series, b->series) : PP_COMPARE(a->at, b->at);
}

/* The end of second s as time since 1970. */
static double utc_s(const struct pp_metrics_view *v, uint64_t s)
{
    const struct pp_live_fact *mono = pp_live_fact_of(v->facts, v->n_facts, "run", "started_mono_ns"),
                              *utc = pp_live_fact_of(v->facts, v->n_facts, "run", "started_utc_ns");
    return mono && utc ? atof(utc->value) / 1e9 + (double)(s + 1) - atof(mono->value) / 1e9 : NAN;
}

pp_status pp_metrics_walk(struct pp_live *l, const struct pp_metrics_view *last, unsigned points,
                          pp_metrics_moment_fn *fn, void *ctx, struct pp_err *err)
{
    struct pp_live_snapshot snap;
    struct pp_live_totals sum = {.samples = NAN};
    struct pp_metrics_view view = *last;
    uint64_t first = last->snap->first_s, end = last->snap->last_s;
    pp_status status = PP_OK;
    uint64_t step = points && end >= first ? (end - first) / points + 1 : 1;
    int more = !isnan(utc_s(last, first));
    view.totals = &sum;
    view.snap = &snap;
    for (uint64_t s = first; more && s <= end; s++) {
        pp_live_totals_add(l, s, &sum);
        if ((s - first) % step && s != end)
            continue;
        status = pp_live_at(l, s, step > 5 ? (unsigned)step : 5, &snap, err);
        view.report = s == end ? last->report : NULL;
        more = status == PP_OK && fn(ctx, &view, utc_s(last, s));
    }
    return status;
}

static int keep_moment(void *ctx, const struct pp_metrics_view *view, double at_s)
{
    struct history *h = ctx;
    h->view = view;
    h->at_s = at_s;
    h->at++;
    pp_metrics_each(view, keep_point, h);
    return !h->no_memory;
}

pp_status pp_metrics_history(struct pp_live *l, const struct pp_metrics_view *last, unsigned points,
                             FILE *out, struct pp_err *err)
{
    struct history *h = calloc(1, sizeof(*h));
    pp_status status = h ? pp_metrics_walk(l, last, points, keep_moment, h, err) : PP_OK;
    if (status == PP_OK && (!h || h->no_memory))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the history of the metrics");
    if (status == PP_OK) {
        if (h->n) /* a recording that does not say when it began has none */
            qsort(h->lines, h->n, sizeof(*h->lines), by_series);
        for (size_t i = 0; i < h->n; i++) {
            if (i == 0 || h->lines[i].metric != h->lines[i - 1].metric)
                pp_metric_head(h->lines[i].metric, PP_METRICS_OPENMETRICS, out);
            fputs(h->lines[i].text, out);
        }
        fputs("# EOF\n", out);
        if (ferror(out))
            status = pp_fail(err, PP_E_IO, "writing the metrics failed");
    }
    for (size_t i = 0; h && i < h->n; i++)
        free(h->lines[i].text);
    for (uint32_t i = 0; h && i < h->n_keys; i++)
        free(h->key[i]);
    if (h)
        free(h->lines);
    free(h);
    return status;
}
