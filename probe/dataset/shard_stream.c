/* Streaming: the shards of one rank in their order, each read from front to back, through a shuffle buffer.
 * Leased, they are those that are added one by one.
 *
 * The buffer holds B samples; the next one out is drawn at random, then one is read in its place. Left to
 * itself a draw can leave a sample behind for any length of time, and a resume from the oldest sample held
 * back would repeat everything read since. So the oldest goes next once B younger ones have overtaken it: a
 * resume from the cursor repeats at most B samples, and the ledger below needs no more than 2 B entries. */
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/format.h"
#include "probe/dataset/shard_tar.h"

enum {
    READ_BLOCK = 1 << 20, /* bytes per read of a shard */
    MAX_SHUFFLE = 1 << 20,
    MAX_FAILURES = 8,
};
enum { SHARD_ORDER_STREAM = 11, SHUFFLE_STREAM = 12 }; /* of pp_rng_key */

struct place {
    uint64_t position; /* in the order of shards */
    uint64_t offset;   /* in that shard: where the first header of a sample lies, or 0 */
};

struct read_sample {
    struct pp_sample bytes; /* buffer, size, label, page-cache knowledge */
    char *key;              /* owned, zero-terminated */
    size_t key_cap, key_size;
    uint64_t shard; /* index in the dataset */
    uint64_t place; /* in the shard: images before it */
    int has_image;
};

/* Reads the samples of some shards one after another, each shard from front to back in large reads. The
 * stream fills dataset, order, shards, step and at. */
struct reader {
    const struct pp_dataset *dataset;
    const uint64_t *order;      /* dataset's shard by position */
    uint64_t shards, step;      /* every step-th position below shards is read */
    struct place at;            /* where the next sample begins; position >= shards: all is read */
    uint64_t samples, troubles; /* found so far; failures met so far */
    uint64_t in_shard;          /* samples of the shard at hand */
    /* the shard at hand */
    struct pp_tar *tar;
    struct pp_object file;
    struct pp_tar_member member;
    int has_member;    /* member was read ahead and begins the next sample */
    unsigned failures; /* in a row, of those that may pass */
    uint64_t troubled; /* shard (index in the dataset) of the last failure */
    pp_status late;    /* a defect found behind a good sample: reported by the next call */
    struct pp_err late_err;
};

/* A sample that was read and not yet handed out. Its buffer changes hands with the caller's on delivery:
 * nothing is copied. */
struct held {
    struct read_sample sample;
    uint64_t number; /* in the order read */
};

/* Where a sample was read, by its number. */
struct ledger_entry {
    struct place place;
    size_t slot; /* in held; DELIVERED when it is no longer there */
};
#define DELIVERED SIZE_MAX

struct shard_stream {
    struct pp_stream base;
    const struct pp_dataset *dataset;
    struct pp_stream_opts opts;
    uint64_t *order; /* shard by position in this epoch's order */
    uint64_t *added; /* opts.leased: shard by position among those that came; the reader's order then */
    size_t added_room;
    int draining; /* leased: there is no shard now */
    struct begun {
        uint64_t shard, first;
    } * begun; /* and not told yet */
    size_t n_begun, begun_told, begun_room;
    uint64_t begun_at; /* position of the newest; UINT64_MAX: none */
    struct pp_rng rng;
    struct reader reader;
    struct held *held; /* capacity of them, the first n_held in use */
    size_t capacity, n_held;
    struct ledger_entry *ledger; /* ring of 2 * capacity + 1, by number */
    uint64_t oldest, next_number;
    uint64_t delivered, to_skip;
    int said_empty;
};

/* ---- the shards in a row ---- */

static const char *shard_path(const struct reader *r)
{
    return pp_shards_of(r->dataset)->path[r->order[r->at.position]];
}

static void close_shard(struct reader *r)
{
    pp_tar_close(r->tar);
    r->tar = NULL;
    r->has_member = 0;
    pp_object_close(&r->file);
}

static void leave_shard(struct reader *r)
{
    close_shard(r);
    r->at.position += r->step;
    r->at.offset = 0;
    r->failures = 0;
    r->in_shard = 0;
}

/* What a failure means for the reader: one that may pass leaves it before the sample at hand, to be tried
 * again (not for ever); any other costs the rest of the shard. */
