#include "report/metrics/metrics.h"

#include "report/otlp/doc.h"

#define PREFIX "pipeprobe_"
enum { CUMULATIVE = 2 };

struct writing {
    struct pp_otlp doc;
    const struct pp_metrics_view *view;
    const struct pp_metric *open; /* the metric that is being written; NULL: none */
    uint64_t start_ns, now_ns;
    struct pp_otlp_attr resource[16 + PP_METRIC_LABELS];
    char key[PP_METRIC_LABELS][64]; /* of them: the info's */
    size_t n_resource;
};

static const char *unit_of(const char *unit)
{
    static const char *const rows[][2] = {{"seconds", "s"}, {"bytes", "By"}, {"ratio", "1"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(unit, rows[i][0]) == 0)
            return rows[i][1];
    return "";
}

/* ---- the resource ---- */

static void add(struct writing *w, const char *key, const char *text)
{
    if (text && *text)
        w->resource[w->n_resource++] = (struct pp_otlp_attr){key, text};
}

static void add_info(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct writing *w = ctx;
    for (size_t i = 0; m->type == PP_METRIC_INFO && i < p->n_labels; i++) {
        snprintf(w->key[i], sizeof(w->key[i]), "pipeprobe.%s", p->label[i].name);
        add(w, w->key[i], p->label[i].value);
    }
}

/* ---- points ---- */

static void write_attributes(struct writing *w, unsigned number, const struct pp_metric_point *p)
{
    const struct pp_metrics_view *v = w->view;
    pp_otlp_list(&w->doc, "attributes");
    for (size_t i = 0; i < v->n_labels; i++)
        if (strcmp(v->labels[i].name, "job") != 0 && strcmp(v->labels[i].name, "instance") != 0)
            pp_otlp_attribute(&w->doc, number, v->labels[i].name, v->labels[i].value);
    if (v->rank.rank >= 0)
        pp_otlp_attribute_number(&w->doc, number, "rank", v->rank.rank);
    if (v->rank.node >= 0)
        pp_otlp_attribute_number(&w->doc, number, "node", v->rank.node);
    for (size_t i = 0; i < p->n_labels; i++)
        pp_otlp_attribute(&w->doc, number, p->label[i].name, p->label[i].value);
    pp_otlp_list_end(&w->doc);
}

/* ---- metrics: Metric{name=1, description=2, unit=3, gauge=5, sum=7, histogram=9} ---- */

static void close_metric(struct writing *w)
{
    if (!w->open)
        return;
    pp_otlp_list_end(&w->doc);
    if (w->open->type != PP_METRIC_GAUGE)
        pp_otlp_enum(&w->doc, 2, "aggregationTemporality", CUMULATIVE);
    if (w->open->type == PP_METRIC_COUNTER)
        pp_otlp_bool(&w->doc, 3, "isMonotonic", 1);
    pp_otlp_end(&w->doc);
    pp_otlp_end(&w->doc);
    w->open = NULL;
}

static void write_point(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct writing *w = ctx;
    if (m->type == PP_METRIC_INFO || (!p->histogram && !isfinite(p->value)))
        return;
    if (m != w->open) {
        /* "pipeprobe.data_wait" and "1" of pipeprobe_data_wait_ratio. */
        char name[100];
        const char *unit = unit_of(m->unit);
        size_t n = strlen(m->name), k = strlen(m->unit);
        if (k && n > k + 1 && m->name[n - k - 1] == '_' && strcmp(m->name + n - k, m->unit) == 0)
            n -= k + 1;
        snprintf(name, sizeof(name), "pipeprobe.%.*s", (int)(n - strlen(PREFIX)), m->name + strlen(PREFIX));
        close_metric(w);
        pp_otlp_item(&w->doc, 2);
        pp_otlp_text(&w->doc, 1, "name", name);
        pp_otlp_text(&w->doc, 2, "description", m->help);
        if (*unit)
            pp_otlp_text(&w->doc, 3, "unit", unit);
        if (m->type == PP_METRIC_HISTOGRAM)
            pp_otlp_message(&w->doc, 9, "histogram");
        else if (m->type == PP_METRIC_COUNTER)
            pp_otlp_message(&w->doc, 7, "sum");
        else
            pp_otlp_message(&w->doc, 5, "gauge");
        pp_otlp_list(&w->doc, "dataPoints");
        w->open = m;
    }
    pp_otlp_item(&w->doc, 1);
    if ((p->histogram || m->type == PP_METRIC_COUNTER) && w->start_ns)
        pp_otlp_fixed64(&w->doc, 2, "startTimeUnixNano", w->start_ns);
    pp_otlp_fixed64(&w->doc, 3, "timeUnixNano", w->now_ns);
    if (p->histogram) {
        /* HistogramDataPoint; counts of OTLP are those of the buckets alone. */
        const struct pp_metric_histogram *h = p->histogram;
        uint64_t count[PP_LIVE_WAIT_BOUNDS + 1];
        for (size_t i = 0; i <= h->n_bounds; i++)
            count[i] = h->count[i] - (i ? h->count[i - 1] : 0);
        pp_otlp_fixed64(&w->doc, 4, "count", h->count[h->n_bounds]);
        pp_otlp_double(&w->doc, 5, "sum", h->sum);
        pp_otlp_counts(&w->doc, 6, "bucketCounts", count, h->n_bounds + 1);
        pp_otlp_doubles(&w->doc, 7, "explicitBounds", h->bounds, h->n_bounds);
        write_attributes(w, 9, p);
    } else {
        /* NumberDataPoint. */
        int whole = m->type == PP_METRIC_COUNTER && !*unit_of(m->unit) && p->value >= 0 && p->value < 9e15;
        if (whole)
            pp_otlp_fixed64(&w->doc, 6, "asInt", (uint64_t)p->value);
        else
            pp_otlp_double(&w->doc, 4, "asDouble", p->value);
        write_attributes(w, 7, p);
    }
    pp_otlp_end(&w->doc);
}

static uint64_t ns_of(double s)
{
    return s > 0 && s < 1.8e10 ? (uint64_t)(s * 1e9) : 0;
}

char *pp_metrics_otlp(const struct pp_metrics_view *v, int is_json, double utc_s, size_t *n)
{
    struct writing *w = calloc(1, sizeof(*w));
    const struct pp_live_fact *started = pp_live_fact_of(v->facts, v->n_facts, "run", "started_utc_ns");
    if (!w)
        return NULL;
    w->view = v;
    w->now_ns = ns_of(utc_s);
    w->start_ns = started ? ns_of(atof(started->value) / 1e9) : 0;
    pp_otlp_begin(&w->doc, is_json);
    pp_otlp_list(&w->doc, "resourceMetrics");
    pp_otlp_item(&w->doc, 1);
    const char *job = NULL, *instance = NULL;
    for (size_t i = 0; i < v->n_labels; i++) {
        job = !job && strcmp(v->labels[i].name, "job") == 0 ? v->labels[i].value : job;
        instance = !instance && strcmp(v->labels[i].name, "instance") == 0 ? v->labels[i].value : instance;
    }
    const struct pp_live_fact *hostname = pp_live_fact_of(v->facts, v->n_facts, "environment", "hostname");
    const char *host = hostname ? hostname->value : NULL;
    char own[200] = "";
    if (host && v->rank.rank >= 0)
        snprintf(own, sizeof(own), "%s:%ld", host, v->rank.rank);
    else
        snprintf(own, sizeof(own), "%s", host ? host : "");
    add(w, "service.name", job && *job ? job : "pipeprobe");
    add(w, "service.instance.id", instance && *instance ? instance : own);
    add(w, "host.name", host);
    pp_metrics_each(v, add_info, w);
    pp_otlp_resource(&w->doc, w->resource, w->n_resource);
    pp_otlp_list(&w->doc, "scopeMetrics");
    pp_otlp_item(&w->doc, 2);
    pp_otlp_scope(&w->doc);
    pp_otlp_list(&w->doc, "metrics");
    pp_metrics_each(v, write_point, w);
    close_metric(w);
    pp_otlp_list_end(&w->doc);
    pp_otlp_end(&w->doc);
    pp_otlp_list_end(&w->doc);
    pp_otlp_end(&w->doc);
    pp_otlp_list_end(&w->doc);
    char *text = pp_otlp_finish(&w->doc, n);
    free(w);
    return text;
}
