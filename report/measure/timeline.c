#include "report/measure/timeline.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

/* Of the batch the trainer is working on, besides what is told of it. */
struct beside {
    int open, begins;                             /* begins: an epoch */
    int inferred;                                 /* its number is ours: the recording numbers no batches */
    uint64_t workers_ns, starting_ns, sampler_ns; /* before the first batch of an epoch: pp_epoch_starts */
    uint64_t apart_ns;                            /* likewise: epoch boundaries without a batch */
    uint64_t between_ns;                          /* those of the window, since the batch before */
    size_t stalls;                                /* of this batch, at the end of the stalls array */
};

#define LEAST_GAP_NS 100000
enum { GAPS_MOST = 16 };     /* of one boundary */
enum { LOADERS_MOST = 256 }; /* what others have is taken for one loader's */

struct pass {
    struct pp_timeline *tl;
    const struct pp_thread_row *threads;
    size_t n_threads, room, own_room, cycle_room;
    struct pp_timeline_batch batch;
    struct beside beside;
    uint64_t run_start_ns, run_end_ns;  /* first to last batch */
    int any_batch, numbered, no_memory; /* numbered: the trainer's spans carry batch numbers */
    int makes; /* the trainer makes its batches: an epoch's first is like the others */
    /* A recording that numbers no epochs: they begin with each generation of worker processes. */
    const uint64_t *generation_ns;
    size_t n_generations, next_generation;
    pp_timeline_batch_fn *each; /* NULL: no one asks */
    void *each_ctx;
    const struct pp_source *source;
    struct pp_counter_id exchange;
    struct pp_part part;
    uint64_t of_part; /* batches so far */
    /* of the judged loader: when it was done with the batch before; what other loaders' batches took since,
     * and its own workers to end and to start; batches of the epoch so far, 0: its first was not seen */
    uint64_t before_end_ns, others_ns, ending_ns, starting_ns, sampler_ns, of_epoch;
    uint16_t own_epoch;
    size_t begun; /* generations */
    /* of several loaders: the epoch that each was in last, as it numbers them */
    struct own_epoch {
        long long pid;
        unsigned loader;
        int epoch;
    } last_epoch[LOADERS_MOST];
    size_t n_last_epoch;
    uint64_t until_ns, step_from_ns, step_until_ns; /* the latest end of a span; the latest step */
    size_t gap_room, gaps;                          /* gaps: the newest, since the newest batch */
    uint64_t apart_ns;   /* epoch boundaries without a batch, since the newest one with one */
    uint64_t between_ns; /* they, since the newest batch: of the window if another batch of it comes */
};

/* Behind the others. 0: no memory. */
static int add_stall(struct pass *p, struct pp_stall **stalls, size_t *n, size_t *room, uint64_t start_ns,
                     uint64_t end_ns)
{
    if (!pp_grow(stalls, room, *n + 1, sizeof(**stalls))) {
        p->no_memory = 1;
        return 0;
    }
    uint64_t before_ns = pp_stalled_ns(*stalls, *n);
    (*stalls)[(*n)++] = (struct pp_stall){start_ns, end_ns, before_ns};
    return 1;
}

static void add_cycle(struct pass *p, uint64_t end_ns)
{
    struct pp_timeline *tl = p->tl;
    if (tl->n_cycles == PP_TIMELINE_CYCLES)
        return;
    if (!pp_grow(&tl->cycle_end_ns, &p->cycle_room, tl->n_cycles + 1, sizeof(*tl->cycle_end_ns))) {
        p->no_memory = 1;
        return;
    }
    tl->cycle_end_ns[tl->n_cycles++] = end_ns;
}

static void add_gap(struct pass *p, struct pp_gap gap)
{
    struct pp_timeline *tl = p->tl;
    if (p->gaps == GAPS_MOST || gap.end_ns < gap.start_ns + LEAST_GAP_NS)
        return;
    p->no_memory |= !pp_grow(&tl->gaps, &p->gap_room, tl->n_gaps + 1, sizeof(*tl->gaps));
    if (!p->no_memory)
        tl->gaps[tl->n_gaps++] = gap, p->gaps++;
}

