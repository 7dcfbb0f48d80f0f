/* report/source/proof.h: predictions that were run for real, as rows of the model and as a sentence each. */
#ifndef PP_REPORT_SOURCE_PROOF_H
#define PP_REPORT_SOURCE_PROOF_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* The source's proof rows into r. */
pp_status pp_proof_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r,
                        struct pp_err *err);

#endif
