/* report/findings/alike.h: workers of an iterable data set that give the same samples, by the content of the
 * first ones of each worker and epoch (counter sample_print, which the hooks write): the data set is not
 * divided among them. Samples that are mostly alike tell nothing. */
#ifndef PP_REPORT_FINDINGS_ALIKE_H
#define PP_REPORT_FINDINGS_ALIKE_H

#include "report/findings/visits.h"

struct pp_alike_pass;

/* One pass over all spans. begin returns NULL without memory; end accepts NULL, fills alike_workers and
 * alike_epochs of *out (may be NULL) and frees the pass. */
struct pp_alike_pass *pp_alike_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_alike_chunk(struct pp_alike_pass *p, uint32_t thread, const struct pp_span *spans,
                   size_t n); /* non-zero: no memory */
void pp_alike_end(struct pp_alike_pass *p, struct pp_visits *out);
#endif
