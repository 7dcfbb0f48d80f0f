/* collectors/attach/activity.h: what the GPU does for a recorded Python job (activity_file.h), stored as the
 * rows that a loader of our own has: tables gpu, gpu_batch and gpu_clock, and in section "gpu" who recorded
 * them, or why nothing is. One collector (collectors/collector.h), for a recording of another program that
 * asks for such rows. It takes at most as many as that says, then the job's process ends its part. */
#ifndef PP_COLLECTORS_ATTACH_ACTIVITY_H
#define PP_COLLECTORS_ATTACH_ACTIVITY_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_activity;

#endif
