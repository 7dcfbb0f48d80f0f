/* columns/pages.h: pages that were decoded, kept while they may be of use: the one least recently used goes
 * first when their bytes pass the limit. One thread decodes a page, others that want the same one wait for
 * it. Any thread. */
#pragma once

#include "probe/base/counters.h"

#include <pipeprobe/status.h>

/* What this process decoded of pages and chunks, as counters of a recording. */
#define PP_PAGES_COUNTS_LIST(X) \
    X(SAMPLES, "pages_samples_total", "samples that were taken out of pages") \
    X(USED, "pages_used_bytes_total", "bytes of these samples") \
    X(DECODED, "pages_decoded_total", "pages and chunks that were decoded") \
    X(DECODED_BYTES, "pages_decoded_bytes_total", "bytes that they decode to") \
    X(DECODE_NS, "pages_decode_ns_total", "reading and decoding them, summed over threads") \
    X(LOCK_NS, "pages_lock_ns_total", \
      "waiting for the lock of a library that reads for one thread at a time") \
    X(LOCK_HELD_NS, "pages_lock_held_ns_total", "holding it")

enum pp_pages_count {
#define PP_PAGES_COUNT_ENUM(symbol, name, what) PP_PAGES_COUNT_##symbol,
    PP_PAGES_COUNTS_LIST(PP_PAGES_COUNT_ENUM)
#undef PP_PAGES_COUNT_ENUM
};
extern const struct pp_counter_set pp_pages_counters;
void pp_pages_count_decoded(uint64_t bytes, uint64_t began_ns); /* one, which ends now */

struct pp_pages;

struct pp_page_key {
    const void *table;
    uint32_t chunk, page; /* the table's own numbers */
};

/* The first member of what a table keeps. It is plain memory of malloc, with what else it holds freed by
 * free. */
struct pp_page {
    uint64_t bytes; /* of memory, its own included */
    void (*free)(struct pp_page *p);
    /* the cache's */
    struct pp_page_key key;
    unsigned users;
    struct pp_page *next, *newer, *older;
};

/* Makes one: bytes and free are set. */
typedef pp_status pp_page_maker(void *ctx, struct pp_page **out, struct pp_err *err);

pp_status pp_pages_create(uint64_t limit, struct pp_pages **out, struct pp_err *err);
void pp_pages_destroy(struct pp_pages *c); /* all pages were given back; NULL is fine */
/* The page of that key, made by this call where there is none yet. Give it back with pp_pages_put. */
pp_status pp_pages_get(struct pp_pages *c, const struct pp_page_key *key, pp_page_maker *make, void *ctx,
                       struct pp_page **out, struct pp_err *err);
void pp_pages_put(struct pp_pages *c, struct pp_page *p);
uint64_t pp_pages_footprint(struct pp_pages *c);
