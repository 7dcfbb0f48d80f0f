/* Rows of the tables that not every recording has: what the GPU did, what each thread was in once a second,
 * and which samples a DataLoader asked for. Their statements are prepared at the first use, so that a file
 * made before these tables existed can still be recovered. */
#include "collectors/store/bind.h"
#include "collectors/store/request.h"
#include "collectors/store/store.h"

#include <stdio.h>

#define AT_ONCE 4096u /* rows that go together once there are too many */
#define ORDER_PART 4  /* of max_bytes: what lists of samples may take */

enum { GPU_ROW, GPU_BATCH, GPU_CLOCK, OPEN_PHASE, ORDER, REQUEST, REQUEST_PLACE };

static const char *const sql[PP_STORE_RARE_STATEMENTS] = {
    [GPU_ROW] =
        "INSERT INTO gpu(kind, start_ns, dur_ns, correlation, device, context, stream, thread, bytes, source, target, asynchronous, name, result)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [GPU_BATCH] = "INSERT OR IGNORE INTO gpu_batch VALUES(?,?)",
    [GPU_CLOCK] = "INSERT INTO gpu_clock VALUES(?,?,?)",
    [OPEN_PHASE] = "INSERT OR REPLACE INTO open_phase VALUES(?,?,?,?,?,?,?)",
    [ORDER] = "INSERT INTO sample_order VALUES(NULL,?,?,?,?,?,?,?,?)",
    [REQUEST] = "INSERT OR REPLACE INTO request VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [REQUEST_PLACE] = "INSERT OR REPLACE INTO request_place VALUES(?,?,?)",
};

/* With the lock held: the statement, its transaction open; NULL: the store writes no more, and *status says
 * why. */
static sqlite3_stmt *ready(struct pp_store *s, int which, pp_status *status)
{
    *status = pp_store_begin(s);
    if (!*status && !s->rare[which] &&
        sqlite3_prepare_v3(s->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->rare[which], NULL) !=
            SQLITE_OK)
        *status = pp_store_fail(s, "cannot write to");
    return *status ? NULL : s->rare[which];
}

static pp_status step(struct pp_store *s, sqlite3_stmt *st)
{
    pp_status status = sqlite3_step(st) == SQLITE_DONE ? PP_OK : pp_store_fail(s, "cannot write to");
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return status;
}

