#include "report/verdict/signals.h"

#include "probe/base/err.h"
#include "report/replay/nvjpeg.h"
#include "report/replay/requests.h"
#include "report/replay/shards.h"
#include "report/replay/storage.h"
#include "report/rules/remedies.h"
#include "report/verdict/remote_signals.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_float(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

static double at(const float *sorted, size_t n, double q)
{
    return n ? sorted[(size_t)(q * (double)(n - 1))] : NAN;
}

/* ---- tails and bursts ---- */

static float work_of(const struct pp_cost_sample *x)
{
    return x->decode_cpu + x->transform_cpu;
}

static float occupancy(const struct pp_cost_sample *x)
{
    return x->read_blocked + x->read_cpu + x->retry_blocked + x->decode_cpu + x->decode_blocked +
           x->transform_cpu + x->transform_blocked;
}

/* p99 over p50, the p50 not below 0.1 ms: a tail of microseconds holds no batch up. */
static double work_tail_of(const struct pp_costs *c, float *v)
{
    for (size_t i = 0; i < c->n; i++)
        v[i] = work_of(&c->samples[i]);
    qsort(v, c->n, sizeof(*v), by_float);
    return at(v, c->n, 0.99) / fmax(at(v, c->n, 0.5), 1e5);
}

/* ---- workers, caches, parts of the work ---- */

static double worker_skew_of(const struct pp_costs *c)
{
    enum { MOST = 256 };
    double sum[MOST] = {0};
    size_t n[MOST] = {0}, used = 0;
    float mean[MOST];
    for (size_t i = 0; i < c->n; i++)
        if (c->samples[i].worker < MOST) {
            sum[c->samples[i].worker] += occupancy(&c->samples[i]);
            n[c->samples[i].worker]++;
        }
    for (int w = 0; w < MOST; w++)
        if (n[w] >= 3)
            mean[used++] = (float)(sum[w] / (double)n[w]);
    qsort(mean, used, sizeof(*mean), by_float);
    return used >= 2 ? mean[used - 1] / fmax(mean[(used - 1) / 2], 1e4) : NAN;
}

/* By first touch: samples seen in the first epoch; the dataset's bytes over the memory that is available. */
static void add_cache(const struct pp_costs *c, double *m)
{
    double bytes = 0, hits = 0, known = 0, later = 0;
    for (size_t i = 0; i < c->n; i++) {
        bytes += c->samples[i].bytes;
        hits += c->samples[i].hit;
        known += c->samples[i].hit_known;
        later += c->samples[i].epoch > 0;
    }
    m[PP_METRIC_READ_BYTES] = bytes / (double)c->n;
    m[PP_METRIC_MISS] = known > 0 ? 1 - hits / known : NAN;
    m[PP_METRIC_FIRST_TOUCH] = 1 - later / (double)c->n;
    m[PP_METRIC_FREE_MEMORY] = c->dataset_samples && c->memory_available > 0
                                   ? 1 - m[PP_METRIC_READ_BYTES] * (double)c->dataset_samples /
                                             c->memory_available
                                   : NAN;
}

/* Of the usable CPUs, what neither this process nor others use, within the quota. */
static double idle_cpus(const struct pp_costs *c)
{
    double left = fmin(c->online_cpus - c->process_cpus - c->outside_cpus, c->usable_cpus - c->process_cpus);
    return isnan(c->process_cpus + c->outside_cpus) ? NAN : fmax(left, 0) / c->usable_cpus;
}

/* Limits of the block layer and of memory, as far as the recording knows them. The page cache counts for the
 * group that read first; what is read again after it was dropped is a refault. */
