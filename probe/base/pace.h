/* base/pace.h: what is done again and again beside somebody's job keeps to a share of the machine's CPUs:
 * what it took decides when the next one may begin. */
#pragma once

#include "probe/base/std.h"

#include <unistd.h>

/* The first moment at which cpu_ns of CPU time, taken since began_ns, are no more than share of the machine's
 * CPUs; UINT64_MAX: never. */
static inline uint64_t pp_pace_until(uint64_t began_ns, uint64_t cpu_ns, double share)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double wall_ns = (double)cpu_ns / (share * (cpus > 0 ? (double)cpus : 1));
    return wall_ns < (double)(UINT64_MAX - began_ns) ? began_ns + (uint64_t)wall_ns : UINT64_MAX;
}
