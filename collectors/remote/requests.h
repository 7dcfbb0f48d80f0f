/* collectors/remote/requests.h: what the requests to remote storages took, once a second: the sums of
 * probe/storage/tally.h as counters remote_NAME_total (remote_requests_total, remote_first_byte_ns_total,
 * ...). A recording whose data are local has none. One collector (collectors/collector.h). */
#ifndef PP_COLLECTORS_REMOTE_REQUESTS_H
#define PP_COLLECTORS_REMOTE_REQUESTS_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_requests;

#endif