static void add_limits(const struct pp_costs *c, double *m)
{
    double data = c->dataset_samples ? m[PP_METRIC_READ_BYTES] * (double)c->dataset_samples : NAN;
    m[PP_METRIC_DISK_LIMIT] = c->limit_bytes_per_s;
    m[PP_METRIC_READS_LIMIT] = c->limit_reads_per_s;
    m[PP_METRIC_DISK_LIMIT_USED] = pp_storage_limit_used(c->disk_bytes_per_s, c->limit_bytes_per_s);
    m[PP_METRIC_READS_LIMIT_USED] = pp_storage_limit_used(c->disk_reads_per_s, c->limit_reads_per_s);
    m[PP_METRIC_PACED] = c->reads_per_s > 0 ? c->reads_per_s : NAN;
    m[PP_METRIC_LINK] = c->bandwidth > 0 ? c->bandwidth : NAN;
    m[PP_METRIC_REFAULT] = c->refault_bytes_per_s >= 0
                               ? fmin(c->refault_bytes_per_s / (m[PP_METRIC_READ_BYTES] * c->samples_per_s),
                                      1)
                               : NAN;
    m[PP_METRIC_DATA_BYTES] = data;
    m[PP_METRIC_MEMORY_LIMIT] = c->memory_limit;
    m[PP_METRIC_LIMIT_ROOM] = c->memory_limit / data;
    m[PP_METRIC_MACHINE_ROOM] = c->memory_total / data;
}

static void add_parts(const struct pp_costs *c, double *m)
{
    double decode = 0, transform = 0, collate = c->collate_cpu_ns * (double)c->n / c->batch_size;
    for (size_t i = 0; i < c->n; i++) {
        decode += c->samples[i].decode_cpu;
        transform += c->samples[i].transform_cpu;
    }
    double all = decode + transform + collate, copy = c->copy_cpu_ns + c->copy_blocked_ns;
    m[PP_METRIC_TRANSFORM_PART] = all > 0 ? transform / all : NAN;
    m[PP_METRIC_COLLATE_PART] = all > 0 ? collate / all : NAN;
    m[PP_METRIC_COPY_CPU] = copy > 0 ? c->copy_cpu_ns / copy : NAN;
    m[PP_METRIC_COPY_BLOCKS] = c->pageable_call_ns > 0
                                   ? c->pageable_call_ns * c->samples_per_s / c->batch_size / 1e9
                                   : NAN;
    m[PP_METRIC_CONTENDED] = c->outside_cpus / c->machine_cpus;
    m[PP_METRIC_SUBPROCESSES] = c->subprocess_cpus / c->machine_cpus;
    m[PP_METRIC_IDLE_CPUS] = idle_cpus(c);
    m[PP_METRIC_CONTENDED_BEFORE] = c->outside_before / c->machine_cpus;
    m[PP_METRIC_CONTENDED_RISE] = (c->outside_cpus - c->outside_before) / c->machine_cpus;
    m[PP_METRIC_CONTENDED_AT] = c->outside_rose_at;
    m[PP_METRIC_THROTTLED] = c->throttled_share;
    m[PP_METRIC_MAJOR_FAULTS] = c->major_faults_per_s / c->samples_per_s;
}

/* ---- counterfactuals ---- */

enum { MOST_WORKERS = 1024 }; /* as the knob has it */

/* Small enough that the trainer does not cap it at once, large enough to be no rounding */
#define BETTER 0.75

const struct pp_weighed_cause pp_weighed_causes[PP_WEIGHED_CAUSES] = {
    {PP_METRIC_W_STORAGE, "storage"},
    {PP_METRIC_W_ERRORS, "failed reads"},
    {PP_METRIC_W_LOCK, "a lock"},
    {PP_METRIC_W_WORK, "CPU work"},
    {PP_METRIC_W_COPY, "copies to the device"},
    {PP_METRIC_W_SYNC, "device synchronisation"},
    {PP_METRIC_W_COLLECTIVE, "the other ranks"},
};

static void make_better(struct pp_knobs *k, enum pp_metric weight)
{
    switch (weight) {
    case PP_METRIC_W_STORAGE: k->read = BETTER; break;
    case PP_METRIC_W_ERRORS: k->retry = BETTER; break;
    case PP_METRIC_W_LOCK: k->unlocked = 1; break;
    case PP_METRIC_W_WORK: k->decode = k->transform = k->collate = BETTER; break;
    case PP_METRIC_W_COPY: k->copy = k->device_decode = BETTER; break;
    case PP_METRIC_W_SYNC: k->sync = BETTER; break;
    default: k->collective = BETTER; break;
    }
}

