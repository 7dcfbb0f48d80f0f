/* Streaming: the shards of one rank in their order, each read from front to back, through a shuffle buffer.
 *
 * The buffer holds B samples; the next one out is drawn at random, then one is read in its place. Left to itself a draw can leave a sample
 * behind for any length of time, and a resume from the oldest sample held back would repeat everything read since. So the
 * oldest goes next once B younger ones have overtaken it: a resume from the cursor repeats at most B samples, and the
 * ledger below needs no more than 2 B entries. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "probe/loader/dataset_ops.h"
#include "probe/loader/dataset_shards.h"
#include "probe/loader/shard_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAM_BLOCK = 1 << 20, MAX_SHUFFLE = 1 << 20, MAX_FAILURES = 8 };
enum { SHARD_ORDER_STREAM = 11, SHUFFLE_STREAM = 12 }; /* of pp_rng_key */

/* A sample that was read and not yet handed out. */
struct held {
    struct pp_sample bytes; /* its buffer changes hands with the caller's on delivery: nothing is copied */
    char *key;
    size_t key_cap, key_size;
    uint64_t shard;  /* index in the dataset */
    uint64_t number; /* in the order read */
    int has_image;
};

/* Where a sample that is not yet delivered was read, by its number. */
struct ledger_entry {
    uint64_t position, offset;
    size_t slot; /* in held; DELIVERED when it is no longer there */
};
#define DELIVERED SIZE_MAX

struct pp_stream {
    const struct pp_dataset *dataset;
    struct pp_stream_opts opts;
    uint64_t *order; /* shard by position in this epoch's order */
    uint64_t shards;
    struct pp_rng rng;
    /* the reader */
    uint64_t position; /* of the current shard; >= shards: the epoch is read */
    uint64_t offset;   /* where the next sample's first header lies */
    struct pp_tar *tar;
    int fd;
    struct pp_tar_member member;
    int has_member;    /* member was read ahead and begins the next sample */
    unsigned failures; /* transient ones in a row */
    pp_status late;    /* a defect found while finishing a good sample: reported by the next call */
    struct pp_err late_err;
    uint64_t samples_read, troubles;
    /* the buffer */
    struct held *held; /* capacity of them, the first n_held in use */
    size_t capacity, n_held;
    struct ledger_entry *ledger; /* ring of 2 * capacity + 1, by number */
    uint64_t oldest, next_number;
    uint64_t delivered, to_skip;
};

/* ---- the reader ------------------------------------------------------------------------------------------------------------ */

static const char *shard_path(const struct pp_stream *st)
{
    return pp_shards_path(st->dataset, st->order[st->position]);
}

static void close_shard(struct pp_stream *st)
{
    pp_tar_close(st->tar);
    st->tar = NULL;
    st->has_member = 0;
    if (st->fd >= 0)
        close(st->fd);
    st->fd = -1;
}

static void leave_shard(struct pp_stream *st)
{
    close_shard(st);
    st->position += st->opts.world_size;
    st->offset = 0;
    st->failures = 0;
}

/* What a failure means for the reader: one that may pass leaves it before the sample at hand, to be tried again (not for ever); any other
 * costs the rest of the shard. */
static pp_status after_failure(struct pp_stream *st, pp_status why, struct pp_err *err)
{
    int may_pass = why == PP_E_TRANSIENT || why == PP_E_NO_MEMORY;
    st->troubles++;
    if (may_pass && ++st->failures < MAX_FAILURES) {
        close_shard(st);
        return why;
    }
    if (may_pass)
        why = pp_fail(err, PP_E_IO, "gave up on %s at byte %llu after %d failures in a row; its other samples are left out", shard_path(st),
                      (unsigned long long)st->offset, MAX_FAILURES);
    leave_shard(st);
    return why;
}

