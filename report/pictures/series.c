#include "report/pictures/series.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/source/one_loader.h"
#include "report/source/source.h"

enum { FINE = PP_SERIES_SLICES * PP_SERIES_ZOOM };

/* What one lane's spans are added to. starved: of steps, what they waited for a CPU. */
enum track { TRACK_WAIT, TRACK_SYNC, TRACK_STEP, TRACK_STARVED, TRACK_APART, TRACK_H2D, TRACKS };

/* Batches that enter (+) and leave (-) a queue. change[i] is felt in all slices after i, part[i] is the part
 * of it felt in i itself, so that depth(i) = sum(change[0..i-1]) + part[i] is the exact mean over the slice,
 * whatever the order events come in. */
struct flow {
    double change[FINE], part[FINE];
    uint64_t in, out;
};

/* When each batch was finished, and when the trainer took it: the two ends of its stay in the queue. They
 * come from different threads and in any order; a batch with one end alone (abandoned with its epoch, or made
 * by the trainer itself) was never in the queue. 16 bytes for each batch whose other end has not come yet. */
struct end {
    uint64_t t_ns;
    uint32_t batch;
    int taken; /* 0: finished */
};

struct pp_series_pass {
    const struct pp_timeline *timeline;
    const struct pp_tally *tally;
    const struct pp_thread_row *threads;
    size_t n_threads, n_workers, rows;
    int *row_of;         /* per thread: row of the map, or -1 */
    size_t *row_workers; /* per row */
    double *busy;        /* rows x fine slices, ns */
    double track[TRACKS][FINE];
    double samples[FINE];
    uint64_t errors[FINE];
    struct flow ready, device;     /* as the copy lane fetches and copies batches */
    struct end *end;               /* of batches that the trainer takes itself */
    size_t n_ends, room, match_at; /* the next match is tried when there are so many */
    struct flow taken;             /* their stays, of all loaders, */
    struct flow *of_loader;        /* and of each of several, PP_SERIES_LOADERS at most */
    struct {
        unsigned loader;
        long long pid;
    } loader[PP_SERIES_LOADERS];
    size_t n_loaders;
    struct pp_series_begun begun[PP_SERIES_SLICES];
    struct {
        uint64_t start_ns;
        uint32_t epoch;
    } began[PP_SERIES_PARTS]; /* epochs of the judged loader */
    size_t n_began;           /* all of them */
    uint64_t origin_ns;       /* when the job started */
    double slice_ns;          /* of a fine one; 0: there is nothing to draw */
    int no_memory;
};

/* Short in the document, and no less true: a millionth of a slice. */
static double rounded(double v)
{
    return round(v * 1e6) / 1e6;
}

/* ---- adding spans ---- */

static size_t slice_at(const struct pp_series_pass *p, uint64_t t)
{
    double i = t > p->origin_ns ? (double)(t - p->origin_ns) / p->slice_ns : 0;
    return i < FINE - 1 ? (size_t)i : FINE - 1;
}

static double slice_end(const struct pp_series_pass *p, size_t i)
{
    return (double)(i + 1) * p->slice_ns;
}

/* part: of the span's time, which is spread over it evenly. */
static void add_time(const struct pp_series_pass *p, double *to, const struct pp_span *s, double part)
{
    double from = (double)(s->start_ns - p->origin_ns), end = from + (double)s->dur_ns;
    size_t i = slice_at(p, s->start_ns), last = slice_at(p, s->start_ns + s->dur_ns);
    for (; i < last; i++) {
        to[i] += part * (slice_end(p, i) - from);
        from = slice_end(p, i);
    }
    to[i] += part * (end - from);
}

static void add_change(const struct pp_series_pass *p, struct flow *f, uint64_t t, int by)
{
    size_t i = slice_at(p, t);
    f->change[i] += by;
    f->part[i] += by * (slice_end(p, i) - (double)(t - p->origin_ns)) / p->slice_ns;
    *(by > 0 ? &f->in : &f->out) += 1;
}

enum { FIRST_MATCH = 4096 };

static int by_batch_and_kind(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return x->batch != y->batch   ? PP_COMPARE(x->batch, y->batch)
           : x->taken != y->taken ? PP_COMPARE(x->taken, y->taken)
                                  : PP_COMPARE(x->t_ns, y->t_ns);
}