/* Epochs of the judged loader as it numbers them: others have numbers of their own. What came before the
 * first batch of a recording that began in the middle of an epoch is not known. */
static void note_start(struct pass *p)
{
    struct pp_epoch_starts *e = &p->tl->starts;
    const struct pp_timeline_batch *b = &p->batch;
    if (pp_other_batches_has(&p->tl->other, b->number)) {
        p->others_ns += b->end_ns - b->start_ns;
        return;
    }
    int first = !p->before_end_ns, begins = first || b->epoch != p->own_epoch;
    uint64_t gap = b->start_ns > p->before_end_ns ? b->start_ns - p->before_end_ns : 0;
    if (begins) {
        e->whole += p->of_epoch > 0;
        e->batches += p->of_epoch;
        p->of_epoch = 0;
    }
    if (begins && !first && !b->warmup) {
        e->n++;
        e->wait_ns += b->wait_ns;
        e->gap_ns += gap > p->others_ns ? gap - p->others_ns : 0;
        e->workers_ns += p->beside.workers_ns;
        e->starting_ns += p->beside.starting_ns;
        e->sampler_ns += p->beside.sampler_ns;
        /* Until the first worker of the generation that began last before the end of the wait. */
        while (p->begun < p->n_generations && p->generation_ns[p->begun] < b->start_ns + b->wait_ns)
            p->begun++;
        uint64_t began = p->begun ? p->generation_ns[p->begun - 1] : 0;
        e->late_ns += began > b->start_ns ? began - b->start_ns : 0;
    }
    p->of_epoch += p->of_epoch || (begins && (!first || b->number == 0));
    p->own_epoch = b->epoch;
    p->before_end_ns = b->end_ns;
    p->others_ns = 0;
}

/* The batch is complete: into the window, or apart. */
static void close_batch(struct pass *p)
{
    struct pp_timeline *tl = p->tl;
    struct pp_timeline_batch *b = &p->batch;
    struct beside *beside = &p->beside;
    if (!beside->open)
        return;
    beside->open = 0;
    if (beside->inferred && !b->step_ns) { /* the wait that the end of the run ended */
        tl->n_stalls -= beside->stalls;
        return;
    }
    if (b->start_ns < p->part.from_ns || b->end_ns > p->part.to_ns || p->of_part++ < p->part.warmup)
        b->warmup = 1;
    if (p->each)
        p->each(p->each_ctx, b);
    if (tl->batches++ == 0)
        p->run_start_ns = b->start_ns;
    if (p->part.which >= PP_PART_TRAINED && b->end_ns <= p->part.from_ns &&
        !pp_other_batches_has(&tl->other, b->number)) {
        tl->untrained++;
        tl->untrained_ns += b->end_ns - b->start_ns;
    }
    p->run_end_ns = b->end_ns;
    tl->samples += b->samples;
    struct pp_batch_range *of = pp_other_batches_find(&tl->other, b->number);
    if (of) {
        of->batches++;
        of->samples += b->samples;
        of->ns += b->end_ns - b->start_ns;
    }
    note_start(p);
    if (b->warmup || b->boundary)
        tl->n_stalls -= beside->stalls;
    if (b->warmup)
        return;
    if (tl->window_batches == 0)
        tl->start_ns = b->start_ns;
    tl->end_ns = b->end_ns;
    add_cycle(p, b->end_ns);
    tl->boundary_ns += beside->between_ns;
    tl->window_batches++;
    tl->window_samples += b->samples;
    int own = !of || !of->other;
    tl->own.samples += own ? b->samples : 0;
    uint64_t wait = b->wait_ns + b->sync_ns + b->collective_ns;
    if (b->boundary) {
        uint64_t whole = wait + beside->apart_ns;
        tl->boundary_ns += wait;
        tl->epoch_ns += whole; /* mean and maximum are of the same */
        tl->epoch_max_ns = whole > tl->epoch_max_ns ? whole : tl->epoch_max_ns;
        tl->boundary_step_ns += b->step_ns;
        tl->boundaries++;
        return;
    }
    double w = (double)wait, t = w + (double)b->step_ns;
    tl->judged_batches++;
    if (own) {
        tl->own.batches++;
        tl->own.exposed_ns += wait;
    }
    for (size_t i = tl->n_stalls - beside->stalls; own && tl->other.n && i < tl->n_stalls; i++)
        add_stall(p, &tl->own.stalls, &tl->own.n_stalls, &p->own_room, tl->stalls[i].start_ns,
                  tl->stalls[i].end_ns);
    tl->wait_ns += b->wait_ns;
    tl->sync_ns += b->sync_ns;
    tl->collective_ns += b->collective_ns;
    tl->step_ns += b->step_ns;
    tl->sum_ww += w * w;
    tl->sum_wt += w * t;
    tl->sum_tt += t * t;
}