static pp_status after_failure(struct reader *r, pp_status why, struct pp_err *err)
{
    int may_pass = why == PP_E_TRANSIENT || why == PP_E_NO_MEMORY;
    r->troubles++;
    if (may_pass && ++r->failures < MAX_FAILURES) {
        close_shard(r);
        return why;
    }
    if (may_pass)
        why = pp_fail(err, PP_E_IO,
                      "gave up on %s at byte %llu after %d failures in a row; its other samples are left out",
                      shard_path(r), (unsigned long long)r->at.offset, MAX_FAILURES);
    leave_shard(r);
    return why;
}

static pp_status read_image(struct reader *r, struct read_sample *h, struct pp_err *err)
{
    char what[512];
    size_t got, size = r->member.size;
    snprintf(what, sizeof(what), "cannot read %s in %s", r->member.name, shard_path(r));
    pp_sample_trim(&h->bytes);
    pp_status s = pp_sample_reserve(&h->bytes, r->member.size, what, err);
    for (h->bytes.size = 0; s == PP_OK && h->bytes.size < size; h->bytes.size += got) {
        s = pp_tar_data(r->tar, h->bytes.buf + h->bytes.size, size - h->bytes.size, &got, err);
        if (s == PP_OK && got == 0)
            s = pp_fail(err, PP_E_CORRUPT, "%s is truncated in %s", shard_path(r), r->member.name);
    }
    if (s != PP_OK)
        return s;
    double share = pp_tar_cached_share(r->tar);
    h->bytes.cache_known = share >= 0;
    h->bytes.cache_hit_bytes = share > 0 ? (size_t)(share * (double)size) : 0;
    h->has_image = 1;
    return PP_OK;
}

/* Reads members until the key changes. PP_OK: it changed, and the first member of the next key is kept in
 * r->member. PP_END: the shard is read, h may hold its last sample. */
static pp_status read_group(struct reader *r, struct read_sample *h, struct pp_err *err)
{
    struct pp_tar_member *m = &r->member;
    h->bytes.label = -1;
    h->shard = r->order[r->at.position];
    for (int open = 0;;) {
        size_t key_size;
        pp_status s = r->has_member ? PP_OK : pp_tar_next(r->tar, m, err);
        r->has_member = 0;
        if (s == PP_OK && m->truncated)
            return pp_fail(err, PP_E_CORRUPT, "%s is truncated in %s at byte %llu", shard_path(r), m->name,
                           (unsigned long long)m->header_offset);
        if (s == PP_END && m->lacks_end)
            return pp_fail(err, PP_E_CORRUPT,
                           "%s has no end-of-archive mark: it may be truncated between two samples",
                           shard_path(r));
        if (s != PP_OK)
            return s;
        const char *extension = pp_tar_split(m->name, &key_size);
        if (!m->regular || !extension)
            continue;
        if (open && (key_size != h->key_size || memcmp(h->key, m->name, key_size) != 0)) {
            r->has_member = 1;
            return PP_OK;
        }
        if (!open) {
            if (!pp_grow(&h->key, &h->key_cap, key_size + 1, 1))
                return pp_fail(err, PP_E_NO_MEMORY, "no memory for a key of %zu bytes", key_size);
            memcpy(h->key, m->name, key_size);
            h->key[key_size] = '\0';
            h->key_size = key_size;
            open = 1;
        }
        enum pp_tar_role role = pp_tar_role(extension);
        if (role == PP_TAR_IMAGE && !h->has_image && r->late == PP_OK)
            s = read_image(r, h, err);
        else if (role == PP_TAR_LABEL)
            s = pp_tar_label(r->tar, m, &h->bytes.label, err);
        if (s == PP_E_UNSUPPORTED) { /* larger than a sample may be: it is left out, and the shard goes on */
            r->troubled = h->shard;
            r->troubles++;
            r->late = s;
            if (err)
                r->late_err = *err;
            s = PP_OK;
        }
        if (s != PP_OK)
            return s;
    }
}

/* The next sample, and where it began. PP_END after the last. After PP_E_TRANSIENT or PP_E_NO_MEMORY the next
 * call tries the same sample again, after any other failure it goes on with the next shard. */
