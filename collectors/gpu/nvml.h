/* collectors/gpu/nvml.h: how busy the GPU is, as nvidia-smi knows it: NVML, opened at run time. Read about
 * once a second by one thread; a reading takes some tens of milliseconds, for NVML measures PCIe traffic over
 * a window of its own.
 *
 * Counters: gpu_utilization_percent (of the driver's last sample period, a kernel was running),
 * gpu_memory_utilization_percent (memory was read or written), gpu_memory_used_bytes, gpu_pcie_rx_bytes_per_s
 * (to the GPU), gpu_pcie_tx_bytes_per_s, gpu_sm_clock_hz, gpu_power_mw. What a device does not tell has no
 * rows: a MIG instance, for one, has no utilisation of its own. */
#ifndef PP_COLLECTORS_GPU_NVML_H
#define PP_COLLECTORS_GPU_NVML_H

#include "collectors/system/counters.h"

#include <pipeprobe/status.h>

struct pp_nvml;

/* pci_bus_id as CUDA names it; NULL: the first device. A failure is a sentence; the run goes on without these
 * counters. */
pp_status pp_nvml_open(const char *pci_bus_id, struct pp_nvml **out, struct pp_err *err);
void pp_nvml_close(struct pp_nvml *n); /* NULL is fine */
/* Calls fn for every counter that can be read now. */
void pp_nvml_sample(struct pp_nvml *n, pp_counters_fn *fn, void *ctx);
/* What of utilisation and PCIe traffic the device does not tell, and in NVML's words why not; NULL when it
 * tells all. */
const char *pp_nvml_lacks(const struct pp_nvml *n);
/* "535.261.03", or "" when it does not say. */
const char *pp_nvml_driver(const struct pp_nvml *n);
/* The link as it runs now: generation and lanes; 0 when not told. */
void pp_nvml_link(const struct pp_nvml *n, unsigned *generation, unsigned *width);

#endif
