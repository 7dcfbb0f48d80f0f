#include "report/measure/tally.h"

struct pp_tally_pass {
    const struct pp_thread_row *rows; /* of its threads */
    struct pp_tally *tally;
    const struct pp_timeline *timeline;
    struct pp_timeline judged; /* its stalls are those of the loader that is judged */
    int no_memory;
};

double pp_split_cpu(const struct pp_split *s)
{
    return s->measured_ns > 0 ? fmin(s->cpu_ns / s->measured_ns, 1) : NAN;
}

double pp_split_run_delay(const struct pp_split *s)
{
    double share = s->measured_ns > 0 ? fmin(s->run_delay_ns / s->measured_ns, 1) : NAN;
    return fmin(share, 1 - pp_split_cpu(s));
}

double pp_split_blocked(const struct pp_split *s)
{
    return 1 - pp_split_cpu(s) - pp_split_run_delay(s);
}

/* The given part (0..1) of it. */
static inline void add_split(struct pp_split *to, const struct pp_split *s, double part)
{
    to->total_ns += s->total_ns * part;
    to->measured_ns += s->measured_ns * part;
    to->cpu_ns += s->cpu_ns * part;
    to->run_delay_ns += s->run_delay_ns * part;
}

static void finish_sample(struct pp_tally_thread *t)
{
    t->samples += (uint64_t)(t->in_hand && t->in_window && !t->failed);
    t->errors += (uint64_t)(t->in_hand && t->failed);
    t->in_hand = 0;
}

/* Errors and retries count over the whole run (none may go unseen), samples in the window that rates are
 * taken from. Samples are counted where a worker goes on to the next one: another id, or the same id (a tiny
 * dataset) back at an earlier phase. A retried read is still the same sample; what its last phase says is
 * what counts. */
static void count_sample(struct pp_tally_thread *t, const struct pp_span *s, int in_window)
{
    int failed = (s->flags & PP_SPAN_ERROR) != 0;
    if (s->phase == PP_PHASE_RETRY)
        t->retries++;
    /* of a stream: each sample of a batch ends with this stage, and has no number */
    if (s->sample == PP_NO_SAMPLE && s->phase == PP_PHASE_TRANSFORM && s->batch != PP_NO_BATCH &&
        t->lane == PP_LANE_WORKER && in_window && !failed)
        t->counted[PP_PHASE_TRANSFORM - PP_PHASE_READ]++;
    if (s->sample == PP_NO_SAMPLE || s->phase < PP_PHASE_READ || s->phase > PP_PHASE_TRANSFORM)
        return;
    if (s->flags & PP_SPAN_COUNT) {
        if (t->lane != PP_LANE_TRAINER && in_window)
            t->counted[s->phase - PP_PHASE_READ] += s->sample;
        return;
    }
    int again = s->phase <= t->last_phase && !(s->flags & PP_SPAN_RETRY);
    if (!t->in_hand || s->sample != t->sample || s->batch != t->batch || again)
        finish_sample(t);
    t->in_hand = 1;
    t->in_window = in_window;
    t->sample = s->sample;
    t->batch = s->batch;
    t->last_phase = s->phase;
    t->failed = failed;
}

static void add_bytes(struct pp_tally_phase *ph, struct pp_tally_thread *t, const struct pp_span *s)
{
    ph->bytes += s->bytes;
    if (s->phase != PP_PHASE_READ)
        return;
    t->bytes += s->bytes;
    if (!(s->flags & PP_SPAN_HAS_CACHE))
        return;
    /* cache_hit_kib is rounded to a KiB and may say more than there was */
    uint64_t hit = (uint64_t)s->cache_hit_kib << 10;
    ph->cached_bytes += hit < s->bytes ? hit : s->bytes;
    ph->cached_of_bytes += s->bytes;
}

/* Workers that follow each other in one lane may be of several loaders, as the training thread is. */
static void note_loader(struct pp_tally_thread *t, const struct pp_timeline *tl, const struct pp_span *s)
{
    const struct pp_batch_range *of = t->of;
    if (of && s->batch >= of->from && s->batch < of->to)
        return;
    of = pp_other_batches_find(&tl->other, s->batch);
    t->of_several |= of && t->of && (of->pid != t->of->pid || of->loader != t->of->loader);
    t->of = of ? of : t->of;
}

