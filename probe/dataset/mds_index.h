/* dataset/mds_index.h: the index.json of a MosaicML Streaming data set (format "mds", version 2;
 * streaming/base/format/mds): its shards, and the columns of a sample. A stranger's text: bounded in bytes,
 * and every name in it stays below its directory. Immutable once made; any thread may read it.
 *
 * A shard: u32 samples, u32 offsets[samples + 1] from the file's start, JSON, samples. A sample: a u32 for
 * each column of variable size, then the columns' bytes; all little-endian. */
#ifndef PP_DATASET_MDS_INDEX_H
#define PP_DATASET_MDS_INDEX_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

enum { PP_MDS_INDEX_BYTES = 32 << 20 }; /* of index.json: some 80,000 shards */

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

/* The columns' bytes within a sample, in order of the columns: part[i] of `columns`. 0, or -1 when the sample
 * does not hold what its sizes say. */
struct pp_mds_part {
    const uint8_t *data;
    size_t size;
};
int pp_mds_split(const struct pp_mds_index *index, const uint8_t *sample, size_t size,
                 struct pp_mds_part *part);
enum { PP_MDS_COLUMNS = 64 };

#endif
