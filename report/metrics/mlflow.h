/* metrics/mlflow.h: a run for MLflow's runs/log-batch: the curves of a moment as metrics, the verdict as a
 * tag, how the run was made as parameters. One JSON object each; the run's id is the sender's business. */
#ifndef PP_REPORT_METRICS_MLFLOW_H
#define PP_REPORT_METRICS_MLFLOW_H

#include "report/metrics/metrics.h"

/* 0, or -1 when writing failed. */
int pp_metrics_mlflow(const struct pp_metrics_view *v, double utc_s, FILE *out);
int pp_metrics_mlflow_params(const struct pp_metrics_view *v, FILE *out);

#endif
