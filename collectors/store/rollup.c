#include "collectors/store/hist_blob.h"
#include "collectors/store/rollup_impl.h"

#include "probe/base/heap.h"
#include "probe/base/rng.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_SLOTS 8192u             /* a power of two, */
#define BATCH_PAIRS (BATCH_SLOTS / 2) /* at most half full */
#define NO_PAIR UINT16_MAX

static void forget_batches(struct pp_rollup *r)
{
    memset(r->at, 0xff, BATCH_SLOTS * sizeof(*r->at)); /* NO_PAIR */
    r->n_batches = 0;
}

struct pp_rollup *pp_rollup_new(sqlite3 *db)
{
    struct pp_rollup *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->db = db;
    r->batches = malloc(BATCH_PAIRS * sizeof(*r->batches));
    r->at = malloc(BATCH_SLOTS * sizeof(*r->at));
    r->blob = malloc(HIST_BYTES_MAX);
    if (r->batches && r->at && r->blob && pp_rollup_prepare(r) == SQLITE_OK) {
        forget_batches(r);
        return r;
    }
    pp_rollup_free(r);
    return NULL;
}

static void free_phase(struct phase_part *p)
{
    if (!p)
        return;
    free(p->bucket);
    free(p->touched);
    free(p);
}

static struct phase_part *new_phase(void)
{
    struct phase_part *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->touched = calloc(BITMAP_WORDS, sizeof(*p->touched));
    p->bucket = pp_heap_zeroed(PP_HIST_BUCKETS, sizeof(*p->bucket));
    if (p->touched && p->bucket)
        return p;
    free_phase(p);
    return NULL;
}

void pp_rollup_free(struct pp_rollup *r)
{
    if (!r)
        return;
    pp_rollup_finalize(r);
    for (size_t i = 0; i < PHASES; i++)
        free_phase(r->phase[i]);
    free(r->batches);
    free(r->at);
    free(r->blob);
    free(r);
}

/* What is known of all spans that are added at once: more each time, and less to do. */
enum known {
    NOTHING,
    LEAN,  /* they have nothing beyond times, phase, ids and name, */
    LATER, /* and are laps without samples, of this second, and later than all before; those of one batch are
              added at a time */
};

static inline __attribute__((always_inline)) void add_span(struct sums *s, const struct pp_span *span,
                                                           uint64_t end, enum known known)
{
    s->n++;
    s->total_ns += span->dur_ns;
    s->max_ns = span->dur_ns > s->max_ns ? span->dur_ns : s->max_ns;
    if (known == LATER) {
        s->last_end_ns = end;
        return;
    }
    if (span->start_ns < s->first_start_ns)
        s->first_start_ns = span->start_ns;
    if (end > s->last_end_ns)
        s->last_end_ns = end;
    if (known == LEAN) {
        s->samples += span->sample != PP_NO_SAMPLE;
        return;
    }
    if (span->sample != PP_NO_SAMPLE)
        s->samples += span->flags & PP_SPAN_COUNT ? span->sample : 1;
    s->bytes += span->bytes;
    s->cpu_ns += span->cpu_ns;
    s->run_delay_ns += span->run_delay_ns;
    if (span->flags & PP_SPAN_HAS_CACHE)
        s->cache_hit_kib += span->cache_hit_kib;
}

static void add_sums(struct sums *to, const struct sums *s)
{
    if (!to->n || s->first_start_ns < to->first_start_ns)
        to->first_start_ns = s->first_start_ns;
    to->last_end_ns = s->last_end_ns > to->last_end_ns ? s->last_end_ns : to->last_end_ns;
    to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
    to->n += s->n;
    to->samples += s->samples;
    to->total_ns += s->total_ns;
    to->bytes += s->bytes;
    to->cpu_ns += s->cpu_ns;
    to->run_delay_ns += s->run_delay_ns;
    to->cache_hit_kib += s->cache_hit_kib;
}

static inline void count(struct phase_part *p, uint64_t dur_ns)
{
    size_t b = pp_hist_blob_bucket(dur_ns);
    uint32_t before = p->bucket[b];
    p->bucket[b] = before + 1;
    if (!before)
        p->touched[b / 64] |= 1ull << b % 64;
}

/* Per-batch sums are worth it for steps, not for a stress test of the recorder. */
static int give_up_batches(struct pp_rollup *r)
{
    r->gave_up = 1;
    return pp_rollup_delete_batches(r);
}

static int add_to_batch(struct pp_rollup *r, uint64_t key, const struct sums *s)
{
    uint32_t i = (uint32_t)pp_mix64(key) & (BATCH_SLOTS - 1);
    while (r->at[i] != NO_PAIR && r->batches[r->at[i]].key != key)
        i = (i + 1) & (BATCH_SLOTS - 1);
    if (r->at[i] == NO_PAIR) {
        if (r->n_batches == BATCH_PAIRS)
            return give_up_batches(r);
        r->batches[r->n_batches] = (struct batch_part){.key = key};
        r->at[i] = r->n_batches++;
    }
    add_sums(&r->batches[r->at[i]].sums, s);
    return SQLITE_OK;
}

static int end_run(struct pp_rollup *r, unsigned phase)
{
    struct phase_part *p = r->phase[phase];
    int code = SQLITE_OK;
    add_sums(&p->sums, &p->run);
    if (r->run_batch != PP_NO_BATCH && !r->gave_up)
        code = add_to_batch(r, r->run_batch << 8 | phase, &p->run);
    memset(&p->run, 0, sizeof(p->run));
    r->running[phase] = NULL;
    return code;
}

