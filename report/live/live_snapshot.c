/* Sums of the history over a window, as a snapshot. */
#include "report/live/live_impl.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "report/measure/tally.h"
#include "report/model/spent.h"

#define GPU_FRESH_NS (3 * LIVE_SECOND_NS)

/* The way of a batch through the pipeline; within a lane, waiting comes after what it waits for. */
static const pp_lane lane_order[] = {PP_LANE_READER, PP_LANE_WORKER,  PP_LANE_COPY,
                                     PP_LANE_DEVICE, PP_LANE_TRAINER, PP_LANE_MAIN};
static const pp_phase phase_order[] = {
    PP_PHASE_STARTUP,     PP_PHASE_SAMPLER,       PP_PHASE_LEASE,
    PP_PHASE_LEASE_WAIT,  PP_PHASE_DISPATCH_WAIT, PP_PHASE_READ,
    PP_PHASE_RETRY,       PP_PHASE_DECODE,        PP_PHASE_TRANSFORM,
    PP_PHASE_COLLATE,     PP_PHASE_SLOT_WAIT,     PP_PHASE_GET_WAIT,
    PP_PHASE_PIN,         PP_PHASE_GPU_DECODE,    PP_PHASE_H2D,
    PP_PHASE_PUT_WAIT,    PP_PHASE_DATA_WAIT,     PP_PHASE_STEP,
    PP_PHASE_DEVICE_SYNC, PP_PHASE_COLLECTIVE,    PP_PHASE_EPOCH_BOUNDARY,
    PP_PHASE_CHECKPOINT,
};

struct sums {
    uint64_t n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes;
};

struct window {
    uint64_t from_s, to_s;
    double covered_s;
    uint64_t told_until_ns; /* errors and events up to here */
    struct sums sum[PP_LANE_COUNT][PP_PHASE_COUNT];
    unsigned threads[PP_LANE_COUNT];
};

/* NAN stays NAN. */
static double at_most_1(double share)
{
    return share > 1 ? 1 : share;
}

/* How much of second s the run covers, in seconds. */
static double covered(const struct pp_live *l, uint64_t s)
{
    double from = (double)s, to = from + 1, begin = (double)l->origin_ns / 1e9,
           end = (double)l->ended_ns / 1e9;
    if (l->origin_ns && begin > from)
        from = begin;
    if (l->ended_ns && end < to)
        to = end;
    return to > from ? to - from : 0;
}

static void add_sums(struct sums *to, const struct live_part *p)
{
    to->n += p->n;
    to->total_ns += p->total_ns;
    to->max_ns = p->max_ns > to->max_ns ? p->max_ns : to->max_ns;
    to->cpu_ns += p->cpu_ns;
    to->run_delay_ns += p->run_delay_ns;
    to->bytes += p->bytes;
}

/* The part of the window that a thread spent in a phase that was open at its end, when that is long: it is
 * not among the ended spans yet, and while all hangs there are no others. total_ns 0: there is none. */
static struct live_part hanging(const struct pp_live *l, const struct window *w, size_t row)
{
    const struct live_seen *seen = l->seen ? &l->seen[row] : NULL;
    if (!seen || !seen->open_ns || seen->open_since_ns + LIVE_SECOND_NS > seen->open_ns)
        return (struct live_part){0};
    uint64_t from = w->from_s * LIVE_SECOND_NS,
             since = seen->open_since_ns > from ? seen->open_since_ns : from;
    uint64_t ns = seen->open_ns > since ? seen->open_ns - since : 0;
    return (struct live_part){.thread = l->threads[row].id,
                              .phase = seen->open_phase,
                              .total_ns = ns,
                              .max_ns = ns};
}

