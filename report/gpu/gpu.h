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
