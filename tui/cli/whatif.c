/* `pipeprobe whatif`: predicted throughput of a recorded run with other knobs, by replay. */
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/signals.h"
#include "tui/cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct pp_opt_list set;
    const char *sweep;
    int json;
    double estimate_ms;
};

#define AT(field) offsetof(struct options, field)
static const struct pp_opt opts[] = {
    {.name = "set", .letter = 's', .type = PP_OPT_LIST, .offset = AT(set), .arg = "KNOB=VALUE", .group = "Options", .help = "may be given several times; --set list shows the knobs"},
    {.name = "sweep", .type = PP_OPT_STRING, .offset = AT(sweep), .arg = "KNOB=A..B", .help = "one prediction for each whole number from A to B"},
    {.name = "estimate", .type = PP_OPT_DOUBLE, .offset = AT(estimate_ms), .min = 0.001, .max = 1e7, .arg = "MS", .help = "what a step of MS needs: samples/s, bytes/s, cores, reads in flight"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .help = "one document of schema pipeprobe.whatif/1"},
    {.name = NULL},
};

struct asked {
    const struct options *o;
    struct pp_costs costs;
    struct pp_signals signals;
    struct pp_timeline timeline;
    struct pp_json json;
};

static int list_knobs(void)
{
    const char *name, *values, *help;
    for (int i = 0; (help = pp_knobs_help(i, &name, &values)); i++) {
        char both[64];
        snprintf(both, sizeof(both), "%s=%s", name, values);
        printf("  %-36s %s\n", both, help);
    }
    return 0;
}

static pp_status read_run(const char *path, struct asked *a, struct pp_err *err)
{
    struct pp_source source;
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = pp_timeline_build(&source, &a->timeline, err);
    if (st == PP_OK)
        st = pp_costs_read(&source, &a->timeline, &a->costs, err);
    if (st == PP_OK)
        st = pp_whatif_calibrate(&a->costs, err);
    if (st == PP_OK)
        st = pp_signals_read(&a->costs, &a->signals, err);
    pp_source_close(&source);
    return st;
}

/* ---- output ---- */

static void put_prediction(struct asked *a, const char *what, const struct pp_prediction *p)
{
    char rate[32], low[32], high[32], wait[32];
    if (!a->o->json) {
        printf("  %-28s %9s samples/s (%s to %s)  %+5.0f %% (%+.0f to %+.0f)  data wait %s\n", what, pp_text_rate(rate, sizeof(rate), p->samples_per_s),
               pp_text_rate(low, sizeof(low), p->low), pp_text_rate(high, sizeof(high), p->high), 100 * p->gain, 100 * p->gain_low, 100 * p->gain_high,
               pp_text_percent(wait, sizeof(wait), p->data_wait_share));
        return;
    }
    pp_json_object(&a->json);
    pp_json_key(&a->json, "set"), pp_json_str(&a->json, what);
    pp_json_key(&a->json, "samples_per_s"), pp_json_num(&a->json, p->samples_per_s);
    pp_json_key(&a->json, "low"), pp_json_num(&a->json, p->low);
    pp_json_key(&a->json, "high"), pp_json_num(&a->json, p->high);
    pp_json_key(&a->json, "gain"), pp_json_num(&a->json, p->gain);
    pp_json_key(&a->json, "data_wait_share"), pp_json_num(&a->json, p->data_wait_share);
    pp_json_object_end(&a->json);
}

static void put_measured(struct asked *a, const char *path)
{
    const struct pp_costs *c = &a->costs;
    char rate[32];
    if (a->o->json) {
        pp_json_key(&a->json, "schema"), pp_json_str(&a->json, "pipeprobe.whatif/1");
        pp_json_key(&a->json, "file"), pp_json_str(&a->json, path);
        pp_json_key(&a->json, "measured_samples_per_s"), pp_json_num(&a->json, c->samples_per_s);
        pp_json_key(&a->json, "usable_cpus"), pp_json_num(&a->json, c->cpus);
        pp_json_key(&a->json, "competing_threads"), pp_json_num(&a->json, c->others);
        pp_json_key(&a->json, "competing_groups"), pp_json_num(&a->json, c->groups);
        pp_json_key(&a->json, "predictions"), pp_json_array(&a->json);
        return;
    }
    printf("%s: measured %s samples/s with %d workers; %.3g usable CPUs, shared with %.1f %s of others\n", path, pp_text_rate(rate, sizeof(rate), c->samples_per_s),
           c->workers, c->cpus, c->others + c->groups, c->fair_to_groups ? "groups" : "threads");
}