/* Where no cause gains anything, all weights are unknown. */
static pp_status weigh(const struct pp_costs *c, struct pp_signals *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    double *m = out->metric;
    out->sensitivity = 0;
    for (int i = 0; i < PP_WEIGHED_CAUSES && st == PP_OK; i++) {
        enum pp_metric w = pp_weighed_causes[i].weight;
        struct pp_knobs k = pp_knobs_none();
        double rate = pp_whatif_measured(c);
        make_better(&k, w);
        st = pp_whatif_rate(c, &k, &rate, NULL, err);
        m[w] = fmax(rate / pp_whatif_measured(c) - 1, 0);
        out->sensitivity += m[w];
    }
    for (int i = 0; i < PP_WEIGHED_CAUSES; i++) {
        enum pp_metric w = pp_weighed_causes[i].weight;
        m[w] = out->sensitivity > 0.003 && (w != PP_METRIC_W_COLLECTIVE || c->n_others)
                   ? m[w] / out->sensitivity
                   : NAN;
    }
    return st;
}

static int others_compete(const struct pp_costs *c)
{
    return c->others > 0.1 || c->groups > 0.05 || c->throttled_share > 0.02;
}

static struct pp_knobs exclusive_cpus(const struct pp_costs *c)
{
    struct pp_knobs k = pp_knobs_none();
    k.alone = 1;
    k.cpus = c->throttled_share > 0.02 ? 2 * c->cpus : c->cpus;
    return k;
}

/* With fewer workers than CPUs, the CPUs that others use are not missed yet; a worker for each CPU would miss
 * them. Unknown where there are as many workers, or no others. */
static pp_status add_cpus_workers(const struct pp_costs *c, struct pp_signals *out, struct pp_err *err)
{
    struct pp_knobs k = exclusive_cpus(c);
    double rate = NAN;
    k.workers = (int)ceil(k.cpus);
    pp_status st = c->workers < k.workers && others_compete(c) ? pp_whatif_rate(c, &k, &rate, NULL, err)
                                                               : PP_OK;
    out->metric[PP_METRIC_G_CPUS_WORKERS] = rate / pp_whatif_measured(c) - 1;
    return st;
}

static struct pp_fix *offer(struct pp_signals *s, enum pp_remedy_id id, int cost)
{
    struct pp_fix *f = &s->fix[s->fixes++];
    *f = (struct pp_fix){.knob = pp_remedies[id].knob,
                         .text = pp_remedies[id].offer,
                         .cost = cost,
                         .knobs = pp_knobs_none()};
    return f;
}

/* A worker for every usable CPU. Beyond that only where they wait most of the time, for storage or for what
 * decoding and transforming are blocked in: then as many as keep the CPUs busy meanwhile. More threads than
 * CPUs may take time from other processes, too; that is no gain to advise. */
static int most_workers(const struct pp_costs *c, const struct pp_signals *s)
{
    struct pp_knobs none = pp_knobs_none();
    struct pp_demand d;
    double storage = s->metric[PP_METRIC_W_STORAGE], errors = s->metric[PP_METRIC_W_ERRORS], cpus = c->cpus;
    pp_whatif_demand(c, &none, &d);
    if (storage + errors >= PP_LARGEST_WEIGHT || c->work_blocked_ns > 0.5 * c->work_wall_ns)
        cpus *= d.worker_ns / d.worker_cpu_ns;
    return cpus < MOST_WORKERS ? (int)ceil(cpus) : MOST_WORKERS; /* no CPU time at all: no bound */
}

/* The smallest of the counts that comes within 3 % of the best. A count with more samples in flight than a
 * replay supports is none of them. */
