/* One replay of recorded costs under knobs: the costs and set-up that the knobs make of the recorded ones. */
#include "report/replay/requests.h"
#include "report/replay/knobs.h"
#include "report/replay/whatif_impl.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/replay/storage.h"
#include "report/stats/order.h"

/* At least so many batches, unless too large; with more samples in flight a replay takes seconds. */
enum { MIN_BATCHES = 60, MANY_SAMPLES = 200000, MOST_IN_FLIGHT = 500000 };
/* Batches that are made side by side are done at about the same time: that often they are, unless it takes
 * more samples than these. */
enum { MANY_ROUNDS = 60, SAMPLES_OF_ROUNDS = 6000, SHORT_ROUNDS = 1500 };

static uint32_t mix(uint32_t i)
{
    return (uint32_t)pp_mix64(i + 1);
}

static double wake_part(const struct pp_costs *c, const struct pp_knobs *k)
{
    return k->alone ? c->wake_part * pp_costs_helpers_part(c) : c->wake_part;
}

/* Storage answers one after another: it is no latency that its reads have. */
static int in_line(const struct pp_costs *c)
{
    return c->bandwidth > 0 || c->reads_per_s > 0;
}

/* Follows the samples in their order, as a client that hedges would (requests.c): what is late
 * depends on the answers before, and how many are made again on a budget. The second request draws from the
 * recorded first bytes, so long as what makes a request late is its own. */
static double hedged(const struct pp_costs *c, struct pp_hedge *h, double first, size_t i)
{
    const struct pp_requests *q = &c->requests;
    uint64_t late = pp_hedge_after_ns(h);
    double takes = first, second;
    if (!(h->quantile > 0))
        return first;
    if (first > (double)late && pp_hedge_spend(h)) {
        second = q->first_byte[mix((uint32_t)i ^ 0x5bd1e995u) % q->answers];
        takes = fmin(first, (double)late + second);
        first = takes < first ? second : first; /* that of the answer which counts */
    }
    pp_hedge_note(h, (uint64_t)first);
    return takes;
}

enum { HEDGES_SETTLE = 2 * PP_HEDGE_RECENT };

/* What follows the samples in their order. */
struct walk {
    struct pp_hedge hedge;
    double shards;  /* pp_shards_factor; 1: as recorded */
    double owed_ns; /* of first bytes that fewer requests still wait for */
    double warm;    /* of the CPU time of decoding and transforming, what is left with num_workers=0 */
    float limit;    /* what no sample should exceed by far; INFINITY when the knob is off */
};

/* What num_workers=0 takes from a step, or from the making of a batch: nothing is handed over. */
static double warmer_ns(const struct pp_knobs *k, const struct pp_cold *cold)
{
    return k->workers != PP_NO_WORKERS || k->cold > 0 ? 0 : k->cold < 0 ? cold->most_ns : cold->ns;
}

static struct walk walk_of(const struct pp_costs *c, const struct pp_knobs *k, const struct pp_cost_sample *s,
                           size_t n)
{
    /* As it is once the run is under way. */
    struct pp_hedge h = {.quantile = k->hedge};
    for (size_t i = 0; h.quantile > 0 && i < HEDGES_SETTLE; i++)
        if (s[i % n].requests)
            hedged(c, &h, s[i % n].first_byte, i + n);
    float limit = INFINITY, *v = k->even_samples ? malloc(n * sizeof(*v)) : NULL;
    for (size_t i = 0; v && i < n; i++)
        v[i] = pp_cost_occupancy(&s[i]);
    if (v)
        limit = pp_stats_middle(v, n), limit *= 3;
    free(v);
    double work_ns = 0;
    for (size_t i = 0; i < c->n; i++)
        work_ns += (c->samples[i].decode_cpu + c->samples[i].transform_cpu) / (double)c->n * c->batch_size;
    return (struct walk){.hedge = h,
                         .limit = limit,
                         .shards = k->shard_bytes > 0 ? pp_shards_factor(c, k->shard_bytes) : 1,
                         .warm = (work_ns > 0 ? fmax(1 - warmer_ns(k, &c->cold_work) / work_ns, 0) : 1)};
}

