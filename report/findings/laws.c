#include "report/findings/checks.h"

#include "report/source/rows.h"

/* One thread's account. Spans come in order of their ends. */
struct account {
    pp_lane lane;
    const char *name;
    uint64_t last_start_ns, last_end_ns;
    double twice_ns;        /* under two spans that do not nest */
    double all_ns, used_ns; /* of its measured spans: length; CPU time and run-queue delay */
    double cpu_ns;
    int nested, merged, rolled_up; /* spans that stand for several, of a batch or of any, at a lower detail */
};

/* What a queue's spans say: when batches came (in) and went (out). */
struct passage {
    double in_sum, out_sum; /* of moments, in ns since the trainer began */
    uint64_t in, out;
};

struct pp_laws_pass {
    const struct pp_timeline *tl;
    struct account *accounts;
    const struct pp_thread_row *threads;
    size_t n_threads;
    uint64_t begun_ns, ended_ns;
    uint64_t *finished_ns; /* by batch: end of its collate; 0: not seen */
    uint8_t *taken;        /* by batch: the trainer had it */
    size_t batches, room, n_taken;
    struct passage ready, device;
};

#define MOST_BATCHES (UINT32_C(1) << 24) /* 144 MiB; beyond, the ready queue is not checked */
#define ALLOWED 0.05

/* ---- adding spans ---- */

struct pp_laws_pass *pp_laws_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_laws_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tl = tl;
    p->begun_ns = UINT64_MAX;
    p->n_threads = source->threads(source->ctx, &p->threads);
    p->accounts = calloc(p->n_threads + 1, sizeof(*p->accounts));
    if (!p->accounts) {
        free(p);
        return NULL;
    }
    for (size_t i = 0; i < p->n_threads; i++) {
        p->accounts[i].lane = p->threads[i].lane;
        p->accounts[i].name = p->threads[i].name ? p->threads[i].name : "";
    }
    return p;
}

/* end: of its collate; 0: the trainer has it. */
static int keep_batch(struct pp_laws_pass *p, uint32_t batch, uint64_t end)
{
    if (batch >= MOST_BATCHES)
        return 1;
    if (batch >= p->room) {
        size_t room = p->room ? p->room : 1024;
        while (room <= batch)
            room *= 2;
        uint64_t *finished = realloc(p->finished_ns, room * sizeof(*finished));
        if (!finished)
            return 0;
        p->finished_ns = finished;
        uint8_t *taken = realloc(p->taken, room);
        if (!taken)
            return 0;
        p->taken = taken;
        memset(finished + p->room, 0, (room - p->room) * sizeof(*finished));
        memset(taken + p->room, 0, room - p->room);
        p->room = room;
    }
    p->batches = batch >= p->batches ? (size_t)batch + 1 : p->batches;
    if (end) {
        p->finished_ns[batch] = end;
    } else {
        p->n_taken += !p->taken[batch];
        p->taken[batch] = 1;
    }
    return 1;
}

static void note(double *sum, uint64_t *n, uint64_t t)
{
    *sum += (double)t;
    ++*n;
}

static int add_to_queues(struct pp_laws_pass *p, pp_lane lane, const struct pp_span *s)
{
    uint64_t end = s->start_ns + s->dur_ns;
    p->ended_ns = end > p->ended_ns ? end : p->ended_ns;
    if (lane == PP_LANE_TRAINER && s->phase != PP_PHASE_STARTUP && s->start_ns < p->begun_ns)
        p->begun_ns = s->start_ns;
    if (s->batch == PP_NO_BATCH)
        return 1;
    if (lane == PP_LANE_WORKER && s->phase == PP_PHASE_COLLATE)
        return keep_batch(p, s->batch, end);
    if (lane == PP_LANE_COPY && s->phase == PP_PHASE_GET_WAIT)
        note(&p->ready.out_sum, &p->ready.out, end);
    if (lane == PP_LANE_COPY && s->phase == PP_PHASE_H2D &&
        end <= p->tl->end_ns) /* when the trainer has gone its queue takes no more */
        note(&p->device.in_sum, &p->device.in, end);
    if (lane == PP_LANE_TRAINER && (s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY))
        note(&p->device.out_sum, &p->device.out, end);
    return lane != PP_LANE_TRAINER || keep_batch(p, s->batch, 0);
}

