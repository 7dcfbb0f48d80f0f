/* report/findings/watch.h: which samples were seen in which epochs, in bounded memory whatever the size of
 * the data set.
 *
 * Up to PP_WATCH_MOST samples are watched, each with one bit for every one of the last 32 epochs: exact as
 * long as the data set is no larger. Beyond that only samples whose hash begins with one more zero bit are
 * kept, again and again (adaptive sampling: Wegman; Flajolet, On adaptive sampling, 1990): always the same
 * samples in every epoch, and of each watched one all is known. Counts are then those of the watched times
 * `scale`, with a relative standard error of 1 / sqrt(watched ones counted). Memory: 16 bytes for each of at
 * most 2 x PP_WATCH_MOST places (32 MiB). */
#pragma once

#include "probe/base/rng.h"

enum { PP_WATCH_MOST = 1 << 20, PP_WATCH_EPOCHS = 32 };

struct pp_watch_entry {
    uint64_t sample;
    uint32_t seen; /* bit k: in epoch `newest` - k */
    uint16_t newest;
    uint16_t used;
};

struct pp_watch {
    struct pp_watch_entry *entries;
    size_t room, n; /* room: a power of two */
    unsigned level; /* samples whose hash begins with this many zero bits are watched */
};

enum pp_watch_answer { PP_WATCH_FIRST, PP_WATCH_AGAIN, PP_WATCH_NOT_WATCHED, PP_WATCH_NO_MEMORY };

static inline uint64_t pp_watch_hash(uint64_t sample)
{
    return pp_mix64(sample + 0x9e3779b97f4a7c15u);
}
/* Zero-initialise; free with pp_watch_free. */
enum pp_watch_answer pp_watch_see(struct pp_watch *w, uint64_t sample, uint16_t epoch);
/* The sample will be seen soon. Changes nothing, but asks memory for its place, for which pp_watch_see would
 * wait: shuffled samples are all over a table that no cache holds. */
void pp_watch_expect(const struct pp_watch *w, uint64_t sample);
static inline double pp_watch_scale(const struct pp_watch *w)
{
    return (double)(UINT64_C(1) << w->level);
}
int pp_watch_was_seen(const struct pp_watch_entry *e, uint16_t epoch); /* e: a used place of entries */
void pp_watch_free(struct pp_watch *w);
