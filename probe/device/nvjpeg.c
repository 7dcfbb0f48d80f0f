#include "probe/device/nvjpeg.h"

#include "probe/base/err.h"

#include <dlfcn.h>

static const char *const libraries[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11",
                                        "libnvjpeg.so", NULL};

const char *pp_nvjpeg_backend_name(enum pp_nvjpeg_backend backend)
{
    static const char *const names[] = {[PP_NVJPEG_HYBRID] = "HYBRID",
                                        [PP_NVJPEG_GPU_HYBRID] = "GPU_HYBRID",
                                        [PP_NVJPEG_HARDWARE] = "HARDWARE",
                                        [PP_NVJPEG_GPU_HYBRID_DEVICE] = "GPU_HYBRID_DEVICE",
                                        [PP_NVJPEG_HARDWARE_DEVICE] = "HARDWARE_DEVICE"};
    return (unsigned)backend < sizeof(names) / sizeof(names[0]) && names[backend] ? names[backend]
                                                                                  : "unknown";
}

const char *pp_nvjpeg_result_name(pp_nvjpeg_result rc)
{
    static const char *const names[] = {"SUCCESS",
                                        "NOT_INITIALIZED",
                                        "INVALID_PARAMETER",
                                        "BAD_JPEG",
                                        "JPEG_NOT_SUPPORTED",
                                        "ALLOCATOR_FAILURE",
                                        "EXECUTION_FAILED",
                                        "ARCH_MISMATCH",
                                        "INTERNAL_ERROR",
                                        "IMPLEMENTATION_NOT_SUPPORTED",
                                        "INCOMPLETE_BITSTREAM"};
    return (unsigned)rc < sizeof(names) / sizeof(names[0]) ? names[rc] : "an unknown status";
}

int pp_nvjpeg_is_of_image(pp_nvjpeg_result rc)
{
    return rc == PP_NVJPEG_BAD_JPEG || rc == PP_NVJPEG_NOT_SUPPORTED || rc == PP_NVJPEG_INCOMPLETE;
}

/* ---- the library ---- */

pp_status pp_nvjpeg_load(struct pp_nvjpeg *n, struct pp_err *err)
{
    const char *missing = NULL;
    int major = 0, minor = 0;
    const char *asked = getenv("PIPEPROBE_NVJPEG_LIB");
    const char *const one[] = {asked, NULL}, *const *name = asked && *asked ? one : libraries;
    void *lib = NULL;
    memset(n, 0, sizeof(*n));
    for (; *name && !lib; name++) {
        lib = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        snprintf(n->library, sizeof(n->library), "%s", *name);
    }
    if (!lib && asked && *asked)
        return pp_fail(err, PP_E_UNSUPPORTED, "PIPEPROBE_NVJPEG_LIB: nvJPEG cannot be opened (%s)",
                       dlerror());
    if (!lib)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "there is no nvJPEG here (none of libnvjpeg.so.13, .12, .11); install it (pip install nvidia-nvjpeg-cu12, or Debian's libnvjpeg11) and name its file in PIPEPROBE_NVJPEG_LIB");
        /* The form POSIX gives for function pointers. */
