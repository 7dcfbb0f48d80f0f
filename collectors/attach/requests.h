/* collectors/attach/requests.h: the requests that a recorded Python job's samples were made of
 * (requests_file.h), as if this process had made them: into the log of requests
 * (probe/storage/request_log.h), from which they reach the tables request and request_place and the counters
 * remote_*_total. The status of an answer is 0 where it is not known, as behind TLS; the answer has bytes. */
#ifndef PP_COLLECTORS_ATTACH_REQUESTS_H
#define PP_COLLECTORS_ATTACH_REQUESTS_H

#include "collectors/collector.h"

/* Its row stands before those of the counters and of the log, which are polled behind it. */
extern const struct pp_collector pp_collector_job_requests;

#endif
