/* report/audit/place.h: which epoch of a job, and where in it, the recording of a resumed PyTorch job goes
 * on. Its process numbers epochs from 0, so that its numbers say nothing.
 *
 *   parts -> runs of the job (all ranks) -> each behind the first is placed -> epochs of the job, and what counts
 *
 * What a killed run did behind the checkpoint that the next run goes on from does not count: the next run
 * does it again. The newest checkpoint that was seen is where it should go on; the samples say whether it
 * does:
 *   - its first samples stand there in the list of the killed epoch, or
 *   - nothing is known of what stands there, and what it gives is as long as the rest of that epoch (whatever it
 *     then uses twice or leaves out is found by counting), or
 *   - a whole epoch comes behind a checkpoint at the end of one.
 * Where its first samples stand elsewhere in what the runs before gave, they went on there: beyond what was
 * taken, samples were left out; in the order of another epoch, which then does not go on as it did, it is the
 * wrong order. Anything else cannot be told: the run is audited by itself, and the reason is given.
 *
 * Batches at the start of a run in which backward was not called, where it is called otherwise, were dropped
 * by the job on its way to that place. A run of another world size is placed by the number of its samples
 * alone. Memory: that of one set of samples. Each list is read some three times. */
#ifndef PP_REPORT_AUDIT_PLACE_H
#define PP_REPORT_AUDIT_PLACE_H

#include "report/audit/audit.h"

struct audit_placed {
    struct pp_audit_part *parts; /* as those of the input, with epochs of the job */
    size_t n;
    const char *unknown;         /* why a run could not be placed; NULL: all are */
    struct pp_audit_span *spans; /* what the parts' epochs are */
};

/* Of parts that are not by_content nothing changes. Free with audit_placed_free, also after a failure. */
pp_status audit_place(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_placed *out,
                      struct pp_err *err);
void audit_placed_free(struct audit_placed *p);

#endif