static void sum_window(const struct pp_live *l, struct window *w)
{
    for (uint64_t s = w->from_s; s <= w->to_s; s++) {
        const struct live_second *sec = live_second_at(l, s);
        w->covered_s += covered(l, s);
        for (uint32_t i = 0; i < sec->n; i++) {
            long row = live_thread_row(l, sec->parts[i].thread);
            if (row >= 0)
                add_sums(&w->sum[l->threads[row].lane][sec->parts[i].phase], &sec->parts[i]);
        }
    }
    for (size_t i = 0; i < l->n_threads; i++) {
        struct live_part open = hanging(l, w, i);
        add_sums(&w->sum[l->threads[i].lane][open.phase], &open);
        w->threads[l->threads[i].lane]++;
    }
}

static void put_stages(struct pp_live *l, const struct window *w, struct pp_live_snapshot *out)
{
    for (size_t a = 0; a < sizeof(lane_order) / sizeof(*lane_order); a++)
        for (size_t b = 0; b < sizeof(phase_order) / sizeof(*phase_order); b++) {
            pp_lane lane = lane_order[a];
            const struct sums *s = &w->sum[lane][phase_order[b]];
            if ((!s->n && !s->total_ns) ||
                !live_room(l, &l->stages, out->n_stages, &l->cap_stages, sizeof(*l->stages)))
                continue;
            struct pp_live_stage *g = &l->stages[out->n_stages++];
            double lane_ns = w->covered_s * 1e9 * w->threads[lane];
            *g = (struct pp_live_stage){
                .phase = phase_order[b],
                .lane = lane,
                .threads = w->threads[lane],
                .n = s->n,
                .max_ns = s->max_ns,
                .per_s = (double)s->n / w->covered_s,
                .mean_ns = s->n ? (double)s->total_ns / (double)s->n : NAN,
                .bytes_per_s = (double)s->bytes / w->covered_s,
                .cpu = NAN,
                .run_queue = NAN,
                .blocked = NAN,
                .share = lane_ns > 0 ? at_most_1((double)s->total_ns / lane_ns) : NAN,
            };
            if (s->total_ns && s->cpu_ns + s->run_delay_ns) {
                const struct pp_split split = {.measured_ns = (double)s->total_ns,
                                               .cpu_ns = (double)s->cpu_ns,
                                               .run_delay_ns = (double)s->run_delay_ns};
                g->cpu = pp_split_cpu(&split);
                g->run_queue = pp_split_run_delay(&split);
                g->blocked = pp_split_blocked(&split);
            }
        }
    out->stages = l->stages;
}

/* Samples a lane finished: those that went through its last work on single samples. */
static uint64_t samples_of(const struct sums sum[PP_PHASE_COUNT])
{
    return live_samples(
        (const uint64_t[]){sum[PP_PHASE_TRANSFORM].n, sum[PP_PHASE_DECODE].n, sum[PP_PHASE_READ].n});
}

/* row: of one lane; -1: of all. */
static uint64_t errors_until(const struct pp_live *l, uint64_t to_ns, long row)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < l->n_errors; i++)
        if (l->errors[i].t_ns < to_ns && (row < 0 || live_thread_row(l, l->errors[i].thread) == row))
            sum += l->errors[i].count;
    return sum;
}

