/* dataset/dataset_shards.h: what the stream needs to know of a shards dataset. */
#ifndef PP_DATASET_DATASET_SHARDS_H
#define PP_DATASET_DATASET_SHARDS_H

#include "probe/dataset/dataset.h"

/* d is of kind PP_DATASET_SHARDS. The path lives as long as d. */
uint64_t pp_shards_count(const struct pp_dataset *d);
const char *pp_shards_path(const struct pp_dataset *d, uint64_t shard);

#endif
