/* `pipeprobe whatif`: predicted throughput of a recorded run with other knobs, by replay. */
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/replay/whatif.h"
#include "report/replay/nvjpeg.h"
#include "report/rules/limits.h"
#include "report/source/rows.h"
#include "report/verdict/signals.h"
#include "tui/cli/cli.h"
#include "tui/cli/recording_name.h"

struct options {
    struct pp_opt_list set;
    const char *sweep, *loader;
    int json;
    double estimate_ms;
    int64_t workers, batch_size; /* 0: not stated */
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "set", .letter = 's', .type = PP_OPT_LIST, .offset = AT(set), .arg = "KNOB=VALUE",
     .group = "Options", .help = "predict with this knob changed (repeatable); list shows the knobs"},
    {.name = "sweep", .type = PP_OPT_STRING, .offset = AT(sweep), .arg = "KNOB=A..B",
     .help = "one prediction for each whole number from A to B"},
    {.name = "estimate", .type = PP_OPT_DOUBLE, .offset = AT(estimate_ms), .min = 0.001, .max = 1e7,
     .arg = "MS", .help = "requirements of a step of MS: samples/s, bytes/s, cores, workers"},
    {.name = "loader", .type = PP_OPT_STRING, .offset = AT(loader), .arg = "NAME",
     .help = "of several DataLoaders the one to judge: its variable, or file:line"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json),
     .help = "one document of schema pipeprobe.whatif/1"},
    {.name = "workers", .type = PP_OPT_INT, .offset = AT(workers), .min = 1, .max = 1024, .arg = "N",
     .group = "Facts that the recording lacks", .help = "workers that the recorded program had (num_workers)"},
    {.name = "batch-size", .type = PP_OPT_INT, .offset = AT(batch_size), .min = 1, .max = 1000000, .arg = "N",
     .help = "samples per batch that it had"},
    {.name = NULL},
};
/* clang-format on */

struct asked {
    const struct options *o;
    struct pp_costs costs;
    struct pp_signals signals;
    struct pp_timeline timeline;
    struct pp_arena arena;
    struct pp_report loaders; /* their rows alone, in the arena */
    struct pp_json json;
    struct pp_knobs knobs; /* of --set */
    char what[200];
    const char *unit;             /* of rates: batches, where nothing tells how many samples one has */
    double of_unit, known;        /* samples of a unit; 1, or NAN where rates in samples are not known */
    double recorded_waiting;      /* reads that waited for storage at a time, on average */
    struct pp_prediction boldest; /* of those that take more for granted than was recorded: parallel reads, or
                                     else parts of the data set */
    struct {
        char knob[40];
        long from, to;
    } sweep;
};
enum { SWEEP_MOST = 256, BAR = 24 };

