/* What a file holds beside spans, a row each: facts, threads, names, errors, queues, counters, losses; what
 * the GPU did, what each thread was in once a second, what the job's threads did, requests. */
#include "collectors/store/store.h"

#define FORGOTTEN_ROWS 4096u /* go together once there are too many */

/* From ST_ALWAYS on prepared at the first use, so that a file made before these tables existed can still be
 * recovered. */
static const char *const sql[ST_COUNT] = {
    [ST_META] =
        "INSERT INTO meta VALUES(?,?,?,?) ON CONFLICT(section, key) DO UPDATE SET value = excluded.value, unit = excluded.unit",
    [ST_THREAD] = "REPLACE INTO thread VALUES(?,?,?,?,?,?,?)",
    [ST_NAME] = "REPLACE INTO name VALUES(?,?)",
    [ST_CHUNK] =
        "INSERT INTO chunk(thread, seq0, n, first_start_ns, last_end_ns, checksum, body, next_seq) VALUES(?,?,?,?,?,?,?,?)",
    [ST_ERROR] =
        "INSERT INTO error(t_ns, thread, batch, sample, path, kind, action, reason) VALUES(?,?,?,?,?,?,?,?)",
    [ST_ERROR_MORE] = "UPDATE error SET count = count + 1 WHERE id = ?",
    [ST_QUEUE] = "REPLACE INTO queue VALUES(?,?,?,?,?,?,?,?,?)",
    [ST_COUNTER] = "INSERT INTO counter(t_ns, name, value) VALUES(?,?,?)",
    [ST_LOSS] = "INSERT INTO loss VALUES(?,?,?)",
    [ST_GPU] =
        "INSERT INTO gpu(kind, start_ns, dur_ns, correlation, device, context, stream, thread, bytes, source, target, asynchronous, name, result)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ST_GPU_BATCH] = "INSERT OR IGNORE INTO gpu_batch VALUES(?,?)",
    [ST_GPU_CLOCK] = "INSERT INTO gpu_clock VALUES(?,?,?)",
    [ST_OPEN_PHASE] = "INSERT OR REPLACE INTO open_phase VALUES(?,?,?,?,?,?,?)",
    [ST_ORDER] = "INSERT INTO sample_order VALUES(NULL,?,?,?,?,?,?,?,?)",
    [ST_USE] = "INSERT INTO batch_use VALUES(NULL,?,?,?,?,?,?,?)",
    [ST_FACT] = "INSERT INTO iteration_fact VALUES(NULL,?,?,?,?,?)",
    [ST_STATE] = "INSERT OR REPLACE INTO state_event VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?)",
    [ST_CONTENT] = "INSERT INTO batch_content VALUES(NULL,?,?,?,?,?)",
    [ST_REQUEST] = "INSERT OR REPLACE INTO request VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ST_REQUEST_PLACE] = "INSERT OR REPLACE INTO request_place VALUES(?,?,?)",
    [ST_STACK_FUNCTION] = "INSERT OR REPLACE INTO stack_function VALUES(?,?,?,?)",
    [ST_STACK] = "INSERT OR REPLACE INTO stack VALUES(?,?,?,?,?)",
    [ST_STACK_OP] = "INSERT OR REPLACE INTO stack_op VALUES(?,?,?,?)",
    [ST_STACK_THREAD] = "INSERT OR REPLACE INTO stack_thread VALUES(?,?,?)",
    [ST_STACK_SAMPLE] =
        "INSERT INTO stack_sample(rowid, t_ns, thread, stack, state, flags) VALUES(?,?,?,?,?,?)",
    [ST_NATIVE_THREAD] = "INSERT OR REPLACE INTO native_thread VALUES(?,?,?,?)",
    [ST_THREAD_LOOK] = "INSERT INTO thread_look(rowid, t_ns, states) VALUES(?,?,?)",
};

int pp_store_prepare(struct pp_store *s, enum pp_store_statement which)
{
    return sqlite3_prepare_v3(s->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->st[which], NULL);
}

