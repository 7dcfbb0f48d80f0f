#include "report/findings/visits.h"

#include "probe/base/array.h"
#include "probe/base/sample_list.h"
#include "report/findings/findings.h"
#include "report/findings/watch.h"
#include "report/measure/visit.h"

#define MOST_BATCHES (UINT32_C(1) << 21)
enum { AHEAD = 32 };            /* spans: a few hundred ns */
enum { MOST_LISTED = 1 << 24 }; /* samples of lists that are read: one second */
#define MOST_REPEATS 0.5 /* of the visits: beyond, epochs are not told, or each worker reads everything */

/* Workers of an iterable data set that give the same samples, by the content of the first ones of
 * each worker and epoch (counter sample_print, which the hooks write): the data set is not divided among
 * them. Samples that are mostly alike tell nothing. */

enum { PRINTS = 16, ROWS = 1 << 12 }; /* of a row; rows: of the first epochs */

/* The first samples of a worker in an epoch. */
struct row {
    uint32_t thread, n;
    uint16_t epoch;
    uint64_t print[PRINTS];
};

struct alike_pass {
    struct pp_counter_id print;
    struct row *row;
    size_t n, room;
    uint32_t thread, batch; /* of the span before: a print has no batch of its own */
    uint16_t epoch;
};

PP_BY(by_epoch, struct row, epoch)

/* Fills alike_workers and alike_epochs of *out. */
static void alike_end(struct alike_pass *p, struct pp_visits *out)
{
    if (p->n)
        qsort(p->row, p->n, sizeof(*p->row), by_epoch);
    for (size_t from = 0, to; from < p->n; from = to) {
        const struct row *first = NULL;
        double workers = 0, same = 0;
        for (to = from; to < p->n && p->row[to].epoch == p->row[from].epoch; to++) {
            if (!pp_visit_prints_tell(p->row[to].print, p->row[to].n))
                continue;
            first = first ? first : &p->row[to];
            workers++;
            same += pp_visit_prints_alike(first->print, first->n, p->row[to].print, p->row[to].n);
        }
        if (workers < 2 || same < workers)
            continue;
        out->alike_epochs++;
        out->alike_workers = workers > out->alike_workers ? workers : out->alike_workers;
    }
    free(p->row);
}

/* ---- the pass ---- */

/* An epoch of the judged loader, by what its sampler gave. */
struct listed {
    uint32_t first; /* UINT32_MAX: none of it was given */
    int ended;
    uint64_t samples;
};

struct pp_visits_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct pp_visit_walk walk;
    size_t n_batches, room;
    struct pp_visit_batch *batches;
    struct pp_watch watch;
    int merged, with_replacement, cached, resumed, leased;
    int several; /* loaders, of which each numbers its epochs: those of the timeline are not one loader's */
    double per_epoch, slack; /* samples of a whole epoch, and how many fewer are fine; NAN: not known */
    double visits, repeats;
    uint8_t repeat_epoch[(UINT16_MAX + 1) / 8];
    struct pp_visits_example again[PP_VISITS_EXAMPLES];
    size_t n_again;
    uint16_t last_epoch;
    struct listed *listed; /* NULL: visits come from the workers' spans */
    size_t n_listed;
    struct pp_order_row loader; /* whose they are */
    int trains;                 /* a step had a backward pass */
    struct alike_pass alike;
};

/* ---- what the samplers of a PyTorch job gave, where its samples were recorded as sums ---- */

struct reading {
    struct pp_visits_pass *p;
    struct pp_order_row of; /* pid, loader: the judged one */
    int no_memory;
};

static void note_epoch(void *ctx, const struct pp_order_row *o)
{
    struct reading *r = ctx;
    struct pp_visits_pass *p = r->p;
    if (o->pid != r->of.pid || o->loader != r->of.loader || o->epoch > UINT16_MAX || !o->samples ||
        r->no_memory)
        return;
    if (o->epoch >= p->n_listed) {
        size_t room = (size_t)o->epoch + 1;
        struct listed *grown = realloc(p->listed, room * sizeof(*grown));
        if (!grown) {
            r->no_memory = 1;
            return;
        }
        for (size_t e = p->n_listed; e < room; e++)
            grown[e] = (struct listed){.first = UINT32_MAX};
        p->listed = grown;
        p->n_listed = room;
    }
    struct listed *e = &p->listed[o->epoch];
    e->first = o->first_batch < e->first ? o->first_batch : e->first;
    e->ended |= o->ended;
    e->samples += o->samples;
}

