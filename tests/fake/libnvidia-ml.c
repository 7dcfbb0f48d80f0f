/* NVML without a GPU: one device, 0000:3b:00.0 (the first of the fake driver), with steady readings.
 * PP_FAKE_NVML=mig: a device without utilisation and PCIe counters; PP_FAKE_NVML=fail: nvmlInit fails. Build:
 * a shared library with the soname libnvidia-ml.so.1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define DRIVER_NOT_LOADED 9

static int told_to(const char *word)
{
    const char *words = getenv("PP_FAKE_NVML");
    return words && strcmp(words, word) == 0;
}

EXPORT int nvmlInit_v2(void)
{
    return told_to("fail") ? DRIVER_NOT_LOADED : 0;
}

EXPORT int nvmlShutdown(void)
{
    return 0;
}

EXPORT const char *nvmlErrorString(int rc)
{
    return rc == DRIVER_NOT_LOADED ? "Driver Not Loaded"
           : rc == NOT_FOUND       ? "Not Found"
           : rc == NOT_SUPPORTED   ? "Not Supported"
                                   : "Unknown Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    snprintf(version, size, "535.00.00");
    return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **d)
{
    *d = (void *)&told_to;
    return strcmp(id, "0000:3b:00.0") == 0 ? 0 : NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **d)
{
    *d = (void *)&told_to;
    return index == 0 ? 0 : NOT_FOUND;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *d, unsigned *percent)
{
    percent[0] = 42;
    percent[1] = 7;
    return told_to("mig") ? NOT_SUPPORTED : 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m)
{
    m[0] = 8ull << 30;
    m[1] = 5ull << 30;
    m[2] = 3ull << 30;
    return 0;
}

EXPORT int nvmlDeviceGetPcieThroughput(void *d, int way, unsigned *kib)
{
    *kib = way == 1 ? 2000 : 10;
    return told_to("mig") ? NOT_SUPPORTED : 0;
}

EXPORT int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *mhz)
{
    *mhz = 1410;
    return clock == 1 ? 0 : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetPowerUsage(void *d, unsigned *mw)
{
    *mw = 61000;
    return 0;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *n)
{
    *n = 4;
    return 0;
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *n)
{
    *n = 16;
    return 0;
}
