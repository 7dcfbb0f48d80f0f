#include "report/export/tracks.h"

#include <stdlib.h>

#define DEPTH_MAX 32

struct pp_track {
    uint64_t last_start_ns;
    uint64_t end_ns[DEPTH_MAX]; /* of the spans still open, outermost first */
    unsigned depth;
};

/* Open spans end in the order inside out, so that those over at start_ns are on top. */
static int fits(struct pp_track *t, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns < t->last_start_ns)
        return 0;
    while (t->depth && t->end_ns[t->depth - 1] <= start_ns)
        t->depth--;
    return t->depth < DEPTH_MAX && (!t->depth || end_ns <= t->end_ns[t->depth - 1]);
}

static int grow(struct pp_tracks *t)
{
    unsigned cap = t->cap ? t->cap * 2 : 1;
    struct pp_track *more = realloc(t->track, cap * sizeof(*more));
    if (!more)
        return 0;
    t->track = more;
    t->cap = cap;
    return 1;
}

unsigned pp_tracks_place(struct pp_tracks *t, uint64_t start_ns, uint64_t end_ns, int *ok)
{
    struct pp_track *at;
    unsigned i = 0;
    while (i < t->n && !fits(&t->track[i], start_ns, end_ns))
        i++;
    if (i == PP_TRACKS_MAX)
        return PP_TRACKS_MAX - 1;
    if (i == t->cap && !grow(t)) {
        *ok = 0;
        return 0;
    }
    at = &t->track[i];
    if (i == t->n) {
        at->depth = 0;
        t->n++;
    }
    at->last_start_ns = start_ns;
    at->end_ns[at->depth++] = end_ns;
    return i;
}

void pp_tracks_free(struct pp_tracks *t)
{
    free(t->track);
    *t = (struct pp_tracks){0};
}
