/* report/replay/requests.h: the requests to remote storages that stand behind the reads of a recording: what
 * parts of a read are the first byte, the bytes, a new connection; which host and which prefix of the keys is
 * unlike the others. What a read ahead (--inflight) took stands in its request alone: the worker's span has
 * what was left to wait for.
 *
 * A sample is known by its number and epoch, and its requests are those of all its tries. Those of a stream
 * bring pieces of a shard and are for no sample: they are the cost of the sample for which the reader had to
 * make them, known by the time of its read. */
#ifndef PP_REPORT_REPLAY_REQUESTS_H
#define PP_REPORT_REPLAY_REQUESTS_H

#include "report/replay/costs.h"

/* A head alone is shorter: an answer without an object. */
#define PP_EMPTY_ANSWER 1024
/* Fewer say nothing about their mean; an address or a prefix with fewer is not compared. */
#define PP_LEAST_REQUESTS 20
/* Of the requests; a store that is not overloaded refuses far fewer. */
#define PP_SOME_REFUSED 0.01

/* Into c->requests, and into the samples their parts. c->samples are all there, in any order. Without
 * requests nothing changes. PP_E_NO_MEMORY. */
pp_status pp_requests_read(const struct pp_source *source, const struct pp_timeline *timeline,
                           struct pp_costs *c, struct pp_err *err);
void pp_requests_free(struct pp_requests *r);

/* The time to the first byte below which a part q of the answers came, in ns; NAN: there are none. */
double pp_requests_first_byte(const struct pp_requests *r, double q);

#endif