/* Of opening connections, what is CPU time and gone with them. */
static double connect_cpu_ns(const struct pp_costs *c, const struct pp_knobs *k,
                             const struct pp_cost_sample *x)
{
    return k->kept && x->setup > 0 ? fmin(c->requests.connect_cpu_ns, x->read_cpu) : 0;
}

/* What the knobs take from the time blocked in a read that had requests. */
static double saved_ns(const struct pp_costs *c, const struct pp_knobs *k, const struct pp_cost_sample *x,
                       size_t i, struct walk *w)
{
    if (!x->requests)
        return 0;
    double slower = k->even_hosts && x->slow_host ? fmax(c->requests.slow_host, 1) : 1;
    double first = hedged(c, &w->hedge, x->first_byte / slower, i) * k->first_byte;
    /* Fewer requests are some of the recorded ones, each as long as it was; more are made of each. */
    if (w->shards >= 1) {
        first *= w->shards;
    } else {
        w->owed_ns += first * w->shards;
        first = w->owed_ns < first / 2 ? 0 : first;
        w->owed_ns -= first;
    }
    double transfer = k->bandwidth > 0 || in_line(c) ? 0 /* on the link then */
                      : k->stream > 0                ? x->bytes / k->stream * 1e9
                                                     : x->transfer / slower;
    /* Of a request that opened one, what would have been quicker on a connection that was kept. */
    double opening = k->kept && x->setup > 0
                         ? fmax(x->setup - connect_cpu_ns(c, k, x), 0) +
                               fmin(c->requests.connect_more_ns, x->first_byte + x->transfer)
                         : 0;
    return x->first_byte - first + x->transfer - transfer + opening + x->refused * (1 - k->retry);
}

static struct pp_replay_sample replayed(const struct pp_costs *c, const struct pp_knobs *k,
                                        const struct pp_cost_sample *x, size_t i, struct walk *w)
{
    /* where storage answers one after another, the time a read was blocked is the queue of the recorded
     * set-up: the replay makes its own. Of a request the queue is the transfer, and the first byte is not. */
    double slow_worker = 0; /* what its worker waits longer than the others */
    for (size_t at = 0; at < c->n_slow && !in_line(c); at++)
        slow_worker = c->slow[at].worker == x->worker ? c->slow[at].more_ns : slow_worker;
    float blocked = x->read_blocked - (float)slow_worker - (float)saved_ns(c, k, x, i, w);
    blocked = in_line(c) && !x->requests ? 0 : fmaxf(blocked, 0);
    int stored = !(k->cached > 0 && mix((uint32_t)i) < k->cached * 4294967296.0);
    struct pp_replay_sample r = {
        .read_blocked = (float)((stored ? blocked * k->read * k->op_blocked : 0) +
                                (stored && k->read > 0 ? x->read_wake * wake_part(c, k) : 0) +
                                x->retry_blocked * k->retry),
        .read_cpu = (float)(x->read_cpu * k->op_cpu - connect_cpu_ns(c, k, x)),
        .bytes = stored ? x->bytes : 0,
        .work_cpu = (float)((x->decode_cpu * k->decode + x->transform_cpu * k->transform) * k->op_cpu *
                            w->warm),
        .work_blocked = c->throttled_share > 0.05
                            ? 0
                            : (float)((x->decode_blocked + x->transform_blocked) * k->op_blocked),
    };
    if (c->lock_wait > 0 && c->locked) {
        r.work_blocked = fmaxf(r.work_blocked - (float)c->lock_wait * pp_cost_occupancy(x), 0);
        float held = k->unlocked ? 0 : (float)c->lock_held, apart = 1 - held;
        r.serial_cpu = held * (r.read_blocked + r.read_cpu + r.work_blocked + r.work_cpu);
        r.read_blocked *= apart, r.read_cpu *= apart, r.work_blocked *= apart, r.work_cpu *= apart;
    } else if (c->locked) {
        float decoding = (float)(x->decode_cpu * k->decode * k->op_cpu * w->warm);
        r.work_blocked = c->threads_locked ? 0 : (float)(x->transform_blocked * k->op_blocked);
        r.serial_cpu = k->unlocked ? 0 : c->threads_locked ? r.work_cpu : decoding;
        r.work_cpu -= r.serial_cpu;
    }
    /* What the device decodes leaves the CPU with its transforms, which need the pixels. The time that its
     * header takes, of microseconds, is left out. */
    const struct pp_gpu_decode *d = &k->gpu_decode;
    if (d->per_s > 0 && mix((uint32_t)i ^ 0x2545f491u) < d->part * 4294967296.0) {
        r.work_cpu = r.serial_cpu = r.work_blocked = 0;
        r.on_device = 1;
    }
    /* Scaled down to the limit, in proportion. */
    float over = pp_cost_occupancy(x), scale = w->limit / over;
    if (over > w->limit)
        r.read_blocked *= scale, r.read_cpu *= scale, r.work_cpu *= scale, r.serial_cpu *= scale,
            r.work_blocked *= scale;
    return r;
}

