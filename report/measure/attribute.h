/* report/measure/attribute.h: who held the batch while the trainer waited: the lanes' time during the stalls,
 * and the phase that owns it.
 *
 * Time is thread-time: with four workers a stall of 1 s is 4 s of worker time. The stage with the largest
 * part owns the wait; when the workers themselves mostly waited for a slot or for work, they were not what
 * was missing, and the copy lane or the shard reader is asked, which may wait for the leases of other ranks.
 * When those were idle too, the hand-off between them is what is left (phase PP_PHASE_NONE). */
#ifndef PP_REPORT_MEASURE_ATTRIBUTE_H
#define PP_REPORT_MEASURE_ATTRIBUTE_H

#include "report/measure/tally.h"

struct pp_owner {
    int known;
    pp_lane lane;
    pp_phase phase;        /* PP_PHASE_NONE: the hand-off */
    double share;          /* of its lane's thread-time during the stalls */
    struct pp_split split; /* of the phase during the stalls */
    double worker_idle;    /* workers' thread-time in slot_wait and dispatch_wait during the stalls; NAN: no
                              stall or no worker */
    double phase_share[PP_PHASE_COUNT]; /* workers' thread-time in each phase during the stalls; 0 where
                                           unknown */
    double unnamed;                     /* the rest of it, which no span covers; NAN likewise */
    double copy_busy, pin_busy;         /* copy lane's time in h2d, in pin; likewise */
    double decode_busy;                 /* in gpu_decode: it waits for the device's decoder */
};

/* Lane time above which it counts as busy, or idle: more than not. */
#define PP_ATTRIBUTE_MOST 0.5

void pp_attribute(const struct pp_timeline *timeline, const struct pp_tally *tally, struct pp_owner *out);

#endif
