/* report/resume/place.h: where what a resumed process used stands in the uninterrupted run. Pure.
 *
 * An iteration is placed by its first samples: they stand together somewhere in an epoch of the reference.
 * Eight samples in a row decide, or all that there are. */
#ifndef PP_REPORT_RESUME_PLACE_H
#define PP_REPORT_RESUME_PLACE_H

#include "report/resume/sequence.h"

#define PP_RESUME_NOWHERE SIZE_MAX

static inline size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
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
/* Uses of samples held against each other. */
struct pp_resume_tally {
    struct pp_resume_uses {
        uint64_t *of;
        size_t n, room;
    } want, got;
    int by_file;               /* a sample is what was read for it, not its number */
    double repeated, left_out; /* of pp_resume_count */
};
/* Adds those of the batches [from, end) to t's want or got. 0: no memory. */
int pp_resume_use(const struct pp_resume_tally *t, struct pp_resume_uses *to, const struct pp_resume_run *r,
                  size_t from, size_t end);
void pp_resume_count(struct pp_resume_tally *t);
void pp_resume_tally_free(struct pp_resume_tally *t);

#endif