static int in_trainer(const struct pp_costs *c, const struct pp_knobs *k)
{
    return k->workers == PP_NO_WORKERS || (c->in_trainer && !k->workers);
}

static int workers_of(const struct pp_costs *c, const struct pp_knobs *k)
{
    return k->workers == PP_NO_WORKERS ? 1 : k->workers ? k->workers : c->workers;
}

/* Of what taking a batch costs, the part that is left of it: nothing is handed over within one thread. */
static double taking_part(const struct pp_costs *c, const struct pp_knobs *k)
{
    if (in_trainer(c, k))
        return 0;
    double all = c->fetch_cpu_ns + c->fetch_blocked_ns;
    return c->unpickle_ns > 0 && all > 0 ? 1 - (1 - k->unpickle) * fmin(c->unpickle_ns / all, 1) : 1;
}

/* They are started and ended one after the other. Beside them the loader takes about as long as one: with 1,
 * 2, 4, 8 workers 20, 33, 58, 102 ms in all were measured (docs/results/accuracy.md). */
static double more_workers_ns(const struct pp_costs *c, const struct pp_knobs *k)
{
    if (k->persistent || in_trainer(c, k))
        return -c->epoch_workers_ns;
    return c->epoch_workers_ns * ((workers_of(c, k) + 1.0) / (c->workers + 1.0) - 1);
}

/* From page-locked memory a copy takes about a quarter of the time, and its call none: on an H200 10.9
 * to 12.5 and 53 GB/s (docs/results/gpu.md). A trainer that waits for its stream at each copy still does. */
#define PINNED_COPY 0.25

static double pinned_saves_ns(const struct pp_costs *c, const struct pp_knobs *k)
{
    if (!k->pinned)
        return 0;
    return c->waits_for_copies ? fmin((1 - PINNED_COPY) * c->pageable_copy_ns, c->pageable_call_ns)
                               : c->pageable_call_ns;
}

#define MOST_FREED 0.99 /* other processes keep a little of the CPUs */

