/* metrics/tfevents.h: TensorBoard's event files: frames of TFRecord (length, its checksum, data, its
 * checksum; masked CRC-32C) around protocol buffers of tensorflow.Event. Only scalars. */
#ifndef PP_REPORT_METRICS_TFEVENTS_H
#define PP_REPORT_METRICS_TFEVENTS_H

#include "report/metrics/metrics.h"

/* The first record of a file: its version. */
void pp_tfevents_begin(FILE *out, double utc_s);
void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value);

/* The curves of a moment (curves.h). */
void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out);

#endif