/* Counts the stays of batches that have both ends, and keeps the others. */
static void match_ends(struct pp_series_pass *p)
{
    size_t kept = 0;
    if (p->n_ends)
        qsort(p->end, p->n_ends, sizeof(*p->end), by_batch_and_kind);
    for (size_t i = 0; i < p->n_ends; i++) {
        const struct end *e = &p->end[i], *next = i + 1 < p->n_ends ? e + 1 : e;
        if (e->taken || !next->taken || next->batch != e->batch) {
            p->end[kept++] = *e;
            continue;
        }
        i++;
        if (next->t_ns <= e->t_ns)
            continue;
        /* A batch was finished and not taken between the two. */
        const struct pp_batch_range *of = pp_other_batches_find(&p->timeline->other, e->batch);
        size_t k = 0;
        while (of && k < p->n_loaders && (p->loader[k].loader != of->loader || p->loader[k].pid != of->pid))
            k++;
        int has_own = of && k < PP_SERIES_LOADERS && p->of_loader;
        if (has_own && k == p->n_loaders) {
            p->loader[k].loader = of->loader;
            p->loader[k].pid = of->pid;
            p->n_loaders++;
        }
        struct flow *flows[] = {&p->taken, has_own ? &p->of_loader[k] : NULL};
        for (int m = 0; m < 2 && flows[m]; m++) {
            add_change(p, flows[m], e->t_ns, 1);
            add_change(p, flows[m], next->t_ns, -1);
        }
    }
    p->n_ends = kept;
    p->match_at = 2 * kept > FIRST_MATCH ? 2 * kept : FIRST_MATCH;
}

static void add_end(struct pp_series_pass *p, const struct pp_span *s, int taken)
{
    if (p->n_ends >= FIRST_MATCH && p->n_ends >= p->match_at)
        match_ends(p);
    if (pp_grow(&p->end, &p->room, p->n_ends + 1, sizeof(*p->end)))
        p->end[p->n_ends++] = (struct end){s->start_ns + s->dur_ns, s->batch, taken};
    else
        p->no_memory = 1;
}

static void add_trainer(struct pp_series_pass *p, const struct pp_span *s)
{
    static const signed char track_of[PP_PHASE_COUNT] = {
        [PP_PHASE_DATA_WAIT] = 1 + TRACK_WAIT,
        [PP_PHASE_DEVICE_SYNC] = 1 + TRACK_SYNC,
        [PP_PHASE_STEP] = 1 + TRACK_STEP,
        [PP_PHASE_COLLECTIVE] = 1 + TRACK_SYNC,
        [PP_PHASE_EPOCH_BOUNDARY] = 1 + TRACK_APART,
        [PP_PHASE_CHECKPOINT] = 1 + TRACK_APART,
        [PP_PHASE_STARTUP] = 1 + TRACK_APART,
    };
    uint64_t end = s->start_ns + s->dur_ns;
    int waited = s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY,
        track = track_of[s->phase];
    if (track)
        add_time(p, p->track[track - 1], s, 1);
    if (s->phase == PP_PHASE_STEP && s->flags & PP_SPAN_HAS_DELAY && s->dur_ns)
        add_time(p, p->track[TRACK_STARVED], s, fmin((double)s->run_delay_ns / (double)s->dur_ns, 1));
    if (s->batch == PP_NO_BATCH || (s->flags & PP_SPAN_UNFINISHED))
        return;
    if (waited) {
        add_change(p, &p->device, end, -1);
        add_end(p, s, 1);
        size_t last = p->n_began < PP_SERIES_PARTS ? p->n_began : PP_SERIES_PARTS;
        if (!pp_other_batches_has(&p->timeline->other, s->batch) &&
            !(last && p->began[last - 1].epoch >= s->epoch)) {
            if (p->n_began < PP_SERIES_PARTS) {
                p->began[p->n_began].start_ns = s->start_ns;
                p->began[p->n_began].epoch = s->epoch;
            }
            p->n_began++;
        }
        p->samples[slice_at(p, end)] += s->flags & PP_SPAN_COUNT ? (double)s->sample : 0;
    }
}

