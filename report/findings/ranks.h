/* report/findings/ranks.h: the ranks of a data-parallel run, as one rank's recording has them: who came last
 * to the collective step, and how often. The trainer puts two counters after each one (loader/trainer.c):
 * collective_last_rank, and collective_others_ns, what the step took the other ranks. */
#ifndef PP_REPORT_FINDINGS_RANKS_H
#define PP_REPORT_FINDINGS_RANKS_H

#include "probe/base/arena.h"
#include "report/measure/timeline.h"

struct pp_ranks {
    uint64_t
        meetings; /* of the steady state; 0: no collective step was recorded, or not who came last to it */
    uint32_t last_rank; /* who came last most often */
    double last_share;  /* in this part of the meetings */
    double own_share;   /* this rank came last in that part; NAN: which rank this is was not recorded */
    double rank;        /* this one, and how many there are; NAN: not recorded */
    double world_size;
};

/* One pass (report/findings/checks.h). begin: NULL without memory; chunk: non-zero to stop. end fills *out
 * and frees p. */
struct pp_ranks_pass;
struct pp_ranks_pass *pp_ranks_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_ranks_chunk(struct pp_ranks_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
void pp_ranks_end(struct pp_ranks_pass *p, struct pp_ranks *out);

#endif
