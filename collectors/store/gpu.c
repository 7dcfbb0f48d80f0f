/* What the GPU did, as rows. Their statements are prepared at the first use, so that a file made before these
 * tables existed can still be recovered. */
#include "collectors/store/bind.h"
#include "collectors/store/store.h"

static const char *const sql[PP_STORE_GPU_STATEMENTS] = {
    "INSERT INTO gpu(kind, start_ns, dur_ns, correlation, device, context, stream, thread, bytes, source, target, asynchronous, name, result)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR IGNORE INTO gpu_batch VALUES(?,?)",
    "INSERT INTO gpu_clock VALUES(?,?,?)",
};
enum { ROW, BATCH, CLOCK };

/* With the lock held: the statement, its transaction open; NULL: the store writes no more, and *status says
 * why. */
static sqlite3_stmt *ready(struct pp_store *s, int which, pp_status *status)
{
    *status = pp_store_begin(s);
    if (!*status && !s->gpu[which] &&
        sqlite3_prepare_v3(s->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->gpu[which], NULL) !=
            SQLITE_OK)
        *status = pp_store_fail(s, "cannot write to");
    return *status ? NULL : s->gpu[which];
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
    sqlite3_stmt *st = ready(s, ROW, &status);
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
    sqlite3_stmt *st = ready(s, BATCH, &status);
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
    sqlite3_stmt *st = ready(s, CLOCK, &status);
    if (st) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)t_ns);
        sqlite3_bind_int64(st, 2, offset_ns);
        sqlite3_bind_int64(st, 3, (sqlite3_int64)error_ns);
        status = step(s, st);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}
