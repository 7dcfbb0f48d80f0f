/* What a file holds beside spans: facts, threads, names, errors, queues, counters, losses. A row each. */
#include "collectors/store/bind.h"
#include "collectors/store/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static pp_status put_meta(struct pp_store *s, const char *section, const char *key, const char *text,
                          double number, const char *unit)
{
    sqlite3_stmt *st = s->st[ST_META];
    pp_bind_text(st, 1, section);
    pp_bind_text(st, 2, key);
    if (text)
        pp_bind_text(st, 3, text);
    else if (number == floor(number) && fabs(number) < 0x1p53)
        sqlite3_bind_int64(st, 3, (sqlite3_int64)number);
    else
        sqlite3_bind_double(st, 3, number);
    pp_bind_text(st, 4, unit);
    return pp_store_step(s, ST_META, "cannot write to");
}

void pp_store_put_meta(struct pp_store *s, const char *section, const char *key, double value)
{
    if (!pp_store_usable(s))
        put_meta(s, section, key, NULL, value, NULL);
}

pp_status pp_store_meta_text(struct pp_store *s, const char *section, const char *key, const char *value)
{
    pp_status status = pp_store_enter(s);
    if (!status)
        status = put_meta(s, section, key, value ? value : "", 0, NULL);
    return pp_store_leave(s, status);
}

pp_status pp_store_meta_num(struct pp_store *s, const char *section, const char *key, double value,
                            const char *unit)
{
    pp_status status = pp_store_enter(s);
    if (!status)
        status = put_meta(s, section, key, NULL, value, unit);
    return pp_store_leave(s, status);
}

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
    pp_bind_text(s->st[ST_LOSS], 1, what);
    pp_bind_uint(s->st[ST_LOSS], 2, count);
    pp_bind_text(s->st[ST_LOSS], 3, why);
    return pp_store_step(s, ST_LOSS, "cannot write to");
}

pp_status pp_store_loss(struct pp_store *s, const char *what, uint64_t count, const char *why)
{
    pp_status status = pp_store_enter(s);
    if (!status)
        status = pp_store_put_loss(s, what, count, why);
    return pp_store_leave(s, status);
}

pp_status pp_store_thread(struct pp_store *s, const struct pp_store_thread *t)
{
    pp_status status = pp_store_enter(s);
    if (!status) {
        sqlite3_stmt *st = s->st[ST_THREAD];
        pp_bind_uint(st, 1, t->id);
        pp_bind_text(st, 2, pp_lane_name(t->lane));
        pp_bind_text(st, 3, t->name ? t->name : "");
        sqlite3_bind_int64(st, 4, t->pid);
        sqlite3_bind_int64(st, 5, t->tid);
        pp_bind_uint(st, 6, t->recorded);
        pp_bind_uint(st, 7, t->dropped);
        if (t->id < PP_THREADS_MAX)
            s->lane[t->id] = (uint8_t)t->lane;
        status = pp_store_step(s, ST_THREAD, "cannot write to");
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_name(struct pp_store *s, uint16_t id, const char *name)
{
    pp_status status = pp_store_enter(s);
    if (!status) {
        sqlite3_bind_int(s->st[ST_NAME], 1, id);
        pp_bind_text(s->st[ST_NAME], 2, name);
        status = pp_store_step(s, ST_NAME, "cannot write to");
    }
    return pp_store_leave(s, status);
}

/* Counts an error beyond the row limit in the row of its kind and action; 0 when there is none yet. */
static int count_more(struct pp_store *s, const char *kind, const char *action, pp_status *status)
{
    for (size_t i = 0; i < s->n_more; i++) {
        if (strcmp(s->more[i].kind, kind) == 0 && strcmp(s->more[i].action, action) == 0) {
            sqlite3_bind_int64(s->st[ST_ERROR_MORE], 1, s->more[i].row);
            *status = pp_store_step(s, ST_ERROR_MORE, "cannot write to");
            return 1;
        }
    }
    return 0;
}

static void remember_more(struct pp_store *s, const char *kind, const char *action)
{
    if (s->n_more == PP_STORE_ERROR_KINDS)
        return;
    struct pp_store_more *m = &s->more[s->n_more++];
    snprintf(m->kind, sizeof(m->kind), "%s", kind);
    snprintf(m->action, sizeof(m->action), "%s", action);
    m->row = sqlite3_last_insert_rowid(s->db);
}

static pp_status put_error(struct pp_store *s, const struct pp_store_error *e)
{
    sqlite3_stmt *st = s->st[ST_ERROR];
    const char *kind = e->kind ? e->kind : "unknown", *action = e->action ? e->action : "unknown";
    int listed = s->error_rows < PP_STORE_ERROR_ROWS;
    pp_status status = PP_OK;
    if (!listed && count_more(s, kind, action, &status))
        return status;
    pp_bind_uint(st, 1, e->t_ns);
    pp_bind_unless(st, 2, e->thread, UINT32_MAX);
    pp_bind_unless(st, 3, e->batch, PP_NO_BATCH);
    pp_bind_unless(st, 4, e->sample, PP_NO_SAMPLE);
    pp_bind_text(st, 5, listed ? e->path : NULL);
    pp_bind_text(st, 6, kind);
    pp_bind_text(st, 7, action);
    pp_bind_text(st, 8, listed ? e->reason : "further errors of this kind, counted but not listed");
    status = pp_store_step(s, ST_ERROR, "cannot write to");
    s->error_rows++;
    if (!status && !listed)
        remember_more(s, kind, action);
    return status;
}

pp_status pp_store_error(struct pp_store *s, const struct pp_store_error *e)
{
    pp_status status = pp_store_enter(s);
    if (!status)
        status = put_error(s, e);
    return pp_store_leave(s, status);
}

pp_status pp_store_queue(struct pp_store *s, const struct pp_store_queue *q)
{
    pp_status status = pp_store_enter(s);
    if (!status) {
        sqlite3_stmt *st = s->st[ST_QUEUE];
        pp_bind_text(st, 1, q->name);
        pp_bind_uint(st, 2, q->capacity);
        pp_bind_uint(st, 3, q->puts);
        pp_bind_uint(st, 4, q->gets);
        pp_bind_uint(st, 5, q->put_wait_ns);
        pp_bind_uint(st, 6, q->get_wait_ns);
        sqlite3_bind_double(st, 7, q->mean_depth);
        sqlite3_bind_double(st, 8, q->share_empty);
        sqlite3_bind_double(st, 9, q->share_full);
        status = pp_store_step(s, ST_QUEUE, "cannot write to");
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_counter(struct pp_store *s, uint64_t t_ns, const char *name, double value)
{
    if (isnan(value))
        return PP_OK; /* unknown is absent, never a row */
    pp_status status = pp_store_enter(s);
    if (!status) {
        pp_bind_uint(s->st[ST_COUNTER], 1, t_ns);
        pp_bind_text(s->st[ST_COUNTER], 2, name);
        sqlite3_bind_double(s->st[ST_COUNTER], 3, value);
        status = pp_store_step(s, ST_COUNTER, "cannot write to");
    }
    return pp_store_leave(s, status);
}
