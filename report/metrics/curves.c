#include "report/metrics/metrics.h"

#include "probe/base/array.h"
#include "probe/base/crc32c.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/proto.h"
#include "probe/base/text.h"

#include <ctype.h>

enum { PARAMS_MOST = 100 }; /* of one request, as MLflow has it */

/* What of a label or key all these places take in a name. */
static void make_plain(char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-./", *name))
            *name = '_';
}

/* ---- the curves of a moment ---- */

struct curves {
    pp_curve_fn *fn;
    void *ctx;
};

static void put_point(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct curves *c = ctx;
    char name[PP_CURVE_NAME];
    int n = snprintf(name, sizeof(name), "pipeprobe/%s", m->name + strlen("pipeprobe_"));
    /* Sums that only grow make no curve worth a look, and times of day none at all. */
    for (size_t i = 0; i < p->n_labels && n < (int)sizeof(name); i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "/%s", p->label[i].value);
    make_plain(name);
    if (m->type == PP_METRIC_GAUGE && !strstr(m->name, "timestamp"))
        c->fn(c->ctx, name, p->value);
}

static void pp_metrics_curves(const struct pp_metrics_view *v, pp_curve_fn *fn, void *ctx)
{
    struct curves c = {fn, ctx};
    pp_metrics_each(v, put_point, &c);
    if (!isnan(v->snap->samples_per_s))
        fn(ctx, "pipeprobe/samples_per_s", v->snap->samples_per_s);
}

/* ---- TensorBoard ---- */

/* As TFRecord has it: the length and the data, each with its checksum, which is masked, since one over data
 * that has checksums in it would be weak. Without memory the record is missing. */
static void write_frame(struct pp_proto *data, FILE *out)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)data->n >> (8 * i));
    const struct {
        const void *bytes;
        size_t n;
    } parts[] = {{length, sizeof(length)}, {data->buf, data->n}};
    for (int k = 0; k < 2 && !data->failed; k++) {
        uint32_t crc = pp_crc32c(parts[k].bytes, parts[k].n);
        crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
        fwrite(parts[k].bytes, 1, parts[k].n, out);
        for (int i = 0; i < 4; i++, crc >>= 8)
            fputc((int)(crc & 0xff), out);
    }
    pp_proto_free(data);
}

/* Event{wall_time=1, step=2, file_version=3, summary=5{value=1{tag=1, simple_value=2}}} */

void pp_tfevents_begin(FILE *out, double utc_s)
{
    struct pp_proto event = {0};
    pp_proto_double(&event, 1, utc_s);
    pp_proto_str(&event, 3, "brain.Event:2");
    write_frame(&event, out);
}

void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value)
{
    struct pp_proto event = {0};
    pp_proto_double(&event, 1, utc_s);
    pp_proto_int(&event, 2, step);
    size_t summary = pp_proto_begin(&event, 5), scalar = pp_proto_begin(&event, 1);
    pp_proto_bytes(&event, 1, tag, strnlen(tag, PP_CURVE_NAME));
    pp_proto_float(&event, 2, value);
    pp_proto_end(&event, scalar);
    pp_proto_end(&event, summary);
    write_frame(&event, out);
}

struct event_moment {
    FILE *out;
    double utc_s;
    int64_t step;
};

static void write_curve(void *ctx, const char *name, double value)
{
    struct event_moment *at = ctx;
    pp_tfevents_scalar(at->out, at->utc_s, at->step, name, (float)value);
}

void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out)
{
    struct event_moment at = {.out = out, .utc_s = utc_s, .step = (int64_t)v->totals->batches};
    pp_metrics_curves(v, write_curve, &at);
}

/* ---- MLflow ---- */

struct mlflow_moment {
    struct pp_json json;
    int64_t ms, step;
};

static void put_curve(void *ctx, const char *name, double value)
{
    struct mlflow_moment *at = ctx;
    if (!isfinite(value))
        return;
    pp_json_object(&at->json);
    pp_json_put_str(&at->json, "key", name);
    pp_json_put_num(&at->json, "value", value);
    pp_json_put_int(&at->json, "timestamp", at->ms);
    pp_json_put_int(&at->json, "step", at->step);
    pp_json_object_end(&at->json);
}

