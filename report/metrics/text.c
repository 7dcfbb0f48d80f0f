/* The exposition formats: Prometheus 0.0.4 and OpenMetrics 1.0.0. */
#include "report/metrics/metrics.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <ctype.h>

#define VALUE_MOST 120 /* bytes of a label's value */

const char *const pp_metrics_content_type[] = {
    [PP_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [PP_METRICS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

static const char *const types[][2] = {
    [PP_METRIC_COUNTER] = {"counter", "counter"},
    [PP_METRIC_GAUGE] = {"gauge", "gauge"},
    [PP_METRIC_INFO] = {"gauge", "info"},
    [PP_METRIC_HISTOGRAM] = {"histogram", "histogram"},
};

/* What the series of a row are called. */
static const char *suffix(const struct pp_metric *m)
{
    return m->type == PP_METRIC_COUNTER ? "_total" : m->type == PP_METRIC_INFO ? "_info" : "";
}

/* In the older format the suffix belongs to the family's name. */
void pp_metric_head(const struct pp_metric *m, enum pp_metrics_format format, FILE *out)
{
    int open = format == PP_METRICS_OPENMETRICS;
    const char *tail = open ? "" : suffix(m);
    fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->name, tail, m->help, m->name, tail,
            types[m->type][open]);
    size_t name = strlen(m->name), unit = strlen(m->unit);
    if (open && unit && name > unit && strcmp(m->name + name - unit, m->unit) == 0)
        fprintf(out, "# UNIT %s %s\n", m->name, m->unit);
}

/* ---- labels ---- */

static void put_label(const char *name, const char *value, int *n, FILE *out)
{
    fprintf(out, "%s%s=\"", (*n)++ ? "," : "{", name);
    /* A value may be a stranger's: what is not UTF-8 or could deceive is escaped first. */
    char cut[VALUE_MOST + 1];
    pp_utf8_copy(cut, sizeof(cut), value);
    char *plain = pp_text_plain(cut);
    for (const char *c = plain ? plain : ""; *c; c++) {
        if (*c == '\\' || *c == '"')
            fputc('\\', out);
        fputc(*c, out);
    }
    free(plain);
    fputc('"', out);
}

static void put_labels(const struct pp_metrics_view *v, const struct pp_metric_point *p, const char *bound,
                       FILE *out)
{
    char number[24];
    int n = 0;
    for (size_t i = 0; i < v->n_labels; i++)
        put_label(v->labels[i].name, v->labels[i].value, &n, out);
    if (v->rank.rank >= 0) {
        snprintf(number, sizeof(number), "%ld", v->rank.rank);
        put_label("rank", number, &n, out);
    }
    if (v->rank.node >= 0) {
        snprintf(number, sizeof(number), "%ld", v->rank.node);
        put_label("node", number, &n, out);
    }
    for (size_t i = 0; i < p->n_labels; i++)
        put_label(p->label[i].name, p->label[i].value, &n, out);
    if (bound)
        put_label("le", bound, &n, out);
    if (n)
        fputc('}', out);
}

/* ---- points ---- */

static void put_number(double value, double at_s, FILE *out)
{
    if (isinf(value))
        fputs(value > 0 ? " +Inf" : " -Inf", out);
    else
        fprintf(out, " %.15g", value);
    if (!isnan(at_s))
        fprintf(out, " %.3f", at_s);
    fputc('\n', out);
}

void pp_metric_point_text(const struct pp_metrics_view *v, const struct pp_metric *m,
                          const struct pp_metric_point *p, double at_s, FILE *out)
{
    if (p->histogram) {
        const struct pp_metric_histogram *h = p->histogram;
        char bound[32];
        for (size_t i = 0; i <= h->n_bounds; i++) {
            /* OpenMetrics wants the form of a float: 2.0 */
            snprintf(bound, sizeof(bound), "%g", i < h->n_bounds ? h->bounds[i] : INFINITY);
            if (i < h->n_bounds && !strpbrk(bound, ".e"))
                strcat(bound, ".0");
            fprintf(out, "%s_bucket", m->name);
            put_labels(v, p, i < h->n_bounds ? bound : "+Inf", out);
            put_number((double)h->count[i], at_s, out);
        }
        fprintf(out, "%s_sum", m->name);
        put_labels(v, p, NULL, out);
        put_number(h->sum, at_s, out);
        fprintf(out, "%s_count", m->name);
        put_labels(v, p, NULL, out);
        put_number((double)h->count[h->n_bounds], at_s, out);
        return;
    }
    fprintf(out, "%s%s", m->name, suffix(m));
    put_labels(v, p, NULL, out);
    put_number(p->value, at_s, out);
}

/* ---- one moment ---- */

struct writing {
    const struct pp_metrics_view *view;
    enum pp_metrics_format format;
    const struct pp_metric *last;
    FILE *out;
};

static void write_point(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct writing *w = ctx;
    if (m != w->last)
        pp_metric_head(m, w->format, w->out);
    w->last = m;
    pp_metric_point_text(w->view, m, p, NAN, w->out);
}

int pp_metrics_write(const struct pp_metrics_view *v, enum pp_metrics_format format, FILE *out)
{
    struct writing w = {.view = v, .format = format, .out = out};
    pp_metrics_each(v, write_point, &w);
    if (format == PP_METRICS_OPENMETRICS)
        fputs("# EOF\n", out);
    return ferror(out) ? -1 : 0;
}

/* ---- labels that the user gives ---- */

/* Whether word is one of a list such as "phase, lane". */
static int is_in(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ','))
            return 1;
    return 0;
}

pp_status pp_metric_label_parse(const char *text, struct pp_metric_label_text *storage,
                                struct pp_metric_label *out, struct pp_err *err)
{
    size_t n = strcspn(text, "=");
    int sound = text[n] && n > 0 && n < sizeof(storage->name) && !isdigit((unsigned char)text[0]);
    for (size_t i = 0; sound && i < n; i++)
        sound = isalnum((unsigned char)text[i]) || text[i] == '_';
    if (!sound)
        return pp_fail(err, PP_E_USAGE,
                       "'%s' is no label; write NAME=VALUE, the name of letters, digits and _", text);
    snprintf(storage->name, sizeof(storage->name), "%.*s", (int)n, text);
    int taken = strncmp(storage->name, "__", 2) == 0 || is_in("rank, node, le", storage->name);
    for (const struct pp_metric *m = pp_metrics; m->name && !taken; m++)
        taken = is_in(m->labels, storage->name);
    if (taken)
        return pp_fail(err, PP_E_USAGE, "the label %s is one of pipeprobe's own; choose another name",
                       storage->name);
    if (strlen(text + n + 1) > VALUE_MOST)
        return pp_fail(err, PP_E_USAGE, "the value of label %s is longer than %d bytes", storage->name,
                       VALUE_MOST);
    *out = (struct pp_metric_label){storage->name, text + n + 1};
    return PP_OK;
}
