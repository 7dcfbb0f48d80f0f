/* report/resume/compare.h: a resumed start held against the uninterrupted one. Private to the room. */
#ifndef PP_REPORT_RESUME_COMPARE_H
#define PP_REPORT_RESUME_COMPARE_H

#include "report/resume/place.h"
#include "report/resume/resume.h"

struct resume_compared {
    size_t from;              /* it should go on behind so many batches of the control */
    size_t first, rank;       /* the first batch that differs, of the control; PP_RESUME_NOWHERE: none */
    size_t last;              /* the last one */
    size_t compared;          /* batches, of the rank with fewest */
    size_t identity, content; /* batches with the same samples, and other files; and other bytes */
    size_t ranks_right, ranks_wrong;
    double repeated, left_out; /* NAN: not counted */
    int only_tails;            /* those that differ are last batches of epochs */
};

/* First difference, and what is counted up to the last end of an epoch that both have. 0: no memory. */
int resume_compare(const struct pp_resume_start *control, const struct pp_resume_start *start, size_t from,
                   struct resume_compared *out);
int resume_compare_worlds(const struct pp_resume_start *control, const struct pp_resume_start *start,
                          size_t from, struct resume_compared *out);

/* What the first rank that differs shows, as facts of the culprits. number and text: all unknown. */
void resume_measure(const struct pp_resume_start *control, const struct pp_resume_start *start,
                    const struct resume_compared *c, struct pp_arena *arena, double *number,
                    const char **text);

#endif
