/* What renderers show of the GPU: one list for text, Markdown, HTML, CSV and JSON. */
#include "report/gpu/gpu.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *key, *name;
} idles[PP_GPU_IDLES] = {
#define PP_GPU_IDLE_ROW(sym, k, n) [PP_GPU_IDLE_##sym] = {k "_share", "idle: " n},
    PP_GPU_IDLE_MAP(PP_GPU_IDLE_ROW)
#undef PP_GPU_IDLE_ROW
};

size_t pp_gpu_items(const struct pp_report_gpu *g, struct pp_gpu_item item[PP_GPU_ITEMS])
{
    size_t n = 0;
    item[n++] = (struct pp_gpu_item){"busy_share", "busy with kernels", PP_GPU_SHARE, g->busy_share,
                                     PP_GPU_ACTIVITY};
    for (int i = 0; i < PP_GPU_IDLES; i++)
        item[n++] = (struct pp_gpu_item){idles[i].key, idles[i].name, PP_GPU_SHARE, g->idle_share[i],
                                         PP_GPU_IDLE_PART};
    const struct pp_gpu_item rest[] = {
        {"kernel_ns", "kernels of a step", PP_GPU_TIME, g->kernel_ns, PP_GPU_ACTIVITY},
        {"copies", "copies to it", PP_GPU_COUNT, g->not_measured ? NAN : (double)g->copies, PP_GPU_ACTIVITY},
        {"copied_bytes", "bytes copied", PP_GPU_BYTES, g->not_measured ? NAN : (double)g->copied_bytes,
         PP_GPU_ACTIVITY},
        {"copy_bytes_per_s", "rate while copying", PP_GPU_BYTES_PER_S, g->copy_bytes_per_s, PP_GPU_ACTIVITY},
        {"copy_overlap_share", "copy time under a kernel", PP_GPU_SHARE, g->overlap_share, PP_GPU_ACTIVITY},
        {"copy_overlap_gain", "gain of overlapping all, at most", PP_GPU_SHARE, g->overlap_gain,
         PP_GPU_ACTIVITY},
        {"pageable_share", "copied from pageable memory", PP_GPU_SHARE, g->pageable_share, PP_GPU_ACTIVITY},
        {"blocking_copy_share", "copies that block the caller", PP_GPU_SHARE, g->blocking_share,
         PP_GPU_ACTIVITY},
        {"syncs_per_step", "context and stream syncs per step", PP_GPU_NUMBER, g->syncs_per_step,
         PP_GPU_ACTIVITY},
        {"clock_error_ns", "clock error", PP_GPU_TIME, g->clock_error_ns, PP_GPU_ACTIVITY},
        {"nvml_utilization_share", "utilisation (NVML)", PP_GPU_SHARE, g->utilization_share, PP_GPU_COUNTER},
        {"nvml_memory_used_bytes", "memory in use (NVML)", PP_GPU_BYTES, g->memory_used_bytes,
         PP_GPU_COUNTER},
        {"nvml_pcie_rx_bytes_per_s", "PCIe to it (NVML)", PP_GPU_BYTES_PER_S, g->pcie_rx_bytes_per_s,
         PP_GPU_COUNTER},
        {"nvml_pcie_tx_bytes_per_s", "PCIe from it (NVML)", PP_GPU_BYTES_PER_S, g->pcie_tx_bytes_per_s,
         PP_GPU_COUNTER},
    };
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
        item[n++] = rest[i];
    return n;
}

int pp_gpu_item_shown(const struct pp_report_gpu *g, const struct pp_gpu_item *i)
{
    return i->part == PP_GPU_COUNTER ? !g->counters_missing : !g->not_measured;
}

const char *pp_gpu_item_text(const struct pp_gpu_item *i, char *buf, size_t size)
{
    char bytes[32];
    if (isnan(i->value))
        return "-";
    switch (i->unit) {
    case PP_GPU_SHARE: return pp_text_percent(buf, size, i->value);
    case PP_GPU_COUNT: return pp_text_count(buf, size, i->value);
    case PP_GPU_BYTES: return pp_text_bytes(buf, size, i->value);
    case PP_GPU_TIME: return pp_text_duration(buf, size, i->value);
    case PP_GPU_BYTES_PER_S:
        snprintf(buf, size, "%s/s", pp_text_bytes(bytes, sizeof(bytes), i->value));
        return buf;
    case PP_GPU_NUMBER: break;
    }
    snprintf(buf, size, "%.2f", i->value);
    return buf;
}