static void add_span(struct pp_tally_pass *p, struct pp_tally_thread *t, const struct pp_span *s)
{
    const struct pp_timeline *tl = p->timeline;
    const struct pp_phase_info *info = pp_phase_info(s->phase);
    uint64_t end = s->start_ns + s->dur_ns;
    if (!info) {
        p->tally->unknown_phase++;
        return;
    }
    int in_window = s->start_ns >= tl->start_ns && s->start_ns < tl->end_ns &&
                    !(tl->has_steady_state && (s->flags & PP_SPAN_WARMUP));
    if (s->phase != PP_PHASE_COUNTER) {
        t->first_ns = s->start_ns < t->first_ns ? s->start_ns : t->first_ns;
        t->last_ns = end > t->last_ns ? end : t->last_ns;
        count_sample(t, s, in_window);
    }
    if (tl->other.n && t->lane == PP_LANE_WORKER && s->batch != PP_NO_BATCH)
        note_loader(t, tl, s);
    if (s->phase == PP_PHASE_COUNTER || (s->flags & PP_SPAN_UNFINISHED) || end < tl->start_ns ||
        s->start_ns >= tl->end_ns)
        return;
    struct pp_tally_phase **slot = &p->tally->phase[t->lane][s->phase];
    if (!*slot && (*slot = calloc(1, sizeof(**slot))) != NULL)
        pp_hist_clear(&(*slot)->hist);
    struct pp_tally_phase *ph = *slot;
    p->no_memory |= !ph;
    if (!ph)
        return;
    uint64_t from = s->start_ns > tl->start_ns ? s->start_ns : tl->start_ns,
             to = end < tl->end_ns ? end : tl->end_ns;
    double part = from == s->start_ns && to == end ? 1 : (double)(to - from) / (double)s->dur_ns;
    /* CPU without run delay cannot be told from blocked, so only spans with both are measured. */
    const unsigned both = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    const double ns = (double)s->dur_ns;
    const struct pp_split split = (s->flags & both) == both
                                      ? (struct pp_split){ns, ns, (double)s->cpu_ns, (double)s->run_delay_ns}
                                      : (struct pp_split){.total_ns = ns};
    add_split(&ph->inside, &split, part);
    add_split(&t->inside, &split, part);
    *(info->kind == PP_KIND_WORK ? &t->busy_ns : &t->wait_ns) += (double)(to - from);
    if (in_window) {
        pp_hist_add(&ph->hist, s->dur_ns);
        add_split(&ph->whole, &split, 1);
        add_bytes(ph, t, s);
    }
    int other = tl->other.n && s->batch != PP_NO_BATCH && t->lane == PP_LANE_WORKER &&
                pp_other_batches_has(&tl->other, s->batch);
    if (in_window && !other && t->lane == PP_LANE_WORKER && s->phase >= PP_PHASE_READ &&
        (s->phase <= PP_PHASE_TRANSFORM || s->phase == PP_PHASE_COLLATE))
        p->tally->judged_work_ns += split.total_ns;
    if (p->judged.n_stalls && s->dur_ns) {
        uint64_t stalled = pp_timeline_stalled_between(&p->judged, s->start_ns, end, &t->cursor);
        if (stalled && !other)
            add_split(&ph->stalled, &split, (double)stalled / (double)s->dur_ns);
    }
}

int pp_tally_chunk(struct pp_tally_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = pp_thread_at(p->rows, p->tally->n_threads, thread);
    for (size_t i = 0; at < p->tally->n_threads && i < n; i++)
        add_span(p, &p->tally->threads[at], &spans[i]);
    return p->no_memory;
}

struct pp_tally_pass *pp_tally_begin(const struct pp_source *source, const struct pp_timeline *timeline,
                                     struct pp_tally *out)
{
    struct pp_tally_pass *p = calloc(1, sizeof(*p));
    memset(out, 0, sizeof(*out));
    const struct pp_thread_row *rows;
    size_t n = source->threads(source->ctx, &rows);
    out->threads = p ? calloc(n + 1, sizeof(*out->threads)) : NULL;
    if (!out->threads) {
        free(p);
        return NULL;
    }
    out->n_threads = n;
    int64_t trainer = 0;
    for (size_t i = 0; i < n && !trainer; i++)
        trainer = rows[i].lane == PP_LANE_TRAINER ? rows[i].pid : 0;
    for (size_t i = 0; i < n; i++) {
        pp_lane lane = (unsigned)rows[i].lane < PP_LANE_COUNT ? rows[i].lane : PP_LANE_MAIN;
        out->threads[i] = (struct pp_tally_thread){.id = rows[i].id,
                                                   .lane = lane,
                                                   .first_ns = UINT64_MAX,
                                                   .own_process = trainer > 0 && rows[i].pid > 0 &&
                                                                  rows[i].pid != trainer};
        out->lane_threads[lane]++;
    }
    p->rows = rows;
    p->tally = out;
    p->timeline = timeline;
    p->judged = pp_timeline_of_judged(timeline);
    out->stalled_workers = (double)out->lane_threads[PP_LANE_WORKER];
    if (timeline->other.n)
        out->stalled_workers = pp_source_number(source, "config", "workers", out->stalled_workers);
    return p;
}

void pp_tally_end(struct pp_tally_pass *p)
{
    for (size_t i = 0; p && i < p->tally->n_threads; i++) {
        struct pp_tally_thread *t = &p->tally->threads[i];
        const struct pp_timeline *tl = p->timeline;
        finish_sample(t);
        /* Not every stage has a span of every sample: a batch that was fetched in one call may read nothing,
         * one that was not detailed has one span in all. The stage with the most samples has them all. */
        uint64_t most = 0;
        for (size_t k = 0; k < sizeof(t->counted) / sizeof(*t->counted); k++)
            most = t->counted[k] > most ? t->counted[k] : most;
        t->samples += most;
        /* A worker process may begin and end within the window; a thread of the trainer's process that
         * records nothing is idle, or hangs. */
        uint64_t from = t->own_process && t->first_ns > tl->start_ns ? t->first_ns : tl->start_ns,
                 to = t->own_process && t->last_ns < tl->end_ns ? t->last_ns : tl->end_ns;
        t->life_ns = to > from ? (double)(to - from) : 0;
    }
    free(p);
}

void pp_tally_free(struct pp_tally *t)
{
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        for (int phase = 0; phase < PP_PHASE_COUNT; phase++)
            free(t->phase[lane][phase]);
    free(t->threads);
    memset(t, 0, sizeof(*t));
}
