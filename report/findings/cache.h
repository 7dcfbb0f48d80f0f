/* report/findings/cache.h: the cache over a storage (run --cache) in the steady state, from the counters of
 * collectors/record/counters.c: where the bytes came from (page cache, cache, storage), and what could be
 * had.
 *
 * No policy can hit more of a set that is read once per epoch than cache bytes over data bytes: each epoch
 * asks for all of it. That is the attainable rate, beside the measured one. */
#ifndef PP_REPORT_FINDINGS_CACHE_H
#define PP_REPORT_FINDINGS_CACHE_H

#include "report/findings/checks.h"

/* start, end: of the steady state. */
pp_status pp_cache_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                         struct pp_cache_use *out, struct pp_err *err);

#endif
