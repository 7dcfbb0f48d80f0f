/* tui/cli/metrics/metrics_opts.h: what run, exec, top and metrics can be asked for of metrics: rows that
 * their tables share. */
#pragma once

#include "probe/base/opts.h"
#include "probe/ranks/identity.h"
#include "report/metrics/metrics.h"
#include "report/send/sink.h"

struct metrics_opts {
    const char *listen, *textfile, *push, *otlp, *tensorboard, *mlflow; /* NULL or "": not asked for */
    uint64_t interval_ns;
    struct pp_opt_list labels;
    double gpu_hour; /* 0: no price */
    int all;
};

/* at: offset of a struct metrics_opts in the command's; also_advanced: 1 where help has no room. */
/* clang-format off */
#define METRICS_OPT_ROWS(at, also_advanced) \
    {.name = "metrics", .type = PP_OPT_STRING, .offset = (at) + offsetof(struct metrics_opts, listen), \
     .arg = "[ADDR:]PORT", .group = "Metrics", .help = "serve metrics to Prometheus there (ADDR: 127.0.0.1)"}, \
    {.name = "metrics-textfile", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct metrics_opts, textfile), .arg = "FILE.prom", \
     .help = "write them there, for node_exporter"}, \
    {.name = "metrics-push", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct metrics_opts, push), .arg = "URL", \
     .help = "push them to a Prometheus Pushgateway"}, \
    {.name = "otlp", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct metrics_opts, otlp), .arg = "URL", \
     .help = "send them to a server of OpenTelemetry; env: as OTEL_* say"}, \
    {.name = "tensorboard", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct metrics_opts, tensorboard), .arg = "DIR", \
     .help = "write their curves there, for TensorBoard"}, \
    {.name = "mlflow", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct metrics_opts, mlflow), .arg = "URL", \
     .help = "log them, and the report, to an MLflow server; env: as MLFLOW_* say"}, \
    {.name = "metrics-interval", .advanced = also_advanced, .type = PP_OPT_DURATION, \
     .offset = (at) + offsetof(struct metrics_opts, interval_ns), .arg = "TIME", .dflt = "5s", .min = 1e9, \
     .max = 3600e9, .help = "between two files or pushes"}, \
    {.name = "metrics-label", .advanced = also_advanced, .type = PP_OPT_LIST, \
     .offset = (at) + offsetof(struct metrics_opts, labels), .arg = "NAME=VALUE", \
     .help = "a label of every series (repeatable)"}, \
    {.name = "metrics-all", .advanced = 1, .type = PP_OPT_FLAG, \
     .offset = (at) + offsetof(struct metrics_opts, all), .dflt = "0", \
     .help = "also the series that are rarely asked for"}
/* clang-format on */

/* Whether anything is asked for. */
int metrics_opts_any(const struct metrics_opts *o);
/* What was asked of a sink; NULL: nothing. */
const char *metrics_opts_target(const struct metrics_opts *o, const struct pp_sink_kind *kind);
/* PP_E_USAGE: one that cannot be, whatever the machine has. */
pp_status metrics_opts_check(const struct metrics_opts *o, struct pp_err *err);

/* The labels, as they go into a view. */
struct metrics_labels {
    struct pp_metric_label label[32];
    struct pp_metric_label_text name[32];
    size_t n;
};
pp_status metrics_opts_labels(const struct metrics_opts *o, struct metrics_labels *out, struct pp_err *err);

/* Ranks of one machine cannot share a port or a file: of several, this one has the port plus its local rank,
 * NAME-rank0003.prom, and DIR/rank0003. The texts are in *own. */
struct metrics_of_rank {
    char listen[300], textfile[PATH_MAX], tensorboard[PATH_MAX];
};
void metrics_opts_for_rank(struct metrics_opts *o, const struct pp_identity *id, struct metrics_of_rank *own);
