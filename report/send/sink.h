/* send/sink.h: ways that metrics leave the machine's recorder: a table of kinds, one file each. A sink takes
 * texts of report/metrics; it knows no pipeline, and runs in a process of its own (tui/cli/metrics.c), beside
 * what is recorded.
 *
 * put and finish are called by one thread. put does not wait for a network: a kind that has to wait has a
 * thread, keeps the newest text, and counts what it did not send. No sentence of a sink, and nothing it
 * writes, holds what stands before the @ of a URL. */
#ifndef PP_REPORT_SEND_SINK_H
#define PP_REPORT_SEND_SINK_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

/* A text made just now, or some moments ago; malloc'd. format: 0 Prometheus, 1 OpenMetrics. NULL: none. May
 * be called by a sink's thread. */
typedef char *pp_sink_fetch_fn(void *ctx, int format, size_t *n);

struct pp_sink_opts {
    const char *target;           /* what the user gave */
    const char *content_types[2]; /* of the formats */
    pp_sink_fetch_fn *fetch;
    void *ctx;
    const char *job, *instance; /* names of the group, for a kind that groups */
    long rank;                  /* -1: none */
};

struct pp_sink_count {
    uint64_t sent, lost;
};

struct pp_sink_kind {
    const char *option; /* "metrics": what it is asked for with */
    /* NULL, or a sentence: what this build or this machine lacks. */
    const char *(*missing)(void);
    /* PP_E_USAGE for a target that cannot be one: nothing is opened. */
    pp_status (*check)(const char *target, struct pp_err *err);
    pp_status (*open)(const struct pp_sink_opts *o, void **self, struct pp_err *err);
    /* Where it can be found, as a sentence; NULL: there is nothing to say. */
    const char *(*where)(void *self);
    void (*put)(void *self, const char *text, size_t n);
    /* The last text; waits until it is sent, or until deadline_ns. */
    void (*finish)(void *self, const char *text, size_t n, uint64_t deadline_ns);
    struct pp_sink_count (*count)(void *self);
    /* Why the last loss happened, as a sentence without what was lost; "": there was none. */
    void (*trouble)(void *self, char *text, size_t size);
    void (*close)(void *self); /* NULL is fine */
};

extern const struct pp_sink_kind pp_sink_http, pp_sink_textfile, pp_sink_push;
extern const struct pp_sink_kind *const pp_sink_kinds[]; /* ends with NULL */

#endif
