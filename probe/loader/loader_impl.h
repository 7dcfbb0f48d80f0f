/* loader/loader_impl.h: the loader's inside, shared by its lanes (worker.c, lanes.c, trainer.c) and by
 * loader.c, which wires them. */
#pragma once

#include "probe/base/io.h"
#include "probe/decode/image.h"
#include "probe/decode/jpeg_plain.h"
#include "probe/device/decode.h"
#include "probe/loader/dispatch.h"
#include "probe/loader/fault.h"
#include "probe/loader/loader.h"
#include "probe/loader/queue.h"
#include "probe/loader/stop.h"

#include <pipeprobe/span.h>

/* Images of a batch that the device decodes (--decode).
 *
 *   worker      reads, parses the header, draws the crop; the bytes of an image that the device takes, and
 *               the tables of its resizing, go into the row's own place in the slot, which is page-locked;
 *               other images are decoded into it as ever
 *   copy lane   several batches under way: decoded on the device, resized into the batch there, joined by the
 *               rows that the CPU made
 *
 * Where the device's decoder refuses an image, it is decoded here on the CPU, and a damaged one becomes an
 * error of its sample. Where the decoder as a whole fails, the run ends (required), or decoding goes on on
 * the CPU; where the device is lost, so does all the rest (struct pp_fallback).
 *
 * decoding.c has the worker's part and the comparison of pixels, decoding_lane.c the copy lane's. */

struct pp_claim;
struct pp_encoded;
struct pp_image_info;
struct pp_loader;
struct pp_loader_decode;
struct pp_slot;
struct pp_transform_plan;
struct pp_worker;

/* Beside a row of a slot. */
struct pp_row_input {
    int on_device; /* the row holds, or wide does, tables and bytes for the device, and no sample */
    int is_wide;
    uint8_t *wide; /* page-locked; for what does not fit into the row. Kept for the slot's next batches */
    size_t wide_size;
    enum pp_jpeg_sampling sampling;
    struct pp_device_image image; /* data and tables are set when the batch is gathered: rows move */
};

struct pp_decoding {
    struct pp_device *device; /* NULL: everything is decoded on the CPU */
    atomic_int off; /* no longer: relaxed, it orders nothing; the copy lane decodes what is in the slots */
    pthread_mutex_t lock;                 /* around allocations of page-locked memory by workers */
    struct pp_device_image *images;       /* the copy lane's, of the batch in hand; batch_size */
    uint8_t *usable;                      /* rows of it; batch_size */
    uint8_t *delivered;                   /* a batch that is read back; NULL: nothing is handed over */
    struct pp_worker *rescue;             /* the copy lane's own decoder */
    char reason[480];                     /* why off; the copy lane's */
    uint64_t off_ns;                      /* and since when */
    uint64_t on_device, refused, regions; /* images; regions: of those on the device; the copy lane's */
    uint64_t most_pixels;                 /* of an image that the device is given */
    /* Images that were larger; the first one. Relaxed: they are for a sentence. */
    atomic_ullong too_large;
    atomic_int too_wide, too_high;
    int told_too_large;  /* the copy lane's */
    atomic_int off_gray; /* relaxed: the decoder's grey images are none, and it gets no more */
    /* Pixels of the first images of each kind against libjpeg-turbo's; the copy lane's */
    struct pp_pixels_off difference[PP_JPEG_SAMPLINGS];
};

/* With the fallback, which is opened for a loader whose device decodes and need not. */
pp_status pp_decoding_init(struct pp_loader *l, struct pp_err *err);
void pp_decoding_free(struct pp_loader *l);

/* Worker: 1 when the device takes the image, which the worker's decoder has open, and it is in its row. Where
 * no memory is left for that, the CPU decodes it. */
int pp_decoding_take(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                     const struct pp_image_info *info, const struct pp_transform_plan *plan);

/* The copy lane of a run that decodes on the device. */
void *pp_decoding_main(void *loader);
/* Its parts: the images of the slot's rows, in row order, into images of struct pp_decoding (returns how
 * many); and, of the run's first images of each kind, how far the pixels of the last start are off
 * libjpeg-turbo's: images that cannot be right become failed. */
size_t pp_decoding_gather(struct pp_loader *l, const struct pp_slot *s);
void pp_decoding_compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n);

static inline int pp_decoding_is_off_gray(const struct pp_decoding *d)
{
    return atomic_load_explicit(&((struct pp_decoding *)d)->off_gray, memory_order_relaxed);
}

static inline int pp_decoding_is_off(const struct pp_decoding *d)
{
    return atomic_load_explicit(&((struct pp_decoding *)d)->off, memory_order_relaxed);
}

