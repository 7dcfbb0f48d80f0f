/* report/findings/counters.h: what counters of a recording came to in the steady state: sums that only grow,
 * of which the difference counts, and states, of which the last reading does. */
#ifndef PP_REPORT_FINDINGS_COUNTERS_H
#define PP_REPORT_FINDINGS_COUNTERS_H

#include "report/source/source.h"

enum { PP_COUNTER_ROWS = 24 };

/* One counter, and the double in the caller's struct that it becomes. */
struct pp_counter_row {
    const char *name;
    size_t offset;
    int state; /* the last reading; else the difference */
};

/* From the last reading before start, or the first, to the first behind end, or the last. A counter without
 * readings is 0, and one that goes back. *watched_ns: between those readings of the first row. Returns how
 * many readings there were of all, in *seen. rows: n, up to PP_COUNTER_ROWS. */
struct pp_counters_asked {
    const struct pp_counter_row *rows;
    size_t n;
    uint64_t start_ns, end_ns;
};
pp_status pp_counters_between(const struct pp_source *source, const struct pp_counters_asked *asked,
                              void *out, double *watched_ns, size_t *seen, struct pp_err *err);

#endif
