/* Two batches along their critical path: which are followed, and what was done for them; see
 * report/pictures/series.h. */
#include "report/pictures/series.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

/* ---- which two ---- */

/* The batch the trainer is working on, for choosing which to follow. */
struct current {
    struct pp_series_target t;
    int open, warmup, boundary;
};

struct choice {
    struct current current;
    struct pp_series_target typical, worst;
    uint64_t median_ns, typical_off_ns; /* of the waits; the typical one's from it */
    int any_batch, have_target;
};

static void consider(struct choice *p)
{
    struct current *c = &p->current;
    if (!c->open || c->warmup || c->boundary)
        return;
    uint64_t off = c->t.wait_ns > p->median_ns ? c->t.wait_ns - p->median_ns : p->median_ns - c->t.wait_ns;
    if (!p->have_target || off < p->typical_off_ns) {
        p->typical = c->t;
        p->typical_off_ns = off;
    }
    if (!p->have_target || c->t.wait_ns > p->worst.wait_ns)
        p->worst = c->t;
    p->have_target = 1;
}

static int choose_of_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct choice *p = ctx;
    struct current *c = &p->current;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        uint64_t end = s->start_ns + s->dur_ns;
        int in_batch = s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY ||
                       s->phase == PP_PHASE_STEP || s->phase == PP_PHASE_DEVICE_SYNC ||
                       s->phase == PP_PHASE_COLLECTIVE;
        if (!in_batch || s->batch == PP_NO_BATCH || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        if (!c->open || s->batch != c->t.batch) {
            int first = !p->any_batch, new_epoch = first || s->epoch != c->t.epoch;
            consider(p);
            *c = (struct current){.t = {.batch = s->batch,
                                        .epoch = s->epoch,
                                        .wait_start_ns = s->start_ns,
                                        .wait_end_ns = s->start_ns},
                                  .open = 1,
                                  .warmup = first,
                                  .boundary = new_epoch};
            p->any_batch = 1;
        }
        c->warmup |= (s->flags & PP_SPAN_WARMUP) != 0;
        c->t.end_ns = end;
        if (s->phase == PP_PHASE_DATA_WAIT) {
            c->t.wait_ns += s->dur_ns;
            c->t.wait_end_ns = end;
        } else if (s->phase == PP_PHASE_EPOCH_BOUNDARY) {
            c->boundary = 1;
        } else if (s->phase == PP_PHASE_STEP) {
            c->t.step_ns += s->dur_ns;
        } else { /* of the device and of other ranks */
            c->t.sync_ns += s->dur_ns;
        }
    }
    return 0;
}

pp_status pp_series_choose(const struct pp_source *source, const struct pp_timeline *timeline,
                           const struct pp_tally *tally, struct pp_series_targets *targets,
                           struct pp_err *err)
{
    const struct pp_tally_phase *wait = tally->phase[PP_LANE_TRAINER][PP_PHASE_DATA_WAIT];
    const struct pp_wanted of_trainer = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_EPOCH |
                                                    PP_COLUMN_FLAGS,
                                         .thread = &timeline->trainer};
    struct choice p = {.median_ns = wait ? pp_hist_quantile(&wait->hist, 0.5) : 0};
    targets->n = 0;
    if (!timeline->has_trainer)
        return PP_OK;
    pp_status status = source->each_chunk(source->ctx, &of_trainer, choose_of_chunk, &p, NULL, err);
    if (status != PP_OK)
        return status;
    consider(&p);
    if (p.have_target) {
        targets->target[targets->n] = p.typical;
        targets->target[targets->n++].which = "typical";
    }
    if (p.have_target && p.worst.batch != p.typical.batch) {
        targets->target[targets->n] = p.worst;
        targets->target[targets->n++].which = "worst";
    }
    for (struct pp_series_target *t = targets->target; t < targets->target + targets->n; t++) {
        size_t i = 0; /* no chunk that begins earlier has a span of the batch */
        while (i < PP_SERIES_SLICES - 1 &&
               (t->batch < targets->begun[i].least || t->batch > targets->begun[i].most))
            i++;
        t->since_ns = targets->begun[i].first_ns;
    }
    return PP_OK;
}

