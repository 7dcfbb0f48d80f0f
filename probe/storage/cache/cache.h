/* storage/cache/cache.h: a storage that wraps another one and keeps what samples and streams read of it in a
 * directory of a local disk: a slow storage is read once, and from then on as a local file is.
 *
 * What is kept is what was asked for: a range of an object, or a whole one, so that no byte is fetched that
 * no sample needs. Kept with it are name, ETag (or Last-Modified; of local files time, size and inode) and
 * size: an object that has changed is fetched again. The version is asked for once per object and run where
 * that is a request, else at each read. Objects whose storage gives no version are never kept. Reads that
 * are for no sample (indexes, headers) pass through; so do errors and everything else.
 *
 * Bytes that are not exactly those that were stored are fetched again (cache_segment.c): a failure of the
 * cache is never a failure of a read. */
#pragma once

#include "probe/base/counters.h"
#include "probe/storage/storage.h"

#define PP_CACHE_LEAST_BYTES ((uint64_t)1 << 20)

/* Which segment makes room: a policy is a row of a table (cache_room.c).
 *
 * A loader reads every sample once per epoch. Of a set larger than the cache what was used last is then what
 * is needed last: FIFO and CLOCK (which stands for LRU) hit nothing of an order that repeats, and of a new
 * random order per epoch the less the smaller the cache. What attains cache bytes over data bytes, and no
 * policy can do better, is to keep what is there and pass the rest by. */
enum pp_cache_policy_id { PP_CACHE_KEEP, PP_CACHE_CLOCK, PP_CACHE_FIFO, PP_CACHE_POLICIES };

/* A segment that may have to go; by number, the oldest first. */
struct pp_cache_candidate {
    uint64_t number;
    int busy;  /* it is being written: never */
    int used;  /* since the hand was there; the policy may clear it */
    int stale; /* nothing was read from it for an epoch, or it is of another data set */
};

struct pp_cache_policy {
    const char *name, *help;
    /* Which of n; -1: none has to go, and what was fetched is not stored. *hand: the number that was looked
     * at last. */
    int (*victim)(struct pp_cache_candidate *c, size_t n, uint64_t *hand);
};

extern const struct pp_cache_policy pp_cache_policies[PP_CACHE_POLICIES];

struct pp_cache_opts {
    const char *dir;
    uint64_t bytes; /* on disk, at least PP_CACHE_LEAST_BYTES */
    enum pp_cache_policy_id policy;
};

/* Takes inner over: it is detached with *out, which is inner itself after a failure. place: of the data set.
 * o NULL: *out is inner. The directory is opened here; failures are those of pp_cache_dir_open. */
pp_status pp_storage_wrap_cache(struct pp_storage *inner, const char *place, const struct pp_cache_opts *o,
                                struct pp_storage **out, struct pp_err *err);

/* What the cache of this process did, as counters of a recording; all 0 without one. */
#define PP_CACHE_COUNTS_LIST(X) \
    X(REQUESTS, "cache_requests_total", "reads that were asked of the cache") \
    X(HITS, "cache_hits_total", "of them: answered from the cache") \
    X(COLD, "cache_cold_total", "of them: not in the cache, and for the first time in this run") \
    X(COALESCED, "cache_coalesced_total", "of them: waited for another read of the same bytes") \
    X(CHECKS, "cache_checks_total", "requests to the storage whether an object is still the same") \
    X(CHANGED, "cache_changed_total", "entries of another version than the storage has now") \
    X(DAMAGED, "cache_damaged_total", "entries whose bytes were not those that were written") \
    X(EVICTED, "cache_evicted_total", "entries that made room") \
    X(AGAIN, "cache_again_total", "reads of what had made room in this run: fetched again") \
    X(UNKEPT, "cache_unkept_total", "reads that were fetched and not stored: no room") \
    X(BYTES, "cache_bytes_total", "bytes that were asked for") \
    X(HIT_BYTES, "cache_hit_bytes_total", "of them: from the cache") \
    X(PAGE_BYTES, "cache_page_cache_bytes_total", "of these: from the page cache, without the disk") \
    X(FETCHED_BYTES, "cache_fetched_bytes_total", "bytes that were read from the storage") \
    X(WAIT_NS, "cache_wait_ns_total", "waiting for another read of the same bytes") \
    X(DATA_BYTES, "cache_data_bytes", "different bytes that were asked for so far") \
    X(LIMIT_BYTES, "cache_limit_bytes", "what the cache may take") \
    X(HELD_BYTES, "cache_held_bytes", "what it takes")

enum pp_cache_count {
#define PP_CACHE_COUNT_ENUM(symbol, name, what) PP_CACHE_COUNT_##symbol,
    PP_CACHE_COUNTS_LIST(PP_CACHE_COUNT_ENUM)
#undef PP_CACHE_COUNT_ENUM
};
extern const struct pp_counter_set pp_cache_counters;

/* Why the cache is not all that it should be, in one sentence for people: 1, or 0 with out "". Any thread. */
int pp_cache_trouble(char *out, size_t size);
