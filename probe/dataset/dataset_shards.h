/* dataset/dataset_shards.h: the options of tar shards, and what the stream needs to know of them. */
#ifndef PP_DATASET_DATASET_SHARDS_H
#define PP_DATASET_DATASET_SHARDS_H

#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"
#include "probe/storage/storage.h"

struct pp_shards_opts {
    int stream; /* will only be streamed: no index is made at open, and the length is then unknown (0) */
    int shuffle_shards; /* these two are what the stream is asked for (struct pp_stream_opts) */
    int64_t shuffle_buffer;
    const char *index_dir; /* where shard indexes are kept; NULL: in $XDG_CACHE_HOME/pipeprobe or
                            * ~/.cache/pipeprobe, falling back to memory */
};

struct pp_shards_opts *pp_shards_opts(const struct pp_dataset_options *o);

/* The .stream of their ops. */
pp_status pp_shards_stream(const struct pp_dataset *d, const struct pp_stream_opts *opts,
                           struct pp_stream **out, struct pp_err *err);

/* d is a data set of tar shards. The path lives as long as d. */
uint64_t pp_shards_count(const struct pp_dataset *d);
const char *pp_shards_path(const struct pp_dataset *d, uint64_t shard);
const struct pp_storage *pp_shards_storage(const struct pp_dataset *d);

#endif
