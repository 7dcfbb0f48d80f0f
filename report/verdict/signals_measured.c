#include "report/verdict/signals.h"

#include "probe/base/array.h"
#include "report/replay/requests.h"
#include "report/replay/storage.h"
#include "report/replay/whatif_impl.h"
#include "report/stats/order.h"
#include "report/verdict/verdict.h"

/* ---- tails and bursts ---- */

static float work_of(const struct pp_cost_sample *x)
{
    return x->decode_cpu + x->transform_cpu;
}

/* The slowest over the median, which is not below 0.1 ms: a tail of microseconds holds no batch up. One in
 * 200 samples is in every 25th batch of 8; of less than 1,000 samples one in 100, so that there are five and
 * more. */
static double tail_of(const struct pp_costs *c, float *v, float (*of)(const struct pp_cost_sample *))
{
    for (size_t i = 0; i < c->n; i++)
        v[i] = of(&c->samples[i]);
    qsort(v, c->n, sizeof(*v), pp_by_float);
    return pp_stats_at_sorted(v, c->n, c->n < 1000 ? 0.99 : 0.995) /
           fmax(pp_stats_at_sorted(v, c->n, 0.5), 1e5);
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
            sum[c->samples[i].worker] += pp_cost_occupancy(&c->samples[i]);
            n[c->samples[i].worker]++;
        }
    for (int w = 0; w < MOST; w++)
        if (n[w] >= 3)
            mean[used++] = (float)(sum[w] / (double)n[w]);
    qsort(mean, used, sizeof(*mean), pp_by_float);
    return used >= 2 ? mean[used - 1] / fmax(mean[(used - 1) / 2], 1e4) : NAN;
}

void pp_signals_cpus(const struct pp_costs *c, double *m)
{
    m[PP_METRIC_CONTENDED] = c->outside_cpus / c->machine_cpus;
    m[PP_METRIC_SUBPROCESSES] = c->subprocess_cpus / c->machine_cpus;
    /* Of the usable CPUs, what neither this process nor others use, within the quota. */
    double left = fmin(c->online_cpus - c->process_cpus - c->outside_cpus, c->usable_cpus - c->process_cpus),
           idle = isnan(c->process_cpus + c->outside_cpus) ? NAN : fmax(left, 0) / c->usable_cpus;
    m[PP_METRIC_IDLE_CPUS] = idle;
    m[PP_METRIC_BUSY_CPUS] = 1 - idle;
}

/* CPU time of the workers' other threads, as a share of the time that samples wait. With less, the samples do
 * not wait for these threads. */
#define LEAST_HELPERS 0.05

static void add_parts(const struct pp_costs *c, double *m)
{
    double decode = 0, transform = 0, blocked = 0, collate = c->collate_cpu_ns * (double)c->n / c->batch_size;
    for (size_t i = 0; i < c->n; i++) {
        decode += c->samples[i].decode_cpu;
        transform += c->samples[i].transform_cpu;
        blocked += c->samples[i].decode_blocked + c->samples[i].transform_blocked;
    }
    double all = decode + transform + collate, copy = c->copy_cpu_ns + c->copy_blocked_ns;
    m[PP_METRIC_TRANSFORM_PART] = all > 0 ? transform / all : NAN;
    m[PP_METRIC_COLLATE_PART] = all > 0 ? collate / all : NAN;
    m[PP_METRIC_HELPER_PART] = c->helper_cpu_ns >= LEAST_HELPERS * blocked
                                   ? c->helper_cpu_ns / fmax(all, c->helper_cpu_ns)
                                   : NAN;
    m[PP_METRIC_WORKER_THREADS] = c->worker_threads;
    m[PP_METRIC_THREADS_PER_CPU] = c->worker_threads * (double)c->workers / c->cpus;
    m[PP_METRIC_COPY_CPU] = copy > 0 ? c->copy_cpu_ns / copy : NAN;
    m[PP_METRIC_COPY_BLOCKS] = c->pageable_call_ns > 0
                                   ? c->pageable_call_ns * c->samples_per_s / c->batch_size / 1e9
                                   : NAN;
    pp_signals_cpus(c, m);
    m[PP_METRIC_CONTENDED_BEFORE] = c->outside_before / c->machine_cpus;
    m[PP_METRIC_CONTENDED_RISE] = (c->outside_cpus - c->outside_before) / c->machine_cpus;
    m[PP_METRIC_CONTENDED_AT] = c->outside_rose_at;
    m[PP_METRIC_THROTTLED] = c->throttled_share; /* the kernel's counter is a sum over CPUs */
    m[PP_METRIC_THROTTLED_CPU] = fmin(c->throttled_share / fmax(c->machine_cpus, 1), 1);
    m[PP_METRIC_LOCK_WAIT] = c->lock_wait > 0 ? c->lock_wait : NAN;
    m[PP_METRIC_MAJOR_FAULTS] = c->major_faults_per_s / c->samples_per_s;
}

