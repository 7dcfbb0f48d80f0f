/* export/tracks.h: puts the spans of one thread on tracks in which they nest.
 *
 * Timeline formats draw a thread as a stack: a span lies inside the one above it or beside it. What overlaps
 * in part (copies in flight at the same time) or comes late (a foreign range recorded after the thousands it
 * encloses) gets a track beside the thread's own instead of a wrong duration. Memory per thread: a stack per
 * track that was ever needed. */
#ifndef PP_EXPORT_TRACKS_H
#define PP_EXPORT_TRACKS_H

#include <stdint.h>

struct pp_tracks {
    struct pp_track *track;
    unsigned n, cap;
};

#define PP_TRACKS_MAX \
    64 /* more spans of one thread than this in flight at once share the last track, drawn overlapping */

/* Track of the span [start, end). *ok is cleared when there is no memory. */
unsigned pp_tracks_place(struct pp_tracks *t, uint64_t start_ns, uint64_t end_ns, int *ok);
void pp_tracks_free(struct pp_tracks *t);

#endif