static pp_status choose_count(const struct pp_costs *c, struct pp_fix *f, int *field, const int *counts,
                              int n, struct pp_err *err)
{
    double rate[8] = {0}, best = 0;
    pp_status st = PP_OK;
    for (int i = 0; i < n && st == PP_OK; i++) {
        *field = counts[i];
        st = pp_whatif_rate(c, &f->knobs, &rate[i], NULL, err);
        if (st == PP_E_UNSUPPORTED && i > 0)
            rate[i] = 0, st = PP_OK;
        best = fmax(best, rate[i]);
    }
    int at_least = 0;
    while (at_least < n - 1 && rate[at_least] < 0.97 * best)
        at_least++;
    *field = counts[at_least];
    snprintf(f->to, sizeof(f->to), "%d", *field);
    return st;
}

static pp_status offer_counts(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    int more[] = {c->in_trainer ? 1 : c->workers + 1, 2 * c->workers, 4 * c->workers, 8 * c->workers},
        most = most_workers(c, s), deeper[] = {2 * c->prefetch, 4 * c->prefetch, 8 * c->prefetch};
    struct pp_fix *f;
    pp_status st = PP_OK;
    if (most > c->workers || c->in_trainer) {
        for (int i = 0; i < 4; i++)
            more[i] = more[i] < most ? more[i] : most;
        f = offer(s, PP_REMEDY_MORE_WORKERS, 0);
        st = choose_count(c, f, &f->knobs.workers, more, 4, err);
    }
    if (c->workers > 1 && st == PP_OK) {
        int fewer[] = {1, c->workers / 4, c->workers / 2};
        int n = fewer[1] > 1 ? 3 : 1;
        if (n == 1 && fewer[2] > 1)
            fewer[1] = fewer[2], n = 2;
        f = offer(s, PP_REMEDY_FEWER_WORKERS, 0);
        st = choose_count(c, f, &f->knobs.workers, fewer, n, err);
    }
    if (st == PP_OK) {
        f = offer(s, PP_REMEDY_PREFETCH, 0);
        st = choose_count(c, f, &f->knobs.prefetch, deeper, 3, err);
    }
    return st;
}

/* The work of the CPUs is the largest cause, and most of it is decoding. */
static int decode_owns(const struct pp_signals *s)
{
    const double *m = s->metric;
    return m[PP_METRIC_W_WORK] >= PP_LARGEST_WEIGHT &&
           m[PP_METRIC_TRANSFORM_PART] + m[PP_METRIC_COLLATE_PART] < 0.5;
}

/* Workers that start again for every epoch: so much of its time, below which no replay is made of it. */
#define WORTH_KEEPING 0.01

/* Of the time, in calls that copy from pageable memory; below it no replay is made of another. */
#define WORTH_PINNING 0.01

