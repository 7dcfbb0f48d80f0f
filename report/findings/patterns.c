#include "report/findings/checks.h"

#include "probe/base/array.h"
#include "report/stats/order.h"

enum { LEAST_DISTANCES = 10, LEAST_BATCHES = 12 }; /* LEAST_BATCHES: of each worker */
#define IN_STEP 0.7                                /* of the distances */
#define LONG_HOLD 0.6                              /* of the waiting */
enum { MOST_INFERRED = 32, LEAST_INFERRED = 3 };   /* workers; distances */
#define INFERRED_HOLD 0.8
#define NEW_EPOCH (UINT64_C(1) << 63)
#define OPEN_NS 2e9 /* a hang at the end: this long, and OPEN_TIMES the median of its phase */
#define OPEN_TIMES 20
#define UNUSUAL_NS 10e9 /* where no work of the phase has ended */
#define ENDED_NS 5e9    /* a hang that ended */
#define ENDED_TIMES 100

/* One worker. */
struct worker {
    uint32_t id;
    int works;                  /* on the lane of workers */
    uint64_t first_ns, last_ns; /* first_ns UINT64_MAX: no span */
    uint64_t batch_ns, batches; /* work in the window, and the batches it was for */
    uint32_t batch;
    struct pp_hang open; /* its work that was open at the end */
};

struct pp_patterns_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct worker *threads;
    size_t n_threads;
    uint64_t *wait_ns; /* per batch of the window; with NEW_EPOCH: the first of an epoch, which waits apart */
    size_t n_waits, room;
    uint32_t batch; /* of the last wait */
    uint16_t epoch;
    int any_batch, worked;
    struct pp_hang longest[PP_PHASE_COUNT]; /* that ended */
};

struct pp_patterns_pass *pp_patterns_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    const struct pp_thread_row *rows;
    struct pp_patterns_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->source = source;
    p->tl = tl;
    p->n_threads = source->threads(source->ctx, &rows);
    p->threads = calloc(p->n_threads + 1, sizeof(*p->threads));
    if (!p->threads) {
        free(p);
        return NULL;
    }
    for (size_t i = 0; i < p->n_threads; i++)
        p->threads[i] = (struct worker){.id = rows[i].id,
                                        .works = rows[i].lane == PP_LANE_WORKER,
                                        .first_ns = UINT64_MAX,
                                        .batch = PP_NO_BATCH};
    return p;
}

/* ---- the trainer's waits, batch by batch ---- */

static void count_long_waits(const struct pp_patterns_pass *p, struct pp_lockstep *out)
{
    double sum = 0, held = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < p->n_waits; i++)
        sum += p->wait_ns[i] & NEW_EPOCH ? 0 : (double)p->wait_ns[i];
    double least = p->n_waits ? sum / (double)p->n_waits * (double)out->workers / 2 : 0;
    for (size_t i = 0; i < p->n_waits; i++) {
        if (p->wait_ns[i] & NEW_EPOCH) { /* batches are dealt to the workers anew */
            last = SIZE_MAX;
            continue;
        }
        if ((double)p->wait_ns[i] < least || p->wait_ns[i] == 0)
            continue;
        out->long_waits++;
        held += (double)p->wait_ns[i];
        out->distances += last != SIZE_MAX;
        out->in_step += last != SIZE_MAX && i - last == out->workers;
        last = i;
    }
    out->long_share = sum > 0 ? held / sum : 0;
}

