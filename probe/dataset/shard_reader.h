/* dataset/shard_reader.h: reads the samples of some shards one after another, each shard from front to back
 * in large reads. The stream puts its shuffle buffer on top. One thread at a time. */
#ifndef PP_DATASET_SHARD_READER_H
#define PP_DATASET_SHARD_READER_H

#include "probe/dataset/dataset.h"
#include "probe/dataset/shard_tar.h"

enum { PP_SHARD_READER_BLOCK = 1 << 20 }; /* bytes per read */

struct pp_shard_place {
    uint64_t position; /* in the order of shards */
    uint64_t offset;   /* in that shard: where the first header of a sample lies, or 0 */
};

struct pp_shard_sample {
    struct pp_sample bytes; /* buffer, size, label, page-cache knowledge */
    char *key;              /* owned, zero-terminated */
    size_t key_cap, key_size;
    uint64_t shard; /* index in the dataset */
    uint64_t place; /* in the shard: images before it */
    int has_image;
};

/* The maker fills dataset, order, shards, step and at; order stays the maker's. */
struct pp_shard_reader {
    const struct pp_dataset *dataset;
    const uint64_t *order;      /* dataset's shard by position */
    uint64_t shards, step;      /* every step-th position below shards is read */
    struct pp_shard_place at;   /* where the next sample begins; position >= shards: all is read */
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

/* The next sample, and where it began. PP_END after the last. After PP_E_TRANSIENT or PP_E_NO_MEMORY the next
 * call tries the same sample again, after any other failure it goes on with the next shard. */
pp_status pp_shard_reader_next(struct pp_shard_reader *r, struct pp_shard_sample *h,
                               struct pp_shard_place *where, struct pp_err *err);
/* Lets go of the shard at hand; reading could go on from at. */
void pp_shard_reader_close(struct pp_shard_reader *r);
/* Goes on with the next shard. */
void pp_shard_reader_leave(struct pp_shard_reader *r);

#endif