static pp_status read_run(const char *path, struct asked *a, struct pp_err *err)
{
    struct pp_source source;
    const struct {
        const char *option, *key, *knob;
        int64_t stated;
        double *to;
    } facts[] = {{"--workers", "workers", "num_workers", a->o->workers, &source.stated.workers},
                 {"--batch-size", "batch_size", "batch_size", a->o->batch_size, &source.stated.batch_size}};
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK && a->o->loader)
        st = pp_source_judge(&source, a->o->loader, err);
    if (st == PP_OK)
        st = pp_rows_loaders(&source, &a->arena, &a->loaders, err);
    /* A fact that the recording holds is not the user's to state: to try another value is a knob. */
    for (size_t i = 0; st == PP_OK && i < sizeof(facts) / sizeof(*facts); i++) {
        double recorded = pp_source_number(&source, "config", facts[i].key, 0);
        if (facts[i].stated && recorded > 0 && recorded != (double)facts[i].stated)
            st = pp_fail(err, PP_E_USAGE,
                         "%s %lld: %s was recorded with %.0f; to predict another value use --set %s=%lld",
                         facts[i].option, (long long)facts[i].stated, path, recorded, facts[i].knob,
                         (long long)facts[i].stated);
        else
            *facts[i].to = (double)facts[i].stated;
    }
    if (st == PP_OK)
        st = pp_timeline_build(&source, &a->timeline, err);
    if (st == PP_OK)
        st = pp_costs_read(&source, &a->timeline, &a->costs, err);
    if (st == PP_OK)
        st = pp_whatif_calibrate(&a->costs, err);
    if (st == PP_OK)
        st = pp_signals_read(&a->costs, &a->signals, err);
    int counted = !(a->costs.made_per_batch > 0) || a->o->batch_size ||
                  pp_source_number(&source, "config", "batch_size", 0) > 0;
    a->unit = counted ? "samples" : "batches";
    a->of_unit = counted ? 1 : a->costs.batch_size;
    a->known = counted ? 1 : NAN;
    pp_source_close(&source);
    if (st == PP_OK && a->costs.made_per_batch > 0 &&
        !(fabs(a->signals.replay_error) <= PP_MOST_REPLAY_ERROR))
        st = pp_fail(
            err, PP_E_INCONCLUSIVE,
            "no change of %s can be predicted: the replay of the unchanged run is off by %.0f %%; make the change, record again, and compare the two (pipeprobe compare)",
            path, 100 * a->signals.replay_error);
    return st;
}

/* ---- output ---- */

static void note_assumption(struct asked *a, const struct pp_prediction *p)
{
    if ((p->reads_seen > 0 && p->reads_waiting > a->boldest.reads_waiting) ||
        (!(a->boldest.reads_seen > 0) && p->parts > a->boldest.parts))
        a->boldest = *p;
}

/* most: 0, or the rate that a full bar stands for. */
static void put_prediction(struct asked *a, const char *what, const struct pp_prediction *p, double most)
{
    char rate[32], low[32], high[32], wait[32], gain[48];
    note_assumption(a, p);
    if (!a->o->json) {
        printf("  %-40s %7s %s/s (%s to %s)  %-23s stall %s%s%.*s\n", what,
               pp_text_predicted(rate, sizeof(rate), p->samples_per_s / a->of_unit), a->unit,
               pp_text_predicted(low, sizeof(low), p->low / a->of_unit),
               pp_text_predicted(high, sizeof(high), p->high / a->of_unit),
               pp_text_gain(gain, sizeof(gain), p->gain, p->gain_low, p->gain_high),
               pp_text_percent(wait, sizeof(wait), p->data_wait_share), most > 0 ? "  " : "",
               most > 0 ? (int)lround(BAR * p->samples_per_s / most) : 0, "########################");
        return;
    }
    pp_json_object(&a->json);
    pp_json_put_str(&a->json, "set", what);
    pp_json_put_num(&a->json, "samples_per_s", p->samples_per_s * a->known);
    pp_json_put_num(&a->json, "low", p->low * a->known);
    pp_json_put_num(&a->json, "high", p->high * a->known);
    pp_json_put_num(&a->json, "gain", p->gain);
    pp_json_put_num(&a->json, "gain_low", p->gain_low);
    pp_json_put_num(&a->json, "gain_high", p->gain_high);
    pp_json_put_num(&a->json, "data_wait_share", p->data_wait_share);
    pp_json_put_num(&a->json, "reads_waiting", p->reads_waiting);
    pp_json_object_end(&a->json);
}