static pp_status read_next(struct reader *r, struct read_sample *h, struct place *where, struct pp_err *err)
{
    while (r->late == PP_OK && r->at.position < r->shards) {
        struct pp_err why;
        pp_err_clear(&why);
        *where = r->at;
        h->has_image = 0;
        h->place = r->in_shard;
        pp_status s = PP_OK;
        if (!r->tar) {
            const struct pp_storage *storage = pp_shards_of(r->dataset)->storage;
            const struct pp_open o = {.name = shard_path(r),
                                      .how = PP_OPEN_SEQUENTIAL,
                                      .attempt = "open the shard"};
            const struct pp_tar_file file = {.shard = &r->file,
                                             .path = o.name,
                                             .size = PP_SIZE_UNKNOWN,
                                             .in_order = 1};
            size_t remote = pp_storage_request_bytes(storage);
            s = pp_storage_open(storage, &o, &r->file, &why);
            if (s == PP_OK)
                s = pp_tar_open(&file, r->at.offset, remote > READ_BLOCK ? remote : READ_BLOCK, &r->tar,
                                &why);
        }
        if (s == PP_OK)
            s = read_group(r, h, &why);
        r->in_shard += s == PP_OK && h->has_image;
        if (s == PP_OK) {
            r->at.offset = r->member.header_offset;
            r->failures = 0;
        } else if (s == PP_END) {
            leave_shard(r);
        } else {
            r->troubled = r->order[where->position];
            s = after_failure(r, s, &why);
            if (!h->has_image || s == PP_E_TRANSIENT || s == PP_E_NO_MEMORY) {
                if (err)
                    *err = why;
                return s;
            }
            r->late = s;
            r->late_err = why;
        }
        if (h->has_image) {
            r->samples++;
            return PP_OK;
        }
    }
    if (r->late == PP_OK)
        return PP_END;
    pp_status late = r->late;
    r->late = PP_OK;
    if (err)
        *err = r->late_err;
    return late;
}

/* ---- the shuffle buffer ---- */

static struct ledger_entry *ledger_of(const struct shard_stream *st, uint64_t number)
{
    return &st->ledger[number % (2 * st->capacity + 1)];
}

int pp_stream_wants(const struct pp_stream *base)
{
    const struct shard_stream *st = (const struct shard_stream *)base;
    return st->opts.leased && st->reader.at.position >= st->reader.shards && st->reader.late == PP_OK;
}

/* Draws a sample and takes it out of the buffer: it stands at held[n_held] until the next call. */
static pp_status next_held(struct shard_stream *st, struct held **out, struct pp_err *err)
{
    pp_status s = PP_OK;
    /* Until the buffer is full. A shard that begins is noted, to be told of; without memory it is not. */
    while (s == PP_OK && st->n_held < st->capacity) {
        struct place place;
        struct held *h = &st->held[st->n_held];
        if (pp_stream_wants(&st->base))
            s = st->draining ? PP_END : PP_E_INTERRUPTED;
        else
            s = read_next(&st->reader, &h->sample, &place, err);
        if (s != PP_OK)
            break;
        h->number = st->next_number;
        if (place.position != st->begun_at) {
            st->begun_at = place.position;
            if (st->begun_told == st->n_begun)
                st->begun_told = st->n_begun = 0;
            if (pp_grow(&st->begun, &st->begun_room, st->n_begun + 1, sizeof(*st->begun)))
                st->begun[st->n_begun++] = (struct begun){h->sample.shard, h->number};
        }
        *ledger_of(st, st->next_number++) = (struct ledger_entry){.place = place, .slot = st->n_held++};
    }
    if (s != PP_OK && s != PP_END)
        return s;
    if (st->n_held == 0)
        return PP_END;
    uint64_t overtaken_by = st->next_number - st->oldest - st->n_held;
    size_t slot = (size_t)pp_rng_below(&st->rng, st->n_held), last = st->n_held - 1;
    if (overtaken_by >= st->capacity)
        slot = ledger_of(st, st->oldest)->slot;
    struct held drawn = st->held[slot];
    st->n_held = last;
    st->held[slot] = st->held[last];
    st->held[last] = drawn;
    ledger_of(st, st->held[slot].number)->slot = slot;
    ledger_of(st, drawn.number)->slot = DELIVERED;
    while (st->oldest < st->next_number && ledger_of(st, st->oldest)->slot == DELIVERED)
        st->oldest++;
    st->delivered++;
    *out = &st->held[last];
    return PP_OK;
}

