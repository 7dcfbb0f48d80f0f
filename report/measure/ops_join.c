#include "report/measure/ops_join.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/measure/ops_group.h"

#define NO_PYTHON \
    20 /* times as many end in the fetch: it calls no code with frames; else they are of the hooks */
#define NEARLY_ALL 0.9 /* of the samples of steps: a function in so many is the loop, or all of a step */

enum { KINDS = 4 }; /* of work */

/* What a batch cost the trainer, and the workers. Batch numbers are far apart: each loader has its own. */
struct batch_cost {
    uint32_t batch; /* PP_NO_BATCH: the place is free */
    float wait_ns, work_ns[KINDS];
};

static size_t kind_of(unsigned phase)
{
    return phase == PP_PHASE_READ ? 0 : phase == PP_PHASE_DECODE ? 1 : phase == PP_PHASE_TRANSFORM ? 2 : 3;
}

struct joining {
    const struct pp_timeline *tl;
    struct pp_ops *ops;
    struct pp_ops_joined *to;
    struct batch_cost *cost; /* by hash; room is a power of two, and half of it at most is taken */
    size_t n_batches, room;
    int no_memory;
    const struct pp_thread_row *threads;
    uint32_t *same; /* by thread: the first row of that kernel thread: a trainer without workers has two */
    size_t *next;   /* by thread: the first sample behind the span before */
    size_t n_threads;
    size_t cursor;
    double cpu_ns[PP_OPS_LOADERS];
};

static size_t cost_place(const struct joining *j, uint32_t batch)
{
    size_t at = (size_t)pp_mix64(batch) & (j->room - 1);
    while (j->cost[at].batch != batch && j->cost[at].batch != PP_NO_BATCH)
        at = (at + 1) & (j->room - 1);
    return at;
}

static int grow_costs(struct joining *j)
{
    struct batch_cost *old = j->cost;
    size_t had = j->room;
    j->room = had ? 2 * had : 1024;
    j->cost = malloc(j->room * sizeof(*j->cost));
    if (!j->cost) {
        j->cost = old;
        j->room = had;
        j->no_memory = 1;
        return 0;
    }
    for (size_t i = 0; i < j->room; i++)
        j->cost[i] = (struct batch_cost){.batch = PP_NO_BATCH};
    for (size_t i = 0; i < had; i++)
        if (old[i].batch != PP_NO_BATCH)
            j->cost[cost_place(j, old[i].batch)] = old[i];
    free(old);
    return 1;
}

/* Of a batch. Of several loaders, a batch that belongs to none counts for the judged one. */
static size_t loader_of(struct joining *j, uint32_t batch)
{
    struct pp_ops *o = j->ops;
    const struct pp_batch_range *range = pp_other_batches_find(&j->tl->other, batch);
    struct pp_ops_loader l = {.judged = 1};
    if (range)
        l = (struct pp_ops_loader){.pid = range->pid, .loader = range->loader, .judged = !range->other};
    for (size_t i = 0; i < o->n_loaders; i++)
        if (o->loaders[i].pid == l.pid && o->loaders[i].loader == l.loader)
            return i;
    if (o->n_loaders == PP_OPS_LOADERS)
        return PP_OPS_LOADERS - 1;
    o->loaders[o->n_loaders] = l;
    return o->n_loaders++;
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n_spans)
{
    struct joining *j = ctx;
    const struct pp_timeline *tl = j->tl;
    size_t at = pp_thread_at(j->threads, j->n_threads, thread);
    if (at == j->n_threads)
        return j->no_memory;
    const int trains = j->threads[at].lane == PP_LANE_TRAINER;
    const uint32_t first = j->same[at]; /* row of that thread */
    for (const struct pp_span *s = spans; s < spans + n_spans; s++) {
        int work = !trains && pp_phase_is_work(s->phase) && s->batch != PP_NO_BATCH,
            waits = trains && s->phase == PP_PHASE_DATA_WAIT;
        if (s->phase == PP_PHASE_COUNTER || s->start_ns < tl->start_ns || s->start_ns >= tl->end_ns)
            continue;
        struct batch_cost *cost = NULL;
        if ((work || waits) && s->batch != PP_NO_BATCH &&
            (2 * (j->n_batches + 1) <= j->room || grow_costs(j))) {
            cost = &j->cost[cost_place(j, s->batch)];
            j->n_batches += cost->batch == PP_NO_BATCH;
            cost->batch = s->batch;
        }
        if (cost && waits)
            cost->wait_ns += (float)pp_timeline_stalled_between(tl, s->start_ns, s->start_ns + s->dur_ns,
                                                                &j->cursor);
        if (cost && work) {
            cost->work_ns[kind_of(s->phase)] += (float)s->dur_ns;
            j->cpu_ns[loader_of(j, s->batch)] += (double)s->cpu_ns;
        }
        if (!trains && !work)
            continue;
        /* Samples of the thread within the span are of its phase and batch. Without workers the trainer's
         * wait holds the work: the work counts. Spans of a thread come by their starts, but for those of a
         * trainer that has two rows. */
        const struct pp_stacks *k = &j->ops->stacks;
        uint64_t end_ns = s->start_ns + s->dur_ns;
        size_t i = j->next[at], n;
        if (i == 0 || k->samples[i - 1].thread != first || k->samples[i - 1].t_ns >= s->start_ns)
            i = pp_stacks_between(k, first, s->start_ns, UINT64_MAX, &n);
        while (i < k->n_samples && k->samples[i].thread == first && k->samples[i].t_ns < s->start_ns)
            i++;
        j->next[at] = i;
        for (; i < k->n_samples && k->samples[i].thread == first && k->samples[i].t_ns < end_ns; i++)
            if (!pp_phase_is_work(j->to[i].phase))
                j->to[i] = (struct pp_ops_joined){.batch = s->batch, .phase = (uint8_t)s->phase};
    }
    return j->no_memory;
}

