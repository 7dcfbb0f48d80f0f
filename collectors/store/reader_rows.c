/* Errors, queues, counters, open phases, the GPU's activities, losses, proofs, lists of samples and requests,
 * row by row. */
#include "collectors/store/reader_impl.h"

pp_status pp_reader_each_error(struct pp_reader *r, int64_t *last_id, pp_error_fn *fn, void *ctx,
                               struct pp_err *err)
{
    int64_t from = 0;
    last_id = last_id ? last_id : &from;
    struct query q = reader_query_of(
        r,
        "SELECT t_ns, thread, batch, sample, path, kind, action, reason, count, id FROM error WHERE id > ? ORDER BY id",
        PP_ROW(v_int((uint64_t)*last_id)));
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

pp_status pp_reader_each_counter(struct pp_reader *r, int64_t *last_id, pp_counter_fn *fn, void *ctx,
                                 struct pp_err *err)
{
    int64_t from = 0;
    last_id = last_id ? last_id : &from;
    struct query q = reader_query_of(r, "SELECT t_ns, name, value, id FROM counter WHERE id > ? ORDER BY id",
                                     PP_ROW(v_int((uint64_t)*last_id)));
    while (query_row(&q)) {
        *last_id = (int64_t)col_num(&q, 3);
        fn(ctx, col_num(&q, 0), col_text(&q, 1), sqlite3_column_double(q.st, 2));
    }
    return query_end(&q, err);
}

pp_status pp_reader_each_open_phase(struct pp_reader *r, uint64_t from_ns, uint64_t to_ns,
                                    pp_open_phase_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "open_phase", &status, err) || status)
        return status;
    struct query q = reader_query_of(
        r,
        "SELECT t_ns, thread, phase, batch, sample, since_ns, path FROM open_phase WHERE t_ns >= ? AND t_ns <= ? ORDER BY t_ns, thread",
        PP_ROW(v_int(from_ns), v_int(to_ns > INT64_MAX ? INT64_MAX : to_ns)));
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

/* Ids are sorted, and rows fetched one by one: a sort of rows with their texts takes a disk that the file
 * does not. order gives the ids, row has the id as its parameter; take is called for each row. Ends both. */
static pp_status each_in_order(struct query *order, struct query *row,
                               void (*take)(void *ctx, struct query *row), void *ctx, struct pp_err *err)
{
    while (row->code == SQLITE_OK && query_row(order)) {
        sqlite3_reset(row->st);
        row->code = sqlite3_bind_int64(row->st, 1, (sqlite3_int64)col_num(order, 0));
        if (!query_row(row))
            break;
        take(ctx, row);
        row->code = row->code == SQLITE_ROW ? SQLITE_OK : row->code;
    }
    row->code = row->code == SQLITE_OK ? SQLITE_DONE : row->code;
    pp_status status = query_end(row, err), ordered = query_end(order, status ? NULL : err);
    return status ? status : ordered;
}

struct gpu_call {
    pp_gpu_fn *fn;
    void *ctx;
};

static void take_gpu(void *ctx, struct query *q)
{
    const struct gpu_call *call = ctx;
    struct pp_gpu_row g = {
        .kind = col_text(q, 0),
        .name = col_text_or_null(q, 1),
        .source = col_text_or_null(q, 2),
        .target = col_text_or_null(q, 3),
        .start_ns = col_num(q, 4),
        .dur_ns = col_num(q, 5),
        .bytes = col_num(q, 6),
        .batch = col_id_or_none(q, 7),
        .correlation = col_id_or_none(q, 8),
        .device = col_id_or_none(q, 9),
        .context = col_id_or_none(q, 10),
        .stream = col_id_or_none(q, 11),
        .thread = col_id_or_none(q, 12),
        .asynchronous = col_int_or_absent(q, 13),
        .result = col_int_or_absent(q, 14),
    };
    call->fn(call->ctx, &g);
}

