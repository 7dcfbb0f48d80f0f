/* metrics/metrics.h: a run as metrics for monitoring: one table of them, and the text that Prometheus and
 * OpenMetrics read. Values are those of the live history (report/live) and of the report on the run
 * (report/model); nothing is computed here.
 *
 * Counters are sums since the start of the run, so that a scrape that is missed loses nothing. A series has
 * no label that grows with the data: no path, sample, batch or process. What is not known has no series.
 */
#pragma once

#include "report/live/live.h"
#include "report/model/model.h"

enum pp_metric_type { PP_METRIC_COUNTER, PP_METRIC_GAUGE, PP_METRIC_INFO, PP_METRIC_HISTOGRAM };

/* What the sender of the metrics knows of itself. */
struct pp_metrics_sender {
    double cpu_s;                 /* of its process */
    uint64_t pushes, pushes_lost; /* to servers: bodies */
    int pushing;                  /* to any */
};

/* A label that every series gets. */
struct pp_metric_label {
    const char *name, *value;
};

/* What the values are taken from, all borrowed. */
struct pp_metrics_view {
    const struct pp_live_snapshot *snap;
    const struct pp_live_totals *totals;
    const struct pp_live_fact *facts;
    size_t n_facts;
    struct pp_live_rank rank;
    const struct pp_report *report;         /* NULL: not there yet */
    const struct pp_metrics_sender *sender; /* NULL: nothing is sent */
    const struct pp_metric_label *labels;   /* besides rank and node */
    size_t n_labels;
    double gpu_hour; /* price of an hour; 0: none was stated */
    int all;         /* also the metrics that are rarely asked for */
};

/* Counts of a histogram by upper bound, each with those before it; the last bound is +Inf. */
struct pp_metric_histogram {
    const double *bounds;
    size_t n_bounds;
    uint64_t count[PP_LIVE_WAIT_BOUNDS + 1];
    double sum;
};

enum { PP_METRIC_LABELS = 8 };
struct pp_metric_point {
    struct pp_metric_label label[PP_METRIC_LABELS]; /* of its own */
    size_t n_labels;
    double value;
    const struct pp_metric_histogram *histogram; /* in place of value */
};

struct pp_metric;
typedef void pp_metric_fn(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p);

/* Where the rows of the table put their points. */
struct pp_metric_out {
    const struct pp_metric *metric;
    pp_metric_fn *fn;
    void *ctx;
};

struct pp_metric {
    const char *name; /* of the family: without the _total of a counter and the _info of an info */
    enum pp_metric_type type;
    const char *unit;   /* "seconds", "bytes", "ratio"; "" for numbers of things */
    const char *labels; /* of its own, as "phase, lane"; "" none */
    const char *help;
    const char *use; /* what asks for it: a panel or an alert of samples/, or a question */
    int rare;        /* no dashboard or alert of ours asks for it: one series less of each rank */
    double (*value)(const struct pp_metrics_view *v); /* one series without labels; NAN: none */
    void (*each)(const struct pp_metrics_view *v, struct pp_metric_out *out); /* in its place */
};
extern const struct pp_metric pp_metrics[]; /* ends with name NULL */

/* The points of all rows that are asked for, in the order of the table, those of a row together. */
void pp_metrics_each(const struct pp_metrics_view *v, pp_metric_fn *fn, void *ctx);

enum pp_metrics_format {
    PP_METRICS_TEXT,       /* text/plain; version=0.0.4 */
    PP_METRICS_OPENMETRICS /* application/openmetrics-text; version=1.0.0 */
};
extern const char *const pp_metrics_content_type[];

/* 0, or -1 when writing failed. */
int pp_metrics_write(const struct pp_metrics_view *v, enum pp_metrics_format format, FILE *out);

/* The run at points of time, second by second or, of a long one, at about as many as points says: the sums up
 * to there and the seconds before. report, which may be NULL, is what is known at the end. fn returns 0 to
 * stop. */
typedef int pp_metrics_moment_fn(void *ctx, const struct pp_metrics_view *view, double utc_s);
pp_status pp_metrics_walk(struct pp_live *l, const struct pp_metrics_view *last, unsigned points,
                          pp_metrics_moment_fn *fn, void *ctx, struct pp_err *err);
/* The same as OpenMetrics with times: what a server would have stored of it. */
pp_status pp_metrics_history(struct pp_live *l, const struct pp_metrics_view *last, unsigned points,
                             FILE *out, struct pp_err *err);

/* "name=value" as a label; PP_E_USAGE for a name that Prometheus does not take or that the table uses. text
 * is kept. storage: for the name. */
struct pp_metric_label_text {
    char name[64];
};
pp_status pp_metric_label_parse(const char *text, struct pp_metric_label_text *storage,
                                struct pp_metric_label *out, struct pp_err *err);

/* The parts of a text, for the files that put them together (text.c, curves.c). */

/* HELP, TYPE and, where the name ends in it, UNIT. */
void pp_metric_head(const struct pp_metric *m, enum pp_metrics_format format, FILE *out);
/* The lines of a point; at_s: its time, seconds since 1970; NAN: none. */
void pp_metric_point_text(const struct pp_metrics_view *v, const struct pp_metric *m,
                          const struct pp_metric_point *p, double at_s, FILE *out);

/* The metrics of a moment as OTLP's ExportMetricsServiceRequest. Names are those of the
 * table with a dot behind "pipeprobe" and without the unit, which is a field of its own: what a collector
 * makes of them for Prometheus are the names that Prometheus gets from us. The labels "job" and "instance"
 * are service.name and service.instance.id; the others are attributes of each point, and the run's info is
 * attributes of the resource. */

/* malloc'd; NULL without memory. */
char *pp_metrics_otlp(const struct pp_metrics_view *v, int is_json, double utc_s, size_t *n);

/* The metrics of a moment as named curves, for places where people look at the curves of
 * their training: the gauges and samples per second, by their names: "pipeprobe/data_wait_ratio",
 * "pipeprobe/queue_depth/ready_batches". The step beside them is the number of batches taken. */

enum { PP_CURVE_NAME = 160 };

/* name: of letters, digits and _ - . /, up to PP_CURVE_NAME. */
typedef void pp_curve_fn(void *ctx, const char *name, double value);

/* TensorBoard's event files: frames of TFRecord (length, its checksum, data, its checksum; masked CRC-32C)
 * around protocol buffers of tensorflow.Event. Only scalars. begin: a file's first record, its version. */
void pp_tfevents_begin(FILE *out, double utc_s);
void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value);
void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out);

/* For MLflow's runs/log-batch: the curves as metrics, the verdict as a tag; how the run was made as
 * parameters. One JSON object each; the run's id is the sender's business. 0, or -1 when writing failed. */
int pp_metrics_mlflow(const struct pp_metrics_view *v, double utc_s, FILE *out);
int pp_metrics_mlflow_params(const struct pp_metrics_view *v, FILE *out);
