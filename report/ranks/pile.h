/* report/ranks/pile.h: digests merged as they come: equal numbers of files are merged, as a counter of two
 * digits carries, so that each rank's row is copied as often as the number of files has binary digits, and no
 * more digests are held than that. One thread. */
#ifndef PP_REPORT_RANKS_PILE_H
#define PP_REPORT_RANKS_PILE_H

#include "report/ranks/digest.h"

enum { PP_PILE_LEVELS = 48 };

struct pp_digest_pile {
    struct pp_digest part[PP_PILE_LEVELS];
    uint64_t files[PP_PILE_LEVELS];
    int n;
};

/* one is the pile's from now on, whatever happens. Begin with an empty pile, {.n = 0}. As pp_digest_merge. */
pp_status pp_pile_add(struct pp_digest_pile *p, const struct pp_digest *one, struct pp_err *err);
/* All of them as one; the pile is empty then. Without any, *out has no rows. */
pp_status pp_pile_end(struct pp_digest_pile *p, struct pp_digest *out, struct pp_err *err);
void pp_pile_free(struct pp_digest_pile *p);

#endif
