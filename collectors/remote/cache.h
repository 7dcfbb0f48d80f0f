/* collectors/remote/cache.h: what the cache over a storage did (run --cache), once a second: the sums and
 * states of probe/storage/cache/cache_tally.h as counters cache_NAME, and at the end why it was not all that
 * it should be (meta row cache.trouble). A recording without a cache has none. One collector
 * (collectors/collector.h). */
#ifndef PP_COLLECTORS_REMOTE_CACHE_H
#define PP_COLLECTORS_REMOTE_CACHE_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_cache;

#endif