static void offer_rest(const struct pp_costs *c, struct pp_signals *s)
{
    struct pp_fix *f;
    struct pp_knobs on_gpu = pp_knobs_none();
    struct pp_err ignored = {0};
    if (c->in_order) {
        f = offer(s, PP_REMEDY_OUT_OF_ORDER, 0);
        f->knobs.order = 2;
        snprintf(f->to, sizeof(f->to), "out-of-order");
    }
    if (c->pageable || (s->metric[PP_METRIC_COPY_BLOCKS] >= WORTH_PINNING && !c->no_pinning)) {
        f = offer(s, PP_REMEDY_PINNED, 0);
        f->knobs.pinned = 1;
        snprintf(f->to, sizeof(f->to), "yes");
    }
    double epoch_ns = (double)c->epoch_samples * 1e9 / c->samples_per_s;
    if (c->may_persist && c->epoch_workers_ns > 0 &&
        c->epoch_workers_ns + c->restart_ns > WORTH_KEEPING * epoch_ns) {
        f = offer(s, PP_REMEDY_KEEP_WORKERS, 0);
        f->knobs.persistent = 1;
        snprintf(f->to, sizeof(f->to), "yes");
    }
    if (c->copy_buffers == 1) {
        f = offer(s, PP_REMEDY_COPY_BUFFERS, 0);
        f->knobs.copy_buffers = 2;
        snprintf(f->to, sizeof(f->to), "2");
    }
    if (c->sync_every_step) {
        f = offer(s, PP_REMEDY_NO_SYNC, 0);
        f->knobs.sync = 0;
        snprintf(f->to, sizeof(f->to), "none");
    }
    f = offer(s, PP_REMEDY_COPY_LESS, 1);
    f->knobs.copy = 0.5;
    snprintf(f->to, sizeof(f->to), "half");
    f = offer(s, PP_REMEDY_CACHED, 1);
    f->knobs.read = 0;
    snprintf(f->to, sizeof(f->to), "cached");
    f = offer(s, PP_REMEDY_LESS_WORK, PP_AN_AMOUNT);
    f->knobs.decode = f->knobs.transform = f->knobs.collate = 0.5;
    snprintf(f->to, sizeof(f->to), "half (smaller images)");
    if (s->metric[PP_METRIC_W_ERRORS] > 0.01) {
        f = offer(s, PP_REMEDY_ERRORS, 1);
        f->knobs.retry = 0;
        snprintf(f->to, sizeof(f->to), "none");
    }
    if (c->locked) {
        f = offer(s, PP_REMEDY_LOCK, 1);
        f->knobs.unlocked = 1;
        snprintf(f->to, sizeof(f->to), "none");
    }
    if (others_compete(c)) {
        f = offer(s, PP_REMEDY_OTHER_LOAD, 1);
        f->knobs = exclusive_cpus(c);
        /* the same number of CPUs is no change: what changes is that they are exclusive */
        snprintf(f->to, sizeof(f->to), "%.3g, exclusive", f->knobs.cpus);
    }
    if (c->n_others) {
        f = offer(s, PP_REMEDY_SLOW_RANK, 1);
        f->knobs.collective = 0;
        snprintf(f->to, sizeof(f->to), "mended");
    }
    if (decode_owns(s) && pp_nvjpeg_engine_in(c) && pp_nvjpeg_set(&on_gpu, c, "", &ignored) == PP_OK) {
        f = offer(s, PP_REMEDY_GPU_DECODE, 1);
        f->knobs = on_gpu;
        snprintf(f->to, sizeof(f->to), "nvJPEG (%s)", pp_nvjpeg_published.gpu);
    }
    if (s->metric[PP_METRIC_WORKER_SKEW] >= 2) {
        f = offer(s, PP_REMEDY_SLOW_WORKER, 1);
        f->knobs.even_workers = 1;
        snprintf(f->to, sizeof(f->to), "even");
    }
}

#define FIRST_TENSOR 2 /* costs as much as that many more at most: the message itself is read besides */

/* Of tensors that were counted one in place of all is taken for one of them; without a count it is an amount.
 */
static void offer_fewer_tensors(const struct pp_costs *c, struct pp_signals *s)
{
    int many = c->batch_tensors >= 2; /* NAN: not known */
    if (!(c->unpickle_ns * c->samples_per_s >= PP_LEAST_SHARE * 1e9 * c->batch_size))
        return;
    struct pp_fix *f = offer(s, PP_REMEDY_UNPICKLE_LESS, many ? 1 : PP_AN_AMOUNT);
    f->knobs.unpickle = many ? 1 / c->batch_tensors : 0.5;
    f->knobs.unpickle_most = many ? fmin(FIRST_TENSOR / c->batch_tensors, 1) : 0;
    snprintf(f->to, sizeof(f->to), "%s", many ? "one tensor" : "half");
}

#define LEAST_SETUP 0.05  /* of the requests' time: opening connections */
#define LEAST_SHARDS 0.05 /* of the requests' time: what larger shards would not take */
#define LEAST_TAIL 3      /* p99 over p50 of the first bytes: below it there is little to hedge */
#define LEAST_SLOW_HOST 2 /* median over that of the other hosts */
enum { HEDGED_AFTER = 100, MOST_INFLIGHT = 256 };