int pp_laws_chunk(struct pp_laws_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = pp_thread_at(p->threads, p->n_threads, thread);
    if (at == p->n_threads)
        return 0;
    struct account *a = &p->accounts[at];
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_COUNTER || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        a->merged |= a->lane != PP_LANE_TRAINER && (s->flags & PP_SPAN_COUNT) && s->phase >= PP_PHASE_READ &&
                     s->phase <= PP_PHASE_TRANSFORM;
        a->rolled_up |= a->lane != PP_LANE_TRAINER && (s->flags & PP_SPAN_COUNT) && s->batch == PP_NO_BATCH;
        uint64_t end = s->start_ns + s->dur_ns;
        int counts = s->start_ns >= p->tl->start_ns && end <= p->tl->end_ns,
            overlaps = counts && a->last_end_ns > s->start_ns,
            inside = s->start_ns >= a->last_start_ns && end <= a->last_end_ns,
            around = s->start_ns <= a->last_start_ns && end >= a->last_end_ns;
        a->nested |= overlaps && (inside || around);
        if (overlaps && !inside && !around && s->start_ns > a->last_start_ns)
            a->twice_ns += (double)(a->last_end_ns - s->start_ns);
        if (counts && end >= a->last_end_ns) {
            a->last_start_ns = s->start_ns;
            a->last_end_ns = end;
        }
        a->cpu_ns += counts && (s->flags & PP_SPAN_HAS_CPU) ? (double)s->cpu_ns : 0;
        if (counts && (s->flags & PP_SPAN_HAS_CPU) && (s->flags & PP_SPAN_HAS_DELAY)) {
            a->all_ns += (double)s->dur_ns;
            a->used_ns += (double)(s->cpu_ns + s->run_delay_ns);
        }
        if (!add_to_queues(p, a->lane, s))
            return 1;
    }
    return 0;
}

/* ---- what is off ---- */

static void keep_worst(struct pp_laws *out, enum pp_law law, double off, const char *where)
{
    if (isnan(out->off[law]) || off > out->off[law]) {
        out->off[law] = fmax(off, 0);
        out->where[law] = where ? where : "";
    }
}

/* ---- service rate ---- */

static double number(const struct pp_report *r, const char *key)
{
    const struct pp_report_pair *pair = pp_rows_find(r->config, r->n_config, key);
    return pair && pair->value && pair->value[0] ? atof(pair->value) : NAN;
}

static void bound(struct pp_laws *out, const char *who, double share)
{
    if (share > 0 && !(share <= out->bound_share)) {
        out->bound_share = share;
        out->bound = who;
    }
}

static void check_service(const struct pp_laws_pass *p, const struct pp_tally *t, const struct pp_report *r,
                          struct pp_arena *arena, struct pp_laws *out)
{
    /* In flight: samples that can be between the workers' first touch and the trainer: slots (loader.h) and
     * device buffers. NAN: a loader whose prefetch is not known. */
    double got = (double)p->tl->window_samples, buffers = number(r, "copy_buffers"),
           in_flight = (number(r, "workers") * number(r, "prefetch") + 1 + (isnan(buffers) ? 2 : buffers)) *
                       number(r, "batch_size"),
           made = 0, busy_ns = 0, window_ns = (double)(p->tl->end_ns - p->tl->start_ns);
    int rolled_up = 0;
    uint64_t left = 0;
    for (size_t i = 0; i < p->n_threads; i++)
        rolled_up |= p->accounts[i].lane == PP_LANE_WORKER && p->accounts[i].rolled_up;
    for (size_t i = 0; i < t->n_threads; i++)
        if (t->threads[i].lane == PP_LANE_WORKER) {
            made += (double)t->threads[i].samples;
            busy_ns += t->threads[i].busy_ns;
        }
    double trainer = (double)(p->tl->step_ns + p->tl->sync_ns) / (double)p->tl->judged_batches *
                     (double)p->tl->window_batches / window_ns;
    const struct pp_tally_phase *h2d = t->phase[PP_LANE_COPY][PP_PHASE_H2D];
    if (!p->tl->has_steady_state || rolled_up)
        return; /* which samples were made in the window is not known */
    bound(out, "the trainer's step", trainer);
    if (pp_timeline_share(p->tl, p->tl->collective_ns) >=
        ALLOWED) /* its own steps and the wait for another's: what the slowest rank takes */
        bound(out, "the slowest rank",
              trainer + (double)p->tl->collective_ns / (double)p->tl->judged_batches *
                            (double)p->tl->window_batches / window_ns);
    bound(out, "the copy lane",
          h2d && t->lane_threads[PP_LANE_COPY]
              ? h2d->inside.total_ns / window_ns / (double)t->lane_threads[PP_LANE_COPY]
              : NAN);
    /* Batches that were made in the window and never taken, though later ones were: a job that leaves an
     * epoch before its end throws away what was prefetched. 0 where not every batch of the trainer is seen.
     */
    for (size_t b = 0; p->n_taken == p->tl->batches && b < p->batches && b < p->tl->last_batch; b++)
        left += !p->taken[b] && p->finished_ns[b] >= p->tl->start_ns && p->finished_ns[b] < p->tl->end_ns;
    /* What the trainer got beyond what the workers made in the window was in flight when it began. Their
     * limit in the window is what they can make at the recorded cost, and that stock: none exceeds it. */
    double can_make = made * (double)t->lane_threads[PP_LANE_WORKER] * window_ns / busy_ns,
           thrown = (double)left * number(r, "batch_size"), asked = got + (isnan(thrown) ? 0 : thrown);
    bound(out, "the workers", made > 0 && busy_ns > 0 ? asked / (can_make + fmax(asked - made, 0)) : NAN);
    if (!(made > 0) || !(got > 0) || isnan(in_flight))
        return;
    keep_worst(
        out, PP_LAW_SERVICE, (fabs(made - asked) - in_flight) / got,
        pp_arena_printf(
            arena,
            "the workers produced %.0f samples and the trainer got %.0f%s, with at most %.0f in flight", made,
            got,
            thrown > 0 ? pp_arena_printf(arena, " and left %.0f with epochs that it ended early", thrown)
                       : "",
            in_flight));
    keep_worst(out, PP_LAW_SERVICE,
               (got - in_flight) / made * busy_ns / ((double)t->lane_threads[PP_LANE_WORKER] * window_ns) - 1,
               pp_arena_printf(
                   arena, "the trainer got more samples than %zu workers can produce at the recorded cost",
                   t->lane_threads[PP_LANE_WORKER]));
}

