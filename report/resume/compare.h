/* report/resume/compare.h: a resumed start held against the uninterrupted one. Private to the room. */
#pragma once

#include "report/resume/resume.h"
#include "report/resume/sequence.h"

/* Where what a resumed process used stands in the uninterrupted run. Pure.
 *
 * An iteration is placed by its first samples: they stand together somewhere in an epoch of the reference.
 * Eight samples in a row decide, or all that there are. */

#define PP_RESUME_NOWHERE SIZE_MAX
enum { RESUME_LEAST = 8 };

static inline size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline int resume_is_whole(const struct pp_resume_run *r, size_t i)
{
    return i < r->iterations && (r->iteration[i].ended || i + 1 < r->iterations);
}

/* In an iteration of the reference, behind `offset` of its tokens. */
struct pp_resume_spot {
    size_t iteration, offset; /* iteration PP_RESUME_NOWHERE: in none */
};

/* Where the iteration `it` of r begins in a. `due` is looked at first, then its iteration, then the others
 * from the first on: of a loader that does not shuffle all of them are alike. */
struct pp_resume_spot pp_resume_place(const struct pp_resume_run *a, const struct pp_resume_run *r, size_t it,
                                      struct pp_resume_spot due);
/* Behind so many batches of a. */
struct pp_resume_spot pp_resume_spot_of(const struct pp_resume_run *a, size_t batches);

struct resume_compared {
    size_t from;              /* it should go on behind so many batches of the control */
    size_t first, rank;       /* the first batch that differs, of the control; PP_RESUME_NOWHERE: none */
    size_t last;              /* the last one */
    size_t until;             /* samples are counted up to here */
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