struct pp_visits_pass *pp_visits_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_visits_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->source = source;
    p->tl = tl;
    p->alike = (struct alike_pass){.print.text = "sample_print", .batch = PP_NO_BATCH};
    if (!pp_visit_walk_begin(&p->walk, source, tl)) {
        free(p);
        return NULL;
    }
    p->merged = tl->merged_samples;
    double samples = pp_source_number(source, "config", "dataset_samples", NAN),
           ranks = pp_source_number(source, "config", "world_size", 1);
    p->resumed = pp_source_has(source, "resume");
    p->with_replacement = pp_source_is(source, "sampler", "weighted") ||
                          pp_source_yes(source, "config", "with_replacement");
    p->cached = pp_source_is(source, "cached_batches", "true");
    p->several = p->tl->other.n > 0;
    p->leased = pp_source_has(source, "lease");
    p->per_epoch = samples > 0 && ranks >= 1 && !pp_source_is(source, "stream", "true")
                       ? floor(samples / ranks)
                       : NAN;
    p->slack = pp_source_yes(source, "config", "drop_last")
                   ? pp_source_number(source, "config", "batch_size", 1) - 1
                   : 0;
    /* Where the samples were recorded as sums, or not at all, or are of several loaders: lists tell them. */
    const char *own = source->meta(source->ctx, "config", "dataloader");
    struct reading r = {.p = p};
    long long pid;
    unsigned loader;
    struct pp_err ignored;
    if (own && sscanf(own, "%lld.%u", &pid, &loader) == 2 && source->each_order &&
        (p->merged || p->several || p->walk.phase == PP_PHASE_NONE)) {
        p->loader = r.of = (struct pp_order_row){.pid = pid, .loader = loader};
        if (source->each_order(source->ctx, NULL, note_epoch, &r, &ignored) != PP_OK || r.no_memory)
            p->n_listed = 0;
    }
    if (p->n_listed) {
        p->several = 0;     /* they are of one */
        p->per_epoch = NAN; /* of how many ranks, a sampler does not say */
    }
    return p;
}

/* ---- adding spans ---- */

static int visit(struct pp_visits_pass *p, uint64_t sample, uint32_t batch, uint16_t epoch)
{
    enum pp_watch_answer seen = pp_watch_see(&p->watch, sample, epoch);
    p->visits++;
    p->last_epoch = epoch > p->last_epoch ? epoch : p->last_epoch;
    if (seen == PP_WATCH_AGAIN) {
        p->repeats += pp_watch_scale(&p->watch);
        p->repeat_epoch[epoch / 8] |= (uint8_t)(1u << epoch % 8);
        if (p->n_again < PP_VISITS_EXAMPLES)
            p->again[p->n_again++] = (struct pp_visits_example){sample, epoch};
    }
    if (seen == PP_WATCH_NO_MEMORY || batch == PP_NO_BATCH || batch >= MOST_BATCHES)
        return seen != PP_WATCH_NO_MEMORY;
    if (batch >= p->room) {
        size_t room = p->room ? p->room : 1024;
        while (room <= batch)
            room *= 2;
        struct pp_visit_batch *grown = realloc(p->batches, room * sizeof(*grown));
        if (!grown)
            return 0;
        memset(grown + p->room, 0, (room - p->room) * sizeof(*grown));
        p->batches = grown;
        p->room = room;
    }
    struct pp_visit_batch *b = &p->batches[batch];
    pp_visit_batch_add(b, sample);
    b->epoch = epoch;
    p->n_batches = batch >= p->n_batches ? (size_t)batch + 1 : p->n_batches;
    return 1;
}

int pp_visits_chunk(struct pp_visits_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = pp_visit_walk_thread(&p->walk, thread);
    struct alike_pass *a = &p->alike;
    for (size_t i = 0; i < n && p->tl->has_trainer && thread == p->tl->trainer && !p->trains; i++)
        p->trains = spans[i].phase == PP_PHASE_STEP && (spans[i].flags & PP_SPAN_TRAINED);
    if (thread != a->thread)
        a->batch = PP_NO_BATCH;
    a->thread = thread;
    for (size_t i = 0; i < n && a->n < ROWS; i++) {
        const struct pp_span *s = &spans[i];
        if (s->batch != PP_NO_BATCH) {
            a->batch = s->batch;
            a->epoch = s->epoch;
            continue;
        }
        if (a->batch == PP_NO_BATCH || !pp_counter_is(&a->print, p->source, s) ||
            pp_other_batches_has(&p->tl->other, a->batch))
            continue;
        size_t row = a->n;
        while (row > 0 && (a->row[row - 1].thread != thread || a->row[row - 1].epoch != a->epoch))
            row--;
        if (!row) {
            if (!pp_grow(&a->row, &a->room, a->n + 1, sizeof(*a->row)))
                return 1;
            a->row[a->n] = (struct row){.thread = thread, .epoch = a->epoch};
            row = ++a->n;
        }
        struct row *to = &a->row[row - 1];
        if (to->n < PRINTS)
            to->print[to->n++] = s->bytes;
    }
    if (at == SIZE_MAX || p->n_listed)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n && spans[i + AHEAD].phase == p->walk.phase)
            pp_watch_expect(&p->watch, spans[i + AHEAD].sample);
        if (pp_visit_walk_is(&p->walk, at, &spans[i]) &&
            !visit(p, spans[i].sample, spans[i].batch, spans[i].epoch))
            return 1;
    }
    return 0;
}

