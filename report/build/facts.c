#include "report/build/parts.h"

#include "probe/base/err.h"
#include "report/findings/findings.h"
#include "report/gpu/gpu.h"
#include "report/rules/advice.h"
#include "report/source/rows.h"

/* ---- PP_FROM_RUN ---- */

/* CPU time of all recorded threads over the machine's: a spinning trainer takes CPUs from workers, too. */
static double cpu_saturation(const struct pp_facts_from *from)
{
    double cpu_ns = 0;
    int measured = 0;
    for (size_t i = 0; i < from->gathered->tally.n_threads; i++) {
        cpu_ns += from->gathered->tally.threads[i].inside.cpu_ns;
        measured |= from->gathered->tally.threads[i].inside.measured_ns > 0;
    }
    return measured && from->report->window_s > 0
               ? cpu_ns / (from->report->window_s * 1e9 * from->usable_cpus)
               : NAN;
}

static const struct pp_report_pair *config(const struct pp_facts_from *from, const char *key)
{
    return pp_rows_find(from->report->config, from->report->n_config, key);
}

/* NAN: the file does not say. */
static double is_on(const struct pp_report_pair *p)
{
    return !p ? NAN : strcmp(p->value, "true") == 0 || strcmp(p->value, "1") == 0;
}

/* What makes a sample of a PyTorch job, and what it makes it of. A data set may be the type itself. */
static void add_data_set(const struct pp_facts_from *from, struct pp_facts *f)
{
    const struct pp_report_pair *code = config(from, "dataset_code"), *holds = config(from, "dataset_holds");
    const struct pp_report *r = from->report;
    double *m = f->metric, ns = from->gathered->tally.judged_work_ns,
           samples = from->timeline->own.samples ? (double)from->timeline->own.samples
                                                 : (double)r->window_samples;
    m[PP_METRIC_SAMPLE_COST] = ns > 0 && samples > 0 ? ns / samples : NAN;
    if (!code &&
        pp_source_yes(from->source, "config", "python_program")) /* an older recording: the type alone */
        code = config(from, "dataset");
    if (!code)
        return;
    const char *all = pp_arena_printf(from->arena, "%s, %s", code->value, holds ? holds->value : "");
    const struct pp_held *held = pp_held_find(all, 0, from->arena, &f->text[PP_METRIC_HELD]);
    size_t n = strlen(code->value), one = strlen(".__getitem__");
    f->text[PP_METRIC_SAMPLE_CODE] = code->value + (strncmp(code->value, "__main__.", 9) == 0 ? 9 : 0);
    f->text[PP_METRIC_HELD_ADVICE] = held ? held->advice : NULL;
    if (held && strcmp(f->text[PP_METRIC_HELD], code->value) == 0)
        f->text[PP_METRIC_HELD] = NULL; /* the code is a library's own: the sentence names it already */
    pp_held_find(all, 1, from->arena, &f->text[PP_METRIC_TRANSFORMS]);
    int by_item = n > one && strcmp(code->value + n - one, ".__getitem__") == 0;
    m[PP_METRIC_ONE_BY_ONE] = by_item && !from->gathered->costs.whole_batches ? 1 : NAN;
}

/* The DataLoader's iterator says whether it has workers; another name says nothing. Neither does a trace of
 * calls, but whose calls they are. */
static void add_trace(const struct pp_facts_from *from, double *m)
{
    const struct pp_source *s = from->source;
    const char *loader = s->meta(s->ctx, "import", "loader");
    m[PP_METRIC_IN_TRAINER] = !loader                           ? NAN
                              : strstr(loader, "SingleProcess") ? 1
                              : strstr(loader, "MultiProcess")  ? 0
                                                                : NAN;
    const char *calls = s->meta(s->ctx, "import", "calls");
    if (calls && strcmp(calls, "of the trainer") == 0)
        m[PP_METRIC_IN_TRAINER] = 1;
    m[PP_METRIC_CALLS] = calls && strcmp(calls, "of workers") == 0 ? 1 : NAN;
}

int pp_run_ended_by_itself(const struct pp_source *source)
{
    const char *by = source->meta(source->ctx, "result", "ended_by");
    return by && (strcmp(by, "epochs") == 0 || strcmp(by, "steps") == 0);
}

