#include "report/replay/costs_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    static const char *const names[] = {"machine_cpu_user_ns_total",  "machine_cpu_system_ns_total",
                                        "process_cpu_ns_total",       "cgroup_throttled_ns_total",
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
    c->outside_cpus = fmax(growth(&k, USER) + (isnan(nice) ? 0 : nice) + growth(&k, SYSTEM) - c->process_cpus,
                           0);
    c->throttled_share = growth(&k, THROTTLED);
    c->major_faults_per_s = growth(&k, FAULTS) * 1e9;
    return st;
}

/* ---- configuration ---- */

static void read_config(const struct pp_source *s, struct pp_costs *c)
{
    c->workers = (int)pp_source_number(s, "config", "workers", 0);
    c->prefetch = (int)pp_source_number(s, "config", "prefetch", 2);
    c->batch_size = pp_source_number(s, "config", "batch_size", 0);
    c->copy_buffers = (int)pp_source_number(s, "config", "copy_buffers", 2);
    c->in_order = !pp_source_yes(s, "config", "out_of_order");
    c->pageable = pp_source_yes(s, "config", "pageable");
    c->sync_every_step = pp_source_yes(s, "config", "sync_every_step");
    c->streaming = pp_source_yes(s, "config", "stream");
    c->dataset_samples = (uint64_t)pp_source_number(s, "config", "dataset_samples", 0);
    c->usable_cpus = pp_source_number(s, "environment", "usable_cpus", NAN);
    c->machine_cpus = pp_source_number(s, "environment", "cpus_affinity", c->usable_cpus);
    c->online_cpus = pp_source_number(s, "environment", "cpus_online", c->machine_cpus);
    const char *sharing = s->meta(s->ctx, "environment", "cpu_sharing");
    c->fair_to_groups = sharing && strcmp(sharing, "groups") == 0;
    c->memory_available = pp_source_number(s, "environment", "memory_available", NAN);
}

pp_status pp_costs_facts(const struct pp_source *source, struct pp_costs *c, struct pp_err *err)
{
    read_config(source, c);
    return read_counters(source, c, err);
}

/* ---- means ---- */

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

/* A throttled thread is in no run queue, so a quota shows as time blocked. What a step took beyond the
 * quickest tenth is charged to it. */
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

/* A device sync waits for the copy on the link when it begins, whose time is the copy's and overlaps nothing
 * once the sync is left out; its own time is the rest. */
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

/* Where this thread hardly ever waited, as when the trainer is never short of batches, waking up would take
 * it what it takes the others. */
static double mean_wake(const struct pp_costs_pass *p, const struct pp_wakes *w)
{
    return w->n >= 10 ? per(w->ns, w->n) : per(p->sleeps.ns + w->ns, p->sleeps.n + w->n);
}

/* What an epoch hands out to this rank. The mean batch of the recording has to agree: a sampler may have its
 * own idea of an epoch. */
static uint64_t epoch_samples(const struct pp_source *s, const struct pp_costs *c,
                              const struct pp_timeline *tl)
{
    double world = fmax(pp_source_number(s, "config", "world_size", 1), 1),
           n = ceil((double)c->dataset_samples / world);
    if (pp_source_yes(s, "config", "drop_last"))
        n -= fmod(n, c->batch_size);
    if (!(n >= 1) || !tl->window_batches)
        return 0;
    double expected = n / ceil(n / c->batch_size),
           seen = (double)tl->window_samples / (double)tl->window_batches;
    return fabs(seen / expected - 1) < 0.03 ? (uint64_t)n : 0;
}

static void average(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    c->window_ns = (double)(p->tl->end_ns - p->tl->start_ns);
    c->wanting_cpus = per(c->cpu_ns + c->delay_ns, c->window_ns);
    /* A thread that mostly sleeps says more about being woken than about sharing CPUs: a tenth of its time on
     * one is asked for. */
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
    /* Blocked while decoding, with more than one worker, and no quota to blame: one lock held by one of them
     * nearly all the time. */
    c->locked = c->workers > 1 && !(c->throttled_share > 0.05) &&
                c->work_blocked_ns > 0.3 * c->work_wall_ns && c->decode_busy_ns > 0.5 * c->window_ns;
}

void pp_costs_sum_up(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    if (c->n)
        qsort(c->samples, c->n, sizeof(*c->samples), by_claim);
    average(p);
    c->epoch_samples = epoch_samples(p->source, c, p->tl);
    c->restart_ns = per((double)p->tl->restart_ns, (double)p->tl->restarts);
    c->rate_se = c->n ? rate_error(c, p->tl) : 0;
}
