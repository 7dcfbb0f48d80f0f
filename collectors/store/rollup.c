#include "collectors/store/store.h"

#include "collectors/store/db.h"
#include "collectors/store/hist_blob.h"
#include "probe/base/heap.h"
#include "probe/base/rng.h"

#define SECOND_NS 1000000000u
#define PHASES 256
#define BITMAP_WORDS ((PP_HIST_BUCKETS + 63) / 64)
#define HIST_BYTES_MAX (PP_HIST_BUCKETS * 12)
#define BATCH_SLOTS 8192u             /* a power of two, */
#define BATCH_PAIRS (BATCH_SLOTS / 2) /* at most half full */
#define NO_PAIR UINT16_MAX
#define ROWS_AT_ONCE 32 /* a statement's set-up costs as much as some rows of it */

struct sums {
    uint64_t n, samples, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, first_start_ns,
        last_end_ns;
};

/* One phase of the thread and second that are being gathered. A run is what came of one batch without another
 * in between: it is summed up once, and added to its batch and to the second when it ends. */
struct phase_part {
    struct sums run, sums;
    uint32_t *bucket;
    uint64_t *touched; /* a bit per bucket that is not zero, so that clearing costs what was used */
};

struct batch_part {
    uint64_t key;
    struct sums sums;
};

struct pp_rollup {
    sqlite3 *db;
    sqlite3_stmt *second, *batch, *many_batches; /* many: ROWS_AT_ONCE */
    uint64_t second_start_ns;                    /* of the phase parts, */
    uint32_t thread;                             /* as this is, */
    uint64_t last_end_ns;                        /* and this of all spans in them */
    struct phase_part *phase[PHASES];            /* NULL: none of it was seen */
    struct phase_part *running[PHASES];          /* the same of those with a run, which is of */
    uint64_t run_batch;
    uint8_t runs[PHASES];       /* which they are, */
    unsigned n_runs;            /* as many */
    struct batch_part *batches; /* [BATCH_PAIRS], of which n_batches are in use, in order of appearance */
    uint16_t *at;               /* [BATCH_SLOTS], hash of a key to its place in batches */
    uint16_t n_batches;
    int gave_up;
    uint8_t *blob;
};

/* ---- the rows ---- */

/* Files of version 1 have one row per batch and phase. */
static int prepare_batch(sqlite3 *db, int rows, sqlite3_stmt **out)
{
    static const char row[] = "(?,?,?,?,?,?,?,?,?,?,?)";
    char sql[1024 + ROWS_AT_ONCE * sizeof(row)] = "INSERT INTO rollup_batch VALUES";
    for (int i = 0; i < rows; i++)
        strcat(strcat(sql, i ? "," : ""), row);
    /* 0: it could not be read, and this fails where it is not so */
    if ((uint64_t)pp_db_number(db, "PRAGMA user_version", 0) < 2)
        strcat(
            sql,
            " ON CONFLICT(batch, phase) DO UPDATE SET n = n + excluded.n,"
            " samples = samples + excluded.samples, total_ns = total_ns + excluded.total_ns, max_ns = max(max_ns, excluded.max_ns),"
            " cpu_ns = cpu_ns + excluded.cpu_ns, run_delay_ns = run_delay_ns + excluded.run_delay_ns, bytes = bytes + excluded.bytes,"
            " first_start_ns = min(first_start_ns, excluded.first_start_ns), last_end_ns = max(last_end_ns, excluded.last_end_ns)");
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

static int run_statement(sqlite3_stmt *st)
{
    int code = sqlite3_step(st);
    int reset = sqlite3_reset(st);
    return code == SQLITE_DONE ? reset : code;
}

static void bind_all(sqlite3_stmt *st, int first, const uint64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(st, first + i, (sqlite3_int64)v[i]);
}

/* The histogram in bucket order; it is empty afterwards. */
static size_t encode_hist(struct phase_part *p, uint8_t *blob)
{
    uint8_t *out = blob;
    uint32_t last = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++) {
        for (uint64_t left = p->touched[word]; left; left &= left - 1) {
            uint32_t b = word * 64 + (uint32_t)__builtin_ctzll(left);
            out = pp_varint_put(out, b - last);
            out = pp_varint_put(out, p->bucket[b]);
            last = b;
            p->bucket[b] = 0;
        }
        p->touched[word] = 0;
    }
    return (size_t)(out - blob);
}

