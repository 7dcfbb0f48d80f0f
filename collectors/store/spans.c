/* Spans on their way into chunks: gathered per thread, summed up, merged where less detail is kept, left out at --max-bytes. */
#include "collectors/store/bind.h"
#include "collectors/store/store.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 256u /* 16 KiB of spans */

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
    return pp_store_put_loss(s, "detail", 0, text);
}

pp_status pp_store_lower_detail(struct pp_store *s, enum pp_detail detail, const char *why)
{
    pp_status status = pp_store_enter(s);
    if (!status)
        status = lower_detail(s, detail, why);
    return pp_store_leave(s, status);
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
    pp_bind_uint(st, 1, thread);
    pp_bind_uint(st, 2, p->seq);
    pp_bind_uint(st, 3, n);
    pp_bind_uint(st, 4, p->shape.first_start_ns);
    pp_bind_uint(st, 5, p->shape.last_end_ns);
    pp_bind_uint(st, 6, pp_chunk_checksum(thread, p->seq, n, body, size));
    sqlite3_bind_blob64(st, 7, body, size, SQLITE_STATIC);
    pp_bind_unless(st, 8, next_seq, p->seq + n);
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
    pp_status status = s->over_bytes ? PP_OK : pp_store_put_loss(s, "detail", 0, "from some point on spans are left out: the file has reached its --max-bytes");
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

pp_status pp_store_cut_chunks(struct pp_store *s)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < PP_THREADS_MAX && !status; i++)
        status = write_chunk(s, i, 1);
    return status;
}

pp_status pp_store_mind_size(struct pp_store *s)
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
    pp_status status = pp_store_usable(s);
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
    if (status)
        return status;
    pp_chunk_look(&p->shape, p->spans, p->n, n);
    if (!at_max_bytes(s) && pp_rollup_add(s->rollup, thread, p->spans + p->n, n, pp_chunk_lean(&p->shape, p->spans)) != SQLITE_OK)
        return pp_store_fail(s, "cannot write roll-ups to");
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
    return pp_store_leave(s, status);
}

void pp_store_thread_ended(struct pp_store *s, uint32_t id)
{
    pthread_mutex_lock(&s->lock);
    struct pp_store_pending *p = id < PP_THREADS_MAX ? &s->pending[id] : NULL;
    if (p && !p->n) {
        free(p->spans);
        p->spans = NULL;
        p->cap = 0;
    }
    pthread_mutex_unlock(&s->lock);
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
