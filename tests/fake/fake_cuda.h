/* tests/fake/fake_cuda.h: how a test speaks to the fake driver (libcuda.so.1 of this folder).
 *
 * The fake keeps time as a GPU does: a stream is done with its work at a time that every copy and kernel
 * moves on; waiting sleeps until then. Copies really move their bytes, into memory that stands for the
 * device's. Pinned memory is what cuMemHostAlloc gave; a copy from any other blocks the caller until it is
 * done. Work on the legacy default stream and on streams that are not NON_BLOCKING wait for each other.
 *
 * Everything starts from the environment variable PP_FAKE_CUDA, or from fake_cuda_reset: words apart by ';':
 *   devices=N        (1)
 *   version=N        13000
 *   name=TEXT        "Fake GPU"; the device's number follows
 *   gbps=X           link for pinned memory, in 1e9 bytes/s (25); pageable=X the same for other memory
 *                    (6); combined=X write-combined (26)
 *   host-mib=N       how much cuMemHostAlloc gives in all; device-mib=N likewise cuMemAlloc
 *   timer-ns=N       what the timer a kernel spins on counts by (1): a spin ends on a multiple of it
 *   sync-us=N        cuCtxSynchronize takes so much longer (0); launch-us=N: a kernel begins so much after
 *                    its launch (0)
 *   block-ns=N       a block of pp_work takes so much of the 8 multiprocessors together (1000)
 *   wrong=1          the kernels that normalise get one value wrong
 *   fail=CALL:NTH:RC the NTH call (1: the first) of CALL, and every one after it, returns RC; may come
 *     several times
 *   lose=N:RC        the Nth call of any name, and every one after it, returns RC; once=N:RC: the Nth
 *                    alone */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a profiler is told of every activity, by the thread that issued it. Times are CLOCK_MONOTONIC. */
enum fake_activity_kind { FAKE_API, FAKE_COPY, FAKE_KERNEL };
struct fake_activity {
    enum fake_activity_kind kind;
    uint64_t start_ns, end_ns;
    const char *name; /* of the call or the kernel */
    size_t bytes;
    int pinned, asynchronous;
    uint32_t correlation, stream;
    int result;
};
typedef void fake_observer(const struct fake_activity *a);

void fake_cuda_reset(const char *words); /* forgets all that was made: between tests */
unsigned fake_cuda_calls(const char *call);
unsigned fake_cuda_total(void); /* of any name */
size_t fake_cuda_leaks(void);   /* contexts, streams, events, modules and allocations that are alive */
const void *fake_cuda_device_bytes(void); /* where the last copy went */
const void *fake_cuda_normalized(void);   /* where the last kernel that normalises wrote */
void fake_cuda_observe(fake_observer *o);

/* For other fakes that work on the device. Whether size bytes from p on are the device's; whether they are
 * page-locked memory of the host; keeps a stream busy
 * for so much longer; the same, and takes a share of the multiprocessors from pp_work until then, which ends
 * later (what a profiler was told of it stays as it was without that); makes every later call return rc, as a
 * context does in which a kernel went wrong. */
int fake_cuda_owns(const void *p, size_t size);
int fake_cuda_pins(const void *p, size_t size);
void fake_cuda_occupy(void *stream, uint64_t ns);
void fake_cuda_occupy_sms(void *stream, uint64_t ns, double share);
void fake_cuda_poison(int rc);
