/* collectors/gpu/gpu.h: the one thread that looks at the GPU while a run goes: CUPTI's records and NVML's
 * counters into the store, once a second. Neither is needed: what is absent or refused is said in the file
 * (meta "gpu": activity, counters) and the run goes on. */
#ifndef PP_COLLECTORS_GPU_GPU_H
#define PP_COLLECTORS_GPU_GPU_H

#include "collectors/store/writer.h"
#include "probe/device/device.h"

struct pp_gpu;

struct pp_gpu_opts {
    struct pp_store *store;   /* borrowed, must outlive the monitor */
    struct pp_device *device; /* borrowed, likewise; not opened on CUDA, there is nothing to look at */
    int activity;             /* 0: leave CUPTI alone */
    uint64_t period_ns;       /* 0: 1 s */
};

/* Before the loader's threads start: it watches the device for them. *out NULL with PP_OK: nothing to look
 * at. */
pp_status pp_gpu_start(const struct pp_gpu_opts *opts, struct pp_gpu **out, struct pp_err *err);
/* "CUPTI of ..., interface 130001", or "not recorded: " and why. Belongs to g. */
const char *pp_gpu_activity(const struct pp_gpu *g);
/* After the loader's threads have ended. Stores the rest and what was lost, joins, frees. NULL is fine. */
void pp_gpu_stop(struct pp_gpu *g);

#endif