/* The job has fewer CPUs than it was started with, or its workers have fewer than the job. */
static void add_binding(const struct pp_facts_from *from, struct pp_facts *f)
{
    const struct pp_source *s = from->source;
    double *m = f->metric, job = pp_source_number(s, "environment", "cpus_affinity", NAN),
           given = pp_source_number(s, "environment", "cpus_at_start", NAN),
           narrow = pp_source_number(s, "environment", "narrow_cpus", NAN),
           processes = pp_source_number(s, "environment", "narrow_processes", NAN);
    int workers = narrow < job && processes >= m[PP_METRIC_NUM_WORKERS] && m[PP_METRIC_NUM_WORKERS] >= 1;
    if (!workers && !(job < given))
        return;
    f->text[PP_METRIC_BOUND_ONES] = workers ? "the workers" : "the job";
    m[PP_METRIC_BOUND_CPUS] = workers ? narrow : job;
    m[PP_METRIC_OFFERED_CPUS] = workers ? fmax(job, given) : given;
}

/* A type as recordings name it ("__main__.Tracks") or a method ("Tracks.__getitem__") is that class. */
static int is_class(const char *type, const char *class)
{
    size_t n = strlen(class);
    for (const char *p = type; p && (p = strstr(p, class)); p++)
        if ((p == type || p[-1] == '.') && (!p[n] || p[n] == '.'))
            return 1;
    return 0;
}

static void add_between(const struct pp_facts_from *from, struct pp_facts *f)
{
    const struct pp_report *r = from->report;
    const struct pp_timeline *t = from->timeline;
    const struct pp_op_step *code = &from->gathered->costs.ops.between;
    const struct pp_report_pair *data = config(from, "dataset_code");
    double *m = f->metric, n = 0;
    m[PP_METRIC_BETWEEN] = r->window_s > 0 ? (double)t->gap_ns / 1e9 / r->window_s : NAN;
    m[PP_METRIC_BETWEEN_PART] = m[PP_METRIC_BETWEEN] / (m[PP_METRIC_BETWEEN] + m[PP_METRIC_EPOCH]);
    for (size_t i = 0; i < t->n_gaps; i++)
        n += pp_gap_is_long(t, i);
    m[PP_METRIC_BETWEEN_TIME] = n > 0 ? (double)t->gap_ns / n : NAN;
    if (!pp_op_step_is_told(code))
        return;
    f->text[PP_METRIC_BETWEEN_CODE] = code->place
                                          ? pp_arena_printf(from->arena, "%s (%s)", code->name, code->place)
                                          : code->name;
    int made = code->class &&
               (strcmp(code->class, "DataLoader") == 0 || (data && is_class(data->value, code->class)));
    for (size_t i = 0; i < r->n_loaders && code->class; i++)
        made |= is_class(r->loaders[i].dataset, code->class) || is_class(r->loaders[i].sampler, code->class);
    m[PP_METRIC_BETWEEN_MADE] = made;
}

