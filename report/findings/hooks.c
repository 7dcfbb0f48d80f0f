/* Of a job that `pipeprobe exec` recorded through its Python hooks: what the hooks could not see, and which
 * of several DataLoaders the verdict is about. */
#include "report/findings/findings.h"

/* A process's own words where the preloaded library is not in it (python/record/worker.c). */
#define UNTIMED_NOTE "reads are not timed"

struct notes {
    struct pp_arena *arena;
    const char *first;
    size_t n;
    int untimed;
};

static void on_note(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct notes *x = ctx;
    if (value && strcmp(value, UNTIMED_NOTE) == 0) {
        x->untimed = 1;
        return;
    }
    if (!x->n++ && value)
        x->first = pp_arena_copy(x->arena, value);
}

/* What the process said of its loaders; or that several of its threads train. */
static const char *mixed(const struct pp_findings_from *from)
{
    const struct pp_timeline *tl = from->timeline;
    const struct pp_thread_row *rows, *judged = NULL;
    size_t n = from->source->threads(from->source->ctx, &rows), threads = 0;
    const char *said = from->source->meta(from->source->ctx, "config", "loaders_mixed");
    for (size_t i = 0; i < n && tl->has_trainer; i++)
        judged = rows[i].id == tl->trainer ? &rows[i] : judged;
    for (size_t i = 0; i < n && judged; i++)
        threads += rows[i].lane == PP_LANE_TRAINER && rows[i].pid == judged->pid && rows[i].recorded;
    return said ? pp_arena_copy(from->arena, said)
           : threads > 1
               ? pp_arena_printf(from->arena,
                                 "%zu threads took batches: the one that took most, %.0f of them, is "
                                 "judged, and the rate is its own",
                                 threads, (double)tl->batches)
               : NULL;
}

static const char *words_of(const struct pp_report_loader *l, struct pp_arena *arena)
{
    return l->at ? pp_arena_printf(arena, "the one at %s", l->at) : l->dataset ? l->dataset : "?";
}

/* Of two loaders or more the judged one, and of the others the one that was waited for longest. */
static void measure_loaders(const struct pp_report *r, struct pp_arena *arena, struct pp_finding_values *f)
{
    const struct pp_report_loader *judged = NULL, *other = NULL;
    double *m = f->number;
    size_t used = 0;
    for (size_t i = 0; i < r->n_loaders; i++) {
        const struct pp_report_loader *l = &r->loaders[i];
        if (!(l->batches > 0) || isnan(l->data_wait_s))
            continue;
        used++;
        if (l->judged)
            judged = l;
        else if (!other || l->data_wait_s > other->data_wait_s)
            other = l;
    }
    if (used < 2 || !judged || !other)
        return;
    m[PP_FINDING_LOADERS] = (double)used;
    m[PP_FINDING_LOADERS_WAIT] = judged->data_wait_s + other->data_wait_s;
    m[PP_FINDING_LOADER_SHARE] = judged->wait_share;
    m[PP_FINDING_LOADER_WAIT] = judged->data_wait_s;
    m[PP_FINDING_LOADER_BATCHES] = judged->batches;
    m[PP_FINDING_LOADER_WORKERS] = judged->num_workers;
    m[PP_FINDING_LOADER_BATCH_SIZE] = judged->batch_size;
    f->text[PP_FINDING_LOADER_AT] = words_of(judged, arena);
    m[PP_FINDING_OTHER_LOADER_SHARE] = other->wait_share;
    m[PP_FINDING_OTHER_LOADER_WAIT] = other->data_wait_s;
    m[PP_FINDING_OTHER_LOADER_BATCHES] = other->batches;
    m[PP_FINDING_OTHER_LOADER_WORKERS] = other->num_workers;
    m[PP_FINDING_OTHER_LOADER_BATCH_SIZE] = other->batch_size;
    f->text[PP_FINDING_OTHER_LOADER_AT] = words_of(other, arena);
}

/* PyTorch gives an iterable data set a sampler of this type. */
int pp_stream_workers(const struct pp_source *source, const struct pp_report *r, double *idle)
{
    const char *sampler = source->meta(source->ctx, "config", "sampler");
    int workers = 0;
    *idle = 0;
    if (!sampler || !strstr(sampler, "InfiniteConstantSampler") ||
        pp_source_number(source, "config", "num_workers", 0) < 1)
        return 0;
    for (size_t i = 0; i < r->n_workers; i++, workers++)
        *idle += r->workers[i].samples == 0;
    return workers;
}