pp_status pp_reader_each_gpu(struct pp_reader *r, pp_gpu_fn *fn, void *ctx, struct pp_err *err)
{
    struct gpu_call call = {fn, ctx};
    pp_status status;
    if (!reader_has_table(r, "gpu_batch", &status, err) || status) /* a file from before these tables */
        return status;
    struct query row = reader_query(
        r,
        "SELECT g.kind, g.name, g.source, g.target, g.start_ns, g.dur_ns, g.bytes, b.batch, g.correlation, g.device, g.context, g.stream, g.thread,"
        " g.asynchronous, g.result FROM gpu g LEFT JOIN gpu_batch b ON b.correlation = g.correlation WHERE g.id = ?");
    struct query order = reader_query(r, "SELECT id FROM gpu ORDER BY start_ns, dur_ns DESC, id");
    return each_in_order(&order, &row, take_gpu, &call, err);
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
    struct query q = reader_query_if(
        r, "proof",
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

/* ---- requests to remote storages ----
 *
 * A long run has some hundred thousand: the texts of their places, of which there are few, are read once, and
 * not with every row. */

/* A request takes a day at most: sums of its parts, and of all rows, stay whole. */
#define LONGEST_NS UINT64_C(86400000000000)

enum { MOST_PLACES = 4096, LONGEST_TEXT = 255 }; /* numbers of a recorded run are below 1024 */

struct request_call {
    struct place {
        char *address, *prefix; /* NULL: not known */
    } * places;
    pp_request_fn *fn;
    void *ctx;
};

static void take_request(void *ctx, struct query *q)
{
    const struct request_call *call = ctx;
    struct pp_request_row r = {.start_ns = col_num(q, 0),
                               .bytes = col_num(q, 8),
                               .status = (uint32_t)col_num(q, 9),
                               .attempt = (uint32_t)col_num(q, 10),
                               .epoch = col_id_or_none(q, 11),
                               .sample = col_num_or(q, 12, PP_NO_SAMPLE),
                               .flags = (uint32_t)col_num(q, 13),
                               .place = (uint32_t)col_num_or(q, 14, 0),
                               .id = col_num(q, 15)};
    uint64_t *const parts[] = {&r.queue_ns,      &r.resolve_ns,  &r.connect_ns, &r.tls_ns,
                               &r.first_byte_ns, &r.transfer_ns, &r.cpu_ns};
    int sound = r.start_ns <= INT64_MAX && r.bytes <= INT64_MAX;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        *parts[i] = col_num(q, 1 + (int)i);
        sound &= *parts[i] <= LONGEST_NS;
    }
    if (r.place < MOST_PLACES) {
        r.address = call->places[r.place].address;
        r.prefix = call->places[r.place].prefix;
    }
    if (sound)
        call->fn(call->ctx, &r);
}

#define REQUEST_COLUMNS \
    "SELECT start_ns, queue_ns, resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns, cpu_ns, bytes, status, attempt, epoch, sample, flags, place, id FROM request "
#define REQUESTS_WANTED "WHERE start_ns >= ?1 AND start_ns < ?2 AND id >= ?3 "

pp_status pp_reader_each_request(struct pp_reader *r, const struct pp_request_wanted *w, pp_request_fn *fn,
                                 void *ctx, struct pp_err *err)
{
    uint64_t to = w && w->to_ns && w->to_ns < INT64_MAX ? w->to_ns : INT64_MAX;
    const struct pp_value wanted[] = {v_int(w && w->from_ns < to ? w->from_ns : 0), v_int(to),
                                      v_int(w && w->from_id ? w->from_id : (uint64_t)INT64_MIN)};
    pp_status status;
    if (!reader_has_table(r, "request_place", &status, err) || status) /* a file from before these tables */
        return status;
    struct request_call call = {calloc(MOST_PLACES, sizeof(*call.places)), fn, ctx};
    if (!call.places)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the places of requests");
    struct query q = reader_query(r, "SELECT id, address, prefix FROM request_place");
    while (query_row(&q)) {
        struct place *p = col_num(&q, 0) < MOST_PLACES ? &call.places[col_num(&q, 0)] : NULL;
        if (!p || p->address)
            continue;
        p->address = strndup(col_text(&q, 1), LONGEST_TEXT);
        p->prefix = strndup(col_text(&q, 2), LONGEST_TEXT);
    }
    status = query_end(&q, err);
    if (!status && w && w->by_start) {
        struct query row = reader_query(r, REQUEST_COLUMNS "WHERE id = ?1"),
                     order = reader_query_of(r,
                                             "SELECT id FROM request " REQUESTS_WANTED
                                             "ORDER BY start_ns, id",
                                             wanted, 3);
        status = each_in_order(&order, &row, take_request, &call, err);
    } else if (!status) {
        q = reader_query_of(r, REQUEST_COLUMNS REQUESTS_WANTED "ORDER BY id", wanted, 3);
        while (query_row(&q))
            take_request(&call, &q);
        status = query_end(&q, err);
    }
    for (size_t i = 0; i < MOST_PLACES; i++) {
        free(call.places[i].address);
        free(call.places[i].prefix);
    }
    free(call.places);
    return status;
}

pp_status pp_reader_first_request(struct pp_reader *r, uint64_t *id, struct pp_err *err)
{
    *id = 0;
    struct query q = reader_query_if(r, "request", "SELECT id FROM request ORDER BY id LIMIT 1");
    if (query_row(&q))
        *id = col_num(&q, 0);
    return query_end(&q, err);
}

/* ---- samples of a job's batches, what became of them, why they came in that order ---- */

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
    struct query q = reader_query_if(
        r, "batch_use",
        "SELECT pid, loader, epoch, first_batch, batches, trained, step FROM batch_use ORDER BY id");
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
    struct query q = reader_query_if(r, "iteration_fact",
                                     "SELECT pid, loader, epoch, key, value FROM iteration_fact ORDER BY id");
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
    struct query q = reader_query_if(
        r, "state_event",
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
    struct query q = reader_query_if(
        r, "batch_content", "SELECT pid, batch, samples, content, files FROM batch_content ORDER BY id");
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
