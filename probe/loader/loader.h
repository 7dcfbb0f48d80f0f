/* loader/loader.h: the full loader: sampler -> workers{read -> decode -> transform} -> batch slot -> queue ->
 * H2D -> trainer step.
 *
 * N worker threads take samples (not batches) in order from one counter, so that a sample 100x larger than
 * its neighbours delays its own batch alone, and write them straight into the batch's pinned slot. A finished
 * batch goes to the copy lane (in order, or as finished with out_of_order), then to the trainer, which is the
 * thread that calls pp_loader_run. Slots bound everything: workers x prefetch batches are in flight at most.
 * Every wait is a span. */
#pragma once

#include "probe/dataset/dataset.h" /* struct pp_stream_cursor */

#include <pipeprobe/status.h>

struct pp_collective; /* probe/ranks/collective.h */
struct pp_device;     /* probe/device/device.h */
struct pp_faults;     /* probe/loader/fault.h */
struct pp_lease;      /* probe/ranks/lease.h */
struct pp_sampler;    /* probe/sampler/sampler.h */
struct pp_session;    /* probe/trace/trace.h */
struct pp_transform;  /* probe/transform/transform.h */

enum pp_on_error { PP_ON_ERROR_SKIP, PP_ON_ERROR_SUBSTITUTE, PP_ON_ERROR_FAIL };
enum pp_step_kind { PP_STEP_NONE, PP_STEP_SLEEP, PP_STEP_SPIN, PP_STEP_DEVICE, PP_STEP_DEVICE_WORK };

struct pp_loader_error {
    uint64_t t_ns, sample;
    uint32_t thread, batch;
    const char *path, *kind, *action, *reason;
};

/* How the run stands, as the trainer sees it. */
struct pp_loader_progress {
    uint64_t batches, samples, epoch;
    uint64_t elapsed_ns; /* since the trainer started */
    uint64_t wait_ns;    /* of which it waited for batches */
};

/* A finished batch as the trainer gets it. */
struct pp_loader_delivery {
    uint64_t batch, epoch;
    const void *data;
    const int64_t *labels;
    const uint64_t *indexes;
    size_t samples; /* rows; at most batch_size */
};

/* Called from loader threads; must be thread-safe and quick. Any may be NULL. */
struct pp_loader_events {
    void *ctx;
    void (*error)(void *ctx, const struct pp_loader_error *e);
    /* by the trainer after each batch and every 50 ms of a long wait; non-zero stops the run */
    int (*tick)(void *ctx, const struct pp_loader_progress *p);
    /* by the trainer and the copy lane: one sentence on something that changes how the run goes on (a rank
     * that is not waited for any longer, a decoder that failed), valid during the call */
    void (*note)(void *ctx, const char *text);
    /* by the copy lane, in delivery order; valid during the call */
    void (*deliver)(void *ctx, const struct pp_loader_delivery *d);
};

struct pp_loader_opts {
    const struct pp_dataset *dataset;     /* borrowed */
    const struct pp_sampler *sampler;     /* borrowed; NULL when streaming */
    const struct pp_transform *transform; /* borrowed; NULL for tokens */
    struct pp_device *device;             /* borrowed */
    struct pp_session *session;           /* borrowed; NULL: recording off */
    struct pp_faults *faults; /* borrowed; NULL: none. Those of reads act in the dataset's storage */
    struct pp_loader_events events;
    int workers, prefetch; /* >= 1 each */
    int inflight; /* reads of a worker at a time; 0 is 1. Not when streaming, nor with cached_batches */
    uint64_t batch_size;
    int in_order, drop_last_batch;
    int exif_rotate;
    uint64_t seed, start_epoch, start_position; /* position: samples of start_epoch already consumed */
    uint64_t max_epochs, max_steps, max_ns; /* 0: unlimited; the first reached ends the run; max_epochs counts
                                               from epoch 0, not from start_epoch */
    uint64_t warmup_steps;
    enum pp_on_error on_error;
    size_t sample_memory; /* of one sample: its bytes and all buffers of its decode; 0: PP_SAMPLE_MEMORY */
    int retries;
    uint64_t retry_backoff_ns;
    enum pp_step_kind step;
    uint64_t step_ns;
    int copy_buffers;     /* device-side batches in flight, >= 1 */
    int decode_on_device; /* the device's decoder is open (device/decode.h), and decodes what it takes */
    int decode_required;  /* a decoder that fails, or a device, ends the run instead of leaving the work to
                             the CPU */
    int sync_every_step;
    struct pp_collective *collective; /* borrowed, used by the trainer until it ends; NULL: no other ranks */
    /* What if input were free: rows stay in their slots, and each slot on the device, once they are there;
     * batches are then delivered again and again at no cost, and hold what their slot was filled with first.
     * Not when streaming. */
    int cached_batches;
    double ballast_cpus; /* CPUs taken for nothing meanwhile (loader/fault.h), by as many threads as there
                            are workers; 0: none */
    /* streaming */
    int streaming;
    int shuffle_shards;
    uint64_t shuffle_buffer, rank, world_size;
    struct pp_lease *lease; /* borrowed, used by reader and trainer; NULL: shards are divided by rank. Batches
                               in order, none dropped, from the beginning */
    int from_cursor; /* start_epoch begins at start_cursor and is not gone through up to start_position */
    struct pp_stream_cursor start_cursor;
};

