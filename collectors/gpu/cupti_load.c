#include "collectors/gpu/cupti_abi.h"

#include "collectors/gpu/cupti.h"
#include "probe/base/err.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Newest first. The last are where NVIDIA's installer puts it without telling the loader. */
const char *const pp_cupti_places[] = {"libcupti.so.13",
                                       "libcupti.so.12",
                                       "libcupti.so.11.8",
                                       "libcupti.so",
                                       "/usr/local/cuda/lib64/libcupti.so",
                                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                       NULL};

static int is_optional(const char *symbol)
{
    static const char *const names[] = {"cuptiActivityRegisterTimestampCallback", "cuptiSetThreadIdType",
                                        "cuptiSubscribe", "cuptiUnsubscribe"};
    int found = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        found |= strcmp(symbol, names[i]) == 0;
    return found;
}

static pp_status bind_calls(struct pp_cupti_api_table *t, void *lib, const char *name, struct pp_err *err)
{
    const char *missing = NULL;
    memset(t, 0, sizeof(*t));
    snprintf(t->library, sizeof(t->library), "%s", name);
#define FIND(symbol, args) \
    if (!(*(void **)&t->symbol = dlsym(lib, #symbol)) && !is_optional(#symbol)) \
        missing = #symbol;
    PP_CUPTI_CALLS(FIND)
#undef FIND
    if (missing || t->cuptiGetVersion(&t->version) != 0)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is not a usable CUPTI: it has no %s", name,
                       missing ? missing : "version");
    return PP_OK;
}

pp_status pp_cupti_load(struct pp_cupti_api_table *t, const char *const *libraries, int driver_version,
                        struct pp_err *err)
{
    pp_status st = pp_fail(
        err, PP_E_NOT_FOUND,
        "CUPTI (libcupti.so) is not installed: it comes with the CUDA toolkit, or as the package libcupti-dev");
    libraries = libraries ? libraries : pp_cupti_places;
    for (int mapped = 1; mapped >= 0; mapped--) {
        for (int i = 0; libraries[i]; i++) {
            void *lib = dlopen(libraries[i],
                               RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (mapped ? RTLD_NOLOAD : 0));
            if (!lib)
                continue;
            st = bind_calls(t, lib, libraries[i], err);
            /* Of CUDA, by the version of CUPTI's interface; the old numbering does not tell. */
            int major = t->version >= 100000 ? (int)(t->version / 10000) : 0;
            if (st == PP_OK && major > driver_version / 1000)
                st = pp_fail(
                    err, PP_E_UNSUPPORTED,
                    "%s is for CUDA %d and the driver supports CUDA %d.%d: install the CUPTI of the driver's version, or a newer driver",
                    libraries[i], major, driver_version / 1000, driver_version % 1000 / 10);
            if (st == PP_OK)
                return st;
        }
    }
    return st;
}

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