void pp_decoding_report(const struct pp_loader *l, struct pp_loader_decode *out);

/* What takes the place of the device when it fails in the middle of a run that is to go on all the same
 * (--decode auto).
 *
 * A device that is lost copies nothing, decodes nothing and runs no steps. From then on images are decoded on
 * the CPU, batches stay in host memory (the host device times their copies on its simulated link), and a step
 * of the device is a sleep of the same length. Memory of the lost device that is the host's, as batch slots
 * are, stays valid until the device is closed. */
struct pp_fallback {
    struct pp_device *host; /* opened before the threads start; NULL: a failure of the device ends the run */
    pthread_mutex_t lock;
    atomic_int taken; /* relaxed: it orders nothing, host was there before */
    /* Of the first failure; guarded by lock until the threads have been joined */
    char reason[480];
    uint64_t taken_ns; /* 0: the device never failed */
};

static inline int pp_fallback_is_taken(const struct pp_fallback *f)
{
    return atomic_load_explicit(&((struct pp_fallback *)f)->taken, memory_order_relaxed);
}
/* Copy lane, trainer: the device failed, and err says at what. 1: the run goes on without it, as is said once
 * by the event note; what failed is to be done again. 0: err is the run's. */
int pp_fallback_take(struct pp_loader *l, const struct pp_err *err);

/* The reads of one worker's next samples, several in flight, by threads of its own (--inflight). The worker
 * claims rows ahead, hands the claims in, and takes the samples out in the same order; the time that it then
 * still waits is its read. Each sample is read once here; the worker makes a read that failed again by
 * itself.
 *
 * All calls are the worker's. A sample belongs to the worker from pp_ahead_wait to pp_ahead_pop. */

struct pp_ahead;

/* opts, borrowed, has the data set and how many reads are in flight (inflight, above 1). */
pp_status pp_ahead_create(const struct pp_loader_opts *opts, int worker, struct pp_ahead **out,
                          struct pp_err *err);
/* Waits for the reads that have begun; those that have not are left out. Returns how many bytes were held.
 * NULL is fine. */
uint64_t pp_ahead_destroy(struct pp_ahead *a);

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
/* Waits for it too, whether it was asked for or not. Returns how often its buffer grew. */
uint64_t pp_ahead_pop(struct pp_ahead *a);

/* ---- the lanes of a loader ---- */

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
    uint64_t ahead_grown, ahead_bytes; /* buffers of samples that were popped; held, when it ended */
    struct pp_decoder *decoder;
    struct pp_buffer scratch;        /* of the transform */
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

/* Any thread: where copies and synchronisation go now. */
static inline struct pp_device *pp_fallback_device(const struct pp_loader *l)
{
    return pp_fallback_is_taken(&l->fallback) ? l->fallback.host : l->opts.device;
}

/* How the reader goes through this epoch of a streaming run. */
struct pp_stream_opts pp_reader_stream_opts(const struct pp_loader_opts *o, uint64_t epoch);

/* One sentence for the event note, up to 1 KiB. */
void pp_loader_note(const struct pp_loader *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sample that cannot be used, or a place of a stream: counted by kind, and told by the event error. Of e,
 * the caller fills sample, batch, path and action. */
void pp_loader_report_error(struct pp_loader *l, const struct pp_thread *t, struct pp_loader_error e,
                            pp_status st, const struct pp_err *err);

/* What a worker makes rows with, also the copy lane's own one; w is zeroed. */
pp_status pp_worker_init(struct pp_worker *w, struct pp_loader *l, int number, struct pp_err *err);
void pp_worker_free(struct pp_worker *w); /* half made is fine */

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
/* Of a whole batch. */
struct pp_lap pp_batch_lap(const struct pp_loader *l, uint64_t batch, uint64_t epoch, uint64_t samples);
/* Copy lanes: hands the batch to the event deliver, where one is wanted; data: its rows. *out gets what the
 * trainer is told of it; bytes: that have gone to the device. */
void pp_slot_deliver(const struct pp_loader *l, const struct pp_slot *s, const void *data, uint64_t bytes,
                     struct pp_device_batch *out);
/* A whole epoch of samples of which none could be used: the failure of the run. */
pp_status pp_check_useless(struct pp_loader *l, uint64_t useless, struct pp_err *err);

/* Buffer growths of a worker so far. */
uint64_t pp_worker_grown(const struct pp_worker *w);

static inline uint16_t pp_batch_flags(const struct pp_loader *l, uint64_t batch)
{
    return batch < l->opts.warmup_steps ? PP_SPAN_WARMUP : 0;
}
