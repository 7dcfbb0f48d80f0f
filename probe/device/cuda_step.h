/* device/cuda_step.h: the trainer's step on the CUDA device, as a kernel. Private to the CUDA device. The
 * context must be current in every call.
 *
 * A length of time: one thread spins on the device's timer. Whatever else runs there, it takes as long as it
 * was asked to. Fixed work (opts.step_work): kernels of arithmetic that fill all multiprocessors, as much as
 * takes the asked time on a device that does nothing else, which is measured when it is made. A kernel beside
 * them takes multiprocessors from them, and the step takes longer, as a real one would. */
#ifndef PP_DEVICE_CUDA_STEP_H
#define PP_DEVICE_CUDA_STEP_H

#include "probe/device/cuda_driver.h"
#include "probe/device/device.h"

struct pp_cuda_step {
    const struct pp_cuda_driver *cu; /* borrowed */
    pp_cu_stream stream;             /* the steps run on it; borrowed */
    pp_cu_function spin, work;       /* work: NULL unless steps are fixed work */
    pp_cu_pointer out;               /* where work would write what never comes */
    unsigned fill;                   /* blocks of work that fill the device */
    double block_ns;                 /* of the device, per block while it is full of them */
    char note[200];                  /* "" or what a step really takes */
};

/* On an error nothing is left to free but what pp_cuda_step_free frees. */
pp_status pp_cuda_step_make(struct pp_cuda_step *s, pp_cu_device device, pp_cu_module module, int work,
                            struct pp_err *err);
void pp_cuda_step_free(struct pp_cuda_step *s); /* a zeroed one too */
pp_cu_result pp_cuda_step_launch(struct pp_cuda_step *s, uint64_t ns);

/* Batches copied as bytes, normalised on the device (normalize.cuh). Private to the
 * CUDA device. The context must be current in every call. */

struct pp_cuda_normalize {
    const struct pp_cuda_driver *cu; /* borrowed */
    pp_cu_function kernel;           /* NULL: not in use */
    pp_cu_pointer table;
    size_t plane, value_bytes;
};

/* Loads the table and tries every value of every channel: a device that gives others than the CPU is refused
 * (PP_E_UNSUPPORTED). Free in any case. */
pp_status pp_cuda_normalize_make(struct pp_cuda_normalize *n, const struct pp_cuda_driver *cu,
                                 pp_cu_module module, const struct pp_device_normalize *what,
                                 struct pp_err *err);
void pp_cuda_normalize_free(struct pp_cuda_normalize *n);
/* What becomes of `bytes` copied bytes, in bytes. */
size_t pp_cuda_normalize_size(const struct pp_cuda_normalize *n, size_t bytes);
/* Starts it for the samples in `bytes` bytes. */
pp_cu_result pp_cuda_normalize_start(const struct pp_cuda_normalize *n, pp_cu_pointer from, size_t bytes,
                                     pp_cu_pointer to, pp_cu_stream stream);

#endif