pp_status pp_store_put_row(struct pp_store *s, enum pp_store_statement which, const struct pp_value *v, int n)
{
    const char *what = which == ST_CHUNK ? "cannot write spans to" : "cannot write to";
    pp_status status = pp_store_begin(s);
    if (!status && !s->st[which] && pp_store_prepare(s, which) != SQLITE_OK)
        status = pp_store_fail(s, what);
    if (status)
        return status;
    pp_row_bind(s->st[which], v, n);
    if (sqlite3_step(s->st[which]) != SQLITE_DONE)
        status = pp_store_fail(s, what);
    sqlite3_reset(s->st[which]);
    sqlite3_clear_bindings(s->st[which]);
    return status;
}

pp_status pp_store_put_locked(struct pp_store *s, enum pp_store_statement which, const struct pp_value *v,
                              int n)
{
    pthread_mutex_lock(&s->lock);
    return pp_store_leave(s, pp_store_put_row(s, which, v, n));
}

/* ---- facts ---- */

static struct pp_value meta_number(double v)
{
    return v == floor(v) && fabs(v) < 0x1p53 ? v_int((uint64_t)(int64_t)v) : v_real(v);
}

void pp_store_put_meta(struct pp_store *s, const char *section, const char *key, double value)
{
    if (!pp_store_usable(s))
        pp_store_put_row(s, ST_META, PP_ROW(v_text(section), v_text(key), meta_number(value), v_text(NULL)));
}

PUTS(pp_store_meta_text, (struct pp_store * s, const char *section, const char *key, const char *value),
     ST_META, v_text(section), v_text(key), v_text(value ? value : ""), v_text(NULL))
PUTS(pp_store_meta_num,
     (struct pp_store * s, const char *section, const char *key, double value, const char *unit), ST_META,
     v_text(section), v_text(key), meta_number(value), v_text(unit))
pp_status pp_store_stated(struct pp_store *s, const uint32_t said[PP_STATED])
{
    static const struct {
        const char *key, *unit;
    } rows[PP_STATED] = {
#define PP_STATED_ROW(symbol, key, unit) [PP_STATED_##symbol] = {key, unit},
        PP_STATED_MAP(PP_STATED_ROW)
#undef PP_STATED_ROW
    };
    pp_status status = PP_OK;
    for (int i = 0; i < PP_STATED && !status; i++)
        if (said[i])
            status = pp_store_meta_num(s, "config", rows[i].key, said[i], rows[i].unit);
    return status;
}

pp_status pp_store_put_loss(struct pp_store *s, const char *what, uint64_t count, const char *why)
{
    return pp_store_put_row(s, ST_LOSS, PP_ROW(v_text(what), v_int(count), v_text(why)));
}

PUTS(pp_store_loss, (struct pp_store * s, const char *what, uint64_t count, const char *why), ST_LOSS,
     v_text(what), v_int(count), v_text(why))
pp_status pp_store_thread(struct pp_store *s, const struct pp_store_thread *t)
{
    pp_status status = pp_store_enter(s);
    if (!status) {
        if (t->id < PP_THREADS_MAX) {
            s->lane[t->id] = (uint8_t)t->lane;
            s->who[t->id] = (struct pp_store_who){(int32_t)t->pid, (int32_t)t->tid};
            s->declared = s->declared > t->id ? s->declared : t->id + 1;
        }
        status = pp_store_put_row(s, ST_THREAD,
                                  PP_ROW(v_int(t->id), v_text(pp_lane_name(t->lane)),
                                         v_text(t->name ? t->name : ""), v_int((uint64_t)t->pid),
                                         v_int((uint64_t)t->tid), v_int(t->recorded), v_int(t->dropped)));
    }
    return pp_store_leave(s, status);
}

PUTS(pp_store_name, (struct pp_store * s, uint16_t id, const char *name), ST_NAME, v_int(id), v_text(name))
PUTS(pp_store_queue, (struct pp_store * s, const struct pp_store_queue *q), ST_QUEUE, v_text(q->name),
     v_int(q->capacity), v_int(q->puts), v_int(q->gets), v_int(q->put_wait_ns), v_int(q->get_wait_ns),
     v_real(q->mean_depth), v_real(q->share_empty), v_real(q->share_full))
pp_status pp_store_counter(struct pp_store *s, uint64_t t_ns, const char *name, double value)
{
    if (isnan(value))
        return PP_OK; /* unknown is absent, never a row */
    return pp_store_put_locked(s, ST_COUNTER, PP_ROW(v_int(t_ns), v_text(name), v_real(value)));
}