static void see_list(void *ctx, const struct pp_order_row *o)
{
    struct reading *r = ctx;
    struct pp_sample_list l = {.at = o->list, .end = o->list + o->list_bytes};
    uint64_t n, sample;
    for (uint32_t b = o->first_batch; o->list && pp_sample_list_batch(&l, &n); b++)
        while (!r->no_memory && pp_sample_list_next(&l, &sample))
            r->no_memory = !visit(r->p, sample, b, (uint16_t)o->epoch);
}

/* ---- order ---- */

static uint32_t first_batch(const struct pp_visits_pass *p, size_t epoch)
{
    if (p->n_listed)
        return epoch < p->n_listed ? p->listed[epoch].first : UINT32_MAX;
    return epoch < p->tl->n_epoch_first ? p->tl->epoch_first[epoch] : UINT32_MAX;
}

static const struct pp_visit_batch *batch_of(const struct pp_visits_pass *p, uint64_t number, size_t epoch)
{
    const struct pp_visit_batch *b = number < p->n_batches && number <= p->tl->last_batch
                                         ? &p->batches[number]
                                         : NULL;
    return b && b->n && b->epoch == epoch ? b : NULL;
}

/* Lists of a sampler of PyTorch's that shuffles. Of a job's own sampler, or batch sampler, it is not known
 * what is meant. */
static int own_sampler(const struct pp_visits_pass *p)
{
    const char *sampler = p->source->meta(p->source->ctx, "config", "sampler");
    return p->n_listed && !(sampler && (strstr(sampler, "RandomSampler") || strstr(sampler, "Distributed")));
}

static void judge_order(const struct pp_visits_pass *p, struct pp_visits *out)
{
    int possible = 0, by_number = 0;
    for (size_t e = 1; e < (p->n_listed ? p->n_listed : p->tl->n_epoch_first); e++) {
        struct pp_visit_orders c = {0};
        uint32_t now = first_batch(p, e), before = first_batch(p, e - 1);
        const struct pp_visit_batch *a, *b;
        int both = now != UINT32_MAX && before != UINT32_MAX;
        for (uint64_t i = 0; both && before + i < now && (a = batch_of(p, before + i, e - 1)) &&
                             (b = batch_of(p, now + i, e));
             i++)
            pp_visit_orders_add(&c, a, b);
        if (c.compared == 0)
            continue;
        possible = 1;
        if (c.compared < 2)
            continue; /* an epoch of one batch has but one order that can be told */
        out->pairs++;
        if (pp_visit_orders_by_number(&c)) {
            by_number++;
            continue;
        }
        if (pp_visit_orders_repeat(&c) && out->repeated++ == 0) {
            out->repeated_epoch = (uint16_t)e;
            out->same_batches = c.same;
        }
    }
    out->by_number = by_number > 0;
    if (out->repeated) /* an epoch may repeat the order of the one before */
        out->order_unknown =
            p->n_listed && !p->trains
                ? "no step has a backward pass: an evaluation may have its samples in one order"
            : own_sampler(p) ? "the job's own sampler gives all epochs one order, which may be meant so"
                             : NULL;
    out->repeated = out->order_unknown ? 0 : out->repeated;
    if (out->pairs == 0)
        out->order_unknown =
            possible ? "the epochs have one batch in common, or one batch each"
                     : "only one epoch has enough samples to compare, or its spans have no batch numbers";
}

/* ---- samples ---- */

