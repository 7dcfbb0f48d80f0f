/* report/audit/prints.h: an iterable data set, whose samples have no numbers: the content of the first ones
 * of each worker and epoch, read from a recording (prints_read.c) and compared (prints.c). Private to the
 * room. */
#ifndef PP_REPORT_AUDIT_PRINTS_H
#define PP_REPORT_AUDIT_PRINTS_H

#include "report/audit/facts.h"
#include "report/source/source.h"

/* Hands each epoch to fn in which all workers of a rank, or the first workers of all ranks, gave the same
 * samples. rank: its place; SIZE_MAX: all of them. 0: there is nothing to compare. */
typedef void audit_alike_fn(void *ctx, uint16_t epoch, size_t rank);
int audit_compare_prints(const struct audit_facts *f, audit_alike_fn *fn, void *ctx);

/* PP_NO_BATCH: of a loader that is not audited. */
typedef uint32_t audit_epoch_fn(void *ctx, uint32_t batch);
/* Fills prints and n_prints of the part, which owns them. */
pp_status audit_prints_read(const struct pp_source *source, audit_epoch_fn *epoch_of, void *ctx,
                            struct pp_audit_part *part, struct pp_err *err);

#endif
