/* The spans around one second: what each thread was last seen with, how full the queues were, and the batch
 * that was waited for longest. */
#include "report/live/live_impl.h"

#include "probe/base/err.h"

#define SPANS_MOST 2000000u /* a recorder under stress: a second of it says as much as all of it */
#define BARS_MOST 8192u
/* A batch was begun at most this long before it was waited for */
#define BATCH_REACH_NS (5 * LIVE_SECOND_NS)

struct near_walk {
    struct pp_live *l;
    uint64_t from_ns, to_ns; /* the second */
    uint64_t spans;
};

void live_near_forget(struct pp_live *l)
{
    l->near_s = UINT64_MAX;
    l->last_holds = 0;
    free(l->seen);
    l->seen = NULL;
    l->n_queues = l->n_bars = 0;
    l->batch = PP_NO_BATCH;
    l->batch_wait_ns = l->batch_from_ns = l->batch_to_ns = 0;
}

static int see_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct near_walk *w = ctx;
    struct pp_live *l = w->l;
    long row = live_thread_row(l, thread);
    for (size_t i = 0; row >= 0 && i < n; i++) {
        const struct pp_span *s = &spans[i];
        struct live_seen *seen = &l->seen[row];
        uint64_t end_ns = s->start_ns + s->dur_ns;
        int inside = end_ns >= w->from_ns && end_ns < w->to_ns;
        if (s->phase == PP_PHASE_COUNTER && inside) {
            size_t k = 0;
            while (k < l->n_queues && l->queue_name[k] != s->name)
                k++;
            int has_room = k < sizeof(l->queue_name) / sizeof(*l->queue_name);
            if (has_room && k == l->n_queues) {
                l->n_queues++;
                l->queue_name[k] = s->name;
                l->queue_sum[k] = l->queue_n[k] = 0;
            }
            if (has_room) {
                l->queue_sum[k] += (double)s->bytes;
                l->queue_n[k]++;
            }
        } else if (s->phase != PP_PHASE_COUNTER && end_ns < w->to_ns && end_ns >= seen->end_ns) {
            seen->end_ns = end_ns;
            if (s->sample != PP_NO_SAMPLE && !(s->flags & PP_SPAN_COUNT)) {
                seen->sample_start_ns = seen->sample == s->sample ? seen->sample_start_ns : s->start_ns;
                seen->sample = s->sample;
            }
        }
        if (inside && s->phase == PP_PHASE_DATA_WAIT && s->batch != PP_NO_BATCH &&
            s->dur_ns >= l->batch_wait_ns) {
            l->batch = s->batch;
            l->batch_wait_ns = s->dur_ns;
            l->batch_to_ns = end_ns;
        }
    }
    w->spans += n;
    return w->spans > SPANS_MOST;
}

/* The newest look at each thread up to the end of the second; rows come in order of time. */
static void note_open(void *ctx, const struct pp_open_phase_row *row)
{
    struct pp_live *l = ctx;
    long thread = live_thread_row(l, row->thread);
    if (thread < 0 || row->phase >= PP_PHASE_COUNT)
        return;
    struct live_seen *seen = &l->seen[thread];
    seen->open_ns = row->t_ns;
    seen->open_since_ns = row->since_ns;
    seen->open_sample = row->sample;
    seen->open_phase = (pp_phase)row->phase;
    snprintf(seen->path, sizeof(seen->path), "%s", row->path ? row->path : "");
}

static int take_bars(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct near_walk *w = ctx;
    struct pp_live *l = w->l;
    long row = live_thread_row(l, thread);
    for (size_t i = 0; i < n && l->n_bars < BARS_MOST; i++) {
        const struct pp_span *s = &spans[i];
        if (s->batch != l->batch || (s->phase >= PP_PHASE_COUNTER && s->phase != PP_PHASE_COLLECTIVE) ||
            !live_room(l, &l->bars, l->n_bars, &l->cap_bars, sizeof(*l->bars)))
            continue;
        l->bars[l->n_bars++] = (struct pp_live_bar){.thread = row >= 0 ? l->threads[row].id : thread,
                                                    .phase = (pp_phase)s->phase,
                                                    .start_ns = s->start_ns,
                                                    .dur_ns = s->dur_ns};
        if (s->start_ns < l->batch_from_ns)
            l->batch_from_ns = s->start_ns;
        if (s->start_ns + s->dur_ns > l->batch_to_ns)
            l->batch_to_ns = s->start_ns + s->dur_ns;
    }
    w->spans += n;
    return w->spans > SPANS_MOST;
}

pp_status live_near(struct pp_live *l, uint64_t s, struct pp_err *err)
{
    struct pp_reader *r = NULL;
    if (l->near_s == s || l->deleted)
        return PP_OK;
    live_near_forget(l);
    l->seen = calloc(l->n_threads + 1, sizeof(*l->seen));
    if (!l->seen)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", l->path);
    for (size_t i = 0; i < l->n_threads; i++)
        l->seen[i].sample = PP_NO_SAMPLE;
    pp_status status = PP_OK;
    r = l->reader; /* opening costs more than what is read here */
    l->reader = NULL;
    if (!r)
        status = pp_reader_open(l->path, &r, err);
    if (status != PP_OK)
        return status;
    struct near_walk w = {.l = l, .from_ns = s * LIVE_SECOND_NS, .to_ns = (s + 1) * LIVE_SECOND_NS};
    status = pp_reader_each_chunk_of(r, &(struct pp_wanted){.from_ns = w.from_ns, .to_ns = w.to_ns},
                                     see_chunk, &w, NULL, err);
    if (status == PP_OK) /* commits drift: a second may have got no look of its own */
        status = pp_reader_each_open_phase(r, w.from_ns - LIVE_SECOND_NS / 2, w.to_ns - 1, note_open, l, err);
    if (status == PP_OK && l->batch != PP_NO_BATCH && !l->without_bars) {
        uint64_t reach = l->batch_wait_ns + BATCH_REACH_NS, to = l->batch_to_ns;
        l->batch_from_ns = to - l->batch_wait_ns;
        w.spans = 0;
        status = pp_reader_each_chunk_of(r,
                                         &(struct pp_wanted){.from_ns = to > reach ? to - reach : 0,
                                                             .to_ns = to},
                                         take_bars, &w, NULL, err);
    }
    static const char lead[] = "queue_", others[] = "collective_"; /* counters of other ranks are no depths */
    size_t kept = 0;
    for (size_t i = 0; i < l->n_queues; i++) {
        const char *name = pp_reader_name(r, l->queue_name[i]);
        if (name && strncmp(name, others, sizeof(others) - 1) == 0)
            continue;
        l->queue_name[kept] = l->queue_name[i];
        l->queue_sum[kept] = l->queue_sum[i];
        l->queue_n[kept] = l->queue_n[i];
        if (name && strncmp(name, lead, sizeof(lead) - 1) == 0)
            name += sizeof(lead) - 1;
        snprintf(l->queue_text[kept], sizeof(l->queue_text[kept]), "%s", name ? name : "queue");
        kept++;
    }
    l->n_queues = kept;
    pp_reader_close(r);
    l->near_s = s;
    return status;
}
