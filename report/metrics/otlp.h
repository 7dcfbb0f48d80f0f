/* metrics/otlp.h: the metrics of a moment as OTLP's ExportMetricsServiceRequest. Names are those of the
 * table with a dot behind "pipeprobe" and without the unit, which is a field of its own: what a collector
 * makes of them for Prometheus are the names that Prometheus gets from us. The labels "job" and "instance"
 * are service.name and service.instance.id; the others are attributes of each point, and the run's info is
 * attributes of the resource. */
#ifndef PP_REPORT_METRICS_OTLP_H
#define PP_REPORT_METRICS_OTLP_H

#include "report/metrics/metrics.h"

/* malloc'd; NULL without memory. */
char *pp_metrics_otlp(const struct pp_metrics_view *v, int is_json, double utc_s, size_t *n);

#endif
