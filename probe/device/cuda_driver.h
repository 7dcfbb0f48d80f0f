/* device/cuda_driver.h: NVIDIA's driver, opened at run time. Nothing of CUDA is needed to build or to link:
 * the prototypes below are our own, for the calls we make, under the names the library exports (the stable
 * binary interface; "_v2" where a call changed once).
 *
 * A driver is plain data, filled once and read by any thread. libcuda stays mapped for the life of the
 * process: it has threads of its own. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* A call's result: 0 is success. The few that get words of their own: */
enum {
    PP_CU_OUT_OF_MEMORY = 2,
    PP_CU_NOT_INITIALIZED = 3,
    PP_CU_NO_DEVICE = 100,
    PP_CU_INVALID_DEVICE = 101,
    PP_CU_PTX_TOO_NEW = 222,
    PP_CU_DRIVER_MISMATCH = 803,
};

typedef int pp_cu_result;
typedef int pp_cu_device;
typedef struct pp_cu_context_st *pp_cu_context;
typedef struct pp_cu_stream_st *pp_cu_stream;
typedef struct pp_cu_event_st *pp_cu_event;
typedef struct pp_cu_module_st *pp_cu_module;
typedef struct pp_cu_function_st *pp_cu_function;
typedef unsigned long long pp_cu_pointer; /* an address on the device */

enum { PP_CU_STREAM_NON_BLOCKING = 1 }; /* does not wait for the legacy default stream, nor it for us */
enum {
    PP_CU_EVENT_DEFAULT = 0,
    PP_CU_EVENT_BLOCKING_SYNC = 1,
    PP_CU_EVENT_DISABLE_TIMING = 2
}; /* blocking: the waiting thread sleeps instead of spinning */
enum { PP_CU_HOST_PORTABLE = 1, PP_CU_HOST_WRITE_COMBINED = 4 };
enum {
    PP_CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    PP_CU_ATTRIBUTE_MAJOR = 75, /* of the compute capability */
    PP_CU_ATTRIBUTE_MINOR = 76,
};

/* X(symbol, arguments) */
/* clang-format off */
#define PP_CU_CALLS(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuGetErrorString, (pp_cu_result rc, const char **text)) \
    X(cuDeviceGetCount, (int *n)) \
    X(cuDeviceGet, (pp_cu_device *out, int ordinal)) \
    X(cuDeviceGetName, (char *name, int size, pp_cu_device dev)) \
    X(cuDeviceGetPCIBusId, (char *id, int size, pp_cu_device dev)) \
    X(cuDeviceGetAttribute, (int *out, int attribute, pp_cu_device dev)) \
    X(cuDevicePrimaryCtxRetain, (pp_cu_context *out, pp_cu_device dev)) \
    X(cuDevicePrimaryCtxRelease_v2, (pp_cu_device dev)) \
    X(cuCtxSetCurrent, (pp_cu_context ctx)) \
    X(cuCtxSynchronize, (void)) \
    X(cuMemHostAlloc, (void **out, size_t size, unsigned flags)) \
    X(cuMemFreeHost, (void *p)) \
    X(cuMemAlloc_v2, (pp_cu_pointer *out, size_t size)) \
    X(cuMemGetInfo_v2, (size_t *free, size_t *total)) \
    X(cuMemFree_v2, (pp_cu_pointer p)) \
    X(cuMemcpyHtoD_v2, (pp_cu_pointer to, const void *from, size_t size)) \
    X(cuMemcpyDtoH_v2, (void *to, pp_cu_pointer from, size_t size)) \
    X(cuMemcpyHtoDAsync_v2, (pp_cu_pointer to, const void *from, size_t size, pp_cu_stream stream)) \
    X(cuStreamCreate, (pp_cu_stream *out, unsigned flags)) \
    X(cuStreamSynchronize, (pp_cu_stream stream)) \
    X(cuStreamDestroy_v2, (pp_cu_stream stream)) \
    X(cuEventCreate, (pp_cu_event *out, unsigned flags)) \
    X(cuEventRecord, (pp_cu_event event, pp_cu_stream stream)) \
    X(cuEventSynchronize, (pp_cu_event event)) \
    X(cuEventElapsedTime, (float *ms, pp_cu_event from, pp_cu_event to)) \
    X(cuEventDestroy_v2, (pp_cu_event event)) \
    X(cuModuleLoadData, (pp_cu_module *out, const void *image)) \
    X(cuModuleUnload, (pp_cu_module module)) \
    X(cuModuleGetFunction, (pp_cu_function *out, pp_cu_module module, const char *name)) \
    X(cuLaunchKernel, (pp_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
                       unsigned bz, unsigned shared_bytes, pp_cu_stream stream, void **args, void **extra))
/* clang-format on */

struct pp_cuda_driver {
#define PP_CU_MEMBER(name, args) pp_cu_result(*name) args;
    PP_CU_CALLS(PP_CU_MEMBER)
#undef PP_CU_MEMBER
    int version; /* of CUDA the driver speaks: 12020 is 12.2 */
    int devices; /* once it is started: that the process may use */
};

/* Finds the calls in library (normally PP_CUDA_LIBRARY) and asks its version; touches no device.
 * PP_E_UNSUPPORTED: there is no such library, or the driver is older than what we use. */
#define PP_CUDA_LIBRARY "libcuda.so.1"
pp_status pp_cuda_driver_load(struct pp_cuda_driver *d, const char *library, struct pp_err *err);

/* Loads the driver, initialises it and counts the devices: there is one on PP_OK. PP_E_UNSUPPORTED: none is
 * usable, and err says why. */
pp_status pp_cuda_driver_start(struct pp_cuda_driver *d, struct pp_err *err);

/* The hint where a call fails that worked before. */
#define PP_CUDA_LOST "the device may be lost: look for Xid lines in dmesg; the recording so far is kept"

/* Turns rc into a status with the sentence "WHAT: the driver says ... (CUDA error N)" and, when it is not
 * NULL, "; hint". PP_OK for rc 0. */
pp_status pp_cuda_check(const struct pp_cuda_driver *d, pp_cu_result rc, struct pp_err *err, const char *hint,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
