/* report/findings/handed.h: what the hooks of a PyTorch job count per batch: what its samplers draw for in
 * the trainer's waits. Each counter stands for what came since the one before, so that they add up. */
#ifndef PP_REPORT_FINDINGS_HANDED_H
#define PP_REPORT_FINDINGS_HANDED_H

#include "report/findings/checks.h"

/* One walk over the counters between start_ns and end_ns. */
pp_status pp_handed_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                          struct pp_handed_use *out, struct pp_err *err);

#endif
