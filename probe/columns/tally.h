/* columns/tally.h: what this process decoded of pages and chunks, as sums that only grow. Written by every
 * read of a sample, read by the collector once a second. */
#ifndef PP_COLUMNS_TALLY_H
#define PP_COLUMNS_TALLY_H

#include <stdint.h>

/* X(SYMBOL, "name", "unit", "one line"); the counters of a recording are called pages_NAME_total. */
#define PP_PAGES_TALLY_MAP(X) \
    X(SAMPLES, "samples", "samples", "samples that were taken out of pages") \
    X(USED, "used_bytes", "bytes", "bytes of these samples") \
    X(DECODED, "decoded", "pages", "pages and chunks that were decoded") \
    X(DECODED_BYTES, "decoded_bytes", "bytes", "bytes that they decode to") \
    X(DECODE_NS, "decode_ns", "ns", "reading and decoding them, summed over threads") \
    X(LOCK_NS, "lock_ns", "ns", "waiting for the lock of a library that reads for one thread at a time") \
    X(LOCK_HELD_NS, "lock_held_ns", "ns", "holding it")

enum pp_pages_tally {
#define PP_PAGES_TALLY_ENUM(sym, name, unit, help) PP_PAGES_TALLY_##sym,
    PP_PAGES_TALLY_MAP(PP_PAGES_TALLY_ENUM)
#undef PP_PAGES_TALLY_ENUM
        PP_PAGES_TALLIES
};

void pp_pages_tally_add(enum pp_pages_tally which, uint64_t amount);
/* Each sum by itself: a read may be in one and not yet in the other. */
void pp_pages_tally_get(uint64_t out[PP_PAGES_TALLIES]);
const char *pp_pages_tally_name(enum pp_pages_tally which);

#endif