int pp_series_chunk(struct pp_series_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    if (p->no_memory || p->slice_ns == 0)
        return p->no_memory;
    /* For pp_series_choose. */
    struct pp_series_begun c = {UINT64_MAX, UINT32_MAX, 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t batch = spans[i].batch;
        c.first_ns = spans[i].start_ns < c.first_ns ? spans[i].start_ns : c.first_ns;
        c.least = batch < c.least ? batch : c.least;
        c.most = batch != PP_NO_BATCH && batch > c.most ? batch : c.most;
    }
    struct pp_series_begun *all = &p->begun[slice_at(p, c.first_ns) / PP_SERIES_ZOOM];
    all->first_ns = c.first_ns < all->first_ns ? c.first_ns : all->first_ns;
    all->least = c.least < all->least ? c.least : all->least;
    all->most = c.most > all->most ? c.most : all->most;
    size_t k = pp_thread_at(p->threads, p->n_threads, thread);
    if (k == p->n_threads)
        return 0;
    pp_lane lane = p->threads[k].lane;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_COUNTER || !pp_phase_info(s->phase))
            continue;
        if (lane == PP_LANE_TRAINER && p->timeline->has_trainer && thread == p->timeline->trainer)
            add_trainer(p, s);
        else if (lane == PP_LANE_COPY) {
            int whole = s->batch != PP_NO_BATCH && !(s->flags & PP_SPAN_UNFINISHED);
            if (s->phase == PP_PHASE_H2D)
                add_time(p, p->track[TRACK_H2D], s, 1);
            if (whole && s->phase == PP_PHASE_GET_WAIT)
                add_change(p, &p->ready, s->start_ns + s->dur_ns, -1);
            if (whole && s->phase == PP_PHASE_H2D)
                add_change(p, &p->device, s->start_ns + s->dur_ns, 1);
        } else if (lane == PP_LANE_WORKER) {
            int row = p->row_of[k];
            const struct pp_phase_info *info = pp_phase_info(s->phase);
            if (info->kind == PP_KIND_WORK && row >= 0)
                add_time(p, p->busy + (size_t)row * FINE, s, 1);
            if (s->phase == PP_PHASE_COLLATE && s->batch != PP_NO_BATCH && !(s->flags & PP_SPAN_UNFINISHED)) {
                add_change(p, &p->ready, s->start_ns + s->dur_ns, 1);
                add_end(p, s, 0);
            }
        }
    }
    return 0;
}

static void add_errors(void *ctx, const struct pp_error_row *e)
{
    struct pp_series_pass *p = ctx;
    if (e->t_ns >= p->origin_ns)
        p->errors[slice_at(p, e->t_ns)] += e->count;
}

/* ---- into the model ---- */

/* Into one double of each of n things, `stride` bytes from one to the next, or NAN. */
static void put_depth(const struct flow *f, void *to, size_t stride)
{
    double before = 0;
    /* More came out than went in, or more is left inside than a pipeline holds: spans are missing. */
    int whole = f->in > 0 && f->out > 0 && f->in + 1 >= f->out &&
                (double)(f->in - f->out) <= 64 + 0.02 * (double)f->in;
    for (size_t i = 0; i < FINE; i++) {
        double depth = before + f->part[i];
        *(double *)((char *)to + i * stride) = whole ? rounded(fmax(depth, 0)) : NAN;
        before += f->change[i];
    }
}

static void put_fine(const struct pp_series_pass *p, struct pp_report *r)
{
    for (size_t i = 0; i < FINE; i++) {
        double share[TRACKS];
        for (int t = 0; t < TRACKS; t++)
            share[t] = rounded(fmin(fmax(p->track[t][i] / p->slice_ns, 0), 1));
        r->fine[i] = (struct pp_report_slice){
            .start_s = rounded((double)i * p->slice_ns / 1e9),
            .end_s = rounded(slice_end(p, i) / 1e9),
            .wait_share = share[TRACK_WAIT],
            .sync_share = share[TRACK_SYNC],
            .step_share = share[TRACK_STEP],
            .starved_share = fmin(share[TRACK_STARVED], share[TRACK_STEP]),
            .apart_share = share[TRACK_APART],
            .h2d_share = share[TRACK_H2D],
            .samples_per_s = rounded(p->samples[i] / (p->slice_ns / 1e9)),
            .errors = p->errors[i],
        };
    }
    put_depth(p->device.in ? &p->ready : &p->taken, &r->fine->ready_batches, sizeof(*r->fine));
    put_depth(&p->device, &r->fine->device_batches, sizeof(*r->fine));
}

