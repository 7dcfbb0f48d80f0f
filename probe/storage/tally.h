/* storage/tally.h: what the requests of this process to remote storages took, as sums that only grow. Written
 * by every request, read by the collector once a second. */
#ifndef PP_STORAGE_TALLY_H
#define PP_STORAGE_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* X(SYMBOL, "name", "unit", "one line"); the counters of a recording are called remote_NAME_total. */
#define PP_TALLY_MAP(X) \
    X(REQUESTS, "requests", "requests", "requests that were answered or failed") \
    X(FAILED, "failed", "requests", "of them: no answer, a cut one, or an answer that is an error") \
    X(THROTTLED, "throttled", "requests", "of them: 429 or 503, the server asks to slow down") \
    X(RETRIES, "retries", "requests", "requests made again: after a failure, a redirect, a new region") \
    X(HEDGES, "hedges", "requests", "second requests for bytes that were late (--hedge)") \
    X(HEDGES_WON, "hedges_won", "requests", "of them: the second answered first") \
    X(CONNECTIONS, "connections", "connections", "connections opened") \
    X(BYTES, "bytes", "bytes", "bytes of bodies received") \
    X(BUSY_NS, "busy_ns", "ns", "requests in flight, summed over time") \
    X(RESOLVE_NS, "resolve_ns", "ns", "looking up host names") \
    X(CONNECT_NS, "connect_ns", "ns", "opening connections") \
    X(TLS_NS, "tls_ns", "ns", "TLS handshakes") \
    X(FIRST_BYTE_NS, "first_byte_ns", "ns", "from the request sent to the first byte of its answer") \
    X(TRANSFER_NS, "transfer_ns", "ns", "from the first byte to the last")

enum pp_tally {
#define PP_TALLY_ENUM(sym, name, unit, help) PP_TALLY_##sym,
    PP_TALLY_MAP(PP_TALLY_ENUM)
#undef PP_TALLY_ENUM
        PP_TALLIES
};

void pp_tally_add(enum pp_tally which, uint64_t amount);
/* Each sum by itself: a request may be in one and not yet in the other. */
void pp_tally_get(uint64_t out[PP_TALLIES]);
const char *pp_tally_name(enum pp_tally which);

#endif
