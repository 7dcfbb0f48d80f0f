/* The spans, chunk by chunk, and their roll-up by second. */
#include "collectors/store/chunk.h"
#include "collectors/store/hist_blob.h"
#include "collectors/store/reader_impl.h"

/* Hands on the stretches of sound spans (the checksum holds for bytes that were made wrong too); *unsound:
 * there were others. Returns what fn does. */
static int hand_on_sound(pp_spans_fn *fn, void *ctx, uint32_t thread, const struct pp_span *spans, size_t n,
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

#define COLUMNS "SELECT id, thread, seq0, n, checksum, body FROM chunk "
#define OF_THREAD "WHERE (?1 IS NULL OR thread = ?1) "
/* By the index alone: bodies need no sorting. */
#define OF_TIME "AND id IN (SELECT id FROM chunk WHERE last_end_ns >= ?2 AND first_start_ns <= ?3) "

pp_status pp_reader_each_chunk_of(struct pp_reader *r, const struct pp_wanted *wanted, pp_spans_fn *fn,
                                  void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    static const struct pp_wanted everything = {.columns = PP_COLUMNS_ALL};
    const struct pp_wanted *w = wanted ? wanted : &everything;
    uint64_t bad = 0, to_ns = w->to_ns > INT64_MAX ? INT64_MAX : w->to_ns;
    int stop = 0;
    const struct pp_value of[] = {v_if(w->thread != NULL, w->thread ? *w->thread : 0), v_int(w->from_ns),
                                  v_int(to_ns)};
    struct query q = w->to_ns ? reader_query_of(r, COLUMNS OF_THREAD OF_TIME "ORDER BY id", of, 3)
                              : reader_query_of(r, COLUMNS OF_THREAD "ORDER BY id", of, 1);
    while (!stop && query_row(&q)) {
        const struct pp_span *spans;
        const uint8_t *body = sqlite3_column_blob(q.st, 5);
        size_t size = (size_t)sqlite3_column_bytes(q.st, 5), n, n_spans = 0;
        uint64_t thread = col_num(&q, 1), stated = col_num(&q, 3);
        query_fetched(&q, 5);
        /* 0: its checksum or its format does not hold. */
        int opened = body && stated && pp_thread_id_is_sound(thread) &&
                     pp_chunk_checksum((uint32_t)thread, col_num(&q, 2), stated, body, size) ==
                         col_num(&q, 4) &&
                     pp_chunk_open(r->codec, body, size,
                                   w->columns ? w->columns | PP_COLUMNS_TIMES : PP_COLUMNS_ALL) == stated,
            unsound = 0;
        while (opened && !stop && (spans = pp_chunk_next(r->codec, &n))) {
            stop = hand_on_sound(fn, ctx, (uint32_t)thread, spans, n, &unsound);
            n_spans += n;
        }
        bad += !opened || unsound;
        if (!pp_allowance_take(&r->may[PP_ALLOWED_SPANS], n_spans))
            q.code = SQLITE_INTERRUPT;
    }
    if (bad_chunks)
        *bad_chunks = bad;
    return query_end(&q, err);
}

pp_status pp_reader_each_chunk(struct pp_reader *r, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks,
                               struct pp_err *err)
{
    return pp_reader_each_chunk_of(r, NULL, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_chunk_end_after(struct pp_reader *r, int64_t *last_id, pp_chunk_end_fn *fn,
                                         void *ctx, struct pp_err *err)
{
    struct query q = reader_query_of(
        r, "SELECT id, thread, first_start_ns, last_end_ns FROM chunk WHERE id > ? ORDER BY id",
        PP_ROW(v_int((uint64_t)*last_id)));
    while (query_row(&q)) {
        *last_id = (int64_t)col_num(&q, 0);
        if (pp_thread_id_is_sound(col_num(&q, 1)) && col_num(&q, 2) <= col_num(&q, 3))
            fn(ctx, (uint32_t)col_num(&q, 1), col_num(&q, 2), col_num(&q, 3));
    }
    return query_end(&q, err);
}

#define SECONDS_MAX ((uint64_t)INT64_MAX / 1000000000u)

pp_status pp_reader_each_second_after(struct pp_reader *r, int64_t *last_id, pp_second_fn *fn, void *ctx,
                                      struct pp_err *err)
{
    char sql[256]; /* an older file does not count them */
    int lacks = sqlite3_table_column_metadata(r->db, "main", "rollup_second", "samples", 0, 0, 0, 0, 0);
    snprintf(sql, sizeof(sql),
             "SELECT second, thread, phase, n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib,"
             " hist, rowid, %s FROM rollup_second WHERE rowid > ? ORDER BY rowid",
             lacks ? "0" : "samples");
    struct query q = reader_query_of(r, sql, PP_ROW(v_int((uint64_t)*last_id)));
    while (query_row(&q)) {
        struct pp_second_row s = {
            .second = col_num(&q, 0),
            .thread = (uint32_t)col_num(&q, 1),
            .phase = (unsigned)col_num(&q, 2),
            .n = col_num(&q, 3),
            .samples = col_num(&q, col_num(&q, 12) ? 12 : 3),
            .total_ns = col_num(&q, 4),
            .max_ns = col_num(&q, 5),
            .cpu_ns = col_num(&q, 6),
            .run_delay_ns = col_num(&q, 7),
            .bytes = col_num(&q, 8),
            .cache_hit_kib = col_num(&q, 9),
            .hist = sqlite3_column_blob(q.st, 10),
            .hist_bytes = (size_t)sqlite3_column_bytes(q.st, 10),
        };
        *last_id = (int64_t)col_num(&q, 11);
        query_fetched(&q, 10);
        if (s.second <= SECONDS_MAX && pp_thread_id_is_sound(col_num(&q, 1)) &&
            col_num(&q, 2) < PP_PHASE_COUNT && pp_phase_info(s.phase))
            fn(ctx, &s);
    }
    return query_end(&q, err);
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

/* ---- Python stacks, and looks at the job's threads ---- */

pp_status pp_reader_each_stack(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "stack_sample", &status, err) || status) /* recorded by an older version */
        return status;
    struct query q = reader_query(r, "SELECT id, function, file, first_line FROM stack_function ORDER BY id");
    while (query_row(&q))
        to->function(to->ctx, &(struct pp_stack_function_row){.id = col_id_or_none(&q, 0),
                                                              .function = col_text(&q, 1),
                                                              .file = col_text(&q, 2),
                                                              .first_line = (uint32_t)col_num(&q, 3)});
    if ((status = query_end(&q, err)) != PP_OK)
        return status;
    q = reader_query(r, "SELECT id, path, class, arguments FROM stack_op ORDER BY id");
    while (query_row(&q))
        to->op(to->ctx, &(struct pp_stack_op_row){.id = col_id_or_none(&q, 0),
                                                  .path = col_text(&q, 1),
                                                  .class = col_text(&q, 2),
                                                  .arguments = col_text(&q, 3)});
    if ((status = query_end(&q, err)) != PP_OK)
        return status;
    q = reader_query(r, "SELECT id, parent, function, line, op FROM stack ORDER BY id");
    while (query_row(&q))
        to->frame(to->ctx, &(struct pp_stack_row){.id = col_id_or_none(&q, 0),
                                                  .parent = (uint32_t)col_num_or(&q, 1, 0),
                                                  .function = col_id_or_none(&q, 2),
                                                  .line = (uint32_t)col_num_or(&q, 3, 0),
                                                  .op = (uint32_t)col_num_or(&q, 4, 0)});
    if ((status = query_end(&q, err)) != PP_OK)
        return status;
    q = reader_query(r, "SELECT t_ns, thread, stack, state, flags FROM stack_sample");
    while (query_row(&q))
        to->sample(to->sample_ctx, &(struct pp_stack_sample_row){.t_ns = col_num(&q, 0),
                                                                 .thread = col_id_or_none(&q, 1),
                                                                 .stack = col_id_or_none(&q, 2),
                                                                 .state = col_text(&q, 3)[0],
                                                                 .flags = (uint32_t)col_num(&q, 4)});
    return query_end(&q, err);
}

pp_status pp_reader_each_thread_look(struct pp_reader *r, const struct pp_thread_walk *to, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "thread_look", &status, err) || status)
        return status;
    struct query q = reader_query(r, "SELECT id, pid, tid, name FROM native_thread ORDER BY id");
    while (query_row(&q))
        to->thread(to->ctx, &(struct pp_native_thread_row){.id = col_id_or_none(&q, 0),
                                                           .pid = (int64_t)col_num(&q, 1),
                                                           .tid = (int64_t)col_num(&q, 2),
                                                           .name = col_text(&q, 3)});
    if ((status = query_end(&q, err)) != PP_OK)
        return status;
    q = reader_query(r, "SELECT t_ns, states FROM thread_look");
    while (query_row(&q)) {
        to->look(to->ctx, &(struct pp_thread_look_row){.t_ns = col_num(&q, 0), .states = col_text(&q, 1)});
        query_fetched(&q, 1);
    }
    return query_end(&q, err);
}
