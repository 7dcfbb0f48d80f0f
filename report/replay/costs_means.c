#include "report/replay/costs_impl.h"

#include "probe/base/array.h"

/* ---- counters: what the system and its quota did meanwhile ---- */

struct counted {
    uint64_t from_ns, to_ns; /* of what came before, the last value counts; of what came after, the first */
    double before; /* of the job's CPU time: before from_ns, where more than one value came after it */
    uint64_t before_ns;
    struct {
        double first, last;
        uint64_t first_ns, last_ns;
        int n;
    } row[10];
};
enum { USER, SYSTEM, PROCESS, THROTTLED, FAULTS, NICE, DISK_BYTES, DISK_READS, REFAULTS, SUBPROCESS };

/* The machine's CPU time is asked for a moment after that of the run. Where the run has ended it stands
 * alone, and has up to a second of the run's. */
#define A_MOMENT_NS UINT64_C(100000000)
static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const names[] = {"machine_cpu_user_ns_total",    "machine_cpu_system_ns_total",
                                        "process_cpu_ns_total",         "cgroup_throttled_ns_total",
                                        "process_major_faults_total",   "machine_cpu_nice_ns_total",
                                        "cgroup_disk_read_bytes_total", "cgroup_disk_reads_total",
                                        "cgroup_refault_bytes_total",   "subprocess_cpu_ns_total"};
    struct counted *k = ctx;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0) {
            if ((k->row[i].n && k->row[i].last_ns >= k->to_ns) ||
                ((i == USER || i == SYSTEM || i == NICE) && k->row[PROCESS].n &&
                 t_ns > k->row[PROCESS].last_ns + A_MOMENT_NS))
                continue;
            int new_job = i == PROCESS && k->row[i].n == 1 && k->row[i].last_ns < k->from_ns;
            if (new_job) /* which may have had no process then that was counted */
                k->before = k->row[i].first, k->before_ns = k->row[i].first_ns;
            if (k->row[i].n++ == 0 || t_ns <= k->from_ns || new_job)
                k->row[i].n = 1, k->row[i].first = value, k->row[i].first_ns = t_ns;
            k->row[i].last = value;
            k->row[i].last_ns = t_ns;
        }
}

/* Growth per ns of wall time; of CPU time: CPUs. NAN: fewer than two values. */
static double growth(const struct counted *k, int i)
{
    if (i == PROCESS && k->row[i].n == 1 && k->before_ns && k->row[i].last_ns > k->before_ns)
        return (k->row[i].last - k->before) / (double)(k->row[i].last_ns - k->before_ns);
    if (k->row[i].n < 2 || k->row[i].last_ns <= k->row[i].first_ns)
        return NAN;
    return (k->row[i].last - k->row[i].first) / (double)(k->row[i].last_ns - k->row[i].first_ns);
}

/* ---- configuration ---- */

/* What a file says, if it can be: from 0 to most. */
static double number_to(const struct pp_source *s, const char *key, double most, double otherwise)
{
    double v = pp_source_number(s, "config", key, otherwise);
    return v >= 0 && v <= most ? v : otherwise;
}

enum { MOST_WORKERS = 65536, MOST_INFLIGHT = 256 };

