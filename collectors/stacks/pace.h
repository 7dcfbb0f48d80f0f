/* stacks/pace.h: how often something of a job is looked at from outside: as often as was asked for, or less,
 * so that looking takes PP_STACKS_SHARE of the machine's CPU at most. For the thread that looks. */
#ifndef PP_STACKS_PACE_H
#define PP_STACKS_PACE_H

#include <stdint.h>

#define PP_STACKS_SHARE 0.001

struct pp_pace {
    double asked_ns, period_ns; /* between looks: as asked, now */
    double cpus;                /* of the machine */
    uint64_t measured_ns, measured_cpu_ns;
};

struct pp_pace pp_pace_begin(double hz, uint64_t now_ns);
/* After a look; cpu_ns: what the thread has used since it began. */
void pp_pace_adapt(struct pp_pace *p, uint64_t now_ns, uint64_t cpu_ns);

#endif
