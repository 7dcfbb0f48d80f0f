#include "report/findings/checks.h"

#include "report/stats/order.h"
#include "report/stats/periodicity.h"

#define STALL 0.5         /* of the median cycle beyond it */
#define LEAST_SHARE 0.01  /* of the window's time */
#define MOST_OF_STALL 0.5 /* what coincides takes this much of the stalls */
#define MOST_FOR_EACH 1.5 /* stalls for one of the period: with more it is no period's */
enum { LEAST_CYCLES = 20, LEAST_PERIOD_CYCLES = 4, LEAST_PERIOD_BATCHES = 3 };

/* Time in the period's stalls and elsewhere. */
struct place {
    double inside, outside;
};

struct pp_periodic_pass {
    const struct pp_timeline *tl;
    const struct pp_thread_row *threads;
    size_t n_threads, *cursors;              /* one per thread */
    struct pp_timeline stalls;               /* the period's, for pp_timeline_stalled_before */
    double stalled_ns, window_ns, cycles_ns; /* cycles_ns: of the whole stalled cycles */
    struct place trainer[PP_PHASE_COUNT], others[PP_PHASE_COUNT];
    size_t workers;
    struct pp_periodic found;
};

/* ---- finding the stalls ---- */

struct stall {
    uint64_t start_ns, end_ns;
    size_t cycle; /* its first */
};

/* in_batches: the events' times are numbers of batches. */
static void keep_stalls(struct pp_periodic_pass *p, const struct pp_period *period,
                        const struct pp_stats_event *events, const struct stall *stalls, size_t n,
                        double middle, int in_batches)
{
    struct pp_periodic *f = &p->found;
    double before = 0;
    for (size_t i = 0; i < n; i++) {
        if (!pp_stats_in_period(events, n, i, period))
            continue;
        p->stalls.stalls[p->stalls.n_stalls++] = (struct pp_stall){stalls[i].start_ns, stalls[i].end_ns,
                                                                   (uint64_t)before};
        before += (double)(stalls[i].end_ns - stalls[i].start_ns);
        p->stalled_ns += events[i].weight;
    }
    p->cycles_ns = before;
    size_t of = p->stalls.n_stalls;
    f->expected = period->expected;
    f->stalls = of < f->expected ? of : f->expected; /* two in one period are its one stall */
    f->p = period->p;
    f->stall_ns = p->stalled_ns / (double)f->stalls;
    const struct pp_stall *first = p->stalls.stalls, *last = first + of - 1;
    f->period_ns = in_batches ? (double)(last->start_ns - first->start_ns) / (double)(f->expected - 1)
                              : period->period;
    f->period_batches = in_batches ? period->period : (f->period_ns - f->stall_ns) / middle;
    f->share = p->stalled_ns / p->window_ns;
    f->found = f->share >= LEAST_SHARE && (double)of <= MOST_FOR_EACH * (double)f->expected;
}

static int find_period(struct pp_periodic_pass *p)
{
    const struct pp_timeline *tl = p->tl;
    struct pp_stats_event *events = malloc(tl->n_cycles * sizeof(*events));
    struct stall *stalls = malloc(tl->n_cycles * sizeof(*stalls));
    double *length = malloc(tl->n_cycles * sizeof(*length)), middle = NAN;
    struct pp_period period;
    for (size_t i = 0; length && i < tl->n_cycles; i++)
        length[i] = (double)(tl->cycle_end_ns[i] - (i ? tl->cycle_end_ns[i - 1] : tl->start_ns));
    if (length)
        middle = pp_stats_median(length, tl->n_cycles);
    free(length);
    int ok = events && stalls && !isnan(middle);
    /* Cycles that are too long, neighbours taken together: where they begin and how much too long they are.
     */
    size_t n = 0, last = 0;
    for (size_t i = 0; ok && i < tl->n_cycles; i++) {
        uint64_t start = i ? tl->cycle_end_ns[i - 1] : tl->start_ns, end = tl->cycle_end_ns[i];
        double over = (double)(end - start) - middle;
        if (over < STALL * middle)
            continue;
        if (n == 0 || i > last + 1)
            stalls[n] = (struct stall){.start_ns = start, .cycle = i},
            events[n++] = (struct pp_stats_event){.t = (double)(start - tl->start_ns)};
        events[n - 1].weight += over;
        stalls[n - 1].end_ns = end;
        last = i;
    }
    p->stalls.stalls = malloc((n + 1) * sizeof(*p->stalls.stalls));
    ok = ok && p->stalls.stalls;
    /* What a loop does every N steps has no interval in time: the steps between are of any length. */
    for (int in_batches = 1; ok && in_batches >= 0 && !p->found.stalls; in_batches--) {
        for (size_t i = 0; i < n; i++)
            events[i].t = in_batches ? (double)stalls[i].cycle : (double)(stalls[i].start_ns - tl->start_ns);
        if (pp_stats_period(events, n, in_batches ? (double)tl->n_cycles : p->window_ns, tl->n_cycles,
                            in_batches ? LEAST_PERIOD_BATCHES : LEAST_PERIOD_CYCLES * middle, &period))
            keep_stalls(p, &period, events, stalls, n, middle, in_batches);
    }
    free(stalls);
    free(events);
    return ok;
}

struct pp_periodic_pass *pp_periodic_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_periodic_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tl = tl;
    p->n_threads = source->threads(source->ctx, &p->threads);
    p->cursors = calloc(p->n_threads + 1, sizeof(*p->cursors));
    p->window_ns = tl->n_cycles ? (double)(tl->cycle_end_ns[tl->n_cycles - 1] - tl->start_ns) : 0;
    p->found.measured = tl->has_steady_state && tl->n_cycles >= LEAST_CYCLES;
    p->found.psi_io_share = NAN;
    for (size_t i = 0; i < p->n_threads; i++)
        p->workers += p->threads[i].lane == PP_LANE_WORKER;
    if (!p->cursors || (p->found.measured && !find_period(p))) {
        free(p->stalls.stalls);
        free(p->cursors);
        free(p);
        return NULL;
    }
    return p;
}

