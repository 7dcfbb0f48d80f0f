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
 * correlation ids (gpu_batch), and the correlation id of a kernel and its launch; nothing is matched by time.
 */
#ifndef PP_REPORT_GPU_GPU_H
#define PP_REPORT_GPU_GPU_H

#include "probe/base/arena.h"
#include "report/source/source.h"
#include "report/measure/timeline.h"
#include "report/verdict/verdict.h"

/* X(symbol, key in documents, name) */
/* clang-format off */
#define PP_GPU_IDLE_MAP(X)                                  \
    X(DATA, "waiting_for_data", "waiting for data")         \
    X(COPY, "copy_not_overlapped", "copy not overlapped")   \
    X(SYNC, "synchronisation", "synchronisation")           \
    X(LAUNCH, "launch_gap", "launch gap")                   \
    X(OTHER, "not_attributed", "not attributed")
/* clang-format on */

enum pp_gpu_idle {
#define PP_GPU_IDLE_ENUM(sym, key, name) PP_GPU_IDLE_##sym,
    PP_GPU_IDLE_MAP(PP_GPU_IDLE_ENUM)
#undef PP_GPU_IDLE_ENUM
        PP_GPU_IDLES
};

struct pp_report_gpu {
    const char *name;                /* of the device; NULL: unknown */
    const char *activity;            /* where the records came from, or "not recorded: ..." */
    const char *not_measured;        /* NULL: measured; else why not, and all that follows is NAN or 0 */
    double busy_share;               /* of the window: a kernel ran */
    double idle_share[PP_GPU_IDLES]; /* of the window */
    uint64_t kernels, copies, copied_bytes; /* that began in the window; kernels: the trainer's */
    double copy_bytes_per_s;                /* while copying */
    double overlap_share;                   /* of the time spent copying, a kernel ran too */
    double overlap_gain;   /* of throughput, had all copies run under kernels as far as they fit; an upper
                              bound, for other limits may come first */
    double pageable_share; /* of the bytes copied came from pageable memory */
    double blocking_share; /* of the copies, calls that return when the copy is done */
    double syncs_per_step; /* context and stream synchronisations by the threads that launch */
    double kernel_ns;      /* mean time of the trainer's kernels, per step */
    double clock_error_ns; /* of the rows' times against spans */
    /* NVML's readings in the window, about one a second; known or not whatever CUPTI did */
    const char *counters_missing; /* NULL: read; else why not, and the following are NAN. What a device does
                                     not tell (MIG) is NAN as well */
    double utilization_share;     /* mean of what nvidia-smi shows: a kernel was running */
    double memory_used_bytes;     /* most */
    double pcie_rx_bytes_per_s, pcie_tx_bytes_per_s; /* mean; rx: to the GPU */
};

/* *out NULL with PP_OK: the run had no CUDA device. Memory: about 40 bytes per row of the window. */
pp_status pp_gpu_build(const struct pp_source *source, const struct pp_timeline *timeline,
                       struct pp_arena *arena, const struct pp_report_gpu **out, struct pp_err *err);

/* Device evidence into the verdict's facts: where the GPU was measured it decides on sync, and what a replay
 * of host spans says of it is dropped; where it was not, the rules say NOT MEASURED. The trainer's exposed
 * time grows by what its steps take beyond their kernels, less what is known to be for want of CPU. g NULL:
 * facts stay as they are. After the replay's metrics (diagnose.h). */
void pp_gpu_facts(const struct pp_report_gpu *g, const struct pp_timeline *timeline, struct pp_facts *facts);

/* What renderers show, in order: a name, a number and its unit. NAN is unknown. */
enum pp_gpu_unit { PP_GPU_SHARE, PP_GPU_COUNT, PP_GPU_NUMBER, PP_GPU_BYTES, PP_GPU_BYTES_PER_S, PP_GPU_TIME };
enum pp_gpu_part {
    PP_GPU_ACTIVITY,
    PP_GPU_IDLE_PART,
    PP_GPU_COUNTER
}; /* of CUPTI; of CUPTI, why it idled; of NVML */
struct pp_gpu_item {
    const char *key;  /* in JSON and CSV, units in it; idle parts are under "idle" in JSON */
    const char *name; /* for people */
    enum pp_gpu_unit unit;
    double value;
    enum pp_gpu_part part;
};
enum { PP_GPU_ITEMS = 15 + PP_GPU_IDLES };
/* Fills item and returns how many; all values are NAN when nothing was measured. */
size_t pp_gpu_items(const struct pp_report_gpu *g, struct pp_gpu_item item[PP_GPU_ITEMS]);
/* Whether it is a line of its own for people: of what was not measured as a whole they read once why. */
int pp_gpu_item_shown(const struct pp_report_gpu *g, const struct pp_gpu_item *i);
/* An item's value as people read it. */
const char *pp_gpu_item_text(const struct pp_gpu_item *i, char *buf, size_t size);

#endif
