#include "report/metrics/mlflow.h"

#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/metrics/curves.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_MOST = 100 }; /* of one request, as MLflow has it */

struct moment {
    struct pp_json json;
    int64_t ms, step;
};

static void put_curve(void *ctx, const char *name, double value)
{
    struct moment *at = ctx;
    if (!isfinite(value))
        return;
    pp_json_object(&at->json);
    pp_json_key(&at->json, "key");
    pp_json_str(&at->json, name);
    pp_json_key(&at->json, "value");
    pp_json_num(&at->json, value);
    pp_json_key(&at->json, "timestamp");
    pp_json_int(&at->json, at->ms);
    pp_json_key(&at->json, "step");
    pp_json_int(&at->json, at->step);
    pp_json_object_end(&at->json);
}

static void put_pair(struct pp_json *j, const char *key, const char *value)
{
    char *plain = pp_text_plain(value);
    pp_json_object(j);
    pp_json_key(j, "key");
    pp_json_str(j, key);
    pp_json_key(j, "value");
    pp_json_str(j, plain ? plain : "");
    pp_json_object_end(j);
    free(plain);
}

int pp_metrics_mlflow(const struct pp_metrics_view *v, double utc_s, FILE *out)
{
    const struct pp_report_verdict *d = v->report ? &v->report->verdict : NULL;
    struct moment at = {.ms = (int64_t)(utc_s * 1e3), .step = (int64_t)v->totals->batches};
    char verdict[100];
    pp_json_begin(&at.json, out, 0);
    pp_json_object(&at.json);
    pp_json_key(&at.json, "metrics");
    pp_json_array(&at.json);
    pp_metrics_curves(v, put_curve, &at);
    pp_json_array_end(&at.json);
    if (d) {
        snprintf(verdict, sizeof(verdict), "%s%s%s", d->l1 ? d->l1 : d->l0, d->l1 && d->l2 ? ": " : "",
                 d->l1 && d->l2 ? d->l2 : "");
        pp_json_key(&at.json, "tags");
        pp_json_array(&at.json);
        put_pair(&at.json, "pipeprobe.verdict", verdict);
        pp_json_array_end(&at.json);
    }
    pp_json_object_end(&at.json);
    return pp_json_end(&at.json);
}

/* What MLflow takes in a name. */
static void name_of(char *name, size_t size, const struct pp_live_fact *f)
{
    snprintf(name, size, "pipeprobe.%s", f->key);
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-./", *name))
            *name = '_';
}

int pp_metrics_mlflow_params(const struct pp_metrics_view *v, FILE *out)
{
    struct pp_json j;
    char name[64];
    int n = 0;
    pp_json_begin(&j, out, 0);
    pp_json_object(&j);
    pp_json_key(&j, "params");
    pp_json_array(&j);
    for (size_t i = 0; i < v->n_facts && n < PARAMS_MOST; i++) {
        const struct pp_live_fact *f = &v->facts[i];
        int of_run = strcmp(f->section, "run") == 0 &&
                     (strcmp(f->key, "version") == 0 || strcmp(f->key, "tool") == 0);
        if ((strcmp(f->section, "config") != 0 && !of_run) || !f->value[0])
            continue;
        name_of(name, sizeof(name), f);
        put_pair(&j, name, f->value);
        n++;
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}
