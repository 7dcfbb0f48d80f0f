#include "tests/lab/other_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the rules ask of a report ---- */

static const struct pp_report_phase *phase(const struct pp_report *r, pp_phase id)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == id)
            return &r->phases[i];
    return NULL;
}

static double total(const struct pp_report *r, pp_phase id)
{
    const struct pp_report_phase *p = phase(r, id);
    return p ? (double)p->total_ns : 0;
}

static double mean(const struct pp_report *r, pp_phase id)
{
    const struct pp_report_phase *p = phase(r, id);
    return p ? p->mean_ns : 0;
}

static double longest(const struct pp_report *r, pp_phase id)
{
    const struct pp_report_phase *p = phase(r, id);
    return p ? (double)p->max_ns : 0;
}

/* All that is neither a read nor a copy: what most tools call preprocessing. */
static double preprocessing(const struct pp_report *r)
{
    return total(r, PP_PHASE_DECODE) + total(r, PP_PHASE_TRANSFORM) + total(r, PP_PHASE_COLLATE);
}

/* Of the time of a step. */
static double step_share(const struct pp_report *r, double ns)
{
    double all = total(r, PP_PHASE_DATA_WAIT) + total(r, PP_PHASE_STEP) + total(r, PP_PHASE_DEVICE_SYNC) +
                 total(r, PP_PHASE_COLLECTIVE);
    return all > 0 ? ns / all : 0;
}

static double wait_share(const struct pp_report *r)
{
    return step_share(r, total(r, PP_PHASE_DATA_WAIT));
}

static const char *pair(const struct pp_report_pair *pairs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].key, key) == 0)
            return pairs[i].value;
    return NULL;
}

static double config(const struct pp_report *r, const char *key, double otherwise)
{
    const char *value = pair(r->config, r->n_config, key);
    return value ? atof(value) : otherwise;
}

/* What the trainer can take when nothing keeps it waiting: NAN without a step. */
static double trainer_rate(const struct pp_report *r)
{
    return r->without_waits_samples_per_s;
}

static const char *class_of(pp_phase id)
{
    switch (id) {
    case PP_PHASE_READ: return "storage";
    case PP_PHASE_H2D:
    case PP_PHASE_DEVICE_SYNC: return "sync";
    case PP_PHASE_RETRY: return "loader";
    case PP_PHASE_DECODE:
    case PP_PHASE_TRANSFORM:
    case PP_PHASE_COLLATE: return "transform";
    default: return NULL;
    }
}

static pp_phase largest(const struct pp_report *r, double (*value)(const struct pp_report *, pp_phase),
                        const pp_phase *ids, size_t n)
{
    pp_phase best = ids[0];
    for (size_t i = 1; i < n; i++)
        if (value(r, ids[i]) > value(r, best))
            best = ids[i];
    return best;
}

static const pp_phase all_stages[] = {PP_PHASE_READ,    PP_PHASE_DECODE, PP_PHASE_TRANSFORM,
                                      PP_PHASE_COLLATE, PP_PHASE_H2D,    PP_PHASE_DEVICE_SYNC};
enum { STAGES = sizeof(all_stages) / sizeof(*all_stages) };

/* ---- the rules; docs/internals/scenarios.md names the source of each and what is read off otherwise here
 * ---- */

/* The host's time is divided into enqueueing (with the copies), reads, and all else: preprocessing. */
static struct other_tool_verdict xprof(const struct pp_report *r)
{
    double exposed = wait_share(r), unknown = step_share(r, total(r, PP_PHASE_DEVICE_SYNC));
    double read = total(r, PP_PHASE_READ), enqueue = total(r, PP_PHASE_H2D), rest = preprocessing(r);
    const char *l1 = read >= enqueue && read >= rest ? "storage" : enqueue >= rest ? "sync" : "transform";
    if (exposed >= 0.05)
        return (struct other_tool_verdict){1, l1};
    return (struct other_tool_verdict){unknown >= 0.03,
                                       NULL}; /* "potentially input-bound": it names no stage */
}

/* The legs of the batch that was waited for longest: the blocking path of the slowest call. */
static const char *slowest_call(const struct pp_report *r)
{
    const struct pp_report_batch *worst = NULL;
    const struct pp_report_leg *best = NULL;
    for (size_t i = 0; i < r->n_waterfalls; i++)
        if (strcmp(r->waterfalls[i].which, "worst") == 0)
            worst = &r->waterfalls[i];
    for (size_t i = 0; worst && i < worst->n_legs; i++)
        if (class_of(worst->legs[i].phase) && (!best || worst->legs[i].in_wait_ns > best->in_wait_ns))
            best = &worst->legs[i];
    return best ? class_of(best->phase) : class_of(largest(r, longest, all_stages, 4));
}

static struct other_tool_verdict tf_data(const struct pp_report *r)
{
    return (struct other_tool_verdict){longest(r, PP_PHASE_DATA_WAIT) > 50e3, slowest_call(r)};
}

static struct other_tool_verdict tensorboard(const struct pp_report *r)
{
    return (struct other_tool_verdict){wait_share(r) > 0.05, "loader"};
}

/* Input, and copies where they block the step (one buffer on the device), are a finding from 10 % each. The
 * residual (here: device sync) is one too, but none of input. It stops at input-bound, so only copies have a
 * class of ours. */
static struct other_tool_verdict traceml(const struct pp_report *r)
{
    double wait = wait_share(r),
           copies = config(r, "copy_buffers", 2) < 2 ? fmin(step_share(r, total(r, PP_PHASE_H2D)), wait) : 0;
    double input = wait - copies;
    return (struct other_tool_verdict){input >= 0.1 || copies >= 0.1,
                                       copies >= 0.1 && copies > input ? "sync" : NULL};
}