/* ---- errors ---- */

pp_status pp_store_error(struct pp_store *s, const struct pp_store_error *e)
{
    const char *kind = e->kind ? e->kind : "unknown", *action = e->action ? e->action : "unknown";
    pp_status status = pp_store_enter(s);
    if (status)
        return pp_store_leave(s, status);
    int listed = s->error_rows < PP_STORE_ERROR_ROWS;
    /* The row that counts errors of this kind and action beyond the limit, once there is one. */
    for (size_t i = 0; i < s->n_more && !listed; i++)
        if (strcmp(s->more[i].kind, kind) == 0 && strcmp(s->more[i].action, action) == 0)
            return pp_store_leave(s, pp_store_put_row(s, ST_ERROR_MORE,
                                                      PP_ROW(v_int((uint64_t)s->more[i].row))));
    const char *reason = listed ? e->reason : "further errors of this kind, counted but not listed";
    status = pp_store_put_row(s, ST_ERROR,
                              PP_ROW(v_int(e->t_ns), v_unless(e->thread, UINT32_MAX),
                                     v_unless(e->batch, PP_NO_BATCH), v_unless(e->sample, PP_NO_SAMPLE),
                                     v_text(listed ? e->path : NULL), v_text(kind), v_text(action),
                                     v_text(reason)));
    s->error_rows++;
    if (!status && !listed && s->n_more < PP_STORE_ERROR_KINDS) {
        struct pp_store_more *m = &s->more[s->n_more++];
        snprintf(m->kind, sizeof(m->kind), "%s", kind);
        snprintf(m->action, sizeof(m->action), "%s", action);
        m->row = sqlite3_last_insert_rowid(s->db);
    }
    return pp_store_leave(s, status);
}

/* ---- the GPU ---- */

PUTS(pp_store_gpu, (struct pp_store * s, const struct pp_store_gpu *g), ST_GPU, v_text(g->kind),
     v_int(g->start_ns), v_int(g->dur_ns), v_unless(g->correlation, PP_GPU_NONE),
     v_unless(g->device, PP_GPU_NONE), v_unless(g->context, PP_GPU_NONE), v_unless(g->stream, PP_GPU_NONE),
     v_unless(g->thread, PP_GPU_NONE), v_if(g->asynchronous >= 0 || g->bytes, g->bytes), v_text(g->source),
     v_text(g->target), v_if(g->asynchronous >= 0, (uint64_t)g->asynchronous), v_text(g->name),
     v_if(g->result >= 0, (uint64_t)g->result))
PUTS(pp_store_gpu_batch, (struct pp_store * s, uint32_t correlation, uint64_t batch), ST_GPU_BATCH,
     v_int(correlation), v_int(batch))
PUTS(pp_store_gpu_clock, (struct pp_store * s, uint64_t t_ns, int64_t offset_ns, uint64_t error_ns),
     ST_GPU_CLOCK, v_int(t_ns), v_int((uint64_t)offset_ns), v_int(error_ns))
/* ---- what is kept of the newest alone, and nothing of it in a roll-up ---- */

static pp_status run_sql(struct pp_store *s, const char *text)
{
    return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? PP_OK
                                                                    : pp_store_fail(s, "cannot write to");
}

