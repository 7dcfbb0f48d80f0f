/* The table of metrics, and where each value comes from. */
#include "report/metrics/metrics.h"

#define WORKERS_MOST 64 /* with more, their errors are told as a sum alone */

static double number_of(const struct pp_metrics_view *v, const char *section, const char *key)
{
    const struct pp_live_fact *f = pp_live_fact_of(v->facts, v->n_facts, section, key);
    return f && f->numeric ? atof(f->value) : NAN;
}

static void put(struct pp_metric_out *out, const struct pp_metric_point *p)
{
    if (!isnan(p->value) || p->histogram)
        out->fn(out->ctx, out->metric, p);
}

static void put_one(struct pp_metric_out *out, const char *label, const char *text, double value)
{
    put(out, &(struct pp_metric_point){.label = {{label, text}}, .n_labels = 1, .value = value});
}

/* A value of one member of the view; NAN: that is not there. */
#define VALUE(name, member, expression) \
    static double name(const struct pp_metrics_view *v) \
    { \
        __typeof__(v->member) of = v->member; \
        return of ? (expression) : NAN; \
    }

/* One point for each of n members of the view that is_there. */
#define EACH(name, n, is_there, label, text, number) \
    static void name(const struct pp_metrics_view *v, struct pp_metric_out *out) \
    { \
        for (size_t i = 0; i < (n); i++) \
            if (is_there) \
                put_one(out, label, text, (double)(number)); \
    }

/* ---- the run ---- */

static void each_run(const struct pp_metrics_view *v, struct pp_metric_out *out)
{
    static const struct {
        const char *label, *section, *key;
    } rows[] = {{"version", "run", "version"},          {"tool", "run", "tool"},
                {"dataset_format", "config", "format"}, {"workers", "config", "workers"},
                {"batch_size", "config", "batch_size"}, {"device", "config", "device_kind"}};
    struct pp_metric_point p = {.value = 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct pp_live_fact *f = pp_live_fact_of(v->facts, v->n_facts, rows[i].section, rows[i].key);
        if (f && *f->value)
            p.label[p.n_labels++] = (struct pp_metric_label){rows[i].label, f->value};
    }
    put(out, &p);
}

static double utc_of(const struct pp_metrics_view *v, double mono_s)
{
    return number_of(v, "run", "started_utc_ns") / 1e9 + mono_s -
           number_of(v, "run", "started_mono_ns") / 1e9;
}

VALUE(run_start, facts, number_of(v, "run", "started_utc_ns") / 1e9)
VALUE(run_end, snap,
      of->last_s < of->first_s || of->at_s >= of->last_s
          ? utc_of(v, number_of(v, "run", "ended_mono_ns") / 1e9)
          : NAN)
VALUE(last_second, snap,
      of->last_s >= of->first_s
          ? utc_of(v, fmin((double)(of->at_s + 1), number_of(v, "run", "ended_mono_ns") / 1e9))
          : NAN)

/* ---- counters ---- */

VALUE(samples, totals, of->samples)
VALUE(batches, totals, of->batches)

/* What happens once, and what the copy lane's other phases leave of its time, are in the report. */
static void each_phase(const struct pp_metrics_view *v, struct pp_metric_out *out)
{
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        for (unsigned phase = 1; phase < PP_PHASE_COUNT; phase++) {
            const struct pp_live_total *t = &v->totals->phase[lane][phase];
            int once = phase == PP_PHASE_STARTUP || phase == PP_PHASE_SAMPLER || phase == PP_PHASE_COUNTER;
            int idle = lane == PP_LANE_COPY && (phase == PP_PHASE_GET_WAIT || phase == PP_PHASE_PUT_WAIT);
            if (t->n && !once && !idle)
                put(out, &(struct pp_metric_point){
                             .label = {{"phase", pp_phase_info(phase)->name},
                                       {"lane", pp_lane_name((pp_lane)lane)}},
                             .n_labels = 2,
                             .value = (double)t->total_ns / 1e9,
                         });
        }
}