/* ---- making it ---- */

struct pp_rollup *pp_rollup_new(sqlite3 *db)
{
    struct pp_rollup *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->db = db;
    r->batches = malloc(BATCH_PAIRS * sizeof(*r->batches));
    r->at = malloc(BATCH_SLOTS * sizeof(*r->at));
    r->blob = malloc(HIST_BYTES_MAX);
    if (r->batches && r->at && r->blob &&
        sqlite3_prepare_v3(db, "INSERT INTO rollup_second VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", -1,
                           SQLITE_PREPARE_PERSISTENT, &r->second, NULL) == SQLITE_OK &&
        prepare_batch(db, 1, &r->batch) == SQLITE_OK &&
        prepare_batch(db, ROWS_AT_ONCE, &r->many_batches) == SQLITE_OK) {
        memset(r->at, 0xff, BATCH_SLOTS * sizeof(*r->at)); /* NO_PAIR */
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

void pp_rollup_free(struct pp_rollup *r)
{
    if (!r)
        return;
    sqlite3_finalize(r->second);
    sqlite3_finalize(r->batch);
    sqlite3_finalize(r->many_batches);
    for (size_t i = 0; i < PHASES; i++)
        free_phase(r->phase[i]);
    free(r->batches);
    free(r->at);
    free(r->blob);
    free(r);
}

/* ---- adding up ---- */

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

static int end_runs(struct pp_rollup *r)
{
    int code = SQLITE_OK;
    while (r->n_runs && code == SQLITE_OK) {
        unsigned phase = r->runs[--r->n_runs];
        struct phase_part *p = r->phase[phase];
        add_sums(&p->sums, &p->run);
        if (r->run_batch != PP_NO_BATCH && !r->gave_up) {
            uint64_t key = r->run_batch << 8 | phase;
            uint32_t i = (uint32_t)pp_mix64(key) & (BATCH_SLOTS - 1);
            while (r->at[i] != NO_PAIR && r->batches[r->at[i]].key != key)
                i = (i + 1) & (BATCH_SLOTS - 1);
            if (r->at[i] == NO_PAIR && r->n_batches < BATCH_PAIRS) {
                r->batches[r->n_batches] = (struct batch_part){.key = key};
                r->at[i] = r->n_batches++;
            }
            if (r->at[i] != NO_PAIR) {
                add_sums(&r->batches[r->at[i]].sums, &p->run);
            } else { /* worth it for steps, not for a stress test of the recorder */
                r->gave_up = 1;
                code = sqlite3_exec(r->db, "DELETE FROM rollup_batch", NULL, NULL, NULL);
            }
        }
        memset(&p->run, 0, sizeof(p->run));
        r->running[phase] = NULL;
    }
    return code;
}

static int flush_second(struct pp_rollup *r)
{
    int code = end_runs(r);
    for (unsigned phase = 0; phase < PHASES && code == SQLITE_OK; phase++)
        if (r->phase[phase] && r->phase[phase]->sums.n) {
            /* The sums and the histogram of one phase, in the second and thread that are being gathered; both
             * are empty afterwards. */
            struct phase_part *p = r->phase[phase];
            const struct sums *s = &p->sums;
            const uint64_t column[] = {r->second_start_ns / SECOND_NS,
                                       r->thread,
                                       phase,
                                       s->n,
                                       s->total_ns,
                                       s->max_ns,
                                       s->cpu_ns,
                                       s->run_delay_ns,
                                       s->bytes,
                                       s->cache_hit_kib};
            bind_all(r->second, 1, column, 10);
            sqlite3_bind_blob(r->second, 11, r->blob, (int)encode_hist(p, r->blob), SQLITE_STATIC);
            sqlite3_bind_int64(r->second, 12, (sqlite3_int64)s->samples);
            memset(&p->sums, 0, sizeof(p->sums));
            code = run_statement(r->second);
        }
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

/* The span belongs to no run: it is of another second or batch than the last one, or the first of its phase.
 * Seldom so, and kept out of the loop for that. */
static __attribute__((noinline)) int change_run(struct pp_rollup *r, const struct pp_span *s, uint64_t end)
{
    struct phase_part **p = &r->phase[s->phase];
    int code = in_second(r, end) ? SQLITE_OK : begin_part(r, r->thread, end);
    if (code == SQLITE_OK && s->batch != r->run_batch) {
        code = end_runs(r);
        r->run_batch = s->batch;
    }
    if (code != SQLITE_OK || r->running[s->phase])
        return code;
    if (!*p) {
        struct phase_part *made = calloc(1, sizeof(*made));
        if (made) {
            made->touched = calloc(BITMAP_WORDS, sizeof(*made->touched));
            made->bucket = pp_heap_zeroed(PP_HIST_BUCKETS, sizeof(*made->bucket));
        }
        if (!made || !made->touched || !made->bucket) {
            free_phase(made);
            return SQLITE_NOMEM;
        }
        *p = made;
    }
    (*p)->run.first_start_ns = s->start_ns;
    r->running[s->phase] = *p;
    r->runs[r->n_runs++] = s->phase;
    return SQLITE_OK;
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
        size_t b = pp_hist_blob_bucket(s->dur_ns);
        uint32_t before = p->bucket[b];
        p->bucket[b] = before + 1;
        if (!before)
            p->touched[b / 64] |= 1ull << b % 64;
    }
    return code;
}

int pp_rollup_add(struct pp_rollup *r, uint32_t thread, const struct pp_span *spans, size_t n,
                  const struct pp_chunk_shape *shape)
{
    uint64_t last_end_ns = spans[n - 1].start_ns + spans[n - 1].dur_ns;
    struct pp_span differs;
    memcpy(&differs, shape->differs, sizeof(differs));
    int code = thread == r->thread ? SQLITE_OK : begin_part(r, thread, r->second_start_ns);
    if (code != SQLITE_OK)
        return code;

    /* What the shape of the block knows of the spans. Lean: none has bytes, resources, cache figures or
     * flags. */
    int lean = !(differs.bytes | differs.cpu_ns | differs.run_delay_ns | differs.cache_hit_kib |
                 differs.flags) &&
               !(spans[0].bytes | spans[0].cpu_ns | spans[0].run_delay_ns | spans[0].cache_hit_kib |
                 spans[0].flags);
    if (!lean)
        return add_spans(r, spans, n, NOTHING);
    if (shape->gaps || differs.sample || spans[0].sample != PP_NO_SAMPLE ||
        spans[0].start_ns < r->last_end_ns || !in_second(r, spans[0].start_ns) || !in_second(r, last_end_ns))
        return add_spans(r, spans, n, LEAN);

    r->last_end_ns = last_end_ns;
    for (size_t from = 0, same; from < n && code == SQLITE_OK; from += same) {
        same = differs.batch ? 1 : n; /* of one batch */
        while (from + same < n && spans[from + same].batch == spans[from].batch)
            same++;
        if (spans[from].batch != r->run_batch) {
            code = end_runs(r);
            r->run_batch = spans[from].batch;
        }
        if (code == SQLITE_OK)
            code = add_spans(r, spans + from, same, LATER);
    }
    return code;
}

int pp_rollup_commit(struct pp_rollup *r)
{
    int code = flush_second(r);
    for (size_t i = 0, rows; i < r->n_batches && code == SQLITE_OK && !r->gave_up; i += rows) {
        rows = r->n_batches - i < ROWS_AT_ONCE ? 1 : ROWS_AT_ONCE;
        sqlite3_stmt *st = rows == 1 ? r->batch : r->many_batches;
        for (size_t k = 0; k < rows; k++) {
            const struct batch_part *b = &r->batches[i + k];
            const struct sums *s = &b->sums;
            const uint64_t column[] = {b->key >> 8, b->key & 0xff,     s->n,          s->samples,
                                       s->total_ns, s->max_ns,         s->cpu_ns,     s->run_delay_ns,
                                       s->bytes,    s->first_start_ns, s->last_end_ns};
            enum { COLUMNS = sizeof(column) / sizeof(column[0]) };
            bind_all(st, 1 + (int)k * COLUMNS, column, COLUMNS);
        }
        code = run_statement(st);
    }
    if (r->n_batches)
        memset(r->at, 0xff, BATCH_SLOTS * sizeof(*r->at)); /* NO_PAIR */
    r->n_batches = 0;
    return code;
}

int pp_rollup_gave_up_batches(const struct pp_rollup *r)
{
    return r->gave_up;
}