static void fill_worker(const struct pp_live *l, const struct window *w, size_t row,
                        const struct sums sum[PP_PHASE_COUNT], struct pp_live_worker *out)
{
    const struct live_thread *t = &l->threads[row];
    double wall_ns = w->covered_s * 1e9, busy = 0, waiting = 0, cpu = 0, delay = 0, longest = 0;
    for (int p = 1; p < PP_PHASE_COUNT; p++) {
        int works = pp_phase_info((unsigned)p)->kind == PP_KIND_WORK;
        *(works ? &busy : &waiting) += (double)sum[p].total_ns;
        cpu += (double)sum[p].cpu_ns;
        delay += (double)sum[p].run_delay_ns;
        if (works && (double)sum[p].max_ns > longest)
            longest = (double)sum[p].max_ns;
    }
    int measured = cpu + delay > 0;
    const struct live_second *newest = live_second_at(l, w->to_s);
    uint64_t total[PP_PHASE_COUNT] = {0};
    pp_phase most = PP_PHASE_NONE;
    for (uint32_t i = 0; i < newest->n; i++)
        if (live_thread_row(l, newest->parts[i].thread) == (long)row)
            total[newest->parts[i].phase] += newest->parts[i].total_ns;
    for (int p = 1; p < PP_PHASE_COUNT; p++)
        most = total[p] > total[most] ? (pp_phase)p : most;
    *out = (struct pp_live_worker){
        .thread = t->id,
        .lane = t->lane,
        .name = t->name,
        .state = most,
        .errors = errors_until(l, w->told_until_ns, (long)row),
        .samples_per_s = (double)samples_of(sum) / w->covered_s,
        .busy = at_most_1(busy / wall_ns),
        .waiting = at_most_1(waiting / wall_ns),
        .cpu = measured ? at_most_1(cpu / wall_ns) : NAN,
        .run_queue = measured ? at_most_1(delay / wall_ns) : NAN,
        .sample = PP_NO_SAMPLE,
        .sample_age_ns = NAN,
        .max_ns = longest,
    };
    if (l->seen) {
        /* A phase that began before the second did is what the thread was in all the second long. */
        const struct live_seen *seen = &l->seen[row];
        int looked = seen->open_ns != 0, same = seen->sample == seen->open_sample;
        uint64_t at = looked ? seen->open_ns : ((w->to_s + 1) * LIVE_SECOND_NS),
                 since = looked && !same ? seen->open_since_ns : seen->sample_start_ns;
        if (looked && (out->state == PP_PHASE_NONE || seen->open_since_ns + LIVE_SECOND_NS <= seen->open_ns))
            out->state = seen->open_phase;
        out->sample = looked ? seen->open_sample : seen->sample;
        out->path = looked && seen->path[0] ? seen->path : NULL;
        if (out->sample != PP_NO_SAMPLE)
            out->sample_age_ns = at > since ? (double)(at - since) : 0;
    }
}

static pp_status put_workers(struct pp_live *l, const struct window *w, struct pp_live_snapshot *out,
                             struct pp_err *err)
{
    struct sums(*sum)[PP_PHASE_COUNT] = calloc(l->n_threads + 1, sizeof(*sum));
    struct pp_live_worker *rows = realloc(l->worker_rows, (l->n_threads + 1) * sizeof(*rows));
    l->worker_rows = rows ? rows : l->worker_rows;
    if (!sum || !rows) {
        free(sum);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the worker table of %s", l->path);
    }
    for (uint64_t s = w->from_s; s <= w->to_s; s++) {
        const struct live_second *sec = live_second_at(l, s);
        for (uint32_t i = 0; i < sec->n; i++) {
            long row = live_thread_row(l, sec->parts[i].thread);
            if (row >= 0)
                add_sums(&sum[row][sec->parts[i].phase], &sec->parts[i]);
        }
    }
    for (size_t i = 0; i < l->n_threads; i++) {
        struct live_part open = hanging(l, w, i);
        add_sums(&sum[i][open.phase], &open);
        if (l->threads[i].lane == PP_LANE_WORKER || l->threads[i].lane == PP_LANE_READER)
            fill_worker(l, w, i, (const struct sums *)sum[i], &rows[out->n_workers++]);
    }
    free(sum);
    out->workers = rows;
    return PP_OK;
}

double live_wait_share(const struct pp_live *l, uint64_t s)
{
    const struct live_second *sec = live_second_at(l, s);
    if (sec->step_ns)
        return pp_share_of_step_time(sec->wait_ns, sec->wait_ns + sec->step_ns);
    return sec->open_wait_ns ? 1
                             : NAN; /* nothing ended, and the trainer was waiting when the recorder looked */
}

/* Where the nearest stretch of stalled seconds begins, looking back (step -1) or on (step 1). */
static uint64_t stall_from(const struct pp_live *l, const struct pp_live_snapshot *out, int step)
{
    uint64_t s = out->at_s;
    while (step < 0 ? s > out->first_s : s < out->last_s) {
        s += step < 0 ? UINT64_MAX : 1;
        if (l->stalled[s - l->base_s] && (s == out->first_s || !l->stalled[s - 1 - l->base_s]))
            return s;
    }
    return out->at_s;
}

