/* tui/cli/run/prove.h: `run --prove`: what the report predicts is run for real, and stands beside the
 * prediction in the same file. */
#pragma once

#include "probe/base/std.h"
#include <pipeprobe/status.h>

struct prove_opts {
    int argc;
    char **argv;              /* of the command `run`, argv[0] being its name */
    const char *recording;    /* finished */
    int64_t rank, world_size; /* told to the runs, which are this rank's whatever started it */
    int64_t rounds;           /* of each run; they take turns, so that a slow minute hits all alike */
    int keep;  /* the proving runs' own recordings stay beside it, as NAME-proof-CHANGE-ROUND.sqlite */
    int quiet; /* no notes on stderr */
};

/* Runs this command line again with the first fix of the recording's report that is an option (workers,
 * prefetch, order, pinned, buffers, sync, decode) and at least 3 % better; with JPEG decoded on the GPU,
 * where that is offered and not the first; and with input free: cached batches, and a ballast on the CPUs
 * that the workers used. Writes both into the recording's table proof. A run without a step has no headroom,
 * and one may have no such fix: what cannot be proved is said on stderr and is no failure. */
pp_status pp_prove(const struct prove_opts *o, struct pp_err *err);