void pp_measure_hooks(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_source *source = from->source;
    const char *stored = source->meta(source->ctx, "config", "python_hooks");
    const struct pp_report *r = from->report;
    const struct pp_timeline *tl = from->timeline;
    double *m = f->number;
    struct notes notes = {.arena = from->arena};
    if (!stored || strcmp(stored, "none") == 0 ||
        (!r->n_loaders && !source->meta(source->ctx, "config", "loader")))
        return;
    const char *hooks = pp_arena_copy(from->arena, stored);
    if (!hooks || source->each_meta(source->ctx, "process_note", on_note, &notes, NULL) != PP_OK)
        return;
    f->text[PP_FINDING_HOOKS] = hooks;
    f->text[PP_FINDING_LOADERS_MIXED] = mixed(from);
    f->text[PP_FINDING_HOOKS_NOTE] = notes.first;
    m[PP_FINDING_HOOKS_LEFT_OUT] = (double)notes.n;
    m[PP_FINDING_HOOKS_MORE] = notes.n > 1 ? (double)(notes.n - 1) : NAN;
    m[PP_FINDING_HOOKS_UNTIMED] = strcmp(hooks, "hooks") == 0 || notes.untimed;
    measure_loaders(r, from->arena, f);
    /* What a sampler draws outside of waits is a span; within them, a counter. */
    const char *sampler = r->n_loaders ? source->meta(source->ctx, "config", "sampler") : NULL;
    if (sampler) {
        double between_s = (double)tl->starts.sampler_ns / 1e9;
        const char *module_ends = strrchr(sampler, '.');
        f->text[PP_FINDING_SAMPLER] = pp_arena_copy(from->arena, module_ends ? module_ends + 1 : sampler);
        if (!tl->has_steady_state || !(r->window_s >= PP_LEAST_WINDOW_S))
            f->text[PP_FINDING_DRAW_UNKNOWN] = "the steady state was shorter than 1 s";
        m[PP_FINDING_DRAW_SHARE] = (between_s + from->checks->handed.sampler_ns / 1e9) / r->window_s;
        m[PP_FINDING_DRAW_TIME] = tl->starts.n ? between_s / (double)tl->starts.n : NAN;
    }
    double bytes = pp_source_number(source, "config", "worker_pickle_bytes", NAN), idle,
           start_s = (double)(tl->first_start_ns + tl->starts.starting_ns) / 1e9;
    for (size_t i = 0; i < r->n_loaders && bytes > 0; i++) {
        if (!r->loaders[i].judged)
            continue;
        m[PP_FINDING_PICKLE_BYTES] = bytes;
        m[PP_FINDING_PICKLE_WORKERS] = r->loaders[i].num_workers;
        m[PP_FINDING_PICKLE_SHARE] = r->duration_s > 0 ? start_s / r->duration_s : NAN;
        m[PP_FINDING_PICKLE_START] = start_s / (1 + (double)tl->starts.n);
        f->text[PP_FINDING_PICKLE_DATASET] = r->loaders[i].dataset;
        f->text[PP_FINDING_PICKLE_METHOD] = r->loaders[i].start_method;
    }
    int workers = pp_stream_workers(source, r, &idle);
    if (workers && tl->has_steady_state && r->window_s >= PP_LEAST_WINDOW_S) {
        m[PP_FINDING_STREAM_WORKERS] = workers;
        m[PP_FINDING_STREAM_IDLE] = idle;
        m[PP_FINDING_STREAM_DELIVER] = workers - idle;
    }
}

/* ---- what the hooks count per batch ---- */

static const struct row {
    const char *name;
    size_t offset;
} rows[] = {
    {"sampler_ns", offsetof(struct pp_handed_use, sampler_ns)},
    {"handed_extra_bytes", offsetof(struct pp_handed_use, extra_bytes)},
    {"unpickle_tensors", offsetof(struct pp_handed_use, tensors)},
};