static void add_run(const struct pp_facts_from *from, struct pp_facts *f)
{
    const struct pp_report *r = from->report;
    const struct pp_timeline *t = from->timeline;
    const struct pp_report_pair *batch_size = config(from, "batch_size");
    double *m = f->metric, workers = (double)from->gathered->tally.lane_threads[PP_LANE_WORKER];
    f->subject = r->subject_kind;
    f->ended_by = from->source->meta(from->source->ctx, "result", "ended_by");
    f->batches = (double)t->batches;
    f->has_workers = workers > 0;
    f->has_step = r->has_step;
    f->own_loader = r->own_loader;
    f->has_steady_state = t->has_steady_state;
    f->errors = r->errors + r->retries;
    f->failed = strcmp(r->outcome, "failed") == 0;
    f->ended = r->ended;
    f->ended_remedy = r->ended_remedy;
    f->program = f->subject == PP_SUBJECT_JOB || f->subject == PP_SUBJECT_PROGRAM;
    f->python = pp_source_yes(from->source, "config", "python_program");
    f->unannotated = f->program && !t->batches && !t->has_step;
    f->trace = r->subject_kind == PP_SUBJECT_TRACE ? from->source->meta(from->source->ctx, "run", "source")
                                                   : NULL;
    f->trace_waits = from->source->meta(from->source->ctx, "import", "waits");
    m[PP_METRIC_PINS] = is_on(config(from, "pin_memory"));
    m[PP_METRIC_MADE_AGAIN] = is_on(config(from, "loader_made_again"));
    m[PP_METRIC_KEPT_WORKERS] = !config(from, "num_workers")   ? NAN /* other loaders do not say */
                                : m[PP_METRIC_MADE_AGAIN] == 1 ? 0
                                                               : is_on(config(from, "persistent_workers"));
    if (f->trace)
        add_trace(from, m);
    f->only_first_batches = t->has_steady_state && t->judged_batches == 0;
    if (f->only_first_batches)
        m[PP_METRIC_ITERATOR_OF] = ceil(pp_source_number(from->source, "config", "dataset_samples", NAN) /
                                        pp_source_number(from->source, "config", "batch_size", NAN));
    add_data_set(from, f);
    m[PP_METRIC_SATURATION] = cpu_saturation(from);
    m[PP_METRIC_BOUNDARY] = r->window_s > 0 ? r->boundary_s / r->window_s : NAN;
    const struct pp_tally_phase *saves = from->gathered->tally.phase[PP_LANE_TRAINER][PP_PHASE_CHECKPOINT];
    m[PP_METRIC_EPOCH] = m[PP_METRIC_BOUNDARY] - (saves ? saves->inside.total_ns / 1e9 / r->window_s : 0);
    add_between(from, f);
    int stream_workers = pp_stream_workers(from->source, r, &m[PP_METRIC_STREAM_IDLE]);
    if (stream_workers) {
        m[PP_METRIC_STREAM_WORKERS] = stream_workers;
        m[PP_METRIC_STREAM_DELIVER] = stream_workers - m[PP_METRIC_STREAM_IDLE];
    }
    f->text[PP_METRIC_INNER] = pp_loaders_inner(r);
    const struct pp_handed_use *handed = &from->gathered->checks.handed;
    m[PP_METRIC_HANDED_FACTOR] = handed->factor;
    m[PP_METRIC_HANDED_BYTES] = handed->puts > 0 ? handed->put_bytes / handed->puts : NAN;
    m[PP_METRIC_HANDED] = m[PP_METRIC_HANDED_BYTES] * m[PP_METRIC_HANDED_FACTOR];
    const struct pp_report_pair *sampler = config(from, "sampler");
    const char *module_ends = sampler && sampler->value ? strrchr(sampler->value, '.') : NULL;
    f->text[PP_METRIC_SAMPLER] = module_ends ? module_ends + 1 : sampler ? sampler->value : NULL;
    double between = r->window_s > 0 ? (double)t->starts.sampler_ns / 1e9 / r->window_s : NAN;
    m[PP_METRIC_SAMPLER_SHARE] = between + handed->sampler_ns / 1e9 / r->window_s;
    m[PP_METRIC_SAMPLER_PART] = between / m[PP_METRIC_EPOCH];
    double program = pp_timeline_program_s(t, r->first_batch_s); /* no part of the input pipeline */
    m[PP_METRIC_STARTUP] = pp_run_ended_by_itself(from->source)
                               ? (r->first_batch_s - program) / (r->duration_s - program)
                               : NAN;
    m[PP_METRIC_LOSS] = from->loss_share;
    /* without a step only the rate is judged, and to that the first batch of an epoch counts as any other */
    m[PP_METRIC_BATCHES] = r->has_step || !t->has_steady_state ? (double)t->judged_batches
                                                               : (double)t->window_batches;
    m[PP_METRIC_WINDOW] = t->has_steady_state ? r->window_s * 1e9 : 0;
    m[PP_METRIC_CPUS] = from->usable_cpus;
    m[PP_METRIC_NUM_WORKERS] = pp_source_number(from->source, "config", "num_workers", NAN);
    /* of the loader that is judged, where there are several */
    m[PP_METRIC_WORKERS] = m[PP_METRIC_NUM_WORKERS] >= 1 ? fmin(workers, m[PP_METRIC_NUM_WORKERS]) : workers;
    m[PP_METRIC_WORKERS_PER_CPU] = m[PP_METRIC_WORKERS] / from->usable_cpus;
    add_binding(from, f);
    m[PP_METRIC_PAGEABLE] = is_on(config(from, "pageable"));
    m[PP_METRIC_RATE] = r->samples_per_s;
    m[PP_METRIC_BATCH_TIME] = 1e9 / r->batches_per_s;
    m[PP_METRIC_BATCH_SIZE] = batch_size ? atof(batch_size->value)
                                         : (double)r->window_samples / (double)r->window_batches;
}

