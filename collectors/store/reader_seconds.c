/* The roll-up by second. */
#include "collectors/store/hist_blob.h"
#include "collectors/store/reader_impl.h"

#include <pipeprobe/phase.h>

#define SECONDS_MAX ((uint64_t)INT64_MAX / 1000000000u)

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
        query_fetched(q, 10);
        if (s.second <= SECONDS_MAX && pp_thread_id_is_sound(col_num(q, 1)) &&
            col_num(q, 2) < PP_PHASE_COUNT && pp_phase_info(s.phase))
            fn(ctx, &s);
    }
    return query_end(q, err);
}

#define SECOND_COLUMNS \
    "SELECT second, thread, phase, n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, hist, rowid FROM rollup_second"

pp_status pp_reader_each_second_after(struct pp_reader *r, int64_t *last_id, pp_second_fn *fn, void *ctx,
                                      struct pp_err *err)
{
    struct query q = reader_query(r, SECOND_COLUMNS " WHERE rowid > ? ORDER BY rowid");
    sqlite3_bind_int64(q.st, 1, *last_id);
    return walk_seconds(&q, last_id, fn, ctx, err);
}

uint64_t pp_second_at_least(const struct pp_second_row *s, uint64_t ns)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, low, high, n = 0;
    uint32_t count;
    while (p && p < stop && (p = pp_hist_blob_next(p, stop, &bucket, &count))) {
        pp_hist_blob_range((uint32_t)bucket, &low, &high);
        n += high >= ns ? count : 0;
    }
    return n;
}
