/* collectors/gpu/cupti_abi.h: the part of CUPTI we use, declared by ourselves: one binary works with
 * CUPTI 11.8 to 13 and with none.
 *
 * Activity records have grown at their tails from version to version while their leading parts stayed
 * (checked by offsetof in the headers of 11.8 and 13.0). The structs below are those leading parts; how long
 * a record really is only CUPTI knows, so records are walked by cuptiActivityGetNextRecord alone and never
 * copied by size. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

typedef int pp_cupti_result;
enum {
    PP_CUPTI_MAX_LIMIT_REACHED = 12, /* from GetNextRecord: the buffer's end */
    PP_CUPTI_NOT_INITIALIZED = 15,
    PP_CUPTI_HARDWARE_BUSY = 26,
    PP_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    PP_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    PP_CUPTI_UNKNOWN = 999,
};

enum pp_cupti_kind {
    PP_CUPTI_MEMCPY = 1,
    PP_CUPTI_MEMSET = 2,
    PP_CUPTI_DRIVER = 4, /* calls of the driver; with RUNTIME on, calls inside runtime calls come twice */
    PP_CUPTI_RUNTIME = 5,
    PP_CUPTI_KERNEL = 10, /* CONCURRENT_KERNEL: the older kind 3 makes kernels take turns */
    PP_CUPTI_OVERHEAD = 17,
    PP_CUPTI_SYNCHRONIZATION = 38,
    PP_CUPTI_EXTERNAL_CORRELATION = 39,
};
#define PP_CUPTI_CUSTOM0 3u /* the external correlation ids that are ours */

/* Every record begins with its kind. Records are packed to 8 bytes. */
struct pp_cupti_record {
    uint32_t kind;
};
struct pp_cupti_memcpy { /* Memcpy4, 5, 6 */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags; /* flags 1: asynchronous */
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
struct pp_cupti_memset { /* Memset4 */
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
struct pp_cupti_kernel { /* Kernel5 to 10 */
    uint32_t kind;
    uint8_t skip4[12];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    uint8_t skip52[40];
    uint32_t correlation;
    int64_t grid;
    const char *name;
};
struct pp_cupti_api {
    uint32_t kind, call;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};
struct pp_cupti_sync { /* Synchronization, Synchronization2 */
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream;
};
struct pp_cupti_overhead { /* Overhead, Overhead3 */
    uint32_t kind, what;
    uint8_t skip8[16];
    uint64_t start, end;
};
struct pp_cupti_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation;
};

_Static_assert(offsetof(struct pp_cupti_memcpy, start) == 16 &&
                   offsetof(struct pp_cupti_memcpy, correlation) == 44,
               "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_memset, start) == 16 &&
                   offsetof(struct pp_cupti_memset, correlation) == 44,
               "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_kernel, device) == 40 &&
                   offsetof(struct pp_cupti_kernel, correlation) == 92 &&
                   offsetof(struct pp_cupti_kernel, name) == 104,
               "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_api, start) == 8 && offsetof(struct pp_cupti_api, correlation) == 32,
               "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_sync, correlation) == 24 &&
                   offsetof(struct pp_cupti_sync, stream) == 32,
               "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_overhead, start) == 24, "as in cupti_activity.h");
_Static_assert(offsetof(struct pp_cupti_external, external) == 8 &&
                   offsetof(struct pp_cupti_external, correlation) == 16,
               "as in cupti_activity.h");

typedef void pp_cupti_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void pp_cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t pp_cupti_clock(void);
typedef struct pp_cupti_subscription *pp_cupti_subscriber;
typedef void pp_cupti_called(void *ctx, uint32_t domain, uint32_t call, const void *data);

/* What an API record calls its thread: pthread_self() unless asked for the system's number, by which we know
 * our threads. */
enum { PP_CUPTI_THREAD_SYSTEM = 1 };

/* X(symbol, arguments). OPTIONAL: not in every version, or can be done without. */
/* clang-format off */
#define PP_CUPTI_CALLS(X)                                                                          \
    X(cuptiGetVersion, (uint32_t *version))                                                        \
    X(cuptiGetTimestamp, (uint64_t *ns))                                                           \
    X(cuptiGetResultString, (pp_cupti_result rc, const char **text))                               \
    X(cuptiGetCallbackName, (uint32_t domain, uint32_t call, const char **name))                   \
    X(cuptiActivityRegisterCallbacks, (pp_cupti_requested *requested, pp_cupti_completed *completed)) \
    X(cuptiActivityEnable, (uint32_t kind))                                                        \
    X(cuptiActivityDisable, (uint32_t kind))                                                       \
    X(cuptiActivityFlushAll, (uint32_t flag))                                                      \
    X(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, struct pp_cupti_record **record)) \
    X(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))        \
    X(cuptiActivityPushExternalCorrelationId, (uint32_t kind, uint64_t id))                        \
    X(cuptiActivityPopExternalCorrelationId, (uint32_t kind, uint64_t *last))
#define PP_CUPTI_OPTIONAL(X)                                                                       \
    X(cuptiSetThreadIdType, (int type))                                                            \
    X(cuptiActivityRegisterTimestampCallback, (pp_cupti_clock *clock))                             \
    X(cuptiSubscribe, (pp_cupti_subscriber *subscriber, pp_cupti_called *called, void *ctx))       \
    X(cuptiUnsubscribe, (pp_cupti_subscriber subscriber))
#define PP_CUPTI_ALL(X) PP_CUPTI_CALLS(X) PP_CUPTI_OPTIONAL(X)
/* clang-format on */

struct pp_cupti_api_table {
#define PP_CUPTI_MEMBER(name, args) pp_cupti_result(*name) args;
    PP_CUPTI_ALL(PP_CUPTI_MEMBER)
#undef PP_CUPTI_MEMBER
    uint32_t version; /* of its interface: 18 for CUDA 11.8, 130001 for 13.0 */
    char library[64]; /* the name it was found by */
};

/* The usual names and places, ended by NULL. */
extern const char *const pp_cupti_places[];

/* Finds CUPTI: one that is mapped already (a process has one), else the first of libraries that fits a driver
 * for CUDA driver_version (12020: 12.2). libraries NULL: pp_cupti_places. PP_E_NOT_FOUND: none;
 * PP_E_UNSUPPORTED: it is newer than the driver, or too old. */
pp_status pp_cupti_load(struct pp_cupti_api_table *t, const char *const *libraries, int driver_version,
                        struct pp_err *err);
