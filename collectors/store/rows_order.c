/* Which samples a job's batches had, what became of them, and why they came in that order. */
#include "collectors/store/store.h"

#define ORDER_PART 4 /* of max_bytes: what lists of samples and hashes of them may take */

/* A row that has so many bytes of a list; where they would be too many, a loss, once. */
static pp_status put_list(struct pp_store *s, enum pp_store_statement which, size_t bytes,
                          const struct pp_value *v, int n)
{
    pp_status status = pp_store_enter(s);
    int full = s->max_bytes && s->order_bytes + bytes > s->max_bytes / ORDER_PART;
    if (!status && !full) {
        status = pp_store_put_row(s, which, v, n);
        s->order_bytes += bytes;
    } else if (!status && s->order_bytes < s->max_bytes) {
        s->order_bytes = s->max_bytes;
        status = pp_store_put_loss(s, "sample lists", 1, "they had a quarter of --max-bytes");
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_order(struct pp_store *s, const struct pp_order_row *o)
{
    return put_list(s, ST_ORDER, o->list_bytes,
                    PP_ROW(v_int((uint64_t)o->pid), v_int(o->loader), v_int(o->epoch), v_int(o->first_batch),
                           v_int(o->batches), v_int(o->samples), v_int((uint64_t)o->ended),
                           v_blob(o->list, o->list_bytes)));
}

pp_status pp_store_content(struct pp_store *s, const struct pp_content_row *c)
{
    size_t bytes = 8 * (size_t)c->samples;
    return put_list(s, ST_CONTENT, 2 * bytes,
                    PP_ROW(v_int((uint64_t)c->pid), v_int(c->batch), v_int(c->samples),
                           v_blob(c->content, bytes), v_blob(c->files, bytes)));
}

pp_status pp_store_use(struct pp_store *s, const struct pp_use_row *u)
{
    return pp_store_put_locked(s, ST_USE,
                               PP_ROW(v_int((uint64_t)u->pid), v_int(u->loader), v_int(u->epoch),
                                      v_int(u->first_batch), v_int(u->batches), v_int((uint64_t)u->trained),
                                      v_int(u->step)));
}

pp_status pp_store_fact(struct pp_store *s, const struct pp_fact_row *f)
{
    return pp_store_put_locked(s, ST_FACT,
                               PP_ROW(v_int((uint64_t)f->pid), v_int(f->loader), v_int(f->epoch),
                                      v_text(f->key), v_text(f->value)));
}

pp_status pp_store_state(struct pp_store *s, const struct pp_state_row *e)
{
    return pp_store_put_locked(s, ST_STATE,
                               PP_ROW(v_int((uint64_t)e->pid), v_int(e->t_ns),
                                      v_unless(e->dur_ns, UINT64_MAX), v_text(e->action), v_text(e->via),
                                      v_text(e->path), v_text(e->place), v_text(e->value),
                                      v_int(e->iterations), v_unless(e->batch, PP_NO_BATCH), v_int(e->step)));
}