/* ---- PP_FROM_WAIT, OWNER, LAWS, RANKS ---- */

/* The wait for data, whose it is, and what queueing laws say of it. */
static void add_wait(const struct pp_facts_from *from, struct pp_facts *f)
{
    static const enum pp_metric metrics[PP_LAWS] = {[PP_LAW_UTILISATION] = PP_METRIC_LAW_UTILISATION,
                                                    [PP_LAW_SERVICE] = PP_METRIC_LAW_SERVICE,
                                                    [PP_LAW_LITTLE] = PP_METRIC_LAW_LITTLE},
                                where[PP_LAWS] = {[PP_LAW_UTILISATION] = PP_METRIC_LAW_UTILISATION_WHERE,
                                                  [PP_LAW_SERVICE] = PP_METRIC_LAW_SERVICE_WHERE,
                                                  [PP_LAW_LITTLE] = PP_METRIC_LAW_LITTLE_WHERE};
    const struct pp_timeline *t = from->timeline;
    const struct pp_laws *laws = &from->gathered->checks.laws;
    struct pp_owner owner;
    double *m = f->metric;
    f->data_wait_se = pp_timeline_wait_share_se(t);
    m[PP_METRIC_DATA_WAIT] = from->report->has_step || !t->window_batches
                                 ? pp_timeline_share(t, pp_timeline_exposed_ns(t))
                                 : 1;
    m[PP_METRIC_WAIT_ITSELF] = pp_timeline_share(t, t->wait_ns + t->sync_ns);
    m[PP_METRIC_COLLECTIVE] = from->report->collective_share;
    pp_attribute(t, &from->gathered->tally, &owner);
    m[PP_METRIC_OWNER] = owner.known ? owner.phase : NAN;
    f->owner_is_worker = owner.lane == PP_LANE_WORKER;
    memcpy(f->phase_share, owner.phase_share, sizeof(f->phase_share));
    m[PP_METRIC_UNNAMED] = owner.unnamed;
    m[PP_METRIC_OWNER_SHARE] = owner.share;
    m[PP_METRIC_BLOCKED_ELSEWHERE] = owner.known && owner.lane == PP_LANE_WORKER &&
                                             owner.phase != PP_PHASE_READ && owner.phase != PP_PHASE_NONE
                                         ? owner.share * pp_split_blocked(&owner.split)
                                         : 0;
    m[PP_METRIC_OWNER_CPU] = pp_split_cpu(&owner.split);
    m[PP_METRIC_OWNER_DELAY] = pp_split_run_delay(&owner.split);
    m[PP_METRIC_OWNER_BLOCKED] = pp_split_blocked(&owner.split);
    m[PP_METRIC_WORKER_IDLE] = owner.worker_idle;
    m[PP_METRIC_COPY_BUSY] = owner.copy_busy;
    m[PP_METRIC_PIN_BUSY] = owner.pin_busy;
    m[PP_METRIC_DECODE_BUSY] = owner.decode_busy;
    for (int k = 0; k < PP_LAWS; k++) {
        m[metrics[k]] = laws->off[k];
        f->text[where[k]] = laws->where[k];
    }
    f->text[PP_METRIC_BOUND_BY] = laws->bound;
    m[PP_METRIC_BOUND] = laws->bound_share;
}

/* ---- PP_FROM_THREADS ---- */

/* Where there are no costs, the machine's CPUs are counted all the same. */
static void add_threads(const struct pp_facts_from *from, int has_costs, struct pp_facts *f)
{
    const struct pp_thread_work *w = &from->gathered->threads;
    double *m = f->metric, all = pp_thread_work_all(w), computing = w->computes + w->ready;
    m[PP_METRIC_STEP_LOCKED] = pp_thread_steps_locked(w);
    if (!(w->looks > 0))
        return;
    m[PP_METRIC_THREADS_LOOKS] = w->looks;
    m[PP_METRIC_THREADS_WORK] = all;
    m[PP_METRIC_THREADS_COMPUTE] = all > 0 ? computing / all : NAN;
    m[PP_METRIC_THREADS_READY] = computing > 0 ? w->ready / computing : NAN;
    m[PP_METRIC_THREADS_READ] = all > 0 ? (w->reads + w->network) / all : NAN;
    m[PP_METRIC_THREADS_LOCKED] = pp_thread_work_locked(w);
    f->text[PP_METRIC_THREADS_NAMES] = *w->names ? pp_arena_copy(from->arena, w->names) : NULL;
    if (!has_costs)
        pp_signals_cpus(&from->gathered->costs, m);
}

