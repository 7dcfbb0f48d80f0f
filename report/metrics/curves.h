/* metrics/curves.h: the metrics of a moment as named curves, for places where people look at the curves of
 * their training: the gauges and samples per second, by their names: "pipeprobe/data_wait_ratio",
 * "pipeprobe/queue_depth/ready_batches". The step beside them is the number of batches taken. */
#ifndef PP_REPORT_METRICS_CURVES_H
#define PP_REPORT_METRICS_CURVES_H

#include "report/metrics/metrics.h"

enum { PP_CURVE_NAME = 160 };

/* name: of letters, digits and _ - . /, up to PP_CURVE_NAME. */
typedef void pp_curve_fn(void *ctx, const char *name, double value);
void pp_metrics_curves(const struct pp_metrics_view *v, pp_curve_fn *fn, void *ctx);

/* TensorBoard's event files: frames of TFRecord (length, its checksum, data, its checksum; masked CRC-32C)
 * around protocol buffers of tensorflow.Event. Only scalars. begin: the first record of a file, its version.
 */
void pp_tfevents_begin(FILE *out, double utc_s);
void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value);
void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out);

/* For MLflow's runs/log-batch: the curves as metrics, the verdict as a tag; how the run was made as
 * parameters. One JSON object each; the run's id is the sender's business. 0, or -1 when writing failed. */
int pp_metrics_mlflow(const struct pp_metrics_view *v, double utc_s, FILE *out);
int pp_metrics_mlflow_params(const struct pp_metrics_view *v, FILE *out);

#endif
