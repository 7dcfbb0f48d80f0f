/* report/measure/looks.h: what looks at the stacks of a running job tell by themselves, without a span: how
 * long its training waits for data, what its workers do, and which line costs most (measure/ops.h). For
 * `pipeprobe attach`, from outside the job.
 *
 * The training thread is the one of the job's threads that is seen most often in PyTorch's DataLoader or in
 * the making of a batch; without any, the main one. In either it waits for data; at all other looks it
 * trains. */
#pragma once

#include "report/measure/ops.h"

/* Of a thread that was looked at; the main one of a worker alone. */
enum pp_looks_role { PP_LOOKS_MAIN, PP_LOOKS_BESIDE, PP_LOOKS_WORKER };

/* Shares are of looks; NAN without any. */
struct pp_looks {
    double looks; /* at the training thread */
    double wait;  /* of them; low and high: its 95 % interval */
    double wait_low, wait_high;
    double makes;           /* of them, in the making of a batch: it has no workers */
    double workers_looks;   /* at workers */
    double busy;            /* of those, in the making of a batch */
    double on_cpu, in_read; /* of busy ones, or of makes: running or ready; in a read that the kernel blocks,
                             * or in the reading functions of sockets and HTTP clients */
    struct pp_ops ops;
};

/* Of seen->ops.stacks, which is filled (source/stacks.h), with role[thread] for each of `threads` threads, in
 * window_s. All else of *seen is zero. Free seen->ops with pp_ops_free, also after a failure. */
pp_status pp_looks_judge(struct pp_looks *seen, const unsigned char *role, size_t threads, double window_s,
                         struct pp_err *err);