pp_status pp_costs_facts(const struct pp_source *s, struct pp_costs *c, const struct pp_timeline *tl,
                         struct pp_err *err)
{
    c->workers = (int)number_to(s, "workers", MOST_WORKERS, s->stated.workers);
    c->in_trainer = pp_source_number(s, "config", "num_workers", c->workers) == 0;
    c->prefetch = (int)number_to(s, "prefetch", MOST_WORKERS, 2);
    c->batch_size = number_to(s, "batch_size", 1e9, s->stated.batch_size);
    c->copy_buffers = (int)number_to(s, "copy_buffers", MOST_WORKERS, 2);
    c->in_order = !pp_source_yes(s, "config", "out_of_order") &&
                  pp_source_number(s, "config", "in_order", 1) != 0;
    c->pageable = pp_source_yes(s, "config", "pageable");
    c->sync_every_step = pp_source_yes(s, "config", "sync_every_step");
    c->streaming = pp_source_yes(s, "config", "stream");
    c->per_worker = pp_source_is(s, "source", "pytorch") && !c->streaming;
    const char *loader = s->meta(s->ctx, "config", "dataloader");
    const char *row = loader ? s->meta(s->ctx, "loader", loader) : NULL;
    c->divides = row && strstr(row, "sampler=torch.utils.data.dataloader._InfiniteConstantSampler") != NULL;
    c->inflight = c->streaming ? 0 : (int)number_to(s, "inflight", MOST_INFLIGHT, 0);
    c->piece_bytes = pp_source_number(s, "config", "request_bytes", 0);
    c->stream_shards = pp_source_number(s, "config", "stream_shards", 0);
    c->dataset_samples = (uint64_t)number_to(s, "dataset_samples", 1e15, 0);
    c->usable_cpus = pp_source_number(s, "environment", "usable_cpus", NAN);
    c->machine_cpus = pp_source_number(s, "environment", "cpus_affinity", c->usable_cpus);
    c->online_cpus = pp_source_number(s, "environment", "cpus_online", c->machine_cpus);
    const char *sharing = s->meta(s->ctx, "environment", "cpu_sharing");
    c->fair_to_groups = sharing && strcmp(sharing, "groups") == 0;
    c->memory_available = pp_source_number(s, "environment", "memory_available", NAN);
    c->memory_limit = pp_source_number(s, "environment", "memory_limit", NAN);
    c->memory_total = pp_source_number(s, "environment", "memory_total", NAN);
    c->limit_bytes_per_s = pp_source_number(s, "environment", "disk_limit_bytes_per_s", NAN);
    c->limit_reads_per_s = pp_source_number(s, "environment", "disk_limit_reads_per_s", NAN);
    c->images.n = pp_source_number(s, "result", "images", 0);
    c->images.baseline = pp_source_number(s, "result", "images_baseline_jpeg", 0);
    c->image_pixels = c->images.n > 0 ? pp_source_number(s, "result", "image_pixels", 0) / c->images.n : 0;
    const char *gpu = s->meta(s->ctx, "environment", "gpu");
    snprintf(c->gpu, sizeof(c->gpu), "%s", gpu ? gpu : "");
    struct counted k = {.from_ns = tl->start_ns, .to_ns = tl->end_ns};
    c->outside_cpus = c->subprocess_cpus = c->process_cpus = c->throttled_share = c->major_faults_per_s = NAN;
    c->disk_bytes_per_s = c->disk_reads_per_s = c->refault_bytes_per_s = NAN;
    if (!s->each_counter)
        return PP_OK;
    pp_status st = s->each_counter(s->ctx, on_counter, &k, err);
    c->process_cpus = growth(&k, PROCESS);
    double nice = growth(&k, NICE); /* older recordings have none */
    c->outside_cpus = fmax(growth(&k, USER) + (isnan(nice) ? 0 : nice) + growth(&k, SYSTEM) - c->process_cpus,
                           0);
    c->subprocess_cpus = growth(&k, SUBPROCESS);
    if (c->subprocess_cpus > c->outside_cpus)
        c->subprocess_cpus = c->outside_cpus;
    c->throttled_share = growth(&k, THROTTLED);
    c->major_faults_per_s = growth(&k, FAULTS) * 1e9;
    c->disk_bytes_per_s = growth(&k, DISK_BYTES) * 1e9;
    c->disk_reads_per_s = growth(&k, DISK_READS) * 1e9;
    c->refault_bytes_per_s = growth(&k, REFAULTS) * 1e9;
    return st;
}

/* ---- a neighbour that comes in mid-run ---- */

enum { MOST_POLLS = 4096, FEWEST_POLLS = 3 };
#define ROSE 0.2      /* of the machine: what the rules call contention */
#define MOST_TIME 0.8 /* of the intervals on each side lie on their own side of the middle */

/* What other processes used between two polls. A poll puts all of its counters within a moment, the machine's
 * after the process's. */
struct polls {
    uint64_t from_ns, to_ns, t_ns[MOST_POLLS];
    double process, user, outside[MOST_POLLS];
    size_t n;
};

static void on_poll(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct polls *p = ctx;
    if (strcmp(name, "process_cpu_ns_total") == 0)
        p->process = value;
    else if (strcmp(name, "machine_cpu_user_ns_total") == 0)
        p->user = value;
    else if (strcmp(name, "machine_cpu_system_ns_total") == 0 && t_ns >= p->from_ns && t_ns <= p->to_ns &&
             p->n < MOST_POLLS && !isnan(p->process)) {
        p->t_ns[p->n] = t_ns;
        p->outside[p->n++] = p->user + value - p->process;
        p->process = NAN; /* that of the next poll */
    }
}

