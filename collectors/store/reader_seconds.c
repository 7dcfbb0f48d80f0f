/* The roll-up by second. */
#include "collectors/store/reader_impl.h"
#include "collectors/store/rollup.h"

/* Rows second, thread, phase, sums, hist, rowid of q; *last_id follows. */
static pp_status walk_seconds(struct query *q, int64_t *last_id, pp_second_fn *fn, void *ctx,
                              struct pp_err *err)
{
    while (query_row(q)) {
        struct pp_second_row s = {
            .second = col_num(q, 0),
            .thread = (uint32_t)col_num(q, 1),
            .phase = (unsigned)col_num(q, 2),
            .n = col_num(q, 3),
            .total_ns = col_num(q, 4),
            .max_ns = col_num(q, 5),
            .cpu_ns = col_num(q, 6),
            .run_delay_ns = col_num(q, 7),
            .bytes = col_num(q, 8),
            .cache_hit_kib = col_num(q, 9),
            .hist = sqlite3_column_blob(q->st, 10),
            .hist_bytes = (size_t)sqlite3_column_bytes(q->st, 10),
        };
        *last_id = (int64_t)col_num(q, 11);
        fn(ctx, &s);
    }
    return query_end(q, err);
}

#define SECOND_COLUMNS \
    "SELECT second, thread, phase, n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, hist, rowid FROM rollup_second"

pp_status pp_reader_each_second(struct pp_reader *r, uint64_t from_second, pp_second_fn *fn, void *ctx,
                                struct pp_err *err)
{
    int64_t id = 0;
    struct query q = reader_query(r, SECOND_COLUMNS " WHERE second >= ? ORDER BY rowid");
    sqlite3_bind_int64(q.st, 1, (sqlite3_int64)from_second);
    return walk_seconds(&q, &id, fn, ctx, err);
}

pp_status pp_reader_each_second_after(struct pp_reader *r, int64_t *last_id, pp_second_fn *fn, void *ctx,
                                      struct pp_err *err)
{
    struct query q = reader_query(r, SECOND_COLUMNS " WHERE rowid > ? ORDER BY rowid");
    sqlite3_bind_int64(q.st, 1, *last_id);
    return walk_seconds(&q, last_id, fn, ctx, err);
}

static const uint8_t *get_varint(const uint8_t *p, const uint8_t *stop, uint32_t *out)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 32 && p < stop; shift += 7) {
        v |= (uint32_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *out = v;
            return p;
        }
    }
    return NULL;
}

/* The next bucket that is not empty; NULL for a damaged blob. */
static inline const uint8_t *next_bucket(const uint8_t *p, const uint8_t *stop, uint64_t *bucket,
                                         uint32_t *count)
{
    uint32_t step;
    if (stop - p >= 2 && !((p[0] | p[1]) & 0x80)) { /* as most are */
        step = p[0];
        *count = p[1];
        p += 2;
    } else {
        p = get_varint(p, stop, &step);
        p = p ? get_varint(p, stop, count) : NULL;
    }
    if (!p)
        return NULL;
    *bucket += step;
    return *bucket < PP_HIST_BUCKETS ? p : NULL;
}

int pp_second_hist(const struct pp_second_row *s, struct pp_hist *into)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, total = 0;
    uint32_t count;
    while (p && p < stop) {
        p = next_bucket(p, stop, &bucket, &count);
        if (!p)
            return 0;
        into->bucket[bucket] += count;
        total += count;
    }
    if (total != s->n)
        return 0;
    if (total && into->min > s->max_ns)
        into->min = 0; /* the least value is not stored; 0 keeps quantiles inside their bucket */
    into->count += total;
    into->sum += s->total_ns;
    into->max = s->max_ns > into->max ? s->max_ns : into->max;
    return 1;
}

uint64_t pp_second_at_least(const struct pp_second_row *s, uint64_t ns)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, low, high, n = 0;
    uint32_t count;
    while (p && p < stop && (p = next_bucket(p, stop, &bucket, &count))) {
        pp_rollup_bucket_range((uint32_t)bucket, &low, &high);
        n += high >= ns ? count : 0;
    }
    return n;
}
