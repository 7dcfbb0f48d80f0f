#include "report/costs.h"

#include "probe/base/err.h"
#include "report/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 1000000
enum { RESOURCES = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY };

struct worker {
    uint32_t thread;
    struct pp_cost_sample hand; /* the sample it works on */
    int busy;
};

/* Spans of one lane, in order of time, as the chunks have them. */
struct stretches {
    struct {
        uint64_t start_ns, end_ns;
    } *at;
    size_t n, room;
};

/* Run-queue delays of threads that woke up. */
struct wakes {
    double ns, n;
};

struct pp_costs_pass {
    struct pp_costs *c;
    const struct pp_timeline *tl;
    const struct pp_thread_row *threads;
    size_t n_threads;
    struct worker *workers; /* by place in threads */
    double collates, copies, steps, copy_delay_ns, sync_delay_ns, all_ns; /* all_ns: CPU time and run-queue delay of all threads */
    struct wakes trainer_waits, copy_waits, sleeps; /* sleeps: of any kind */
    float *step_ns; /* of every step, for the quota's part */
    size_t n_steps, step_room;
    struct stretches copy, sync; /* of every copy and device sync: what a sync waited for */
    const struct pp_source *source;
    struct pp_counter_id others; /* collective_others_ns */
    size_t others_room;
    int no_memory;
};

/* Wall time that was neither on a CPU nor waiting for one; without accounting, all of it. */
static double blocked_of(const struct pp_span *s)
{
    if ((s->flags & RESOURCES) != RESOURCES)
        return (double)s->dur_ns;
    double rest = (double)s->dur_ns - (double)s->cpu_ns - (double)s->run_delay_ns;
    return rest > 0 ? rest : 0;
}

static double cpu_of(const struct pp_span *s)
{
    return (s->flags & PP_SPAN_HAS_CPU) ? (double)s->cpu_ns : 0;
}

static double delay_of(const struct pp_span *s)
{
    return (s->flags & PP_SPAN_HAS_DELAY) ? (double)s->run_delay_ns : 0;
}

/* When what it slept for had come, and waking up began. */
static uint64_t answered_ns(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns - ((s->flags & PP_SPAN_HAS_DELAY) && s->run_delay_ns < s->dur_ns ? s->run_delay_ns : 0);
}

/* More than it computed: its run-queue delay is one of waking up. */
static int slept(const struct pp_span *s)
{
    return blocked_of(s) > cpu_of(s);
}

static void add_wake(struct wakes *w, const struct pp_span *s)
{
    w->ns += delay_of(s);
    w->n++;
}

/* A wait this short is a hand-over without sleep, or as good as one. */
#define SLEEP_NS 50000

static void add_wait(struct pp_costs_pass *p, struct wakes *w, const struct pp_span *s)
{
    if (s->dur_ns < SLEEP_NS || !slept(s))
        return;
    add_wake(w, s);
    add_wake(&p->sleeps, s);
}

static void finish_sample(struct pp_costs_pass *p, struct worker *w)
{
    struct pp_costs *c = p->c;
    if (!w->busy || !w->hand.done || c->n == MOST_SAMPLES) {
        w->busy = 0;
        return;
    }
    w->busy = 0;
    if (c->n == c->room) {
        size_t room = c->room ? 2 * c->room : 4096;
        struct pp_cost_sample *grown = realloc(c->samples, room * sizeof(*grown));
        if (!grown) {
            p->no_memory = 1;
            return;
        }
        c->samples = grown;
        c->room = room;
    }
    c->samples[c->n++] = w->hand;
}

static void add_read(struct pp_costs_pass *p, struct worker *w, const struct pp_span *s)
{
    if (!(s->flags & PP_SPAN_RETRY)) {
        finish_sample(p, w);
        w->busy = 1;
        w->hand = (struct pp_cost_sample){.sample = s->sample, .read_start_ns = s->start_ns, .batch = s->batch, .worker = w->thread, .epoch = s->epoch};
    }
    w->hand.read_end_ns = answered_ns(s);
    if (slept(s)) {
        w->hand.read_wake += (float)delay_of(s);
        add_wake(&p->sleeps, s);
    }
    w->hand.read_blocked += (float)blocked_of(s);
    w->hand.read_cpu += (float)cpu_of(s);
    w->hand.bytes = s->bytes < UINT32_MAX ? (uint32_t)s->bytes : UINT32_MAX;
    w->hand.hit_known = (s->flags & PP_SPAN_HAS_CACHE) != 0;
    w->hand.hit = w->hand.hit_known && ((uint64_t)s->cache_hit_kib << 10) * 2 >= s->bytes;
}