static pp_status open_shard(struct pp_stream *st, struct pp_err *err)
{
    struct stat info;
    const char *path = shard_path(st);
    st->fd = pp_io_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (st->fd < 0 || fstat(st->fd, &info) != 0)
        return pp_fail_errno(err, errno, "cannot open the shard %s", path);
    posix_fadvise(st->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (st->offset > (uint64_t)info.st_size)
        return pp_fail(err, PP_E_CORRUPT,
                       "%s has %lld bytes and cannot be read on from byte %llu: it is not the shard the cursor was saved for", path,
                       (long long)info.st_size, (unsigned long long)st->offset);
    return pp_tar_open(st->fd, path, (uint64_t)info.st_size, st->offset, STREAM_BLOCK, &st->tar, err);
}

/* The member read ahead, or the next one. */
static pp_status next_member(struct pp_stream *st, struct pp_err *err)
{
    pp_status s = st->has_member ? PP_OK : pp_tar_next(st->tar, &st->member, err);
    st->has_member = 0;
    if (s == PP_OK && st->member.truncated)
        return pp_fail(err, PP_E_CORRUPT, "%s ends in the middle, of %s at byte %llu", shard_path(st), st->member.name,
                       (unsigned long long)st->member.header_offset);
    if (s == PP_END && pp_tar_lacks_end(st->tar))
        return pp_fail(err, PP_E_CORRUPT, "%s lacks the end-of-archive mark: it may have been cut off between two samples", shard_path(st));
    return s;
}

static int set_key(struct held *h, const char *key, size_t size)
{
    if (size + 1 > h->key_cap) {
        char *grown = realloc(h->key, size + 64);
        if (!grown)
            return -1;
        h->key = grown;
        h->key_cap = size + 64;
    }
    memcpy(h->key, key, size);
    h->key[size] = '\0';
    h->key_size = size;
    return 0;
}

static pp_status take_image(struct pp_stream *st, struct held *h, struct pp_err *err)
{
    size_t got, size = st->member.size;
    pp_status s = pp_sample_reserve(&h->bytes, size, err);
    for (h->bytes.size = 0; s == PP_OK && h->bytes.size < size; h->bytes.size += got) {
        s = pp_tar_data(st->tar, h->bytes.buf + h->bytes.size, size - h->bytes.size, &got, err);
        if (s == PP_OK && got == 0)
            s = pp_fail(err, PP_E_CORRUPT, "%s ends in the middle, of %s", shard_path(st), st->member.name);
    }
    if (s != PP_OK)
        return s;
    double share = pp_tar_cached_share(st->tar);
    h->bytes.cache_known = share >= 0;
    h->bytes.cache_hit_bytes = share > 0 ? (size_t)(share * (double)size) : 0;
    h->has_image = 1;
    return PP_OK;
}

static pp_status take_member(struct pp_stream *st, struct held *h, const char *extension, struct pp_err *err)
{
    switch (pp_tar_role(extension)) {
    case PP_TAR_IMAGE: return h->has_image ? PP_OK : take_image(st, h, err);
    case PP_TAR_LABEL: return pp_tar_label(st->tar, &st->member, &h->bytes.label, err);
    case PP_TAR_OTHER: break;
    }
    return PP_OK;
}

/* Reads members until the key changes. PP_OK: the key changed, the first member of the next key is kept in st->member. PP_END: the shard is read. */
static pp_status read_group(struct pp_stream *st, struct held *h, struct pp_err *err)
{
    int open = 0;
    h->has_image = 0;
    h->bytes.label = -1;
    h->shard = st->order[st->position];
    for (;;) {
        size_t key_size;
        pp_status s = next_member(st, err);
        if (s != PP_OK)
            return s;
        const char *extension = pp_tar_split(st->member.name, &key_size);
        if (!st->member.regular || !extension)
            continue;
        if (open && (key_size != h->key_size || memcmp(h->key, st->member.name, key_size) != 0)) {
            st->has_member = 1;
            return PP_OK;
        }
        if (!open && set_key(h, st->member.name, key_size) != 0)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a key of %zu bytes", key_size);
        open = 1;
        s = take_member(st, h, extension, err);
        if (s != PP_OK)
            return s;
    }
}

/* The next sample of the rank's shards, and where it began. A defect behind a whole image is kept for the next call. */
static pp_status read_sample(struct pp_stream *st, struct held *h, struct ledger_entry *where, struct pp_err *err)
{
    if (st->late != PP_OK) {
        pp_status late = st->late;
        st->late = PP_OK;
        if (err)
            *err = st->late_err;
        return late;
    }
    while (st->position < st->shards) {
        struct pp_err why;
        pp_err_clear(&why);
        where->position = st->position;
        where->offset = st->offset;
        pp_status s = st->tar ? PP_OK : open_shard(st, &why);
        if (s == PP_OK)
            s = read_group(st, h, &why);
        if (s == PP_OK) {
            st->offset = st->member.header_offset;
            st->failures = 0;
        } else if (s == PP_END) {
            leave_shard(st);
        } else {
            s = after_failure(st, s, &why);
            if (!h->has_image || s == PP_E_TRANSIENT || s == PP_E_NO_MEMORY) {
                if (err)
                    *err = why;
                return s;
            }
            st->late = s;
            st->late_err = why;
        }
        if (h->has_image) {
            st->samples_read++;
            return PP_OK;
        }
    }
    return PP_END;
}

/* ---- the shuffle buffer ---------------------------------------------------------------------------------------------------- */

static struct ledger_entry *ledger_of(struct pp_stream *st, uint64_t number)
{
    return &st->ledger[number % (2 * st->capacity + 1)];
}

static pp_status fill(struct pp_stream *st, struct pp_err *err)
{
    while (st->n_held < st->capacity) {
        struct ledger_entry where;
        struct held *h = &st->held[st->n_held];
        h->has_image = 0;
        pp_status s = read_sample(st, h, &where, err);
        if (s != PP_OK)
            return s;
        h->number = st->next_number;
        where.slot = st->n_held++;
        *ledger_of(st, st->next_number++) = where;
    }
    return PP_OK;
}

static size_t draw(struct pp_stream *st)
{
    uint64_t overtaken_by = st->next_number - st->oldest - st->n_held;
    size_t drawn = (size_t)pp_rng_below(&st->rng, st->n_held);
    return overtaken_by >= st->capacity ? ledger_of(st, st->oldest)->slot : drawn;
}

/* Takes slot out of the buffer; what it held stands at held[n_held] afterwards, until the next fill. */
static struct held *release(struct pp_stream *st, size_t slot)
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

static pp_status next_held(struct pp_stream *st, struct held **out, struct pp_err *err)
{
    pp_status s = fill(st, err);
    if (s != PP_OK && s != PP_END)
        return s;
    if (st->n_held == 0)
        return PP_END;
    *out = release(st, draw(st));
    return PP_OK;
}

/* ---- the interface --------------------------------------------------------------------------------------------------------- */

/* Fisher and Yates, keyed by (seed, epoch) alone so that all ranks agree. */
static void shuffle_shards(struct pp_stream *st)
{
    struct pp_rng rng = pp_rng_key(st->opts.seed, st->opts.epoch, 0, SHARD_ORDER_STREAM);
    for (uint64_t i = st->shards; i > 1; i--) {
        uint64_t k = pp_rng_below(&rng, i), kept = st->order[i - 1];
        st->order[i - 1] = st->order[k];
        st->order[k] = kept;
    }
}

static pp_status check_opts(const struct pp_dataset *d, const struct pp_stream_opts *o, struct pp_err *err)
{
    if (pp_dataset_kind(d) != PP_DATASET_SHARDS)
        return pp_fail(err, PP_E_UNSUPPORTED, "only tar shards can be streamed; this dataset is of kind %s",
                       pp_dataset_kind_name(pp_dataset_kind(d)));
    if (o->rank >= o->world_size)
        return pp_fail(err, PP_E_USAGE, "rank %llu does not exist in a world of %llu", (unsigned long long)o->rank,
                       (unsigned long long)o->world_size);
    if (o->rank >= pp_shards_count(d))
        return pp_fail(err, PP_E_USAGE, "%llu shards cannot be dealt to %llu ranks: rank %llu gets none; use fewer ranks or more shards",
                       (unsigned long long)pp_shards_count(d), (unsigned long long)o->world_size, (unsigned long long)o->rank);
    if (o->shuffle_buffer > MAX_SHUFFLE)
        return pp_fail(err, PP_E_USAGE, "a shuffle buffer of %llu samples is more than %d", (unsigned long long)o->shuffle_buffer,
                       MAX_SHUFFLE);
    if (o->from.shard % o->world_size != (o->from.shard || o->from.offset ? o->rank : 0))
        return pp_fail(err, PP_E_USAGE,
                       "the cursor stands at shard %llu, which rank %llu of %llu does not read: it was saved with other ranks",
                       (unsigned long long)o->from.shard, (unsigned long long)o->rank, (unsigned long long)o->world_size);
    return PP_OK;
}

pp_status pp_stream_open(const struct pp_dataset *d, const struct pp_stream_opts *opts, struct pp_stream **out, struct pp_err *err)
{
    struct pp_stream_opts o = *opts;
    *out = NULL;
    if (o.world_size == 0)
        o.world_size = 1;
    pp_status s = check_opts(d, &o, err);
    if (s != PP_OK)
        return s;
    struct pp_stream *st = calloc(1, sizeof(*st));
    if (!st)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the stream");
    st->fd = -1;
    st->dataset = d;
    st->opts = o;
    st->shards = pp_shards_count(d);
    st->capacity = o.shuffle_buffer > 0 ? o.shuffle_buffer : 1;
    st->order = malloc(st->shards * sizeof(*st->order));
    st->held = calloc(st->capacity, sizeof(*st->held));
    st->ledger = calloc(2 * st->capacity + 1, sizeof(*st->ledger));
    if (!st->order || !st->held || !st->ledger) {
        pp_stream_close(st);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a shuffle buffer of %zu samples", st->capacity);
    }
    for (uint64_t i = 0; i < st->shards; i++)
        st->order[i] = i;
    if (o.shuffle_shards)
        shuffle_shards(st);
    int resumed = o.from.shard || o.from.offset;
    st->rng = pp_rng_key(o.seed, o.epoch, o.rank, SHUFFLE_STREAM + (resumed ? o.from.delivered : 0));
    st->position = resumed ? o.from.shard : o.rank;
    st->offset = o.from.offset;
    st->delivered = o.from.delivered;
    st->oldest = st->next_number = o.from.number;
    st->to_skip = o.skip;
    *out = st;
    return PP_OK;
}

/* Goes through what was delivered before. Defects met again were reported then. */
static pp_status skip(struct pp_stream *st, struct pp_err *err)
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

static void hand_over(struct pp_stream *st, struct held *h, struct pp_sample *s, char *path, size_t path_size)
{
    uint64_t grown = s->grown + h->bytes.grown;
    struct pp_sample empty = {.buf = s->buf, .cap = s->cap};
    *s = h->bytes;
    s->data = s->buf;
    s->index = h->number;
    s->grown = grown;
    h->bytes = empty;
    if (path && path_size > 0)
        snprintf(path, path_size, "%s:%s", pp_shards_path(st->dataset, h->shard), h->key);
}

pp_status pp_stream_next(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size, struct pp_err *err)
{
    struct held *h;
    s->size = 0;
    pp_status status = skip(st, err);
    if (status == PP_OK)
        status = next_held(st, &h, err);
    if (status == PP_END && st->samples_read == 0 && st->troubles == 0 && st->opts.from.delivered == 0) {
        st->troubles = 1; /* said once */
        return pp_fail(err, PP_E_EMPTY, "no sample in the shards of this rank: none of their members is a .jpg .jpeg or .png");
    }
    if (status != PP_OK)
        return status;
    hand_over(st, h, s, path, path_size);
    if (s->size == 0)
        return pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", h->key, pp_shards_path(st->dataset, h->shard));
    return PP_OK;
}

void pp_stream_cursor(const struct pp_stream *st, struct pp_stream_cursor *out)
{
    const struct ledger_entry *e = &st->ledger[st->oldest % (2 * st->capacity + 1)];
    int none_held = st->oldest == st->next_number;
    *out = (struct pp_stream_cursor){
        .shard = none_held ? st->position : e->position,
        .offset = none_held ? st->offset : e->offset,
        .delivered = st->delivered,
        .number = st->oldest,
    };
}

uint64_t pp_stream_footprint(const struct pp_stream *st)
{
    uint64_t bytes =
        sizeof(*st) + st->shards * sizeof(*st->order) + (2 * st->capacity + 1) * sizeof(*st->ledger) + st->capacity * sizeof(*st->held);
    for (size_t i = 0; i < st->capacity; i++)
        bytes += st->held[i].bytes.cap + st->held[i].key_cap;
    return bytes + (st->tar ? STREAM_BLOCK : 0);
}

void pp_stream_close(struct pp_stream *st)
{
    if (!st)
        return;
    close_shard(st);
    for (size_t i = 0; st->held && i < st->capacity; i++) {
        pp_sample_free(&st->held[i].bytes);
        free(st->held[i].key);
    }
    free(st->held);
    free(st->ledger);
    free(st->order);
    free(st);
}
