/* storage/cache/cache_index.h: what a cache holds, in memory: a hash table from the key of an entry to where
 * it lies, 32 bytes each. A key that was asked for or evicted in this run stays in it without an entry, so
 * that a first request is told from one that was made room for. The caller locks. */
#ifndef PP_STORAGE_CACHE_INDEX_H
#define PP_STORAGE_CACHE_INDEX_H

#include <stddef.h>
#include <stdint.h>

enum pp_cache_flag {
    PP_CACHE_STORED = 1,  /* at8, length, version and segment are of an entry */
    PP_CACHE_SEEN = 2,    /* asked for in this run */
    PP_CACHE_CHECKED = 4, /* of a whole object: its server gave this version in this run */
    PP_CACHE_EVICTED = 8  /* it was stored, and made room in this run */
};

struct pp_cache_slot {
    uint64_t key; /* 0: empty */
    uint64_t version;
    uint32_t at8, length;
    uint16_t segment, flags;
};

struct pp_cache_index {
    struct pp_cache_slot *slot;
    size_t size, used; /* size: a power of 2, or 0 */
    int forgot;        /* keys without entries were dropped to make room */
};

/* As pp_cache_key gives it: never 0. */
static inline uint64_t pp_cache_slot_key(uint64_t key)
{
    return key ? key : 1;
}

struct pp_cache_slot *pp_cache_index_find(const struct pp_cache_index *x, uint64_t key);
/* That, or a new one with no flags; NULL: no memory, or 6 million are there. Other slots may move. */
struct pp_cache_slot *pp_cache_index_put(struct pp_cache_index *x, uint64_t key);
/* Entries of the segment are gone; those that were there get these flags. Returns how many. */
size_t pp_cache_index_drop(struct pp_cache_index *x, uint16_t segment, unsigned flags);
void pp_cache_index_free(struct pp_cache_index *x);

#endif
