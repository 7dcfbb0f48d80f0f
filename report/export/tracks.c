#include "report/export/tracks.h"

#include <stdlib.h>

#define DEPTH_MAX 32

struct pp_track {
    uint64_t last_start_ns;
    uint64_t end_ns[DEPTH_MAX]; /* of the spans still open, outermost first */
    unsigned depth;
};

/* Open spans end in the order inside out, so that those over at start_ns are on top. They go only when the
 * span is taken: one that is refused here may be followed by an earlier one. */
static int take(struct pp_track *t, uint64_t start_ns, uint64_t end_ns)
{
    unsigned depth = t->depth;
    if (start_ns < t->last_start_ns)
        return 0;
    while (depth && t->end_ns[depth - 1] <= start_ns)
        depth--;
    if (depth == DEPTH_MAX || (depth && end_ns > t->end_ns[depth - 1]))
        return 0;
    t->last_start_ns = start_ns;
    t->end_ns[depth] = end_ns;
    t->depth = depth + 1;
    return 1;
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
    for (unsigned i = 0; i < t->n; i++)
        if (take(&t->track[i], start_ns, end_ns))
            return i;
    if (t->n == PP_TRACKS_MAX)
        return PP_TRACKS_MAX - 1;
    if (t->n == t->cap && !grow(t)) {
        *ok = 0;
        return 0;
    }
    t->track[t->n] = (struct pp_track){.last_start_ns = start_ns, .end_ns = {end_ns}, .depth = 1};
    return t->n++;
}

void pp_tracks_free(struct pp_tracks *t)
{
    free(t->track);
    *t = (struct pp_tracks){0};
}
