#include "collectors/store/rollup.h"

#include "probe/base/heap.h"
#include "probe/base/hist.h"
#include "probe/base/rng.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000u
#define PHASES 256
#define BATCH_SLOTS 8192u               /* a power of two, */
#define BATCH_PAIRS (BATCH_SLOTS / 2)   /* at most half full */
#define NO_PAIR UINT16_MAX
#define HIST_BYTES_MAX (PP_HIST_BUCKETS * 12)

struct sums {
    uint64_t n, samples, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, first_start_ns, last_end_ns;
};

/* One phase within one second of one chunk. touched lists the buckets that are not zero, so that clearing costs what was used. */
struct phase_part {
    struct sums sums;
    uint32_t *bucket;
    uint16_t *touched;
    size_t n_touched;
};

struct batch_part {
    uint64_t key;
    struct sums sums;
};

struct pp_rollup {
    sqlite3 *db;
    sqlite3_stmt *second, *batch;
    struct phase_part phase[PHASES];
    struct batch_part *batches;        /* [BATCH_PAIRS], of which n_batches are in use, in order of appearance */
    uint16_t *at;                      /* [BATCH_SLOTS], hash of a key to its place in batches */
    struct batch_part *latest[PHASES]; /* of batches, by phase, NULL: none; neighbours mostly share it */
    uint16_t n_batches;
    int gave_up;
    uint8_t *blob;
};

uint32_t pp_rollup_bucket(uint64_t v)
{
    if (v < (1u << PP_HIST_SUB_BITS))
        return (uint32_t)v;
    unsigned octave = 63u - (unsigned)__builtin_clzll(v) - PP_HIST_SUB_BITS;
    return ((octave + 1) << PP_HIST_SUB_BITS) + (uint32_t)((v >> octave) - (1u << PP_HIST_SUB_BITS));
}

void pp_rollup_bucket_range(uint32_t bucket, uint64_t *low, uint64_t *high)
{
    unsigned group = bucket >> PP_HIST_SUB_BITS, octave = group ? group - 1 : 0;
    uint64_t base = group ? (1u << PP_HIST_SUB_BITS) : 0;
    *low = (base + (bucket & ((1u << PP_HIST_SUB_BITS) - 1))) << octave;
    *high = *low + ((1ull << octave) - 1);
}