struct pp_loader_queue {
    const char *name;
    uint64_t capacity, puts, gets, put_wait_ns, get_wait_ns;
    double mean_depth, share_empty, share_full;
};

/* How far pixels of the device's decoder are off libjpeg-turbo's, of the first images of one kind: absolute
 * differences of their values, of 255. */
enum { PP_LOADER_DIFFERENCES = 6 };
struct pp_loader_difference {
    const char *sampling; /* "4:2:0", "gray" */
    uint64_t images;
    double mean;
    int largest;
};

/* Of a run with decode_on_device. */
struct pp_loader_decode {
    uint64_t images;    /* decoded on the device */
    uint64_t regions;   /* of which no more than the part that the crop needs */
    uint64_t too_large; /* JPEGs that it had no room for */
    uint64_t refused;   /* given to the device, and decoded on the CPU after all */
    uint64_t compared;  /* images whose pixels were compared with libjpeg-turbo's */
    double mean;        /* of the absolute differences of all their values, of 255 */
    double values;      /* how many */
    int largest;        /* of them */
    struct pp_loader_difference difference[PP_LOADER_DIFFERENCES];
    size_t differences;
    char gave_up[480];            /* "" or why the decoding went on on the CPU */
    char lost[480];               /* "" or why the run went on without the device (loader/decoding.c) */
    uint64_t gave_up_ns, lost_ns; /* when; monotonic */
};

struct pp_loader_result {
    uint64_t batches, samples, errors, retries, substituted, skipped;
    uint64_t start_ns, first_batch_ns, end_ns; /* monotonic; 0: the trainer never began, never had a batch */
    uint64_t opens, reads; /* of files, by workers and reader (base/io.h: pp_io_tally); opening the data set
                              is not among them */
    uint64_t images, images_baseline_jpeg, image_pixels; /* whose header was read; of them baseline JPEG of
                                                            one or three components; pixels of all */
    uint64_t meetings;                                   /* steps after which other ranks were met */
    uint64_t leases, leases_stolen, leases_lost;         /* shards leased; see ranks/lease.h */
    char leases_holder[96];                              /* "HOST.PID"; "": none was waited for */
    uint64_t warm_ns, warm_samples; /* when the warm-up steps were done, and their samples; 0: never */
    uint64_t epoch, position;       /* where the trainer stands: resume from here */
    struct pp_stream_cursor
        cursor;                /* streaming: of the last sample delivered; start_cursor before the first */
    uint64_t allocations_warm; /* buffers grown after warm-up */
    uint64_t slot_bytes, slots, footprint_bytes; /* pinned slots apart from the rest */
    struct pp_loader_queue queue[4];
    size_t queues;
    const char *ended_by; /* "duration", "steps", "epochs", "interrupted", "error" */
    /* Threads that pp_loader_stop left in a read that did not return. What they read from and into (data set,
     * storage, loader) must not be freed: they end with the process. */
    unsigned given_up;
    struct pp_loader_decode decode;
};

/* Samples per second from the end of the warm-up steps (from the start, where they never ended) to the end,
 * pauses between epochs included. */
double pp_loader_rate(const struct pp_loader_result *r);

/* "none", "sleep", "spin", "cuda". */
const char *pp_step_name(enum pp_step_kind step);

struct pp_loader;
/* PP_E_USAGE for combinations that cannot run; create checks the same. */
pp_status pp_loader_check(const struct pp_loader_opts *opts, struct pp_err *err);
pp_status pp_loader_create(const struct pp_loader_opts *opts, struct pp_loader **out, struct pp_err *err);
/* Runs to the end on the calling thread as trainer. PP_OK also when stopped by request; a failure under
 * on_error=fail or a device failure is returned after everything has been joined. result is filled in any
 * case. */
pp_status pp_loader_run(struct pp_loader *l, struct pp_loader_result *result, struct pp_err *err);
/* Async-signal-safe and from any thread: finish the batch in hand and stop. A read that has not returned half
 * a second later is left alone (given_up of the result). */
void pp_loader_stop(struct pp_loader *l);
/* The name of a sample that a worker is on; 0: not known (streaming: no worker has it now). Any thread. */
int pp_loader_sample_path(struct pp_loader *l, uint64_t index, char *buf, size_t size);
void pp_loader_destroy(struct pp_loader *l); /* keeps everything while a thread is given up */