/* Both sums over the neighbours of the same loader, whose numbers lie in a row. */
static float weight_of(const struct joining *j, uint32_t batch)
{
    const struct pp_batch_range *of = pp_other_batches_find(&j->tl->other, batch);
    double wait_ns = 0, work_ns = 0;
    for (int64_t b = (int64_t)batch - PP_OPS_NEIGHBOURS; b <= (int64_t)batch + PP_OPS_NEIGHBOURS; b++) {
        if (b < 0 || b >= PP_NO_BATCH)
            continue;
        const struct pp_batch_range *r = pp_other_batches_find(&j->tl->other, (uint32_t)b);
        if (r != of && (!r || !of || r->pid != of->pid || r->loader != of->loader))
            continue;
        const struct batch_cost *c = &j->cost[cost_place(j, (uint32_t)b)];
        wait_ns += c->batch == b ? c->wait_ns : 0;
        for (size_t k = 0; k < KINDS && c->batch == b; k++)
            work_ns += c->work_ns[k];
    }
    return work_ns > 0 ? (float)(wait_ns / work_ns) : 0;
}

enum telling { TELLS, FETCHES, TELLS_NOTHING, TELLINGS };

/* Of a stack that ends where samples are asked for, what was asked is not known if inner frames were not
 * read; of one in the fetch, not what was called: a sample's arrays are freed there, or it is no Python.
 * Those in the fetch stay where they are most of making samples, of whichever phase. */
void pp_ops_leave_out(const struct pp_ops *o, struct pp_ops_joined *joined)
{
    double n[PP_OPS_LOADERS][TELLINGS] = {{0}};
    for (size_t i = 0; i < 2 * o->stacks.n_samples; i++) {
        const struct pp_stack_sample *x = &o->stacks.samples[i % o->stacks.n_samples];
        struct pp_ops_joined *j = &joined[i % o->stacks.n_samples];
        if (!pp_phase_is_work(j->phase))
            continue;
        double *of = n[j->loader];
        const struct pp_frame_view *v = &o->view[x->frame];
        int ends = v->above == v->entry && v->kind != PP_CODE_USER && v->user == PP_STACK_NONE;
        enum telling t = !v->works || (ends && x->flags & (PP_STACK_TOP_UNKNOWN | PP_STACK_CUT))
                             ? TELLS_NOTHING
                         : ends && v->asks == PP_ASKS_FETCH ? FETCHES
                                                            : TELLS;
        int collates = j->phase == PP_PHASE_COLLATE;
        if (i < o->stacks.n_samples)
            of[t] += !collates;
        else if (t == TELLS_NOTHING || (t == FETCHES && (collates || of[FETCHES] < NO_PYTHON * of[TELLS])))
            j->phase = PP_PHASE_NONE;
    }
}

/* The samples of a phase weigh together what its spans do: of few samples chance gives a phase too many, and
 * spans are exact. */
