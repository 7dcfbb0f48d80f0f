/* collectors/record/counters.h: what the loader counted of itself, once a second (base/counters.h): requests
 * to remote storages, the cache over a storage, pages of columns. Of a set that counted nothing a recording
 * has no rows. Also each remote request by itself, and at the end why the cache was not all that it should be
 * (meta row cache.trouble). Two collectors (collectors/collector.h). */
#ifndef PP_COLLECTORS_RECORD_COUNTERS_H
#define PP_COLLECTORS_RECORD_COUNTERS_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_counters, pp_collector_requests;

#endif
