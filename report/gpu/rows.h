/* report/gpu/rows.h: the rows of table gpu that the idle split needs, in memory and sorted. Private to
 * report/gpu. */
#ifndef PP_REPORT_GPU_ROWS_H
#define PP_REPORT_GPU_ROWS_H

#include "report/source/source.h"

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

#endif
