/* collectors/gpu/gpu.h: the collectors of a GPU (collectors/collector.h): CUPTI's activity records and NVML's
 * counters, for a recording whose loader copies to a CUDA device; and for the recording of another program,
 * beside a GPU, the sentence that its GPU activity is not measured. */
#ifndef PP_COLLECTORS_GPU_GPU_H
#define PP_COLLECTORS_GPU_GPU_H

#include "collectors/collector.h"

struct pp_cupti_sink;
struct pp_reach_root;
struct pp_store;

extern const struct pp_collector pp_collector_cupti, pp_collector_nvml;

/* For a recording of another program: beside a GPU that it may use, why its activity is not recorded, as
 * long as no process of it says more (collectors/attach/activity.c). wanted 0: none is asked to. */
void pp_program_gpu_store(const struct pp_reach_root *root, int wanted, struct pp_store *store);
/* The sink that is a store. */
struct pp_cupti_sink pp_cupti_into(struct pp_store *store);

#endif