/* What a team computes on the back of an envelope, from recorded costs. */
static void put_estimate(struct asked *a)
{
    const struct pp_costs *c = &a->costs;
    double rate = c->batch_size * 1e3 / a->o->estimate_ms, cpu = 0, blocked = 0;
    char r[32], b[32];
    for (size_t i = 0; i < c->n; i++) {
        cpu += (double)c->samples[i].read_cpu + c->samples[i].decode_cpu + c->samples[i].transform_cpu;
        blocked += c->samples[i].read_blocked;
    }
    cpu = cpu / (double)c->n + c->collate_cpu_ns / c->batch_size;
    blocked /= (double)c->n;
    printf("A step of %.3g ms per %.0f samples needs %s samples/s: %s/s read, %.2f CPU cores (of %.2f), %.1f reads in flight; so at least %.0f workers.\n",
           a->o->estimate_ms, c->batch_size, pp_text_rate(r, sizeof(r), rate), pp_text_bytes(b, sizeof(b), rate * a->signals.read_bytes), rate * cpu / 1e9, c->cpus,
           rate * blocked / 1e9, ceil(rate * (cpu + blocked) / 1e9));
}

/* ---- what was asked ---- */

static pp_status predict_set(struct asked *a, struct pp_err *err)
{
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    char what[200] = "";
    pp_status st = PP_OK;
    for (int i = 0; i < a->o->set.n && st == PP_OK; i++) {
        size_t at = strlen(what);
        snprintf(what + at, sizeof(what) - at, "%s%s", i ? " " : "", a->o->set.item[i]);
        st = pp_knobs_set(&k, &a->costs, a->o->set.item[i], err);
    }
    if (st == PP_OK)
        st = pp_whatif(&a->costs, &k, &p, err);
    if (st == PP_OK)
        put_prediction(a, what, &p);
    return st;
}

static pp_status predict_sweep(struct asked *a, struct pp_err *err)
{
    char knob[40];
    long from, to;
    if (sscanf(a->o->sweep, "%39[^=]=%ld..%ld", knob, &from, &to) != 3 || from < 1 || to < from || to - from > 256)
        return pp_fail(err, PP_E_USAGE, "--sweep %s: it takes KNOB=A..B with whole numbers, at most 256 of them, for example workers=1..32", a->o->sweep);
    pp_status st = PP_OK;
    for (long v = from; v <= to && st == PP_OK; v++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_prediction p;
        char text[80];
        snprintf(text, sizeof(text), "%s=%ld", knob, v);
        for (int i = 0; i < a->o->set.n && st == PP_OK; i++)
            st = pp_knobs_set(&k, &a->costs, a->o->set.item[i], err);
        if (st == PP_OK)
            st = pp_knobs_set(&k, &a->costs, text, err);
        if (st == PP_OK)
            st = pp_whatif(&a->costs, &k, &p, err);
        if (st == PP_OK)
            put_prediction(a, text, &p);
    }
    return st;
}

static void show_fixes(struct asked *a)
{
    for (int i = 0; i < a->signals.fixes; i++) {
        char what[80];
        snprintf(what, sizeof(what), "%s -> %s", a->signals.fix[i].knob, a->signals.fix[i].to);
        put_prediction(a, what, &a->signals.fix[i].p);
    }
}

static pp_status answer(struct asked *a, const char *path, struct pp_err *err)
{
    pp_status st = PP_OK;
    if (a->o->json) {
        pp_json_begin(&a->json, stdout, 2);
        pp_json_object(&a->json);
    }
    put_measured(a, path);
    if (a->o->sweep)
        st = predict_sweep(a, err);
    else if (a->o->set.n)
        st = predict_set(a, err);
    else
        show_fixes(a);
    if (a->o->json) {
        pp_json_array_end(&a->json);
        pp_json_object_end(&a->json);
        pp_json_end(&a->json);
    } else if (a->o->estimate_ms > 0) {
        put_estimate(a);
    }
    return st;
}

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct asked a = {.o = &o};
    struct pp_err err = {0};
    int n = 0, code;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_status st = operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (st == PP_OK && (code = pp_cli_parse(&pp_cmd_whatif, &set, argc, argv, operands, &n)) >= 0)
        goto out;
    if (o.set.n == 1 && strcmp(o.set.item[0], "list") == 0) {
        code = list_knobs();
        goto out;
    }
    if (st == PP_OK && n != 1)
        st = pp_fail(&err, PP_E_USAGE, n ? "one recording at a time, %d were given" : "which recording? Give the FILE that 'pipeprobe run' wrote", n);
    if (st == PP_OK)
        st = read_run(operands[0], &a, &err);
    if (st == PP_OK)
        st = answer(&a, operands[0], &err);
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_whatif, &err);
out:
    pp_costs_free(&a.costs);
    pp_timeline_free(&a.timeline);
    free(operands);
    return code;
}

const struct pp_command pp_cmd_whatif = {
    .name = "whatif",
    .summary = "Predict a recorded run's throughput with other knobs, by replay.",
    .usage = "whatif FILE [--set KNOB=VALUE ...] [--sweep KNOB=A..B]",
    .opts = opts,
    .notes = "Without --set and --sweep: every fix that can be replayed, the largest gain first. Intervals are 80 %.\n"
             "Exit code: 2 for a knob that does not exist, 3 when too little was recorded, 4 for one that a replay cannot know.",
    .examples = {"pipeprobe whatif run.sqlite --set workers=8 --set cache=warm", "pipeprobe whatif run.sqlite --sweep workers=1..32"},
    .run = run,
};
