#include "report/rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const char *class_of(pp_phase id)
{
    return id == PP_PHASE_READ ? "storage" : id == PP_PHASE_H2D || id == PP_PHASE_DEVICE_SYNC ? "sync" : id == PP_PHASE_RETRY ? "loader" : "transform";
}

static pp_phase largest(const struct pp_report *r, double (*value)(const struct pp_report *, pp_phase), const pp_phase *ids, size_t n)
{
    pp_phase best = ids[0];
    for (size_t i = 1; i < n; i++)
        if (value(r, ids[i]) > value(r, best))
            best = ids[i];
    return best;
}

static const pp_phase host_stages[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE};
static const pp_phase all_stages[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE, PP_PHASE_H2D, PP_PHASE_DEVICE_SYNC};

/* Of the time of a step. */
static double step_share(const struct pp_report *r, double ns)
{
    double all = total(r, PP_PHASE_DATA_WAIT) + total(r, PP_PHASE_STEP) + total(r, PP_PHASE_DEVICE_SYNC);
    return all > 0 ? ns / all : 0;
}

/* op_stats_to_input_pipeline_analysis.cc: (host wait + H2D) / step: 5 % moderately, 20 % highly; the host's time is reads or, all else, preprocessing. */
static struct pp_rival_verdict xprof(const struct pp_report *r)
{
    double exposed = step_share(r, total(r, PP_PHASE_DATA_WAIT));
    return (struct pp_rival_verdict){exposed >= 0.05, class_of(largest(r, total, host_stages, 4))};
}

/* xplane_to_tf_data_stats.cc: the slowest get-next call is over 50 us; the iterator with the longest self time of that one call. */
static struct pp_rival_verdict tf_data(const struct pp_report *r)
{
    return (struct pp_rival_verdict){longest(r, PP_PHASE_DATA_WAIT) > 50e3, class_of(largest(r, longest, host_stages, 4))};
}

/* profiler/data.py: exposed loader time over 5 % of the step: "increase num_workers". */
static struct pp_rival_verdict tensorboard(const struct pp_report *r)
{
    return (struct pp_rival_verdict){step_share(r, total(r, PP_PHASE_DATA_WAIT)) > 0.05, "loader"};
}

/* Input wait and H2D or residual from 10 % of the step; stops at input-bound. */
static struct pp_rival_verdict traceml(const struct pp_report *r)
{
    double wait = step_share(r, total(r, PP_PHASE_DATA_WAIT)), sync = step_share(r, total(r, PP_PHASE_DEVICE_SYNC));
    return (struct pp_rival_verdict){wait >= 0.1 || sync >= 0.1, sync > wait ? "sync" : NULL};
}

/* fastflow/model.py: the rate without input over the rate with it is over 1.3: preprocessing is to be offloaded. */
static struct pp_rival_verdict fastflow(const struct pp_report *r)
{
    return (struct pp_rival_verdict){r->headroom_samples_per_s / r->samples_per_s > 1.3, "transform"};
}

static const struct pp_report_queue *queue(const struct pp_report *r, const char *name)
{
    for (size_t i = 0; i < r->n_queues; i++)
        if (strstr(r->queues[i].name, name))
            return &r->queues[i];
    return NULL;
}

/* Data readiness (1 - time empty) of the sink is low; the stage after which it collapses is to blame: before the copy lane, or the copy lane. */
static struct pp_rival_verdict spdl(const struct pp_report *r)
{
    const struct pp_report_queue *sink = queue(r, "arrived"), *before = queue(r, "ready");
    double sink_ready = sink ? 1 - sink->share_empty : NAN, before_ready = before ? 1 - before->share_empty : NAN;
    double waited = step_share(r, total(r, PP_PHASE_DATA_WAIT));
    return (struct pp_rival_verdict){(isnan(sink_ready) ? waited : 1 - sink_ready) > 0.5 && waited > 0.05, before_ready > 0.5 ? "sync" : "transform"};
}

/* Plumber: the least of cores x samples per core-second over the stages, against the rate that is asked for. */
static struct pp_rival_verdict plumber(const struct pp_report *r)
{
    double cpu_ns = 0, cores = 1;
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].lane == PP_LANE_WORKER && r->phases[i].cpu_share > 0)
            cpu_ns += r->phases[i].cpu_share * (double)r->phases[i].total_ns;
    for (size_t i = 0; i < r->n_environment; i++)
        if (strcmp(r->environment[i].key, "usable_cpus") == 0)
            cores = atof(r->environment[i].value);
    double cpu_rate = cpu_ns > 0 ? cores * 1e9 * (double)r->window_samples / cpu_ns : INFINITY;
    return (struct pp_rival_verdict){step_share(r, total(r, PP_PHASE_DATA_WAIT)) > 0.05, cpu_rate < r->headroom_samples_per_s ? "transform" : "storage"};
}

/* msprof-analyze: more than 10 ms of loader time in a step. */
static struct pp_rival_verdict msprof(const struct pp_report *r)
{
    return (struct pp_rival_verdict){mean(r, PP_PHASE_DATA_WAIT) > 10e6, NULL};
}

/* nsys analyze, gpu_gaps: a gap of 500 ms. */
static struct pp_rival_verdict nsys(const struct pp_report *r)
{
    return (struct pp_rival_verdict){longest(r, PP_PHASE_DATA_WAIT) > 500e6, NULL};
}

/* What one does with a table of means. */
static struct pp_rival_verdict naive(const struct pp_report *r)
{
    pp_phase best = largest(r, mean, all_stages, 6);
    return (struct pp_rival_verdict){step_share(r, total(r, PP_PHASE_DATA_WAIT)) > 0.05, class_of(best)};
}

static const struct {
    const char *name;
    struct pp_rival_verdict (*judge)(const struct pp_report *r);
} rivals[] = {
    {"XProf", xprof}, {"tf.data analysis", tf_data}, {"TensorBoard plugin", tensorboard}, {"TraceML", traceml}, {"FastFlow", fastflow}, {"SPDL", spdl},
    {"Plumber", plumber}, {"msprof-analyze", msprof}, {"nsys gpu_gaps", nsys}, {"largest mean wall time", naive},
};

const char *pp_rival(int i, const struct pp_report *r, struct pp_rival_verdict *out)
{
    if (i < 0 || i >= (int)(sizeof(rivals) / sizeof(*rivals)))
        return NULL;
    if (r)
        *out = rivals[i].judge(r);
    return rivals[i].name;
}
