/* tui/cli/metrics/sampler.h: the metrics of a recording, growing or complete, as text whenever it is asked
 * for. Reads the file as the dashboard does (report/live, and a verdict on a thread of its own). */
#pragma once

#include "tui/cli/metrics/metrics_opts.h"

#include <pipeprobe/status.h>

struct metrics_sampler;

/* watches: the verdict is kept up to date on a thread; else it is made here, once. o is borrowed. */
pp_status metrics_sampler_open(const char *path, const struct metrics_opts *o, int watches,
                               struct metrics_sampler **out, struct pp_err *err);
void metrics_sampler_close(struct metrics_sampler *s);

/* The text of now, of a second ago at most; the caller frees. NULL: no memory. Any thread. It is what a sink
 * fetches with (struct pp_sink_opts), the sampler being its ctx. */
char *metrics_sampler_text(void *sampler, enum pp_sink_format format, size_t *n);
/* The run has ended: reads the rest, and makes the verdict on all of it. By the thread that opened. */
void metrics_sampler_complete(struct metrics_sampler *s);
/* As of the last text. */
int metrics_sampler_is_running(struct metrics_sampler *s);
long metrics_sampler_rank(struct metrics_sampler *s);
/* What became of pushes, for the metrics that tell it. */
void metrics_sampler_note_pushes(struct metrics_sampler *s, struct pp_sink_count pushes);

/* A complete recording as metrics in a file: the formats that `export` has
 * beside those of spans (report/export/export.h). */

enum metrics_export_kind { METRICS_AT_THE_END, METRICS_WITH_TIMES, METRICS_AS_EVENTS };

/* X(name, suffix, kind, what it is for) */
/* clang-format off */
#define METRICS_EXPORT_FORMATS(X)                                                           \
    X(prometheus, ".prom", METRICS_AT_THE_END, "the metrics at the end: node_exporter, promtool check")      \
    X(openmetrics, ".om", METRICS_WITH_TIMES, "metrics with times: promtool tsdb create-blocks-from openmetrics") \
    X(tensorboard, ".tb", METRICS_AS_EVENTS, "a directory for tensorboard --logdir")
/* clang-format on */

struct metrics_export_format {
    const char *name, *suffix;
    enum metrics_export_kind kind;
};
extern const struct metrics_export_format
    metrics_export_formats[]; /* in the order of the list; ends with NULL */

/* out: a file, or "-" for standard output; for events the directory of the file, whose name the recording
 * decides. PP_E_EXISTS unless force. */
pp_status metrics_export(const char *recording, const struct metrics_export_format *to, const char *out,
                         int force, struct pp_err *err);