pp_status pp_store_gpu(struct pp_store *s, const struct pp_store_gpu *g)
{
    pp_status status;
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = ready(s, GPU_ROW, &status);
    if (st) {
        pp_bind_text(st, 1, g->kind);
        sqlite3_bind_int64(st, 2, (sqlite3_int64)g->start_ns);
        sqlite3_bind_int64(st, 3, (sqlite3_int64)g->dur_ns);
        pp_bind_unless(st, 4, g->correlation, PP_GPU_NONE);
        pp_bind_unless(st, 5, g->device, PP_GPU_NONE);
        pp_bind_unless(st, 6, g->context, PP_GPU_NONE);
        pp_bind_unless(st, 7, g->stream, PP_GPU_NONE);
        pp_bind_unless(st, 8, g->thread, PP_GPU_NONE);
        pp_bind_if(st, 9, g->asynchronous >= 0 || g->bytes, g->bytes);
        pp_bind_text(st, 10, g->source);
        pp_bind_text(st, 11, g->target);
        pp_bind_if(st, 12, g->asynchronous >= 0, (uint64_t)g->asynchronous);
        pp_bind_text(st, 13, g->name);
        pp_bind_if(st, 14, g->result >= 0, (uint64_t)g->result);
        status = step(s, st);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_gpu_batch(struct pp_store *s, uint32_t correlation, uint64_t batch)
{
    pp_status status;
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = ready(s, GPU_BATCH, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, correlation);
        sqlite3_bind_int64(st, 2, (sqlite3_int64)batch);
        status = step(s, st);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_gpu_clock(struct pp_store *s, uint64_t t_ns, int64_t offset_ns, uint64_t error_ns)
{
    pp_status status;
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = ready(s, GPU_CLOCK, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)t_ns);
        sqlite3_bind_int64(st, 2, offset_ns);
        sqlite3_bind_int64(st, 3, (sqlite3_int64)error_ns);
        status = step(s, st);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* The oldest go: who looks at a run of many hours looks at its newest. */
static pp_status forget_oldest(struct pp_store *s)
{
    char text[160];
    snprintf(
        text, sizeof(text),
        "DELETE FROM open_phase WHERE t_ns < (SELECT t_ns FROM open_phase ORDER BY t_ns, thread LIMIT 1 OFFSET %u)",
        AT_ONCE);
    s->open_phases -= AT_ONCE;
    return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? PP_OK
                                                                    : pp_store_fail(s, "cannot write to");
}

pp_status pp_store_open_phase(struct pp_store *s, const struct pp_store_open_phase *o)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = PP_OK;
    sqlite3_stmt *st = s->detail == PP_DETAIL_ROLLUP ? NULL : ready(s, OPEN_PHASE, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)o->t_ns);
        sqlite3_bind_int64(st, 2, o->thread);
        sqlite3_bind_int(st, 3, (int)o->phase);
        pp_bind_unless(st, 4, o->batch, PP_NO_BATCH);
        pp_bind_unless(st, 5, o->sample, PP_NO_SAMPLE);
        sqlite3_bind_int64(st, 6, (sqlite3_int64)o->since_ns);
        pp_bind_text(st, 7, o->path);
        status = step(s, st);
    }
    if (st && !status && ++s->open_phases > PP_STORE_OPEN_PHASES)
        status = forget_oldest(s);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Whether lists of samples have taken their part of max_bytes; the first time it is a loss. */
static int lists_are_full(struct pp_store *s, size_t more, pp_status *status)
{
    if (!s->max_bytes || s->order_bytes + more <= s->max_bytes / ORDER_PART)
        return 0;
    if (s->order_bytes < s->max_bytes) {
        s->order_bytes = s->max_bytes;
        *status = pp_store_begin(s);
        if (!*status)
            *status = pp_store_put_loss(s, "sample lists", 1, "they had a quarter of --max-bytes");
    }
    return 1;
}

pp_status pp_store_order(struct pp_store *s, const struct pp_order_row *o)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = pp_store_usable(s);
    sqlite3_stmt *st = lists_are_full(s, o->list_bytes, &status) ? NULL : ready(s, ORDER, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, o->pid);
        sqlite3_bind_int64(st, 2, o->loader);
        sqlite3_bind_int64(st, 3, o->epoch);
        sqlite3_bind_int64(st, 4, o->first_batch);
        sqlite3_bind_int64(st, 5, o->batches);
        pp_bind_uint(st, 6, o->samples);
        sqlite3_bind_int(st, 7, o->ended);
        sqlite3_bind_blob64(st, 8, o->list, o->list_bytes, SQLITE_STATIC);
        status = step(s, st);
        s->order_bytes += o->list_bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* The oldest go: the newest are of the steady state. */
static pp_status forget_oldest_requests(struct pp_store *s)
{
    char text[96];
    s->requests_first += AT_ONCE;
    snprintf(text, sizeof(text), "DELETE FROM request WHERE id <= %llu",
             (unsigned long long)s->requests_first);
    return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? PP_OK
                                                                    : pp_store_fail(s, "cannot write to");
}

pp_status pp_store_request(struct pp_store *s, const struct pp_request_row *r)
{
    pp_status status = PP_OK;
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = s->detail == PP_DETAIL_ROLLUP ? NULL : ready(s, REQUEST, &status);
    if (st) {
        const uint64_t times[] = {r->start_ns, r->queue_ns,      r->resolve_ns,  r->connect_ns,
                                  r->tls_ns,   r->first_byte_ns, r->transfer_ns, r->cpu_ns};
        int at = 1;
        pp_bind_uint(st, at++, ++s->requests);
        for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
            pp_bind_uint(st, at++, times[i]);
        pp_bind_uint(st, at++, r->bytes);
        pp_bind_uint(st, at++, r->status);
        pp_bind_uint(st, at++, r->attempt);
        pp_bind_unless(st, at++, r->epoch, UINT32_MAX);
        pp_bind_unless(st, at++, r->sample, PP_NO_SAMPLE);
        pp_bind_uint(st, at++, r->flags);
        pp_bind_if(st, at++, r->place > 0, r->place);
        status = step(s, st);
    }
    if (!status && s->requests - s->requests_first > PP_STORE_REQUESTS)
        status = forget_oldest_requests(s);
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_request_place(struct pp_store *s, uint32_t id, const char *address, const char *prefix)
{
    pp_status status = PP_OK;
    pthread_mutex_lock(&s->lock);
    sqlite3_stmt *st = s->detail == PP_DETAIL_ROLLUP ? NULL : ready(s, REQUEST_PLACE, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, id);
        pp_bind_text(st, 2, address);
        pp_bind_text(st, 3, prefix);
        status = step(s, st);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}
