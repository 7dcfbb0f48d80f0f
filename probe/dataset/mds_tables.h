/* dataset/mds_tables.h: where the samples of MDS shards lie, for a storage whose requests are dear: the table
 * at the head of a shard is asked for once, when a sample of the shard is first read, and kept; so is the
 * open object, whose ETag holds for all its samples. A sample is then one request. Memory: 4 bytes a sample,
 * 256 MiB at most; beyond that, and of shards with more than 4 million samples, a sample's two offsets are
 * asked for each time. Any thread may ask; a table that two threads ask for at once may be read twice. */
#ifndef PP_DATASET_MDS_TABLES_H
#define PP_DATASET_MDS_TABLES_H

#include "probe/dataset/mds_index.h"
#include "probe/storage/storage.h"

struct pp_mds_tables;

/* storage and index stay the caller's. Opens the shards that are not packed, which asks nothing of a storage
 * behind requests; of those that are files of this machine (--like) as many as may be open. */
pp_status pp_mds_tables_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                             const unsigned char *packed, struct pp_mds_tables **out, struct pp_err *err);
void pp_mds_tables_close(struct pp_mds_tables *t); /* NULL is fine */

/* Its storage is NULL where the shard was not opened. */
const struct pp_object *pp_mds_tables_file(const struct pp_mds_tables *t, size_t shard);
/* The table of a shard, samples + 1 little-endian u32, read from its open file if need be; NULL: none is
 * kept, and there is no failure. */
pp_status pp_mds_tables_get(struct pp_mds_tables *t, size_t shard, const struct pp_object *file,
                            const uint8_t **out, struct pp_err *err);
uint64_t pp_mds_tables_footprint(const struct pp_mds_tables *t); /* bytes; NULL: 0 */

#endif