static double cpus_between(const struct polls *p, size_t from, size_t to)
{
    return p->t_ns[to] > p->t_ns[from]
               ? (p->outside[to] - p->outside[from]) / (double)(p->t_ns[to] - p->t_ns[from])
               : 0;
}

void pp_costs_cut(struct pp_costs_pass *pass)
{
    const struct pp_source *s = pass->source;
    double before = 0, after = 0, cpus = pp_source_number(s, "environment", "cpus_online", NAN);
    pass->c->outside_before = pass->c->outside_rose_at = NAN;
    struct polls *p = s->each_counter ? calloc(1, sizeof(*p)) : NULL;
    struct pp_err ignored = {0};
    if (!p)
        return;
    p->from_ns = pass->whole->start_ns;
    p->to_ns = pass->whole->end_ns;
    p->process = NAN;
    pp_status st = s->each_counter(s->ctx, on_poll, p, &ignored);
    /* The split with the largest rise of the means, if both sides are so for most of their time. */
    size_t at = 0, low = 0, high = 0;
    for (size_t i = FEWEST_POLLS; st == PP_OK && i + FEWEST_POLLS < p->n; i++) {
        double b = cpus_between(p, 0, i), a = cpus_between(p, i, p->n - 1);
        if (a - b > after - before)
            at = i, before = b, after = a;
    }
    for (size_t i = 1; at && i < p->n; i++) {
        double between = cpus_between(p, i - 1, i), middle = (before + after) / 2;
        low += i <= at && between < middle;
        high += i > at && between >= middle;
    }
    if (at && low >= MOST_TIME * (double)at && high >= MOST_TIME * (double)(p->n - 1 - at) &&
        after - before >= ROSE * cpus) {
        pass->cut = *pass->whole;
        pass->cut.start_ns = p->t_ns[at];
        pass->tl = &pass->cut;
        pass->c->outside_before = fmax(before, 0);
        pass->c->outside_rose_at = (double)(p->t_ns[at] - p->from_ns) / (double)(p->to_ns - p->from_ns);
    }
    free(p);
}

/* ---- means ---- */

PP_BY_BOTH(by_claim, struct pp_cost_sample, batch, read_start_ns)

PP_BY(by_length, struct pp_costs_step, ns)

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
    double need = p->step[p->n_steps / 10].ns, sum = 0; /* in order of their length */
    for (size_t i = 0; i < p->n_steps; i++)
        sum += p->step[i].ns;
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
        double part = ((double)c->samples[i].read_start_ns - (double)tl->start_ns) / span * PARTS;
        n[(int)fmin(fmax(part, 0), PARTS - 1)]++; /* a file may say that a sample was read in a later year */
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

#define LARGER_THAN_SEEN 16
enum { MOST_SPLIT = 200000 };

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

/* Of a recording that counts none, batches have what their makers made. */
static double delivered(const struct pp_costs *c, const struct pp_timeline *tl)
{
    return c->made_per_batch > 0 ? (double)tl->window_batches * c->batch_size : (double)tl->window_samples;
}

/* What the report shows as the ceiling is the window without its exposed time; a prediction must not promise
 * more. The steps alone would be a second, higher estimate of it. */
static double trainer_rest_ns(const struct pp_costs *c, const struct pp_timeline *tl)
{
    double left = (double)(tl->end_ns - tl->start_ns) - (double)pp_timeline_exposed_ns(tl) -
                  c->step_stretch_ns * (double)tl->judged_batches,
           samples = delivered(c, tl);
    if (!tl->has_step || !(left > 0) || !(samples > 0))
        return 0;
    return fmax(left / samples * c->batch_size - c->step_blocked_ns - c->step_cpu_ns, 0);
}

/* A trainer that is its own worker makes the batch in its data wait: that does not say what taking one costs.
 * One that hardly blocks there may poll, and of its CPU time no more than the unpickling counts. Beside its
 * CPU time unpickling waits for a thread of the worker, which answers for each tensor: with a worker that is
 * at work that is the worker's work (it holds the interpreter), and only of an idle one the hand-over's. Of
 * the run-queue delay of the waits the unpickling has its part of their time: it is none of being woken when
 * a batch comes, and the replay makes its own of it. */
