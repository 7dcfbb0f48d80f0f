/* pipeprobe/span.h: the span record, the ABI between the measuring and the storing process.
 *
 * One record = one phase of one sample or batch on one thread. 64 bytes, no pointers, native byte order, so
 * that a ring of them can live in a mapping shared between processes and survive a kill. The thread is that
 * of the ring. */
#ifndef PIPEPROBE_SPAN_H
#define PIPEPROBE_SPAN_H

#include <stdint.h>

#define PP_NO_SAMPLE UINT64_MAX /* the span belongs to a batch or to none, not to one sample */
#define PP_NO_BATCH UINT32_MAX

/* flags */
#define PP_SPAN_ERROR 0x0001u      /* the phase failed; the error table has the reason */
#define PP_SPAN_RETRY 0x0002u      /* part of a retried read */
#define PP_SPAN_UNFINISHED 0x0004u /* still open when recording ended */
#define PP_SPAN_WARMUP 0x0008u     /* before the steady state was declared */
#define PP_SPAN_HAS_CPU 0x0010u    /* cpu_ns was measured (absent is not zero) */
#define PP_SPAN_HAS_DELAY 0x0020u  /* run_delay_ns was measured */
#define PP_SPAN_HAS_CACHE 0x0040u  /* cache_hit_kib was measured */
#define PP_SPAN_COUNT 0x0080u      /* sample holds a number of samples, not an id */
#define PP_SPAN_TRAINED 0x0100u    /* of a step of a PyTorch job: backward was called in it */

struct pp_span {
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t dur_ns;   /* end - start */
    uint64_t sample;   /* dataset index, or PP_NO_SAMPLE, or a count with PP_SPAN_COUNT */
    uint64_t bytes;    /* bytes read, produced or copied by the phase; 0 when it moves none */
    uint64_t cpu_ns;   /* CPU time of this thread inside the span (CLOCK_THREAD_CPUTIME_ID) */
    uint64_t
        run_delay_ns; /* runnable but not running (schedstat); see probe/trace/trace.h for the error bound */
    uint32_t batch;   /* batch number, counted from 0 over the whole run, or PP_NO_BATCH */
    uint32_t cache_hit_kib; /* of bytes, how much came from the page cache, in KiB rounded to nearest */
    uint16_t epoch;
    uint16_t name; /* interned name, 0 = the phase's own */
    uint8_t phase; /* pp_phase */
    uint8_t reserved;
    uint16_t flags;
};

#ifdef __cplusplus
static_assert(sizeof(struct pp_span) == 64, "the span record is 64 bytes");
#else
_Static_assert(sizeof(struct pp_span) == 64, "the span record is 64 bytes");
#endif

#endif
