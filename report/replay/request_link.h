/* report/replay/request_link.h: whether the bytes of requests share one link, or each connection has a rate
 * of its own.
 *
 * On a link of L bytes/s that k transfers share, a transfer gets L / k at every moment; with a rate of its
 * own it gets that, whatever the others do. Both are fitted to the median transfer, and it
 * is a link where half of the transfers are much nearer to that. Where the number of transfers
 * never changes, both fit. */
#ifndef PP_REPORT_REPLAY_REQUEST_LINK_H
#define PP_REPORT_REPLAY_REQUEST_LINK_H

#include <stddef.h>

struct pp_transfer {
    double start_ns, end_ns, bytes;
};

/* Bytes/s of the link; 0: there is none, or it cannot be told. NAN: no memory. */
double pp_request_link(const struct pp_transfer *transfers, size_t n);

#endif
