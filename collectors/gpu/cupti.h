/* collectors/gpu/cupti.h: what the GPU did, from CUPTI's activity records into the store, on our clock,
 * joined to batches.
 *
 *   CUPTI's thread -> full buffers -> poll (one thread) -> rows in the store
 *
 * CUPTI knows one consumer per process, so there is at most one pp_cupti at a time. Its callbacks take a
 * buffer from a pool and put it into a list; all else happens in poll. With the pool used up CUPTI drops
 * records, and we count them. */
#ifndef PP_COLLECTORS_GPU_CUPTI_H
#define PP_COLLECTORS_GPU_CUPTI_H

#include "collectors/store/writer.h"
#include "probe/device/device.h"

struct pp_cupti;

struct pp_cupti_opts {
    struct pp_store *store;       /* borrowed */
    int driver_version;           /* of CUDA: 12020 is 12.2 */
    const char *const *libraries; /* NULL: the usual ones */
};

struct pp_cupti_stats {
    uint64_t rows, batches, dropped, ignored; /* ignored: of a kind we did not ask for, or without times */
    uint64_t clock_error_ns;                  /* the largest of all comparisons */
    int own_clock;                            /* CUPTI stamps with our clock: nothing had to be converted */
};

/* Finds CUPTI and turns the records on. Every failure is one sentence in err and leaves the process as it
 * was: the run goes on without. PP_E_EXISTS: another profiler holds CUPTI. */
pp_status pp_cupti_open(const struct pp_cupti_opts *opts, struct pp_cupti **out, struct pp_err *err);
/* "CUPTI of libcupti.so.13, interface 130001"; belongs to c. */
const char *pp_cupti_name(const struct pp_cupti *c);
/* What to give pp_device_watch, so that records know their batch. Valid until close; the hooks may be called
 * by any thread. */
struct pp_device_watch pp_cupti_watch(struct pp_cupti *c);
/* Stores what is complete. About once a second, by one thread. */
void pp_cupti_poll(struct pp_cupti *c);
/* Turns the records off, stores the rest, frees. Nothing may run on the device any more. */
void pp_cupti_close(struct pp_cupti *c, struct pp_cupti_stats *stats);

#endif