/* ---- PP_FROM_COSTS, REPLAY ---- */

/* The costs are calibrated, and replayed with one thing better at a time. Metrics of a replay that does not
 * come out as the run did are dropped. */
static void add_replay(const struct pp_facts_from *from, struct pp_facts *f, struct pp_diagnosis *out)
{
    struct pp_costs *costs = &from->gathered->costs;
    pp_status st = from->gathered->costs_status;
    *out = (struct pp_diagnosis){.why_not = from->gathered->why_no_costs};
    if (st == PP_OK)
        st = pp_whatif_calibrate(costs, &out->why_not);
    if (st == PP_OK) {
        /* CPU contention stretches the trainer's own step instead of its wait. */
        double stretch = fmin(costs->step_stretch_ns * (double)from->timeline->judged_batches,
                              (double)from->timeline->step_ns),
               all = (double)(pp_timeline_exposed_ns(from->timeline) + from->timeline->step_ns);
        f->metric[PP_METRIC_STRETCH] = all > 0 ? stretch / all : NAN;
        double batches = (double)from->timeline->own.batches /
                         fmax((double)from->timeline->own.exposed_ns, 1);
        f->metric[PP_METRIC_UNPICKLE] = costs->unpickle_cpu_ns * batches;
        f->metric[PP_METRIC_HANDOVER_TIME] = costs->unpickle_cpu_ns + costs->fetch_blocked_ns;
        f->metric[PP_METRIC_HANDOVER] = f->metric[PP_METRIC_HANDOVER_TIME] * batches;
        f->metric[PP_METRIC_HANDOVER_BYTES] = f->metric[PP_METRIC_HANDED] / (1 << 30) * 1e9 /
                                              f->metric[PP_METRIC_HANDOVER_TIME];
        f->metric[PP_METRIC_TENSORS] = costs->batch_tensors;
        f->metric[PP_METRIC_OWN_CROWD] = costs->wanting_cpus + costs->others_as_threads > 0
                                             ? costs->wanting_cpus /
                                                   (costs->wanting_cpus + costs->others_as_threads)
                                             : NAN;
    }
    if (st == PP_OK)
        st = pp_signals_read(costs, &out->signals, &out->why_not);
    out->replayed = st == PP_OK && fabs(out->signals.replay_error) <= PP_MOST_REPLAY_ERROR;
    if (st == PP_OK && !out->replayed)
        snprintf(out->why_not.text, sizeof(out->why_not.text),
                 "the replay of the unchanged run is off by %.0f %%", 100 * out->signals.replay_error);
    f->replay_error = out->replayed ? out->signals.replay_error : NAN;
    f->replay_off = st == PP_OK && !out->replayed ? out->signals.replay_error : NAN;
    f->text[PP_METRIC_HOST] = costs->requests.host;
    f->text[PP_METRIC_PREFIX] = costs->requests.prefix;
    f->text[PP_METRIC_SLOWEST] = pp_slow_samples_worst(from->report, from->arena);
    f->why_no_replay = st != PP_OK && out->why_not.text[0] ? out->why_not.text : NULL;
    for (int m = 0; m < PP_METRIC_COUNT && st == PP_OK; m++)
        if (pp_metric_facts[m].from == PP_FROM_COUNTERS ||
            (pp_metric_facts[m].from == PP_FROM_REPLAY && out->replayed))
            f->metric[m] = out->signals.metric[m];
    add_threads(from, st == PP_OK, f);
    if (isnan(f->metric[PP_METRIC_BUSY_CPUS])) /* of no other process's is anything known */
        f->metric[PP_METRIC_BUSY_CPUS] = f->metric[PP_METRIC_SATURATION];
}

/* ---- what else exposes the trainer ---- */

/* The trainer of our own loader waits for its step, and what steps take beyond their kernels is exposed time
 * too. Another program's launches ahead: while kernels run, its wait costs nothing, so that the GPU's idle
 * time bounds what it can cost, and what steps take beyond their kernels is not exposed. And where the GPU
 * was measured, its records decide on copies and syncs: what a replay of host spans says of them is dropped.
 * A thread that pins memory is not the GPU's. */
