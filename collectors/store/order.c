/* The statement is prepared at the first use, so that a file made before the table existed can still be
 * recovered. */
#include "collectors/store/order.h"

#include "collectors/store/bind.h"
#include "collectors/store/store.h"

#define PART 4 /* of max_bytes: what lists of samples may take */

static pp_status insert(struct pp_store *s, const struct pp_order_row *o)
{
    sqlite3_stmt *st = s->order;
    sqlite3_bind_int64(st, 1, o->pid);
    sqlite3_bind_int64(st, 2, o->loader);
    sqlite3_bind_int64(st, 3, o->epoch);
    sqlite3_bind_int64(st, 4, o->first_batch);
    sqlite3_bind_int64(st, 5, o->batches);
    pp_bind_uint(st, 6, o->samples);
    sqlite3_bind_int(st, 7, o->ended);
    sqlite3_bind_blob64(st, 8, o->list, o->list_bytes, SQLITE_STATIC);
    int code = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    s->order_bytes += o->list_bytes;
    return code == SQLITE_DONE ? PP_OK : pp_store_fail(s, "cannot write to");
}

static pp_status prepare(struct pp_store *s)
{
    static const char sql[] = "INSERT INTO sample_order VALUES(NULL,?,?,?,?,?,?,?,?)";
    return s->order ||
                   sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->order, NULL) == SQLITE_OK
               ? PP_OK
               : pp_store_fail(s, "cannot write to");
}

pp_status pp_store_order(struct pp_store *s, const struct pp_order_row *o)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = pp_store_begin(s);
    int full = s->max_bytes && s->order_bytes + o->list_bytes > s->max_bytes / PART;
    if (!status && full && s->order_bytes < s->max_bytes) {
        s->order_bytes = s->max_bytes; /* said once */
        status = pp_store_put_loss(s, "sample lists", 1, "they had a quarter of --max-bytes");
    }
    if (!status && !full)
        status = prepare(s);
    if (!status && !full)
        status = insert(s, o);
    pthread_mutex_unlock(&s->lock);
    return status;
}
