#include "collectors/gpu/gpu.h"

#include "collectors/gpu/cupti.h"
#include "collectors/gpu/nvml.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_NS 1000000000u

struct pp_gpu {
    struct pp_gpu_opts opts;
    struct pp_cupti *cupti; /* NULL: not recorded */
    struct pp_nvml *nvml;   /* NULL: no counters */
    char activity[520];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop;        /* guarded by lock */
    uint64_t cpu_ns; /* the thread's own cost; read after it has ended */
};

static void put_counter(void *ctx, const char *name, double value)
{
    struct pp_gpu *g = ctx;
    pp_store_counter(g->opts.store, pp_now_ns(), name, value);
}

static void look(struct pp_gpu *g)
{
    if (g->nvml)
        pp_nvml_sample(g->nvml, put_counter, g);
    if (g->cupti)
        pp_cupti_poll(g->cupti);
}

static void *gpu_main(void *arg)
{
    struct pp_gpu *g = arg;
    uint64_t next = pp_now_ns();
    pthread_setname_np(pthread_self(), "pp-gpu");
    pthread_mutex_lock(&g->lock);
    while (!g->stop) {
        if (pp_now_ns() < next) {
            pp_cond_wait_until(&g->wake, &g->lock, next);
            continue;
        }
        pthread_mutex_unlock(&g->lock);
        look(g);
        next = pp_now_ns() + g->opts.period_ns;
        pthread_mutex_lock(&g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    g->cpu_ns = pp_thread_cpu_ns();
    return NULL;
}

static void open_cupti(struct pp_gpu *g, const struct pp_device_info *dev)
{
    struct pp_err err = {.text = "asked not to"};
    struct pp_cupti_opts opts = {.store = g->opts.store, .driver_version = dev->driver_version};
    if (g->opts.activity && pp_cupti_open(&opts, &g->cupti, &err) == PP_OK) {
        struct pp_device_watch watch = pp_cupti_watch(g->cupti);
        pp_device_watch(g->opts.device, &watch);
        snprintf(g->activity, sizeof(g->activity), "%s", pp_cupti_name(g->cupti));
    } else {
        snprintf(g->activity, sizeof(g->activity), "not recorded: %s", err.text);
    }
    pp_store_meta_text(g->opts.store, "gpu", "activity", g->activity);
}

static void open_nvml(struct pp_gpu *g, const struct pp_device_info *dev)
{
    struct pp_err err;
    char text[520];
    unsigned generation, width;
    if (pp_nvml_open(dev->pci_bus_id, &g->nvml, &err) != PP_OK) {
        snprintf(text, sizeof(text), "not recorded: %s", err.text);
        pp_store_meta_text(g->opts.store, "gpu", "counters", text);
        return;
    }
    const char *lacks = pp_nvml_lacks(g->nvml);
    snprintf(text, sizeof(text),
             lacks ? "NVML, which does not tell %s (a MIG instance has none of its own)" : "NVML", lacks);
    pp_store_meta_text(g->opts.store, "gpu", "counters", text);
    pp_store_meta_text(g->opts.store, "environment", "gpu_driver", pp_nvml_driver(g->nvml));
    pp_nvml_link(g->nvml, &generation, &width);
    if (generation && width) {
        snprintf(text, sizeof(text), "PCIe %u x%u", generation, width);
        pp_store_meta_text(g->opts.store, "environment", "gpu_link", text);
    }
}

pp_status pp_gpu_start(const struct pp_gpu_opts *opts, struct pp_gpu **out, struct pp_err *err)
{
    struct pp_device_info dev;
    *out = NULL;
    pp_device_info(opts->device, &dev);
    if (strcmp(dev.kind, "cuda") != 0)
        return PP_OK;
    struct pp_gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to look at the GPU");
    g->opts = *opts;
    g->opts.period_ns = opts->period_ns ? opts->period_ns : PERIOD_NS;
    pthread_mutex_init(&g->lock, NULL);
    pp_cond_init(&g->wake);
    pp_store_meta_text(opts->store, "environment", "gpu", dev.name);
    open_cupti(g, &dev);
    open_nvml(g, &dev);
    int rc = pthread_create(&g->thread, NULL, gpu_main, g);
    if (rc) {
        pp_device_watch(opts->device, &(struct pp_device_watch){0});
        pp_cupti_close(g->cupti, NULL);
        pp_nvml_close(g->nvml);
        pthread_cond_destroy(&g->wake);
        pthread_mutex_destroy(&g->lock);
        free(g);
        return pp_fail_errno(err, rc, "cannot start the thread that looks at the GPU");
    }
    *out = g;
    return PP_OK;
}

const char *pp_gpu_activity(const struct pp_gpu *g)
{
    return g->activity;
}

static void close_cupti(struct pp_gpu *g)
{
    struct pp_store *s = g->opts.store;
    struct pp_cupti_stats stats = {0};
    if (!g->cupti)
        return;
    pp_device_watch(g->opts.device, &(struct pp_device_watch){0});
    pp_cupti_close(g->cupti, &stats);
    pp_store_meta_num(s, "gpu", "records", (double)stats.rows, "records");
    pp_store_meta_num(s, "gpu", "records_dropped", (double)stats.dropped, "records");
    pp_store_meta_num(s, "gpu", "clock_error_ns", (double)stats.clock_error_ns, "ns");
    pp_store_meta_text(s, "gpu", "clock",
                       stats.own_clock ? "CUPTI stamped with CLOCK_MONOTONIC" : "converted, see gpu_clock");
    if (stats.dropped)
        pp_store_loss(s, "gpu records", stats.dropped,
                      "CUPTI had no free buffer: they came faster than they were stored");
}

void pp_gpu_stop(struct pp_gpu *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->stop = 1;
    pthread_cond_signal(&g->wake);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    uint64_t cpu_ns = pp_thread_cpu_ns();
    look(g);
    close_cupti(g);
    pp_store_meta_num(g->opts.store, "gpu", "monitor_cpu_ns",
                      (double)(g->cpu_ns + pp_thread_cpu_ns() - cpu_ns), "ns");
    pp_nvml_close(g->nvml);
    pthread_cond_destroy(&g->wake);
    pthread_mutex_destroy(&g->lock);
    free(g);
}