static void add_worker_span(struct pp_costs_pass *p, struct worker *w, const struct pp_span *s)
{
    struct pp_costs *c = p->c;
    double blocked = blocked_of(s), cpu = cpu_of(s);
    if (s->phase == PP_PHASE_COLLATE) {
        c->collate_cpu_ns += cpu;
        c->collate_blocked_ns += blocked;
        p->collates++;
    }
    if (s->phase == PP_PHASE_READ)
        add_read(p, w, s);
    if (s->phase == PP_PHASE_RETRY)
        w->hand.retry_blocked += (float)blocked;
    if (s->phase == PP_PHASE_DECODE) {
        w->hand.decode_cpu += (float)cpu;
        w->hand.decode_blocked += (float)blocked;
        c->decode_busy_ns += (double)s->dur_ns - blocked;
    }
    if (s->phase == PP_PHASE_TRANSFORM) {
        w->hand.transform_cpu += (float)cpu;
        w->hand.transform_blocked += (float)blocked;
        w->hand.done = !(s->flags & PP_SPAN_ERROR);
    }
    if (s->phase == PP_PHASE_DECODE || s->phase == PP_PHASE_TRANSFORM) {
        c->work_wall_ns += (double)s->dur_ns;
        c->work_blocked_ns += blocked;
        c->has_resources |= (s->flags & RESOURCES) == RESOURCES;
    }
    p->all_ns += cpu + delay_of(s);
    if ((s->phase == PP_PHASE_READ && !slept(s)) || s->phase == PP_PHASE_DECODE || s->phase == PP_PHASE_TRANSFORM || s->phase == PP_PHASE_COLLATE) {
        c->cpu_ns += cpu;
        c->delay_ns += delay_of(s);
    }
}

static void keep_step(struct pp_costs_pass *p, double ns)
{
    if (p->n_steps == p->step_room) {
        size_t room = p->step_room ? 2 * p->step_room : 1024;
        float *grown = realloc(p->step_ns, room * sizeof(*grown));
        if (!grown) {
            p->no_memory = 1;
            return;
        }
        p->step_ns = grown;
        p->step_room = room;
    }
    p->step_ns[p->n_steps++] = (float)ns;
}

static void keep_others(struct pp_costs_pass *p, double ns)
{
    struct pp_costs *c = p->c;
    if (c->n_others == p->others_room) {
        size_t room = p->others_room ? 2 * p->others_room : 1024;
        float *grown = realloc(c->others_ns, room * sizeof(*grown));
        if (!grown) {
            p->no_memory = 1;
            return;
        }
        c->others_ns = grown;
        p->others_room = room;
    }
    c->others_ns[c->n_others++] = (float)ns;
}

static void keep_stretch(struct pp_costs_pass *p, struct stretches *k, uint64_t start_ns, uint64_t end_ns)
{
    if (k->n == k->room) {
        size_t room = k->room ? 2 * k->room : 1024;
        void *grown = realloc(k->at, room * sizeof(*k->at));
        if (!grown) {
            p->no_memory = 1;
            return;
        }
        k->at = grown;
        k->room = room;
    }
    k->at[k->n].start_ns = start_ns;
    k->at[k->n++].end_ns = end_ns < start_ns ? start_ns : end_ns;
}

static void add_other_span(struct pp_costs_pass *p, const struct pp_span *s)
{
    struct pp_costs *c = p->c;
    p->all_ns += cpu_of(s) + delay_of(s);
    if (s->phase == PP_PHASE_DATA_WAIT)
        add_wait(p, &p->trainer_waits, s);
    if (s->phase == PP_PHASE_GET_WAIT || s->phase == PP_PHASE_PUT_WAIT)
        add_wait(p, &p->copy_waits, s);
    if (s->phase == PP_PHASE_H2D) {
        c->copy_cpu_ns += cpu_of(s);
        c->copy_blocked_ns += blocked_of(s);
        p->copy_delay_ns += delay_of(s);
        p->copies++;
        if (slept(s))
            add_wake(&p->sleeps, s);
        keep_stretch(p, &p->copy, s->start_ns + (uint64_t)cpu_of(s), answered_ns(s)); /* on the link: behind the staging, until the lane was woken */
    } else if (s->phase == PP_PHASE_STEP) {
        c->step_cpu_ns += cpu_of(s);
        c->step_blocked_ns += blocked_of(s);
        c->step_stretch_ns += delay_of(s);
        if (slept(s))
            add_wake(&p->sleeps, s);
        keep_step(p, (double)s->dur_ns);
        p->steps++;
    } else if (s->phase == PP_PHASE_DEVICE_SYNC) {
        p->sync_delay_ns += delay_of(s);
        keep_stretch(p, &p->sync, s->start_ns, answered_ns(s));
    }
}

