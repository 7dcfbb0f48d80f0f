/* metrics/text.h: the parts of a text, for the files that put them together (text.c, history.c). */
#ifndef PP_REPORT_METRICS_TEXT_H
#define PP_REPORT_METRICS_TEXT_H

#include "report/metrics/metrics.h"

/* HELP, TYPE and, where the name ends in it, UNIT. */
void pp_metric_head(const struct pp_metric *m, enum pp_metrics_format format, FILE *out);
/* The lines of a point; at_s: its time, seconds since 1970; NAN: none. */
void pp_metric_point_text(const struct pp_metrics_view *v, const struct pp_metric *m,
                          const struct pp_metric_point *p, double at_s, FILE *out);

#endif
