#include "report/watch.h"

#include "probe/base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

static uint64_t hash_of(uint64_t sample)
{
    return pp_mix64(sample + 0x9e3779b97f4a7c15u);
}

static int is_watched(const struct pp_watch *w, uint64_t hash)
{
    return w->level == 0 || hash >> (64 - w->level) == 0;
}

/* The place of the sample, or the free one where it belongs. */
static struct pp_watch_entry *place_of(const struct pp_watch *w, uint64_t hash, uint64_t sample)
{
    size_t at = (size_t)hash & (w->room - 1); /* the low bits: the high ones are the level's */
    while (w->entries[at].used && w->entries[at].sample != sample)
        at = (at + 1) & (w->room - 1);
    return &w->entries[at];
}

/* Into a table of that room, without what the level leaves out. */
static int move(struct pp_watch *w, size_t room)
{
    struct pp_watch old = *w;
    struct pp_watch_entry *entries = calloc(room, sizeof(*entries));
    if (!entries)
        return 0;
    w->entries = entries;
    w->room = room;
    w->n = 0;
    for (size_t i = 0; i < old.room; i++) {
        uint64_t hash = hash_of(old.entries[i].sample);
        if (old.entries[i].used && is_watched(w, hash)) {
            *place_of(w, hash, old.entries[i].sample) = old.entries[i];
            w->n++;
        }
    }
    free(old.entries);
    return 1;
}

static int make_room(struct pp_watch *w)
{
    if (w->n < w->room / 2)
        return 1;
    if (w->n < PP_WATCH_MOST)
        return move(w, w->room ? 2 * w->room : FIRST_ROOM);
    w->level++;
    return move(w, w->room);
}

void pp_watch_expect(const struct pp_watch *w, uint64_t sample)
{
    uint64_t hash = hash_of(sample);
    if (w->room && is_watched(w, hash))
        __builtin_prefetch(&w->entries[hash & (w->room - 1)], 1);
}

enum pp_watch_answer pp_watch_see(struct pp_watch *w, uint64_t sample, uint16_t epoch)
{
    uint64_t hash = hash_of(sample);
    if (!is_watched(w, hash))
        return PP_WATCH_NOT_WATCHED;
    if (!make_room(w))
        return PP_WATCH_NO_MEMORY;
    if (!is_watched(w, hash))
        return PP_WATCH_NOT_WATCHED;
    struct pp_watch_entry *e = place_of(w, hash, sample);
    if (!e->used) {
        *e = (struct pp_watch_entry){.sample = sample, .seen = 1, .newest = epoch, .used = 1};
        w->n++;
        return PP_WATCH_FIRST;
    }
    if (epoch > e->newest) {
        unsigned later = (unsigned)(epoch - e->newest);
        e->seen = later < PP_WATCH_EPOCHS ? e->seen << later | 1 : 1;
        e->newest = epoch;
        return PP_WATCH_FIRST;
    }
    unsigned before = (unsigned)(e->newest - epoch);
    if (before >= PP_WATCH_EPOCHS)
        return PP_WATCH_NOT_WATCHED; /* too long ago to be known */
    uint32_t bit = UINT32_C(1) << before;
    enum pp_watch_answer answer = e->seen & bit ? PP_WATCH_AGAIN : PP_WATCH_FIRST;
    e->seen |= bit;
    return answer;
}

int pp_watch_was_seen(const struct pp_watch_entry *e, uint16_t epoch)
{
    return epoch <= e->newest && e->newest - epoch < PP_WATCH_EPOCHS && (e->seen >> (e->newest - epoch) & 1);
}

void pp_watch_free(struct pp_watch *w)
{
    free(w->entries);
    memset(w, 0, sizeof(*w));
}