/* ---- the spans of one batch ---- */

enum { MOST_SPANS = 1 << 16 };

struct kept {
    struct pp_span span;
    uint32_t thread; /* index in the source's thread rows */
};

/* Spans of the batch, and those that overlap the trainer's wait for it. */
struct catch
{
    const struct pp_series_target *target;
    struct kept *kept;
    size_t n, room;
    int too_many;
};

struct pass {
    const struct pp_thread_row *threads;
    size_t n_threads;
    struct catch catch;
    int no_memory;
};

static int keep_of_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    size_t k = pp_thread_at(p->threads, p->n_threads, thread);
    struct catch *c = &p->catch;
    for (size_t i = 0; k < p->n_threads && i < n && !c->too_many && !p->no_memory; i++) {
        const struct pp_series_target *t = c->target;
        const struct pp_span *s = &spans[i];
        uint64_t end = s->start_ns + s->dur_ns;
        int of_it = s->batch == t->batch || (end > t->wait_start_ns && s->start_ns < t->wait_end_ns);
        if (!of_it || s->phase == PP_PHASE_COUNTER || !pp_phase_info(s->phase) || end > t->end_ns)
            continue;
        c->too_many = c->n == MOST_SPANS;
        if (c->too_many)
            break;
        p->no_memory = !pp_grow(&c->kept, &c->room, c->n + 1, sizeof(*c->kept));
        if (!p->no_memory)
            c->kept[c->n++] = (struct kept){*s, (uint32_t)k};
    }
    return p->no_memory || c->too_many;
}

PP_BY_BOTH(by_thread_and_start, struct kept, thread, span.start_ns)

/* ---- one batch ---- */

struct batch {
    const struct pass *pass;
    const struct catch *c;
    const struct pp_series_target *t;
    struct pp_arena *arena;
    struct pp_report_batch *out;
    size_t finisher; /* thread index of the worker that finished the batch; SIZE_MAX: not known */
    uint64_t chain_start, chain_end; /* of the finisher's part of the critical path */
    uint64_t first, copied;          /* start of the picture; end of the copy, 0: none recorded */
};

static pp_lane lane_of(const struct batch *b, const struct kept *k)
{
    return b->pass->threads[k->thread].lane;
}

static double since_wait(const struct batch *b, uint64_t t)
{
    return t >= b->t->wait_start_ns ? (double)(t - b->t->wait_start_ns) : -(double)(b->t->wait_start_ns - t);
}

static int of_batch(const struct batch *b, const struct kept *k)
{
    return k->span.batch == b->t->batch && lane_of(b, k) != PP_LANE_TRAINER;
}

/* ---- its legs ---- */

/* Time on the path, added to the batch's leg that has what, thread and other of `kind`, or to a new one. */
static void add_leg(struct batch *b, const struct pp_report_leg *kind, uint64_t from, uint64_t to)
{
    struct pp_report_batch *o = b->out;
    struct pp_report_leg *leg = NULL;
    if (to <= from && kind->phase == PP_PHASE_NONE)
        return;
    for (size_t i = 0; i < o->n_legs && !leg; i++)
        if (o->legs[i].other == kind->other && strcmp(o->legs[i].what, kind->what) == 0 &&
            strcmp(o->legs[i].thread, kind->thread) == 0)
            leg = &o->legs[i];
    if (!leg && (leg = pp_arena_push(b->arena, (void **)&o->legs, &o->n_legs, sizeof(*leg))) != NULL)
        *leg = (struct pp_report_leg){.what = pp_arena_copy(b->arena, kind->what),
                                      .thread = pp_arena_copy(b->arena, kind->thread),
                                      .phase = kind->phase,
                                      .other = kind->other};
    if (pp_arena_failed(b->arena))
        return;
    leg->spans += kind->phase != PP_PHASE_NONE;
    leg->total_ns += (double)(to - from);
    from = from > b->t->wait_start_ns ? from : b->t->wait_start_ns;
    to = to < b->t->wait_end_ns ? to : b->t->wait_end_ns;
    leg->in_wait_ns += to > from ? (double)(to - from) : 0;
}

/* The path as it went: what the finisher did, the queue to the copy lane, what that did for this batch, the
 * queue to the trainer. */
