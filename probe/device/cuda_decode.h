/* device/cuda_decode.h: nvJPEG and the kernel behind it, for the CUDA device: see device/decode.h for what
 * each step promises. Private to the CUDA device. The context must be current in every call.
 *
 * A flight is one batch between start and wait: its stream, decoder state, events and memory, all of them
 * reused. Memory grows with the largest batch so far and stays. */
#pragma once

#include "probe/device/cuda_driver.h"
#include "probe/device/decode.h"
#include "probe/device/device.h"
#include "probe/device/nvjpeg.h"

/* The trainer's step on the CUDA device, as a kernel. Private to the CUDA device. The context must be current
 * in every call.
 *
 * A length of time: one thread spins on the device's timer. Whatever else runs there, it takes as long as it
 * was asked to. Fixed work (opts.step_work): kernels of arithmetic that fill all multiprocessors, as much as
 * takes the asked time on a device that does nothing else, which is measured when it is made. A kernel beside
 * them takes multiprocessors from them, and the step takes longer, as a real one would. */

struct pp_cuda_step {
    const struct pp_cuda_driver *cu; /* borrowed */
    pp_cu_stream stream;             /* the steps run on it; borrowed */
    pp_cu_function spin, work;       /* work: NULL unless steps are fixed work */
    pp_cu_pointer out;               /* where work would write what never comes */
    unsigned fill;                   /* blocks of work that fill the device */
    double block_ns;                 /* of the device, per block while it is full of them */
    char note[200];                  /* "" or what a step really takes */
};

/* On an error too, `out` is left to free. */
pp_status pp_cuda_step_make(struct pp_cuda_step *s, pp_cu_device device, pp_cu_module module, int work,
                            struct pp_err *err);
pp_cu_result pp_cuda_step_launch(struct pp_cuda_step *s, uint64_t ns);

/* Batches copied as bytes, normalised on the device (normalize.cuh). Private to the CUDA device. The context
 * must be current in every call. */

struct pp_cuda_normalize {
    const struct pp_cuda_driver *cu; /* borrowed */
    pp_cu_function kernel;           /* NULL: not in use */
    pp_cu_pointer table;
    size_t plane, value_bytes; /* that each copied byte becomes */
};

/* Loads the table and tries every value of every channel: a device that gives others than the CPU is refused
 * (PP_E_UNSUPPORTED). The table is left to free in any case. */
pp_status pp_cuda_normalize_make(struct pp_cuda_normalize *n, const struct pp_cuda_driver *cu,
                                 pp_cu_module module, const struct pp_device_normalize *what,
                                 struct pp_err *err);
/* Starts it for the samples in `bytes` bytes. */
pp_cu_result pp_cuda_normalize_start(const struct pp_cuda_normalize *n, pp_cu_pointer from, size_t bytes,
                                     pp_cu_pointer to, pp_cu_stream stream);

/* ---- decoding ---- */

struct pp_cuda_decode {
    const struct pp_cuda_driver *cu; /* borrowed; NULL: there is no decoder */
    struct pp_nvjpeg nv;
    struct pp_nvjpeg_choice choice;
    pp_nvjpeg_handle single; /* for images of a batch that failed; made when the first one does */
    pp_cu_function kernel;
    pp_cu_pointer table;
    int regions; /* parts of images are decoded; 0 also once the library has refused one */
    struct pp_device_decode_opts opts;
    uint64_t most_pixels; /* of an image */
    pp_cu_stream idle;    /* nothing runs on it: an event there is now */
    pp_cu_event now;
    struct pp_cuda_flight *flight;
    size_t flights;
};

pp_status pp_cuda_decode_make(struct pp_cuda_decode *c, const struct pp_cuda_driver *cu, pp_cu_module module,
                              size_t flights, const struct pp_device_decode_opts *opts, struct pp_err *err);
void pp_cuda_decode_trim(struct pp_cuda_decode *c); /* nothing is under way */
void pp_cuda_decode_free(struct pp_cuda_decode *c); /* a zeroed one too */

pp_status pp_cuda_decode_start(struct pp_cuda_decode *c, size_t flight, struct pp_device_image *images,
                               size_t n, struct pp_err *err);
pp_status pp_cuda_decode_settle(struct pp_cuda_decode *c, size_t flight, struct pp_err *err);
pp_status pp_cuda_decode_pixels(struct pp_cuda_decode *c, size_t flight, size_t i, uint8_t *to,
                                struct pp_err *err);
/* Into the batch at `to`. *stream is where more work on the batch goes, before pp_cuda_decode_close. */
pp_status pp_cuda_decode_finish(struct pp_cuda_decode *c, size_t flight, const struct pp_device_rows *rows,
                                pp_cu_pointer to, pp_cu_stream *stream, struct pp_err *err);
pp_cu_result pp_cuda_decode_close(struct pp_cuda_decode *c, size_t flight);
pp_status pp_cuda_decode_wait(struct pp_cuda_decode *c, size_t flight, struct pp_device_decode_times *out,
                              struct pp_err *err);
