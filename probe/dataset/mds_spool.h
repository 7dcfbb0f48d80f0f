/* dataset/mds_spool.h: where compressed MDS shards are unpacked to, each whole and once, when a sample of it
 * is first read: one file without a name in the cache directory (or /tmp), of at most the bytes that the
 * index says. It goes with the process. Any thread may call pp_mds_spool_ready; the first one for a shard
 * unpacks, the others wait. */
#ifndef PP_DATASET_MDS_SPOOL_H
#define PP_DATASET_MDS_SPOOL_H

#include "probe/dataset/mds_index.h"
#include "probe/storage/storage.h"

struct pp_mds_spool;

/* index: borrowed. index_dir: --index-dir, or NULL. PP_E_NO_SPACE: the disk has less room than they need. */
pp_status pp_mds_spool_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                            const char *index_dir, struct pp_mds_spool **out, struct pp_err *err);
/* Shard i lies at index->shard[i].begin of the object. A shard that does not unpack to the bytes of the index
 * is PP_E_CORRUPT for each of its samples, found out once. */
pp_status pp_mds_spool_ready(struct pp_mds_spool *s, size_t i, struct pp_err *err);
const struct pp_object *pp_mds_spool_object(const struct pp_mds_spool *s);
void pp_mds_spool_close(struct pp_mds_spool *s); /* NULL is fine */

#endif