static int end_runs(struct pp_rollup *r)
{
    int code = SQLITE_OK;
    while (r->n_runs && code == SQLITE_OK)
        code = end_run(r, r->runs[--r->n_runs]);
    return code;
}

static int begin_run(struct pp_rollup *r, const struct pp_span *first)
{
    struct phase_part **p = &r->phase[first->phase];
    if (!*p && !(*p = new_phase()))
        return SQLITE_NOMEM;
    (*p)->run.first_start_ns = first->start_ns;
    r->running[first->phase] = *p;
    r->runs[r->n_runs++] = first->phase;
    return SQLITE_OK;
}

static int flush_second(struct pp_rollup *r)
{
    int code = end_runs(r);
    for (unsigned phase = 0; phase < PHASES && code == SQLITE_OK; phase++)
        if (r->phase[phase] && r->phase[phase]->sums.n)
            code = pp_rollup_put_phase(r, phase);
    return code;
}

static inline int in_second(const struct pp_rollup *r, uint64_t end)
{
    return end - r->second_start_ns < SECOND_NS; /* an earlier one wraps */
}

/* What follows belongs to another part than what came before. */
static int begin_part(struct pp_rollup *r, uint32_t thread, uint64_t end_ns)
{
    int code = flush_second(r);
    r->thread = thread;
    r->second_start_ns = end_ns - end_ns % SECOND_NS;
    r->last_end_ns = 0;
    return code;
}

static int begin_batch(struct pp_rollup *r, uint64_t batch)
{
    int code = end_runs(r);
    r->run_batch = batch;
    return code;
}

/* The span belongs to no run: it is of another second or batch than the last one, or the first of its phase.
 * Seldom so, and kept out of the loop for that. */
static __attribute__((noinline)) int change_run(struct pp_rollup *r, const struct pp_span *s, uint64_t end)
{
    int code = in_second(r, end) ? SQLITE_OK : begin_part(r, r->thread, end);
    if (code == SQLITE_OK && s->batch != r->run_batch)
        code = begin_batch(r, s->batch);
    return code == SQLITE_OK && !r->running[s->phase] ? begin_run(r, s) : code;
}

static inline __attribute__((always_inline)) int add_spans(struct pp_rollup *r, const struct pp_span *spans,
                                                           size_t n, enum known known)
{
    int code = SQLITE_OK;
    for (const struct pp_span *s = spans; s < spans + n && code == SQLITE_OK; s++) {
        struct phase_part *p = r->running[s->phase];
        uint64_t end = s->start_ns + s->dur_ns;
        if (!p || (known != LATER && (s->batch != r->run_batch || !in_second(r, end)))) {
            if (s->phase == PP_PHASE_COUNTER) /* never begins a run */
                continue;
            code = change_run(r, s, end);
            if (code != SQLITE_OK)
                break;
            p = r->running[s->phase];
        }
        if (known != LATER && end > r->last_end_ns)
            r->last_end_ns = end;
        add_span(&p->run, s, end, known);
        count(p, s->dur_ns);
    }
    return code;
}

static struct pp_span differs_of(const struct pp_chunk_shape *shape)
{
    struct pp_span differs;
    memcpy(&differs, shape->differs, sizeof(differs));
    return differs;
}

/* What the shape of a block knows of some of its spans. */
static enum known known_of(const struct pp_rollup *r, const struct pp_span *spans, uint64_t last_end_ns,
                           const struct pp_chunk_shape *shape)
{
    struct pp_span differs = differs_of(shape);
    if (!pp_chunk_lean(shape, spans))
        return NOTHING;
    if (shape->gaps || differs.sample || spans[0].sample != PP_NO_SAMPLE)
        return LEAN;
    return spans[0].start_ns >= r->last_end_ns && in_second(r, spans[0].start_ns) && in_second(r, last_end_ns)
               ? LATER
               : LEAN;
}

static size_t same_batch(const struct pp_span *spans, size_t n)
{
    size_t same = 1;
    while (same < n && spans[same].batch == spans[0].batch)
        same++;
    return same;
}

static int add_later(struct pp_rollup *r, const struct pp_span *spans, size_t n, int same)
{
    int code = SQLITE_OK;
    for (size_t from = 0, count; from < n && code == SQLITE_OK; from += count) {
        count = same ? n : same_batch(spans + from, n - from);
        if (spans[from].batch != r->run_batch)
            code = begin_batch(r, spans[from].batch);
        if (code == SQLITE_OK)
            code = add_spans(r, spans + from, count, LATER);
    }
    return code;
}

int pp_rollup_add(struct pp_rollup *r, uint32_t thread, const struct pp_span *spans, size_t n,
                  const struct pp_chunk_shape *shape)
{
    uint64_t last_end_ns = spans[n - 1].start_ns + spans[n - 1].dur_ns;
    int code = thread == r->thread ? SQLITE_OK : begin_part(r, thread, r->second_start_ns);
    if (code != SQLITE_OK)
        return code;
    switch (known_of(r, spans, last_end_ns, shape)) {
    case NOTHING: return add_spans(r, spans, n, NOTHING);
    case LEAN: return add_spans(r, spans, n, LEAN);
    case LATER: break;
    }
    r->last_end_ns = last_end_ns;
    return add_later(r, spans, n, !differs_of(shape).batch);
}

int pp_rollup_commit(struct pp_rollup *r)
{
    int code = flush_second(r);
    if (code == SQLITE_OK && !r->gave_up)
        code = pp_rollup_put_batches(r);
    if (r->n_batches)
        forget_batches(r);
    return code;
}

int pp_rollup_gave_up_batches(const struct pp_rollup *r)
{
    return r->gave_up;
}
