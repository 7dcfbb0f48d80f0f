/* Errors, queues, counters, open phases, the GPU's activities, losses, proofs and the roll-up by second, row
 * by row. */
#include "collectors/store/hist_blob.h"
#include "collectors/store/reader_impl.h"

#include <pipeprobe/phase.h>

pp_status pp_reader_each_error_after(struct pp_reader *r, int64_t *last_id, pp_error_fn *fn, void *ctx,
                                     struct pp_err *err)
{
    struct query q = reader_query(
        r,
        "SELECT t_ns, thread, batch, sample, path, kind, action, reason, count, id FROM error WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    while (query_row(&q)) {
        struct pp_error_row e = {
            .t_ns = col_num(&q, 0),
            .thread = (uint32_t)col_num_or(&q, 1, UINT32_MAX),
            .batch = (uint32_t)col_num_or(&q, 2, PP_NO_BATCH),
            .sample = col_num_or(&q, 3, PP_NO_SAMPLE),
            .path = col_text_or_null(&q, 4),
            .kind = col_text(&q, 5),
            .action = col_text(&q, 6),
            .reason = col_text_or_null(&q, 7),
            .count = col_num(&q, 8),
        };
        *last_id = (int64_t)col_num(&q, 9);
        fn(ctx, &e);
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_error(struct pp_reader *r, pp_error_fn *fn, void *ctx, struct pp_err *err)
{
    int64_t from = 0;
    return pp_reader_each_error_after(r, &from, fn, ctx, err);
}

pp_status pp_reader_each_queue(struct pp_reader *r, pp_queue_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = reader_query(
        r,
        "SELECT name, capacity, puts, gets, put_wait_ns, get_wait_ns, mean_depth, share_empty, share_full FROM queue ORDER BY rowid");
    while (query_row(&q)) {
        struct pp_queue_row w = {
            .name = col_text(&q, 0),
            .capacity = col_num(&q, 1),
            .puts = col_num(&q, 2),
            .gets = col_num(&q, 3),
            .put_wait_ns = col_num(&q, 4),
            .get_wait_ns = col_num(&q, 5),
            .mean_depth = sqlite3_column_double(q.st, 6),
            .share_empty = sqlite3_column_double(q.st, 7),
            .share_full = sqlite3_column_double(q.st, 8),
        };
        fn(ctx, &w);
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_counter_after(struct pp_reader *r, int64_t *last_id, pp_counter_fn *fn, void *ctx,
                                       struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT t_ns, name, value, id FROM counter WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    while (query_row(&q)) {
        *last_id = (int64_t)col_num(&q, 3);
        fn(ctx, col_num(&q, 0), col_text(&q, 1), sqlite3_column_double(q.st, 2));
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_counter(struct pp_reader *r, pp_counter_fn *fn, void *ctx, struct pp_err *err)
{
    int64_t from = 0;
    return pp_reader_each_counter_after(r, &from, fn, ctx, err);
}

pp_status pp_reader_each_open_phase(struct pp_reader *r, uint64_t from_ns, uint64_t to_ns,
                                    pp_open_phase_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "open_phase", &status, err) || status)
        return status;
    struct query q = reader_query(
        r,
        "SELECT t_ns, thread, phase, batch, sample, since_ns, path FROM open_phase WHERE t_ns >= ? AND t_ns <= ? ORDER BY t_ns, thread");
    sqlite3_bind_int64(q.st, 1, (sqlite3_int64)from_ns);
    sqlite3_bind_int64(q.st, 2, to_ns > INT64_MAX ? INT64_MAX : (sqlite3_int64)to_ns);
    while (query_row(&q)) {
        struct pp_open_phase_row o = {
            .t_ns = col_num(&q, 0),
            .thread = (uint32_t)col_num(&q, 1),
            .phase = (unsigned)col_num(&q, 2),
            .batch = (uint32_t)col_num_or(&q, 3, PP_NO_BATCH),
            .sample = col_num_or(&q, 4, PP_NO_SAMPLE),
            .since_ns = col_num(&q, 5),
            .path = col_text_or_null(&q, 6),
        };
        if (pp_thread_id_is_sound(col_num(&q, 1)) && col_num(&q, 2) < PP_PHASE_COUNT &&
            pp_phase_info(o.phase) && o.since_ns <= o.t_ns)
            fn(ctx, &o);
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_gpu(struct pp_reader *r, pp_gpu_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    /* Places are sorted, and rows fetched one by one: a sort of rows with their texts takes a disk that the
     * file does not. */
    if (!reader_has_table(r, "gpu_batch", &status, err) || status) /* a file from before these tables */
        return status;
    struct query row = reader_query(
        r,
        "SELECT g.kind, g.name, g.source, g.target, g.start_ns, g.dur_ns, g.bytes, b.batch, g.correlation, g.device, g.context, g.stream, g.thread,"
        " g.asynchronous, g.result FROM gpu g LEFT JOIN gpu_batch b ON b.correlation = g.correlation WHERE g.id = ?");
    struct query order = reader_query(r, "SELECT id FROM gpu ORDER BY start_ns, dur_ns DESC, id");
    while (row.code == SQLITE_OK && query_row(&order)) {
        sqlite3_reset(row.st);
        row.code = sqlite3_bind_int64(row.st, 1, (sqlite3_int64)col_num(&order, 0));
        if (!query_row(&row))
            break;
        fn(ctx, &(struct pp_gpu_row){
                    .kind = col_text(&row, 0),
                    .name = col_text_or_null(&row, 1),
                    .source = col_text_or_null(&row, 2),
                    .target = col_text_or_null(&row, 3),
                    .start_ns = col_num(&row, 4),
                    .dur_ns = col_num(&row, 5),
                    .bytes = col_num(&row, 6),
                    .batch = col_id_or_none(&row, 7),
                    .correlation = col_id_or_none(&row, 8),
                    .device = col_id_or_none(&row, 9),
                    .context = col_id_or_none(&row, 10),
                    .stream = col_id_or_none(&row, 11),
                    .thread = col_id_or_none(&row, 12),
                    .asynchronous = col_int_or_absent(&row, 13),
                    .result = col_int_or_absent(&row, 14),
                });
        row.code = row.code == SQLITE_ROW ? SQLITE_OK : row.code;
    }
    row.code = row.code == SQLITE_OK ? SQLITE_DONE : row.code;
    status = query_end(&row, err);
    pp_status ordered = query_end(&order, status ? NULL : err);
    return status ? status : ordered;
}

pp_status pp_reader_each_loss(struct pp_reader *r, pp_loss_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT what, count, why FROM loss ORDER BY rowid");
    while (query_row(&q))
        fn(ctx, col_text(&q, 0), col_num(&q, 1), col_text(&q, 2));
    if (r->as_it_stands.code)
        fn(ctx, "journal", 0, r->as_it_stands.text);
    if (r->missing.why.code)
        fn(ctx, "spans in ring files", r->missing.spans, r->missing.why.text);
    if (r->unread.code)
        fn(ctx, "list of threads, names or settings", 1, r->unread.text);
    return query_end(&q, err);
}

pp_status pp_reader_each_proof(struct pp_reader *r, pp_proof_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "proof", &status, err) || status) /* recorded by an older version */
        return status;
    struct query q = reader_query(
        r,
        "SELECT kind, change, value, base_samples_per_s, predicted_samples_per_s, predicted_low, predicted_high, measured_samples_per_s, measured_low,"
        " measured_high, rounds, ballast_cpus, recording FROM proof ORDER BY rowid");
    while (query_row(&q))
        fn(ctx, &(struct pp_proof_row){
                    .kind = col_text(&q, 0),
                    .change = col_text(&q, 1),
                    .value = col_text(&q, 2),
                    .base = col_number_or_nan(&q, 3),
                    .predicted = col_number_or_nan(&q, 4),
                    .predicted_low = col_number_or_nan(&q, 5),
                    .predicted_high = col_number_or_nan(&q, 6),
                    .measured = col_number_or_nan(&q, 7),
                    .measured_low = col_number_or_nan(&q, 8),
                    .measured_high = col_number_or_nan(&q, 9),
                    .rounds = col_num(&q, 10),
                    .ballast_cpus = col_number_or_nan(&q, 11),
                    .recording = col_text_or_null(&q, 12),
                });
    return query_end(&q, err);
}

/* Numbers that a recording cannot have are those of no batch. */
static int take_order(struct query *q, int with_list, struct pp_order_row *o)
{
    uint64_t first = col_num(q, 3), batches = col_num(q, 4), epoch = col_num(q, 2), loader = col_num(q, 1);
    *o = (struct pp_order_row){.pid = (int64_t)col_num(q, 0),
                               .loader = (uint32_t)loader,
                               .epoch = (uint32_t)epoch,
                               .first_batch = (uint32_t)first,
                               .batches = (uint32_t)batches,
                               .samples = col_num(q, 5),
                               .ended = col_num(q, 6) != 0};
    if (with_list) {
        query_fetched(q, 7);
        o->list = sqlite3_column_blob(q->st, 7);
        o->list_bytes = o->list ? (size_t)sqlite3_column_bytes(q->st, 7) : 0;
    }
    return loader <= UINT32_MAX && epoch <= UINT16_MAX && batches && first < PP_NO_BATCH &&
           batches <= PP_NO_BATCH - first;
}

pp_status pp_reader_each_order(struct pp_reader *r, const struct pp_order_row *only, pp_order_fn *fn,
                               void *ctx, struct pp_err *err)
{
    static const char
        all[] =
            "SELECT pid, loader, epoch, first_batch, batches, samples, ended FROM sample_order ORDER BY id",
        some[] = "SELECT pid, loader, epoch, first_batch, batches, samples, ended, list FROM sample_order"
                 " WHERE pid = ? AND loader = ? AND epoch = ? ORDER BY id";
    pp_status status;
    struct pp_order_row o;
    if (!reader_has_table(r, "sample_order", &status, err) || status) /* recorded by an older version */
        return status;
    struct query q = reader_query(r, only ? some : all);
    if (only) {
        sqlite3_bind_int64(q.st, 1, only->pid);
        sqlite3_bind_int64(q.st, 2, only->loader);
        sqlite3_bind_int64(q.st, 3, only->epoch);
    }
    while (query_row(&q))
        if (take_order(&q, only != NULL, &o))
            fn(ctx, &o);
    return query_end(&q, err);
}

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
