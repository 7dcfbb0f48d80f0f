/* device/cuda_decode.h: what the files of the CUDA device share, private to it: the step and the
 * normalisation (cuda_step.c), nvJPEG and the kernel behind it (cuda_decode.c: see device/decode.h for what
 * each step promises), and the device itself (cuda.c). The context must be current in every call.
 *
 * A flight is one batch between start and wait: its stream, decoder state, events and memory, all of them
 * reused. Memory grows with the largest batch so far and stays. */
#pragma once

#include "probe/device/cuda_driver.h"
#include "probe/device/decode.h"
#include "probe/device/nvjpeg.h"
#include "probe/device/ops.h"

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
void pp_cuda_decode_free(struct pp_cuda_decode *c); /* a zeroed one too */

/* ---- the device (cuda.c) ---- */

enum { PP_CUDA_TARGETS = 64 };

/* Where one batch lies on the device, as it was copied or decoded, and normalised, and when that is done. */
struct pp_cuda_target {
    pp_cu_pointer at, normalized;
    size_t size;
    pp_cu_event copied;
};

struct pp_cuda {
    struct pp_device base;
    struct pp_cuda_driver cu;
    pp_cu_device device;
    pp_cu_context context;
    pp_cu_stream copy_stream, step_stream;
    pp_cu_event stepped;
    pp_cu_module module;
    struct pp_cuda_step step;
    struct pp_cuda_normalize normalize;
    struct pp_cuda_decode decode;
    struct pp_cuda_target target[PP_CUDA_TARGETS]; /* used in turn, and a flight of `decode` for each */
    int n_targets, pageable, sync_copies;
    int has_events;  /* of copies: a blocking one is done when its call returns, a normalisation never is */
    uint64_t copies; /* started so far, each a ticket; the copy lane's */
    char name[256], pci_bus_id[20];
};

static inline pp_cu_result pp_cuda_enter(const struct pp_cuda *c)
{
    return c->cu.cuCtxSetCurrent(c->context);
}

/* Room for a batch of so many bytes. */
pp_status pp_cuda_reserve(struct pp_cuda *c, struct pp_cuda_target *t, size_t size, struct pp_err *err);