/* Which of several DataLoaders all of this is about, and where the training thread waits longer. */
static void put_loader(struct asked *a)
{
    const struct pp_report_loader *judged = NULL, *other = NULL;
    char own[32], theirs[32];
    for (size_t i = 0; i < a->loaders.n_loaders; i++) {
        const struct pp_report_loader *l = &a->loaders.loaders[i];
        if (l->judged)
            judged = l;
        else if (l->batches > 0 && (!other || l->data_wait_s > other->data_wait_s))
            other = l;
    }
    if (a->o->json && judged) {
        pp_json_put_object(&a->json, "loader");
        pp_json_put_str(&a->json, "row", judged->row);
        pp_json_put_str(&a->json, "place", judged->place);
        pp_json_put_str(&a->json, "name", judged->name);
        pp_json_object_end(&a->json);
    }
    if (a->o->json || !judged || !other)
        return;
    const struct pp_report_loader *const both[] = {judged, other};
    const char *words[2];
    for (int i = 0; i < 2; i++)
        words[i] = both[i]->at ? both[i]->at : both[i]->dataset ? both[i]->dataset : both[i]->row;
    printf("  of the DataLoader at %s, which the training thread waited %s for", words[0],
           pp_text_duration(own, sizeof(own), judged->data_wait_s * 1e9));
    if (other->data_wait_s > judged->data_wait_s / 2)
        printf("; for the one at %s %s: --loader %s", words[1],
               pp_text_duration(theirs, sizeof(theirs), other->data_wait_s * 1e9),
               other->name    ? other->name
               : other->place ? other->place
                              : other->row);
    putchar('\n');
}

static void put_measured(struct asked *a, const char *path)
{
    const struct pp_costs *c = &a->costs;
    struct pp_knobs none = pp_knobs_none();
    struct pp_demand d;
    char rate[32];
    pp_whatif_demand(c, &none, &d);
    a->recorded_waiting = c->samples_per_s * d.read_blocked_ns / 1e9;
    if (a->o->json) {
        pp_json_put_str(&a->json, "schema", "pipeprobe.whatif/1");
        pp_json_put_str(&a->json, "file", path);
        put_loader(a);
        pp_json_put_num(&a->json, "measured_samples_per_s", pp_whatif_measured(c) * a->known);
        pp_json_put_num(&a->json, "usable_cpus", c->cpus);
        pp_json_put_num(&a->json, "competing_threads", c->others);
        pp_json_put_num(&a->json, "competing_groups", c->groups);
        pp_json_put_num(&a->json, "recorded_reads_waiting", a->recorded_waiting);
        pp_json_put_array(&a->json, "predictions");
        return;
    }
    printf("%s: measured %s %s/s", path, pp_text_rate(rate, sizeof(rate), pp_whatif_measured(c) / a->of_unit),
           a->unit);
    if (c->outside_rose_at > 0)
        printf(" since other processes took the CPUs (%s into the run),",
               pp_text_share(rate, sizeof(rate), c->outside_rose_at));
    printf(" with %d worker%s; %.3g usable CPU%s", c->workers, c->workers == 1 ? "" : "s", c->cpus,
           c->cpus == 1 ? "" : "s");
    const char *whose = c->helper_cpus > c->outside_cpus ? "the job's own helper threads"
                        : c->subprocess_cpus > 0 && c->subprocess_cpus >= 0.5 * c->outside_cpus
                            ? "subprocesses of the job"
                            : "other processes";
    if (c->others + c->groups < 0.05)
        printf(", almost no background load\n");
    else if (c->wanted_by_others < c->online_cpus)
        printf(", background load: %s take %.2g CPU%s\n", whose, c->wanted_by_others,
               c->wanted_by_others == 1 ? "" : "s");
    else
        printf(", background load: %s compete like %.1f busy %s\n", whose, c->others + c->groups,
               c->groups > 0 ? "programs" : "threads");
    put_loader(a);
}

