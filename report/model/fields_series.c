#include "report/model/field_rows.h"

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
static struct pp_value leg_phase(const void *row, const void *root)
{
    return pp_value_text(pp_name_of_phase(((const ROW *)row)->phase));
}

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
