/* report/audit/seen.h: a set of samples that only grows until it is cleared. A bit for numbers below
 * PP_AUDIT_EXACT. Numbers above, as leased shards have them (shard x 2^32 + place), have a bit in pages of
 * PP_SEEN_PAGE numbers that follow each other, of which there are PP_SEEN_PAGES at the most: 160 MiB. What
 * finds no page then is watched (findings/watch.h), an estimate. Clearing costs what was touched. */
#ifndef PP_REPORT_AUDIT_SEEN_H
#define PP_REPORT_AUDIT_SEEN_H

#include "report/findings/watch.h"

enum { PP_SEEN_PAGE = 512, PP_SEEN_PAGES = 1 << 21 };

struct pp_seen {
    uint64_t *bits; /* zero where nothing was seen */
    size_t words;
    uint8_t *touched; /* per block of words */
    uint64_t (*page)[PP_SEEN_PAGE / 64];
    uint64_t *number; /* of a page, plus 1, by hash; 0: a free place */
    uint32_t *at;     /* which page that is */
    size_t pages, room, places;
    struct pp_watch watch;
};

/* A sample that is going to be added soon: its bit is fetched meanwhile. In random order each is in another
 * line of memory. */
static inline void pp_seen_expect(const struct pp_seen *s, uint64_t sample)
{
    if (sample / 64 < s->words)
        __builtin_prefetch(&s->bits[sample / 64], 1);
}
/* Zero-initialise; free with pp_seen_free. */
enum pp_watch_answer pp_seen_add(struct pp_seen *s, uint64_t sample);
/* For how many samples one that was added stands: 1 but for those that are watched. */
uint64_t pp_seen_weight(const struct pp_seen *s, uint64_t sample);
int pp_seen_has(const struct pp_seen *s, uint64_t sample);
void pp_seen_clear(struct pp_seen *s);
void pp_seen_free(struct pp_seen *s);

#endif