/* Each of n slices is the mean of `each` of from. */
static void put_means(const struct pp_report_slice *from, size_t each, struct pp_report_slice *to, size_t n)
{
    static const size_t means[] = {
        offsetof(struct pp_report_slice, wait_share),    offsetof(struct pp_report_slice, sync_share),
        offsetof(struct pp_report_slice, step_share),    offsetof(struct pp_report_slice, starved_share),
        offsetof(struct pp_report_slice, apart_share),   offsetof(struct pp_report_slice, h2d_share),
        offsetof(struct pp_report_slice, ready_batches), offsetof(struct pp_report_slice, device_batches),
        offsetof(struct pp_report_slice, samples_per_s),
    };
    for (size_t k = 0; k < n; k++, from += each, to++) {
        to->start_s = from[0].start_s;
        to->end_s = from[each - 1].end_s;
        to->buffer_lasts_s = NAN;
        for (size_t m = 0; m < sizeof(means) / sizeof(*means); m++) {
            double sum = 0;
            for (size_t i = 0; i < each; i++)
                sum += *(const double *)((const char *)&from[i] + means[m]);
            *(double *)((char *)to + means[m]) = rounded(sum / (double)each);
        }
        for (size_t i = 0; i < each; i++)
            to->errors += from[i].errors;
    }
}

/* What a reader opens to look closer: the epochs, or equal parts of the run where it has one or many. */
static void put_parts(const struct pp_series_pass *p, struct pp_arena *arena, struct pp_report *r)
{
    enum { EQUAL = 6 };
    int by_epoch = p->n_began > 1 && p->n_began <= PP_SERIES_PARTS;
    size_t first = p->n_began ? slice_at(p, p->began[0].start_ns) : 0, n = by_epoch ? p->n_began : EQUAL;
    if (FINE - first < PP_SERIES_SLICES) /* mostly start-up: nothing to look closer at */
        return;
    for (size_t i = 0; i < n; i++) {
        size_t from = by_epoch ? slice_at(p, p->began[i].start_ns) : first + (FINE - first) * i / n,
               to = !by_epoch    ? first + (FINE - first) * (i + 1) / n
                    : i + 1 == n ? FINE
                                 : slice_at(p, p->began[i + 1].start_ns);
        struct pp_report_part *part = to > from ? pp_arena_push(arena, (void **)&r->parts, &r->n_parts,
                                                                sizeof(*part))
                                                : NULL;
        if (part)
            *part = (struct pp_report_part){.from = from,
                                            .to = to,
                                            .epoch = by_epoch ? (double)p->began[i].epoch : NAN};
    }
}

static void put_loaders(const struct pp_series_pass *p, struct pp_arena *arena, struct pp_report *r)
{
    for (size_t k = 0; k < p->n_loaders; k++) {
        struct pp_report_loader_queue *to = pp_arena_push(arena, (void **)&r->loader_queues,
                                                          &r->n_loader_queues, sizeof(*to));
        double *fine = pp_arena_alloc(arena, FINE * sizeof(*fine)),
               *ready = pp_arena_alloc(arena, PP_SERIES_SLICES * sizeof(*ready)), all = 0;
        if (!to || !fine || !ready)
            return;
        put_depth(&p->of_loader[k], fine, sizeof(*fine));
        for (size_t i = 0; i < FINE; i++) {
            ready[i / PP_SERIES_ZOOM] += fine[i] / PP_SERIES_ZOOM;
            all += fine[i] / FINE;
        }
        *to = (struct pp_report_loader_queue){
            .row = pp_arena_printf(arena, "%lld.%u", p->loader[k].pid, p->loader[k].loader),
            .mean_ready = rounded(all),
            .ready = ready,
        };
    }
}

static int named_before(const struct pp_thread_row *a, const struct pp_thread_row *b)
{
    int order = strverscmp(a->name ? a->name : "", b->name ? b->name : "");
    return order ? order < 0 : a < b;
}

