/* report/gpu/gpu_counters.h: NVML's readings of the window, summed up. Private to report/gpu*.c. */
#ifndef PP_REPORT_GPU_GPU_COUNTERS_H
#define PP_REPORT_GPU_GPU_COUNTERS_H

#include "report/gpu/gpu.h"

/* Fills the counters of *g and why they are missing, when they are. */
pp_status pp_gpu_counters(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                          struct pp_arena *arena, struct pp_report_gpu *g, struct pp_err *err);

#endif