/* The smallest sample numbers that the reference epoch had and this one has not. */
static void name_missing(const struct pp_visits_pass *p, uint16_t epoch, uint16_t reference,
                         struct pp_visits *out)
{
    for (size_t i = 0; i < p->watch.room; i++) {
        const struct pp_watch_entry *w = &p->watch.entries[i];
        if (!w->used || pp_watch_was_seen(w, epoch) || !pp_watch_was_seen(w, reference))
            continue;
        size_t at = out->n_missing < PP_VISITS_EXAMPLES ? out->n_missing++ : PP_VISITS_EXAMPLES - 1;
        if (at == PP_VISITS_EXAMPLES - 1 && out->missing[at].sample && w->sample > out->missing[at].sample)
            continue;
        for (; at > 0 && out->missing[at - 1].sample > w->sample; at--)
            out->missing[at] = out->missing[at - 1];
        out->missing[at] = (struct pp_visits_example){w->sample, epoch};
    }
}

static void judge_skips(const struct pp_visits_pass *p, int lost, struct pp_visits *out)
{
    double seen[PP_WATCH_EPOCHS], scale = pp_watch_scale(&p->watch), largest = 0;
    uint16_t from = p->last_epoch >= PP_WATCH_EPOCHS ? (uint16_t)(p->last_epoch - PP_WATCH_EPOCHS + 1) : 0,
             best = from;
    /* Watched samples seen in each epoch from `from` on. */
    memset(seen, 0, PP_WATCH_EPOCHS * sizeof(*seen));
    for (size_t i = 0; i < p->watch.room; i++) {
        const struct pp_watch_entry *w = &p->watch.entries[i];
        for (uint32_t bits = w->used ? w->seen : 0; bits; bits &= bits - 1) {
            int epoch = w->newest - __builtin_ctz(bits);
            if (epoch >= from)
                seen[epoch - from]++;
        }
    }
    for (uint16_t e = from; e <= p->last_epoch && e >= from; e++) {
        /* Whole: it began and ended in the recording. The first list of a process may go on in the middle. */
        uint32_t first = first_batch(p, e);
        int begun = first != UINT32_MAX &&
                    (first == 0 ? !p->resumed : e > 0 && first_batch(p, (size_t)e - 1) != UINT32_MAX),
            ended = p->n_listed ? e > 0 && e < p->n_listed && p->listed[e].ended
                                : first_batch(p, (size_t)e + 1) != UINT32_MAX;
        seen[e - from] = begun && ended ? seen[e - from] : NAN;
        out->whole_epochs += !isnan(seen[e - from]);
        if (seen[e - from] > largest)
            largest = seen[e - from], best = e;
    }
    out->expected = isnan(p->per_epoch) ? largest * scale : p->per_epoch;
    double fewest = scale > 1 ? largest * scale
                              : out->expected - p->slack; /* an estimate is held against the largest epoch's,
                                                             of the same watched samples */
    for (uint16_t e = from; e <= p->last_epoch && e >= from; e++) {
        double missing = fewest - seen[e - from] * scale;
        if (!(missing > 0))
            continue;
        out->skips += missing;
        if (out->skip_epochs++ == 0)
            name_missing(p, e, best, out);
    }
    if (p->with_replacement)
        out->skips_unknown = "the sampler draws with replacement, so an epoch leaves samples out by design";
    else if (out->skips > 0 && own_sampler(p))
        out->skips_unknown = "the job's own sampler gives epochs of different samples, which may be meant so";
    else if (p->leased)
        out->skips_unknown = "each epoch leases other shards to this rank (--lease)";
    else if (p->cached)
        out->skips_unknown = "batches were repeated without reading (--cached-batches)";
    else if (!p->n_listed && (lost || p->merged))
        out->skips_unknown = lost ? "spans are missing from the recording"
                                  : "a part of the samples was recorded as sums (--detail)";
    else if (out->whole_epochs == 0)
        out->skips_unknown = "no epoch was read from its first batch to its last";
    else if (isnan(p->per_epoch) && out->whole_epochs < 2)
        out->skips_unknown = "one whole epoch; its expected number of samples is not recorded";
}