/* ---- Little ---- */

static void check_queue(const struct pp_laws_pass *p, const struct pp_report_queue *measured,
                        const struct passage *q, struct pp_arena *arena, struct pp_laws *out)
{
    double time_ns = (double)(p->ended_ns - p->begun_ns), gets = (double)measured->gets,
           left = (double)q->in - (double)q->out;
    if (gets < 20 || fabs((double)q->out - gets) > ALLOWED * gets ||
        fabs(left - ((double)measured->puts - gets)) > ALLOWED * gets)
        return; /* not every batch's passage was recorded */
    double depth = (q->out_sum - q->in_sum + left * (double)p->ended_ns) / time_ns;
    /* of fewer than one batch, hand-over times are what is seen: they are taken as parts of one */
    double off = fabs(depth - measured->mean_depth) / fmax(fmax(depth, measured->mean_depth), 1);
    keep_worst(out, PP_LAW_LITTLE, off,
               pp_arena_printf(arena, "queue %s measured a mean depth of %.3g batches; the spans give %.3g",
                               measured->name, measured->mean_depth, depth));
}

static void check_little(const struct pp_laws_pass *p, const struct pp_report *r, struct pp_arena *arena,
                         struct pp_laws *out)
{
    const struct pp_report_pair *order = pp_rows_find(r->config, r->n_config, "out_of_order");
    int in_order = !(order && order->value && strcmp(order->value, "true") == 0);
    if (p->begun_ns >= p->ended_ns)
        return;
    /* In order, a batch comes when all before it have come too. When the trainer has gone the queue takes no
     * more: what a slow read still holds up then never comes. */
    struct passage ready = p->ready;
    uint64_t latest = 0;
    for (size_t b = 0; b < p->batches; b++) {
        uint64_t t = p->finished_ns[b];
        latest = t > latest ? t : latest;
        uint64_t came = in_order ? latest : t;
        if (t && came <= p->tl->end_ns)
            note(&ready.in_sum, &ready.in, came);
    }
    for (size_t i = 0; i < r->n_queues; i++) {
        if (strcmp(r->queues[i].name, "ready") == 0)
            check_queue(p, &r->queues[i], &ready, arena, out);
        if (strcmp(r->queues[i].name, "device") == 0)
            check_queue(p, &r->queues[i], &p->device, arena, out);
    }
}

void pp_laws_end(struct pp_laws_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                 struct pp_arena *arena, struct pp_laws *out)
{
    *out = (struct pp_laws){.bound_share = NAN};
    for (int i = 0; i < PP_LAWS; i++) {
        out->off[i] = NAN;
        out->where[i] = "";
    }
    if (!p)
        return;
    const struct pp_report_pair *cpus = pp_rows_find(r->environment, r->n_environment, "usable_cpus");
    double usable_cpus = cpus && cpus->value ? atof(cpus->value) : NAN,
           window_ns = (double)(p->tl->end_ns - p->tl->start_ns), cpu_ns = 0;
    int nested = 0, seen = 0;
    for (size_t i = 0; i < p->n_threads && window_ns > 0; i++) {
        const struct account *a = &p->accounts[i];
        nested |= a->nested;
        cpu_ns += a->cpu_ns;
        /* batches that a device has under way together overlap, and use no CPU */
        if (a->lane == PP_LANE_MAIN || a->lane == PP_LANE_DEVICE || a->merged || a->rolled_up ||
            !a->last_end_ns)
            continue;
        seen = 1;
        keep_worst(out, PP_LAW_UTILISATION, a->twice_ns / window_ns,
                   pp_arena_printf(arena, "phases of %s overlap on one thread", a->name));
        keep_worst(out, PP_LAW_UTILISATION, (a->used_ns - a->all_ns) / window_ns,
                   pp_arena_printf(arena, "spans of %s have more CPU time plus CPU wait than wall time",
                                   a->name));
    }
    if (seen && !nested && usable_cpus > 0)
        keep_worst(out, PP_LAW_UTILISATION, cpu_ns / (window_ns * usable_cpus) - 1,
                   pp_arena_printf(arena, "spans have CPU time for %.3g CPUs, and %.3g are usable",
                                   cpu_ns / window_ns, usable_cpus));
    check_service(p, tally, r, arena, out);
    check_little(p, r, arena, out);
    free(p->finished_ns);
    free(p->taken);
    free(p->accounts);
    free(p);
}
