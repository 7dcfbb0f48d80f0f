#include "report/verdict/signals.h"

#include "probe/base/err.h"
#include "report/replay/nvjpeg.h"
#include "report/replay/requests.h"
#include "report/replay/storage.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

/* ---- counterfactuals ---- */

enum { MOST_WORKERS = 1024, MOST_INFLIGHT = 256 }; /* as the knobs have it */

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

/* Over the rate with `base`. Where no cause gains anything, all weights are unknown. */
static pp_status weigh(const struct pp_costs *c, const struct pp_knobs *base, double base_rate,
                       struct pp_signals *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    double *m = out->metric;
    out->sensitivity = 0;
    for (int i = 0; i < PP_WEIGHED_CAUSES && st == PP_OK; i++) {
        enum pp_metric w = pp_weighed_causes[i].weight;
        struct pp_knobs k = *base;
        double rate = base_rate;
        switch (w) {
        case PP_METRIC_W_STORAGE: k.read = BETTER; break;
        case PP_METRIC_W_ERRORS: k.retry = BETTER; break;
        case PP_METRIC_W_LOCK: k.unlocked = 1; break;
        case PP_METRIC_W_WORK: k.decode = k.transform = k.collate = BETTER; break;
        case PP_METRIC_W_COPY: k.copy = k.device_decode = BETTER; break;
        case PP_METRIC_W_SYNC: k.sync = BETTER; break;
        default: k.collective = BETTER; break;
        }
        st = pp_whatif_rate(c, &k, &rate, NULL, err);
        m[w] = fmax(rate / base_rate - 1, 0);
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

static struct pp_fix *offer(struct pp_signals *s, enum pp_remedy_id id, int cost)
{
    struct pp_fix *f = &s->fix[s->fixes++];
    *f = (struct pp_fix){.remedy = id,
                         .knob = pp_remedies[id].knob,
                         .text = pp_remedies[id].offer,
                         .cost = cost,
                         .knobs = pp_knobs_none()};
    return f;
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
    const char *set = pp_remedies[f->remedy].set; /* "num_workers={to}" */
    snprintf(f->set, sizeof(f->set), "%.*s%d", (int)strcspn(set, "{"), set, *field);
    return st;
}

static int many_requests(const struct pp_costs *c)
{
    return c->requests.n >= PP_LEAST_REQUESTS;
}

/* More requests at a time are refused more often; how often, no replay knows. */
static int is_throttled(const struct pp_costs *c)
{
    return many_requests(c) && c->requests.refused >= PP_SOME_REFUSED * c->requests.n;
}

static pp_status offer_counts(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    enum { COUNTS = 6, FAR = 32 }; /* times eight, or as many as anybody has at first */
    struct pp_knobs none = pp_knobs_none();
    struct pp_demand d;
    /* A worker for every usable CPU. Beyond that only where they wait most of the time, for storage or for
     * what decoding and transforming are blocked in: then as many as keep the CPUs busy meanwhile. More
     * threads than CPUs may take time from other processes, too; that is no gain to advise. */
    double cpus = c->cpus, waits = s->metric[PP_METRIC_W_STORAGE] + s->metric[PP_METRIC_W_ERRORS];
    pp_whatif_demand(c, &none, &d);
    if (waits >= PP_LARGEST_WEIGHT || c->work_blocked_ns > 0.5 * c->work_wall_ns)
        cpus *= d.worker_ns / d.worker_cpu_ns; /* no CPU time at all: no bound */
    int more[COUNTS], most = cpus < MOST_WORKERS ? (int)ceil(cpus) : MOST_WORKERS,
                      far = 8 * c->workers > FAR ? 8 * c->workers : FAR,
                      deeper[] = {2 * c->prefetch, 4 * c->prefetch, 8 * c->prefetch};
    struct pp_fix *f;
    pp_status st = PP_OK;
    if ((most > c->workers || c->in_trainer) && !is_throttled(c)) {
        most = most < far ? most : far;
        for (int i = 0; i < COUNTS; i++) {
            int n = i ? c->workers << i : c->in_trainer ? 1 : c->workers + 1;
            more[i] = n < most ? n : most;
        }
        f = offer(s, PP_REMEDY_MORE_WORKERS, 0);
        st = choose_count(c, f, &f->knobs.workers, more, COUNTS, err);
    }
    if (c->workers > 1 && st == PP_OK) {
        int fewer[] = {1, c->workers / 4, c->workers / 2};
        int n = fewer[1] > 1 ? 3 : 1;
        if (n == 1 && fewer[2] > 1)
            fewer[1] = fewer[2], n = 2;
        f = offer(s, PP_REMEDY_FEWER_WORKERS, 0);
        st = choose_count(c, f, &f->knobs.workers, fewer, n, err);
    }
    if (st == PP_OK && !c->on_demand) {
        f = offer(s, PP_REMEDY_PREFETCH, 0);
        st = choose_count(c, f, &f->knobs.prefetch, deeper, 3, err);
    }
    if (st == PP_OK && many_requests(c) && !is_throttled(c) && c->inflight && c->inflight < MOST_INFLIGHT) {
        int counts[8];
        for (int i = 0; i < 8; i++)
            counts[i] = c->inflight << (i + 1) < MOST_INFLIGHT ? c->inflight << (i + 1) : MOST_INFLIGHT;
        f = offer(s, PP_REMEDY_REMOTE_IN_FLIGHT, 0);
        st = choose_count(c, f, &f->knobs.inflight, counts, 8, err);
    }
    return st;
}

/* ---- the changes that need no search ---- */

#define WORTH_KEEPING 0.01 /* of an epoch's time: ending its workers and starting others */
#define WORTH_PINNING 0.01 /* of the time: calls that copy from pageable memory */
#define LEAST_FAILED 0.01  /* weight of failed reads */
#define UNEVEN 2           /* the slowest worker over the median one */
#define LEAST_SETUP 0.05   /* of the requests' time: opening connections */
#define LEAST_SHARDS 0.05  /* of the requests' time: what larger shards would not take */
#define LEAST_TAIL 3       /* p99 over p50 of the first bytes: below it there is little to hedge */
#define LEAST_SLOW_HOST 2  /* median over that of the other hosts */
enum { HEDGED_AFTER = 100 };

typedef int offered_fn(const struct pp_costs *c, const double *m);
/* Offered where one condition holds. */
#define OFFERED(name, when) \
    static int name(const struct pp_costs *c, const double *m) \
    { \
        return when; \
    }
OFFERED(opens_connections, many_requests(c) && m[PP_METRIC_REMOTE_SETUP_PART] >= LEAST_SETUP)
OFFERED(has_slow_host, many_requests(c) && m[PP_METRIC_SLOW_HOST] >= LEAST_SLOW_HOST)
OFFERED(has_small_shards, many_requests(c) && m[PP_METRIC_SMALL_SHARDS] >= LEAST_SHARDS)
OFFERED(keeps_order, c->in_order)
OFFERED(has_workers, c->per_worker && !c->in_trainer)
OFFERED(has_own_lock, c->lock_wait > 0)
OFFERED(has_no_own_lock, !(c->lock_wait > 0))
OFFERED(asks_late, c->on_demand)
OFFERED(has_one_buffer, c->copy_buffers == 1)
OFFERED(syncs_every_step, c->sync_every_step)
OFFERED(has_other_ranks, c->n_others > 0)
OFFERED(has_slow_worker, m[PP_METRIC_WORKER_SKEW] >= UNEVEN)
OFFERED(copies_pageable, c->pageable || m[PP_METRIC_COPY_BLOCKS] >= WORTH_PINNING)
OFFERED(is_refused, m[PP_METRIC_W_ERRORS] > LEAST_FAILED && is_throttled(c))
OFFERED(reads_fail, m[PP_METRIC_W_ERRORS] > LEAST_FAILED && !is_throttled(c))
OFFERED(has_late_requests, many_requests(c) && !c->streaming && c->requests.answers >= HEDGED_AFTER &&
                               m[PP_METRIC_REMOTE_TAIL] >= LEAST_TAIL)

/* Half of the requests only ask how large an object is, and the others bring it. */
OFFERED(asks_first, many_requests(c) && fabs(m[PP_METRIC_REMOTE_EMPTY] - 0.5) < 0.1 &&
                        c->requests.bytes > 4.0 * PP_EMPTY_ANSWER * (c->requests.n - c->requests.empty))
OFFERED(restarts_workers, c->epoch_workers_ns + c->restart_ns >
                              WORTH_KEEPING * ((double)c->epoch_samples * 1e9 / c->samples_per_s))
OFFERED(draws_long,
        c->epoch_sampler_ns > WORTH_KEEPING * ((double)c->epoch_samples * 1e9 / c->samples_per_s) ||
            c->draw_ns > WORTH_KEEPING * c->batch_size * 1e9 / c->samples_per_s)
/* The work of the CPUs is the largest cause, most of it is decoding, and the GPU has an engine for it. */
OFFERED(may_decode_on_gpu, m[PP_METRIC_W_WORK] >= PP_LARGEST_WEIGHT &&
                               m[PP_METRIC_TRANSFORM_PART] + m[PP_METRIC_COLLATE_PART] < 0.5 &&
                               pp_nvjpeg_engine_in(c))
OFFERED(unpickles_long, c->unpickle_ns * c->samples_per_s >= PP_LEAST_SHARE * 1e9 * c->batch_size)

#define LEAST_TENSORS 1.5 /* a mean over batches, of which a few may not have been counted */

OFFERED(unpickles_many, unpickles_long(c, m) && c->batch_tensors >= LEAST_TENSORS)
/* Without a count of the tensors it is an amount. */
OFFERED(unpickles_uncounted, unpickles_long(c, m) && !(c->batch_tensors >= LEAST_TENSORS))

/* Offered where the row says so and a replay can know it; what is set is the remedy's, or set. */
static const struct {
    enum pp_remedy_id remedy;
    int cost;
    offered_fn *offered; /* NULL: always */
    const char *to;
    const char *set; /* NULL: the remedy's */
} changes[] = {
    {PP_REMEDY_REMOTE_CONNECTIONS, 1, opens_connections, "kept", NULL},
    {PP_REMEDY_REMOTE_ASK_ONCE, 1, asks_first, "half", NULL},
    {PP_REMEDY_REMOTE_HOST, 1, has_slow_host, "even", NULL},
    {PP_REMEDY_LARGER_SHARDS, 1, has_small_shards, "256MiB", NULL},
    {PP_REMEDY_REMOTE_HEDGE, 0, has_late_requests, "p95", NULL},
    {PP_REMEDY_OUT_OF_ORDER, 0, keeps_order, "out-of-order", NULL},
    {PP_REMEDY_PINNED, 0, copies_pageable, "yes", NULL},
    {PP_REMEDY_KEEP_WORKERS, 0, restarts_workers, "yes", NULL},
    {PP_REMEDY_ASK_AHEAD, 0, asks_late, "1 ahead", NULL},
    {PP_REMEDY_NO_WORKERS, 0, has_workers, "0", NULL},
    {PP_REMEDY_SAMPLER, 1, draws_long, "none", NULL},
    {PP_REMEDY_COPY_BUFFERS, 0, has_one_buffer, "2", NULL},
    {PP_REMEDY_NO_SYNC, 0, syncs_every_step, "none", NULL},
    {PP_REMEDY_COPY_LESS, 1, NULL, "half", NULL},
    {PP_REMEDY_CACHED, 1, NULL, "cached", NULL},
    {PP_REMEDY_LESS_WORK, PP_AN_AMOUNT, NULL, "half (smaller images)", NULL},
    {PP_REMEDY_ERRORS, 1, reads_fail, "none", NULL},
    {PP_REMEDY_REMOTE_THROTTLED, 1, is_refused, "none", NULL},
    {PP_REMEDY_LOCK, 1, has_no_own_lock, "none", NULL},
    {PP_REMEDY_HOLD_LESS, 1, has_own_lock, "none", NULL},
    {PP_REMEDY_OTHER_LOAD, 1, NULL, "%.3g, exclusive", NULL}, /* as many CPUs: now they are exclusive */
    {PP_REMEDY_SLOW_RANK, 1, has_other_ranks, "even", NULL},
    {PP_REMEDY_GPU_DECODE, 1, may_decode_on_gpu, "nvJPEG (A100)", NULL},
    {PP_REMEDY_SLOW_WORKER, 1, has_slow_worker, "even", NULL},
    {PP_REMEDY_UNPICKLE_LESS, 1, unpickles_many, "one tensor", NULL},
    {PP_REMEDY_UNPICKLE_LESS, PP_AN_AMOUNT, unpickles_uncounted, "half", "unpickle=0.5"},
};

int pp_fix_by_gain(const void *a, const void *b)
{
    const struct pp_fix *x = a, *y = b;
    int x_amount = x->cost == PP_AN_AMOUNT, y_amount = y->cost == PP_AN_AMOUNT;
    if (x_amount != y_amount)
        return x_amount - y_amount;
    return (x->p.gain < y->p.gain) - (x->p.gain > y->p.gain);
}

static pp_status rank_fixes(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    s->fixes = 0;
    pp_status st = offer_counts(c, s, err);
    for (size_t i = 0; st == PP_OK && i < sizeof(changes) / sizeof(*changes); i++) {
        const char *set = changes[i].set ? changes[i].set : pp_remedies[changes[i].remedy].set;
        struct pp_knobs k = pp_knobs_none();
        struct pp_err why;
        if ((changes[i].offered && !changes[i].offered(c, s->metric)) ||
            pp_knobs_set_all(&k, c, set, &why) != PP_OK)
            continue;
        struct pp_fix *f = offer(s, changes[i].remedy, changes[i].cost);
        f->knobs = k;
        snprintf(f->to, sizeof(f->to), changes[i].to, k.cpus);
        snprintf(f->set, sizeof(f->set), "%s", set);
    }
    for (int i = 0; i < s->fixes && st == PP_OK; i++)
        st = pp_whatif(c, &s->fix[i].knobs, &s->fix[i].p, err);
    if (st == PP_OK) {
        /* A cheaper fix goes before one that gives no more than 3 % more throughput. */
        qsort(s->fix, (size_t)s->fixes, sizeof(*s->fix), pp_fix_by_gain);
        for (int i = 1; i < s->fixes; i++)
            for (int k = i; k > 0 && s->fix[k].cost < s->fix[k - 1].cost &&
                            1 + s->fix[k].p.gain >= 0.97 * (1 + s->fix[k - 1].p.gain);
                 k--) {
                struct pp_fix cheaper = s->fix[k];
                s->fix[k] = s->fix[k - 1];
                s->fix[k - 1] = cheaper;
            }
    }
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

/* Over the best of the other changes that are more than an amount. */
static double lead_of(const struct pp_signals *s, const char *knob)
{
    double others = 0;
    for (int i = 0; i < s->fixes; i++)
        if (s->fix[i].cost != PP_AN_AMOUNT && strcmp(s->fix[i].knob, knob) != 0)
            others = fmax(others, s->fix[i].p.gain);
    return (1 + gain_of(s, knob)) / (1 + others) - 1;
}

static void add_gains(struct pp_signals *s)
{
    double *m = s->metric, less_work = m[PP_METRIC_W_WORK] * s->sensitivity; /* a quarter less */
    m[PP_METRIC_G_WORKERS] = gain_of(s, "workers");
    m[PP_METRIC_G_FEWER] = gain_of(s, "fewer-workers");
    m[PP_METRIC_G_NO_WORKERS] = gain_of(s, "no-workers");
    m[PP_METRIC_G_PREFETCH] = gain_of(s, "prefetch");
    m[PP_METRIC_G_AHEAD] = gain_of(s, "ahead");
    m[PP_METRIC_LEAD_AHEAD] = lead_of(s, "ahead");
    m[PP_METRIC_G_ORDER] = gain_of(s, "order");
    m[PP_METRIC_G_PINNED] = gain_of(s, "pinned");
    m[PP_METRIC_G_BUFFERS] = gain_of(s, "buffers");
    m[PP_METRIC_G_CPUS] = gain_of(s, "cpus");
    m[PP_METRIC_G_WORK] = gain_of(s, "work");
    m[PP_METRIC_G_INFLIGHT] = gain_of(s, "inflight");
    m[PP_METRIC_G_HEDGE] = gain_of(s, "hedge");
    m[PP_METRIC_G_KEPT] = gain_of(s, "connections");
    m[PP_METRIC_G_ASK_ONCE] = gain_of(s, "object-latency");
    m[PP_METRIC_G_SAMPLER] = gain_of(s, "sampler");
    m[PP_METRIC_SAMPLER_LEAD] = lead_of(s, "sampler");
    m[PP_METRIC_G_HOSTS] = gain_of(s, "hosts");
    m[PP_METRIC_CPUS_LEAD] = (1 + gain_of(s, "cpus")) / (1 + (isnan(less_work) ? 0 : less_work)) - 1;
    m[PP_METRIC_WORKERS_LEAD] = (1 + gain_of(s, "workers")) / (1 + gain_of(s, "cpus")) - 1;
    m[PP_METRIC_WORKERS_WORK] = (1 + gain_of(s, "workers")) / (1 + gain_of(s, "work")) - 1;
    const struct pp_fix *unpickle = pp_signals_fix(s, "unpickle");
    m[PP_METRIC_G_UNPICKLE] = unpickle && unpickle->cost != PP_AN_AMOUNT ? unpickle->p.gain : 0;
    m[PP_METRIC_LEAD_UNPICKLE] = lead_of(s, "unpickle");
    m[PP_METRIC_LEAD_NO_WORKERS] = lead_of(s, "no-workers");
    m[PP_METRIC_LEAD_CPUS] = lead_of(s, "cpus");
    /* Of any change to the input that gains for sure, an amount of it included. Who else uses the CPUs is
     * none of its matter. */
    double best = 0;
    for (int i = 0; i < s->fixes; i++)
        if (s->fix[i].remedy != PP_REMEDY_OTHER_LOAD && !pp_remedies[s->fix[i].remedy].only_listed)
            best = s->fix[i].p.gain_low <= 0 ? best : fmax(best, s->fix[i].p.gain);
    m[PP_METRIC_G_INPUT] = best;
    m[PP_METRIC_PREFETCH_PART] = gain_of(s, "prefetch") / gain_of(s, "storage");
}

/* What the same changes gain once nothing else runs on these CPUs: what is the job's own then. */
static pp_status add_own(const struct pp_costs *c, struct pp_signals *s, struct pp_err *err)
{
    struct pp_knobs base = pp_knobs_none();
    struct pp_err none_compete;
    double rate = NAN, others = s->metric[PP_METRIC_CONTENDED];
    struct pp_signals *own;
    if (c->glance || !(others >= PP_LEAST_SHARE) ||
        pp_knobs_set(&base, c, "other-load=none", &none_compete) != PP_OK)
        return PP_OK;
    if (!(own = malloc(sizeof(*own))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the signals");
    *own = *s;
    pp_status st = pp_whatif_rate(c, &base, &rate, &s->own_wait, err);
    if (st == PP_OK)
        st = weigh(c, &base, rate, own, err);
    for (int i = 0; i < own->fixes && st == PP_OK; i++) {
        struct pp_fix *f = &own->fix[i];
        double with = rate;
        f->knobs.alone = base.alone;
        f->knobs.cpus = base.cpus;
        st = pp_whatif_rate(c, &f->knobs, &with, NULL, err);
        f->p.gain = f->remedy == PP_REMEDY_OTHER_LOAD ? 0 : with / rate - 1;
    }
    if (st == PP_OK) {
        add_gains(own);
        memcpy(s->own, own->metric, sizeof(s->own));
        s->own[PP_METRIC_CONTENDED] = s->own[PP_METRIC_G_CPUS_WORKERS] = 0;
        /* alone it uses more of them, as much as it is faster */
        double busy = (s->metric[PP_METRIC_BUSY_CPUS] - others) * fmax(rate / pp_whatif_measured(c), 1);
        s->own[PP_METRIC_BUSY_CPUS] = fmin(busy, 1);
        s->own[PP_METRIC_IDLE_CPUS] = fmax(1 - busy, 0);
        s->has_own = 1;
    }
    free(own);
    return st;
}

double pp_signals_own_without_workers(const struct pp_signals *s, double handed)
{
    const struct pp_fix *none = pp_signals_fix(s, "no-workers");
    int saves = handed >= PP_VIEW_BYTES || (none && none->p.gain_low > 0);
    return saves && s->own_wait >= PP_LEAST_SHARE ? s->own[PP_METRIC_G_NO_WORKERS] : 0;
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
        pp_signals_measure(c, v, out->metric);
        pp_remote_signals(c, out->metric);
        st = pp_whatif_error(c, &out->replay_error, err);
    }
    struct pp_knobs none = pp_knobs_none();
    if (st == PP_OK)
        st = weigh(c, &none, pp_whatif_measured(c), out, err);
    if (st == PP_OK) {
        /* With fewer workers than CPUs, the CPUs that others use are not missed yet; a worker for each CPU
         * would miss them. Unknown where there are as many workers, or no others. */
        struct pp_knobs k = none;
        struct pp_err none_compete;
        double rate = NAN;
        int compete = pp_knobs_set(&k, c, "other-load=none", &none_compete) == PP_OK;
        k.workers = (int)ceil(k.cpus);
        if (compete && c->workers < k.workers)
            st = pp_whatif_rate(c, &k, &rate, NULL, err);
        out->metric[PP_METRIC_G_CPUS_WORKERS] = rate / pp_whatif_measured(c) - 1;
    }
    if (st == PP_OK)
        st = rank_fixes(c, out, err);
    if (st == PP_OK) {
        add_gains(out);
        /* A verdict asks for it, at a glance too, where other predictions have no interval. */
        const struct pp_fix *pinned = pp_signals_fix(out, "pinned");
        double *least = &out->metric[PP_METRIC_G_PINNED_LEAST];
        *least = pinned ? pinned->p.gain_low : 0;
        if (pinned && isnan(*least) && out->metric[PP_METRIC_COPY_BLOCKS] >= PP_LEAST_SHARE &&
            !(pinned->p.gain < PP_WORTH_A_FIX)) {
            struct pp_costs whole = *c;
            struct pp_prediction p;
            whole.glance = 0;
            whole.base = NULL; /* those are of shorter replays */
            st = pp_whatif(&whole, &pinned->knobs, &p, err);
            *least = st == PP_OK ? p.gain_low : NAN;
        }
    }
    if (st == PP_OK)
        st = add_own(c, out, err);
    free(v);
    return st;
}