static void find_lockstep(const struct pp_patterns_pass *p, size_t at_once, struct pp_lockstep *out)
{
    double told = pp_source_number(p->source, "config", "workers", (double)at_once);
    const char *loader = p->source->meta(p->source->ctx, "import", "loader");
    /* another profiler's trace of a loader that has workers, or does not say */
    int tells_none = p->source->meta(p->source->ctx, "run", "source") &&
                     !(loader && strstr(loader, "SingleProcess"));
    *out = (struct pp_lockstep){.slowest = NAN,
                                .workers = told >= 1 && told < PP_PATTERN_BATCHES ? (unsigned)told : 0};
    int told_waits = p->tl->has_steady_state && p->tl->has_step && p->n_waits;
    /* The waits come every w batches: there are so many workers. */
    for (unsigned w = 2; told_waits && !out->workers && tells_none && w <= MOST_INFERRED; w++) {
        struct pp_lockstep k = {.slowest = NAN, .workers = w};
        count_long_waits(p, &k);
        if (k.distances >= LEAST_INFERRED && k.in_step == k.distances && k.long_share >= INFERRED_HOLD) {
            *out = k;
            out->found = out->inferred = 1;
            return;
        }
    }
    if (!told_waits)
        out->unknown = "the trainer's waits and steps were not recorded";
    else if (!out->workers)
        out->unknown = "the number of workers is not known";
    else if (p->n_waits < (size_t)LEAST_BATCHES * out->workers)
        out->unknown = "fewer than 12 batches per worker in steady state";
    if (out->unknown || out->workers < 2)
        return;
    count_long_waits(p, out);
    double *per_batch = malloc((p->n_threads + 1) * sizeof(*per_batch)), most = 0;
    size_t n = 0;
    for (size_t i = 0; per_batch && i < p->n_threads; i++) {
        const struct worker *w = &p->threads[i];
        if (!w->works || !w->batches)
            continue;
        per_batch[n] = (double)w->batch_ns / (double)w->batches;
        if (per_batch[n] > most) {
            most = per_batch[n];
            out->slowest_thread = w->id;
        }
        n++;
    }
    double middle = n >= 2 ? pp_stats_median(per_batch, n) : NAN;
    out->slowest = middle > 0 ? most / middle : NAN;
    free(per_batch);
    out->found = out->distances >= LEAST_DISTANCES &&
                 (double)out->in_step >= IN_STEP * (double)out->distances && out->long_share >= LONG_HOLD;
}

/* ---- generations of workers ---- */

PP_BY_POINTER(by_first, struct worker, first_ns)

/* Returns the size of the largest generation. */
static size_t find_restarts(struct pp_patterns_pass *p, struct pp_restarts *out)
{
    const struct worker **order = malloc((p->n_threads + 1) * sizeof(*order));
    size_t n = 0, size = 0, largest = 0, first = 0;
    uint64_t ends = 0;
    *out = (struct pp_restarts){.unknown = NULL};
    for (size_t i = 0; order && i < p->n_threads; i++)
        if (p->threads[i].works && p->threads[i].first_ns != UINT64_MAX)
            order[n++] = &p->threads[i];
    if (n)
        qsort(order, n, sizeof(*order), by_first);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || order[i]->first_ns >= ends) {
            out->gap_ns += i ? (double)(order[i]->first_ns - ends) : 0;
            out->generations++;
            size = 0;
        }
        ends = order[i]->last_ns > ends ? order[i]->last_ns : ends;
        largest = ++size > largest ? size : largest;
        first += out->generations == 1;
    }
    out->threads = n;
    out->started_again = n - first;
    if (p->source->generations && p->source->joined) { /* those of a lane are one thread of the source */
        const uint64_t *starts_ns;
        size_t again = p->source->joined(p->source->ctx);
        out->generations += p->source->generations(p->source->ctx, &starts_ns);
        out->threads += again;
        out->started_again += again;
    }
    if (!n)
        out->unknown = order ? "no worker was recorded" : "there was no memory for it";
    free(order);
    return largest;
}

/* ---- hangs ---- */

/* Against what its phase usually takes, which is noted. */
static int hangs(struct pp_hang *h, const struct pp_tally *tally)
{
    const struct pp_tally_phase *t = tally->phase[PP_LANE_WORKER][h->phase];
    double dur = (double)h->dur_ns;
    if (!h->dur_ns)
        return 0;
    h->usual_ns = t && t->hist.count ? (double)pp_hist_quantile(&t->hist, 0.5) : NAN;
    if (isnan(h->usual_ns))
        return h->open && dur >= UNUSUAL_NS;
    return h->open ? dur >= OPEN_NS && dur >= OPEN_TIMES * h->usual_ns
                   : dur >= ENDED_NS && dur >= ENDED_TIMES * h->usual_ns;
}

/* ---- the pass ---- */

