/* dataset/dataset_shards.h: data sets in shards with an index each. What differs is a kind: tar shards,
 * TFRecord files (dataset_tfrecord.c). And what the stream of tar shards needs to know of them. */
#pragma once

#include "probe/dataset/dataset.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/shard_names.h"
#include "probe/storage/storage.h"

struct pp_dataset_place;

struct pp_shard_kind {
    const char *what, *piece; /* "tar archive", "member": for sentences */
    const char *left_out; /* format of the warning: the path, how many (unsigned), " has" or "s have", "is" or
                             "are" */
    pp_shard_index_builder *build;
    size_t tail; /* bytes behind an entry that are read with it */
    int streams; /* pp_shards_stream takes it */
    /* From the bytes of an entry, tail included, to those of its sample: sets data, size and label of s.
     * feature: --feature, or NULL. A sentence begins behind the name of the record. NULL: they are the same.
     * Any thread. */
    pp_status (*unwrap)(const char *feature, struct pp_sample *s, struct pp_err *err);
};

/* The .open of a format of shards, whose .kind is one of these. */
pp_status pp_shards_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err);

/* The .stream of their ops. */
pp_status pp_shards_stream(const struct pp_dataset *d, const struct pp_stream_opts *opts,
                           struct pp_stream **out, struct pp_err *err);

/* d is a data set of tar shards: which, and in what storage. They live as long as d. */
const struct pp_shard_names *pp_shards_of(const struct pp_dataset *d);