static void put_heat(const struct pp_series_pass *p, struct pp_arena *arena, struct pp_report *r)
{
    for (size_t row = 0; row < p->rows; row++) {
        struct pp_report_heat *h = pp_arena_push(arena, (void **)&r->heat, &r->n_heat, sizeof(*h));
        double *busy = pp_arena_alloc(arena, PP_SERIES_SLICES * sizeof(*busy)),
               *fine = pp_arena_alloc(arena, FINE * sizeof(*fine)), sum = 0;
        if (!h || !busy || !fine)
            return;
        for (size_t i = 0; i < FINE; i++) {
            fine[i] = fmin(p->busy[row * FINE + i] / (p->slice_ns * (double)p->row_workers[row]), 1);
            busy[i / PP_SERIES_ZOOM] += fine[i] / PP_SERIES_ZOOM;
            sum += fine[i] / FINE;
        }
        for (size_t i = 0; i < PP_SERIES_SLICES; i++)
            busy[i] = rounded(busy[i]);
        const struct pp_thread_row *first = NULL, *last = NULL;
        for (size_t k = 0; k < p->n_threads; k++)
            if (p->row_of[k] == (int)row) {
                first = !first || named_before(&p->threads[k], first) ? &p->threads[k] : first;
                last = !last || named_before(last, &p->threads[k]) ? &p->threads[k] : last;
            }
        const char *from = first && first->name ? first->name : "",
                   *to = last && last->name ? last->name : "";
        *h = (struct pp_report_heat){.name = (first != last ? pp_arena_printf(arena, "%s .. %s", from, to)
                                                            : pp_arena_copy(arena, from)),
                                     .busy = busy,
                                     .fine = fine,
                                     .busy_share = rounded(sum)};
    }
}

struct pp_series_pass *pp_series_begin(const struct pp_source *source, const struct pp_timeline *timeline,
                                       const struct pp_tally *tally)
{
    struct pp_series_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->timeline = timeline;
    p->tally = tally;
    p->n_threads = source->threads(source->ctx, &p->threads);
    /* Neighbours share a row when there are more workers than rows. */
    for (size_t k = 0; k < p->n_threads; k++)
        p->n_workers += p->threads[k].lane == PP_LANE_WORKER;
    size_t each = (p->n_workers + PP_SERIES_HEAT_ROWS - 1) / PP_SERIES_HEAT_ROWS;
    p->rows = each ? (p->n_workers + each - 1) / each : 0;
    p->row_of = calloc(p->n_threads + 1, sizeof(*p->row_of));
    p->row_workers = calloc(p->rows + 1, sizeof(*p->row_workers));
    p->busy = calloc((p->rows + 1) * FINE, sizeof(*p->busy));
    p->no_memory = !p->row_of || !p->row_workers || !p->busy;
    for (size_t k = 0; k < p->n_threads && !p->no_memory; k++) {
        size_t rank = 0; /* by name: threads are numbered as they happened to start */
        for (size_t i = 0; p->threads[k].lane == PP_LANE_WORKER && i < p->n_threads; i++)
            rank += p->threads[i].lane == PP_LANE_WORKER && named_before(&p->threads[i], &p->threads[k]);
        p->row_of[k] = p->threads[k].lane == PP_LANE_WORKER ? (int)(rank / each) : -1;
        if (p->row_of[k] >= 0)
            p->row_workers[p->row_of[k]]++;
    }
    if (timeline->other.n)
        p->of_loader = calloc(PP_SERIES_LOADERS, sizeof(*p->of_loader));
    for (size_t i = 0; i < PP_SERIES_SLICES; i++)
        p->begun[i] = (struct pp_series_begun){UINT64_MAX, UINT32_MAX, 0};
    double started = pp_source_number(source, "run", "started_mono_ns", NAN);
    p->origin_ns = started > 0 && started < (double)timeline->first_ns ? (uint64_t)started
                                                                       : timeline->first_ns;
    if (timeline->spans > 0 && timeline->last_ns > timeline->first_ns)
        p->slice_ns = (double)(timeline->last_ns - p->origin_ns) / FINE;
    return p;
}

