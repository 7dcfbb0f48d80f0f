/* report/replay/stream_reads.h: the reads of a streamed run (run --stream). One thread reads for all workers,
 * one sample after the other, and the workers' spans have no reads: what the reader's spans say is joined
 * with the samples here. A shuffle buffer hands out another sample than the one that was read last; what
 * counts is how long the workers wait for the next one. */
#ifndef PP_REPORT_REPLAY_STREAM_READS_H
#define PP_REPORT_REPLAY_STREAM_READS_H

#include "report/replay/costs.h"

/* What the reader took until it had a sample for the workers, since the one before: ns. */
struct pp_stream_read {
    uint64_t sample, start_ns, end_ns; /* the end without the run-queue delay */
    float blocked, cpu, wake, retry;   /* retry: back-off before another try */
    uint32_t bytes, thread;
    uint16_t epoch;
    uint8_t hit, hit_known;
};

/* In order of time. {0}: none. */
struct pp_stream_reads {
    struct pp_stream_read *at;
    size_t n, room;
};

/* 0: no memory. */
int pp_stream_reads_add(struct pp_stream_reads *r, const struct pp_stream_read *read);
void pp_stream_reads_free(struct pp_stream_reads *r);

/* Gives each sample of c its read; a sample whose read was not recorded (it was before the window) goes. */
void pp_stream_reads_join(struct pp_stream_reads *r, struct pp_costs *c);

#endif
