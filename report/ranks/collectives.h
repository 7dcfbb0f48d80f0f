/* report/ranks/collectives.h: collectives of a trace that another profiler wrote. They lie on threads of
 * their own (gloo, MPI) or are kernels on the GPU (NCCL), beside the trainer's steps: what of a step they
 * cover is its wait for the other ranks, as durations alone tell. The rank that comes last waits least. No
 * clocks are compared.
 *
 *     trainer     | wait |    step           | wait |   step      |
 *     gloo 0                    |======|                  |==|        covered: the union of both, in the step
 *     gloo 1                       |======|                |====|  */
#ifndef PP_REPORT_RANKS_COLLECTIVES_H
#define PP_REPORT_RANKS_COLLECTIVES_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_source;

/* A step, without the wait for its data; disjoint, rising. */
struct pp_covered_step {
    uint64_t start_ns, end_ns;
    uint64_t covered_ns; /* out */
};

/* Of threads of the host where there are any, else of the GPU. *any: 1: there were collectives; a recording
 * of pipeprobe, and a trace whose trainer waits for others itself, are not asked. */
pp_status pp_collectives_cover(const struct pp_source *source, struct pp_covered_step *steps, size_t n,
                               int *any, struct pp_err *err);

#endif
