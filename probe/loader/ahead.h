/* loader/ahead.h: the reads of one worker's next samples, several in flight, by threads of its own
 * (--inflight). The worker claims rows ahead, hands the claims in, and takes the samples out in the same
 * order; the time that it then still waits is its read. Each sample is read once here; the worker makes a
 * read that failed again by itself.
 *
 * All calls are the worker's. A sample belongs to the worker from pp_ahead_wait to pp_ahead_pop. */
#ifndef PP_LOADER_AHEAD_H
#define PP_LOADER_AHEAD_H

#include "probe/loader/dispatch.h"

struct pp_ahead;

/* opts, borrowed, has the data set and how many reads are in flight (inflight, above 1). */
pp_status pp_ahead_create(const struct pp_loader_opts *opts, int worker, struct pp_ahead **out,
                          struct pp_err *err);
/* Waits for the reads that have begun; those that have not are left out. Nothing but destroy and questions
 * may follow. */
void pp_ahead_stop(struct pp_ahead *a);
void pp_ahead_destroy(struct pp_ahead *a); /* stops it; NULL is fine */

/* Claims handed in and not popped; at most opts->inflight. */
int pp_ahead_count(const struct pp_ahead *a);
void pp_ahead_push(struct pp_ahead *a, const struct pp_claim *claim);
/* The one handed in first; there is one. */
const struct pp_claim *pp_ahead_head(const struct pp_ahead *a);

struct pp_ahead_result {
    struct pp_sample *sample;
    uint64_t wait_ns; /* before it is tried again (pp_storage_retry_wait_ns), with PP_E_TRANSIENT */
};
/* The status of the head's read, once it has ended; may be asked again. */
pp_status pp_ahead_wait(struct pp_ahead *a, struct pp_ahead_result *out, struct pp_err *err);
/* Waits for it too, whether it was asked for or not. */
void pp_ahead_pop(struct pp_ahead *a);

uint64_t pp_ahead_grown(const struct pp_ahead *a);     /* buffers of popped samples that grew */
uint64_t pp_ahead_footprint(const struct pp_ahead *a); /* bytes held; after stop */

#endif
