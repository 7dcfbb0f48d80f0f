/* storage/cache/cache_tally.h: what the cache of this process did, as sums that only grow and a few states.
 * Written by every request, read by the collector once a second. */
#ifndef PP_STORAGE_CACHE_TALLY_H
#define PP_STORAGE_CACHE_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* X(SYMBOL, "name", "one line"); a recording has them as counters cache_NAME. */
#define PP_CACHE_TALLY_MAP(X) \
    X(REQUESTS, "requests_total", "reads that were asked of the cache") \
    X(HITS, "hits_total", "of them: answered from the cache") \
    X(COLD, "cold_total", "of them: not in the cache, and for the first time in this run") \
    X(COALESCED, "coalesced_total", "of them: waited for another read of the same bytes") \
    X(CHECKS, "checks_total", "requests to the storage whether an object is still the same") \
    X(CHANGED, "changed_total", "entries of another version than the storage has now") \
    X(DAMAGED, "damaged_total", "entries whose bytes were not those that were written") \
    X(EVICTED, "evicted_total", "entries that made room") \
    X(AGAIN, "again_total", "reads of what had made room in this run: fetched again") \
    X(UNKEPT, "unkept_total", "reads that were fetched and not stored: no room") \
    X(BYTES, "bytes_total", "bytes that were asked for") \
    X(HIT_BYTES, "hit_bytes_total", "of them: from the cache") \
    X(PAGE_BYTES, "page_cache_bytes_total", "of these: from the page cache, without the disk") \
    X(FETCHED_BYTES, "fetched_bytes_total", "bytes that were read from the storage") \
    X(WAIT_NS, "wait_ns_total", "waiting for another read of the same bytes") \
    X(DATA_BYTES, "data_bytes", "different bytes that were asked for so far") \
    X(LIMIT_BYTES, "limit_bytes", "what the cache may take") \
    X(HELD_BYTES, "held_bytes", "what it takes")

enum pp_cache_tally {
#define PP_CACHE_TALLY_ENUM(sym, name, help) PP_CACHE_TALLY_##sym,
    PP_CACHE_TALLY_MAP(PP_CACHE_TALLY_ENUM)
#undef PP_CACHE_TALLY_ENUM
        PP_CACHE_TALLIES
};

void pp_cache_tally_add(enum pp_cache_tally which, uint64_t amount);
void pp_cache_tally_set(enum pp_cache_tally which, uint64_t value);
void pp_cache_tally_get(uint64_t out[PP_CACHE_TALLIES]);
const char *pp_cache_tally_name(enum pp_cache_tally which);

/* Why the cache is not all that it should be, in one sentence for people: the first one stays. */
void pp_cache_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* 1: there is one. out: "" else. */
int pp_cache_said(char *out, size_t size);
/* Tests, and before another data set is opened. */
void pp_cache_tally_reset(void);

#endif
