#include "probe/storage/cache/cache_index.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 1 << 12, MOST = 1 << 23 };

static struct pp_cache_slot *place_of(struct pp_cache_slot *slots, size_t size, uint64_t key)
{
    size_t i = (size_t)(key ^ key >> 32) & (size - 1);
    while (slots[i].key && slots[i].key != key)
        i = (i + 1) & (size - 1);
    return &slots[i];
}

struct pp_cache_slot *pp_cache_index_find(const struct pp_cache_index *x, uint64_t key)
{
    struct pp_cache_slot *s = x->size ? place_of(x->slot, x->size, pp_cache_slot_key(key)) : NULL;
    return s && s->key ? s : NULL;
}

static int rebuild(struct pp_cache_index *x, size_t size, int stored_alone)
{
    size_t used = 0;
    struct pp_cache_slot *slots = calloc(size, sizeof(*slots));
    if (!slots)
        return -1;
    for (size_t i = 0; i < x->size; i++) {
        const struct pp_cache_slot *s = &x->slot[i];
        if (!s->key || (stored_alone && !(s->flags & PP_CACHE_STORED)))
            continue;
        *place_of(slots, size, s->key) = *s;
        used++;
    }
    free(x->slot);
    *x = (struct pp_cache_index){slots, size, used, x->forgot || stored_alone};
    return 0;
}

struct pp_cache_slot *pp_cache_index_put(struct pp_cache_index *x, uint64_t key)
{
    struct pp_cache_slot *s = pp_cache_index_find(x, key);
    if (s)
        return s;
    if (x->used + 1 > x->size / 4 * 3) {
        int most = x->size >= MOST;
        if (rebuild(x,
                    !x->size ? LEAST
                    : most   ? MOST
                             : 2 * x->size,
                    most) != 0 ||
            x->used + 1 > x->size / 4 * 3)
            return NULL;
    }
    key = pp_cache_slot_key(key);
    s = place_of(x->slot, x->size, key);
    *s = (struct pp_cache_slot){.key = key};
    x->used++;
    return s;
}

size_t pp_cache_index_drop(struct pp_cache_index *x, uint16_t segment, unsigned flags)
{
    size_t n = 0;
    for (size_t i = 0; i < x->size; i++) {
        struct pp_cache_slot *s = &x->slot[i];
        if (!(s->flags & PP_CACHE_STORED) || s->segment != segment)
            continue;
        s->flags = (uint16_t)((s->flags & PP_CACHE_SEEN) | flags);
        n++;
    }
    return n;
}

void pp_cache_index_free(struct pp_cache_index *x)
{
    free(x->slot);
    *x = (struct pp_cache_index){0};
}