static struct pp_replay_setup setup_of(const struct pp_costs *c, const struct pp_knobs *k)
{
    double batch = k->batch > 0 ? k->batch : c->batch_size, larger = k->per_batch ? 1 : batch / c->batch_size,
           step = k->step * (k->step_stated ? 1 : larger);
    double cpus = k->cpus > 0 ? k->cpus : c->cpus, step_ns = c->step_blocked_ns + c->step_cpu_ns,
           step_cpu = step_ns > 0 ? c->step_cpu_ns / step_ns : 0, warmer = warmer_ns(k, &c->cold_step);
    double taking = larger * taking_part(c, k), wake = wake_part(c, k),
           copied = k->gpu_decode.per_s > 0 ? larger * k->gpu_decode.copied : larger;
    /* CPUs that others used and that the knobs free, as a part of what they used. */
    double used = fmax(c->outside_cpus, 0) + c->helper_cpus,
           freed = used > 0 ? fmin(k->freed_cpus / used, MOST_FREED) : 0;
    int workers = workers_of(c, k), alone = in_trainer(c, k);
    /* New workers of an epoch import and copy pages side by side: where they are more than the CPUs, they
     * start as much later. */
    double starts = c->drains ? fmax(workers / cpus, 1) / fmax(c->workers / c->cpus, 1) : 1;
    step_ns = k->step_ns > 0 ? k->step_ns : fmax(step_ns - pinned_saves_ns(c, k) - warmer, 0) * step;
    return (struct pp_replay_setup){
        .workers = workers,
        .on_demand = alone || (c->on_demand && !k->prefetch),
        .inflight = k->inflight ? k->inflight : c->inflight,
        .stream_items = c->streaming ? 2 * workers + (int)fmin(batch, 256) : 0, /* loader/dispatch.c */
        .prefetch = k->prefetch ? k->prefetch : c->prefetch,
        .copy_buffers = k->copy_buffers ? k->copy_buffers : c->copy_buffers,
        .lock_sleeps = c->lock_wait > 0 && c->lock_sleeps,
        .in_order = k->order ? k->order == 1 : c->in_order,
        .per_worker = c->per_worker,
        .drains = c->drains,
        .epoch_gap_ns = fmax(c->epoch_gap_ns + more_workers_ns(c, k) - (1 - k->sampler) * c->epoch_sampler_ns,
                             0),
        .batch_size = (uint64_t)fmax(batch, 1),
        .epoch_samples = c->epoch_samples,
        .restart_ns = k->persistent || alone ? 0 : c->restart_ns * starts,
        .cpus = cpus,
        .machine_cpus = fmax(c->online_cpus, cpus),
        .others = (k->alone ? c->others * pp_costs_helpers_part(c) : c->others) * (1 - freed),
        .groups = k->alone ? 0 : c->groups * (1 - freed),
        .left = fmax(c->online_cpus - c->wanted_by_others * (1 - freed), 0),
        .step_ns = step_ns * (1 - step_cpu) + c->step_wake_ns * wake + c->fetch_blocked_ns * taking,
        /* the training thread draws the indices of each batch, also where a worker makes it */
        .step_cpu_ns = step_ns * step_cpu + c->fetch_cpu_ns * taking + c->draw_ns * k->sampler * larger,
        .step_threads = c->step_threads,
        .step_rate = c->step_rate,
        .step_drag = c->step_drag,
        .sync = (c->sync_every_step || c->sync_ns > 0) && k->sync > 0,
        .sync_ns = c->sync_ns * k->sync + c->sync_wake_ns * wake,
        .others_ns = c->others_ns,
        .n_others = c->n_others,
        .others_factor = k->collective,
        .trainer_wake_ns = alone ? 0 : c->trainer_wait_wake_ns * wake, /* it does not sleep while it works */
        .copy_wake_ns = alone ? 0 : c->copy_wait_wake_ns * wake,
        .copy_link_wake_ns = c->copy_wake_ns * wake,
        .copy_ns = c->copy_blocked_ns * k->copy * copied + c->gpu_decode_ns * k->device_decode * larger,
        .copy_cpu_ns = k->pinned && !c->per_worker ? 0 : c->copy_cpu_ns * k->copy * copied,
        .decoder_per_s = k->gpu_decode.per_s,
        .decoder_floor_ns = k->gpu_decode.floor_ns,
        .collate_cpu_ns = c->collate_cpu_ns * k->collate * fmin(copied, larger),
        .storage_bytes_per_s = k->bandwidth > 0 ? k->bandwidth
                               : k->read > 0    ? c->bandwidth / k->read
                                                : 0,
        .storage_reads_per_s = k->read > 0 ? c->reads_per_s / k->read : 0,
        .storage_burst_ns = c->burst_ns,
    };
}

double pp_whatif_wait_share(const struct pp_costs *c, const struct pp_knobs *k, double samples_per_s,
                            double first_wait_more_ns)
{
    struct pp_replay_setup s = setup_of(c, k);
    double step_ns = s.step_ns + s.step_cpu_ns + (s.sync ? s.sync_ns : 0), batch = (double)s.batch_size * 1e9,
           wait_ns = fmax(batch / samples_per_s - batch / pp_whatif_trainer_most(c, k, first_wait_more_ns),
                          0),
           fetch_ns = ((c->fetch_cpu_ns + c->fetch_blocked_ns) * taking_part(c, k) +
                       c->draw_ns * k->sampler) *
                      (double)s.batch_size / c->batch_size;
    return wait_ns + step_ns > 0 ? (wait_ns + fetch_ns) / (wait_ns + step_ns) : 0;
}

