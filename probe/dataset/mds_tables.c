#include "probe/dataset/mds_tables.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset_each.h"

#include <stdatomic.h>
#include <stdlib.h>

#define MOST_BYTES ((uint64_t)256 << 20)
enum { MOST_TABLE = 16 << 20, TABLE_AT = 4 };

struct shard {
    struct pp_object file; /* not open: it is packed, or files are many */
    _Atomic(uint8_t *) table;
};

struct pp_mds_tables {
    const struct pp_mds_index *index;
    atomic_uint_least64_t bytes; /* of the tables that are kept, or being read */
    struct shard shard[];
};

pp_status pp_mds_tables_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                             const unsigned char *packed, struct pp_mds_tables **out, struct pp_err *err)
{
    struct pp_mds_tables *t = calloc(1, sizeof(*t) + index->shards * sizeof(*t->shard));
    pp_status st = t ? PP_OK
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory for the tables of %zu shards", index->shards);
    size_t most = pp_storage_flags(storage) & PP_STORAGE_LOCAL ? (size_t)pp_each_descriptors() : SIZE_MAX;
    if (t)
        t->index = index;
    for (size_t i = 0; st == PP_OK && i < index->shards && i < most; i++)
        if (!packed[i])
            st = pp_storage_open(storage,
                                 &(struct pp_open){.name = index->shard[i].raw, .attempt = "open the shard"},
                                 &t->shard[i].file, err);
    *out = st == PP_OK ? t : NULL;
    if (st != PP_OK)
        pp_mds_tables_close(t);
    return st;
}

void pp_mds_tables_close(struct pp_mds_tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->index->shards; i++) {
        pp_object_close(&t->shard[i].file);
        free(atomic_load_explicit(&t->shard[i].table, memory_order_relaxed));
    }
    free(t);
}

const struct pp_object *pp_mds_tables_file(const struct pp_mds_tables *t, size_t shard)
{
    return &t->shard[shard].file;
}

uint64_t pp_mds_tables_footprint(const struct pp_mds_tables *t)
{
    return t ? sizeof(*t) + t->index->shards * sizeof(*t->shard) +
                   atomic_load_explicit(&t->bytes, memory_order_relaxed)
             : 0;
}

static pp_status read_table(const struct pp_object *file, const struct pp_mds_shard *s, size_t size,
                            uint8_t *buf, struct pp_err *err)
{
    struct pp_read r = {.name = s->raw, .offset = TABLE_AT, .size = size, .buf = buf, .cap = size};
    pp_status st = pp_object_read_at(file, &r, err);
    if (st == PP_OK && r.got < size)
        return pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends in the offsets of its %u samples", s->raw,
                       s->samples);
    return st;
}

/* The one that is stored first is everybody's; the caller's own goes. */
static const uint8_t *keep_table(struct pp_mds_tables *t, size_t shard, size_t size, uint8_t *own)
{
    uint8_t *there = NULL;
    /* release: pairs with the acquire in pp_mds_tables_get */
    if (atomic_compare_exchange_strong_explicit(&t->shard[shard].table, &there, own, memory_order_acq_rel,
                                                memory_order_acquire))
        return own;
    atomic_fetch_sub_explicit(&t->bytes, size, memory_order_relaxed);
    free(own);
    return there;
}

pp_status pp_mds_tables_get(struct pp_mds_tables *t, size_t shard, const struct pp_object *file,
                            const uint8_t **out, struct pp_err *err)
{
    const struct pp_mds_shard *s = &t->index->shard[shard];
    size_t size = ((size_t)s->samples + 1) * 4;
    *out = atomic_load_explicit(&t->shard[shard].table, memory_order_acquire);
    if (*out || size > MOST_TABLE)
        return PP_OK;
    if (atomic_fetch_add_explicit(&t->bytes, size, memory_order_relaxed) + size > MOST_BYTES) {
        atomic_fetch_sub_explicit(&t->bytes, size, memory_order_relaxed);
        return PP_OK;
    }
    uint8_t *own = malloc(size);
    pp_status st = own ? read_table(file, s, size, own, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for the offsets of %s", s->raw);
    if (st == PP_OK) {
        *out = keep_table(t, shard, size, own);
        return PP_OK;
    }
    atomic_fetch_sub_explicit(&t->bytes, size, memory_order_relaxed);
    free(own);
    return st;
}
