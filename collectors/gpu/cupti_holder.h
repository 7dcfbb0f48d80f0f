/* collectors/gpu/cupti_holder.h: which other profiler is in this process, for the sentence that CUPTI is
 * taken. */
#ifndef PP_COLLECTORS_GPU_CUPTI_HOLDER_H
#define PP_COLLECTORS_GPU_CUPTI_HOLDER_H

#include <stddef.h>

/* By the libraries that are loaded and the variables that load them: "Nsight Systems
 * (libToolsInjection64.so)". What is not known by name is the library that CUDA_INJECTION64_PATH names; with
 * nothing to be seen, who it usually is. */
const char *pp_cupti_holder(char *buf, size_t size);

#endif
