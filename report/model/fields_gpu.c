#include "report/model/field_rows.h"

#include <math.h>

/* ---- the GPU ---- */

#define ROW struct pp_report_gpu
static const struct pp_field idle_fields[] = {
    FK("waiting_for_data_share", idle_share[PP_GPU_IDLE_DATA], SHARE,
       "the copy of the awaited batch had not begun", TO_1, .name = "idle: waiting for data"),
    FK("copy_not_overlapped_share", idle_share[PP_GPU_IDLE_COPY], SHARE, "the awaited batch was being copied",
       TO_1, .name = "idle: copy not overlapped"),
    FK("synchronisation_share", idle_share[PP_GPU_IDLE_SYNC], SHARE,
       "the launching thread blocked in a synchronising call", TO_1, .name = "idle: synchronisation"),
    FK("launch_gap_share", idle_share[PP_GPU_IDLE_LAUNCH], SHARE,
       "the batch was on the device and its kernel had not begun", TO_1, .name = "idle: launch gap"),
    FK("not_attributed_share", idle_share[PP_GPU_IDLE_OTHER], SHARE,
       "after the last kernel, or before one whose batch or copy is not known", TO_1,
       .name = "idle: not attributed"),
    PP_FIELDS_END,
};

/* Counts are zero where nothing was measured. */
static struct pp_value gpu_copies(const void *row, const void *root)
{
    const ROW *g = row;
    return g->not_measured ? pp_value_number(NAN) : pp_value_uint(g->copies);
}

static struct pp_value gpu_copied_bytes(const void *row, const void *root)
{
    const ROW *g = row;
    return g->not_measured ? pp_value_number(NAN) : pp_value_uint(g->copied_bytes);
}

const struct pp_field pp_report_gpu_fields[] = {
    F(name, NONE, "of the device"),
    F(activity, NONE, "where the records came from, or \"not recorded: ...\"", ALWAYS),
    F(not_measured, NONE, "why nothing below is known; null: measured"),
    FK("nvml_not_measured", counters_missing, NONE, "why nothing of NVML is known; null: it was read"),
    F(busy_share, SHARE, "a kernel ran", TO_1, .name = "busy with kernels"),
    {"idle", PP_FIELD_OBJECT, .fields = idle_fields, .flags = PP_FIELD_LAST,
     .help =
         "shares of the window in which no kernel ran, by what the awaited batch was doing; with busy_share they add up to 1"},
    F(recorded_share, SHARE, "of the steady state has GPU records: the window of what follows", TO_1,
      .name = "steady state with GPU records"),
    F(kernel_ns, NS, "time of a step's kernels, mean", FROM_0, .name = "kernels of a step"),
    F(exposed_copy_ns, NS, "time spent copying while no kernel ran, per step, mean", FROM_0,
      .name = "copy outside kernels, per step"),
    F(idle_in_wait_ns, NS, "time the GPU idled while the trainer waited for data, per step, mean", FROM_0,
      .name = "GPU idle in the data wait, per step"),
    MADE("copies", NUMBER, gpu_copies, "copies to the device that began in the window", FROM_0,
         .unit = PP_UNIT_COUNT, .name = "copies to the GPU"),
    MADE("copied_bytes", NUMBER, gpu_copied_bytes, "by them", FROM_0, .unit = PP_UNIT_BYTES,
         .name = "bytes copied"),
    F(copy_bytes_per_s, BYTES_PER_S, "while copying", FROM_0, .name = "bandwidth while copying"),
    FK("copy_overlap_share", overlap_share, SHARE, "of the time spent copying, a kernel ran as well", TO_1,
       .name = "copy time during kernels"),
    FK("copy_overlap_gain", overlap_gain, SHARE,
       "of throughput, had all copies run under kernels as far as they fit: an upper bound", FROM_0,
       .name = "gain of full overlap, at most"),
    F(pageable_share, SHARE, "of the bytes copied came from pageable memory", TO_1,
      .name = "copied from pageable memory"),
    FK("blocking_copy_share", blocking_share, SHARE, "of the copies, calls that return when the copy is done",
       TO_1, .name = "copies that block the caller"),
    F(syncs_per_step, NUMBER, "context and stream synchronisations by threads that launch kernels", FROM_0,
      .name = "context and stream syncs per step"),
    F(clock_error_ns, NS, "of these times against spans", FROM_0, .name = "clock error"),
    FK("nvml_utilization_share", utilization_share, SHARE,
       "mean of NVML's readings in the window: a kernel was running", TO_1, .name = "utilisation (NVML)"),
    FK("nvml_memory_used_bytes", memory_used_bytes, BYTES, "most of its memory in use, by any process",
       FROM_0, .name = "memory in use (NVML)"),
    FK("nvml_pcie_rx_bytes_per_s", pcie_rx_bytes_per_s, BYTES_PER_S, "to the device, mean", FROM_0,
       .name = "PCIe to the GPU (NVML)"),
    FK("nvml_pcie_tx_bytes_per_s", pcie_tx_bytes_per_s, BYTES_PER_S, "from it, mean", FROM_0,
       .name = "PCIe from the GPU (NVML)"),
    PP_FIELDS_END,
};
#undef ROW

/* ---- decoding on the GPU ---- */

#define ROW struct pp_report_difference
static const struct pp_field difference_fields[] = {
    F(sampling, NONE, "of chroma: 4:4:4, 4:2:2, 4:2:0, 4:4:0, gray, other"),
    F(images, COUNT, "compared: the first of the run"),
    F(mean, NUMBER, "absolute difference of their values, of 255: mean", FROM_0),
    FK("max", largest, NONE, "the largest", FROM_0),
    PP_FIELDS_END,
};
#undef ROW

static const char *const part_values[] = {"before", "after", NULL};

#define ROW struct pp_report_decode
const struct pp_field pp_report_decode_fields[] = {
    F(library, NONE, "nvJPEG as it was found"),
    F(backend, NONE, "of nvJPEG: HARDWARE (engines), GPU_HYBRID, HYBRID"),
    F(engines, NONE, "of the device that decode JPEG and do nothing else", FROM_0),
    FK("cores_per_engine", cores, NONE, "of each", FROM_0),
    F(passed_over, NONE, "why no engine is used; null: one is"),
    F(images, COUNT, "decoded on the GPU", FROM_0),
    F(regions, COUNT, "of them only the part that the crop needs", FROM_0),
    F(too_large, COUNT, "JPEGs that the GPU's memory has no room for, decoded on the CPU", FROM_0),
    F(refused, COUNT, "given to the GPU, and decoded on the CPU after all", FROM_0),
    F(gave_up, NONE, "why the CPU decoded from the middle of the run on; null: it did not"),
    F(lost, NONE, "why the run went on without its GPU; null: it did not"),
    F(judged_part, NONE,
      "of a run that went on otherwise, the longer part: verdict and steady state are of it; null: the whole run",
      .values = part_values),
    F(difference_mean, NUMBER,
      "absolute difference to libjpeg-turbo's values, of 255, of the images compared", FROM_0),
    F(difference_max, NONE, "the largest of them", FROM_0),
    {"differences", PP_FIELD_ROWS, PP_ROWS_AT(ROW, differences, n_differences), .fields = difference_fields,
     .help = "the same by the sampling of chroma"},
    PP_FIELDS_END,
};
#undef ROW
