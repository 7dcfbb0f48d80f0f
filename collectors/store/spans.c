/* Spans on their way into chunks: gathered per thread, summed up, merged where less detail is kept, left out
 * at --max-bytes. */
#include "collectors/store/store.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"

/* ---- detail ---- */

static pp_status lower_detail(struct pp_store *s, enum pp_detail detail, const char *why)
{
    static const char *const kept[] = {
        [PP_DETAIL_BATCH] = "spans of single samples are summed per batch, phase and thread",
        [PP_DETAIL_ROLLUP] = "spans of all threads but the trainer are summed per phase and thread",
    };
    char text[256];
    if (detail <= s->detail)
        return PP_OK;
    snprintf(text, sizeof(text), "%s%s (%s); their percentiles are those of the sums",
             s->progress.spans ? "from some point on " : "", kept[detail], why);
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

#define SLOTS 512u /* a power of two; at most half full, then merging starts afresh: parts add up */

size_t pp_detail_merge(enum pp_detail detail, pp_lane lane, struct pp_span *spans, size_t n)
{
    uint32_t slot[SLOTS] = {0}; /* 1 + index of a group's span; 0: free */
    size_t kept = 0, groups = 0;
    if (detail == PP_DETAIL_SAMPLE)
        return n;
    for (size_t i = 0; i < n; i++) {
        struct pp_span first = spans[i]; /* of its group */
        int of_one_sample = first.batch != PP_NO_BATCH && first.sample != PP_NO_SAMPLE &&
                            !(first.flags & PP_SPAN_COUNT),
            stays = first.phase == PP_PHASE_COUNTER ||
                    (first.flags & (PP_SPAN_ERROR | PP_SPAN_RETRY | PP_SPAN_UNFINISHED));
        if (stays || !(of_one_sample || (detail == PP_DETAIL_ROLLUP && lane != PP_LANE_TRAINER))) {
            spans[kept++] = first;
            continue;
        }
        if (!(first.flags & PP_SPAN_COUNT))
            first.sample = first.sample != PP_NO_SAMPLE;
        first.flags |= PP_SPAN_COUNT;
        if (detail == PP_DETAIL_ROLLUP)
            first.batch = PP_NO_BATCH;
        uint32_t h = (uint32_t)pp_mix64((uint64_t)first.batch << 32 ^ (uint64_t)first.name << 16 ^
                                        (uint64_t)first.phase << 8 ^ first.flags) &
                     (SLOTS - 1);
        struct pp_span *to = NULL; /* of its group, once slot[h] is taken by it */
        while (slot[h]) {
            to = &spans[slot[h] - 1];
            if (to->batch == first.batch && to->epoch == first.epoch && to->name == first.name &&
                to->phase == first.phase && to->flags == first.flags)
                break;
            h = (h + 1) & (SLOTS - 1);
        }
        if (slot[h]) {
            uint64_t kib = (uint64_t)to->cache_hit_kib + first.cache_hit_kib;
            to->dur_ns += first.dur_ns;
            to->sample += first.sample;
            to->bytes += first.bytes;
            to->cpu_ns += first.cpu_ns;
            to->run_delay_ns += first.run_delay_ns;
            to->cache_hit_kib = kib > UINT32_MAX ? UINT32_MAX : (uint32_t)kib;
            continue;
        }
        if (++groups > SLOTS / 2) {
            memset(slot, 0, sizeof(slot));
            groups = 1;
        }
        spans[kept++] = first;
        slot[h] = (uint32_t)kept;
    }
    return kept;
}

/* ---- chunks ---- */

static size_t spans_of(const struct pp_store_pending *p)
{
    return p->n + (p->chunk ? pp_chunk_builder_extent(p->chunk)->spans : 0);
}

static pp_status no_memory(struct pp_store *s)
{
    return pp_fail(&s->failure, PP_E_NO_MEMORY, "no memory to write spans to %s", s->path);
}

/* What waits goes into the chunk in the making. */
static pp_status add_to_chunk(struct pp_store *s, uint32_t thread)
{
    struct pp_store_pending *p = &s->pending[thread];
    int added = 1;
    if (s->detail != PP_DETAIL_SAMPLE)
        added = pp_chunk_builder_add(p->chunk, p->spans,
                                     pp_detail_merge(s->detail, (pp_lane)s->lane[thread], p->spans, p->n));
    else if (p->n)
        added = pp_chunk_builder_add_block(p->chunk, p->spans, p->n, &p->shape);
    p->n = 0;
    p->shape = (struct pp_chunk_shape){.gaps = 0};
    return added ? PP_OK : no_memory(s);
}

static pp_status write_chunk(struct pp_store *s, uint32_t thread, int compress)
{
    struct pp_store_pending *p = &s->pending[thread];
    uint64_t seq = p->seq, next_seq = seq + spans_of(p);
    size_t size;
    pp_status status = pp_store_begin(s);
    if (status)
        return status;
    /* The size is that of the last commit: spans of one transaction are left out together, from chunks and
     * from roll-ups. */
    if (s->max_bytes && s->file_bytes >= s->max_bytes) {
        /* Said at once, for a run that is killed; how many is said at the end. */
        if (!s->over_bytes)
            status = pp_store_put_loss(s, "detail", 0,
                                       "later spans are left out: the file reached its --max-bytes");
        s->over_bytes += next_seq - seq;
        p->seq = next_seq;
        p->n = 0;
        p->shape = (struct pp_chunk_shape){.gaps = 0};
        pp_chunk_builder_drop(p->chunk);
        return status;
    }
    status = add_to_chunk(s, thread);
    if (status)
        return status;
    struct pp_chunk_extent e = *pp_chunk_builder_extent(p->chunk);
    size_t n = e.spans;
    const uint8_t *body = pp_chunk_builder_end(p->chunk, s->codec, compress, &size);
    if (!body)
        return no_memory(s);
    s->progress.spans += n;
    s->progress.chunks++;
    s->progress.chunk_bytes += size;
    p->seq = next_seq;
    return pp_store_put_row(s, ST_CHUNK,
                            PP_ROW(v_int(thread), v_int(seq), v_int(n), v_int(e.first_start_ns),
                                   v_int(e.last_end_ns), v_int(pp_chunk_checksum(thread, seq, n, body, size)),
                                   v_blob(body, size), v_unless(next_seq, seq + n)));
}

/* A thread that brings many spans a commit, or whose chunks are cut by their size, is fast: compression can
 * wait, the rings cannot. */
pp_status pp_store_cut_chunks(struct pp_store *s)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < s->threads && !status; i++) {
        struct pp_store_pending *p = &s->pending[i];
        if (spans_of(p))
            status = write_chunk(s, i, !p->hurried && spans_of(p) < PP_STORE_MANY_SPANS);
        p->hurried = 0;
    }
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