static void put_legs(struct batch *b)
{
    uint64_t at = b->chain_start;
    for (int copying = 0; copying < 2; copying++) {
        int first = 1;
        for (size_t i = 0; i < b->c->n; i++) {
            const struct kept *k = &b->c->kept[i];
            const struct pp_span *s = &k->span;
            const char *thread = b->pass->threads[k->thread].name ? b->pass->threads[k->thread].name : "";
            uint64_t end = s->start_ns + s->dur_ns, from = s->start_ns > at ? s->start_ns : at;
            int queued = copying && first,
                on_path = copying ? lane_of(b, k) == PP_LANE_COPY && s->batch == b->t->batch &&
                                        s->phase != PP_PHASE_GET_WAIT && end <= b->t->wait_end_ns
                                  : k->thread == b->finisher && end <= b->chain_end;
            if (!on_path || end <= at)
                continue;
            add_leg(b,
                    queued ? &(struct pp_report_leg){.what = "in the ready queue", .thread = ""}
                           : &(struct pp_report_leg){.what = "between spans", .thread = thread},
                    at, from);
            add_leg(b,
                    &(struct pp_report_leg){.what = pp_phase_info(s->phase)->name,
                                            .thread = thread,
                                            .phase = (pp_phase)s->phase,
                                            .other = s->batch != b->t->batch},
                    from, end);
            at = end;
            first = 0;
        }
    }
    add_leg(b,
            &(struct pp_report_leg){.what = b->copied ? "on the device" : "on the way to the trainer",
                                    .thread = ""},
            at, b->t->wait_end_ns);
}

/* ---- its picture ---- */

struct group {
    double start, end, lack, work[PP_PHASE_COUNT];
    int open, other;
};

static void close_group(struct batch *b, struct pp_report_bar_row *row, struct group *g)
{
    unsigned most = 0;
    if (!g->open)
        return;
    for (unsigned i = 1; i < PP_PHASE_COUNT; i++)
        if (g->work[i] > g->work[most])
            most = i;
    struct pp_report_bar *bar = pp_arena_push(b->arena, (void **)&row->bars, &row->n_bars, sizeof(*bar));
    if (bar)
        *bar = (struct pp_report_bar){.phase = (pp_phase)most,
                                      .start_ns = g->start,
                                      .end_ns = g->end,
                                      .lack_ns = most == PP_PHASE_STEP ? g->lack : 0,
                                      .other = g->other};
    *g = (struct group){.open = 0};
}

static void put_row(struct batch *b, size_t thread, int critical)
{
    struct pp_report_bar_row *row = pp_arena_push(b->arena, (void **)&b->out->rows, &b->out->n_rows,
                                                  sizeof(*row));
    if (!row)
        return;
    *row = (struct pp_report_bar_row){.name = pp_arena_copy(b->arena, b->pass->threads[thread].name),
                                      .lane = b->pass->threads[thread].lane,
                                      .critical = critical};
    /* Spans too short to be seen are drawn together, in the colour of the phase that took most of their time:
     * the bars of a row are bounded. */
    double narrow = (b->out->end_ns - b->out->start_ns) / PP_SERIES_BARS;
    struct group g = {.open = 0};
    for (size_t i = 0; i < b->c->n; i++) {
        const struct kept *k = &b->c->kept[i];
        const struct pp_span *s = &k->span;
        double start = since_wait(b, s->start_ns), end = since_wait(b, s->start_ns + s->dur_ns);
        int other = s->batch != b->t->batch;
        if (k->thread != thread || end <= b->out->start_ns || s->dur_ns == 0)
            continue;
        start = fmax(start, b->out->start_ns);
        if (g.open && (end - start >= narrow || start - g.end >= narrow || g.end - g.start >= narrow ||
                       other != g.other))
            close_group(b, row, &g);
        if (!g.open)
            g = (struct group){.start = start, .end = start, .open = 1, .other = other};
        g.end = fmax(g.end, end);
        g.work[s->phase] += end - start;
        if (s->phase == PP_PHASE_STEP && s->flags & PP_SPAN_HAS_DELAY)
            g.lack += fmin((double)s->run_delay_ns, end - start);
    }
    close_group(b, row, &g);
}