/* Of requests to a remote storage. */
static pp_status offer_remote(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    const struct pp_requests *q = &c->requests;
    const double *m = s->metric;
    int counts[8];
    struct pp_fix *f;
    pp_status st = PP_OK;
    if (!(q->n >= PP_LEAST_REQUESTS))
        return PP_OK;
    for (int i = 0; i < 8; i++)
        counts[i] = c->inflight << (i + 1) < MOST_INFLIGHT ? c->inflight << (i + 1) : MOST_INFLIGHT;
    if (c->inflight && c->inflight < MOST_INFLIGHT) {
        f = offer(s, PP_REMEDY_REMOTE_IN_FLIGHT, 0);
        st = choose_count(c, f, &f->knobs.inflight, counts, 8, err);
    }
    if (m[PP_METRIC_REMOTE_SETUP_PART] >= LEAST_SETUP) {
        f = offer(s, PP_REMEDY_REMOTE_CONNECTIONS, 1);
        f->knobs.kept = 1;
        snprintf(f->to, sizeof(f->to), "kept");
    }
    if (m[PP_METRIC_SLOW_HOST] >= LEAST_SLOW_HOST) {
        f = offer(s, PP_REMEDY_REMOTE_HOST, 1);
        f->knobs.even_hosts = 1;
        snprintf(f->to, sizeof(f->to), "even");
    }
    if (m[PP_METRIC_SMALL_SHARDS] >= LEAST_SHARDS) {
        f = offer(s, PP_REMEDY_LARGER_SHARDS, 1);
        f->knobs.shard_bytes = PP_SHARDS_ADVISED;
        snprintf(f->to, sizeof(f->to), "%.0fMiB", PP_SHARDS_ADVISED / 1048576);
    }
    if (!c->streaming && q->answers >= HEDGED_AFTER && m[PP_METRIC_REMOTE_TAIL] >= LEAST_TAIL) {
        f = offer(s, PP_REMEDY_REMOTE_HEDGE, 0);
        f->knobs.hedge = 0.95;
        snprintf(f->to, sizeof(f->to), "p95");
    }
    return st;
}

static int by_gain(const void *a, const void *b)
{
    const struct pp_fix *x = a, *y = b;
    int x_amount = x->cost == PP_AN_AMOUNT, y_amount = y->cost == PP_AN_AMOUNT;
    if (x_amount != y_amount)
        return x_amount - y_amount;
    return (x->p.gain < y->p.gain) - (x->p.gain > y->p.gain);
}

/* The largest gain first, and amounts last; a cheaper fix goes before one that gives no more than 3 % more
 * throughput. */
static void order_fixes(struct pp_signals *s)
{
    qsort(s->fix, (size_t)s->fixes, sizeof(*s->fix), by_gain);
    for (int i = 1; i < s->fixes; i++)
        for (int k = i; k > 0 && s->fix[k].cost < s->fix[k - 1].cost &&
                        1 + s->fix[k].p.gain >= 0.97 * (1 + s->fix[k - 1].p.gain);
             k--) {
            struct pp_fix cheaper = s->fix[k];
            s->fix[k] = s->fix[k - 1];
            s->fix[k - 1] = cheaper;
        }
}

static pp_status rank_fixes(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    s->fixes = 0;
    pp_status st = offer_counts(c, s, err);
    if (st == PP_OK)
        st = offer_remote(c, s, err);
    if (st == PP_OK)
        offer_rest(c, s), offer_fewer_tensors(c, s);
    for (int i = 0; i < s->fixes && st == PP_OK; i++)
        st = pp_whatif(c, &s->fix[i].knobs, &s->fix[i].p, err);
    if (st == PP_OK)
        order_fixes(s);
    return st;
}

const struct pp_fix *pp_signals_fix(const struct pp_signals *s, const char *knob)
{
    for (int i = 0; i < s->fixes; i++)
        if (strcmp(s->fix[i].knob, knob) == 0)
            return &s->fix[i];
    return NULL;
}

/* 0 for a knob that does not apply (fewer than one worker): it is known to gain nothing. */
static double gain_of(const struct pp_signals *s, const char *knob)
{
    const struct pp_fix *f = pp_signals_fix(s, knob);
    return f ? f->p.gain : 0;
}