/* What a team computes on the back of an envelope, from recorded costs. */
static void put_estimate(const struct pp_estimate *e)
{
    char rate[32], bytes[32], each[32], got[32], wait[32];
    printf("A step of %.4g ms per %.0f samples needs %s samples/s. At the recorded costs that is\n",
           e->step_ns / 1e6, e->batch_size, pp_text_rate(rate, sizeof(rate), e->samples_per_s));
    printf("  %-14s %s/s; %s a sample\n", "read", pp_text_bytes(bytes, sizeof(bytes), e->bytes_per_s),
           pp_text_bytes(each, sizeof(each), e->read_bytes));
    printf("  %-14s %.1f at a time; %.3g ms a sample\n", "reads waiting", e->reads_waiting,
           e->read_blocked_ns / 1e6);
    printf("  %-14s %.2f of %.3g usable cores; %.3g ms a sample\n", "CPU", e->cores, e->usable_cores,
           e->cpu_ns / 1e6);
    printf("  %-14s %.0f %% of the step's time\n", "copies", 100 * e->copy_share);
    printf("  %-14s %.1f busy on average", "workers", e->busy_workers);
    if (e->most_per_s < e->samples_per_s) {
        char most[32];
        int many = strncmp(e->most_of, "the c", 5) == 0 || strncmp(e->most_of, "the C", 5) == 0;
        printf("\n  but %s %s %s samples/s at most, a step of %.3g ms: %s\n", e->most_of,
               many ? "allow" : "allows", pp_text_rate(most, sizeof(most), e->most_per_s),
               e->batch_size * 1e3 / e->most_per_s, "no number of workers keeps up with that step");
    } else if (!e->workers)
        printf(": more workers than the replay supports\n");
    else
        printf(e->with_workers.data_wait_share > 0.05
                   ? "; even with %d the replay gives %s samples/s, stall %s\n"
                   : "; replayed with %d: %s samples/s, stall %s\n",
               e->workers, pp_text_rate(got, sizeof(got), e->with_workers.samples_per_s),
               pp_text_percent(wait, sizeof(wait), e->with_workers.data_wait_share));
}

/* ---- what was asked ---- */

static pp_status point_of(struct asked *a, long v, char *text, size_t size, struct pp_knobs *k,
                          struct pp_err *err)
{
    *k = a->knobs;
    snprintf(text, size, "%s=%ld", a->sweep.knob, v);
    return pp_knobs_set(k, &a->costs, text, err);
}

/* Every --set of the command line, also where nothing else is asked, and --sweep: a knob that does not exist
 * is said before anything is printed. */
static pp_status read_asked(struct asked *a, struct pp_err *err)
{
    struct pp_knobs k;
    char text[80];
    int used = 0;
    pp_status st = PP_OK;
    a->knobs = pp_knobs_none();
    for (int i = 0; i < a->o->set.n && st == PP_OK; i++) {
        size_t at = strlen(a->what);
        snprintf(a->what + at, sizeof(a->what) - at, "%s%s", i ? " " : "", a->o->set.item[i]);
        st = pp_knobs_set(&a->knobs, &a->costs, a->o->set.item[i], err);
    }
    if (st != PP_OK || !a->o->sweep)
        return st;
    if (sscanf(a->o->sweep, "%39[^=]=%ld..%ld%n", a->sweep.knob, &a->sweep.from, &a->sweep.to, &used) != 3 ||
        a->o->sweep[used] || a->sweep.from < 0 || a->sweep.to < a->sweep.from ||
        a->sweep.to - a->sweep.from >= SWEEP_MOST)
        return pp_fail(
            err, PP_E_USAGE,
            "--sweep %s: it takes KNOB=A..B with whole numbers from 1 on, at most %d of them, for example num_workers=1..32",
            a->o->sweep, SWEEP_MOST);
    st = point_of(a, a->sweep.from, text, sizeof(text), &k, err);
    return st == PP_OK ? point_of(a, a->sweep.to, text, sizeof(text), &k, err) : st;
}