static void put_totals(const struct pp_live *l, const struct window *w, struct pp_live_snapshot *out)
{
    const struct sums *t = w->sum[PP_LANE_TRAINER];
    uint64_t wait_ns = t[PP_PHASE_DATA_WAIT].total_ns + t[PP_PHASE_DEVICE_SYNC].total_ns,
             step_ns = t[PP_PHASE_STEP].total_ns;
    uint64_t batches = 0, samples = samples_of(w->sum[PP_LANE_WORKER]);
    double read_bytes = (double)(w->sum[PP_LANE_WORKER][PP_PHASE_READ].bytes +
                                 w->sum[PP_LANE_READER][PP_PHASE_READ].bytes);
    for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
        batches += live_takes_batch(l, phase) ? t[phase].n : 0;
    out->window_s = w->covered_s;
    out->batches_per_s = w->covered_s > 0 ? (double)batches / w->covered_s : NAN;
    out->samples_per_s = w->covered_s > 0 && samples ? (double)samples / w->covered_s
                                                     : out->batches_per_s * l->batch_size;
    out->wait_share = pp_share_of_step_time(wait_ns, wait_ns + step_ns + t[PP_PHASE_COLLECTIVE].total_ns);
    /* of a PyTorch job without a GPU there is none to use, as in the report */
    out->accelerator_utilization = t[PP_PHASE_STEP].total_ns && w->covered_s > 0 &&
                                           (!l->ends_epochs || l->n_gpu)
                                       ? at_most_1((double)step_ns / (w->covered_s * 1e9))
                                       : NAN;
    out->step_ns = t[PP_PHASE_STEP].n ? (double)step_ns / (double)t[PP_PHASE_STEP].n : NAN;
    out->read_bytes_per_s = w->covered_s > 0 ? read_bytes / w->covered_s : NAN;
    out->errors = errors_until(l, w->told_until_ns, -1);
    for (size_t i = 0; i < l->n_threads; i++)
        out->dropped += l->threads[i].dropped;
    for (size_t i = l->seen ? l->n_threads : 0; i-- > 0;)
        if (l->threads[i].lane == PP_LANE_TRAINER && l->seen[i].open_ns &&
            l->seen[i].open_phase == PP_PHASE_DATA_WAIT)
            out->stalled_ns = (double)(l->seen[i].open_ns - l->seen[i].open_since_ns);
    out->workers_n = w->threads[PP_LANE_WORKER];
    while (out->n_events < l->n_events && l->events[out->n_events].t_ns < w->told_until_ns)
        out->n_events++;
    out->events = l->events;
}