/* ---- appending ---- */

/* In blocks, that stay in the first-level cache while converted, looked at, summed up and encoded. */
pp_status pp_store_append_from(struct pp_store *s, uint32_t thread, pp_span_source *source, void *ctx,
                               uint64_t *appended)
{
    if (thread >= PP_THREADS_MAX)
        return PP_E_USAGE;
    pp_status status = pp_store_enter(s);
    struct pp_store_pending *p = &s->pending[thread];
    size_t n = 1, room = 1;
    s->threads = thread < s->threads ? s->threads : thread + 1;
    while (!status && n == room) {
        /* Room for at least one more; with less detail for what is merged at a time, by and by. */
        if (p->n >= p->cap && !(pp_grow(&p->spans, &p->cap, p->cap + PP_CHUNK_BLOCK, sizeof(*p->spans)) &&
                                (p->chunk || (p->chunk = pp_chunk_builder_new())))) {
            status = no_memory(s);
            break;
        }
        room = p->cap - p->n < PP_CHUNK_BLOCK ? p->cap - p->n : PP_CHUNK_BLOCK;
        n = source(ctx, p->spans + p->n, room);
        *appended += n;
        status = n ? pp_store_begin(s) : PP_OK;
        if (status || !n)
            break;
        /* They are summed up, and pending from then on. */
        pp_chunk_look(p->chunk, &p->shape, p->spans, p->n, n);
        if (!(s->max_bytes && s->file_bytes >= s->max_bytes) &&
            pp_rollup_add(s->rollup, thread, p->spans + p->n, n, &p->shape) != SQLITE_OK) {
            status = pp_store_fail(s, "cannot write roll-ups to");
            break;
        }
        p->n += n;
        /* A block is complete, or as much as is merged at a time. */
        int full = p->n >= PP_STORE_MERGED_SPANS;
        if (s->detail == PP_DETAIL_SAMPLE) {
            status = p->n == PP_CHUNK_BLOCK ? add_to_chunk(s, thread) : PP_OK;
            full = !status && !p->n && pp_chunk_builder_extent(p->chunk)->spans >= PP_STORE_CHUNK_SPANS;
        }
        if (full) {
            p->hurried = 1;
            status = write_chunk(s, thread, 0);
        }
    }
    return pp_store_leave(s, status);
}

static void free_pending(struct pp_store_pending *p)
{
    free(p->spans);
    pp_chunk_builder_free(p->chunk);
    p->spans = NULL;
    p->chunk = NULL;
    p->cap = 0;
}

void pp_store_thread_ended(struct pp_store *s, uint32_t id)
{
    pthread_mutex_lock(&s->lock);
    struct pp_store_pending *p = id < PP_THREADS_MAX ? &s->pending[id] : NULL;
    if (p && !spans_of(p))
        free_pending(p);
    pthread_mutex_unlock(&s->lock);
}

void pp_store_free_spans(struct pp_store *s)
{
    for (uint32_t i = 0; i < s->threads; i++)
        free_pending(&s->pending[i]);
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
