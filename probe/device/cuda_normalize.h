/* device/cuda_normalize.h: batches copied as bytes, normalised on the device (normalize.cuh). Private to the
 * CUDA device. The context must be current in every call. */
#ifndef PP_DEVICE_CUDA_NORMALIZE_H
#define PP_DEVICE_CUDA_NORMALIZE_H

#include "probe/device/cuda_driver.h"
#include "probe/device/device.h"

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
