/* report/ranks/slices.h: where the time of each rank went over the job's time: rows of a picture. A slice is
 * a part of the calendar's time, 2^k seconds long and aligned, so that slices of all ranks, and slices of
 * half the length, add up exactly. A rank has at most PP_RANK_SLICES of them: the longer it ran, the longer
 * they are; in a digest of several ranks all have the length of the longest. Private to the room. */
#ifndef PP_REPORT_RANKS_SLICES_H
#define PP_REPORT_RANKS_SLICES_H

#include "report/ranks/digest.h"

/* Those of the row of a new digest, from its steps; a step whose end is not known is in none. 0: no memory.
 */
int slices_make(struct pp_digest *d, const struct pp_rank_own_step *steps, size_t n);
/* Before the rows of from come into d: slices of both have one length, the longer one. copy: the rows get
 * slices, epochs and ends of their own in d's arena, which they need when they are another digest's. 0: no
 * memory. */
int slices_fit(struct pp_digest *d, struct pp_rank_row *row, unsigned from_log2_s, unsigned to_log2_s,
               int copy);

#endif