double pp_whatif_trainer_most(const struct pp_costs *c, const struct pp_knobs *k, double first_wait_more_ns)
{
    struct pp_replay_setup s = setup_of(c, k);
    double steps_ns = s.step_ns + s.step_cpu_ns + (s.sync ? s.sync_ns : 0),
           ns = steps_ns + c->trainer_rest_ns;
    if (s.drains)
        ns = fmax(ns + (1 - c->epoch_starts_missing) *
                           (s.epoch_gap_ns - c->epoch_gap_ns + first_wait_more_ns) * (double)s.batch_size /
                           (double)s.epoch_samples,
                  steps_ns);
    double gpu_ns = c->gpu_busy_ns;
    if (k->pinned) /* kernels and copies of one stream take turns; what was recorded had room for both */
        gpu_ns = fmin(gpu_ns + PINNED_COPY * c->pageable_copy_ns,
                      fmax(c->batch_size * 1e9 / c->samples_per_s, gpu_ns));
    if (!(k->step_ns > 0))
        ns = fmax(ns, gpu_ns * k->step *
                          (k->step_stated || k->per_batch ? 1 : (double)s.batch_size / c->batch_size));
    return ns > 0 ? (double)s.batch_size * 1e9 / ns : INFINITY;
}

void pp_whatif_demand(const struct pp_costs *c, const struct pp_knobs *k, struct pp_demand *out)
{
    double n = (double)c->n, batch, link_ns = 0, read_cpu_ns = 0;
    struct walk walk = walk_of(c, k, c->samples, c->n);
    *out = (struct pp_demand){.setup = setup_of(c, k)};
    batch = (double)out->setup.batch_size;
    for (size_t i = 0; i < c->n; i++) {
        struct pp_replay_sample r = replayed(c, k, &c->samples[i], i, &walk);
        out->read_blocked_ns += r.read_blocked / n;
        out->bytes += r.bytes / n;
        out->reads += (r.bytes > 0) / n;
        read_cpu_ns += r.read_cpu / n;
        double *serial = out->setup.lock_sleeps ? &out->worker_ns : &out->cpu_ns;
        out->cpu_ns += ((double)r.read_cpu + r.work_cpu) / n;
        *serial += r.serial_cpu / n;
        out->serial_ns += r.serial_cpu / n;
        out->on_device += r.on_device / n;
        out->worker_ns += r.work_blocked / n;
    }
    if (out->setup.storage_bytes_per_s > 0)
        link_ns += out->bytes / out->setup.storage_bytes_per_s * 1e9;
    if (out->setup.storage_reads_per_s > 0)
        link_ns += out->reads / out->setup.storage_reads_per_s * 1e9;
    out->cpu_ns += out->setup.collate_cpu_ns / batch;
    out->worker_cpu_ns = out->cpu_ns - (c->streaming ? read_cpu_ns : 0);
    if (c->streaming)
        out->reader_ns = out->read_blocked_ns + link_ns + read_cpu_ns;
    out->worker_ns += out->cpu_ns + out->read_blocked_ns + link_ns - out->reader_ns;
    out->cpu_ns += (out->setup.copy_cpu_ns + out->setup.step_cpu_ns) / batch;
    out->copy_ns = out->setup.copy_ns + out->setup.copy_cpu_ns + out->setup.copy_link_wake_ns;
}

static pp_status check_size(const struct pp_replay_setup *s, struct pp_err *err)
{
    double in_flight = ((double)s->workers * s->prefetch + 1) * (double)s->batch_size +
                       (double)s->workers * s->inflight;
    if (in_flight <= MOST_IN_FLIGHT)
        return PP_OK;
    return pp_fail(
        err, PP_E_UNSUPPORTED,
        "%d workers with a prefetch of %d and batches of %llu keep %.0f samples in flight, and the replay supports at most %d; reduce one of the three",
        s->workers, s->prefetch, (unsigned long long)s->batch_size, in_flight, MOST_IN_FLIGHT);
}