static void each_duration(const struct pp_metrics_view *v, struct pp_metric_out *out)
{
    struct pp_metric_histogram h = {.bounds = pp_live_wait_bounds_s, .n_bounds = PP_LIVE_WAIT_BOUNDS};
    uint64_t sum = 0;
    for (int i = 0; i <= PP_LIVE_WAIT_BOUNDS; i++)
        h.count[i] = sum += v->totals->waits[i];
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        h.sum += (double)v->totals->phase[lane][PP_PHASE_DATA_WAIT].total_ns / 1e9;
    if (sum)
        put(out, &(struct pp_metric_point){.label = {{"phase", pp_phase_info(PP_PHASE_DATA_WAIT)->name}},
                                           .n_labels = 1,
                                           .histogram = &h});
}

static double read_bytes(const struct pp_metrics_view *v)
{
    double sum = 0, n = 0;
    for (int lane = 0; lane < PP_LANE_COUNT; lane++) {
        sum += (double)v->totals->phase[lane][PP_PHASE_READ].bytes;
        n += (double)v->totals->phase[lane][PP_PHASE_READ].n;
    }
    return n > 0 ? sum : NAN;
}

/* A file system that does not tell looks like one without a hit: the report knows which it is. */
VALUE(cache_hits, totals,
      of->cache_hit_bytes || (v->report && !isnan(v->report->cache_hit_share)) ? (double)of->cache_hit_bytes
                                                                               : NAN)

EACH(each_error, PP_LIVE_ERROR_KINDS, v->totals->errors[i].name[0], "kind", v->totals->errors[i].name,
     v->totals->errors[i].count)
EACH(each_lost, 1, 1, "what", "ring_full", v->totals->dropped)

static void each_worker(const struct pp_metrics_view *v, struct pp_metric_out *out)
{
    char index[24];
    for (size_t i = 0; v->snap->n_workers <= WORKERS_MOST && i < v->snap->n_workers; i++) {
        snprintf(index, sizeof(index), "%zu", i);
        if (v->snap->workers[i].errors)
            put_one(out, "worker", index, (double)v->snap->workers[i].errors);
    }
}

/* ---- the last seconds ---- */

VALUE(workers, snap, of->n_workers ? (double)of->n_workers : NAN)
VALUE(wait_ratio, snap, of->wait_share)
VALUE(utilization, snap, of->accelerator_utilization)
VALUE(stalled, snap, of->last_s >= of->first_s ? of->stalled_ns / 1e9 : NAN)
VALUE(hung, snap, of->last_s >= of->first_s ? of->hung_ns / 1e9 : NAN)
VALUE(buffer_lasts, snap, of->buffer_lasts_s)
VALUE(machine_cpu, snap, of->cpu_busy)
VALUE(gpu_utilization, snap, of->gpu[PP_LIVE_GPU_UTILIZATION] / 100)
VALUE(gpu_memory, snap, of->gpu[PP_LIVE_GPU_MEMORY])

EACH(each_depth, v->snap->n_queues, 1, "queue", v->snap->queues[i].name, v->snap->queues[i].depth)
EACH(each_capacity, v->snap->n_queues, v->snap->queues[i].capacity, "queue", v->snap->queues[i].name,
     v->snap->queues[i].capacity)

/* ---- the report ---- */

static void each_verdict(const struct pp_metrics_view *v, struct pp_metric_out *out)
{
    const struct pp_report_verdict *d = v->report ? &v->report->verdict : NULL;
    if (d)
        put(out, &(struct pp_metric_point){
                     .label = {{"class", d->l1 ? d->l1 : d->l0}, {"cause", d->l1 && d->l2 ? d->l2 : "none"}},
                     .n_labels = 2,
                     .value = 1,
                 });
}

VALUE(confidence, report, of->verdict.confidence)
VALUE(exposed, report, of->verdict.exposed_share)
VALUE(wait_cost, report, pp_report_wait_cost(of, v->gpu_hour))
VALUE(explained, report, of->verdict.explained)
VALUE(window, report, of->has_steady_state ? of->window_s : NAN)
VALUE(headroom, report, of->headroom_gain)
VALUE(starved, report, of->gpu && !of->gpu->not_measured ? of->gpu->idle_share[PP_GPU_IDLE_DATA] : NAN)
VALUE(overhead, report, of->overhead_share)