static void note_epoch(struct pass *p, uint16_t epoch, uint32_t batch)
{
    struct pp_timeline *tl = p->tl;
    size_t n = tl->n_epoch_first;
    if (!pp_grow(&tl->epoch_first, &tl->n_epoch_first, (size_t)epoch + 1, sizeof(*tl->epoch_first))) {
        p->no_memory = 1;
        return;
    }
    while (n < tl->n_epoch_first)
        tl->epoch_first[n++] = UINT32_MAX;
    tl->epoch_first[epoch] = batch < tl->epoch_first[epoch] ? batch : tl->epoch_first[epoch];
    tl->last_batch = batch > tl->last_batch ? batch : tl->last_batch;
}

/* The batch is of another epoch than the one before it, of its own loader. */
static int is_new_epoch(struct pass *p, const struct pp_span *s, uint32_t number)
{
    const struct pp_batch_range *of = pp_other_batches_find(&p->tl->other, number);
    size_t at = 0;
    if (!of)
        return s->epoch != p->batch.epoch;
    while (at < p->n_last_epoch &&
           (p->last_epoch[at].pid != of->pid || p->last_epoch[at].loader != of->loader))
        at++;
    at = at < LOADERS_MOST ? at : LOADERS_MOST - 1;
    int changes = at == p->n_last_epoch || p->last_epoch[at].epoch != s->epoch;
    p->n_last_epoch += at == p->n_last_epoch;
    p->last_epoch[at] = (struct own_epoch){of->pid, of->loader, s->epoch};
    return changes;
}

static void open_batch(struct pass *p, const struct pp_span *s, uint32_t number)
{
    const struct pp_batch_range *to = pp_other_batches_find(&p->tl->other, number),
                                *from = pp_other_batches_find(&p->tl->other, p->batch.number);
    /* the first batch that a generation of workers made begins an epoch */
    size_t generation = p->next_generation;
    while (!s->epoch && p->next_generation < p->n_generations &&
           p->generation_ns[p->next_generation] < s->start_ns + s->dur_ns)
        p->next_generation++;
    int first = !p->any_batch, changes = is_new_epoch(p, s, number),
        new_epoch = first || p->next_generation > generation || changes,
        other = to && from && (to->pid != from->pid || to->loader != from->loader);
    close_batch(p);
    /* Gaps count before the first batch of an epoch, or of another loader's than the batch before. Of another
     * loader's epoch, and not of one that is taken by turns with this, the step may be the gap. */
    struct pp_timeline *tl = p->tl;
    int counts = (new_epoch || other) && tl->window_batches && !(s->flags & PP_SPAN_WARMUP);
    if (!counts)
        tl->n_gaps -= p->gaps;
    else if (new_epoch && other && !p->gaps && p->step_from_ns)
        add_gap(p, (struct pp_gap){p->step_from_ns, p->step_until_ns, 0, 1});
    for (size_t i = tl->n_gaps - (counts ? p->gaps : 0); i < tl->n_gaps; i++)
        tl->gaps[i].batches = tl->window_batches;
    p->gaps = 0;
    p->any_batch = 1;
    p->tl->epochs += (uint64_t)new_epoch;
    if (s->batch != PP_NO_BATCH)
        note_epoch(p, s->epoch, number);
    int of_other = pp_other_batches_has(&p->tl->other, number);
    p->batch = (struct pp_timeline_batch){
        .number = number,
        .epoch = s->epoch,
        .warmup = first,
        .boundary = new_epoch && (!p->makes || of_other),
        .start_ns = s->start_ns,
        .end_ns = s->start_ns,
    };
    p->beside = (struct beside){
        .open = 1,
        .begins = new_epoch,
        .inferred = s->batch == PP_NO_BATCH,
        .apart_ns = new_epoch ? p->apart_ns : 0,
        .between_ns = p->between_ns,
    };
    p->between_ns = 0;
    p->apart_ns = new_epoch ? 0 : p->apart_ns;
    if (of_other)
        return;
    p->beside.workers_ns = p->ending_ns + p->starting_ns;
    p->beside.starting_ns = p->starting_ns;
    p->beside.sampler_ns = p->sampler_ns;
    p->ending_ns = p->starting_ns = p->sampler_ns = 0;
}