static void forget_batches(struct pp_rollup *r)
{
    memset(r->at, 0xff, BATCH_SLOTS * sizeof(*r->at)); /* NO_PAIR */
    memset(r->latest, 0, sizeof(r->latest));
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
    int code = sqlite3_prepare_v3(db, "INSERT INTO rollup_second VALUES(?,?,?,?,?,?,?,?,?,?,?)", -1, SQLITE_PREPARE_PERSISTENT, &r->second, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(db,
            "INSERT INTO rollup_batch VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(batch, phase) DO UPDATE SET n = n + excluded.n,"
            " samples = samples + excluded.samples, total_ns = total_ns + excluded.total_ns, max_ns = max(max_ns, excluded.max_ns),"
            " cpu_ns = cpu_ns + excluded.cpu_ns, run_delay_ns = run_delay_ns + excluded.run_delay_ns, bytes = bytes + excluded.bytes,"
            " first_start_ns = min(first_start_ns, excluded.first_start_ns), last_end_ns = max(last_end_ns, excluded.last_end_ns)",
            -1, SQLITE_PREPARE_PERSISTENT, &r->batch, NULL);
    if (code == SQLITE_OK && r->batches && r->at && r->blob) {
        forget_batches(r);
        return r;
    }
    pp_rollup_free(r);
    return NULL;
}

void pp_rollup_free(struct pp_rollup *r)
{
    if (!r)
        return;
    sqlite3_finalize(r->second);
    sqlite3_finalize(r->batch);
    for (size_t i = 0; i < PHASES; i++) {
        free(r->phase[i].bucket);
        free(r->phase[i].touched);
    }
    free(r->batches);
    free(r->at);
    free(r->blob);
    free(r);
}

/* A lean span costs what it carries. */
static inline void add(struct sums *s, const struct pp_span *span)
{
    s->n++;
    s->total_ns += span->dur_ns;
    s->max_ns = span->dur_ns > s->max_ns ? span->dur_ns : s->max_ns;
    if (span->bytes | span->cpu_ns | span->run_delay_ns) {
        s->bytes += span->bytes;
        s->cpu_ns += span->cpu_ns;
        s->run_delay_ns += span->run_delay_ns;
    }
    if (span->flags & PP_SPAN_HAS_CACHE)
        s->cache_hit_kib += span->cache_hit_kib;
}

static inline int add_to_phase(struct phase_part *p, const struct pp_span *span)
{
    if (!p->bucket) {
        p->bucket = pp_heap_zeroed(PP_HIST_BUCKETS, sizeof(*p->bucket));
        p->touched = malloc(PP_HIST_BUCKETS * sizeof(*p->touched));
        if (!p->bucket || !p->touched)
            return SQLITE_NOMEM;
    }
    uint32_t b = pp_rollup_bucket(span->dur_ns);
    if (p->bucket[b]++ == 0)
        p->touched[p->n_touched++] = (uint16_t)b;
    add(&p->sums, span);
    return SQLITE_OK;
}

static int by_bucket(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static uint8_t *put_varint(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static size_t encode_hist(struct phase_part *p, uint8_t *blob)
{
    uint8_t *out = blob;
    uint32_t last = 0;
    qsort(p->touched, p->n_touched, sizeof(*p->touched), by_bucket);
    for (size_t i = 0; i < p->n_touched; i++) {
        uint32_t b = p->touched[i];
        out = put_varint(out, b - last);
        out = put_varint(out, p->bucket[b]);
        last = b;
        p->bucket[b] = 0;
    }
    p->n_touched = 0;
    return (size_t)(out - blob);
}

static int run(sqlite3_stmt *st)
{
    int code = sqlite3_step(st);
    int reset = sqlite3_reset(st);
    return code == SQLITE_DONE ? reset : code;
}

static void bind_all(sqlite3_stmt *st, const uint64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(st, i + 1, (sqlite3_int64)v[i]);
}

static int flush_second(struct pp_rollup *r, uint64_t second, uint32_t thread)
{
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct phase_part *p = &r->phase[phase];
        if (!p->sums.n)
            continue;
        const struct sums *s = &p->sums;
        bind_all(r->second, (const uint64_t[]){second, thread, phase, s->n, s->total_ns, s->max_ns, s->cpu_ns, s->run_delay_ns, s->bytes, s->cache_hit_kib}, 10);
        sqlite3_bind_blob(r->second, 11, r->blob, (int)encode_hist(p, r->blob), SQLITE_STATIC);
        memset(&p->sums, 0, sizeof(p->sums));
        int code = run(r->second);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* Per-batch sums are worth it for steps, not for a stress test of the recorder. */
static int give_up_batches(struct pp_rollup *r)
{
    r->gave_up = 1;
    return sqlite3_exec(r->db, "DELETE FROM rollup_batch", NULL, NULL, NULL);
}

static int find_batch(struct pp_rollup *r, uint64_t key, uint8_t phase)
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
    r->latest[phase] = &r->batches[r->at[i]];
    return SQLITE_OK;
}

static inline int add_to_batch(struct pp_rollup *r, const struct pp_span *span)
{
    uint64_t key = (uint64_t)span->batch << 9 | (uint64_t)span->phase << 1 | 1, end = span->start_ns + span->dur_ns;
    int code = SQLITE_OK;
    if (!r->latest[span->phase] || r->latest[span->phase]->key != key)
        code = find_batch(r, key, span->phase);
    if (code != SQLITE_OK || r->gave_up)
        return code;
    struct sums *s = &r->latest[span->phase]->sums;
    if (!s->n || span->start_ns < s->first_start_ns)
        s->first_start_ns = span->start_ns;
    s->last_end_ns = end > s->last_end_ns ? end : s->last_end_ns;
    if (span->sample != PP_NO_SAMPLE)
        s->samples += span->flags & PP_SPAN_COUNT ? span->sample : 1;
    add(s, span);
    return code;
}

int pp_rollup_chunk(struct pp_rollup *r, uint32_t thread, const struct pp_span *spans, size_t n)
{
    uint64_t second = 0;
    int code = SQLITE_OK;
    for (size_t i = 0; i < n && code == SQLITE_OK; i++) {
        const struct pp_span *s = &spans[i];
        uint64_t end = s->start_ns + s->dur_ns;
        if (s->phase == PP_PHASE_COUNTER)
            continue;
        if (end - second * SECOND_NS >= SECOND_NS) { /* also when it wraps, for an earlier one */
            code = flush_second(r, second, thread);
            second = end / SECOND_NS;
        }
        if (code == SQLITE_OK)
            code = add_to_phase(&r->phase[s->phase], s);
        if (code == SQLITE_OK && s->batch != PP_NO_BATCH && !r->gave_up)
            code = add_to_batch(r, s);
    }
    return code == SQLITE_OK ? flush_second(r, second, thread) : code;
}

int pp_rollup_commit(struct pp_rollup *r)
{
    int code = SQLITE_OK;
    if (!r->n_batches)
        return code;
    for (size_t i = 0; i < r->n_batches && code == SQLITE_OK && !r->gave_up; i++) {
        const struct batch_part *b = &r->batches[i];
        const struct sums *s = &b->sums;
        bind_all(r->batch, (const uint64_t[]){b->key >> 9, b->key >> 1 & 0xff, s->n, s->samples, s->total_ns, s->max_ns, s->cpu_ns, s->run_delay_ns, s->bytes, s->first_start_ns, s->last_end_ns}, 11);
        code = run(r->batch);
    }
    forget_batches(r);
    return code;
}

int pp_rollup_gave_up_batches(const struct pp_rollup *r)
{
    return r->gave_up;
}
