#include "tui/cli/metrics/metrics_opts.h"

#include "probe/base/err.h"
#include "report/send/client.h"

const char *metrics_opts_target(const struct metrics_opts *o, const struct pp_sink_kind *kind)
{
    const struct {
        const struct pp_sink_kind *kind;
        const char *target;
    } rows[] = {
        {&pp_sink_http, o->listen}, {&pp_sink_textfile, o->textfile},       {&pp_sink_push, o->push},
        {&pp_sink_otlp, o->otlp},   {&pp_sink_tensorboard, o->tensorboard}, {&pp_sink_mlflow, o->mlflow}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].kind == kind && rows[i].target && *rows[i].target)
            return rows[i].target;
    return NULL;
}

int metrics_opts_any(const struct metrics_opts *o)
{
    int any = 0;
    for (size_t i = 0; pp_sink_kinds[i]; i++)
        any |= metrics_opts_target(o, pp_sink_kinds[i]) != NULL;
    return any;
}

pp_status metrics_opts_check(const struct metrics_opts *o, struct pp_err *err)
{
    struct metrics_labels *labels = malloc(sizeof(*labels));
    pp_status st = labels ? metrics_opts_labels(o, labels, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    for (size_t i = 0; st == PP_OK && pp_sink_kinds[i]; i++) {
        const char *target = metrics_opts_target(o, pp_sink_kinds[i]);
        st = target ? pp_sink_kinds[i]->check(pp_sink_kinds[i], target, err) : PP_OK;
    }
    free(labels);
    return st;
}

pp_status metrics_opts_labels(const struct metrics_opts *o, struct metrics_labels *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    out->n = 0;
    for (int i = 0; st == PP_OK && i < o->labels.n; i++) {
        st = pp_metric_label_parse(o->labels.item[i], &out->name[out->n], &out->label[out->n], err);
        for (size_t k = 0; st == PP_OK && k < out->n; k++)
            if (strcmp(out->name[k].name, out->name[out->n].name) == 0)
                st = pp_fail(err, PP_E_USAGE, "the label %s is given twice", out->name[k].name);
        out->n += st == PP_OK;
    }
    return st;
}

void metrics_opts_for_rank(struct metrics_opts *o, const struct pp_identity *id, struct metrics_of_rank *own)
{
    struct pp_address a;
    if (!id->launcher || id->world_size < 2)
        return;
    if (o->listen && *o->listen && pp_address_parse(o->listen, &a, NULL) == PP_OK) {
        long port = atol(a.port), by = (long)(id->local_rank >= 0 ? id->local_rank : id->rank);
        snprintf(own->listen, sizeof(own->listen), strchr(a.host, ':') ? "[%s]:%ld" : "%s:%ld", a.host,
                 port ? port + by : 0);
        o->listen = own->listen;
    }
    size_t n = o->textfile ? strlen(o->textfile) : 0;
    if (n > 5 && (size_t)snprintf(own->textfile, sizeof(own->textfile), "%.*s-rank%04lld.prom", (int)(n - 5),
                                  o->textfile, (long long)id->rank) < sizeof(own->textfile))
        o->textfile = own->textfile;
    if (o->tensorboard && *o->tensorboard &&
        (size_t)snprintf(own->tensorboard, sizeof(own->tensorboard), "%s/rank%04lld", o->tensorboard,
                         (long long)id->rank) < sizeof(own->tensorboard))
        o->tensorboard = own->tensorboard;
}
