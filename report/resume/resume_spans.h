/* report/resume/resume_spans.h: what a recording from before tables batch_use and state_event says by the
 * spans of its training thread: which batches were taken and trained on, and behind which ones it saved.
 * Private to the room. */
#ifndef PP_REPORT_RESUME_RESUME_SPANS_H
#define PP_REPORT_RESUME_RESUME_SPANS_H

#include "report/source/source.h"

/* Hands rows of one batch each to use, rising, then those of its checkpoints to state. */
pp_status resume_spans_read(const struct pp_source *source, pp_use_fn *use, pp_state_fn *state, void *ctx,
                            struct pp_err *err);

#endif