/* A foreign program's ranges need not carry batch numbers: then whatever comes after a step belongs to the
 * next batch. PP_NO_BATCH: to none. */
static uint32_t batch_of(struct pass *p, const struct pp_span *s)
{
    const struct pp_timeline_batch *b = &p->batch;
    p->numbered |= s->batch != PP_NO_BATCH;
    if (p->numbered || (s->flags & PP_SPAN_UNFINISHED))
        return s->flags & PP_SPAN_UNFINISHED ? PP_NO_BATCH : s->batch;
    return b->number + (uint32_t)(p->beside.open && b->step_ns && s->phase != PP_PHASE_DEVICE_SYNC &&
                                  s->phase != PP_PHASE_COLLECTIVE);
}

static void add_trainer_span(struct pass *p, const struct pp_span *s)
{
    struct pp_timeline *tl = p->tl;
    struct pp_timeline_batch *b = &p->batch;
    int boundary = s->phase == PP_PHASE_EPOCH_BOUNDARY;
    if (s->phase != PP_PHASE_COUNTER) {
        uint64_t end_ns = s->start_ns + s->dur_ns;
        if (p->any_batch && s->start_ns > p->until_ns)
            add_gap(p, (struct pp_gap){p->until_ns, s->start_ns, 0, 0});
        p->until_ns = end_ns > p->until_ns ? end_ns : p->until_ns;
        if (s->phase == PP_PHASE_STEP)
            p->step_from_ns = s->start_ns, p->step_until_ns = end_ns;
    }
    if (p->each && p->beside.open && pp_counter_is(&p->exchange, p->source, s)) {
        b->sampled_exchanges++;
        b->exchange_delay_ns += s->bytes;
        return;
    }
    int ends = boundary && s->batch == PP_NO_BATCH,
        starts = s->phase == PP_PHASE_STARTUP && s->batch != PP_NO_BATCH,
        begins = p->ending_ns || p->starting_ns ||
                 !tl->first_batch_ns, /* else a program draws for each batch */
        draws = s->phase == PP_PHASE_SAMPLER && s->batch != PP_NO_BATCH && begins;
    if (!tl->first_batch_ns) {
        tl->first_start_ns += starts ? s->dur_ns : 0;
        tl->first_sampler_ns += draws ? s->dur_ns : 0;
    }
    if ((starts || draws) && !pp_other_batches_has(&tl->other, s->batch))
        *(starts ? &p->starting_ns : &p->sampler_ns) += s->dur_ns;
    starts |= draws;
    if (ends && p->beside.open && !pp_other_batches_has(&tl->other, b->number))
        p->ending_ns += s->dur_ns;
    if (s->phase == PP_PHASE_CHECKPOINT || ends || starts) {
        if (tl->window_batches && !(s->flags & PP_SPAN_WARMUP)) {
            *(ends || starts ? &p->between_ns : &tl->boundary_ns) += s->dur_ns;
            p->apart_ns += ends || starts ? s->dur_ns : 0;
        }
        return;
    }
    if (s->phase == PP_PHASE_COLLECTIVE && s->batch == PP_NO_BATCH &&
        !p->beside.open) { /* before the first step, ranks wait for each other to begin */
        tl->gather_ns += s->dur_ns;
        return;
    }
    if (!boundary && s->phase != PP_PHASE_DATA_WAIT && s->phase != PP_PHASE_DEVICE_SYNC &&
        s->phase != PP_PHASE_COLLECTIVE && s->phase != PP_PHASE_STEP)
        return;
    uint32_t number = batch_of(p, s);
    if (number == PP_NO_BATCH)
        return; /* the wait that the end of the run, not a batch, ended */
    if (!p->beside.open || number != b->number)
        open_batch(p, s, number);
    b->end_ns = s->start_ns + s->dur_ns;
    if ((s->flags & PP_SPAN_HAS_DELAY) && s->phase != PP_PHASE_COLLECTIVE) {
        uint64_t *of = boundary || s->phase == PP_PHASE_DATA_WAIT ? &b->wait_delay_ns : &b->step_delay_ns;
        *of += s->run_delay_ns < s->dur_ns ? s->run_delay_ns : s->dur_ns;
    }
    b->warmup |= (s->flags & PP_SPAN_WARMUP) != 0;
    if ((s->flags & PP_SPAN_COUNT) && s->sample > b->samples)
        b->samples = s->sample;
    if (boundary) { /* the wait for an epoch's first batch: the batch counts, its wait is kept apart */
        b->boundary = 1;
        b->wait_ns += s->dur_ns;
    } else if (s->phase == PP_PHASE_DATA_WAIT) {
        if (tl->first_batch_ns == 0) {
            tl->first_batch_ns = b->end_ns;
            tl->first_wait_ns = s->dur_ns;
        }
        b->wait_ns += s->dur_ns;
        p->beside.stalls += s->dur_ns &&
                            add_stall(p, &tl->stalls, &tl->n_stalls, &p->room, s->start_ns, b->end_ns);
    } else if (s->phase == PP_PHASE_DEVICE_SYNC) {
        b->sync_ns += s->dur_ns;
    } else if (s->phase == PP_PHASE_COLLECTIVE) {
        b->collective_ns += s->dur_ns;
        b->exchanges++;
    } else {
        b->step_ns += s->dur_ns;
        tl->has_step |= s->dur_ns > 0;
    }
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    size_t at = pp_thread_at(p->threads, p->n_threads, thread);
    pp_lane lane = at < p->n_threads && (unsigned)p->threads[at].lane < PP_LANE_COUNT ? p->threads[at].lane
                                                                                      : PP_LANE_MAIN;
    struct pp_timeline *tl = p->tl;
    uint64_t *of_lane = &tl->startup_ns[lane];
    int of_many = lane == PP_LANE_WORKER || lane == PP_LANE_READER;
    if (!tl->has_trainer && lane == PP_LANE_TRAINER) {
        const struct pp_thread_row *most = &p->threads[at];
        for (size_t i = 0; i < p->n_threads; i++) /* of several that train in one process */
            if (p->threads[i].lane == PP_LANE_TRAINER && p->threads[i].pid == most->pid &&
                p->threads[i].recorded > most->recorded)
                most = &p->threads[i];
        tl->has_trainer = 1;
        tl->trainer = most->id;
    }
    int trainer = tl->has_trainer && thread == tl->trainer;
    tl->spans += n;
    tl->chunks++;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        uint64_t end = s->start_ns + s->dur_ns;
        if (s->phase == PP_PHASE_COUNTER)
            continue;
        tl->first_ns = s->start_ns < tl->first_ns ? s->start_ns : tl->first_ns;
        tl->last_ns = end > tl->last_ns ? end : tl->last_ns;
        if (s->phase == PP_PHASE_STARTUP && s->batch != PP_NO_BATCH) {
            /* a worker that starts again for another epoch */
            tl->restarts += lane != PP_LANE_TRAINER;
            tl->restart_ns += lane != PP_LANE_TRAINER ? s->dur_ns : 0;
        } else if (s->phase == PP_PHASE_STARTUP) {
            tl->startup_start_ns = s->start_ns < tl->startup_start_ns ? s->start_ns : tl->startup_start_ns;
            tl->startup_end_ns = end > tl->startup_end_ns ? end : tl->startup_end_ns;
            *of_lane = !of_many ? *of_lane + s->dur_ns : s->dur_ns > *of_lane ? s->dur_ns : *of_lane;
        }
        if (of_many && s->phase >= PP_PHASE_READ && s->phase <= PP_PHASE_TRANSFORM) {
            tl->merged_samples |= (s->flags & PP_SPAN_COUNT) != 0;
            tl->sample_spans[s->phase] += s->sample != PP_NO_SAMPLE && !(s->flags & PP_SPAN_COUNT);
        }
    }
    for (size_t i = 0; trainer && i < n; i++)
        add_trainer_span(p, &spans[i]);
    return p->no_memory;
}

