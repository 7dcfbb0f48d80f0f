/* Streaming: the shards of one rank in their order, each read from front to back, through a shuffle buffer.
 * Leased, they are those that are added one by one.
 *
 * The buffer holds B samples; the next one out is drawn at random, then one is read in its place. Left to
 * itself a draw can leave a sample behind for any length of time, and a resume from the oldest sample held
 * back would repeat everything read since. So the oldest goes next once B younger ones have overtaken it: a
 * resume from the cursor repeats at most B samples, and the ledger below needs no more than 2 B entries. */
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/format.h"
#include "probe/dataset/shard_reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_SHUFFLE = 1 << 20 };
enum { SHARD_ORDER_STREAM = 11, SHUFFLE_STREAM = 12 }; /* of pp_rng_key */

/* A sample that was read and not yet handed out. Its buffer changes hands with the caller's on delivery:
 * nothing is copied. */
struct held {
    struct pp_shard_sample sample;
    uint64_t number; /* in the order read */
};

/* Where a sample was read, by its number. */
struct ledger_entry {
    struct pp_shard_place place;
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
    struct pp_shard_reader reader;
    struct held *held; /* capacity of them, the first n_held in use */
    size_t capacity, n_held;
    struct ledger_entry *ledger; /* ring of 2 * capacity + 1, by number */
    uint64_t oldest, next_number;
    uint64_t delivered, to_skip;
    int said_empty;
};

/* ---- the shuffle buffer ---- */

static struct ledger_entry *ledger_of(struct shard_stream *st, uint64_t number)
{
    return &st->ledger[number % (2 * st->capacity + 1)];
}

/* Without memory a shard is not told of. */
static void note_begun(struct shard_stream *st, const struct held *h, uint64_t position)
{
    if (position == st->begun_at)
        return;
    st->begun_at = position;
    if (st->begun_told == st->n_begun)
        st->begun_told = st->n_begun = 0;
    if (st->n_begun == st->begun_room) {
        size_t room = st->begun_room ? st->begun_room * 2 : 16;
        struct begun *grown = realloc(st->begun, room * sizeof(*grown));
        if (!grown)
            return;
        st->begun = grown;
        st->begun_room = room;
    }
    st->begun[st->n_begun++] = (struct begun){h->sample.shard, h->number};
}

static int wants(const struct shard_stream *st)
{
    return st->opts.leased && st->reader.at.position >= st->reader.shards && st->reader.late == PP_OK;
}

static pp_status fill(struct shard_stream *st, struct pp_err *err)
{
    while (st->n_held < st->capacity) {
        struct pp_shard_place place;
        struct held *h = &st->held[st->n_held];
        if (wants(st))
            return st->draining ? PP_END : PP_E_INTERRUPTED;
        pp_status s = pp_shard_reader_next(&st->reader, &h->sample, &place, err);
        if (s != PP_OK)
            return s;
        h->number = st->next_number;
        note_begun(st, h, place.position);
        *ledger_of(st, st->next_number++) = (struct ledger_entry){.place = place, .slot = st->n_held++};
    }
    return PP_OK;
}

static size_t draw(struct shard_stream *st)
{
    uint64_t overtaken_by = st->next_number - st->oldest - st->n_held;
    size_t drawn = (size_t)pp_rng_below(&st->rng, st->n_held);
    return overtaken_by >= st->capacity ? ledger_of(st, st->oldest)->slot : drawn;
}

/* Takes slot out of the buffer; what it held stands at held[n_held] afterwards, until the next fill. */
static struct held *release(struct shard_stream *st, size_t slot)
{
    struct held out = st->held[slot];
    size_t last = --st->n_held;
    st->held[slot] = st->held[last];
    st->held[last] = out;
    ledger_of(st, st->held[slot].number)->slot = slot;
    ledger_of(st, out.number)->slot = DELIVERED;
    while (st->oldest < st->next_number && ledger_of(st, st->oldest)->slot == DELIVERED)
        st->oldest++;
    st->delivered++;
    return &st->held[last];
}

static pp_status next_held(struct shard_stream *st, struct held **out, struct pp_err *err)
{
    pp_status s = fill(st, err);
    if (s != PP_OK && s != PP_END)
        return s;
    if (st->n_held == 0)
        return PP_END;
    *out = release(st, draw(st));
    return PP_OK;
}

/* ---- the interface ---- */

/* Fisher and Yates, keyed by (seed, epoch) alone so that all ranks agree. */
static void shuffle_shards(struct shard_stream *st)
{
    struct pp_rng rng = pp_rng_key(st->opts.seed, st->opts.epoch, 0, SHARD_ORDER_STREAM);
    for (uint64_t i = pp_shards_count(st->dataset); i > 1; i--) {
        uint64_t k = pp_rng_below(&rng, i), kept = st->order[i - 1];
        st->order[i - 1] = st->order[k];
        st->order[k] = kept;
    }
}

