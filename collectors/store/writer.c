#include "collectors/store/store.h"

#include "probe/base/err.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 256u /* 16 KiB of spans */

pp_status pp_store_fail(struct pp_store *s, const char *what)
{
    if (!s->failure.code) {
        pp_db_fail(s->db, &s->failure, what, s->path);
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have done it already */
        s->in_transaction = 0;
    }
    return s->failure.code;
}

/* What to answer before anything else: the store writes nothing after its first failure or its end. */
static pp_status usable(const struct pp_store *s)
{
    return s->failure.code ? s->failure.code : s->db ? PP_OK : PP_E_USAGE;
}

pp_status pp_store_begin(struct pp_store *s)
{
    pp_status status = usable(s);
    if (status || s->in_transaction)
        return status;
    if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return pp_store_fail(s, "cannot write to");
    s->in_transaction = 1;
    return PP_OK;
}

pp_status pp_store_step(struct pp_store *s, enum pp_store_statement st, const char *what)
{
    pp_status status = pp_store_begin(s);
    if (!status && sqlite3_step(s->st[st]) != SQLITE_DONE)
        status = pp_store_fail(s, what);
    sqlite3_reset(s->st[st]);
    sqlite3_clear_bindings(s->st[st]);
    return status;
}

/* The texts bound below live in the caller until the step is done, hence SQLITE_STATIC throughout. */
static void bind_text(sqlite3_stmt *st, int i, const char *text)
{
    sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC);
}

static void bind_uint(sqlite3_stmt *st, int i, uint64_t v)
{
    sqlite3_bind_int64(st, i, (sqlite3_int64)v);
}

static void bind_unless(sqlite3_stmt *st, int i, uint64_t v, uint64_t none)
{
    if (v == none)
        sqlite3_bind_null(st, i);
    else
        bind_uint(st, i, v);
}

static pp_status write_loss(struct pp_store *s, const char *what, uint64_t count, const char *why)
{
    bind_text(s->st[ST_LOSS], 1, what);
    bind_uint(s->st[ST_LOSS], 2, count);
    bind_text(s->st[ST_LOSS], 3, why);
    return pp_store_step(s, ST_LOSS, "cannot write to");
}

static pp_status lower_detail(struct pp_store *s, enum pp_detail detail, const char *why)
{
    static const char *const kept[] = {
        [PP_DETAIL_BATCH] = "spans of single samples are summed up per batch, phase and thread", [PP_DETAIL_ROLLUP] = "spans but the trainer's are summed up per phase and thread",
    };
    char text[256];
    if (detail <= s->detail)
        return PP_OK;
    snprintf(text, sizeof(text), "%s%s (%s); their percentiles are of sums", s->cost.spans ? "from some point on " : "", kept[detail], why);
    s->detail = detail;
    return write_loss(s, "detail", 0, text);
}

pp_status pp_store_lower_detail(struct pp_store *s, enum pp_detail detail, const char *why)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status)
        status = lower_detail(s, detail, why);
    pthread_mutex_unlock(&s->lock);
    return status;
}

enum pp_detail pp_store_detail(const struct pp_store *s)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
    pthread_mutex_lock(lock);
    enum pp_detail detail = s->detail;
    pthread_mutex_unlock(lock);
    return detail;
}

