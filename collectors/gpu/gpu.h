/* collectors/gpu/gpu.h: the collectors of a GPU (collectors/collector.h): CUPTI's activity records and NVML's
 * counters, for a recording whose loader copies to a CUDA device; and for the recording of another program,
 * beside a GPU, the sentence that its GPU activity is not measured. */
#pragma once

#include "collectors/collector.h"
#include "collectors/system/counters.h"

#include <pipeprobe/status.h>

struct pp_cupti_sink;
struct pp_reach_root;
struct pp_store;

extern const struct pp_collector pp_collector_cupti, pp_collector_nvml;

/* For a recording of another program: beside a GPU that it may use, why its activity is not recorded, as
 * long as no process of it says more (collectors/attach/activity.c). wanted 0: none is asked to. */
void pp_program_gpu_store(const struct pp_reach_root *root, int wanted, struct pp_store *store);
/* The sink that is a store. */
struct pp_cupti_sink pp_cupti_into(struct pp_store *store);

/* What of an NVIDIA GPU this process can reach, as far as environment, procfs and files tell without a
 * driver: capabilities that a container was given, MIG instances, cuFile. */

/* Where it is looked for: "" for this machine, or a test's folder in front of each path. */
struct pp_reach_root {
    const char *folder;
    const char *capabilities; /* NVIDIA_DRIVER_CAPABILITIES; NULL: not set */
    const char *cufile_json;  /* CUFILE_ENV_PATH_JSON; NULL: /etc/cufile.json */
    const char *visible;      /* CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *library_path; /* LD_LIBRARY_PATH, where libcufile is looked for first; NULL */
    const char *kubernetes;   /* KUBERNETES_SERVICE_HOST: in a pod, whose runtime leaves no file; NULL */
    const char *force_compat; /* CUFILE_FORCE_COMPAT_MODE; NULL */
};
/* Of this process. */
struct pp_reach_root pp_reach_here(void);

/* A program that is started here may find a GPU: there is a device, and CUDA_VISIBLE_DEVICES does not hide
 * all. */
int pp_reach_a_gpu(const struct pp_reach_root *root);
/* 1: all that pipeprobe and nvJPEG need; 0: something is missing; -1: there is no device to reach. What was
 * found, and what cannot be reached, in text. */
int pp_reach_capabilities(const struct pp_reach_root *root, char *text, size_t size);
/* 1: there are MIG instances; 0: there are none; -1: no device, or not told. */
int pp_reach_mig(const struct pp_reach_root *root, char *text, size_t size);
/* 1: files can be read into GPU memory; 0: only through host memory (compatibility mode), or not at all. */
int pp_reach_cufile(const struct pp_reach_root *root, char *text, size_t size);

/* How busy the GPU is, as nvidia-smi knows it: NVML, opened at run time. Read about once a second by one
 * thread; a reading takes some tens of milliseconds, for NVML measures PCIe traffic over a window of its own.
 *
 * Counters: gpu_utilization_percent (of the driver's last sample period, a kernel was running),
 * gpu_memory_utilization_percent (memory was read or written), gpu_memory_used_bytes, gpu_pcie_rx_bytes_per_s
 * (to the GPU), gpu_pcie_tx_bytes_per_s, gpu_sm_clock_hz, gpu_power_mw. What a device does not tell has no
 * rows: a MIG instance, for one, has no utilisation of its own. */

struct pp_nvml;

/* pci_bus_id as CUDA names it; NULL: the first device. A failure is a sentence; the run goes on without these
 * counters. */
pp_status pp_nvml_open(const char *pci_bus_id, struct pp_nvml **out, struct pp_err *err);
void pp_nvml_close(struct pp_nvml *n); /* NULL is fine */
/* Calls fn for every counter that can be read now. */
void pp_nvml_sample(struct pp_nvml *n, pp_counters_fn *fn, void *ctx);
struct pp_nvml_told {
    const char *driver; /* "535.261.03", or "" when it does not say */
    const char *lacks;  /* what of utilisation and PCIe traffic the device does not tell, and in NVML's words
                           why not; NULL when it tells all */
    unsigned generation, width; /* of the link as it runs now: generation and lanes; 0 when not told */
};
/* The texts belong to n. */
void pp_nvml_told(const struct pp_nvml *n, struct pp_nvml_told *out);