static struct other_tool_verdict fastflow(const struct pp_report *r)
{
    return (struct other_tool_verdict){trainer_rate(r) / r->samples_per_s > 1.3, "transform"};
}

static const struct pp_report_queue *queue(const struct pp_report *r, const char *name)
{
    for (size_t i = 0; i < r->n_queues; i++)
        if (strstr(r->queues[i].name, name))
            return &r->queues[i];
    return NULL;
}

/* Readiness is 1 - the time a queue is empty. That of the sink is low: the stage behind which it collapses is
 * to blame, the copies or what comes before them. */
static struct other_tool_verdict spdl(const struct pp_report *r)
{
    const struct pp_report_queue *sink = queue(r, "arrived"), *before = queue(r, "ready");
    double sink_ready = sink ? 1 - sink->share_empty : 1 - wait_share(r),
           before_ready = before ? 1 - before->share_empty : NAN;
    return (struct other_tool_verdict){sink_ready < 0.5 && wait_share(r) > 0.05,
                                       before_ready > 0.5 ? "sync" : "transform"};
}

/* Its three runs give the rates of the trainer alone, of preprocessing with everything cached, and of what a
 * cold cache adds to that. */
static struct other_tool_verdict ds_analyzer(const struct pp_report *r)
{
    double n = (double)r->window_samples, workers = (double)r->n_workers;
    double fetch = workers * n * 1e9 / total(r, PP_PHASE_READ), prep = workers * n * 1e9 / preprocessing(r),
           slower = fmin(fetch, prep);
    return (struct other_tool_verdict){slower < trainer_rate(r), fetch < prep ? "storage" : "transform"};
}

/* The most that the CPUs can make: cores over core-seconds per sample, of all stages. If the trainer takes
 * more, the CPU is the limit, else it is the disk. */
static struct other_tool_verdict plumber(const struct pp_report *r)
{
    const char *usable = pair(r->environment, r->n_environment, "usable_cpus");
    double cpu_ns = 0, cores = usable ? atof(usable) : 1;
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].lane == PP_LANE_WORKER && r->phases[i].cpu_share > 0)
            cpu_ns += r->phases[i].cpu_share * (double)r->phases[i].total_ns;
    double cpu_rate = cpu_ns > 0 ? cores * 1e9 * (double)r->window_samples / cpu_ns : INFINITY;
    return (struct other_tool_verdict){wait_share(r) > 0.05,
                                       cpu_rate < trainer_rate(r) ? "transform" : "storage"};
}

static struct other_tool_verdict msprof(const struct pp_report *r)
{
    return (struct other_tool_verdict){mean(r, PP_PHASE_DATA_WAIT) > 10e6, NULL};
}

static struct other_tool_verdict nsys_gaps(const struct pp_report *r)
{
    return (struct other_tool_verdict){longest(r, PP_PHASE_DATA_WAIT) > 500e6, NULL};
}

/* Any of 30 equal parts of the profile in which the GPU is busy less than half of the time. A trainer's step
 * stands for the kernels, a copy counts like one. */
static struct other_tool_verdict nsys_util(const struct pp_report *r)
{
    enum { PARTS = 30 };
    int low = 0;
    for (size_t part = 0; r->n_slices && part < PARTS; part++) {
        double busy = 0;
        size_t from = part * r->n_slices / PARTS, to = (part + 1) * r->n_slices / PARTS;
        for (size_t i = from; i < to; i++)
            busy += fmin(r->slices[i].step_share + r->slices[i].h2d_share, 1) / (double)(to - from);
        low |= to > from && busy < 0.5;
    }
    return (struct other_tool_verdict){low, NULL};
}

/* Copies from pageable memory that were meant to be asynchronous; a synchronising call in every step. */
static struct other_tool_verdict nsys_rules(const struct pp_report *r)
{
    int pageable = config(r, "pageable", 0) > 0 ||
                   (pair(r->config, r->n_config, "pageable") &&
                    strcmp(pair(r->config, r->n_config, "pageable"), "true") == 0);
    return (struct other_tool_verdict){pageable || total(r, PP_PHASE_DEVICE_SYNC) > 0, "sync"};
}

/* What one does with a table of means. */
static struct other_tool_verdict naive(const struct pp_report *r)
{
    return (struct other_tool_verdict){wait_share(r) > 0.05, class_of(largest(r, mean, all_stages, STAGES))};
}

static const struct {
    const char *name;
    struct other_tool_verdict (*judge)(const struct pp_report *r);
} tools[] = {
    {"XProf", xprof},
    {"tf.data analysis", tf_data},
    {"TensorBoard plugin", tensorboard},
    {"TraceML", traceml},
    {"FastFlow", fastflow},
    {"SPDL", spdl},
    {"DS-Analyzer", ds_analyzer},
    {"Plumber", plumber},
    {"msprof-analyze", msprof},
    {"nsys gpu_gaps", nsys_gaps},
    {"nsys gpu_time_util", nsys_util},
    {"nsys memcpy and sync", nsys_rules},
    {"largest mean wall time", naive},
};

const char *other_tool(int i, const struct pp_report *r, struct other_tool_verdict *out)
{
    if (i < 0 || i >= (int)(sizeof(tools) / sizeof(*tools)))
        return NULL;
    if (r)
        *out = tools[i].judge(r);
    return tools[i].name;
}
