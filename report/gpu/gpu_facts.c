#include "report/gpu/gpu.h"

#include <math.h>

/* Of the trainer's step time: what steps take beyond their kernels (waking up, launching), less what the CPU
 * is known to owe. */
static double step_overhead(const struct pp_report_gpu *g, const struct pp_timeline *tl, double stretch)
{
    double all = (double)(pp_timeline_exposed_ns(tl) + tl->step_ns), judged = (double)tl->judged_batches;
    double beyond = (double)tl->step_ns - judged * g->kernel_ns;
    return all > 0 && judged > 0 ? fmax(beyond / all - (stretch > 0 ? stretch : 0), 0) : NAN;
}

void pp_gpu_facts(const struct pp_report_gpu *g, const struct pp_timeline *tl, struct pp_facts *f)
{
    double *m = f->metric, idle = 0;
    if (!g)
        return;
    f->gpu_not_measured = g->not_measured;
    m[PP_METRIC_GPU_TOLD] = !g->not_measured;
    if (g->not_measured)
        return;
    for (int i = 0; i < PP_GPU_IDLES; i++)
        idle += g->idle_share[i];
    double host = g->idle_share[PP_GPU_IDLE_SYNC] + g->idle_share[PP_GPU_IDLE_LAUNCH];
    m[PP_METRIC_GPU_COPY] = idle > 0 ? g->idle_share[PP_GPU_IDLE_COPY] / idle : 0;
    m[PP_METRIC_GPU_HOST] = idle > 0 ? host / idle : 0;
    m[PP_METRIC_GPU_PAGEABLE] = g->pageable_share;
    m[PP_METRIC_GPU_OVERLAP] = g->overlap_gain;
    m[PP_METRIC_GPU_SYNCS] = g->syncs_per_step;
    m[PP_METRIC_GPU_OVERHEAD] = step_overhead(g, tl, m[PP_METRIC_STRETCH]);
    if (m[PP_METRIC_GPU_OVERHEAD] >= pp_conditions[PP_IF_GPU_OVERHEAD].at_least)
        m[PP_METRIC_DATA_WAIT] = fmin(m[PP_METRIC_DATA_WAIT] + m[PP_METRIC_GPU_OVERHEAD], 1);
    m[PP_METRIC_W_COPY] = m[PP_METRIC_W_SYNC] = NAN;
}
