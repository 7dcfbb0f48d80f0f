#include "collectors/gpu/gpu.h"

#include "probe/base/err.h"

#include <dlfcn.h>

#define LIBRARY "libnvidia-ml.so.1"
#define KIB 1024.0
enum { CLOCK_SM = 1, PCIE_TX = 0, PCIE_RX = 1 };

typedef struct nvml_device_st *nvml_device;
struct utilization {
    unsigned gpu, memory; /* percent */
};
struct memory {
    unsigned long long total, free, used;
};

/* Our own prototypes; NVML's binary interface keeps a name's meaning and adds "_v2" for a new one. */
/* clang-format off */
#define CALLS(X)                                                             \
    X(nvmlInit_v2, (void))                                                   \
    X(nvmlShutdown, (void))                                                  \
    X(nvmlSystemGetDriverVersion, (char *version, unsigned size))            \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvml_device *d))    \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_device *d))       \
    X(nvmlDeviceGetUtilizationRates, (nvml_device d, struct utilization *u)) \
    X(nvmlDeviceGetMemoryInfo, (nvml_device d, struct memory *m))            \
    X(nvmlDeviceGetPcieThroughput, (nvml_device d, int way, unsigned *kib))  \
    X(nvmlDeviceGetClockInfo, (nvml_device d, int clock, unsigned *mhz))     \
    X(nvmlDeviceGetPowerUsage, (nvml_device d, unsigned *mw))                \
    X(nvmlDeviceGetCurrPcieLinkGeneration, (nvml_device d, unsigned *n))     \
    X(nvmlDeviceGetCurrPcieLinkWidth, (nvml_device d, unsigned *n))
/* clang-format on */

struct pp_nvml {
#define MEMBER(name, args) int(*name) args;
    CALLS(MEMBER)
#undef MEMBER
    const char *(*nvmlErrorString)(int rc);
    nvml_device device;
    char driver[80], lacks[160];
};

pp_status pp_nvml_open(const char *pci_bus_id, struct pp_nvml **out, struct pp_err *err)
{
    pp_status st = PP_OK;
    const char *missing = NULL;
    *out = NULL;
    struct pp_nvml *n = calloc(1, sizeof(*n));
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read NVML");
    void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        st = pp_fail(err, PP_E_NOT_FOUND, "NVML is not installed (%s)", dlerror());
#define FIND(name, args) \
    if (lib && !(*(void **)&n->name = dlsym(lib, #name))) \
        missing = #name;
    CALLS(FIND)
    FIND(nvmlErrorString, )
#undef FIND
    if (missing)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the driver's NVML is too old: it has no %s", missing);
    int rc = st == PP_OK ? n->nvmlInit_v2() : 0;
    int initialised = st == PP_OK && rc == 0;
    if (initialised)
        rc = pci_bus_id ? n->nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id, &n->device)
                        : n->nvmlDeviceGetHandleByIndex_v2(0, &n->device);
    if (rc != 0)
        st = pp_fail(err, PP_E_UNSUPPORTED, "NVML does not know the device: %s (%d)", n->nvmlErrorString(rc),
                     rc);
    if (st != PP_OK) {
        if (initialised)
            n->nvmlShutdown();
        free(n);
        return st;
    }
    if (n->nvmlSystemGetDriverVersion(n->driver, sizeof(n->driver)) != 0)
        n->driver[0] = '\0';
    /* Asked once: a device that does not tell now never will. */
    struct utilization u;
    unsigned kib;
    int busy = n->nvmlDeviceGetUtilizationRates(n->device, &u),
        link = n->nvmlDeviceGetPcieThroughput(n->device, PCIE_RX, &kib);
    if (busy || link)
        snprintf(n->lacks, sizeof(n->lacks), "%s%s%s: %s", busy ? "utilisation" : "",
                 busy && link ? " and " : "", link ? "PCIe traffic" : "",
                 n->nvmlErrorString(busy ? busy : link));
    *out = n;
    return PP_OK;
}

void pp_nvml_close(struct pp_nvml *n)
{
    if (!n)
        return;
    n->nvmlShutdown();
    free(n);
}

void pp_nvml_sample(struct pp_nvml *n, pp_counters_fn *fn, void *ctx)
{
    struct utilization u;
    struct memory m;
    unsigned v;
    if (n->nvmlDeviceGetUtilizationRates(n->device, &u) == 0) {
        fn(ctx, "gpu_utilization_percent", u.gpu);
        fn(ctx, "gpu_memory_utilization_percent", u.memory);
    }
    if (n->nvmlDeviceGetMemoryInfo(n->device, &m) == 0)
        fn(ctx, "gpu_memory_used_bytes", (double)m.used);
    if (n->nvmlDeviceGetPcieThroughput(n->device, PCIE_RX, &v) == 0)
        fn(ctx, "gpu_pcie_rx_bytes_per_s", v * KIB);
    if (n->nvmlDeviceGetPcieThroughput(n->device, PCIE_TX, &v) == 0)
        fn(ctx, "gpu_pcie_tx_bytes_per_s", v * KIB);
    if (n->nvmlDeviceGetClockInfo(n->device, CLOCK_SM, &v) == 0)
        fn(ctx, "gpu_sm_clock_hz", v * 1e6);
    if (n->nvmlDeviceGetPowerUsage(n->device, &v) == 0)
        fn(ctx, "gpu_power_mw", v);
}

void pp_nvml_told(const struct pp_nvml *n, struct pp_nvml_told *out)
{
    *out = (struct pp_nvml_told){.driver = n->driver, .lacks = n->lacks[0] ? n->lacks : NULL};
    if (n->nvmlDeviceGetCurrPcieLinkGeneration(n->device, &out->generation) != 0)
        out->generation = 0;
    if (n->nvmlDeviceGetCurrPcieLinkWidth(n->device, &out->width) != 0)
        out->width = 0;
}