void pp_signals_measure(const struct pp_costs *c, float *v, double *m)
{
    const struct pp_storage *from = &c->storage;
    m[PP_METRIC_READ_TAIL] = from->tail;
    m[PP_METRIC_READ_BURST] = from->burst;
    m[PP_METRIC_READ_SERIAL] = from->serial;
    m[PP_METRIC_SHARD_SKEW] = from->shard_skew;
    m[PP_METRIC_DRIFT] = from->drift;
    m[PP_METRIC_STREAMED] = c->streaming ? 1 : NAN;
    m[PP_METRIC_WORK_TAIL] = tail_of(c, v, work_of);
    m[PP_METRIC_SAMPLE_TAIL] = tail_of(c, v, pp_cost_occupancy);
    m[PP_METRIC_WORKER_SKEW] = worker_skew_of(c);
    /* By first touch: samples seen in the first epoch; the dataset's bytes over the memory that is available.
     */
    double bytes = 0, reads = 0, hits = 0, known = 0, later = 0;
    for (size_t i = 0; i < c->n; i++) {
        bytes += c->samples[i].bytes;
        reads += c->samples[i].bytes > 0;
        hits += c->samples[i].hit;
        known += c->samples[i].hit_known;
        later += c->samples[i].epoch > 0;
    }
    m[PP_METRIC_READ_BYTES] = bytes > 0 ? bytes / reads : NAN; /* its program did not say */
    m[PP_METRIC_MISS] = known > 0 ? 1 - hits / known : NAN;
    m[PP_METRIC_FIRST_TOUCH] = 1 - later / (double)c->n;
    m[PP_METRIC_FREE_MEMORY] = c->dataset_samples && c->memory_available > 0
                                   ? 1 - bytes / (double)c->n * (double)c->dataset_samples /
                                             c->memory_available
                                   : NAN;
    /* Limits of the block layer and of memory, as far as the recording knows them. The page cache counts for
     * the group that read first; what is read again after it was dropped is a refault. */
    double data = c->dataset_samples ? bytes / (double)c->n * (double)c->dataset_samples : NAN;
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
    add_parts(c, m);
}

/* ---- remote storages ---- */

void pp_remote_signals(const struct pp_costs *c, double *m)
{
    const struct pp_requests *q = &c->requests;
    if (q->n < PP_LEAST_REQUESTS || !(q->busy_ns > 0) || !(c->window_ns > 0))
        return;
    m[PP_METRIC_REMOTE_FLIGHT] = q->busy_ns / c->window_ns;
    double each = 0, asking = 0;
    for (size_t i = 0; i < c->n; i++)
        each += c->samples[i].requests, asking += c->samples[i].requests > 0;
    m[PP_METRIC_REMOTE_EACH] = !c->streaming && each >= 1.5 * asking ? each / asking : NAN;
    /* Little's law: what is in flight is what a request takes, times how many there are in a second. A
     * trainer that never waits takes samples at the pace of its own steps. */
    struct pp_knobs none = pp_knobs_none();
    double most = pp_whatif_trainer_most(c, &none, 0), samples = c->samples_per_s * c->window_ns / 1e9;
    m[PP_METRIC_REMOTE_NEEDED] = isfinite(most) && samples > 0 ? q->busy_ns / samples * most / 1e9 : NAN;
    m[PP_METRIC_REMOTE_TIME] = q->busy_ns / q->n;
    m[PP_METRIC_REMOTE_FIRST] = q->first_byte_ns / q->n;
    m[PP_METRIC_REMOTE_FIRST_PART] = q->first_byte_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_TRANSFER_PART] = q->transfer_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_DNS_PART] = q->resolve_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_SETUP_PART] = (q->resolve_ns + q->connect_ns) / q->busy_ns;
    m[PP_METRIC_REMOTE_STREAM] = q->transfer_ns > 0 ? q->bytes / q->transfer_ns * 1e9 : NAN;
    m[PP_METRIC_REMOTE_BYTES] = q->bytes / q->n;
    m[PP_METRIC_REMOTE_REFUSED] = q->refused / q->n;
    m[PP_METRIC_REMOTE_CONNECTS] = q->connections / q->n;
    m[PP_METRIC_REMOTE_EMPTY] = q->answers ? q->empty / (double)q->answers : NAN;
    m[PP_METRIC_REMOTE_TAIL] = pp_requests_first_byte(q, 0.99) / fmax(pp_requests_first_byte(q, 0.5), 1e5);
    m[PP_METRIC_REMOTE_SHARD] = pp_shards_bytes(c);
    m[PP_METRIC_SHARD_REQUESTS] = pp_shards_requests(c);
    if (!pp_shards_unknown(c))
        m[PP_METRIC_SMALL_SHARDS] = fmax(1 - pp_shards_factor(c, PP_SHARDS_ADVISED), 0) *
                                    m[PP_METRIC_REMOTE_FIRST_PART];
    m[PP_METRIC_SLOW_HOST] = q->slow_host;
    m[PP_METRIC_SLOW_HOST_PART] = isnan(q->slow_host) ? NAN : q->slow_host_part;
    m[PP_METRIC_HOT_PREFIX] = q->hot_prefix;
    m[PP_METRIC_HOT_PREFIX_PART] = q->hot_prefix_part;
}
