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

#endif