static pp_status predict(struct asked *a, struct pp_err *err)
{
    if (a->o->sweep) { /* the curve: all points first, since the bars are drawn to the highest */
        size_t n = (size_t)(a->sweep.to - a->sweep.from + 1);
        struct pp_prediction *p = calloc(n, sizeof(*p));
        pp_status st = p ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu predictions", n);
        struct pp_knobs k;
        char text[80];
        double most = 0;
        for (size_t i = n; i-- > 0 && st == PP_OK;) { /* the largest first: if one is refused, it is */
            st = point_of(a, a->sweep.from + (long)i, text, sizeof(text), &k, err);
            if (st == PP_OK)
                st = pp_whatif(&a->costs, &k, &p[i], err);
            most = fmax(most, p[i].samples_per_s);
        }
        for (size_t i = 0; i < n && st == PP_OK; i++) {
            point_of(a, a->sweep.from + (long)i, text, sizeof(text), &k, err);
            put_prediction(a, text, &p[i], most);
        }
        free(p);
        return st;
    }
    if (a->o->set.n && !(a->o->estimate_ms > 0)) {
        struct pp_prediction p;
        pp_status st = pp_whatif(&a->costs, &a->knobs, &p, err);
        if (st == PP_OK)
            put_prediction(a, a->what, &p, 0);
        return st;
    }
    if (!(a->o->estimate_ms > 0)) {
        /* By gain, as the help says; the report's order, in which an option goes before new hardware of about
         * the same gain, is for who wants to know what to do first. */
        qsort(a->signals.fix, (size_t)a->signals.fixes, sizeof(*a->signals.fix), pp_fix_by_gain);
        for (int i = 0; i < a->signals.fixes; i++) {
            put_prediction(a, a->signals.fix[i].set, &a->signals.fix[i].p, 0);
            if (a->signals.fix[i].knobs.gpu_decode.per_s > 0) /* what it assumes is said below */
                a->knobs.gpu_decode = a->signals.fix[i].knobs.gpu_decode;
        }
    }
    return PP_OK;
}

/* Behind the predictions: e, where it was asked for, and what decoding on the GPU rests on. */
static void put_json_end(struct asked *a, const struct pp_estimate *e)
{
    struct pp_json *j = &a->json;
    const struct pp_gpu_decode *d = &a->knobs.gpu_decode;
    pp_json_array_end(j);
    if (a->o->estimate_ms > 0) {
        pp_json_put_object(j, "estimate");
        pp_json_put_num(j, "step_ms", e->step_ns / 1e6);
        pp_json_put_num(j, "batch_size", e->batch_size);
        pp_json_put_num(j, "samples_per_s", e->samples_per_s);
        pp_json_put_num(j, "bytes_per_s", e->bytes_per_s);
        pp_json_put_num(j, "cores", e->cores);
        pp_json_put_num(j, "usable_cores", e->usable_cores);
        pp_json_put_num(j, "reads_waiting", e->reads_waiting);
        pp_json_put_num(j, "busy_workers", e->busy_workers);
        pp_json_put_num(j, "copy_share", e->copy_share);
        pp_json_put_num(j, "most_samples_per_s", e->most_per_s);
        pp_json_put_num(j, "workers", e->workers ? e->workers : NAN);
        pp_json_put_num(j, "samples_per_s_with_workers", e->workers ? e->with_workers.samples_per_s : NAN);
        pp_json_put_num(j, "data_wait_share_with_workers",
                        e->workers ? e->with_workers.data_wait_share : NAN);
        pp_json_put_bool(j, "reachable", e->most_per_s >= e->samples_per_s);
        pp_json_put_str(j, "most_of", e->most_of);
        pp_json_object_end(j);
    }
    if (d->per_s > 0) {
        pp_json_put_object(j, "gpu_decode");
        pp_json_put_num(j, "images_per_s", d->per_s);
        pp_json_put_num(j, "images_per_s_low", d->low_per_s);
        pp_json_put_num(j, "images_per_s_high", d->high_per_s);
        pp_json_put_num(j, "batch_ms", d->floor_ns / 1e6);
        pp_json_put_num(j, "batch_ms_low", d->low_floor_ns / 1e6);
        pp_json_put_num(j, "batch_ms_high", d->high_floor_ns / 1e6);
        pp_json_put_num(j, "images_share", d->counted ? d->part : NAN);
        pp_json_put_str(j, "rate", d->published ? "published" : "stated");
        pp_json_put_str(j, "source", d->published ? pp_nvjpeg_published.source : NULL);
        pp_json_object_end(j);
    }
    pp_json_object_end(j);
    pp_json_end(j);
}