pp_status pp_timeline_build(const struct pp_source *source, struct pp_timeline *out, struct pp_err *err)
{
    return pp_timeline_build_each(source, out, NULL, NULL, err);
}

pp_status pp_timeline_build_each(const struct pp_source *source, struct pp_timeline *out,
                                 pp_timeline_batch_fn *fn, void *ctx, struct pp_err *err)
{
    const struct pp_wanted wanted = {
        .columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_SAMPLE | PP_COLUMN_EPOCH | PP_COLUMN_FLAGS |
                   (fn ? PP_COLUMN_RUN_DELAY | PP_COLUMN_NAME | PP_COLUMN_BYTES : 0)};
    struct pass p = {
        .tl = out, .each = fn, .each_ctx = ctx, .source = source, .exchange = {.text = "exchange_delay_ns"}};
    memset(out, 0, sizeof(*out));
    if (pp_other_batches_read(source, &out->other, &(struct pp_err){0}) != PP_OK)
        out->other.n = 0; /* all batches count then, as in a recording that does not say whose they are */
    p.makes = pp_source_number(source, "config", "num_workers", 1) == 0;
    p.part = pp_part_judged(source);
    out->part = p.part.which;
    out->first_ns = out->startup_start_ns = UINT64_MAX;
    p.n_threads = source->threads(source->ctx, &p.threads);
    p.n_generations = source->generations ? source->generations(source->ctx, &p.generation_ns) : 0;
    pp_status status = source->each_chunk(source->ctx, &wanted, each_chunk, &p, &out->bad_chunks, err);
    if (p.no_memory)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the stalls of %s", source->path);
    /* The run ended before its step did, which is most of a cycle. */
    p.batch.warmup |= !p.beside.begins && !p.batch.boundary && !p.batch.step_ns &&
                      out->step_ns > pp_timeline_exposed_ns(out);
    close_batch(&p);
    out->n_gaps -= p.gaps;
    /* Of steps what is longer than the others are. */
    size_t n = 0, steps = 0;
    uint64_t in_steps = 0, all = out->step_ns + out->boundary_step_ns;
    for (size_t i = 0; i < out->n_gaps; i++)
        if (out->gaps[i].in_step)
            steps++, in_steps += out->gaps[i].end_ns - out->gaps[i].start_ns;
    uint64_t mean = out->window_batches > steps && all > in_steps
                        ? (all - in_steps) / (out->window_batches - steps)
                        : 0;
    for (size_t i = 0; i < out->n_gaps; i++) {
        struct pp_gap g = out->gaps[i];
        g.start_ns += g.in_step ? mean : 0;
        if (g.end_ns < g.start_ns + LEAST_GAP_NS || g.start_ns < out->start_ns || g.end_ns > out->end_ns)
            continue;
        out->gap_ns += g.end_ns - g.start_ns;
        out->gap_step_ns += g.in_step ? g.end_ns - g.start_ns : 0;
        out->gaps[n++] = g;
    }
    out->n_gaps = n;
    out->has_steady_state = out->window_batches > 0;
    if (!out->has_steady_state) {
        out->start_ns = p.run_start_ns;
        out->end_ns = p.run_end_ns;
        out->window_batches = out->batches;
        out->window_samples = out->samples;
    }
    return status;
}

struct pp_timeline pp_timeline_of_judged(const struct pp_timeline *t)
{
    struct pp_timeline judged = *t;
    if (t->other.n) {
        judged.stalls = t->own.stalls;
        judged.n_stalls = t->own.n_stalls;
    }
    return judged;
}

void pp_timeline_free(struct pp_timeline *t)
{
    free(t->stalls);
    free(t->own.stalls);
    free(t->cycle_end_ns);
    free(t->epoch_first);
    free(t->gaps);
    free(t->other.range);
    *t = (struct pp_timeline){0};
}
