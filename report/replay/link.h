/* report/replay/link.h: whether the reads of a recording share one link, which more of them at a time do not
 * make faster. */
#pragma once

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

/* Whether the bytes of requests share one link, or each connection has a rate of its own.
 *
 * On a link of L bytes/s that k transfers share, a transfer gets L / k at every moment; with a rate of its
 * own it gets that, whatever the others do. Both are fitted to the median transfer, and it is a link where
 * half of the transfers are much nearer to that. Where the number of transfers never changes, both fit. */

struct pp_transfer {
    double start_ns, end_ns, bytes;
};

/* Bytes/s of the link; 0: there is none, or it cannot be told. NAN: no memory. */
double pp_request_link(const struct pp_transfer *transfers, size_t n);

/* slices.c: a quota that shows only by the times of its reads: the kernel's block throttle, a volume's IOPS
 * or throughput. Each slice of time lets so many reads or bytes through; the rest waits. */

enum pp_ration { PP_NO_RATION, PP_RATION_OF_READS, PP_RATION_OF_BYTES };

/* order: c's samples by the end of their read; v: room for c->n. Where it cannot be told from reads that are
 * slow by themselves, or held up by an outage, nothing is claimed. */
enum pp_ration pp_slices_ration(const struct pp_costs *c, const struct pp_cost_sample **order, float *v);
