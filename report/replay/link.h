/* report/replay/link.h: whether the reads of a recording share one link, which more of them at a time do not
 * make faster. */
#ifndef PP_REPORT_REPLAY_LINK_H
#define PP_REPORT_REPLAY_LINK_H

#include "report/replay/costs.h"

struct pp_link {
    double serial; /* 0..1: how exactly the times of the reads follow bytes on one link (correlation); shared
                      from PP_SERIAL on (storage.h) */
    double bytes_per_s; /* what the link carried, where they share one */
};

/* order: c's samples by the end of their read. Where all sizes are the same, or where reads that are slow by
 * themselves would look alike, serial is 0: nothing is claimed. Reads nothing else, changes nothing; without
 * memory it claims nothing. */
void pp_link_find(const struct pp_costs *c, const struct pp_cost_sample *const *order, struct pp_link *out);

/* bytes/s of a link that reads are found to share because they slow each other, which needs no sizes that
 * differ; 0: nothing is claimed. Likewise. */
double pp_link_shared(const struct pp_costs *c, const struct pp_cost_sample *const *order);

#endif