/* ---- the interface ---- */

static pp_status check_opts(const struct pp_dataset *d, const struct pp_stream_opts *o, struct pp_err *err)
{
    if (o->leased && (o->skip || o->from.shard || o->from.offset))
        return pp_fail(err, PP_E_USAGE, "a leased stream cannot be resumed: the leases say what is done");
    if (!o->leased && o->rank >= pp_shards_of(d)->n)
        return pp_fail(
            err, PP_E_USAGE,
            "%llu shards are too few for %llu ranks: rank %llu gets none; use fewer ranks or more shards",
            (unsigned long long)pp_shards_of(d)->n, (unsigned long long)o->world_size,
            (unsigned long long)o->rank);
    if (o->shuffle_buffer > MAX_SHUFFLE)
        return pp_fail(err, PP_E_USAGE, "a shuffle buffer of %llu samples is more than %d",
                       (unsigned long long)o->shuffle_buffer, MAX_SHUFFLE);
    if (o->from.shard % o->world_size != (o->from.shard || o->from.offset ? o->rank : 0))
        return pp_fail(
            err, PP_E_USAGE,
            "the cursor is at shard %llu, which rank %llu of %llu does not read: it was saved with other ranks",
            (unsigned long long)o->from.shard, (unsigned long long)o->rank,
            (unsigned long long)o->world_size);
    return PP_OK;
}

static pp_status stream_next(struct pp_stream *base, struct pp_sample *s, char *path, size_t path_size,
                             struct pp_err *err)
{
    struct shard_stream *st = (struct shard_stream *)base;
    struct held *h;
    pp_status status = PP_OK;
    s->size = 0;
    /* What was delivered before is gone through. Defects met again were reported then. */
    while (st->to_skip > 0 && status != PP_END && status != PP_E_TRANSIENT && status != PP_E_NO_MEMORY) {
        status = next_held(st, &h, err);
        st->to_skip -= status == PP_OK;
    }
    if (st->to_skip == 0)
        status = next_held(st, &h, err);
    if (status == PP_E_INTERRUPTED)
        return pp_fail(err, status, "the stream waits for a shard");
    if (status == PP_END && !st->opts.leased && st->reader.samples == 0 && st->reader.troubles == 0 &&
        st->opts.from.delivered == 0 && !st->said_empty) {
        st->said_empty = 1;
        return pp_fail(
            err, PP_E_EMPTY,
            "no sample in the shards of this rank: none of their members is a .jpg .jpeg .png or .webp");
    }
    if (status != PP_OK && status != PP_END && path && path_size > 0)
        snprintf(path, path_size, "%s", pp_shards_of(st->dataset)->path[st->reader.troubled]);
    if (status != PP_OK)
        return status;
    /* The two buffers change hands. */
    const char *shard = pp_shards_of(st->dataset)->path[h->sample.shard];
    uint64_t grown = s->grown + h->sample.bytes.grown;
    struct pp_sample given = {.buf = s->buf, .cap = s->cap, .limit = h->sample.bytes.limit};
    *s = h->sample.bytes;
    s->data = s->buf;
    s->index = st->opts.leased ? PP_LEASED_SAMPLE(h->sample.shard, h->sample.place) : h->number;
    s->grown = grown;
    h->sample.bytes = given;
    if (path && path_size > 0)
        snprintf(path, path_size, "%s:%s", shard, h->sample.key);
    return s->size ? PP_OK : pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", h->sample.key, shard);
}

static void stream_cursor(const struct pp_stream *base, struct pp_stream_cursor *out)
{
    const struct shard_stream *st = (const struct shard_stream *)base;
    const struct place *place = st->oldest == st->next_number ? &st->reader.at
                                                              : &ledger_of(st, st->oldest)->place;
    *out = (struct pp_stream_cursor){.shard = place->position,
                                     .offset = place->offset,
                                     .delivered = st->delivered,
                                     .number = st->oldest};
}

static int stream_begun(struct pp_stream *base, uint64_t *shard, uint64_t *first)
{
    struct shard_stream *st = (struct shard_stream *)base;
    if (st->begun_told == st->n_begun)
        return 0;
    *shard = st->begun[st->begun_told].shard;
    *first = st->begun[st->begun_told++].first;
    return 1;
}