static void cost_of_fetching(struct pp_costs_pass *p, struct pp_costs *c)
{
    double unpickle_ns = fmin(p->counter[PP_COST_UNPICKLE].sum, p->data_wait_ns), n = p->data_waits,
           delay_ns = unpickle_ns * per(p->data_wait_delay_ns, p->data_wait_ns),
           cpu_ns = p->counter[PP_COST_UNPICKLE_CPU].sum > 0
                        ? p->counter[PP_COST_UNPICKLE_CPU].sum /* older recordings have the waits' alone */
                        : fmin(p->data_wait_cpu_ns, unpickle_ns);
    int known = unpickle_ns > 0, sleeps = p->data_wait_blocked_ns > 0.05 * p->data_wait_cpu_ns;
    c->unpickle_ns = known ? per(unpickle_ns, n) : NAN;
    c->unpickle_cpu_ns = known ? per(fmin(cpu_ns, p->data_wait_cpu_ns), n) : NAN;
    c->batch_tensors = p->counter[PP_COST_TENSORS].sum > 0 ? per(p->counter[PP_COST_TENSORS].sum, n) : NAN;
    c->helper_cpu_ns = p->counter[PP_COST_HELPER_CPU].sum > 0 ? p->counter[PP_COST_HELPER_CPU].sum : NAN;
    c->worker_threads = p->counter[PP_COST_THREADS].n > 0
                            ? p->counter[PP_COST_THREADS].sum / p->counter[PP_COST_THREADS].n
                            : NAN;
    if (c->in_trainer)
        return;
    double woken_ns = p->data_wait_ns > 0 ? p->trainer_waits.ns * unpickle_ns / p->data_wait_ns : 0;
    p->trainer_waits.ns -= woken_ns;
    p->sleeps.ns -= woken_ns;
    double draw_ns = fmin(p->counter[PP_COST_DRAWS].sum, p->data_wait_cpu_ns),
           rest_ns = p->data_wait_cpu_ns - draw_ns;
    c->draw_ns = per(draw_ns, n);
    c->fetch_cpu_ns = per(sleeps ? rest_ns : fmin(rest_ns, unpickle_ns), n);
    double idle = fmin(2 * per(p->idle_ns, p->worker_ns), 1); /* for half of their time, or more */
    c->fetch_blocked_ns = per(fmax(unpickle_ns - cpu_ns - delay_ns, 0) * idle, n);
}

/* What the trainer does beside steps and waits takes the same time for a batch of any loader. */
static void leave_others_out(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    const struct pp_epoch_starts *e = &p->whole->starts;
    double window_ns = (double)(p->tl->end_ns - p->tl->start_ns);
    if (!(p->samples[0] > 0) || !(p->samples[1] > 0))
        return;
    c->trainer_rest_ns = fmax(window_ns - p->exposed_ns - p->all_steps_ns - (double)e->gap_ns, 0) /
                         (p->batches[0] + p->batches[1]);
    c->window_ns = window_ns - p->other_ns - c->trainer_rest_ns * p->batches[1];
    c->others_part = 1 - c->window_ns / window_ns;
    c->whole_per_s = (p->samples[0] + p->samples[1]) * 1e9 / window_ns;
    c->others_wait_share = per(p->other_wait_ns, p->other_ns);
    c->samples_per_s = per(p->samples[0] * 1e9, c->window_ns);
    /* as for one loader, the starts of epochs are no part of the pace that data sets */
    c->trainer_rest_ns += p->pauses_ns + (double)(e->gap_ns + e->wait_ns) / p->batches[0];
}

#define LEAST_HELPERS 0.03 /* CPUs on average: less is how far counters are off */
#define MOST_DRAG 1        /* of what was measured, with one helper beside the thread */
/* Of the CPU time without a lane, what runs beside the trainer's thread in its steps: threads of OpenMP. What
 * there was while it was blocked there it waited for, and workers' own threads are counted. */
