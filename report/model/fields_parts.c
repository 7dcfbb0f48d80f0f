#include "report/model/field_rows.h"

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
PP_VALUE_OF(gpu_copies, ROW, r->not_measured ? pp_value_number(NAN) : pp_value_uint(r->copies))
PP_VALUE_OF(gpu_copied_bytes, ROW, r->not_measured ? pp_value_number(NAN) : pp_value_uint(r->copied_bytes))

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

/* ---- pictures ---- */

/* What the pictures of the HTML report show: slices of the run, curves, two batches followed. */

#define ROW struct pp_report_slice
static const struct pp_field slice_fields[] = {
    F(start_s, S, "since the job started"),
    F(end_s, S, "since the job started"),
    F(wait_share, SHARE, "of the slice the trainer waited for data", TO_1),
    F(sync_share, SHARE, "... waited for the device and for other ranks", TO_1),
    F(step_share, SHARE, "... was in its step", TO_1),
    F(starved_share, SHARE, "of step_share: it waited for a CPU, as far as that was measured", TO_1),
    F(apart_share, SHARE, "... start-up, epoch boundary, checkpoint", TO_1),
    F(h2d_share, SHARE, "of the slice the copy lane copied", TO_1),
    F(ready_batches, RATE,
      "mean number of finished batches that the copy lane had not fetched, or without one the trainer had not taken; null when the recording lacks an end of some batch's stay",
      FROM_0),
    F(device_batches, RATE, "mean number of copied batches the trainer had not taken", FROM_0),
    F(buffer_lasts_s, S,
      "buffer debt: how long ready_batches last at the rate at which they became fewer since the slice before; null: they did not",
      FROM_0),
    F(samples_per_s, RATE, "throughput of the slice"),
    F(errors, COUNT, "errors and retries"),
    PP_FIELDS_END,
};
#undef ROW

static const struct pp_field busy_fields[] = {
    {"busy", PP_FIELD_NUMBER, PP_UNIT_SHARE, TO_1},
    PP_FIELDS_END,
};

#define ROW struct pp_report_heat
static const struct pp_field heat_fields[] = {
    F(name, NONE, "one worker, or the first and last of neighbours that share a row"),
    F(busy_share, SHARE, "of the whole run", TO_1),
    {"busy", PP_FIELD_LIST, .at = offsetof(ROW, busy), .count_at = offsetof(struct pp_report, n_slices),
     .stride = sizeof(double), .fields = busy_fields,
     .flags = PP_FIELD_INDIRECT | PP_FIELD_COUNT_OF_ROOT | PP_FIELD_ONE_LINE, .help = "per slice"},
    PP_FIELDS_END,
};
#undef ROW

static const struct pp_field quantile_fields[] = {
    {"x", PP_FIELD_NUMBER, PP_UNIT_NS, .at = offsetof(struct pp_report_point, x)},
    PP_FIELDS_END,
};

static const struct pp_field ready_fields[] = {
    {"ready", PP_FIELD_NUMBER, PP_UNIT_RATE, FROM_0},
    PP_FIELDS_END,
};

#define ROW struct pp_report_loader_queue
static const struct pp_field loader_queue_fields[] = {
    F(row, NONE, "the loader, as in loaders"),
    F(mean_ready, RATE, "mean number of its finished batches that the trainer had not taken", FROM_0),
    {"ready", PP_FIELD_LIST, .at = offsetof(ROW, ready), .count_at = offsetof(struct pp_report, n_slices),
     .stride = sizeof(double), .fields = ready_fields,
     .flags = PP_FIELD_INDIRECT | PP_FIELD_COUNT_OF_ROOT | PP_FIELD_ONE_LINE, .help = "per slice"},
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_leg
PP_VALUE_OF(leg_phase, ROW, pp_value_text(pp_name_of_phase(r->phase)))

static const struct pp_field leg_fields[] = {
    F(what, NONE,
      "the phase, or where the batch was: 'between spans', 'in the ready queue', 'on the device'"),
    MADE("phase", TEXT, leg_phase, "null between spans and in a queue"),
    F(thread, NONE, "empty in a queue"),
    FB("for_other_batch", other, "done for a batch that held this one"),
    F(spans, COUNT, "in this stretch"),
    F(total_ns, NS, "of the stretch"),
    F(in_wait_ns, NS, "the part during which the trainer waited"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_batch
static const struct pp_field batch_fields[] = {
    F(which, NONE, "typical: the wait nearest to the median; worst: the longest"),
    F(batch, NONE, "its number"),
    F(epoch, NONE, "of the batch"),
    F(asked_s, S, "when the trainer began to wait for it, since the job started"),
    F(wait_ns, NS, "the trainer waited for it"),
    F(sync_ns, NS, "the trainer waited for the device and for other ranks"),
    F(step_ns, NS, "its step"),
    F(ready_ns, NS,
      "when its copy ended, since the trainer began to wait: negative is before; null: not known"),
    {"legs", PP_FIELD_ROWS, PP_ROWS_AT(ROW, legs, n_legs), .fields = leg_fields,
     .help =
         "the critical path in order: the worker that finished the batch, the queue, the copy, the device"},
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_curve_point
static const struct pp_field point_fields[] = {
    F(value, RATE, "of the knob"),
    F(samples_per_s, RATE, "predicted"),
    F(low, RATE, "of its interval"),
    F(high, RATE, "of its interval"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_curve
static const struct pp_field curve_fields[] = {
    F(knob, NONE, "the knob that is varied"),
    F(now, RATE, "value of the recorded run"),
    {"points", PP_FIELD_ROWS, PP_ROWS_AT(ROW, points, n_points), .fields = point_fields,
     .help = "one per value"},
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report
const struct pp_field pp_report_series_fields[] = {
    F(window_start_s, S, "the steady-state window, since the job started"),
    F(window_end_s, S, "its end"),
    {"slices", PP_FIELD_COLUMNS, PP_ROWS_AT(ROW, slices, n_slices), .fields = slice_fields,
     .help = "the whole run in slices of equal length (120), one array per field"},
    {"coarse", PP_FIELD_ROWS, PP_ROWS_AT(ROW, coarse, n_coarse), .fields = slice_fields,
     .help = "the same in 10 parts"},
    {"loader_queues", PP_FIELD_ROWS, PP_ROWS_AT(ROW, loader_queues, n_loader_queues),
     .fields = loader_queue_fields,
     .help = "of a job with several DataLoaders: the batches that each had ready"},
    {"worker_time", PP_FIELD_ROWS, PP_ROWS_AT(ROW, heat, n_heat), .fields = heat_fields,
     .help = "how busy each worker was over the run"},
    {"wait_quantiles_ns", PP_FIELD_LIST, .at = offsetof(ROW, wait_cdf), .count_at = offsetof(ROW, n_wait_cdf),
     .stride = sizeof(struct pp_report_point), .flags = PP_FIELD_INDIRECT | PP_FIELD_ONE_LINE,
     .fields = quantile_fields, .help = "data_wait of the window: its quantiles 0, 0.01, ... 1"},
    {"waterfalls", PP_FIELD_ROWS, PP_ROWS_AT(ROW, waterfalls, n_waterfalls), .fields = batch_fields,
     .help = "two batches followed"},
    {"curves", PP_FIELD_ROWS, PP_ROWS_AT(ROW, curves, n_curves), .fields = curve_fields,
     .help = "what replay predicts"},
    PP_FIELDS_END,
};
#undef ROW