static void weigh(struct joining *j)
{
    double window_ns = (double)(j->tl->end_ns - j->tl->start_ns), spans[PP_OPS_LOADERS][KINDS + 1] = {{0}},
           samples[PP_OPS_LOADERS][KINDS + 1] = {{0}};
    struct pp_ops_joined *to = j->to;
    for (size_t i = 0; i < j->ops->stacks.n_samples; i++)
        to[i].loader = (uint8_t)(pp_phase_is_work(to[i].phase) ? loader_of(j, to[i].batch) : 0);
    pp_ops_leave_out(j->ops, to);
    for (size_t i = 0; i < j->ops->stacks.n_samples; i++)
        if (pp_phase_is_work(to[i].phase)) {
            to[i].weight = weight_of(j, to[i].batch) /
                           (j->ops->stacks.samples[i].flags & PP_STACK_DENSE ? PP_STACKS_DENSER : 1);
            samples[to[i].loader][kind_of(to[i].phase)] += to[i].weight;
        }
    for (size_t i = 0; i < j->room; i++) {
        double weight = j->cost[i].batch == PP_NO_BATCH ? 0 : weight_of(j, j->cost[i].batch);
        double *of = weight > 0 ? spans[loader_of(j, j->cost[i].batch)] : NULL;
        for (size_t k = 0; of && k < KINDS; k++)
            of[k] += weight * j->cost[i].work_ns[k];
    }
    for (size_t l = 0; l < PP_OPS_LOADERS; l++)
        for (size_t k = 0; k < KINDS; k++) {
            samples[l][KINDS] += samples[l][k];
            spans[l][KINDS] += spans[l][k];
        }
    for (size_t i = 0; i < j->ops->stacks.n_samples; i++)
        if (to[i].weight > 0 && spans[to[i].loader][KINDS] > 0) {
            const double *n = samples[to[i].loader], *ns = spans[to[i].loader];
            size_t k = kind_of(to[i].phase);
            j->ops->unnamed += to[i].weight; /* less what phases with samples have of it */
            to[i].weight *= (float)(ns[k] / ns[KINDS] * n[KINDS] / n[k]);
            j->ops->unnamed -= to[i].weight;
        }
    for (size_t i = 0; i < j->ops->n_loaders && window_ns > 0; i++)
        j->ops->loaders[i].cpus = j->cpu_ns[i] / window_ns;
}

/* As many as there are samples. NULL: no memory, or the walk failed with *status. Fills the loaders of ops,
 * and their CPUs. */
static struct pp_ops_joined *join_spans(const struct pp_source *source, const struct pp_timeline *tl,
                                        struct pp_ops *ops, pp_status *status, struct pp_err *err)
{
    static const struct pp_wanted wanted = {.columns = PP_COLUMN_START | PP_COLUMN_DUR | PP_COLUMN_PHASE |
                                                       PP_COLUMN_BATCH | PP_COLUMN_CPU};
    struct joining j = {.tl = tl, .ops = ops};
    j.n_threads = source->threads(source->ctx, &j.threads);
    j.to = malloc((ops->stacks.n_samples + 1) * sizeof(*j.to));
    grow_costs(&j);
    j.same = calloc(j.n_threads + 1, sizeof(*j.same));
    j.next = calloc(j.n_threads + 1, sizeof(*j.next));
    *status = j.to && j.cost && j.same && j.next
                  ? PP_OK
                  : pp_fail(err, PP_E_NO_MEMORY, "no memory for the stacks of %s", source->path);
    for (size_t i = 0; j.to && i < ops->stacks.n_samples; i++)
        j.to[i] = (struct pp_ops_joined){.batch = PP_NO_BATCH, .phase = PP_PHASE_NONE};
    /* Samples are under any of the rows of one thread: all go under the first. */
    int moved = 0;
    for (size_t i = 0; *status == PP_OK && i < j.n_threads; i++) {
        const struct pp_thread_row *t = &j.threads[i];
        struct pp_stacks *s = &ops->stacks;
        j.same[i] = t->id;
        for (size_t k = 0; k < i && t->tid > 0 && j.same[i] == t->id; k++)
            if (j.threads[k].tid == t->tid && j.threads[k].pid == t->pid)
                j.same[i] = j.same[k];
        for (size_t k = 0; j.same[i] != t->id && k < s->n_samples; k++)
            if (s->samples[k].thread == t->id)
                s->samples[k].thread = j.same[i], moved = 1;
    }
    if (moved)
        pp_stacks_order(&ops->stacks);
    if (*status == PP_OK)
        *status = source->each_chunk(source->ctx, &wanted, each_chunk, &j, NULL, err);
    if (*status == PP_OK && j.no_memory)
        *status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the batches of %s", source->path);
    if (*status == PP_OK) {
        weigh(&j);
        size_t at = pp_thread_at(j.threads, j.n_threads, j.tl->trainer), n;
        for (size_t i = 0; at < j.n_threads && i < j.tl->n_gaps; i++) {
            const struct pp_gap *g = &j.tl->gaps[i];
            size_t k = pp_stacks_between(&j.ops->stacks, j.same[at], g->start_ns, g->end_ns, &n);
            for (; n > 0; n--)
                j.to[k++] = (struct pp_ops_joined){.batch = PP_NO_BATCH, .phase = PP_OPS_BETWEEN};
        }
    }
    free(j.cost);
    free(j.same);
    free(j.next);
    if (*status != PP_OK)
        free(j.to), j.to = NULL;
    return j.to;
}

