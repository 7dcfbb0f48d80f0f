/* report/replay/shards.h: what the size of its shards costs a stream of remote storage (run --stream): a
 * shard's bytes come in pieces of which the last is not full, and it may take requests of its own before its
 * first sample: for its version, where there is a cache, and in older recordings for its size and for how it
 * begins. All of them are made one after the other. With larger shards there
 * are fewer of both, and each takes as long as before. */
#ifndef PP_REPORT_REPLAY_SHARDS_H
#define PP_REPORT_REPLAY_SHARDS_H

#include "report/replay/costs.h"

/* What pipeprobe pack writes unless it is told otherwise. */
#define PP_SHARDS_ADVISED (256.0 * 1024 * 1024)

/* Why requests by shard are not known of a recording, as the end of a sentence; NULL: they are. */
const char *pp_shards_unknown(const struct pp_costs *c);

/* Of those that were opened in the steady state: bytes of a shard, and its requests. NAN: not known. */
double pp_shards_bytes(const struct pp_costs *c);
double pp_shards_requests(const struct pp_costs *c);

/* Requests per byte with shards of that size, over those that were recorded: 0.1 is a tenth of them. A shard
 * holds no more than all data of an epoch. 1 where they are not known. */
double pp_shards_factor(const struct pp_costs *c, double shard_bytes);

#endif
