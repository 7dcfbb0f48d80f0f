/* device/nvjpeg.h: NVIDIA's JPEG decoder, opened at run time. Nothing of CUDA is needed to build or to link:
 * the prototypes below are our own, for the calls we make, under the names that the library exports. It links
 * the CUDA runtime into itself and works in the context that is current.
 *
 * The table of calls is plain data, filled once and read by any thread. A handle may be used by many threads,
 * a state by one at a time. libnvjpeg stays mapped for the life of the process. */
#pragma once

#include "probe/device/cuda_driver.h"

/* A call's result: 0 is success. */
enum {
    PP_NVJPEG_BAD_JPEG = 3,
    PP_NVJPEG_NOT_SUPPORTED = 4,
    PP_NVJPEG_ALLOCATOR_FAILURE = 5,
    PP_NVJPEG_EXECUTION_FAILED = 6,
    PP_NVJPEG_ARCH_MISMATCH = 7,
    PP_NVJPEG_NOT_IMPLEMENTED = 9,
    PP_NVJPEG_INCOMPLETE = 10,
};

/* The library's numbers. Huffman decoding is done by the CPU, by the GPU's multiprocessors, by an engine of
 * its own. Of the latter two there are kinds that read the encoded bytes from the device's memory. */
enum pp_nvjpeg_backend {
    PP_NVJPEG_AUTO = 0,
    PP_NVJPEG_HYBRID = 1,
    PP_NVJPEG_GPU_HYBRID = 2,
    PP_NVJPEG_HARDWARE = 3,
    PP_NVJPEG_GPU_HYBRID_DEVICE = 4,
    PP_NVJPEG_HARDWARE_DEVICE = 5
};
enum { PP_NVJPEG_RGBI = 5 }; /* interleaved RGB in channel 0 */
enum { PP_NVJPEG_CSS_444 = 0 };
/* GPU_HYBRID decodes on the GPU only batches larger than this (nvjpeg.h). */
#define PP_NVJPEG_GPU_BATCH 50

typedef int pp_nvjpeg_result;
typedef struct pp_nvjpeg_handle_st *pp_nvjpeg_handle;
typedef struct pp_nvjpeg_state_st *pp_nvjpeg_state;
typedef struct pp_nvjpeg_stream_st *pp_nvjpeg_stream; /* a parsed header; of one thread */

typedef struct pp_nvjpeg_params_st *pp_nvjpeg_params; /* how one image is decoded; of one thread */

struct pp_nvjpeg_image {
    unsigned char *channel[4]; /* addresses on the device */
    size_t pitch[4];
};

/* X(symbol, arguments) */
/* clang-format off */
#define PP_NVJPEG_CALLS(X) \
    X(nvjpegGetProperty, (int which, int *value)) \
    X(nvjpegCreateEx, (int backend, void *device_allocator, void *pinned_allocator, unsigned flags, pp_nvjpeg_handle *out)) \
    X(nvjpegDestroy, (pp_nvjpeg_handle handle)) \
    X(nvjpegGetHardwareDecoderInfo, (pp_nvjpeg_handle handle, unsigned *engines, unsigned *cores)) \
    X(nvjpegJpegStateCreate, (pp_nvjpeg_handle handle, pp_nvjpeg_state *out)) \
    X(nvjpegJpegStateDestroy, (pp_nvjpeg_state state)) \
    X(nvjpegJpegStreamCreate, (pp_nvjpeg_handle handle, pp_nvjpeg_stream *out)) \
    X(nvjpegJpegStreamDestroy, (pp_nvjpeg_stream stream)) \
    X(nvjpegJpegStreamParseHeader, (pp_nvjpeg_handle handle, const unsigned char *data, size_t size, pp_nvjpeg_stream stream)) \
    X(nvjpegDecodeBatchedSupported, (pp_nvjpeg_handle handle, pp_nvjpeg_stream stream, int *unsupported)) \
    X(nvjpegDecodeBatchedInitialize, (pp_nvjpeg_handle handle, pp_nvjpeg_state state, int batch, int cpu_threads, int format)) \
    X(nvjpegDecodeBatchedPreAllocate, (pp_nvjpeg_handle handle, pp_nvjpeg_state state, int batch, int width, int height, \
                                       int subsampling, int format)) \
    X(nvjpegDecodeBatched, (pp_nvjpeg_handle handle, pp_nvjpeg_state state, const unsigned char *const *data, \
                            const size_t *sizes, struct pp_nvjpeg_image *to, pp_cu_stream stream)) \
    X(nvjpegDecode, (pp_nvjpeg_handle handle, pp_nvjpeg_state state, const unsigned char *data, size_t size, int format, \
                     struct pp_nvjpeg_image *to, pp_cu_stream stream))