pp_status pp_store_open_phase(struct pp_store *s, const struct pp_store_open_phase *o)
{
    char oldest[160];
    pthread_mutex_lock(&s->lock);
    if (s->detail == PP_DETAIL_ROLLUP)
        return pp_store_leave(s, PP_OK);
    pp_status status = pp_store_put_row(s, ST_OPEN_PHASE,
                                        PP_ROW(v_int(o->t_ns), v_int(o->thread), v_int(o->phase),
                                               v_unless(o->batch, PP_NO_BATCH),
                                               v_unless(o->sample, PP_NO_SAMPLE), v_int(o->since_ns),
                                               v_text(o->path)));
    /* The oldest go: who looks at a run of many hours looks at its newest. */
    if (!status && ++s->open_phases > PP_STORE_OPEN_PHASES) {
        snprintf(
            oldest, sizeof(oldest),
            "DELETE FROM open_phase WHERE t_ns < (SELECT t_ns FROM open_phase ORDER BY t_ns, thread LIMIT 1 OFFSET %u)",
            FORGOTTEN_ROWS);
        s->open_phases -= FORGOTTEN_ROWS;
        status = run_sql(s, oldest);
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_request(struct pp_store *s, const struct pp_request_row *r)
{
    char oldest[96];
    pp_status status = PP_OK;
    pthread_mutex_lock(&s->lock);
    if (s->detail != PP_DETAIL_ROLLUP && !(status = pp_store_usable(s)))
        status = pp_store_put_row(s, ST_REQUEST,
                                  PP_ROW(v_int(++s->requests), v_int(r->start_ns), v_int(r->queue_ns),
                                         v_int(r->resolve_ns), v_int(r->connect_ns), v_int(r->tls_ns),
                                         v_int(r->first_byte_ns), v_int(r->transfer_ns), v_int(r->cpu_ns),
                                         v_int(r->bytes), v_int(r->status), v_int(r->attempt),
                                         v_unless(r->epoch, UINT32_MAX), v_unless(r->sample, PP_NO_SAMPLE),
                                         v_int(r->flags), v_if(r->place > 0, r->place)));
    /* The oldest go: the newest are of the steady state. */
    if (!status && s->requests - s->requests_first > PP_STORE_REQUESTS) {
        s->requests_first += FORGOTTEN_ROWS;
        snprintf(oldest, sizeof(oldest), "DELETE FROM request WHERE id <= %llu",
                 (unsigned long long)s->requests_first);
        status = run_sql(s, oldest);
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_request_place(struct pp_store *s, uint32_t id, const char *address, const char *prefix)
{
    pthread_mutex_lock(&s->lock);
    if (s->detail == PP_DETAIL_ROLLUP)
        return pp_store_leave(s, PP_OK);
    return pp_store_leave(s, pp_store_put_row(s, ST_REQUEST_PLACE,
                                              PP_ROW(v_int(id), v_text(address), v_text(prefix))));
}

PUTS(pp_store_native_thread, (struct pp_store * s, const struct pp_native_thread_row *t), ST_NATIVE_THREAD,
     v_int(t->id), v_int((uint64_t)t->pid), v_int((uint64_t)t->tid), v_text(t->name))
pp_status pp_store_thread_look(struct pp_store *s, const struct pp_thread_look_row *look)
{
    char oldest[96];
    pthread_mutex_lock(&s->lock);
    if (s->detail == PP_DETAIL_ROLLUP)
        return pp_store_leave(s, PP_OK);
    pp_status status = pp_store_put_row(s, ST_THREAD_LOOK,
                                        PP_ROW(v_int(++s->looks), v_int(look->t_ns), v_text(look->states)));
    if (!status && s->looks - s->looks_first > PP_STORE_THREAD_LOOKS) {
        s->looks_first += FORGOTTEN_ROWS;
        snprintf(oldest, sizeof(oldest), "DELETE FROM thread_look WHERE rowid <= %llu",
                 (unsigned long long)s->looks_first);
        status = run_sql(s, oldest);
    }
    return pp_store_leave(s, status);
}

/* ---- samples of a job's batches, what became of them, why they came in that order ---- */

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

PUTS(pp_store_use, (struct pp_store * s, const struct pp_use_row *u), ST_USE, v_int((uint64_t)u->pid),
     v_int(u->loader), v_int(u->epoch), v_int(u->first_batch), v_int(u->batches), v_int((uint64_t)u->trained),
     v_int(u->step))
PUTS(pp_store_fact, (struct pp_store * s, const struct pp_fact_row *f), ST_FACT, v_int((uint64_t)f->pid),
     v_int(f->loader), v_int(f->epoch), v_text(f->key), v_text(f->value))
PUTS(pp_store_state, (struct pp_store * s, const struct pp_state_row *e), ST_STATE, v_int((uint64_t)e->pid),
     v_int(e->t_ns), v_unless(e->dur_ns, UINT64_MAX), v_text(e->action), v_text(e->via), v_text(e->path),
     v_text(e->place), v_text(e->value), v_int(e->iterations), v_unless(e->batch, PP_NO_BATCH),
     v_int(e->step))
