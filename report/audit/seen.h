/* report/audit/seen.h: a set of samples that only grows until it is cleared: a bit for numbers below
 * PP_AUDIT_EXACT, a watch (findings/watch.h) for those above. Clearing costs what was touched. */
#ifndef PP_REPORT_AUDIT_SEEN_H
#define PP_REPORT_AUDIT_SEEN_H

#include "report/findings/watch.h"

struct pp_seen {
    uint64_t *bits; /* zero where nothing was seen */
    size_t words;
    uint8_t *touched; /* per block of words */
    struct pp_watch watch;
};

/* Zero-initialise; free with pp_seen_free. */
enum pp_watch_answer pp_seen_add(struct pp_seen *s, uint64_t sample);
int pp_seen_has(const struct pp_seen *s, uint64_t sample);
void pp_seen_clear(struct pp_seen *s);
void pp_seen_free(struct pp_seen *s);

#endif