static void expose_gpu(struct pp_facts *f)
{
    double *m = f->metric;
    if (f->trace || !f->own_loader) {
        if (m[PP_METRIC_GPU_IDLE] < m[PP_METRIC_DATA_WAIT])
            m[PP_METRIC_DATA_WAIT] = m[PP_METRIC_GPU_IDLE];
        m[PP_METRIC_GPU_OVERHEAD] = NAN;
    } else if (m[PP_METRIC_GPU_OVERHEAD] >= PP_LEAST_SHARE) {
        m[PP_METRIC_DATA_WAIT] = fmin(m[PP_METRIC_DATA_WAIT] + m[PP_METRIC_GPU_OVERHEAD], 1);
    }
    if (f->trace || m[PP_METRIC_GPU_TOLD] != 1)
        return;
    m[PP_METRIC_W_SYNC] = NAN;
    if (!(m[PP_METRIC_PIN_BUSY] > 0) && !(m[PP_METRIC_DECODE_BUSY] >= PP_ATTRIBUTE_MOST))
        m[PP_METRIC_W_COPY] = NAN;
}

/* ---- all of them ---- */

void pp_facts_build(const struct pp_facts_from *from, struct pp_facts *f, struct pp_diagnosis *out)
{
    const struct pp_timeline *tl = from->timeline;
    *f = (struct pp_facts){0};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f->metric[m] = NAN;
    /* measured, in any order */
    add_run(from, f);
    add_wait(from, f);
    const struct pp_ranks *ranks = &from->gathered->checks.ranks;
    f->metric[PP_METRIC_LAST_RANK] = ranks->meetings ? ranks->last_rank : NAN;
    f->metric[PP_METRIC_LAST_SHARE] = ranks->last_share;
    const struct pp_lease_use *lease = &from->gathered->checks.leases;
    double window_ns = from->report->window_s * 1e9;
    f->metric[PP_METRIC_LEASE_EPOCH] = lease->looks && window_ns > 0 ? lease->epoch_wait_ns / window_ns : NAN;
    f->text[PP_METRIC_LEASE_HOLDER] = lease->holder;
    add_replay(from, f, out);
    /* with exclusive CPUs the steps still need what they need: the rest of a shorter cycle is a stall */
    double steps = 1 - f->metric[PP_METRIC_DATA_WAIT] - fmax(f->metric[PP_METRIC_STRETCH], 0);
    f->metric[PP_METRIC_CPUS_LEAVE] = fmax(1 - steps * (1 + f->metric[PP_METRIC_G_CPUS]), 0);
    /* may be charged to a cause only when all of the above is known */
    double *wait = &f->metric[PP_METRIC_DATA_WAIT], stretch = f->metric[PP_METRIC_STRETCH];
    int waits = *wait >= pp_level_moderate->at_least;
    /* A step that takes longer because no CPU is free is exposed time too, if a change can shorten it. A step
     * that sleeps wakes up late on any machine with other load, and no change gains what a fix has to gain.
     * Without a replay that is unknown. */
    f->starved = stretch >= PP_LEAST_SHARE && (!out->replayed || waits || pp_cause_of_starving(f) != NULL);
    f->starved_alone = f->starved && !waits;
    if (f->starved)
        *wait = fmin(*wait + stretch, 1);
    const struct pp_costs *c = &from->gathered->costs;
    out->stretch_ns = c->step_stretch_ns * (double)tl->judged_batches;
    out->starved_ns = f->starved ? out->stretch_ns : 0;
    /* As the what-if has it: a prediction and the report's ceiling are not at odds. */
    out->taking_ns = from->gathered->costs_status == PP_OK
                         ? fmin((c->fetch_cpu_ns + c->fetch_blocked_ns) * (double)tl->judged_batches,
                                (double)tl->wait_ns)
                         : 0;
    /* last: the GPU's overhead is what the stretch does not explain */
    pp_gpu_facts(from->report->gpu, tl, f);
    expose_gpu(f);
    if (out->replayed && out->signals.has_own) {
        /* With exclusive CPUs: what the replay says of them, and nothing that is not known of the run. */
        memcpy(f->own, f->metric, sizeof(f->own));
        for (int m = 0; m < PP_METRIC_COUNT; m++)
            if ((pp_metric_facts[m].from == PP_FROM_REPLAY || pp_metric_facts[m].from == PP_FROM_COUNTERS) &&
                !isnan(f->metric[m]) && m != PP_METRIC_CPUS_LEAVE)
                f->own[m] = out->signals.own[m];
        f->own[PP_METRIC_DATA_WAIT] = f->metric[PP_METRIC_CPUS_LEAVE];
        f->own[PP_METRIC_G_NO_WORKERS] = pp_signals_own_without_workers(&out->signals,
                                                                        f->metric[PP_METRIC_HANDED]);
        f->own[PP_METRIC_STRETCH] = 0;
        f->own[PP_METRIC_HANDOVER] = NAN; /* as measured it holds waits for a CPU */
        f->has_own = 1;
    }
}