void pp_visits_end(struct pp_visits_pass *p, int lost, struct pp_visits *out)
{
    *out = (struct pp_visits){.scale = 1};
    if (!p)
        return;
    /* What comes behind the most that is read is as it began. */
    struct reading r = {.p = p, .of = p->loader};
    struct pp_err ignored;
    double samples = 0;
    for (size_t e = 0; e < p->n_listed; e++) {
        samples += (double)p->listed[e].samples;
        r.of.epoch = (uint32_t)e;
        if (samples > MOST_LISTED ||
            p->source->each_order(p->source->ctx, &r.of, see_list, &r, &ignored) != PP_OK || r.no_memory)
            p->n_listed = e;
    }
    out->scale = pp_watch_scale(&p->watch);
    out->several = p->several;
    if (p->walk.phase == PP_PHASE_NONE && !p->n_listed)
        out->order_unknown = out->repeats_unknown = out->skips_unknown =
            p->merged ? "samples were recorded as sums, not one by one (--detail batch or rollup)"
                      : "no span of the workers names a sample";
    else {
        if (!p->several)
            judge_order(p, out);
        out->visits = p->visits;
        out->repeats = p->repeats;
        out->n_again = p->n_again;
        memcpy(out->again, p->again, sizeof(p->again));
        for (size_t e = 0; e <= UINT16_MAX; e++)
            out->repeat_epochs += p->repeat_epoch[e / 8] >> e % 8 & 1;
        if (p->with_replacement)
            out->repeats_unknown = "the sampler draws with replacement, so samples repeat by design";
        else if (p->repeats > 0 && own_sampler(p))
            out->repeats_unknown =
                "the job's own sampler gives samples more than once, which may be meant so";
        else if (p->last_epoch == 0 && p->repeats > MOST_REPEATS * p->visits)
            out->repeats_unknown =
                "most samples repeat and all spans have epoch 0: either the epoch is not recorded (pp_lap.epoch), or each worker reads the whole data set";
        judge_skips(p, lost, out);
    }
    alike_end(&p->alike, out);
    pp_watch_free(&p->watch);
    free(p->batches);
    free(p->listed);
    pp_visit_walk_free(&p->walk);
    free(p);
}

/* ---- facts ---- */

/* "sample 17 of epoch 0, ..."; NULL: none. */
static const char *name_examples(const struct pp_visits_example *e, size_t n, struct pp_arena *arena)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++)
        text = pp_arena_printf(arena, "%s%s%llu of epoch %u", text ? text : "sample ", text ? ", " : "",
                               (unsigned long long)e[i].sample, e[i].epoch);
    return text;
}

void pp_measure_visits(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_visits *v = &from->checks->visits;
    double *m = f->number;
    int several = v->several && !v->order_unknown; /* else nothing is known of any */
    m[PP_FINDING_VISITS_SEVERAL] = several ? 1 : NAN;
    f->text[PP_FINDING_ORDER_UNKNOWN] = v->order_unknown;
    m[PP_FINDING_ORDER_PAIRS] = (double)v->pairs;
    m[PP_FINDING_ORDER_REPEATED] = (double)v->repeated;
    m[PP_FINDING_ORDER_SAME] = (double)v->same_batches;
    m[PP_FINDING_ORDER_EPOCH] = v->repeated_epoch;
    m[PP_FINDING_ORDER_BEFORE] = v->repeated_epoch - 1;
    m[PP_FINDING_ORDER_BY_NUMBER] = v->by_number;
    f->text[PP_FINDING_VISITS_ESTIMATED] = v->scale > 1 ? "about" : NULL;
    m[PP_FINDING_VISITS_ONE_IN] = v->scale > 1 ? v->scale : NAN;
    f->text[PP_FINDING_REPEATS_UNKNOWN] = v->repeats_unknown;
    m[PP_FINDING_VISITS] = v->visits;
    m[PP_FINDING_REPEATS] = v->repeats;
    m[PP_FINDING_ALIKE_WORKERS] = v->alike_workers ? v->alike_workers : NAN;
    m[PP_FINDING_ALIKE_EPOCHS] = v->alike_epochs;
    if (v->alike_workers)
        f->text[PP_FINDING_REPEATS_UNKNOWN] = NULL;
    m[PP_FINDING_REPEAT_EPOCHS] = (double)v->repeat_epochs;
    m[PP_FINDING_VISITS_SCALE] = m[PP_FINDING_SKIPS_SCALE] = v->scale;
    f->text[PP_FINDING_REPEAT_EXAMPLES] = name_examples(v->again, v->n_again, from->arena);
    f->text[PP_FINDING_SKIPS_UNKNOWN] = several ? NULL : v->skips_unknown;
    m[PP_FINDING_SKIPS_EXPECTED] = v->expected;
    m[PP_FINDING_SKIPS] = v->skips;
    m[PP_FINDING_SKIP_EPOCHS] = (double)v->skip_epochs;
    m[PP_FINDING_SKIP_WHOLE] = (double)v->whole_epochs;
    f->text[PP_FINDING_SKIP_EXAMPLES] = name_examples(v->missing, v->n_missing, from->arena);
}
