/* The collectors of the GPU, CUPTI's records and NVML's counters, as rows of the table
 * (collectors/collector.h): both only for a recording whose loader copies to a CUDA device. And why another
 * program's has neither. */
#include "collectors/gpu/gpu.h"
#include "collectors/gpu/cupti.h"
#include "collectors/gpu/cupti_abi.h"
#include "collectors/system/environment.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/cuda_driver.h"

/* ---- CUPTI ---- */

struct cupti {
    struct pp_collect_opts opts;
    struct pp_cupti *records;
};

static int cupti_available(char *text, size_t size)
{
    struct pp_cuda_driver cu;
    struct pp_cupti_api_table cupti;
    struct pp_err err;
    if (pp_cuda_driver_load(&cu, PP_CUDA_LIBRARY, &err) != PP_OK) {
        snprintf(text, size, "no NVIDIA driver");
        return 0;
    }
    if (pp_cupti_load(&cupti, NULL, cu.version, &err) != PP_OK) {
        snprintf(text, size, "%s", err.text);
        return 0;
    }
    snprintf(text, size, "%s, interface %u", cupti.library, cupti.version);
    return 1;
}

struct pp_cupti_sink pp_cupti_into(struct pp_store *store)
{
    return (struct pp_cupti_sink){store, pp_store_gpu, pp_store_gpu_batch, pp_store_gpu_clock};
}

static pp_status cupti_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    struct pp_device_info dev;
    if (!opts->gpu_activity)
        return pp_fail(err, PP_E_USAGE, "asked not to");
    pp_device_info(opts->device, &dev);
    struct cupti *c = calloc(1, sizeof(*c));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read CUPTI");
    c->opts = *opts;
    struct pp_cupti_opts co = {.sink = pp_cupti_into(opts->store), .driver_version = dev.driver_version};
    pp_status st = pp_cupti_open(&co, &c->records, err);
    if (st != PP_OK) {
        free(c);
        return st;
    }
    struct pp_device_watch watch = pp_cupti_watch(c->records);
    pp_device_watch(opts->device, &watch);
    *state = c;
    return PP_OK;
}

static void cupti_poll(void *state)
{
    pp_cupti_poll(((struct cupti *)state)->records);
}

static const char *cupti_describe(const void *state)
{
    return pp_cupti_name(((const struct cupti *)state)->records);
}

static void cupti_stop(void *state)
{
    struct cupti *c = state;
    struct pp_store *s = c->opts.store;
    struct pp_cupti_stats stats = {0};
    pp_device_watch(c->opts.device, &(struct pp_device_watch){0});
    pp_cupti_close(c->records, &stats);
    pp_store_meta_num(s, "gpu", "records", (double)stats.rows, "records");
    pp_store_meta_num(s, "gpu", "records_dropped", (double)stats.dropped, "records");
    pp_store_meta_num(s, "gpu", "clock_error_ns", (double)stats.clock_error_ns, "ns");
    pp_store_meta_text(s, "gpu", "clock",
                       stats.own_clock ? "CUPTI stamped with CLOCK_MONOTONIC" : "converted, see gpu_clock");
    if (stats.dropped)
        pp_store_loss(s, "gpu records", stats.dropped,
                      "CUPTI had no free buffer: records arrived faster than they were stored");
    free(c);
}

const struct pp_collector pp_collector_cupti = {
    .name = "CUPTI",
    .with = "GPU activity is recorded",
    .without = "GPU activity is not recorded: its idle time has no cause",
    .available = cupti_available,
    .device = "cuda",
    .blocks = 1,
    .section = "gpu",
    .key = "activity",
    .start = cupti_start,
    .poll = cupti_poll,
    .describe = cupti_describe,
    .stop = cupti_stop,
};

/* ---- NVML ---- */

struct nvml {
    struct pp_store *store;
    struct pp_nvml *counters;
    char text[520];
};

static int nvml_available(char *text, size_t size)
{
    struct pp_nvml *n;
    struct pp_err err;
    struct pp_nvml_told told;
    if (pp_nvml_open(NULL, &n, &err) != PP_OK) {
        snprintf(text, size, "%s", err.text);
        return 0;
    }
    pp_nvml_told(n, &told);
    snprintf(text, size, "driver %s, PCIe generation %u, %u lanes", told.driver, told.generation, told.width);
    pp_nvml_close(n);
    return 1;
}

static pp_status nvml_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    struct pp_device_info dev;
    pp_device_info(opts->device, &dev);
    pp_store_meta_text(opts->store, "environment", "gpu", dev.name); /* known, whatever NVML says */
    if (dev.pci_bus_id)
        pp_environment_store_numa(opts->store, dev.pci_bus_id);
    struct nvml *n = calloc(1, sizeof(*n));
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read NVML");
    n->store = opts->store;
    pp_status st = pp_nvml_open(dev.pci_bus_id, &n->counters, err);
    if (st != PP_OK) {
        free(n);
        return st;
    }
    struct pp_nvml_told told;
    char link[64];
    pp_nvml_told(n->counters, &told);
    snprintf(n->text, sizeof(n->text),
             told.lacks ? "NVML, without %s (a MIG instance has none of its own)" : "NVML", told.lacks);
    pp_store_meta_text(n->store, "environment", "gpu_driver", told.driver);
    snprintf(link, sizeof(link), "PCIe %u x%u", told.generation, told.width);
    if (told.generation && told.width)
        pp_store_meta_text(n->store, "environment", "gpu_link", link);
    *state = n;
    return PP_OK;
}

static void put_counter(void *ctx, const char *name, double value)
{
    pp_store_counter(ctx, pp_now_ns(), name, value);
}

static void nvml_poll(void *state)
{
    const struct nvml *n = state;
    pp_nvml_sample(n->counters, put_counter, n->store);
}

static const char *nvml_describe(const void *state)
{
    return ((const struct nvml *)state)->text;
}

static void nvml_stop(void *state)
{
    struct nvml *n = state;
    pp_nvml_close(n->counters);
    free(n);
}

const struct pp_collector pp_collector_nvml = {
    .name = "NVML",
    .with = "GPU utilisation, memory and PCIe traffic are recorded",
    .without = "GPU utilisation, memory and PCIe traffic are not recorded",
    .available = nvml_available,
    .device = "cuda",
    .blocks = 1,
    .section = "gpu",
    .key = "counters",
    .start = nvml_start,
    .poll = nvml_poll,
    .describe = nvml_describe,
    .stop = nvml_stop,
};

/* ---- another program's GPU ---- */

void pp_program_gpu_store(const struct pp_reach_root *root, int wanted, struct pp_store *store)
{
    if (pp_reach_a_gpu(root))
        pp_store_meta_text(
            store, "gpu", "activity",
            wanted ? "not recorded: no process that takes batches from a PyTorch DataLoader has used the "
                     "GPU; of other programs the profiler's trace has kernels and copies (nsys: "
                     "pipeprobe import)"
                   : "not recorded: kernels and copies of another program are not read; its profiler's "
                     "trace has them (torch.profiler, nsys: pipeprobe import)");
}
