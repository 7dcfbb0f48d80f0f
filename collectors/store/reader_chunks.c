/* The spans, chunk by chunk. */
#include "collectors/store/reader_impl.h"

#include "collectors/store/chunk.h"

#define COLUMNS "SELECT id, thread, seq0, n, checksum, body FROM chunk "

/* Opens the chunk in the current row; 0 when its checksum or its format does not hold. */
static int open_chunk(struct query *q, unsigned columns)
{
    const uint8_t *body = sqlite3_column_blob(q->st, 5);
    size_t size = (size_t)sqlite3_column_bytes(q->st, 5);
    uint64_t stated = col_num(q, 3);
    query_fetched(q, 5);
    if (!body || !pp_thread_id_is_sound(col_num(q, 1)) ||
        pp_chunk_checksum((uint32_t)col_num(q, 1), col_num(q, 2), stated, body, size) != col_num(q, 4))
        return 0;
    return stated && pp_chunk_open(q->r->codec, body, size,
                                   columns ? columns | PP_COLUMNS_TIMES : PP_COLUMNS_ALL) == stated;
}

/* Hands on the stretches of sound spans (the checksum holds for bytes that were made wrong too); *unsound:
 * there were others. Returns what fn does. */
static int hand_on(pp_spans_fn *fn, void *ctx, uint32_t thread, const struct pp_span *spans, size_t n,
                   int *unsound)
{
    for (size_t i = 0, from = 0; i <= n; i++) {
        if (i < n && pp_span_is_sound(&spans[i]))
            continue;
        *unsound |= i < n;
        if (i > from && fn(ctx, thread, spans + from, i - from))
            return 1;
        from = i + 1;
    }
    return 0;
}

/* Rows of q, until the end or until fn says stop. */
static pp_status walk_chunks(struct query *q, unsigned columns, pp_spans_fn *fn, void *ctx,
                             uint64_t *bad_chunks, struct pp_err *err)
{
    uint64_t bad = 0;
    int stop = 0;
    while (!stop && query_row(q)) {
        const struct pp_span *spans;
        size_t n;
        int opened = open_chunk(q, columns), unsound = 0;
        while (opened && !stop && (spans = pp_chunk_next(q->r->codec, &n))) {
            stop = hand_on(fn, ctx, (uint32_t)col_num(q, 1), spans, n, &unsound);
            q->r->cost.spans += n;
        }
        bad += !opened || unsound;
        if (q->r->cost.spans > q->r->most.spans)
            q->code = SQLITE_INTERRUPT;
    }
    if (bad_chunks)
        *bad_chunks = bad;
    return query_end(q, err);
}

#define OF_THREAD "WHERE (?1 IS NULL OR thread = ?1) "
/* By the index alone: bodies need no sorting */
#define OF_TIME "AND id IN (SELECT id FROM chunk WHERE last_end_ns >= ?2 AND first_start_ns <= ?3) "

pp_status pp_reader_each_chunk_of(struct pp_reader *r, const struct pp_wanted *wanted, pp_spans_fn *fn,
                                  void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    static const struct pp_wanted everything = {.columns = PP_COLUMNS_ALL};
    const struct pp_wanted *w = wanted ? wanted : &everything;
    struct query q = reader_query(r, w->to_ns ? COLUMNS OF_THREAD OF_TIME "ORDER BY id"
                                              : COLUMNS OF_THREAD "ORDER BY id");
    if (w->thread)
        sqlite3_bind_int64(q.st, 1, *w->thread);
    if (w->to_ns) {
        sqlite3_bind_int64(q.st, 2, (sqlite3_int64)w->from_ns);
        sqlite3_bind_int64(q.st, 3, w->to_ns > INT64_MAX ? INT64_MAX : (sqlite3_int64)w->to_ns);
    }
    return walk_chunks(&q, w->columns, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_chunk(struct pp_reader *r, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks,
                               struct pp_err *err)
{
    return pp_reader_each_chunk_of(r, NULL, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_chunk_end_after(struct pp_reader *r, int64_t *last_id, pp_chunk_end_fn *fn,
                                         void *ctx, struct pp_err *err)
{
    struct query q = reader_query(
        r, "SELECT id, thread, first_start_ns, last_end_ns FROM chunk WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    while (query_row(&q)) {
        *last_id = (int64_t)col_num(&q, 0);
        if (pp_thread_id_is_sound(col_num(&q, 1)) && col_num(&q, 2) <= col_num(&q, 3))
            fn(ctx, (uint32_t)col_num(&q, 1), col_num(&q, 2), col_num(&q, 3));
    }
    return query_end(&q, err);
}
