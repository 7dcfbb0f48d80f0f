/* Which samples a job's batches had, what became of them, and why they came in that order. */
#include "collectors/store/reader_impl.h"

pp_status pp_reader_each_order(struct pp_reader *r, const struct pp_order_row *only, pp_order_fn *fn,
                               void *ctx, struct pp_err *err)
{
#define ORDER_COLUMNS "SELECT pid, loader, epoch, first_batch, batches, samples, ended"
    pp_status status;
    if (!reader_has_table(r, "sample_order", &status, err) || status) /* recorded by an older version */
        return status;
    struct query q =
        only ? reader_query_of(
                   r,
                   ORDER_COLUMNS
                   ", list FROM sample_order WHERE pid = ? AND loader = ? AND epoch = ? ORDER BY id",
                   PP_ROW(v_int((uint64_t)only->pid), v_int(only->loader), v_int(only->epoch)))
             : reader_query(r, ORDER_COLUMNS " FROM sample_order ORDER BY id");
    while (query_row(&q)) {
        uint64_t loader = col_num(&q, 1), epoch = col_num(&q, 2), first = col_num(&q, 3),
                 batches = col_num(&q, 4);
        struct pp_order_row o = {.pid = (int64_t)col_num(&q, 0),
                                 .loader = (uint32_t)loader,
                                 .epoch = (uint32_t)epoch,
                                 .first_batch = (uint32_t)first,
                                 .batches = (uint32_t)batches,
                                 .samples = col_num(&q, 5),
                                 .ended = col_num(&q, 6) != 0};
        if (only) {
            query_fetched(&q, 7);
            o.list = sqlite3_column_blob(q.st, 7);
            o.list_bytes = o.list ? (size_t)sqlite3_column_bytes(q.st, 7) : 0;
        }
        /* Numbers that a recording cannot have are those of no batch. */
        if (loader <= UINT32_MAX && epoch <= UINT16_MAX && batches && first < PP_NO_BATCH &&
            batches <= PP_NO_BATCH - first)
            fn(ctx, &o);
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_use(struct pp_reader *r, pp_use_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "batch_use", &status, err) || status)
        return status;
    struct query q = reader_query(
        r, "SELECT pid, loader, epoch, first_batch, batches, trained, step FROM batch_use ORDER BY id");
    while (query_row(&q)) {
        uint64_t loader = col_num(&q, 1), epoch = col_num(&q, 2), first = col_num(&q, 3),
                 batches = col_num(&q, 4);
        if (loader <= UINT32_MAX && epoch <= UINT16_MAX && batches && first < PP_NO_BATCH &&
            batches <= PP_NO_BATCH - first)
            fn(ctx, &(struct pp_use_row){.pid = (int64_t)col_num(&q, 0),
                                         .loader = (uint32_t)loader,
                                         .epoch = (uint32_t)epoch,
                                         .first_batch = (uint32_t)first,
                                         .batches = (uint32_t)batches,
                                         .trained = col_num(&q, 5) != 0,
                                         .step = col_num(&q, 6)});
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_fact(struct pp_reader *r, pp_fact_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "iteration_fact", &status, err) || status)
        return status;
    struct query q = reader_query(r, "SELECT pid, loader, epoch, key, value FROM iteration_fact ORDER BY id");
    while (query_row(&q))
        fn(ctx, &(struct pp_fact_row){.pid = (int64_t)col_num(&q, 0),
                                      .loader = (uint32_t)col_num(&q, 1),
                                      .epoch = (uint32_t)col_num(&q, 2),
                                      .key = col_text(&q, 3),
                                      .value = col_text(&q, 4)});
    return query_end(&q, err);
}

pp_status pp_reader_each_state(struct pp_reader *r, pp_state_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "state_event", &status, err) || status)
        return status;
    struct query q = reader_query(
        r,
        "SELECT pid, t_ns, dur_ns, action, via, path, place, value, iterations, batch, step FROM state_event"
        " ORDER BY pid, t_ns");
    while (query_row(&q))
        fn(ctx, &(struct pp_state_row){.pid = (int64_t)col_num(&q, 0),
                                       .t_ns = col_num(&q, 1),
                                       .dur_ns = col_num_or(&q, 2, UINT64_MAX),
                                       .action = col_text(&q, 3),
                                       .via = col_text(&q, 4),
                                       .path = col_text_or_null(&q, 5),
                                       .place = col_text_or_null(&q, 6),
                                       .value = col_text_or_null(&q, 7),
                                       .iterations = (uint32_t)col_num(&q, 8),
                                       .batch = col_id_or_none(&q, 9),
                                       .step = col_num(&q, 10)});
    return query_end(&q, err);
}

pp_status pp_reader_each_content(struct pp_reader *r, pp_content_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "batch_content", &status, err) || status)
        return status;
    struct query q = reader_query(
        r, "SELECT pid, batch, samples, content, files FROM batch_content ORDER BY id");
    while (query_row(&q)) {
        uint64_t batch = col_num(&q, 1), samples = col_num(&q, 2);
        query_fetched(&q, 3);
        query_fetched(&q, 4);
        struct pp_content_row c = {.pid = (int64_t)col_num(&q, 0),
                                   .batch = (uint32_t)batch,
                                   .samples = (uint32_t)samples,
                                   .content = sqlite3_column_blob(q.st, 3),
                                   .files = sqlite3_column_blob(q.st, 4)};
        uint64_t sizes[] = {(uint64_t)sqlite3_column_bytes(q.st, 3), (uint64_t)sqlite3_column_bytes(q.st, 4)};
        if (batch < PP_NO_BATCH && samples && samples <= UINT32_MAX && sizes[0] == 8 * samples &&
            sizes[1] == 8 * samples && c.content && c.files)
            fn(ctx, &c);
    }
    return query_end(&q, err);
}
