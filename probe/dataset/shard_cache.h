/* dataset/shard_cache.h: where the index of a shard is kept: in --index-dir, else in the user's cache
 * directory
 * ($XDG_CACHE_HOME/pipeprobe, ~/.cache/pipeprobe), never beside the shard: data sets are the user's. An index
 * that lies beside its shard (SHARD.ppidx, of an earlier version) is still read.
 *
 * A file in the cache is named after the shard's path and holds its size and modification time, so that
 * another shard of the same name replaces it. The cache directory is for its owner alone and is bounded: the
 * indexes used longest ago go first. Any thread may call; two processes at once do no harm, for files appear
 * whole. */
#ifndef PP_DATASET_SHARD_CACHE_H
#define PP_DATASET_SHARD_CACHE_H

#include <limits.h>
#include <stdint.h>

enum { PP_SHARD_CACHE_READS = 2 };

struct pp_shard_places {
    char read[PP_SHARD_CACHE_READS][PATH_MAX]; /* in this order; "": none */
    char write[PATH_MAX];                      /* "": nowhere */
};

/* is_local: path is one of this machine. dir: --index-dir or NULL. */
void pp_shard_cache_places(const char *path, int is_local, const char *dir, struct pp_shard_places *out);
/* Makes the directory of out->write where it is missing; best effort. */
void pp_shard_cache_prepare(const struct pp_shard_places *out);
/* An index was read: it is not among the oldest any more. */
void pp_shard_cache_touch(const char *file);
/* Removes the indexes used longest ago until the cache directory holds at most so many bytes of them. */
void pp_shard_cache_trim(uint64_t most_bytes);

/* An index takes about 40 bytes per sample: 25 million samples */
#define PP_SHARD_CACHE_BYTES (UINT64_C(1) << 30)

#endif
