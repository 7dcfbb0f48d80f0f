/* nvtx/nvtx.h: our own phases as NVTX ranges, so that a tool that is attached (nsys profile --trace=nvtx
 * pipeprobe run ...) shows them: domain "pipeprobe", one registered string and one category per phase, the
 * phase's colour, the batch as payload, and threads by their names. */
#pragma once

#include "collectors/collector.h"

/* Only says whether it can work: the ranges go to the attached tool, not into a recording. */
extern const struct pp_collector pp_collector_nvtx;

/* Becomes the observer of phases (trace/observe.h) when a tool is attached, and returns 1; else 0, and
 * recording costs nothing more. Once, before the threads that record are started. */
int pp_nvtx_start(void);