int pp_costs_chunk(struct pp_costs_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = 0;
    while (at < p->n_threads && p->threads[at].id != thread)
        at++;
    if (at == p->n_threads)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->start_ns < p->tl->start_ns || s->start_ns >= p->tl->end_ns || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        if (s->phase == PP_PHASE_COUNTER) {
            if (pp_counter_is(&p->others, p->source, s))
                keep_others(p, (double)s->bytes);
            continue;
        }
        if (p->threads[at].lane == PP_LANE_WORKER)
            add_worker_span(p, &p->workers[at], s);
        else
            add_other_span(p, s);
    }
    return p->no_memory;
}

/* ---- counters: what the system and its quota did meanwhile ---- */

struct counted {
    struct {
        double first, last;
        uint64_t first_ns, last_ns;
        int n;
    } row[6];
};
enum { USER, SYSTEM, PROCESS, THROTTLED, FAULTS, NICE };

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const names[] = {"machine_cpu_user_ns_total", "machine_cpu_system_ns_total", "process_cpu_ns_total", "cgroup_throttled_ns_total",
                                        "process_major_faults_total", "machine_cpu_nice_ns_total"};
    struct counted *k = ctx;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0) {
            if (!k->row[i].n++)
                k->row[i].first = value, k->row[i].first_ns = t_ns;
            k->row[i].last = value;
            k->row[i].last_ns = t_ns;
        }
}

/* Growth per ns of wall time; of CPU time: CPUs. NAN: fewer than two values. */
static double growth(const struct counted *k, int i)
{
    if (k->row[i].n < 2 || k->row[i].last_ns <= k->row[i].first_ns)
        return NAN;
    return (k->row[i].last - k->row[i].first) / (double)(k->row[i].last_ns - k->row[i].first_ns);
}

static pp_status read_counters(const struct pp_source *source, struct pp_costs *c, struct pp_err *err)
{
    struct counted k = {0};
    c->outside_cpus = c->process_cpus = c->throttled_share = c->major_faults_per_s = NAN;
    if (!source->each_counter)
        return PP_OK;
    pp_status st = source->each_counter(source->ctx, on_counter, &k, err);
    c->process_cpus = growth(&k, PROCESS);
    double nice = growth(&k, NICE); /* older recordings have none */
    c->outside_cpus = fmax(growth(&k, USER) + (isnan(nice) ? 0 : nice) + growth(&k, SYSTEM) - c->process_cpus, 0);
    c->throttled_share = growth(&k, THROTTLED);
    c->major_faults_per_s = growth(&k, FAULTS) * 1e9;
    return st;
}

/* ---- configuration ---- */