#define FIND(name, args) \
    if (!(*(void **)&n->name = dlsym(lib, #name)) && !missing) \
        missing = #name;
    PP_NVJPEG_CALLS(FIND)
#undef FIND
    n->has_regions = 1;
#define FIND(name, args) \
    if (!(*(void **)&n->name = dlsym(lib, #name))) \
        n->has_regions = 0;
    PP_NVJPEG_NEWER_CALLS(FIND)
#undef FIND
    if (n->nvjpegGetProperty && n->nvjpegGetProperty(0, &major) == 0 && n->nvjpegGetProperty(1, &minor) == 0)
        n->version = major * 1000 + minor;
    if (!n->nvjpegGetProperty)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is no nvJPEG: it has no nvjpegGetProperty", n->library);
    if (missing)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s is too old: nvJPEG %d.%d has no %s; install the nvJPEG of CUDA 12", n->library,
                       major, minor, missing);
    return PP_OK;
}

/* ---- the choice of a back end ---- */

static int take_engines(const struct pp_nvjpeg *n, const struct pp_cuda_driver *cu,
                        enum pp_nvjpeg_backend backend, struct pp_nvjpeg_choice *c)
{
    pp_nvjpeg_result rc = n->nvjpegCreateEx((int)backend, NULL, NULL, 0, &c->handle);
    if (rc != 0)
        c->handle = NULL;
    if (rc == 0 && n->nvjpegGetHardwareDecoderInfo(c->handle, &c->engines, &c->cores) != 0)
        c->engines = c->cores = 0;
    if (rc == 0 && c->engines) {
        c->backend = backend;
        c->regions = backend == PP_NVJPEG_HARDWARE && n->has_regions;
        return 1;
    }
    if (c->handle)
        n->nvjpegDestroy(c->handle);
    c->handle = NULL;
    const char *capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES");
    char name[128];
    pp_cu_device device;
    /* A container reaches the engines only with the driver capability "video"; CUDA works without it. */
    if (capabilities && !strstr(capabilities, "video") && !strstr(capabilities, "all"))
        snprintf(
            c->passed_over, sizeof(c->passed_over),
            "this container may not use the GPU's JPEG engines: NVIDIA_DRIVER_CAPABILITIES=%.80s lacks video; start it with compute,utility,video",
            capabilities);
    else if ((rc == PP_NVJPEG_ARCH_MISMATCH || rc == 0) && cu->cuDeviceGet(&device, 0) == 0 &&
             cu->cuDeviceGetName(name, sizeof(name), device) == 0 &&
             strstr(name, " MIG ")) /* "NVIDIA A100-SXM4-40GB MIG 1g.5gb" */
        snprintf(c->passed_over, sizeof(c->passed_over),
                 "this MIG slice has no JPEG engine (%s); whole GPUs and slices with media extensions "
                 "(+me) have",
                 name);
    else if (rc == PP_NVJPEG_ARCH_MISMATCH || rc == 0)
        snprintf(c->passed_over, sizeof(c->passed_over), "this GPU has no JPEG engine (an A100 or H100 has)");
    else
        snprintf(
            c->passed_over, sizeof(c->passed_over),
            "the GPU's JPEG engines cannot be used (nvJPEG status %d, %s); in a container they need the driver capability video (NVIDIA_DRIVER_CAPABILITIES=compute,utility,video)",
            rc, pp_nvjpeg_result_name(rc));
    return 0;
}

pp_status pp_nvjpeg_choose(const struct pp_nvjpeg *n, const struct pp_cuda_driver *cu, size_t batch,
                           enum pp_nvjpeg_backend wanted, struct pp_nvjpeg_choice *out, struct pp_err *err)
{
    enum pp_nvjpeg_backend engines = wanted == PP_NVJPEG_AUTO ? PP_NVJPEG_HARDWARE : wanted;
    *out = (struct pp_nvjpeg_choice){.backend = wanted};
    if ((engines == PP_NVJPEG_HARDWARE || engines == PP_NVJPEG_HARDWARE_DEVICE) &&
        take_engines(n, cu, engines, out))
        return PP_OK;
    if (wanted == PP_NVJPEG_HARDWARE || wanted == PP_NVJPEG_HARDWARE_DEVICE)
        return pp_fail(err, PP_E_UNSUPPORTED, "nvJPEG's back end %s cannot be used: %s",
                       pp_nvjpeg_backend_name(wanted), out->passed_over);
    if (wanted == PP_NVJPEG_AUTO)
        out->backend = batch > PP_NVJPEG_GPU_BATCH ? PP_NVJPEG_GPU_HYBRID : PP_NVJPEG_HYBRID;
    /* Without engines. */
    pp_nvjpeg_result rc = n->nvjpegCreateEx((int)out->backend, NULL, NULL, 0, &out->handle);
    if (rc == 0)
        return PP_OK;
    out->handle = NULL;
    return pp_fail(
        err, rc == PP_NVJPEG_ALLOCATOR_FAILURE ? PP_E_NO_MEMORY : PP_E_UNSUPPORTED,
        "nvJPEG %d.%d cannot be started on this device (status %d, %s); is the driver older than it?",
        n->version / 1000, n->version % 1000, rc, pp_nvjpeg_result_name(rc));
}

/* ---- a look without a decoder ---- */

pp_status pp_nvjpeg_look(size_t batch, struct pp_nvjpeg_found *out, struct pp_err *err)
{
    struct pp_cuda_driver cu;
    struct pp_nvjpeg n;
    pp_cu_device device = 0;
    pp_cu_context context = NULL;
    pp_cu_result rc = 0;
    memset(out, 0, sizeof(*out));
    pp_status st = pp_cuda_driver_start(&cu, err);
    if (st == PP_OK)
        st = pp_nvjpeg_load(&n, err);
    if (st != PP_OK)
        return st;
    out->version = n.version;
    memcpy(out->library, n.library, sizeof(out->library));
    if ((rc = cu.cuDeviceGet(&device, 0)) == 0 && (rc = cu.cuDevicePrimaryCtxRetain(&context, device)) != 0)
        context = NULL;
    if (rc == 0)
        rc = cu.cuCtxSetCurrent(context);
    st = pp_cuda_check(&cu, rc, err, "see nvidia-smi", "making a context on the device failed");
    if (st == PP_OK)
        st = pp_nvjpeg_choose(&n, &cu, batch, PP_NVJPEG_AUTO, &out->choice, err);
    if (out->choice.handle)
        n.nvjpegDestroy(out->choice.handle);
    out->choice.handle = NULL;
    if (context) {
        cu.cuCtxSetCurrent(NULL);
        cu.cuDevicePrimaryCtxRelease_v2(device);
    }
    return st;
}