static void find_step_threads(const struct pp_costs_pass *p, struct pp_costs *c)
{
    double step_ns = c->step_cpu_ns * p->steps,
           helpers_ns = c->helper_cpus * c->window_ns - p->counter[PP_COST_HELPER_CPU].sum -
                        c->step_blocked_ns * p->steps,
           most = fmax(c->usable_cpus - 1, 0);
    if (!(helpers_ns > LEAST_HELPERS * c->window_ns && step_ns > 0 && most > 0))
        return;
    c->step_threads = fmin(helpers_ns / step_ns, most);
    c->step_drag = fmin(c->step_threads, MOST_DRAG);
    c->step_rate = step_ns / (step_ns + c->step_stretch_ns * p->steps);
    c->helper_cpus -= c->step_threads * step_ns / c->window_ns;
}

static void average(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    c->window_ns = (double)(p->tl->end_ns - p->tl->start_ns);
    c->wanting_cpus = per(c->cpu_ns + c->delay_ns, c->window_ns);
    if (!c->n_others) { /* how long the others took is not known: what it waited for them is a part of its
                           step */
        c->step_cpu_ns += p->collective_cpu_ns;
        c->step_blocked_ns += p->collective_blocked_ns;
        c->step_stretch_ns += p->collective_delay_ns;
    }
    if (p->n_steps)
        qsort(p->step, p->n_steps, sizeof(*p->step), by_length);
    pp_costs_apart(p);
    if (c->per_worker)
        c->copy_cpu_ns += p->get_cpu_ns; /* the thread that pins memory unpickles what it takes */
    /* A thread that mostly sleeps says more about being woken than about sharing CPUs: a tenth of its time on
     * one is asked for. */
    if (c->copy_cpu_ns > 0.1 * (c->copy_cpu_ns + c->copy_blocked_ns + c->gpu_decode_ns))
        c->cpu_ns += c->copy_cpu_ns, c->delay_ns += p->copy_delay_ns;
    else
        c->copy_wake_ns = per(p->copy_delay_ns, p->copies);
    if (c->step_cpu_ns > 0.1 * (c->step_cpu_ns + c->step_blocked_ns))
        c->cpu_ns += c->step_cpu_ns, c->delay_ns += c->step_stretch_ns;
    else
        c->step_wake_ns = per(c->step_stretch_ns, p->steps);
    cost_of_fetching(p, c);
    if (c->in_trainer) { /* its waits are the making of batches, which its other lane has */
        p->all_ns -= p->data_wait_cpu_ns + p->data_wait_delay_ns;
        p->all_cpu_ns -= p->data_wait_cpu_ns;
    }
    c->trainer_wait_wake_ns = mean_wake(p, &p->trainer_waits);
    c->copy_wait_wake_ns = mean_wake(p, &p->copy_waits);
    c->runnable = per(p->all_ns, (double)(p->tl->end_ns - p->tl->start_ns));
    c->collate_cpu_ns = per(c->collate_cpu_ns, p->collates);
    c->collate_blocked_ns = per(c->collate_blocked_ns, p->collates);
    c->copy_cpu_ns = per(c->copy_cpu_ns, p->copies);
    c->copy_blocked_ns = per(c->copy_blocked_ns, p->copies);
    c->copy_bytes = per(c->copy_bytes, p->copies);
    /* another program decodes whole images; our loader the part used, of which config has the format */
    if (!(c->image_pixels > 0) && !p->source->meta(p->source->ctx, "config", "format"))
        c->image_pixels = per(p->decoded_bytes / 3, p->decoded);
    c->gpu_decode_ns = per(c->gpu_decode_ns, p->decodings);
    c->step_cpu_ns = per(c->step_cpu_ns, p->steps);
    c->step_blocked_ns = per(c->step_blocked_ns, p->steps);
    c->step_stretch_ns = per(c->step_stretch_ns, p->steps);
    c->sync_ns = per(own_sync_ns(p), p->steps);
    c->sync_wake_ns = per(p->sync_delay_ns, p->steps);
    c->window_start_ns = p->tl->start_ns;
    /* of a part of the window, what the workers made then is what was delivered */
    c->samples_per_s = per((p->tl == p->whole ? delivered(c, p->tl) : (double)c->n) * 1e9, c->window_ns);
    /* A batch size that the batches do not have is not this recording's: replays would take longer. */
    double seen = per(delivered(c, p->tl), (double)p->tl->window_batches);
    if (c->batch_size <= 0 || (seen > 0 && c->batch_size > LARGER_THAN_SEEN * seen))
        c->batch_size = seen;
    double of_full = seen > 0 ? c->batch_size / seen : 1; /* the last batch of an epoch may be short */
    c->apart_ns *= of_full;
    c->gpu_busy_ns *= of_full;
    c->pageable_call_ns *= of_full;
    c->pageable_copy_ns *= of_full;
    charge_quota(p);
    c->trainer_rest_ns = trainer_rest_ns(c, p->whole);
    leave_others_out(p);
    double waits = c->others_part > 0 || p->whole->sync_ns ? 0
                                                           : pp_timeline_share(p->whole, p->whole->wait_ns);
    c->data_wait_share = waits > 0 ? waits : 0;
    /* what the trainer did beside its spans, and new workers before theirs, is not of threads with no lane */
    double unseen_ns = c->trainer_rest_ns * p->steps + (double)p->whole->restart_ns;
    c->helper_cpus = fmax(c->process_cpus - per(p->all_cpu_ns + unseen_ns, c->window_ns), 0);
    find_step_threads(p, c);
    /* Blocked while decoding, with more than one worker, and no quota to blame: one lock held by one of them
     * nearly all the time. */
    c->locked = c->workers > 1 && !(c->throttled_share > 0.05) &&
                (c->threads_locked || c->lock_wait > 0 ||
                 (c->work_blocked_ns > 0.3 * c->work_wall_ns && c->decode_busy_ns > 0.5 * c->window_ns));
}

