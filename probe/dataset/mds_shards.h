/* dataset/mds_shards.h: the shards of a MosaicML Streaming data set (format "mds", version 2;
 * streaming/base/format/mds): its index.json, and compressed shards unpacked.
 *
 * A shard: u32 samples, u32 offsets[samples + 1] from the file's start, JSON, samples. A sample: a u32 for
 * each column of variable size, then the columns' bytes; all little-endian. */
#pragma once

#include "probe/storage/storage.h"

/* ---- index.json ----
 *
 * A stranger's text: bounded in bytes, and every name in it stays below its directory. Immutable once made;
 * any thread may read it. */

enum {
    PP_MDS_INDEX_BYTES = 32 << 20, /* of index.json: some 80,000 shards */
    PP_MDS_COLUMNS = 64
};

struct pp_mds_column {
    char *name, *encoding;
    uint32_t size; /* 0: variable, told in each sample */
};

struct pp_mds_shard {
    char *raw, *packed; /* paths, directory included; packed NULL: not compressed */
    uint64_t bytes;     /* unpacked */
    uint32_t samples;
    uint64_t first, begin; /* number of its first sample; bytes of the shards before it */
};

struct pp_mds_index {
    struct pp_mds_column *column; /* of all shards */
    size_t columns;
    struct pp_mds_shard *shard;
    size_t shards;
    uint64_t samples, bytes;
};

/* dir: where the shards are; name: of the file, for sentences. PP_E_CORRUPT: no JSON, or what must be there
 * is not. PP_E_UNSUPPORTED: another format or version, shards with different columns, a name that leads out
 * of dir. Free with pp_mds_index_free, also after a failure. */
pp_status pp_mds_index_parse(const uint8_t *text, size_t size, const char *dir, const char *name,
                             struct pp_mds_index *out, struct pp_err *err);
void pp_mds_index_free(struct pp_mds_index *index);

/* ---- unpacked shards ----
 *
 * Compressed shards are unpacked whole and once, when a sample of one
 * is first read: one file without a name in the cache directory (or /tmp), of at most the bytes that the
 * index says. It goes with the process. Any thread may call pp_mds_spool_ready; the first one for a shard
 * unpacks, the others wait. */

struct pp_mds_spool;

/* index: borrowed. index_dir: --index-dir, or NULL. PP_E_NO_SPACE: the disk has less room than they need. */
pp_status pp_mds_spool_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                            const char *index_dir, struct pp_mds_spool **out, struct pp_err *err);
/* Shard i lies at index->shard[i].begin of *object. A shard that does not unpack to the bytes of the index is
 * PP_E_CORRUPT for each of its samples, found out once. */
pp_status pp_mds_spool_ready(struct pp_mds_spool *s, size_t i, const struct pp_object **object,
                             struct pp_err *err);
void pp_mds_spool_close(struct pp_mds_spool *s); /* NULL is fine */