static pp_status check_opts(const struct pp_dataset *d, const struct pp_stream_opts *o, struct pp_err *err)
{
    if (o->leased && (o->skip || o->from.shard || o->from.offset))
        return pp_fail(err, PP_E_USAGE, "a leased stream cannot be resumed: the leases say what is done");
    if (!o->leased && o->rank >= pp_shards_count(d))
        return pp_fail(
            err, PP_E_USAGE,
            "%llu shards are too few for %llu ranks: rank %llu gets none; use fewer ranks or more shards",
            (unsigned long long)pp_shards_count(d), (unsigned long long)o->world_size,
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

/* Goes through what was delivered before. Defects met again were reported then. */
static pp_status skip(struct shard_stream *st, struct pp_err *err)
{
    struct held *h;
    while (st->to_skip > 0) {
        pp_status s = next_held(st, &h, err);
        if (s == PP_OK)
            st->to_skip--;
        else if (s == PP_END || s == PP_E_TRANSIENT || s == PP_E_NO_MEMORY)
            return s;
    }
    return PP_OK;
}

static void hand_over(struct shard_stream *st, struct held *h, struct pp_sample *s, char *path,
                      size_t path_size)
{
    uint64_t grown = s->grown + h->sample.bytes.grown;
    struct pp_sample given = {.buf = s->buf, .cap = s->cap, .limit = h->sample.bytes.limit};
    *s = h->sample.bytes;
    s->data = s->buf;
    s->index = st->opts.leased ? PP_LEASED_SAMPLE(h->sample.shard, h->sample.place) : h->number;
    s->grown = grown;
    h->sample.bytes = given;
    if (path && path_size > 0)
        snprintf(path, path_size, "%s:%s", pp_shards_path(st->dataset, h->sample.shard), h->sample.key);
}

static pp_status stream_next(struct pp_stream *base, struct pp_sample *s, char *path, size_t path_size,
                             struct pp_err *err)
{
    struct shard_stream *st = (struct shard_stream *)base;
    struct held *h;
    s->size = 0;
    pp_status status = skip(st, err);
    if (status == PP_OK)
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
        snprintf(path, path_size, "%s", pp_shards_path(st->dataset, st->reader.troubled));
    if (status != PP_OK)
        return status;
    hand_over(st, h, s, path, path_size);
    if (s->size == 0)
        return pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", h->sample.key,
                       pp_shards_path(st->dataset, h->sample.shard));
    return PP_OK;
}

static void stream_cursor(const struct pp_stream *base, struct pp_stream_cursor *out)
{
    const struct shard_stream *st = (const struct shard_stream *)base;
    const struct ledger_entry *e = &st->ledger[st->oldest % (2 * st->capacity + 1)];
    const struct pp_shard_place *place = st->oldest == st->next_number ? &st->reader.at : &e->place;
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

/* ---- leased: shards are added one by one ---- */

static const uint64_t *stream_order(const struct pp_stream *base)
{
    return ((const struct shard_stream *)base)->order;
}

static int stream_wants(const struct pp_stream *base)
{
    return wants((const struct shard_stream *)base);
}

static pp_status stream_add(struct pp_stream *base, uint64_t shard, struct pp_err *err)
{
    struct shard_stream *st = (struct shard_stream *)base;
    if (st->reader.shards == st->added_room) {
        size_t room = st->added_room ? st->added_room * 2 : 16;
        uint64_t *grown = realloc(st->added, room * sizeof(*grown));
        if (!grown)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the leases of %zu shards", room);
        st->reader.order = st->added = grown;
        st->added_room = room;
    }
    st->added[st->reader.shards++] = shard;
    st->draining = 0;
    return PP_OK;
}

static void stream_drain(struct pp_stream *base, int on)
{
    ((struct shard_stream *)base)->draining = on;
}

static uint64_t stream_at(const struct pp_stream *base)
{
    const struct shard_stream *st = (const struct shard_stream *)base;
    return wants(st) ? UINT64_MAX : st->reader.at.position;
}

static void stream_leave(struct pp_stream *base)
{
    struct shard_stream *st = (struct shard_stream *)base;
    if (!wants(st))
        pp_shard_reader_leave(&st->reader);
}

static const struct pp_stream_lease_ops lease_ops = {.order = stream_order,
                                                     .wants = stream_wants,
                                                     .add = stream_add,
                                                     .drain = stream_drain,
                                                     .at = stream_at,
                                                     .leave = stream_leave};

static void stream_close(struct pp_stream *base)
{
    struct shard_stream *st = (struct shard_stream *)base;
    pp_shard_reader_close(&st->reader);
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
                                                      .begun = stream_begun,
                                                      .lease = &lease_ops};

pp_status pp_shards_stream(const struct pp_dataset *d, const struct pp_stream_opts *opts,
                           struct pp_stream **out, struct pp_err *err)
{
    struct pp_stream_opts o = *opts;
    pp_status s = check_opts(d, &o, err);
    if (s != PP_OK)
        return s;
    struct shard_stream *st = calloc(1, sizeof(*st));
    if (!st)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the stream");
    st->base.ops = &shard_stream_ops;
    st->begun_at = UINT64_MAX;
    uint64_t shards = pp_shards_count(d);
    st->dataset = d;
    st->opts = o;
    st->capacity = o.shuffle_buffer > 0 ? o.shuffle_buffer : 1;
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
        st->held[i].sample.bytes.limit = o.sample_limit;
    int resumed = o.from.shard || o.from.offset;
    st->reader = (struct pp_shard_reader){
        .dataset = d,
        .order = st->order,
        .shards = shards,
        .step = o.world_size,
        .at = {.position = resumed ? o.from.shard : o.rank, .offset = o.from.offset},
    };
    if (o.leased) {
        st->reader.order = st->added;
        st->reader.shards = 0;
        st->reader.step = 1;
        st->reader.at.position = 0;
    }
    if (o.shuffle_shards)
        shuffle_shards(st);
    st->rng = pp_rng_key(o.seed, o.epoch, o.rank, SHUFFLE_STREAM + (resumed ? o.from.delivered : 0));
    st->delivered = o.from.delivered;
    st->oldest = st->next_number = o.from.number;
    st->to_skip = o.skip;
    *out = &st->base;
    return PP_OK;
}