/* ---- what happens in them ---- */

int pp_periodic_chunk(struct pp_periodic_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = pp_thread_at(p->threads, p->n_threads, thread);
    if (at == p->n_threads || !p->found.found)
        return 0;
    pp_lane lane = p->threads[at].lane;
    uint64_t window_end = p->tl->cycle_end_ns[p->tl->n_cycles - 1];
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        uint64_t start = s->start_ns > p->tl->start_ns ? s->start_ns : p->tl->start_ns,
                 end = s->start_ns + s->dur_ns < window_end ? s->start_ns + s->dur_ns : window_end;
        if (s->phase >= PP_PHASE_COUNT || s->phase == PP_PHASE_COUNTER || start >= end ||
            (lane != PP_LANE_TRAINER && (s->flags & PP_SPAN_COUNT) && s->batch == PP_NO_BATCH))
            continue; /* spans of many, merged, do not say when */
        double inside = (double)pp_timeline_stalled_between(&p->stalls, start, end, &p->cursors[at]);
        struct place *place = lane == PP_LANE_TRAINER ? &p->trainer[s->phase]
                              : lane == PP_LANE_WORKER || s->phase == PP_PHASE_CHECKPOINT
                                  ? &p->others[s->phase]
                                  : NULL;
        if (place)
            place->inside += inside, place->outside += (double)(end - start) - inside;
    }
    return 0;
}

/* A phase's time in the stalls beyond what it takes of as much time elsewhere, over the stalled time.
 * threads: whose time it is. */
static double beyond(const struct pp_periodic_pass *p, const struct place *at, double threads)
{
    double elsewhere = p->window_ns - p->cycles_ns,
           normal = elsewhere > 0 ? at->outside / elsewhere * (p->cycles_ns - p->stalled_ns) : 0;
    return (at->inside - normal) / (p->stalled_ns * fmax(threads, 1));
}

static pp_phase largest(const struct pp_periodic_pass *p, const struct place *places, double threads,
                        double *share)
{
    pp_phase phase = PP_PHASE_NONE;
    *share = 0;
    for (unsigned k = 1; k < PP_PHASE_COUNT; k++)
        if (beyond(p, &places[k], threads) > *share) {
            *share = beyond(p, &places[k], threads);
            phase = (pp_phase)k;
        }
    return phase;
}

/* ---- tasks that wait for I/O ---- */

struct psi {
    const struct pp_periodic_pass *p;
    size_t cursor;
    uint64_t last_ns;
    double last, touched_ns, touched, free_ns,
        free; /* time between two readings with a stall in it, and without, and growth in it */
    int any;
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct psi *k = ctx;
    if (strcmp(name, "psi_io_some_ns_total") != 0)
        return;
    if (k->any && t_ns > k->last_ns) {
        const struct pp_timeline *stalls = &k->p->stalls;
        int touched = pp_timeline_stalled_before(stalls, t_ns, &k->cursor) >
                      pp_timeline_stalled_before(stalls, k->last_ns, &k->cursor);
        *(touched ? &k->touched_ns : &k->free_ns) += (double)(t_ns - k->last_ns);
        *(touched ? &k->touched : &k->free) += value - k->last;
    }
    k->any = 1;
    k->last_ns = t_ns;
    k->last = value;
}

pp_status pp_periodic_end(struct pp_periodic_pass *p, const struct pp_source *source, struct pp_periodic *out,
                          struct pp_err *err)
{
    pp_status st = PP_OK;
    *out = (struct pp_periodic){.psi_io_share = NAN, .phase_share = NAN};
    if (!p)
        return st;
    *out = p->found;
    if (out->found) {
        struct psi k = {.p = p};
        double share, of_workers, checkpoint = beyond(p, &p->others[PP_PHASE_CHECKPOINT], 1);
        pp_phase phase = largest(p, p->trainer, 1, &share),
                 worked = largest(p, p->others, (double)p->workers, &of_workers);
        if (share < MOST_OF_STALL)
            phase = PP_PHASE_NONE, share = NAN;
        out->in_trainer = phase != PP_PHASE_NONE;
        if (checkpoint >= MOST_OF_STALL &&
            checkpoint > (phase == PP_PHASE_CHECKPOINT ? share : 0)) /* of another thread, meanwhile */
            phase = PP_PHASE_CHECKPOINT, share = checkpoint;
        else if (phase == PP_PHASE_DATA_WAIT && of_workers >= MOST_OF_STALL)
            phase = worked, share = of_workers, out->in_trainer = 0;
        size_t cursor = 0;
        for (size_t i = 0; i < p->tl->n_gaps; i++)
            out->between_share += (double)pp_timeline_stalled_between(&p->stalls, p->tl->gaps[i].start_ns,
                                                                      p->tl->gaps[i].end_ns, &cursor) /
                                  p->stalled_ns;
        out->phase = out->between_share >= MOST_OF_STALL ? PP_PHASE_NONE : phase;
        out->phase_share = fmin(share, 1);
        st = source->each_counter ? source->each_counter(source->ctx, on_counter, &k, err) : PP_OK;
        if (k.touched_ns > 0 && k.free_ns > 0)
            out->psi_io_share = fmin(fmax((k.touched - k.free / k.free_ns * k.touched_ns) / p->stalled_ns, 0),
                                     1);
    }
    free(p->stalls.stalls);
    free(p->cursors);
    free(p);
    return st;
}