/* One recorded sample for each batch of many: the data set makes whole batches (batch_size=None with a
 * sampler of batches, __getitems__), or so does a worker of another loader. Each is split, of as many as a
 * replay needs. */
static void split_batches(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    size_t batches = 0, parts = (size_t)c->batch_size, kept;
    for (size_t i = 0; i < c->n; i++)
        batches += i == 0 || c->samples[i].batch != c->samples[i - 1].batch;
    c->whole_batches = c->n && (c->per_worker ? batches >= c->n
                                              : c->made_per_batch > 0 && c->made_per_batch < A_BATCH);
    if (!c->whole_batches || parts < 2 || c->batch_size > MOST_SPLIT)
        return;
    kept = (size_t)fmax(fmin((double)c->n, MOST_SPLIT / c->batch_size), 1);
    struct pp_cost_sample *split = malloc(kept * parts * sizeof(*split));
    for (size_t i = 0; split && i < kept * parts; i++)
        split[i] = pp_costs_part(&c->samples[i / parts * c->n / kept], i % parts, parts);
    p->no_memory |= !split;
    if (!split)
        return;
    free(c->samples);
    c->samples = split;
    c->n = c->room = kept * parts;
}

/* A thread that hands tasks or results over has spans as well, of next to no work. */
#define HANDS_OVER 0.02
#define RESTS 0.9 /* of the steps' time: the first tasks of a batch begin before the wait for it */
/* Another loader than PyTorch's tells neither how many its workers are nor how large its batches. They are
 * seen: a worker is a lane that makes something, a sample what it makes at a time. The user's word comes
 * first. */
static void count_made(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    const struct pp_timeline *tl = p->whole;
    size_t kept = 0, lanes = 0, own = 0;
    double least = 0;
    if (tl->window_samples || !tl->window_batches)
        return;
    for (size_t i = 0; i < p->n_threads; i++)
        least = fmax(least, HANDS_OVER * p->workers[i].made_ns);
    for (size_t i = 0; i < p->n_threads; i++) {
        lanes += p->workers[i].made_ns > least;
        own += p->workers[i].made_ns > least && p->threads[i].tid == p->trainer_tid;
    }
    c->in_trainer = c->per_worker ? c->in_trainer : own == lanes;
    c->workers = c->workers < 1 ? (int)lanes : c->workers;
    for (size_t i = 0; i < c->n; i++)
        if (p->workers[pp_thread_at(p->threads, p->n_threads, c->samples[i].worker)].made_ns > least)
            c->samples[kept++] = c->samples[i];
    c->n = kept;
    c->made_per_batch = (double)kept / (double)tl->window_batches * (double)(tl->end_ns - tl->start_ns) /
                        (double)(p->tl->end_ns - p->tl->start_ns);
    c->batch_size = c->batch_size > 0 ? c->batch_size : fmax(round(c->made_per_batch), 1);
    double steps_ns = c->step_cpu_ns + c->step_blocked_ns + c->step_stretch_ns;
    c->rests = !c->in_trainer && per(p->idle_ns, p->worker_ns) >=
                                     RESTS * per(steps_ns, (double)(p->tl->end_ns - p->tl->start_ns));
}