struct pass {
    struct pp_tally_pass *tally;
    struct pp_checks_pass *checks;
    struct pp_costs_pass *costs;   /* NULL: there is no steady state */
    struct pp_series_pass *series; /* NULL: a glance draws no pictures */
    const struct pp_other_batches *other;
    const struct pp_thread_row *threads;
    size_t n_threads, room;
    struct pp_span *judged; /* of a chunk, room of them */
    int no_memory;
};

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    const struct pp_span *judged = spans;
    size_t at = 0, kept = n;
    while (at < p->n_threads && p->threads[at].id != thread)
        at++;
    /* What workers did for the loader that is judged: samples and workers of several loaders are not compared
     * with each other. */
    if (p->other->n && at < p->n_threads && p->threads[at].lane != PP_LANE_TRAINER) {
        if (n > p->room) {
            struct pp_span *grown = realloc(p->judged, n * sizeof(*grown));
            if (!grown)
                return p->no_memory = 1;
            p->judged = grown;
            p->room = n;
        }
        kept = 0;
        for (size_t i = 0; i < n; i++)
            if (spans[i].batch == PP_NO_BATCH || !pp_other_batches_has(p->other, spans[i].batch))
                p->judged[kept++] = spans[i];
        judged = p->judged;
    }
    p->no_memory = pp_tally_chunk(p->tally, thread, spans, n) ||
                   pp_checks_chunk(p->checks, thread, judged, kept) ||
                   (p->costs && pp_costs_chunk(p->costs, thread, spans, n)) ||
                   (p->series && pp_series_chunk(p->series, thread, spans, n));
    return p->no_memory;
}

pp_status pp_gather(const struct pp_source *source, const struct pp_timeline *tl, struct pp_arena *arena,
                    struct pp_report *r, struct pp_gathered *out, struct pp_err *err)
{
    int replays = tl->has_steady_state, draws = !source->glance;
    memset(out, 0, sizeof(*out));
    struct pass p = {
        .other = &tl->other,
        .tally = pp_tally_begin(source, tl, &out->tally),
        .checks = pp_checks_begin(source, tl),
        .costs = replays ? pp_costs_begin(source, tl, &out->costs) : NULL,
        .series = draws ? pp_series_begin(source, tl, &out->tally) : NULL,
    };
    p.n_threads = source->threads(source->ctx, &p.threads);
    p.no_memory = !p.tally || !p.checks || (replays && !p.costs) || (draws && !p.series);
    pp_status status = p.no_memory ? PP_OK : source->each_chunk(source->ctx, NULL, each_chunk, &p, NULL, err);
    if (p.no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the statistics of %s", source->path);
    free(p.judged);
    pp_tally_end(p.tally);
    pp_status checked = pp_checks_end(p.checks, &out->tally, r, arena, &out->checks,
                                      status == PP_OK ? err : NULL);
    if (status == PP_OK)
        status = checked;
    out->costs_status = replays ? pp_costs_end(p.costs, source, &out->why_no_costs) : PP_E_INCONCLUSIVE;
    pp_status drawn = draws ? pp_series_end(p.series, source, arena, r, &out->targets,
                                            status == PP_OK ? err : NULL)
                            : PP_OK;
    if (!replays && !source->glance && drawn == PP_OK)
        drawn = pp_ops_read(source, tl, &out->costs.ops, status == PP_OK ? err : NULL);
    pp_status looked = pp_thread_work_read(source, tl, &out->threads, status == PP_OK ? err : NULL);
    return status != PP_OK ? status : drawn != PP_OK ? drawn : looked;
}