/* Twice through the samples, and long enough for everything that can be in flight to fill up before the half
 * that counts. The rate is counted from one batch to another: where a dozen are done at a time, as many reads
 * in flight make them, a few of these rounds would count one more or less. */
static uint64_t batches_of(const struct pp_costs *c, const struct pp_replay_setup *s, size_t n)
{
    int most = c->glance == PP_GLANCE_SHORT ? SHORT_ROUNDS : SAMPLES_OF_ROUNDS;
    double size = (double)s->batch_size, in_flight = (double)s->workers * s->prefetch + 1,
           batches = fmax(2 * (double)n / size, 4 * in_flight);
    batches = fmax(batches, fmin(MANY_ROUNDS * in_flight, most / size));
    return (uint64_t)fmax(batches, fmin(MIN_BATCHES, MANY_SAMPLES / size));
}

/* Epochs that begin with an empty pipeline are replayed whole, the half that counts of as many as the other.
 * Where one is too long for that, two shorter ones are, whose halves are rounds of the workers; the batches
 * that they are short of come at the pace of their second halves. */
static uint64_t whole_epochs(struct pp_replay_setup *s, uint64_t batches)
{
    uint64_t epoch = pp_replay_epoch_batches(s), round = 2 * (uint64_t)s->workers;
    if (!s->drains)
        return batches;
    if (2 * epoch <= batches)
        return 2 * epoch * (batches / (2 * epoch));
    epoch = batches / 2 / round * round; /* batches_of gives more than a round */
    s->epoch_samples = epoch * s->batch_size;
    return 2 * epoch;
}

/* How often the samples are gone through, so that some of the few requests that are left come. */
enum { SOME_REQUESTS = 8, MOST_REPEATED = 60000 };
pp_status pp_whatif_replay(const struct pp_costs *c, const struct pp_knobs *k, const struct pp_cost_sample *s,
                           size_t n, struct pp_replay_result *result, struct pp_err *err)
{
    struct pp_replay_setup setup = setup_of(c, k);
    struct walk walk = walk_of(c, k, s, n);
    double asked = 0;
    for (size_t i = 0; i < n; i++)
        asked += s[i].requests > 0;
    double rounds = walk.shards < 1 && asked > 0 ? ceil(SOME_REQUESTS / (asked * walk.shards)) : 1;
    size_t all = n * (size_t)fmax(fmin(rounds, (double)MOST_REPEATED / (double)n), 1);
    struct pp_replay_sample *r = malloc(all * sizeof(*r));
    /* What storage stood still takes as much shorter or longer as reads do. NULL: no memory. */
    struct pp_outage *outages = malloc((c->n_outages + 1) * sizeof(*outages));
    for (size_t i = 0; outages && i < c->n_outages; i++)
        outages[i] = (struct pp_outage){c->outages[i].start,
                                        c->outages[i].start +
                                            (c->outages[i].end - c->outages[i].start) * k->read};
    pp_status st = check_size(&setup, err);
    if (st == PP_OK && (!r || !outages))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to replay %zu samples", n);
    if (st != PP_OK)
        goto out;
    double slow_ns[PP_SLOW_MOST];
    if (!k->even_workers && !in_line(c)) {
        for (size_t i = 0; i < c->n_slow; i++)
            slow_ns[setup.n_slow++] = c->slow[i].more_ns * k->read;
        setup.slow_ns = slow_ns;
    }
    setup.outages = outages;
    setup.n_outages = c->n_outages;
    setup.outage_period_ns = c->window_ns;
    for (size_t i = 0; i < all; i++) {
        r[i] = replayed(c, k, &s[i % n], i, &walk);
        r[i].begins = !(k->batch > 0) && (i % n == 0 || s[i % n].batch != s[i % n - 1].batch);
    }
    uint64_t batches = whole_epochs(&setup, batches_of(c, &setup, all));
    st = pp_replay(&setup, r, all, batches, result, err);
    if (st == PP_OK && setup.drains) {
        double played = (double)setup.epoch_samples;
        double whole = (double)c->epoch_samples;
        if (whole > played && result->settled_per_s > 0)
            result->samples_per_s = whole / (played / result->samples_per_s +
                                             (whole - played) / result->settled_per_s);
    }
out:
    free(outages);
    free(r);
    return st;
}
