/* send/sink.h: ways that metrics leave the machine's recorder: a table of kinds, one file each. A sink takes
 * texts of report/metrics; it knows no pipeline, and runs in a process of its own (tui/cli/metrics.c), beside
 * what is recorded.
 *
 * put is called by one thread, and does not wait for a network: a kind that has to wait has a
 * thread, keeps the newest text, and counts what it did not send. No sentence of a sink, and nothing it
 * writes, holds what stands before the @ of a URL. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* What a sink takes. The first two are those of report/metrics. */
enum pp_sink_format {
    PP_SINK_PROMETHEUS,
    PP_SINK_OPENMETRICS,
    PP_SINK_OTLP_PROTOBUF,
    PP_SINK_OTLP_JSON,
    PP_SINK_EVENTS_HEAD, /* TensorBoard: the first record of a file */
    PP_SINK_EVENTS,
    PP_SINK_MLFLOW_METRICS, /* {"metrics": [...]} */
    PP_SINK_MLFLOW_PARAMS,  /* {"params": [...]} */
    PP_SINK_PAGE            /* the report as HTML */
};

/* A text made just now, or some moments ago; malloc'd. NULL: none. May be called by a sink's thread. */
typedef char *pp_sink_fetch_fn(void *ctx, enum pp_sink_format format, size_t *n);

struct pp_sink_opts {
    const char *target;           /* what the user gave */
    const char *content_types[2]; /* of the first two formats */
    pp_sink_fetch_fn *fetch;
    void *ctx;
    const char *job, *instance; /* names of the group, for a kind that groups */
    long rank;                  /* -1: none */
};

struct pp_sink_count {
    uint64_t sent, lost;
};

struct pp_sending_kind;

/* Hooks marked "or NULL" may be absent. */
struct pp_sink_kind {
    const char *option;                    /* "metrics": what it is asked for with */
    int is_remote;                         /* sends over a network, and counts what a server took */
    const struct pp_sending_kind *sending; /* what sender.h needs to know of it; or NULL */
    enum pp_sink_format takes;             /* of the text that put gets */
    /* Or NULL; else a sentence: what this build or this machine lacks, or NULL. */
    const char *(*missing)(void);
    /* PP_E_USAGE for a target that cannot be one: nothing is opened. */
    pp_status (*check)(const struct pp_sink_kind *kind, const char *target, struct pp_err *err);
    pp_status (*open)(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                      struct pp_err *err);
    /* Where it can be found, as a sentence; or NULL: there is nothing to say. */
    const char *(*where)(void *self);
    /* In place of takes, where that depends on the target; or NULL. */
    enum pp_sink_format (*format)(void *self);
    /* last: no other text comes. Or NULL: it asks itself, with fetch. */
    void (*put)(void *self, const char *text, size_t n, int last);
    /* Until the last text is sent, or deadline_ns; or NULL: it is. */
    void (*wait)(void *self, uint64_t deadline_ns);
    struct pp_sink_count (*count)(void *self);
    /* Why the last loss happened, as a sentence without what was lost; "": there was none. */
    void (*trouble)(void *self, char *text, size_t size);
    void (*close)(void *self); /* NULL is fine */
};

extern const struct pp_sink_kind pp_sink_http, pp_sink_textfile, pp_sink_push, pp_sink_otlp,
    pp_sink_tensorboard, pp_sink_mlflow;
extern const struct pp_sink_kind *const pp_sink_kinds[]; /* ends with NULL */
