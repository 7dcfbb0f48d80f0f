/* storage/cache/cache_policy.h: which segment makes room. A table: a policy is a row.
 *
 * A loader reads every sample once per epoch. Of a set larger than the cache what was used last is then what
 * is needed last: FIFO and CLOCK (which stands for LRU) hit nothing of an order that repeats, and of a new
 * random order per epoch the less the smaller the cache. What attains cache bytes over data bytes, and no
 * policy can do better, is to keep what is there and pass the rest by. */
#ifndef PP_STORAGE_CACHE_POLICY_H
#define PP_STORAGE_CACHE_POLICY_H

#include <stddef.h>
#include <stdint.h>

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

#endif