/* Everything of *out that a second and the window before it decide. */
static pp_status look_back(struct pp_live *l, unsigned window_s, struct pp_live_snapshot *out,
                           struct pp_err *err)
{
    /* Errors and events of the second that is still being written are told at once. */
    struct window w = {.to_s = out->at_s,
                       .from_s = out->at_s + 1 - out->first_s > window_s ? out->at_s + 1 - window_s
                                                                         : out->first_s,
                       .told_until_ns = out->at_s >= out->last_s ? UINT64_MAX
                                                                 : (out->at_s + 1) * LIVE_SECOND_NS};
    pp_status status = live_near(l, out->at_s, err);
    sum_window(l, &w);
    put_totals(l, &w, out);
    uint64_t until = (out->at_s + 1) * LIVE_SECOND_NS,
             since = until > GPU_FRESH_NS ? until - GPU_FRESH_NS : 0;
    size_t before = PP_BEFORE(l->n_gpu, i, l->gpu[i].t_ns < until); /* they come in order of time */
    while (before-- > 0 && l->gpu[before].t_ns >= since)
        if (isnan(out->gpu[l->gpu[before].what]))
            out->gpu[l->gpu[before].what] = l->gpu[before].value;
    put_stages(l, &w, out);
    for (size_t i = 0; i < l->n_queues; i++) {
        struct pp_live_queue *q = &out->queues[out->n_queues++];
        memcpy(q->name, l->queue_text[i], sizeof(q->name));
        q->depth = l->queue_sum[i] / l->queue_n[i];
        int is_slots = strncmp(q->name, "ready", 5) == 0 || strncmp(q->name, "free", 4) == 0;
        double capacity = strncmp(q->name, "device", 6) == 0 ? l->copy_buffers
                          : is_slots
                              ? l->workers * l->prefetch + !l->ends_epochs /* of ours, the one being filled */
                              : NAN;
        q->capacity = capacity >= 1 ? (uint64_t)capacity : 0;
    }
    uint64_t have = out->at_s + 1 - out->first_s;
    out->n_series = have < PP_LIVE_SERIES ? (size_t)have : PP_LIVE_SERIES;
    for (size_t i = 0; i < out->n_series; i++) {
        uint64_t s = out->at_s + 1 - out->n_series + i;
        out->wait_series[i] = (float)live_wait_share(l, s);
        const struct live_second *sec = live_second_at(l, s);
        double seconds = covered(l, s);
        out->rate_series[i] = seconds > 0 ? (float)((double)live_samples(sec->work_n) / seconds) : NAN;
    }
    out->stall_before_s = stall_from(l, out, -1);
    out->stall_after_s = stall_from(l, out, 1);
    pp_status workers = put_workers(l, &w, out, err);
    live_put_debt(l, out);
    live_put_hang(l, out);
    live_put_meters(l, window_s, out);
    out->batch = l->batch;
    out->batch_wait_ns = l->batch_wait_ns;
    out->batch_from_ns = l->batch_from_ns;
    out->batch_to_ns = l->batch_to_ns;
    out->bars = l->bars;
    out->n_bars = l->n_bars;
    return status != PP_OK ? status : workers;
}

pp_status pp_live_at(struct pp_live *l, uint64_t at_s, unsigned window_s, struct pp_live_snapshot *out,
                     struct pp_err *err)
{
    pp_status status = PP_OK;
    struct pp_live_snapshot now = {.batch = PP_NO_BATCH,
                                   .samples_per_s = NAN,
                                   .batches_per_s = NAN,
                                   .wait_share = NAN,
                                   .accelerator_utilization = NAN,
                                   .step_ns = NAN,
                                   .read_bytes_per_s = NAN,
                                   .buffered_batches = NAN,
                                   .buffer_drain_per_s = NAN,
                                   .buffer_lasts_s = NAN,
                                   .hung_worker = -1,
                                   .cpu_busy = NAN,
                                   .disk_bytes_per_s = NAN,
                                   .net_bytes_per_s = NAN,
                                   .disk_most_bytes_per_s = 1,
                                   .net_most_bytes_per_s = 1,
                                   .gpu = {[0 ... PP_LIVE_GPUS - 1] = NAN}};
    /* The first and the last complete second; last < first: none. Parts of the newest second still come while
     * the run goes. */
    size_t n = l->n_seconds - (l->n_seconds && l->state == PP_LIVE_RUNNING);
    now.first_s = l->base_s;
    now.last_s = n ? l->base_s + n - 1 : l->base_s - 1;
    if (!l->base_s && !n)
        now.first_s = 1, now.last_s = 0;
    now.origin_ns = l->origin_ns ? l->origin_ns : now.first_s * LIVE_SECOND_NS;
    if (now.last_s >= now.first_s) {
        now.at_s = at_s > now.last_s ? now.last_s : at_s < now.first_s ? now.first_s : at_s;
        const struct pp_live_snapshot *last = &l->last;
        if (l->last_holds && l->last_window_s == window_s && last->at_s == now.at_s &&
            last->first_s == now.first_s && last->last_s == now.last_s) {
            now = l->last;
        } else {
            status = look_back(l, window_s, &now, err);
            l->last = now;
            l->last_window_s = window_s;
            l->last_holds = status == PP_OK;
        }
    }
    now.state = l->state;
    now.deleted = l->deleted;
    now.quiet_s = (double)(pp_now_ns() - l->last_change_mono_ns) / 1e9;
    *out = now;
    return status;
}
