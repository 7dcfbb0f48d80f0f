/* report/source/joined.h: the recordings of several ranks as one source, on one clock: for timelines of a
 * whole job. Threads, names and times are those of all of them: a thread's name says its rank, processes keep
 * their numbers apart, and each time is moved to the reference's clock. What cannot stand beside another
 * rank's is left out: rows of GPUs, queues, orders of samples. */
#pragma once

#include "report/source/source.h"

struct pp_join_part {
    const struct pp_source *source; /* borrowed until pp_source_unjoin */
    const char *label;              /* "rank 3"; copied */
    /* Its times on the common clock: keeps order. NULL: it is that clock */
    uint64_t (*to_common)(const void *clock, uint64_t own_ns);
    const void *clock;     /* borrowed */
    double clock_error_ns; /* stored as run.clock_error_ns of the label; NAN: not known */
};

/* run, config and environment are those of the first part. */
pp_status pp_source_join(const struct pp_join_part *parts, size_t n, struct pp_source *out,
                         struct pp_err *err);
void pp_source_unjoin(struct pp_source *joined); /* NULL ctx is fine */