/* Samples of steps are summed into the frames above them, which stand before those that they call; a function
 * that calls itself counts once. */
char *pp_ops_loops(const struct pp_stacks *s, const struct pp_ops_joined *joined)
{
    double *below = calloc(s->n_frames + 1, sizeof(*below)), *in = calloc(s->n_functions + 1, sizeof(*in)),
           n = 0;
    char *loops = below && in ? calloc(s->n_functions + 1, 1) : NULL;
    for (size_t i = 0; loops && i < s->n_samples; i++)
        if (joined[i].phase == PP_PHASE_STEP && s->samples[i].frame != PP_STACK_NONE)
            n++, below[s->samples[i].frame]++;
    for (size_t i = s->n_frames; loops && i-- > 0;) {
        uint32_t at = s->frames[i].parent;
        if (at != PP_STACK_NONE)
            below[at] += below[i];
        while (at != PP_STACK_NONE && s->frames[at].function != s->frames[i].function)
            at = s->frames[at].parent;
        in[s->frames[i].function] += at == PP_STACK_NONE ? below[i] : 0;
    }
    for (size_t i = 0; loops && i < s->n_functions; i++)
        loops[i] = n > 0 && in[i] >= NEARLY_ALL * n;
    free(below);
    free(in);
    return loops;
}

pp_status pp_ops_read(const struct pp_source *source, const struct pp_timeline *tl, struct pp_ops *out,
                      struct pp_err *err)
{
    *out = (struct pp_ops){0};
    pp_status status = pp_stacks_read(source, &out->stacks, err);
    if (status != PP_OK || !out->stacks.n_samples || (!tl->has_steady_state && tl->has_step))
        return status;
    out->view = pp_stack_view(&out->stacks, &out->arena);
    struct pp_ops_joined *joined = NULL;
    if (out->view && tl->has_steady_state)
        joined = join_spans(source, tl, out, &status, err);
    else if (out->view) {
        /* Of a job that does not say when it waits and when it works: all is a step of the main thread that
         * has most samples; without one, of the first thread. */
        const struct pp_stacks *s = &out->stacks;
        const struct pp_thread_row *rows;
        size_t n_rows = source->threads(source->ctx, &rows), most = 0, n;
        uint32_t thread = s->samples[0].thread;
        for (size_t i = 0; i < n_rows; i++) {
            pp_stacks_between(s, rows[i].id, 0, UINT64_MAX, &n);
            if (rows[i].tid == rows[i].pid && n > most)
                thread = rows[i].id, most = n;
        }
        joined = calloc(s->n_samples, sizeof(*joined));
        for (size_t i = 0; joined && i < s->n_samples; i++)
            joined[i].phase = s->samples[i].thread == thread ? PP_PHASE_STEP : PP_PHASE_NONE;
    }
    if (!joined && status == PP_OK)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the stacks of %s", source->path);
    if (joined)
        status = pp_ops_group(out, joined, (double)(tl->end_ns - tl->start_ns) / 1e9, source->path, err);
    free(joined);
    const char *sampler = source->meta(source->ctx, "config", "sampler");
    if (status == PP_OK && sampler)
        pp_ops_find_draws(out, sampler);
    return status;
}

void pp_ops_free(struct pp_ops *ops)
{
    pp_stacks_free(&ops->stacks);
    pp_arena_free(&ops->arena);
    *ops = (struct pp_ops){0};
}

const struct pp_op *pp_ops_find(const struct pp_ops *ops, const char *name, size_t length)
{
    for (size_t i = 0; i < ops->n_ops; i++) {
        const char *names[] = {ops->ops[i].word, ops->ops[i].path, ops->ops[i].place};
        for (size_t k = 0; k < 3; k++)
            if (names[k] && strncmp(names[k], name, length) == 0 && !names[k][length])
                return &ops->ops[i];
    }
    return NULL;
}