static void put_pair(struct pp_json *j, const char *key, const char *value)
{
    char *plain = pp_text_plain(value);
    pp_json_object(j);
    pp_json_put_str(j, "key", key);
    pp_json_put_str(j, "value", plain ? plain : "");
    pp_json_object_end(j);
    free(plain);
}

int pp_metrics_mlflow(const struct pp_metrics_view *v, double utc_s, FILE *out)
{
    const struct pp_report_verdict *d = v->report ? &v->report->verdict : NULL;
    struct mlflow_moment at = {.ms = (int64_t)(utc_s * 1e3), .step = (int64_t)v->totals->batches};
    char verdict[100];
    pp_json_begin(&at.json, out, 0);
    pp_json_object(&at.json);
    pp_json_put_array(&at.json, "metrics");
    pp_metrics_curves(v, put_curve, &at);
    pp_json_array_end(&at.json);
    if (d) {
        snprintf(verdict, sizeof(verdict), "%s%s%s", d->l1 ? d->l1 : d->l0, d->l1 && d->l2 ? ": " : "",
                 d->l1 && d->l2 ? d->l2 : "");
        pp_json_put_array(&at.json, "tags");
        put_pair(&at.json, "pipeprobe.verdict", verdict);
        pp_json_array_end(&at.json);
    }
    pp_json_object_end(&at.json);
    return pp_json_end(&at.json);
}

int pp_metrics_mlflow_params(const struct pp_metrics_view *v, FILE *out)
{
    struct pp_json j;
    char name[64];
    int n = 0;
    pp_json_begin(&j, out, 0);
    pp_json_object(&j);
    pp_json_put_array(&j, "params");
    for (size_t i = 0; i < v->n_facts && n < PARAMS_MOST; i++) {
        const struct pp_live_fact *f = &v->facts[i];
        int of_run = strcmp(f->section, "run") == 0 &&
                     (strcmp(f->key, "version") == 0 || strcmp(f->key, "tool") == 0);
        if ((strcmp(f->section, "config") != 0 && !of_run) || !f->value[0])
            continue;
        snprintf(name, sizeof(name), "pipeprobe.%s", f->key);
        make_plain(name);
        put_pair(&j, name, f->value);
        n++;
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}

/* A run as a server would have stored it: every series with its points in order of time. The format wants the
 * points of a series together, so they are collected while the seconds go by, and put in order at the end. */

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

pp_status pp_metrics_walk(struct pp_live *l, const struct pp_metrics_view *last, unsigned points,
                          pp_metrics_moment_fn *fn, void *ctx, struct pp_err *err)
{
    struct pp_live_snapshot snap;
    struct pp_live_totals sum = {.samples = NAN};
    struct pp_metrics_view view = *last;
    uint64_t first = last->snap->first_s, end = last->snap->last_s;
    pp_status status = PP_OK;
    uint64_t step = points && end >= first ? (end - first) / points + 1 : 1;
    const struct pp_live_fact *mono = pp_live_fact_of(last->facts, last->n_facts, "run", "started_mono_ns"),
                              *utc = pp_live_fact_of(last->facts, last->n_facts, "run", "started_utc_ns");
    double mono_s = mono ? atof(mono->value) / 1e9 : NAN, utc_s = utc ? atof(utc->value) / 1e9 : NAN;
    int more = !isnan(utc_s + (double)(first + 1) - mono_s);
    view.totals = &sum;
    view.snap = &snap;
    for (uint64_t s = first; more && s <= end; s++) {
        pp_live_totals_add(l, s, &sum);
        if ((s - first) % step && s != end)
            continue;
        status = pp_live_at(l, s, step > 5 ? (unsigned)step : 5, &snap, err);
        view.report = s == end ? last->report : NULL;
        more = status == PP_OK && fn(ctx, &view, utc_s + (double)(s + 1) - mono_s); /* the end of it */
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