static pp_status insert_chunk(struct pp_store *s, uint32_t thread, int compress)
{
    struct pp_store_pending *p = &s->pending[thread];
    size_t n = p->n, size;
    uint64_t next_seq = p->seq + p->n;
    if (s->detail != PP_DETAIL_SAMPLE) {
        n = pp_detail_merge(s->detail, (pp_lane)s->lane[thread], p->spans, p->n);
        p->shape = (struct pp_chunk_shape){.last_end_ns = p->shape.last_end_ns};
        pp_chunk_look(&p->shape, p->spans, 0, n);
    }
    const uint8_t *body = pp_chunk_encode_shaped(s->codec, p->spans, n, &p->shape, compress, &size);
    if (!body)
        return pp_fail(&s->failure, PP_E_NO_MEMORY, "no memory to write spans to %s", s->path);
    sqlite3_stmt *st = s->st[ST_CHUNK];
    bind_uint(st, 1, thread);
    bind_uint(st, 2, p->seq);
    bind_uint(st, 3, n);
    bind_uint(st, 4, p->shape.first_start_ns);
    bind_uint(st, 5, p->shape.last_end_ns);
    bind_uint(st, 6, pp_chunk_checksum(thread, p->seq, n, body, size));
    sqlite3_bind_blob64(st, 7, body, size, SQLITE_STATIC);
    bind_unless(st, 8, next_seq, p->seq + n);
    s->cost.spans += n;
    s->cost.chunks++;
    s->cost.chunk_bytes += size;
    return pp_store_step(s, ST_CHUNK, "cannot write spans to");
}

/* The size is that of the last commit: spans of one transaction are left out together, from chunks and from roll-ups. */
static int at_max_bytes(const struct pp_store *s)
{
    return s->max_bytes && s->file_bytes >= s->max_bytes;
}

/* Said at once, for a run that is killed; how many is said at the end. */
static pp_status leave_out(struct pp_store *s, size_t n)
{
    pp_status status = s->over_bytes ? PP_OK : write_loss(s, "detail", 0, "from some point on spans are left out: the file has reached its --max-bytes");
    s->over_bytes += n;
    return status;
}

static pp_status write_chunk(struct pp_store *s, uint32_t thread, int compress)
{
    struct pp_store_pending *p = &s->pending[thread];
    if (!p->n)
        return PP_OK;
    pp_status status = pp_store_begin(s);
    if (status)
        return status;
    if (at_max_bytes(s))
        status = leave_out(s, p->n);
    else
        status = insert_chunk(s, thread, compress);
    if (status)
        return status;
    p->seq += p->n;
    p->n = 0;
    p->shape = (struct pp_chunk_shape){.last_end_ns = 0};
    return PP_OK;
}

/* Looked at once per commit: what is appended in between is at most what the rings hold. */
static pp_status mind_size(struct pp_store *s)
{
    static const char why[] = "the file came near its --max-bytes";
    if (!s->max_bytes)
        return PP_OK;
    s->file_bytes = pp_db_bytes(s->db);
    if (s->file_bytes >= s->max_bytes / 4 * 3)
        return lower_detail(s, PP_DETAIL_ROLLUP, why);
    return s->file_bytes >= s->max_bytes / 2 ? lower_detail(s, PP_DETAIL_BATCH, why) : PP_OK;
}

static int grow(struct pp_store_pending *p)
{
    size_t cap = p->cap ? p->cap * 2 : 256;
    struct pp_span *q = realloc(p->spans, cap * sizeof(*q));
    if (!q)
        return 0;
    p->spans = q;
    p->cap = cap;
    return 1;
}

/* Room for at least one more span of the thread. */
static pp_status make_room(struct pp_store *s, struct pp_store_pending *p)
{
    pp_status status = usable(s);
    if (!status && p->n == p->cap && !grow(p))
        status = pp_fail(&s->failure, PP_E_NO_MEMORY, "no memory to write spans to %s", s->path);
    return status;
}

/* Sums up the n spans behind the pending ones, which they then are. A chunk cut by its size means that spans come fast: compression can wait, the
 * rings cannot. */
