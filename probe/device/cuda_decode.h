/* device/cuda_decode.h: nvJPEG and the kernel behind it, for the CUDA device: see device/decode.h for what
 * each step promises. Private to the CUDA device. The context must be current in every call.
 *
 * A flight is one batch between start and wait: its stream, decoder state, events and memory, all of them
 * reused. Memory grows with the largest batch so far and stays. */
#ifndef PP_DEVICE_CUDA_DECODE_H
#define PP_DEVICE_CUDA_DECODE_H

#include "probe/device/cuda_driver.h"
#include "probe/device/decode.h"
#include "probe/device/nvjpeg.h"

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

#endif
