/* collectors/gpu/cupti.h: what the GPU did, from CUPTI's activity records into a sink, on our clock, joined
 * to batches.
 *
 *   CUPTI's thread -> full buffers -> poll (one thread) -> the sink: rows of the store
 *   in another program:  CUPTI's thread -> the sink
 *
 * CUPTI knows one consumer per process, so there is at most one pp_cupti at a time. Its callbacks take a
 * buffer from a pool and put it into a list; all else happens in poll. With the pool used up CUPTI drops
 * records, and we count them. As a guest in another program nothing polls: what is in a full buffer goes to
 * the sink at once. */
#pragma once

#include "collectors/store/writer.h"
#include "probe/device/device.h"

struct pp_cupti;

/* Where records go, never by two threads at once: a store, or what is called as one is, with NULL. Times are
 * CLOCK_MONOTONIC; texts are the sink's until it returns. What it returns is not looked at. */
struct pp_cupti_sink {
    struct pp_store *store;
    pp_status (*row)(struct pp_store *s, const struct pp_store_gpu *row); /* as pp_store_gpu */
    pp_status (*batch)(struct pp_store *s, uint32_t correlation, uint64_t batch);
    pp_status (*clock)(struct pp_store *s, uint64_t t_ns, int64_t offset_ns, uint64_t error_ns);
};

struct pp_cupti_opts {
    struct pp_cupti_sink sink;
    int driver_version;           /* of CUDA: 12020 is 12.2 */
    const char *const *libraries; /* NULL: the usual ones */
    /* In a program that is not ours: calls of the CUDA runtime are read as well, and batches are not, for its
     * calls carry none; buffers are smaller, and kept for good once CUPTI has had them; a profiler that is
     * there first keeps CUPTI, and one that comes later is not kept from it. */
    int guest;
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
/* Hands on what is complete. About once a second, by one thread; not as a guest. */
void pp_cupti_poll(struct pp_cupti *c);
/* Turns the records off, hands on the rest, frees. Nothing may run on the device any more; as a guest it may,
 * and its records are not counted. */
void pp_cupti_close(struct pp_cupti *c, struct pp_cupti_stats *stats);

/* Which other profiler is in this process, for the sentence that CUPTI is taken. */

/* By the libraries that are loaded and the variables that load them: "Nsight Systems
 * (libToolsInjection64.so)". What is not known by name is the library that CUDA_INJECTION64_PATH names; with
 * nothing to be seen, who it usually is. */
const char *pp_cupti_holder(char *buf, size_t size);