/* A lock's own method, as in "SemLock.__enter__ in Birds.__getitem__": of multiprocessing, a manager,
 * filelock. */
int pp_costs_is_lock(const struct pp_op *op)
{
    static const char *const locks[] = {"Lock", "Semaphore", "Acquirer"};
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(op->name, " "), op->name);
    const char *method = strrchr(name, '.');
    if (op->of_batch || 2 * op->cpu > op->n || !method ||
        (strcmp(method, ".__enter__") != 0 && strcmp(method, ".acquire") != 0))
        return 0;
    for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
        if (strstr(name, locks[i]))
            return 1;
    return 0;
}

#define MUCH_LOCKED 0.1 /* of the workers' time */

void pp_costs_find_lock(struct pp_costs *c)
{
    double waits = 0, cpu = 0, n = 0;
    for (size_t i = 0; i < c->ops.n_ops; i++) {
        const struct pp_op *op = &c->ops.ops[i];
        int counts = c->ops.loaders[op->loader].judged && !op->of_batch, is_lock = pp_costs_is_lock(op);
        waits += counts && is_lock ? op->n : 0;
        cpu += counts && !is_lock ? op->cpu : 0;
        n += counts ? op->n : 0;
    }
    if (c->workers < 2 || !(waits >= fmax(MUCH_LOCKED * n, PP_OPS_FEWEST) && waits < n))
        return;
    c->lock_wait = waits / n;
    c->lock_sleeps = cpu < 0.5 * (n - waits);
}

void pp_costs_sum_up(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    /* A sample is whole when it came through the last stage that most samples of the recording come through:
     * our loader transforms, another program may only read and decode. The others failed, or were cut off. */
    size_t through[PP_PHASE_TRANSFORM + 1] = {0}, kept = 0;
    unsigned last = PP_PHASE_TRANSFORM;
    for (size_t i = 0; i < c->n; i++)
        for (unsigned k = PP_PHASE_READ; k <= c->samples[i].reached; k++)
            through[k]++;
    while (last > PP_PHASE_READ && 2 * through[last] < c->n)
        last--;
    for (size_t i = 0; i < c->n; i++)
        if (c->samples[i].reached >= last)
            c->samples[kept++] = c->samples[i];
    c->n = kept;
    count_made(p);
    if (c->n)
        qsort(c->samples, c->n, sizeof(*c->samples), by_claim);
    pp_costs_find_lock(c);
    average(p);
    split_batches(p);
    c->epoch_samples = epoch_samples(p->source, c, p->tl);
    /* As the recording has them. A job may leave its epochs before they end, or have a sampler with an idea
     * of its own. */
    const struct pp_epoch_starts *e = &p->whole->starts;
    c->drains = c->per_worker && e->n && e->whole;
    if (c->drains) {
        double batches = (double)e->batches / (double)e->whole,
               known = ceil((double)c->epoch_samples / c->batch_size);
        if (!(fabs(known / batches - 1) < 0.01))
            c->epoch_samples = (uint64_t)fmax(batches * c->batch_size, 1);
        c->epoch_starts_missing = fmax(1 - (double)e->n * batches / fmax((double)p->whole->window_batches, 1),
                                       0);
        c->epoch_wait_ns = (double)e->wait_ns / (double)e->n;
        c->epoch_gap_ns = (double)e->gap_ns / (double)e->n;
        c->epoch_sampler_ns = fmin((double)e->sampler_ns / (double)e->n, c->epoch_gap_ns);
        /* Persistent workers of an epoch left early finish what they were given before the next begins. */
        c->may_persist = e->workers_ns > e->starting_ns &&
                         pp_source_number(p->source, "config", "persistent_workers", 0) == 0 &&
                         pp_source_number(p->source, "config", "loader_made_again", 0) == 0;
        if (!c->in_trainer)
            c->epoch_workers_ns = fmin((double)e->workers_ns / (double)e->n, c->epoch_gap_ns);
    }
    c->restart_ns = per((double)p->tl->restart_ns, (double)p->tl->restarts);
    c->rate_se = c->n ? rate_error(c, p->tl) : 0;
    pp_costs_cold(p);
}
