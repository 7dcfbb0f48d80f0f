#include "probe/device/cuda_driver.h"

#include "probe/base/err.h"

#include <dlfcn.h>
#include <stdarg.h>

#define OLDEST_VERSION 9000 /* CUDA 9.0 reads the PTX we bring (ISA 6.0) */

pp_status pp_cuda_driver_load(struct pp_cuda_driver *d, const char *library, struct pp_err *err)
{
    const char *missing = NULL;
    memset(d, 0, sizeof(*d));
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the NVIDIA driver is not installed (%s); install it to copy to a GPU", dlerror());
        /* The form POSIX gives for function pointers. */
#define FIND(name, args) \
    if (!(*(void **)&d->name = dlsym(lib, #name)) && !missing) \
        missing = #name;
    PP_CU_CALLS(FIND)
#undef FIND
    if (d->cuDriverGetVersion)
        d->cuDriverGetVersion(&d->version);
    if (missing || d->version < OLDEST_VERSION)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the NVIDIA driver is too old: it supports CUDA %d.%d%s%s, and CUDA 9.0 is needed; update it",
            d->version / 1000, d->version % 1000 / 10, missing ? " and has no " : "", missing ? missing : "");
    return PP_OK;
}

pp_status pp_cuda_check(const struct pp_cuda_driver *d, pp_cu_result rc, struct pp_err *err, const char *hint,
                        const char *fmt, ...)
{
    const char *text = NULL; /* the driver's own words */
    char what[240];
    va_list ap;
    if (rc == 0)
        return PP_OK;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    if (d->cuGetErrorString(rc, &text) != 0 || !text)
        text = "an unknown error";
    int unsupported = rc == PP_CU_NOT_INITIALIZED || rc == PP_CU_NO_DEVICE || rc == PP_CU_INVALID_DEVICE ||
                      rc == PP_CU_PTX_TOO_NEW || rc == PP_CU_DRIVER_MISMATCH;
    pp_status st = rc == PP_CU_OUT_OF_MEMORY ? PP_E_NO_MEMORY : unsupported ? PP_E_UNSUPPORTED : PP_E_SYSTEM;
    return pp_fail(err, st, "%s: driver error \"%s\" (CUDA error %d)%s%s", what, text, rc, hint ? "; " : "",
                   hint ? hint : "");
}

pp_status pp_cuda_driver_start(struct pp_cuda_driver *d, struct pp_err *err)
{
    pp_status st = pp_cuda_driver_load(d, PP_CUDA_LIBRARY, err);
    if (st != PP_OK)
        return st;
    pp_cu_result rc = d->cuInit(0);
    if (rc == 0)
        rc = d->cuDeviceGetCount(&d->devices);
    if (rc == PP_CU_NO_DEVICE || (rc == 0 && d->devices < 1)) {
        /* CUDA reads CUDA_VISIBLE_DEVICES up to the first number that names no device: empty, or "-1", hides
         * them all. */
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        if (visible)
            return pp_fail(err, PP_E_UNSUPPORTED,
                           "CUDA_VISIBLE_DEVICES=\"%s\" leaves no CUDA device; unset it to use a GPU",
                           visible);
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the NVIDIA driver is installed, but there is no CUDA device: see nvidia-smi");
    }
    const char *hint =
        rc == PP_CU_DRIVER_MISMATCH
            ? "the library and the kernel module are of different versions: reboot, or reload the module"
            : "see nvidia-smi";
    return pp_cuda_check(d, rc, err, hint, "starting the NVIDIA driver for CUDA %d.%d failed",
                         d->version / 1000, d->version % 1000 / 10);
}
