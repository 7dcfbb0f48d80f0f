/* collectors/gpu/gpu.h: the two collectors of a GPU (collectors/collector.h): CUPTI's activity records and
 * NVML's counters. Both start only for a recording whose loader copies to a CUDA device. */
#ifndef PP_COLLECTORS_GPU_GPU_H
#define PP_COLLECTORS_GPU_GPU_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_cupti, pp_collector_nvml;

#endif