static int yes(const struct pp_source *s, const char *key)
{
    const char *text = s->meta(s->ctx, "config", key);
    return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

static void read_config(const struct pp_source *s, struct pp_costs *c)
{
    c->workers = (int)pp_source_number(s, "config", "workers", 0);
    c->prefetch = (int)pp_source_number(s, "config", "prefetch", 2);
    c->batch_size = pp_source_number(s, "config", "batch_size", 0);
    c->copy_buffers = (int)pp_source_number(s, "config", "copy_buffers", 2);
    c->in_order = !yes(s, "out_of_order");
    c->pageable = yes(s, "pageable");
    c->sync_every_step = yes(s, "sync_every_step");
    c->streaming = yes(s, "stream");
    c->dataset_samples = (uint64_t)pp_source_number(s, "config", "dataset_samples", 0);
    c->usable_cpus = pp_source_number(s, "environment", "usable_cpus", NAN);
    c->machine_cpus = pp_source_number(s, "environment", "cpus_affinity", c->usable_cpus);
    c->online_cpus = pp_source_number(s, "environment", "cpus_online", c->machine_cpus);
    const char *sharing = s->meta(s->ctx, "environment", "cpu_sharing");
    c->fair_to_groups = sharing && strcmp(sharing, "groups") == 0;
    c->memory_available = pp_source_number(s, "environment", "memory_available", NAN);
}

/* ---- putting it together ---- */

static int by_claim(const void *a, const void *b)
{
    const struct pp_cost_sample *x = a, *y = b;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    return (x->read_start_ns > y->read_start_ns) - (x->read_start_ns < y->read_start_ns);
}

static int by_float(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

static double per(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

/* A throttled thread is in no run queue, so a quota shows as time blocked. What a step took beyond the quickest tenth is charged to it. */
static void charge_quota(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    if (!(c->throttled_share > 0.01) || p->n_steps < 10)
        return;
    qsort(p->step_ns, p->n_steps, sizeof(*p->step_ns), by_float);
    double need = p->step_ns[p->n_steps / 10], sum = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        sum += p->step_ns[i];
    double beyond = fmax(sum / (double)p->n_steps - need, 0) - c->step_stretch_ns;
    if (beyond > 0) {
        c->step_stretch_ns += beyond;
        c->step_blocked_ns = fmax(c->step_blocked_ns - beyond, 0);
    }
}

/* A device sync waits for the copy on the link when it begins, whose time is the copy's and overlaps nothing once the sync is left out; its own time is the rest. */
static double own_sync_ns(const struct pp_costs_pass *p)
{
    double own = 0;
    size_t k = 0;
    for (size_t i = 0; i < p->sync.n; i++) {
        uint64_t start = p->sync.at[i].start_ns, end = p->sync.at[i].end_ns;
        while (k < p->copy.n && p->copy.at[k].end_ns <= start)
            k++;
        if (k < p->copy.n && p->copy.at[k].start_ns <= start)
            start = p->copy.at[k].end_ns < end ? p->copy.at[k].end_ns : end;
        own += (double)(end - start);
    }
    return own;
}

static double rate_error(const struct pp_costs *c, const struct pp_timeline *tl)
{
    enum { PARTS = 10 };
    double n[PARTS] = {0}, mean = (double)c->n / PARTS, off = 0, span = (double)(tl->end_ns - tl->start_ns);
    for (size_t i = 0; i < c->n; i++) {
        int part = (int)((double)(c->samples[i].read_start_ns - tl->start_ns) / span * PARTS);
        n[part < PARTS ? part : PARTS - 1]++;
    }
    for (int k = 0; k < PARTS; k++)
        off += (n[k] - mean) * (n[k] - mean);
    return sqrt(off / (PARTS - 1) / PARTS) / mean;
}

/* Where this thread hardly ever waited, as when the trainer is never short of batches, waking up would take it what it takes the others. */
static double mean_wake(const struct pp_costs_pass *p, const struct wakes *w)
{
    return w->n >= 10 ? per(w->ns, w->n) : per(p->sleeps.ns + w->ns, p->sleeps.n + w->n);
}

/* What an epoch hands out to this rank. The mean batch of the recording has to agree: a sampler may have its own idea of an epoch. */
static uint64_t epoch_samples(const struct pp_source *s, const struct pp_costs *c, const struct pp_timeline *tl)
{
    double world = fmax(pp_source_number(s, "config", "world_size", 1), 1), n = ceil((double)c->dataset_samples / world);
    if (yes(s, "drop_last"))
        n -= fmod(n, c->batch_size);
    if (!(n >= 1) || !tl->window_batches)
        return 0;
    double expected = n / ceil(n / c->batch_size), seen = (double)tl->window_samples / (double)tl->window_batches;
    return fabs(seen / expected - 1) < 0.03 ? (uint64_t)n : 0;
}

static void average(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    c->window_ns = (double)(p->tl->end_ns - p->tl->start_ns);
    c->wanting_cpus = per(c->cpu_ns + c->delay_ns, c->window_ns);
    /* A thread that mostly sleeps says more about being woken than about sharing CPUs: a tenth of its time on one is asked for. */
    if (c->copy_cpu_ns > 0.1 * (c->copy_cpu_ns + c->copy_blocked_ns))
        c->cpu_ns += c->copy_cpu_ns, c->delay_ns += p->copy_delay_ns;
    else
        c->copy_wake_ns = per(p->copy_delay_ns, p->copies);
    if (c->step_cpu_ns > 0.1 * (c->step_cpu_ns + c->step_blocked_ns))
        c->cpu_ns += c->step_cpu_ns, c->delay_ns += c->step_stretch_ns;
    else
        c->step_wake_ns = per(c->step_stretch_ns, p->steps);
    c->trainer_wait_wake_ns = mean_wake(p, &p->trainer_waits);
    c->copy_wait_wake_ns = mean_wake(p, &p->copy_waits);
    c->runnable = per(p->all_ns, (double)(p->tl->end_ns - p->tl->start_ns));
    c->collate_cpu_ns = per(c->collate_cpu_ns, p->collates);
    c->collate_blocked_ns = per(c->collate_blocked_ns, p->collates);
    c->copy_cpu_ns = per(c->copy_cpu_ns, p->copies);
    c->copy_blocked_ns = per(c->copy_blocked_ns, p->copies);
    c->step_cpu_ns = per(c->step_cpu_ns, p->steps);
    c->step_blocked_ns = per(c->step_blocked_ns, p->steps);
    c->step_stretch_ns = per(c->step_stretch_ns, p->steps);
    c->sync_ns = per(own_sync_ns(p), p->steps);
    c->sync_wake_ns = per(p->sync_delay_ns, p->steps);
    c->window_start_ns = p->tl->start_ns;
    c->samples_per_s = per((double)p->tl->window_samples * 1e9, c->window_ns);
    if (c->batch_size <= 0)
        c->batch_size = per((double)p->tl->window_samples, (double)p->tl->window_batches);
    charge_quota(p);
    /* Blocked while decoding, with more than one worker, and no quota to blame: one lock held by one of them nearly all the time. */
    c->locked = c->workers > 1 && !(c->throttled_share > 0.05) && c->work_blocked_ns > 0.3 * c->work_wall_ns && c->decode_busy_ns > 0.5 * c->window_ns;
}

static pp_status refuse(const struct pp_costs *c, const char *path, struct pp_err *err)
{
    if (c->streaming)
        return pp_fail(err, PP_E_INCONCLUSIVE, "%s is a streamed run (--stream): its samples come from a reader thread, which the replay does not model", path);
    if (c->n < 8)
        return pp_fail(err, PP_E_INCONCLUSIVE, "%s holds %zu samples of a steady state, too few to replay; record longer", path, c->n);
    if (!c->has_resources)
        return pp_fail(err, PP_E_INCONCLUSIVE, "%s has no CPU time and run-queue delay with its spans (no /proc/thread-self/schedstat?), and wall times alone predict wrongly", path);
    if (c->workers < 1 || c->batch_size < 1)
        return pp_fail(err, PP_E_INCONCLUSIVE, "%s does not say how many workers it ran with, or its batch size", path);
    return PP_OK;
}

struct pp_costs_pass *pp_costs_begin(const struct pp_source *source, const struct pp_timeline *tl, struct pp_costs *out)
{
    struct pp_costs_pass *p = calloc(1, sizeof(*p));
    memset(out, 0, sizeof(*out));
    if (!p)
        return NULL;
    p->c = out;
    p->tl = tl;
    p->source = source;
    p->others.text = "collective_others_ns";
    p->n_threads = source->threads(source->ctx, &p->threads);
    p->workers = calloc(p->n_threads + 1, sizeof(*p->workers));
    if (!p->workers) {
        free(p);
        return NULL;
    }
    for (size_t i = 0; i < p->n_threads; i++)
        p->workers[i].thread = p->threads[i].id;
    out->glance = source->glance;
    out->base = calloc(PP_BASE_RATES, sizeof(*out->base)); /* without memory for it everything takes longer, no more */
    return p;
}

pp_status pp_costs_end(struct pp_costs_pass *p, const struct pp_source *source, struct pp_err *err)
{
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", source->path);
    struct pp_costs *c = p->c;
    read_config(source, c);
    pp_status st = read_counters(source, c, err);
    for (size_t i = 0; i < p->n_threads; i++)
        finish_sample(p, &p->workers[i]);
    if (p->no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s", source->path);
    if (st == PP_OK) {
        if (c->n)
            qsort(c->samples, c->n, sizeof(*c->samples), by_claim);
        average(p);
        c->epoch_samples = epoch_samples(source, c, p->tl);
        c->restart_ns = per((double)p->tl->restart_ns, (double)p->tl->restarts);
        c->rate_se = c->n ? rate_error(c, p->tl) : 0;
        st = refuse(c, source->path, err);
    }
    free(p->sync.at);
    free(p->copy.at);
    free(p->step_ns);
    free(p->workers);
    free(p);
    return st;
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    return pp_costs_chunk(ctx, thread, spans, n);
}

pp_status pp_costs_read(const struct pp_source *source, const struct pp_timeline *tl, struct pp_costs *out, struct pp_err *err)
{
    struct pp_costs_pass *p = pp_costs_begin(source, tl, out);
    pp_status st = p ? source->each_chunk(source->ctx, NULL, each_chunk, p, NULL, err) : PP_OK;
    pp_status ended = pp_costs_end(p, source, st == PP_OK ? err : NULL);
    return st == PP_OK ? ended : st;
}

void pp_costs_free(struct pp_costs *c)
{
    free(c->outages);
    free(c->samples);
    free(c->others_ns);
    free(c->base);
    c->samples = NULL;
    c->others_ns = NULL;
    c->n_others = 0;
    c->outages = NULL;
    c->n_outages = 0;
    c->base = NULL;
    c->n = c->room = 0;
}