static pp_status answer(struct asked *a, const char *path, struct pp_err *err)
{
    struct pp_estimate e = {0};
    pp_status st = read_asked(a, err);
    if (st == PP_OK && a->o->estimate_ms > 0)
        st = pp_estimate(&a->costs, &a->knobs, a->o->estimate_ms * 1e6, &e, err);
    if (st != PP_OK)
        return st;
    if (a->o->json) {
        pp_json_begin(&a->json, stdout, 2);
        pp_json_object(&a->json);
    }
    put_measured(a, path);
    st = predict(a, err);
    if (a->o->json) {
        put_json_end(a, &e);
    } else if (a->o->estimate_ms > 0) {
        put_estimate(&e);
        if (e.workers)
            note_assumption(a, &e.with_workers);
    }
    if (st != PP_OK || a->o->json)
        return st;
    /* A replay answers any number of reads as quickly as the recorded ones. */
    char text[160], rests_on[PP_NVJPEG_TEXT], share[32];
    if (pp_whatif_assumes(&a->boldest, text, sizeof(text)))
        printf("  Assumes that %s; verify with a run.\n", text);
    if (pp_nvjpeg_assumes(&a->knobs, rests_on)) /* a rate that is not in the recording */
        printf("  %s\n", rests_on);
    if (a->costs.n_others) /* a rank of a data-parallel run: what it saves it waits */
        printf(
            "  This rank waits %s of its step time for other ranks; their steps are assumed to last as recorded; collective=0 removes them.\n",
            pp_text_percent(share, sizeof(share),
                            pp_timeline_share(&a->timeline, a->timeline.collective_ns)));
    return PP_OK;
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct asked a = {.o = o};
    char path[4096];
    if (o->set.n == 1 && strcmp(o->set.item[0], "list") == 0) {
        for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++) {
            char both[64];
            if (knob->kind == PP_KNOB_NEVER)
                continue;
            snprintf(both, sizeof(both), "%s=%s", knob->name, knob->values);
            printf("  %-36s %s%s%s%s\n", both, knob->help, knob->also ? " (also " : "",
                   knob->also ? knob->also : "", knob->also ? ")" : "");
        }
        return PP_OK;
    }
    pp_status st = pp_choose_recording(operands, n, path, sizeof(path), err);
    if (st == PP_OK) {
        /* A knob that does not exist is a mistake of the command line, whatever the recording holds. */
        struct asked trial = {.o = a.o};
        st = read_asked(&trial, err);
        st = st == PP_E_USAGE ? st : PP_OK;
    }
    if (st == PP_OK)
        st = read_run(path, &a, err);
    if (st == PP_OK)
        st = answer(&a, path, err);
    pp_costs_free(&a.costs);
    pp_timeline_free(&a.timeline);
    pp_arena_free(&a.arena);
    return st;
}

const struct pp_command pp_cmd_whatif = {
    .name = "whatif",
    .summary = "predict a recorded run's throughput with other knobs, by replay",
    .usage = "whatif [FILE|DIR] [--set KNOB=VALUE ...] [--sweep KNOB=A..B]",
    .opts = opts,
    .notes = "Without --set and --sweep: all remedies that can be replayed,\n"
             "largest gain first, amounts of work last. Intervals are 80 %. Exit code:\n"
             "2 for a knob that does not exist, 3 when too little was recorded, 4 for one\n"
             "that the replay cannot predict.",
    .examples = {"pipeprobe whatif run.sqlite --set num_workers=8 --set cache=warm",
                 "pipeprobe whatif run.sqlite --sweep num_workers=1..32"},
    .fields = sizeof(struct options),
    .act = act,
};