static void add_work(struct pp_patterns_pass *p, struct worker *w, const struct pp_span *s)
{
    const struct pp_phase_info *info = pp_phase_info(s->phase);
    uint64_t end = s->start_ns + s->dur_ns;
    int open = (s->flags & PP_SPAN_UNFINISHED) != 0, many = (s->flags & PP_SPAN_COUNT) != 0;
    if (s->start_ns < w->first_ns)
        w->first_ns = s->start_ns;
    if (!info || info->kind != PP_KIND_WORK || s->phase == PP_PHASE_STARTUP)
        return;
    if (end > w->last_ns && !open)
        w->last_ns = end;
    p->worked = 1;
    struct pp_hang *longest = open ? &w->open : &p->longest[s->phase];
    if (s->phase >= PP_PHASE_READ && s->phase <= PP_PHASE_COLLATE && (open || !many) &&
        s->dur_ns > longest->dur_ns)
        *longest = (struct pp_hang){.thread = w->id,
                                    .phase = (pp_phase)s->phase,
                                    .open = open,
                                    .start_ns = s->start_ns,
                                    .dur_ns = s->dur_ns,
                                    .sample = many ? PP_NO_SAMPLE : s->sample};
    if (s->batch == PP_NO_BATCH || open || s->start_ns < p->tl->start_ns || s->start_ns >= p->tl->end_ns)
        return;
    w->batch_ns += s->dur_ns;
    w->batches += s->batch != w->batch;
    w->batch = s->batch;
}

int pp_patterns_chunk(struct pp_patterns_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    int trainer = p->tl->has_trainer && thread == p->tl->trainer, no_memory = 0;
    size_t at = thread < p->n_threads && p->threads[thread].id == thread ? thread : 0; /* ids count from 0 */
    while (at < p->n_threads && p->threads[at].id != thread)
        at++;
    struct worker *w = at < p->n_threads ? &p->threads[at] : NULL;
    for (size_t i = 0; i < n && trainer && !no_memory; i++) {
        const struct pp_span *s = &spans[i];
        int boundary = s->phase == PP_PHASE_EPOCH_BOUNDARY,
            same = s->batch != PP_NO_BATCH && s->batch == p->batch;
        if ((s->phase != PP_PHASE_DATA_WAIT && !boundary) ||
            (s->flags & (PP_SPAN_UNFINISHED | PP_SPAN_WARMUP)) || s->start_ns < p->tl->start_ns ||
            s->start_ns >= p->tl->end_ns || p->n_waits == PP_PATTERN_BATCHES)
            continue;
        if (p->any_batch && same) { /* the wait in several spans */
            p->wait_ns[p->n_waits - 1] += boundary ? 0 : s->dur_ns;
            p->wait_ns[p->n_waits - 1] |= boundary ? NEW_EPOCH : 0;
            continue;
        }
        no_memory = !pp_grow(&p->wait_ns, &p->room, p->n_waits + 1, sizeof(*p->wait_ns));
        if (no_memory)
            break;
        int begins = boundary || (p->any_batch && s->epoch != p->epoch);
        p->wait_ns[p->n_waits++] = (s->dur_ns & ~NEW_EPOCH) | (begins ? NEW_EPOCH : 0);
        p->batch = s->batch;
        p->epoch = s->epoch;
        p->any_batch = 1;
    }
    for (size_t i = 0; i < n && w && w->works; i++)
        if (spans[i].phase < PP_PHASE_COUNT && spans[i].phase != PP_PHASE_COUNTER)
            add_work(p, w, &spans[i]);
    return no_memory;
}

void pp_patterns_end(struct pp_patterns_pass *p, const struct pp_tally *tally, struct pp_patterns *out)
{
    *out = (struct pp_patterns){.lockstep = {.unknown = "there was no memory for it", .slowest = NAN},
                                .restarts = {.unknown = "there was no memory for it"},
                                .hang = {.usual_ns = NAN}};
    if (!p)
        return;
    size_t at_once = find_restarts(p, &out->restarts);
    find_lockstep(p, at_once, &out->lockstep);
    /* What was open at the end goes first: it may have ended the run. */
    struct pp_hang *hang = &out->hang;
    for (size_t i = 0; i < p->n_threads; i++) {
        struct pp_hang h = p->threads[i].open;
        if (!hangs(&h, tally))
            continue;
        size_t others = hang->found ? hang->others + 1 : 0;
        if (!hang->found || h.dur_ns > hang->dur_ns)
            *hang = h;
        hang->found = 1;
        hang->others = others;
    }
    for (unsigned k = PP_PHASE_READ; k <= PP_PHASE_COLLATE && !(hang->found && hang->open); k++) {
        struct pp_hang h = p->longest[k];
        if (!hangs(&h, tally) || (hang->found && h.dur_ns <= hang->dur_ns))
            continue;
        *hang = h;
        hang->found = 1;
    }
    hang->measured = p->worked;
    free(p->wait_ns);
    free(p->threads);
    free(p);
}