static pp_status take(struct pp_store *s, uint32_t thread, size_t n)
{
    struct pp_store_pending *p = &s->pending[thread];
    pp_status status = pp_store_begin(s);
    if (!status && !at_max_bytes(s) && pp_rollup_add(s->rollup, thread, p->spans + p->n, n) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write roll-ups to");
    if (status)
        return status;
    pp_chunk_look(&p->shape, p->spans, p->n, n);
    p->n += n;
    return p->n == PP_STORE_CHUNK_SPANS ? write_chunk(s, thread, 0) : PP_OK;
}

/* In pieces small enough to stay in the first-level cache while they are converted, summed up and looked at. */
pp_status pp_store_append_from(struct pp_store *s, uint32_t thread, pp_span_source *source, void *ctx, uint64_t *appended)
{
    if (thread >= PP_THREADS_MAX)
        return PP_E_USAGE;
    pthread_mutex_lock(&s->lock);
    struct pp_store_pending *p = &s->pending[thread];
    pp_status status = PP_OK;
    size_t n = 1, room = 1;
    while (n == room && !(status = make_room(s, p))) {
        room = p->cap - p->n < PIECE ? p->cap - p->n : PIECE;
        n = source(ctx, p->spans + p->n, room);
        *appended += n;
        if (n)
            status = take(s, thread, n);
        if (status)
            break;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

struct array {
    const struct pp_span *spans;
    size_t left;
};

static size_t from_array(void *ctx, struct pp_span *out, size_t max)
{
    struct array *a = ctx;
    size_t n = a->left < max ? a->left : max;
    memcpy(out, a->spans, n * sizeof(*out));
    a->spans += n;
    a->left -= n;
    return n;
}

pp_status pp_store_append(struct pp_store *s, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct array a = {spans, n};
    uint64_t appended = 0;
    return pp_store_append_from(s, thread, from_array, &a, &appended);
}

pp_status pp_store_flush(struct pp_store *s)
{
    pp_status status = usable(s);
    for (uint32_t i = 0; i < PP_THREADS_MAX && !status; i++)
        status = write_chunk(s, i, 1);
    if (!status && s->in_transaction && pp_rollup_commit(s->rollup) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write roll-ups to");
    if (!status && s->in_transaction)
        status = mind_size(s);
    if (!status && s->in_transaction) {
        if (sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            status = pp_store_fail(s, "cannot commit to");
        s->in_transaction = 0;
    }
    return status;
}

pp_status pp_store_commit(struct pp_store *s, struct pp_err *err)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = pp_store_flush(s);
    if (status && s->failure.code && err)
        *err = s->failure;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static pp_status put_meta(struct pp_store *s, const char *section, const char *key, const char *text, double number, const char *unit)
{
    sqlite3_stmt *st = s->st[ST_META];
    if (usable(s))
        return usable(s);
    bind_text(st, 1, section);
    bind_text(st, 2, key);
    if (text)
        bind_text(st, 3, text);
    else if (number == floor(number) && fabs(number) < 0x1p53)
        sqlite3_bind_int64(st, 3, (sqlite3_int64)number);
    else
        sqlite3_bind_double(st, 3, number);
    bind_text(st, 4, unit);
    return pp_store_step(s, ST_META, "cannot write to");
}

void pp_store_put_meta(struct pp_store *s, const char *section, const char *key, double value)
{
    put_meta(s, section, key, NULL, value, NULL);
}

pp_status pp_store_meta_text(struct pp_store *s, const char *section, const char *key, const char *value)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = put_meta(s, section, key, value ? value : "", 0, NULL);
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_meta_num(struct pp_store *s, const char *section, const char *key, double value, const char *unit)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = put_meta(s, section, key, NULL, value, unit);
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_thread(struct pp_store *s, const struct pp_store_thread *t)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status) {
        sqlite3_stmt *st = s->st[ST_THREAD];
        bind_uint(st, 1, t->id);
        bind_text(st, 2, pp_lane_name(t->lane));
        bind_text(st, 3, t->name ? t->name : "");
        sqlite3_bind_int64(st, 4, t->pid);
        sqlite3_bind_int64(st, 5, t->tid);
        bind_uint(st, 6, t->recorded);
        bind_uint(st, 7, t->dropped);
        if (t->id < PP_THREADS_MAX)
            s->lane[t->id] = (uint8_t)t->lane;
        status = pp_store_step(s, ST_THREAD, "cannot write to");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_name(struct pp_store *s, uint16_t id, const char *name)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status) {
        sqlite3_bind_int(s->st[ST_NAME], 1, id);
        bind_text(s->st[ST_NAME], 2, name);
        status = pp_store_step(s, ST_NAME, "cannot write to");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
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
    pp_status status = usable(s);
    if (status || (!listed && count_more(s, kind, action, &status)))
        return status;
    bind_uint(st, 1, e->t_ns);
    bind_unless(st, 2, e->thread, UINT32_MAX);
    bind_unless(st, 3, e->batch, PP_NO_BATCH);
    bind_unless(st, 4, e->sample, PP_NO_SAMPLE);
    bind_text(st, 5, listed ? e->path : NULL);
    bind_text(st, 6, kind);
    bind_text(st, 7, action);
    bind_text(st, 8, listed ? e->reason : "further errors of this kind, counted but not listed");
    status = pp_store_step(s, ST_ERROR, "cannot write to");
    s->error_rows++;
    if (!status && !listed)
        remember_more(s, kind, action);
    return status;
}

pp_status pp_store_error(struct pp_store *s, const struct pp_store_error *e)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = put_error(s, e);
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_queue(struct pp_store *s, const struct pp_store_queue *q)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status) {
        sqlite3_stmt *st = s->st[ST_QUEUE];
        bind_text(st, 1, q->name);
        bind_uint(st, 2, q->capacity);
        bind_uint(st, 3, q->puts);
        bind_uint(st, 4, q->gets);
        bind_uint(st, 5, q->put_wait_ns);
        bind_uint(st, 6, q->get_wait_ns);
        sqlite3_bind_double(st, 7, q->mean_depth);
        sqlite3_bind_double(st, 8, q->share_empty);
        sqlite3_bind_double(st, 9, q->share_full);
        status = pp_store_step(s, ST_QUEUE, "cannot write to");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_counter(struct pp_store *s, uint64_t t_ns, const char *name, double value)
{
    if (isnan(value))
        return PP_OK; /* unknown is absent, never a row */
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status) {
        bind_uint(s->st[ST_COUNTER], 1, t_ns);
        bind_text(s->st[ST_COUNTER], 2, name);
        sqlite3_bind_double(s->st[ST_COUNTER], 3, value);
        status = pp_store_step(s, ST_COUNTER, "cannot write to");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_loss(struct pp_store *s, const char *what, uint64_t count, const char *why)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = usable(s);
    if (!status)
        status = write_loss(s, what, count, why);
    pthread_mutex_unlock(&s->lock);
    return status;
}

void pp_store_cost(const struct pp_store *s, struct pp_store_cost *out)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
    pthread_mutex_lock(lock);
    *out = s->cost;
    pthread_mutex_unlock(lock);
}

void pp_store_release_db(struct pp_store *s)
{
    pp_rollup_free(s->rollup);
    s->rollup = NULL;
    for (int i = 0; i < ST_COUNT; i++) {
        sqlite3_finalize(s->st[i]);
        s->st[i] = NULL;
    }
    for (int i = 0; i < PP_STORE_GPU_STATEMENTS; i++) {
        sqlite3_finalize(s->gpu[i]);
        s->gpu[i] = NULL;
    }
    sqlite3_finalize(s->open_phase);
    s->open_phase = NULL;
    sqlite3_close(s->db);
    s->db = NULL;
}

void pp_store_close(struct pp_store *s)
{
    if (!s)
        return;
    if (s->db && s->rollup && pp_store_flush(s) == PP_OK) {
        sqlite3_busy_timeout(s->db, 200); /* a live reader may keep the log alive; then it stays */
        pp_db_journal_mode(s->db, "delete");
    }
    pp_store_release_db(s);
    for (uint32_t i = 0; i < PP_THREADS_MAX; i++)
        free(s->pending[i].spans);
    pp_chunk_codec_free(s->codec);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}

const char *pp_store_sqlite_version(void)
{
    return sqlite3_libversion();
}