/* ---- the sender ---- */

VALUE(sender_cpu, sender, of->cpu_s)
VALUE(pushes, sender, of->pushing ? (double)of->pushes : NAN)
VALUE(pushes_lost, sender, of->pushing ? (double)of->pushes_lost : NAN)
#undef VALUE
#undef EACH

#define NAMED(metric, kind, in, own, words) \
    .name = "pipeprobe_" metric, .type = PP_METRIC_##kind, .unit = in, .labels = own, .help = words
/* clang-format off */
const struct pp_metric pp_metrics[] = {
    {NAMED("run", INFO, "", "version, tool, dataset_format, workers, batch_size, device",
           "The recording and how it was made."), .use = "the lists of jobs and ranks of the dashboard", .each = each_run},
    {NAMED("run_start_timestamp_seconds", GAUGE, "seconds", "", "When the run began."), .use = "the length of a run", .rare = 1, .value = run_start},
    {NAMED("run_end_timestamp_seconds", GAUGE, "seconds", "", "When the run ended; absent while it goes on."),
     .use = "alert *RecordingStopped*", .value = run_end},
    {NAMED("last_second_timestamp_seconds", GAUGE, "seconds", "",
           "End of the newest complete second of the recording."), .use = "alert *RecordingStopped*", .value = last_second},
    {NAMED("workers", GAUGE, "", "", "Worker and reader lanes seen."), .use = "as the label of `run_info`, for loaders that do not say", .rare = 1, .value = workers},
    {NAMED("samples", COUNTER, "", "", "Samples finished by the workers since the start."), .use = "panel *Throughput*", .value = samples},
    {NAMED("batches", COUNTER, "", "", "Batches taken by the trainer since the start."), .use = "panel *Copy to the device*", .value = batches},
    {NAMED("phase_seconds", COUNTER, "seconds", "phase, lane",
           "Time of the lane's threads in a phase since the start; over samples or batches the mean of one."),
     .use = "panels *Time by phase*, *Copy to the device*", .each = each_phase},
    {NAMED("phase_duration_seconds", HISTOGRAM, "seconds", "phase",
           "Length of the trainer's waits for a batch."), .use = "panel *Wait for a batch*", .each = each_duration},
    {NAMED("data_wait_ratio", GAUGE, "ratio", "",
           "Share of step time that the trainer waited for data, over the window."), .use = "panels of the data wait, alerts *InputBound*, *RankBehind*", .value = wait_ratio},
    {NAMED("accelerator_utilization_ratio", GAUGE, "ratio", "",
           "Share of the window that the trainer's steps took."), .use = "MLPerf Storage's AU", .rare = 1, .value = utilization},
    {NAMED("gpu_starved_ratio", GAUGE, "ratio", "",
           "Share of the run's steady state that the GPU was idle and waited for data."), .use = "how much of the GPU's idle time is the input's", .value = starved},
    {NAMED("queue_depth", GAUGE, "", "queue", "Batches in a queue, mean of the last second."),
     .use = "panel *Queues*", .each = each_depth},
    {NAMED("queue_capacity", GAUGE, "", "queue", "Batches that a queue holds."), .use = "panel *Queues*", .each = each_capacity},
    {NAMED("read_bytes", COUNTER, "bytes", "", "Bytes read since the start."), .use = "panels *Reads*, *Page-cache hits*", .value = read_bytes},
    {NAMED("cache_hit_bytes", COUNTER, "bytes", "", "Bytes of them that the page cache held."),
     .use = "panel *Page-cache hits*", .value = cache_hits},
    {NAMED("errors", COUNTER, "", "kind", "Errors of reading and decoding since the start."),
     .use = "panel *Errors*, alert *SampleErrors*", .each = each_error},
    {NAMED("worker_errors", COUNTER, "", "worker", "Errors of a worker that had any; absent with more than 64 workers."),
     .use = "panel *Errors*", .each = each_worker},
    {NAMED("spans_lost", COUNTER, "", "what", "Spans that the recording lacks."), .use = "panel *Missing in the recordings*, alert *SpansLost*", .each = each_lost},
    {NAMED("trainer_stalled_seconds", GAUGE, "seconds", "",
           "How long the trainer had been in one wait at the end of the last second; 0: in none."),
     .use = "alert *TrainerStalled*", .value = stalled},
    {NAMED("worker_hung_seconds", GAUGE, "seconds", "",
           "How long a worker has been in one piece of work far beyond its usual time; 0: no worker."),
     .use = "alert *WorkerHung*", .value = hung},
    {NAMED("buffer_lasts_seconds", GAUGE, "seconds", "",
           "Time until the prefetched batches are used up; absent while they do not become fewer."),
     .use = "a stall before it comes", .rare = 1, .value = buffer_lasts},
    {NAMED("machine_cpu_ratio", GAUGE, "ratio", "", "Share of the machine's CPUs in use."),
     .use = "machines without node_exporter", .rare = 1, .value = machine_cpu},
    {NAMED("gpu_utilization_ratio", GAUGE, "ratio", "", "Share of time that a kernel ran, from NVML."),
     .use = "panel *Data wait beside GPU utilisation*", .value = gpu_utilization},
    {NAMED("gpu_memory_used_bytes", GAUGE, "bytes", "", "GPU memory in use, from NVML."), .use = "machines without dcgm-exporter", .rare = 1, .value = gpu_memory},
    {NAMED("verdict", GAUGE, "", "class, cause",
           "1 for what bounds the newest 64 batches (10 s at least), after the end the run; class is also not-input-bound or inconclusive."),
     .use = "panel *Verdict*", .each = each_verdict},
    {NAMED("verdict_confidence_ratio", GAUGE, "ratio", "", "Calibrated chance that the class is right."),
     .use = "panel *Confidence of the verdict*", .value = confidence},
    {NAMED("verdict_exposed_ratio", GAUGE, "ratio", "",
           "Share of the trainer's time that the verdict is decided by: data wait, device sync, collective and "
           "stretched steps."), .use = "what the verdict rests on", .rare = 1, .value = exposed},
    {NAMED("verdict_explained_ratio", GAUGE, "ratio", "", "Share of the wait that the named cause explains."),
     .use = "what the verdict rests on", .rare = 1, .value = explained},
    {NAMED("wait_cost_per_day", GAUGE, "", "",
           "What the wait costs in a day for one GPU, in the currency of --gpu-hour; without a price there is no "
           "series."), .use = "what a manager asks", .value = wait_cost},
    {NAMED("verdict_window_seconds", GAUGE, "seconds", "", "Steady-state time that the verdict rests on."),
     .use = "what the verdict rests on", .rare = 1, .value = window},
    {NAMED("headroom_ratio", GAUGE, "ratio", "", "Gain of throughput if the exposed time were gone."),
     .use = "what a fix can gain", .rare = 1, .value = headroom},
    {NAMED("recording_overhead_ratio", GAUGE, "ratio", "", "Share of the usable CPUs that recording takes."),
     .use = "panel *Cost of recording*", .value = overhead},
    {NAMED("sender_cpu_seconds", COUNTER, "seconds", "", "CPU time of the process that sends the metrics."),
     .use = "panel *Cost of recording*", .value = sender_cpu},
    {NAMED("pushes", COUNTER, "", "", "Bodies that servers took, of a Pushgateway or OpenTelemetry."), .use = "a server that takes nothing", .rare = 1, .value = pushes},
    {NAMED("pushes_lost", COUNTER, "", "", "Bodies that were not sent or not taken."), .use = "panel *Missing in the recordings*", .value = pushes_lost},
    {.name = NULL},
};
/* clang-format on */

void pp_metrics_each(const struct pp_metrics_view *v, pp_metric_fn *fn, void *ctx)
{
    for (const struct pp_metric *m = pp_metrics; m->name; m++) {
        struct pp_metric_out out = {.metric = m, .fn = fn, .ctx = ctx};
        if (m->rare && !v->all)
            continue;
        if (m->each)
            m->each(v, &out);
        else
            put(&out, &(struct pp_metric_point){.value = m->value(v)});
    }
}
