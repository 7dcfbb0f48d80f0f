#include "report/findings/watch.h"

#include "probe/base/heap.h"

enum { FIRST_ROOM = 1024, AHEAD = 16 };

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

void pp_watch_expect(const struct pp_watch *w, uint64_t sample)
{
    uint64_t hash = pp_watch_hash(sample);
    if (w->room && is_watched(w, hash))
        __builtin_prefetch(&w->entries[hash & (w->room - 1)], 1);
}

/* Into a table of that room, without what the level leaves out: those that stay are taken out first, so that
 * there are never two tables. */
static int resize_table(struct pp_watch *w, size_t room)
{
    struct pp_watch_entry *stay = malloc((w->n + 1) * sizeof(*stay));
    size_t n = 0;
    if (!stay)
        return 0;
    for (size_t i = 0; i < w->room; i++)
        if (w->entries[i].used && is_watched(w, pp_watch_hash(w->entries[i].sample)))
            stay[n++] = w->entries[i];
    if (room == w->room) {
        memset(w->entries, 0, room * sizeof(*w->entries));
    } else {
        free(w->entries);
        w->entries = pp_heap_table(room, sizeof(*w->entries));
        w->room = w->entries ? room : 0;
    }
    w->n = w->entries ? n : 0;
    for (size_t i = 0; i < w->n; i++) {
        if (i + AHEAD < n)
            pp_watch_expect(w, stay[i + AHEAD].sample);
        *place_of(w, pp_watch_hash(stay[i].sample), stay[i].sample) = stay[i];
    }
    free(stay);
    return w->entries != NULL;
}

enum pp_watch_answer pp_watch_see(struct pp_watch *w, uint64_t sample, uint16_t epoch)
{
    uint64_t hash = pp_watch_hash(sample);
    if (!is_watched(w, hash))
        return PP_WATCH_NOT_WATCHED;
    if (w->n >= w->room / 2) {
        int full = w->n >= PP_WATCH_MOST;
        w->level += (unsigned)full;
        if (!resize_table(w, full ? w->room : w->room ? 2 * w->room : FIRST_ROOM))
            return PP_WATCH_NO_MEMORY;
        if (!is_watched(w, hash))
            return PP_WATCH_NOT_WATCHED;
    }
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