static void add_gains(struct pp_signals *s)
{
    double *m = s->metric, less_work = m[PP_METRIC_W_WORK] * s->sensitivity; /* a quarter less */
    m[PP_METRIC_G_WORKERS] = gain_of(s, "workers");
    m[PP_METRIC_G_FEWER] = gain_of(s, "fewer-workers");
    m[PP_METRIC_G_PREFETCH] = gain_of(s, "prefetch");
    m[PP_METRIC_G_PINNED] = gain_of(s, "pinned");
    m[PP_METRIC_G_BUFFERS] = gain_of(s, "buffers");
    m[PP_METRIC_G_CPUS] = gain_of(s, "cpus");
    m[PP_METRIC_G_WORK] = gain_of(s, "work");
    m[PP_METRIC_G_INFLIGHT] = gain_of(s, "inflight");
    m[PP_METRIC_G_HEDGE] = gain_of(s, "hedge");
    m[PP_METRIC_G_KEPT] = gain_of(s, "connections");
    m[PP_METRIC_G_HOSTS] = gain_of(s, "hosts");
    m[PP_METRIC_CPUS_LEAD] = (1 + gain_of(s, "cpus")) / (1 + (isnan(less_work) ? 0 : less_work)) - 1;
    m[PP_METRIC_PREFETCH_PART] = gain_of(s, "prefetch") / gain_of(s, "storage");
}

/* A verdict asks for it, at a glance too, where other predictions have no interval. */
static pp_status add_least_of_pinned(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    const struct pp_fix *f = pp_signals_fix(s, "pinned");
    double *least = &s->metric[PP_METRIC_G_PINNED_LEAST];
    struct pp_costs whole = *c;
    struct pp_prediction p;
    *least = f ? f->p.gain_low : 0;
    if (!f || !isnan(*least) || !(s->metric[PP_METRIC_COPY_BLOCKS] >= PP_LEAST_SHARE) ||
        f->p.gain < PP_WORTH_A_FIX)
        return PP_OK;
    whole.glance = 0;
    whole.base = NULL; /* those are of shorter replays */
    pp_status st = pp_whatif(&whole, &f->knobs, &p, err);
    *least = st == PP_OK ? p.gain_low : NAN;
    return st;
}

static void add_storage(const struct pp_storage *from, double *m)
{
    m[PP_METRIC_READ_TAIL] = from->tail;
    m[PP_METRIC_READ_BURST] = from->burst;
    m[PP_METRIC_READ_SERIAL] = from->serial;
    m[PP_METRIC_SHARD_SKEW] = from->shard_skew;
    m[PP_METRIC_DRIFT] = from->drift;
}

pp_status pp_signals_read(struct pp_costs *c, struct pp_signals *out, struct pp_err *err)
{
    memset(out, 0, sizeof(*out));
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        out->metric[m] = NAN;
    pp_status st = pp_storage_read(c, err);
    float *v = malloc(c->n * sizeof(*v));
    if (!v)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu samples", c->n);
    if (st == PP_OK) {
        add_storage(&c->storage, out->metric);
        out->metric[PP_METRIC_STREAMED] = c->streaming ? 1 : NAN;
        out->metric[PP_METRIC_WORK_TAIL] = work_tail_of(c, v);
        out->metric[PP_METRIC_WORKER_SKEW] = worker_skew_of(c);
        add_cache(c, out->metric);
        add_limits(c, out->metric);
        add_parts(c, out->metric);
        pp_remote_signals(c, out->metric);
        st = pp_whatif_error(c, &out->replay_error, err);
    }
    if (st == PP_OK)
        st = weigh(c, out, err);
    if (st == PP_OK)
        st = add_cpus_workers(c, out, err);
    if (st == PP_OK)
        st = rank_fixes(c, out, err);
    if (st == PP_OK) {
        add_gains(out);
        st = add_least_of_pinned(c, out, err);
    }
    free(v);
    return st;
}
