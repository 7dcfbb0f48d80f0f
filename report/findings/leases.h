/* report/findings/leases.h: a rank that leases its shards (run --lease): how many it had, what became of
 * them, and how long its reader waited for those of other ranks. Spans lease and lease_wait of the reader,
 * and what the run stored of its leases at its end. */
#ifndef PP_REPORT_FINDINGS_LEASES_H
#define PP_REPORT_FINDINGS_LEASES_H

#include "report/findings/checks.h"

struct pp_leases_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_leases_pass *pp_leases_begin(const struct pp_source *source, const struct pp_timeline *timeline);
void pp_leases_chunk(struct pp_leases_pass *p, const struct pp_span *spans, size_t n);
void pp_leases_end(struct pp_leases_pass *p, struct pp_lease_use *out);

#endif