/* What newer versions have beyond those: a region of interest, which HARDWARE alone decodes. x, y 0 and width, height -1:
 * the whole image. NULL in a library without them. */
#define PP_NVJPEG_NEWER_CALLS(X) \
    X(nvjpegDecodeParamsCreate, (pp_nvjpeg_handle handle, pp_nvjpeg_params *out)) \
    X(nvjpegDecodeParamsDestroy, (pp_nvjpeg_params params)) \
    X(nvjpegDecodeParamsSetROI, (pp_nvjpeg_params params, int x, int y, int width, int height)) \
    X(nvjpegDecodeBatchedSupportedEx, (pp_nvjpeg_handle handle, pp_nvjpeg_stream stream, pp_nvjpeg_params params, int *unsupported)) \
    X(nvjpegDecodeBatchedEx, (pp_nvjpeg_handle handle, pp_nvjpeg_state state, const unsigned char *const *data, \
                              const size_t *sizes, struct pp_nvjpeg_image *to, pp_nvjpeg_params *params, pp_cu_stream stream))
/* clang-format on */

struct pp_nvjpeg {
#define PP_NVJPEG_MEMBER(name, args) pp_nvjpeg_result(*name) args;
    PP_NVJPEG_CALLS(PP_NVJPEG_MEMBER)
    PP_NVJPEG_NEWER_CALLS(PP_NVJPEG_MEMBER)
#undef PP_NVJPEG_MEMBER
    int version;     /* of the library: 12004 is 12.4 */
    int has_regions; /* all of the newer calls are there */
    char library[256];
};

/* Opens PIPEPROBE_NVJPEG_LIB, or the first of libnvjpeg.so.13, .12, .11, libnvjpeg.so, and finds the calls.
 * Touches no device. PP_E_UNSUPPORTED: there is none, or it is older than what we use. */
pp_status pp_nvjpeg_load(struct pp_nvjpeg *n, struct pp_err *err);

/* Which way of decoding was chosen, and why it is not a better one. */
struct pp_nvjpeg_choice {
    enum pp_nvjpeg_backend backend;
    pp_nvjpeg_handle handle; /* the caller's to destroy */
    unsigned engines, cores; /* of the device; cores: of each engine */
    int regions;             /* it may decode a part of an image: nvjpegDecodeBatchedSupportedEx says which */
    char passed_over[320];   /* "" or why the engines are not used */
};

/* The engines where the device has some that may be used; else the GPU for batches that are large enough;
 * else the CPU for the first half of the work; or what is wanted, and no other. The context must be current;
 * cu names the device. PP_E_UNSUPPORTED: not even that works. */
pp_status pp_nvjpeg_choose(const struct pp_nvjpeg *n, const struct pp_cuda_driver *cu, size_t batch,
                           enum pp_nvjpeg_backend wanted, struct pp_nvjpeg_choice *out, struct pp_err *err);

/* Whether the back end reads encoded bytes from the device's memory. */
static inline int pp_nvjpeg_reads_device(enum pp_nvjpeg_backend backend)
{
    return backend == PP_NVJPEG_GPU_HYBRID_DEVICE || backend == PP_NVJPEG_HARDWARE_DEVICE;
}

/* "HARDWARE"; "BAD_JPEG". */
const char *pp_nvjpeg_backend_name(enum pp_nvjpeg_backend backend);
const char *pp_nvjpeg_result_name(pp_nvjpeg_result rc);
/* Whether the failure is of the image: another decoder may say more. Others are of device or library. */
int pp_nvjpeg_is_of_image(pp_nvjpeg_result rc);

/* For doctor: what decoding on the first CUDA device would be with batches of that size. The context that is
 * made for it is given back. */
struct pp_nvjpeg_found {
    int version;
    char library[256];
    struct pp_nvjpeg_choice choice; /* handle is NULL */
};
pp_status pp_nvjpeg_look(size_t batch, struct pp_nvjpeg_found *out, struct pp_err *err);
