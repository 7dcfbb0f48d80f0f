/* tui/cli/metrics/text_export.h: a complete recording as metrics in a file: the formats that `export` has
 * beside those of spans (report/export/export.h). */
#ifndef PP_TUI_CLI_METRICS_TEXT_EXPORT_H
#define PP_TUI_CLI_METRICS_TEXT_EXPORT_H

#include <pipeprobe/status.h>

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

/* NULL when there is none. */
const struct metrics_export_format *metrics_export_by_suffix(const char *path);

/* out: a file, or "-" for standard output; for events the directory of the file, whose name the recording
 * decides. PP_E_EXISTS unless force. */
pp_status metrics_export(const char *recording, const struct metrics_export_format *to, const char *out,
                         int force, struct pp_err *err);

#endif
