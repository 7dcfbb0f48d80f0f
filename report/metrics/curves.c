#include "report/metrics/curves.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct curves {
    pp_curve_fn *fn;
    void *ctx;
};

/* Sums that only grow make no curve worth a look, and times of day none at all. */
static int is_curve(const struct pp_metric *m)
{
    return m->type == PP_METRIC_GAUGE && !strstr(m->name, "timestamp");
}

/* Of a label's value what every such place takes in a name. */
static void plain(char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-./", *name))
            *name = '_';
}

static void put(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct curves *c = ctx;
    char name[PP_CURVE_NAME];
    int n = snprintf(name, sizeof(name), "pipeprobe/%s", m->name + strlen("pipeprobe_"));
    for (size_t i = 0; i < p->n_labels && n < (int)sizeof(name); i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "/%s", p->label[i].value);
    plain(name);
    if (is_curve(m))
        c->fn(c->ctx, name, p->value);
}

void pp_metrics_curves(const struct pp_metrics_view *v, pp_curve_fn *fn, void *ctx)
{
    struct curves c = {fn, ctx};
    pp_metrics_each(v, put, &c);
    if (!isnan(v->snap->samples_per_s))
        fn(ctx, "pipeprobe/samples_per_s", v->snap->samples_per_s);
}
