/* report/gpu/gpu.h: what the GPU did in the steady-state window, and why it idled when it did, from CUPTI's
 * rows joined to batches; beside it what NVML read.
 *
 * The GPU is busy while a kernel runs. Every idle stretch lies before the trainer's next kernel, and is
 * divided by what that kernel's batch was doing meanwhile:
 *
 *     last kernel ends    the batch's copy begins    it ends    the host launches    the kernel begins
 *          |---- waiting for data ----|-- copy not overlapped --|------- launch gap -------|
 *               synchronisation: the parts before the launch, outside the copy, in which the launching
 *                 thread blocked in a synchronising call
 *
 * A kernel that is launched and waits for a blocking copy of another batch (the default stream takes turns)
 * waits for a copy not overlapped too. So the parts are disjoint and add up to the idle time. What lies after
 * the last kernel, or before one whose batch or copy is not known, is "not attributed". Join: external
 * correlation ids (gpu_batch), and the correlation id of a kernel and its launch; none is matched by time. */
#pragma once

#include "probe/base/arena.h"
#include "report/measure/timeline.h"
#include "report/model/model.h"
#include "report/source/source.h"
#include "report/verdict/verdict.h"

/* *out NULL with PP_OK: the run had no CUDA device. Memory: about 40 bytes per row of the window. */
pp_status pp_gpu_build(const struct pp_source *source, const struct pp_timeline *timeline,
                       struct pp_arena *arena, const struct pp_report_gpu **out, struct pp_err *err);

/* The metrics that are PP_FROM_GPU (report/verdict/metrics.h), and why there are none. After STRETCH, which
 * is part of what steps take beyond their kernels. g NULL: facts stay as they are. */
void pp_gpu_facts(const struct pp_report_gpu *g, const struct pp_timeline *timeline, struct pp_facts *facts);

/* The rows of table gpu that the idle split needs, in memory and sorted. Private to report/gpu. */

struct pp_gpu_kernel {
    uint64_t start_ns, end_ns;
    uint32_t batch, correlation; /* UINT32_MAX: not known */
    uint64_t launch_ns;          /* when its launch was called; 0: not known */
    uint32_t thread;             /* that launched it; UINT32_MAX: not known */
    int trainer; /* of the step, not of what prepares a batch. In a job that is not ours autograd's threads
                    launch as well: all are the step's but those of lanes that are another's */
};
struct pp_gpu_copy {
    uint64_t start_ns, end_ns, bytes;
    uint32_t batch;
    int pageable, blocking;
};
struct pp_gpu_sync {
    uint64_t start_ns, end_ns;
    uint32_t correlation, thread;
    int whole; /* a context or stream synchronisation: waits for more than one event */
};
struct pp_gpu_call {
    uint64_t start_ns;
    uint32_t correlation, thread;
};

struct pp_gpu_rows {
    struct pp_gpu_kernel *kernels; /* by start */
    struct pp_gpu_copy *copies;    /* by batch, then start */
    struct pp_gpu_copy *blocking; /* those of the copies that block their caller: on the default stream, which
                                     takes turns with kernels; by start */
    struct pp_gpu_sync *syncs;    /* by start */
    struct pp_gpu_call *calls;    /* by correlation */
    size_t n_kernels, n_copies, n_blocking, n_syncs, n_calls;
};

/* Those that touch [from_ns, to_ns]. Free with pp_gpu_rows_free, also after a failure. */
pp_status pp_gpu_rows_read(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                           struct pp_gpu_rows *out, struct pp_err *err);
void pp_gpu_rows_free(struct pp_gpu_rows *rows);

/* When the batch's copy began and ended, all of its parts together. 0: not known. */
int pp_gpu_copy_of(const struct pp_gpu_rows *rows, uint32_t batch, uint64_t *from_ns, uint64_t *to_ns);
