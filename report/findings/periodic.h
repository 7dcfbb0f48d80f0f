/* report/findings/periodic.h: stalls that come again at a fixed interval, and what else happens then: "every
 * 312 s, 4.1 s: coincides with checkpoint spans".
 *
 * A cycle is the time from the end of one batch's step to the end of the next one's, whatever passed in it. A
 * stall is a cycle that takes half as long again as the median one; neighbours are one stall. Whether the
 * stalls have a period is told by stats/periodicity.h; the finding asks beside that for 1 % of the window's
 * time, the least that shows in the throughput. What coincides is what takes more of the time in those stalls
 * than outside of them: a phase of the trainer's first; when that is its wait for data, the phase of the
 * workers; a checkpoint span of whatever thread; and the system's own account of tasks that wait for I/O
 * (PSI). */
#ifndef PP_REPORT_FINDINGS_PERIODIC_H
#define PP_REPORT_FINDINGS_PERIODIC_H

#include "report/measure/timeline.h"

struct pp_periodic {
    int measured; /* 0: too few batches to tell */
    int found;
    double period_ns, stall_ns; /* stall_ns: mean time beyond the median cycle */
    double period_batches;      /* cycles from stall to stall; of an interval in time, as many of median
                                 * length as fit into it, stall included */
    double share;               /* of the window: all these stalls */
    size_t stalls, expected;    /* expected: from the first to the last, had none been missing */
    double p;
    int in_trainer;       /* phase is the trainer's own, and not its wait */
    pp_phase phase;       /* PP_PHASE_NONE: nothing recorded takes more time then */
    double phase_share;   /* of the stalls: its time beyond what it takes elsewhere */
    double between_share; /* of the stalls: of the trainer, in no span between epochs */
    double psi_io_share;  /* tasks waiting for I/O, beyond elsewhere; NAN: no PSI */
};

struct pp_periodic_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_periodic_pass *pp_periodic_begin(const struct pp_source *source,
                                           const struct pp_timeline *timeline);
int pp_periodic_chunk(struct pp_periodic_pass *p, uint32_t thread, const struct pp_span *spans,
                      size_t n); /* non-zero: no memory */
pp_status pp_periodic_end(struct pp_periodic_pass *p, const struct pp_source *source, struct pp_periodic *out,
                          struct pp_err *err);

#endif