pp_status pp_series_end(struct pp_series_pass *p, const struct pp_source *source, struct pp_arena *arena,
                        struct pp_report *r, struct pp_series_targets *targets, struct pp_err *err)
{
    pp_status status = PP_OK;
    targets->n = 0;
    if (p && p->slice_ns == 0)
        goto out;
    if (p)
        match_ends(p);
    r->fine = pp_arena_alloc(arena, FINE * sizeof(*r->fine));
    r->slices = pp_arena_alloc(arena, PP_SERIES_SLICES * sizeof(*r->slices));
    r->coarse = pp_arena_alloc(arena, PP_SERIES_COARSE * sizeof(*r->coarse));
    if (!p || p->no_memory || !r->fine || !r->slices || !r->coarse) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the pictures of %s", source->path);
        goto out;
    }
    status = source->each_error(source->ctx, add_errors, p, err);
    if (status != PP_OK)
        goto out;
    r->n_fine = FINE;
    r->n_slices = PP_SERIES_SLICES;
    r->n_coarse = PP_SERIES_COARSE;
    put_fine(p, r);
    put_means(r->fine, PP_SERIES_ZOOM, r->slices, PP_SERIES_SLICES);
    put_means(r->slices, PP_SERIES_SLICES / PP_SERIES_COARSE, r->coarse, PP_SERIES_COARSE);
    /* Buffer debt, from one slice to the next: less than two batches is the grain of the mean depth. */
    for (size_t i = 1; i < r->n_slices; i++) {
        double s = r->slices[i].end_s - r->slices[i].start_s,
               lost = s > 0 ? r->slices[i - 1].ready_batches - r->slices[i].ready_batches : NAN;
        r->slices[i].buffer_lasts_s = lost >= 2 ? rounded(r->slices[i].ready_batches / (lost / s)) : NAN;
    }
    put_parts(p, arena, r);
    put_loaders(p, arena, r);
    r->window_start_s = rounded((double)(p->timeline->start_ns - p->origin_ns) / 1e9);
    r->window_end_s = rounded((double)(p->timeline->end_ns - p->origin_ns) / 1e9);
    put_heat(p, arena, r);
    const struct pp_tally_phase *wait = p->tally->phase[PP_LANE_TRAINER][PP_PHASE_DATA_WAIT];
    for (int i = 0; wait && wait->hist.count && i <= PP_SERIES_CDF; i++) {
        struct pp_report_point *to = pp_arena_push(arena, (void **)&r->wait_cdf, &r->n_wait_cdf, sizeof(*to));
        double q = (double)i / PP_SERIES_CDF;
        if (to)
            *to = (struct pp_report_point){(double)pp_hist_quantile(&wait->hist, q), q};
    }
    targets->origin_ns = p->origin_ns;
    memcpy(targets->begun, p->begun, sizeof(p->begun));
out:
    if (p) {
        free(p->row_of);
        free(p->row_workers);
        free(p->busy);
        free(p->of_loader);
        free(p->end);
        free(p);
    }
    return status;
}

/* ---- the what-if curve ---- */

void pp_series_curve(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r)
{
    static const int steps[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    enum { MOST_POINTS = 8, STEPS = sizeof(steps) / sizeof(*steps) };
    /* As far as the fixes look (knobs.c): four times the workers there were; and twice the CPUs. */
    int last = 0, most = (int)fmin(fmax(fmax(4.0 * costs->workers, 2 * costs->cpus), 4), 256);
    while (last + 1 < STEPS && steps[last] < most)
        last++;
    int first = last + 1 > MOST_POINTS ? last + 1 - MOST_POINTS : 0;
    struct pp_report_curve *curve = pp_arena_push(arena, (void **)&r->curves, &r->n_curves, sizeof(*curve));
    if (!curve)
        return;
    *curve = (struct pp_report_curve){.knob = "workers", .now = costs->workers};
    for (int i = first; i <= last; i++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_prediction p;
        k.workers = steps[i];
        if (pp_whatif(costs, &k, &p, NULL) != PP_OK)
            continue; /* a value that cannot be replayed is not on the curve */
        struct pp_report_curve_point *to = pp_arena_push(arena, (void **)&curve->points, &curve->n_points,
                                                         sizeof(*to));
        if (to)
            *to = (struct pp_report_curve_point){steps[i], p.samples_per_s, p.low, p.high};
    }
}
