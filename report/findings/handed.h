/* report/findings/handed.h: what the hooks of a PyTorch job count per batch: what its samplers draw for in
 * the trainer's waits, and what its workers hand over. Each counter stands for what came since the one
 * before, so that they add up. */
#ifndef PP_REPORT_FINDINGS_HANDED_H
#define PP_REPORT_FINDINGS_HANDED_H

#include "report/findings/checks.h"

/* One walk over the counters of the window. */
pp_status pp_handed_check(const struct pp_source *source, const struct pp_timeline *tl,
                          const struct pp_tally *tally, struct pp_handed_use *out, struct pp_err *err);
/* Bytes that go from process to process over those of the batches' tensors, 1 or more; NAN: not recorded. */
double pp_handed_factor(const struct pp_handed_use *u);

#endif