struct walk {
    struct pp_handed_use *out;
    uint64_t start_ns, end_ns;
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    if (t_ns < w->start_ns || t_ns > w->end_ns || !isfinite(value) || value < 0)
        return;
    if (strcmp(name, "shm_used_bytes") == 0)
        w->out->shm_used_most = fmax(w->out->shm_used_most, value);
    if (strcmp(name, "shm_left_bytes") == 0)
        w->out->shm_left = fmin(w->out->shm_left, value);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            *(double *)((char *)w->out + rows[i].offset) += value;
}

pp_status pp_handed_check(const struct pp_source *source, const struct pp_timeline *tl,
                          const struct pp_tally *tally, struct pp_handed_use *out, struct pp_err *err)
{
    struct walk w = {out, tl->start_ns, tl->end_ns};
    const struct pp_tally_phase *put = tally->phase[PP_LANE_WORKER][PP_PHASE_PUT_WAIT],
                                *read = tally->phase[PP_LANE_WORKER][PP_PHASE_READ],
                                *transform = tally->phase[PP_LANE_WORKER][PP_PHASE_TRANSFORM];
    *out = (struct pp_handed_use){.shm_left = NAN};
    if (put) {
        out->put_bytes = (double)put->bytes;
        out->puts = (double)put->hist.count;
    }
    if (read && transform) {
        out->read_bytes = (double)read->bytes;
        out->made = (double)transform->hist.count;
    }
    pp_status st = source->each_counter ? source->each_counter(source->ctx, on_counter, &w, err) : PP_OK;
    out->factor = out->put_bytes > 0 ? 1 + out->extra_bytes / out->put_bytes : NAN;
    return st;
}

void pp_measure_handed(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_handed_use *u = &from->checks->handed;
    double *m = f->number, each = u->put_bytes / u->puts, all = u->shm_left + u->shm_used_most,
           batch = pp_source_number(from->source, "config", "batch_size", NAN),
           read = u->read_bytes / u->made, tensors = each / batch;
    if (!from->report->n_loaders)
        return;
    /* Where every sample is one of a batch that was asked for by its number of samples. */
    if (u->read_bytes > 0 && tensors > 0) {
        m[PP_FINDING_AMPLIFIED] = 1;
        m[PP_FINDING_JOB_READ] = read;
        m[PP_FINDING_JOB_TENSORS] = tensors;
        m[PP_FINDING_JOB_AMPLIFICATION] = read / tensors;
    }
    if (u->put_bytes > 0) {
        m[PP_FINDING_HANDED_BYTES] = each;
        m[PP_FINDING_HANDED_FACTOR] = u->factor;
        m[PP_FINDING_HANDED_BEHIND] = each * u->factor;
        m[PP_FINDING_HANDED_TENSORS] = u->tensors > 0
                                           ? round(u->tensors / (double)from->timeline->window_batches)
                                           : NAN;
        m[PP_FINDING_SHM_LEFT] = u->shm_left;
        m[PP_FINDING_SHM_USED] = u->shm_used_most;
        m[PP_FINDING_SHM_LEFT_SHARE] = all > 0 ? u->shm_left / all : NAN;
    }
}

/* ---- lines of slow steps ---- */

/* Which line of the job's own code its training steps are blocked in, by Python stacks
 * (report/measure/ops.h).
 *
 * On a CPU a step that computes is on it; a trainer that waits for its GPU spins there. What sleeps is a line
 * that writes, logs, asks the network, or takes a lock. */
#define MOSTLY 0.5

void pp_measure_step_lines(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_report *r = from->report;
    const struct pp_report_step_line *most = NULL;
    double *m = f->number, blocked = 0;
    if (!r->n_step_lines)
        return;
    for (size_t i = 0; i < r->n_step_lines; i++) {
        const struct pp_report_step_line *s = &r->step_lines[i];
        double share = s->low * (1 - s->cpu_share); /* for sure */
        if (s->cpu_share < MOSTLY && share > blocked)
            most = s, blocked = share;
    }
    m[PP_FINDING_STEP_BLOCKED] = blocked;
    if (!most)
        return;
    m[PP_FINDING_STEP_SHARE] = most->share;
    m[PP_FINDING_STEP_ON_CPU] = most->cpu_share;
    f->text[PP_FINDING_STEP_LINE] = pp_arena_printf(from->arena, "%s, %s,",
                                                    most->callee ? most->callee : most->name, most->place);
}
