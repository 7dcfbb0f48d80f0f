#include "collectors/gpu/cupti_holder.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of file names, the surest sign first: torch brings Kineto along whether it profiles or not. */
static const struct {
    const char *part, *holder;
} known[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libTreeLauncherTargetInjection", "Nsight Compute"},
    {"libnvprof", "nvprof"},
    {"libkineto", "PyTorch's profiler"},
    {"libtorch_cuda", "PyTorch's profiler"},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

struct search {
    size_t best; /* KNOWN: none yet */
    char library[128];
};

static void consider(struct search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < s->best; i++)
        if (strstr(file, known[i].part)) {
            s->best = i;
            snprintf(s->library, sizeof(s->library), "%s", file);
        }
}

static int on_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    consider(ctx, info->dlpi_name);
    return 0;
}

const char *pp_cupti_holder(char *buf, size_t size)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    struct search s = {.best = KNOWN};
    if (injection)
        consider(&s, injection);
    dl_iterate_phdr(on_library, &s);
    if (s.best < KNOWN)
        snprintf(buf, size, "%s (%s)", known[s.best].holder, s.library);
    else if (getenv("NSYS_PROFILING_SESSION_ID"))
        snprintf(buf, size, "Nsight Systems");
    else
        snprintf(buf, size, "%s", injection && *injection ? injection : "nsys, ncu or PyTorch's");
    return buf;
}
