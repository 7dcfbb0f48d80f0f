/* loader/loader_impl.h: the loader's inside, shared by its lanes (worker.c, lanes.c, trainer.c) and by
 * loader.c, which wires them. */
#ifndef PP_LOADER_LOADER_IMPL_H
#define PP_LOADER_LOADER_IMPL_H

#include "probe/base/io.h"
#include "probe/loader/ahead.h"
#include "probe/loader/decoding.h"
#include "probe/loader/dispatch.h"
#include "probe/loader/fault.h"
#include "probe/loader/loader.h"
#include "probe/loader/queue.h"
#include "probe/loader/stop.h"

#include <pipeprobe/span.h>

#include <pthread.h>
#include <stdatomic.h>

/* A batch that has arrived on the device. There are copy_buffers of them, going round between copy lane and
 * trainer. */
struct pp_device_batch {
    uint64_t batch, epoch, samples, bytes, end_position;
    struct pp_stream_cursor cursor;
};

/* Images whose header was read. */
struct pp_image_tally {
    uint64_t n, baseline_jpeg, pixels;
};

struct pp_worker {
    struct pp_loader *loader;
    pthread_t thread;
    int number, started;
    struct pp_gate gate; /* around its reads */
    int given_up;        /* of the ending thread: it is in a read for good, and its sample is its own */
    struct pp_thread *trace;
    struct pp_sample sample;
    const struct pp_sample *in_hand;   /* what was read last: sample, or one that was read ahead */
    struct pp_ahead *ahead;            /* NULL: one read at a time; the worker's own */
    uint64_t ahead_grown, ahead_bytes; /* when it ended */
    struct pp_decoder *decoder;
    struct pp_scratch *scratch;
    struct pp_device_parser *parser; /* NULL: decodes everything itself */
    uint64_t errors, retries, skipped, substituted;
    struct pp_image_tally images;
    struct pp_io_tally io;      /* when it ended */
    uint64_t grown_before_warm; /* buffer growths up to the first steady-state batch */
    int warm;
};

struct pp_loader {
    struct pp_loader_opts opts;
    struct pp_dispatch dispatch;
    struct pp_queue ready;   /* struct pp_slot *: finished batches, in delivery order */
    struct pp_queue arrived; /* struct pp_device_batch *: batches on the device */
    struct pp_queue buffers; /* struct pp_device_batch *: free device buffers */
    struct pp_device_batch *device_batches;
    struct pp_worker *workers;
    pthread_t copy_thread, reader_thread;
    int copy_started, reader_started, reader_given_up;
    struct pp_gate reader_gate; /* around its reads */
    atomic_int hurried;         /* pp_loader_stop: what does not come back from a read is not waited for */
    unsigned given_up;          /* threads; their memory, and this, stays until the process ends */
    struct pp_ballast *ballast;
    struct pp_decoding decoding;
    struct pp_fallback fallback;
    void *slot_data;
    size_t row_bytes, n_slots;
    struct pp_io_tally reader_io;                /* when the reader ended */
    atomic_ullong stream_errors, stream_retries; /* places the reader could not read, and tries repeated */
    struct pp_stop stop;
};

/* How the reader goes through this epoch of a streaming run. */
struct pp_stream_opts pp_reader_stream_opts(const struct pp_loader_opts *o, uint64_t epoch);

/* Thread bodies. */
void *pp_worker_main(void *worker);
void *pp_copy_main(void *loader);
void *pp_reader_main(void *loader);
/* On the calling thread: the trainer. Fills what it sees of result. */
void pp_trainer_run(struct pp_loader *l, struct pp_loader_result *result);

/* On the copy lane, whose worker w is: the sample of a row that is not made yet, from its bytes. 0: it cannot
 * be used. */
int pp_worker_make_row(struct pp_worker *w, struct pp_slot *s, uint32_t row, const struct pp_encoded *in);
/* Moves usable rows together, in row order: of the first n those whose flag is what it says. Returns how
 * many. */
uint32_t pp_slot_close_up(const struct pp_loader *l, struct pp_slot *s, uint32_t n, const uint8_t *usable);
struct pp_lap pp_batch_lap(const struct pp_loader *l, const struct pp_slot *s);
/* Copy lanes: hands the batch to the event deliver, where one is wanted; data: its rows. And what the trainer
 * is told of a batch of which so many bytes have gone to the device. */
void pp_slot_deliver(const struct pp_loader *l, const struct pp_slot *s, const void *data);
void pp_slot_arrive(const struct pp_slot *s, uint64_t bytes, struct pp_device_batch *out);
/* A whole epoch of samples of which none could be used: the failure of the run. */
pp_status pp_check_useless(struct pp_loader *l, uint64_t useless, struct pp_err *err);

/* Buffer growths of a worker so far. */
uint64_t pp_worker_grown(const struct pp_worker *w);

static inline uint16_t pp_batch_flags(const struct pp_loader *l, uint64_t batch)
{
    return batch < l->opts.warmup_steps ? PP_SPAN_WARMUP : 0;
}

#endif