/* ---- leased (dataset.h): shards are added one by one ---- */

const uint64_t *pp_stream_order(const struct pp_stream *base)
{
    return ((const struct shard_stream *)base)->order;
}

pp_status pp_stream_add(struct pp_stream *base, uint64_t shard, struct pp_err *err)
{
    struct shard_stream *st = (struct shard_stream *)base;
    if (!pp_grow(&st->added, &st->added_room, st->reader.shards + 1, sizeof(*st->added)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the leases of %llu shards",
                       (unsigned long long)st->reader.shards + 1);
    st->reader.order = st->added;
    st->added[st->reader.shards++] = shard;
    st->draining = 0;
    return PP_OK;
}

void pp_stream_drain(struct pp_stream *base, int on)
{
    ((struct shard_stream *)base)->draining = on;
}

uint64_t pp_stream_at(const struct pp_stream *base)
{
    return pp_stream_wants(base) ? UINT64_MAX : ((const struct shard_stream *)base)->reader.at.position;
}

void pp_stream_leave(struct pp_stream *base)
{
    if (!pp_stream_wants(base))
        leave_shard(&((struct shard_stream *)base)->reader);
}

static void stream_close(struct pp_stream *base)
{
    struct shard_stream *st = (struct shard_stream *)base;
    close_shard(&st->reader);
    for (size_t i = 0; st->held && i < st->capacity; i++) {
        pp_sample_free(&st->held[i].sample.bytes);
        free(st->held[i].sample.key);
    }
    free(st->held);
    free(st->ledger);
    free(st->order);
    free(st->added);
    free(st->begun);
    free(st);
}

static const struct pp_stream_ops shard_stream_ops = {.next = stream_next,
                                                      .cursor = stream_cursor,
                                                      .close = stream_close,
                                                      .begun = stream_begun};

pp_status pp_shards_stream(const struct pp_dataset *d, const struct pp_stream_opts *o, struct pp_stream **out,
                           struct pp_err *err)
{
    pp_status s = check_opts(d, o, err);
    if (s != PP_OK)
        return s;
    struct shard_stream *st = calloc(1, sizeof(*st));
    if (!st)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the stream");
    st->base.ops = &shard_stream_ops;
    st->begun_at = UINT64_MAX;
    uint64_t shards = pp_shards_of(d)->n;
    st->dataset = d;
    st->opts = *o;
    st->capacity = o->shuffle_buffer > 0 ? o->shuffle_buffer : 1;
    st->order = malloc(shards * sizeof(*st->order));
    st->held = calloc(st->capacity, sizeof(*st->held));
    st->ledger = calloc(2 * st->capacity + 1, sizeof(*st->ledger));
    if (!st->order || !st->held || !st->ledger) {
        s = pp_fail(err, PP_E_NO_MEMORY, "no memory for a shuffle buffer of %zu samples", st->capacity);
        stream_close(&st->base);
        return s;
    }
    for (uint64_t i = 0; i < shards; i++)
        st->order[i] = i;
    for (size_t i = 0; i < st->capacity; i++)
        st->held[i].sample.bytes.limit = o->sample_limit;
    int resumed = o->from.shard || o->from.offset;
    st->reader = (struct reader){.dataset = d, .step = 1}; /* leased: shards are added */
    if (!o->leased)
        st->reader = (struct reader){
            .dataset = d,
            .order = st->order,
            .shards = shards,
            .step = o->world_size,
            .at = {.position = resumed ? o->from.shard : o->rank, .offset = o->from.offset},
        };
    /* Fisher and Yates, keyed by (seed, epoch) alone so that all ranks agree. */
    struct pp_rng rng = pp_rng_key(o->seed, o->epoch, 0, SHARD_ORDER_STREAM);
    for (uint64_t i = o->shuffle_shards ? shards : 0; i > 1; i--) {
        uint64_t k = pp_rng_below(&rng, i), kept = st->order[i - 1];
        st->order[i - 1] = st->order[k];
        st->order[k] = kept;
    }
    st->rng = pp_rng_key(o->seed, o->epoch, o->rank, SHUFFLE_STREAM + (resumed ? o->from.delivered : 0));
    st->delivered = o->from.delivered;
    st->oldest = st->next_number = o->from.number;
    st->to_skip = o->skip;
    *out = &st->base;
    return PP_OK;
}
