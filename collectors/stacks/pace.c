#include "collectors/stacks/pace.h"

#include <math.h>
#include <unistd.h>

#define SLOWER 1.25
#define MEASURED_NS UINT64_C(5000000000)

struct pp_pace pp_pace_begin(double hz, uint64_t now_ns)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    return (struct pp_pace){.asked_ns = 1e9 / hz,
                            .period_ns = 1e9 / hz,
                            .cpus = cpus > 0 ? cpus : 1,
                            .measured_ns = now_ns};
}

void pp_pace_adapt(struct pp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
    if (now_ns - p->measured_ns < MEASURED_NS)
        return;
    double share = (double)(cpu_ns - p->measured_cpu_ns) / (double)(now_ns - p->measured_ns) / p->cpus;
    if (share > PP_STACKS_SHARE && p->measured_cpu_ns) /* not of the first time, in which all is new */
        p->period_ns = fmin(p->period_ns * SLOWER, 1e9);
    else if (SLOWER * SLOWER * share < PP_STACKS_SHARE)
        p->period_ns = fmax(p->period_ns / SLOWER, p->asked_ns);
    p->measured_ns = now_ns;
    p->measured_cpu_ns = cpu_ns;
}