static void put_rows(struct batch *b)
{
    size_t drawn = 0;
    if (b->finisher != SIZE_MAX)
        put_row(b, b->finisher, 1);
    for (size_t k = 0; k < b->pass->n_threads; k++) {
        int has_part = 0;
        if (b->pass->threads[k].lane != PP_LANE_WORKER || k == b->finisher)
            continue;
        for (size_t i = 0; i < b->c->n && !has_part; i++)
            has_part = b->c->kept[i].thread == k && of_batch(b, &b->c->kept[i]);
        if (!has_part)
            continue;
        if (drawn++ < PP_SERIES_WORKER_ROWS - 1)
            put_row(b, k, 0);
        else
            b->out->other_workers++;
    }
    for (int trains = 0; trains < 2; trains++)
        for (size_t k = 0; k < b->pass->n_threads; k++)
            if (b->pass->threads[k].lane == (trains ? PP_LANE_TRAINER : PP_LANE_COPY))
                put_row(b, k, 1);
}

static void put_batch(const struct pass *p, struct catch *c, uint64_t origin_ns, struct pp_arena *arena,
                      struct pp_report *r)
{
    struct pp_report_batch *out = pp_arena_push(arena, (void **)&r->waterfalls, &r->n_waterfalls,
                                                sizeof(*out));
    const struct pp_series_target *t = c->target;
    struct batch b = {.pass = p, .c = c, .t = t, .arena = arena, .out = out};
    if (!out)
        return;
    if (c->n)
        qsort(c->kept, c->n, sizeof(*c->kept), by_thread_and_start);
    b.finisher = SIZE_MAX;
    b.chain_start = b.first = b.t->wait_start_ns;
    for (size_t i = 0; i < b.c->n; i++) {
        const struct kept *k = &b.c->kept[i];
        uint64_t end = k->span.start_ns + k->span.dur_ns;
        if (!of_batch(&b, k) || end > b.t->wait_end_ns)
            continue;
        if (lane_of(&b, k) == PP_LANE_WORKER && end >= b.chain_end) {
            b.finisher = k->thread;
            b.chain_end = end;
        }
        if (lane_of(&b, k) == PP_LANE_COPY && k->span.phase == PP_PHASE_H2D)
            b.copied = end;
    }
    for (size_t i = 0; i < b.c->n; i++) {
        const struct kept *k = &b.c->kept[i];
        if (of_batch(&b, k) && k->thread == b.finisher && k->span.start_ns < b.chain_start)
            b.chain_start = b.first = k->span.start_ns;
    }
    *out = (struct pp_report_batch){
        .which = t->which,
        .batch = t->batch,
        .epoch = t->epoch,
        .asked_s = (double)(t->wait_start_ns - origin_ns) / 1e9,
        .wait_ns = (double)t->wait_ns,
        .sync_ns = (double)t->sync_ns,
        .step_ns = (double)t->step_ns,
        .start_ns = since_wait(&b, b.first),
        .end_ns = since_wait(&b, t->end_ns),
        .ready_ns = b.copied ? since_wait(&b, b.copied) : NAN,
    };
    put_legs(&b);
    put_rows(&b);
}

pp_status pp_series_follow(const struct pp_source *source, const struct pp_series_targets *targets,
                           struct pp_arena *arena, struct pp_report *r, struct pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < targets->n && status == PP_OK; i++) {
        const struct pp_series_target *target = &targets->target[i];
        struct pp_wanted of_its_time = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_RUN_DELAY |
                                                   PP_COLUMN_FLAGS,
                                        .from_ns = target->since_ns,
                                        .to_ns = target->end_ns};
        struct pass p = {.catch.target = target};
        p.n_threads = source->threads(source->ctx, &p.threads);
        status = source->each_chunk(source->ctx, &of_its_time, keep_of_chunk, &p, NULL, err);
        if (p.no_memory)
            status = pp_fail(err, PP_E_NO_MEMORY, "no memory to follow two batches of %s", source->path);
        if (status == PP_OK && !p.catch.too_many)
            put_batch(&p, &p.catch, targets->origin_ns, arena, r);
        free(p.catch.kept);
    }
    return status;
}
