/* export/otlp_traces.h: a recording as traces of OpenTelemetry: one trace per batch. Its root is
 * "pipeprobe.batch", from the batch's first span to the end of its last; the spans are its children, and what
 * the trainer does with the batch links to the worker's span that finished it. Ids are made of the run's
 * session and of what is recorded, so that a second export brings the same ones.
 *
 * A span is 100 to 200 bytes there, ten times and more of what it takes in a recording: under the budget of
 * bytes the batches that the trainer waited longest for come first. Memory is that of the spans chosen, and
 * 24 bytes a batch. Spans that belong to no batch are counted alone. */
#pragma once

#include "report/source/source.h"

struct pp_otlp_traces_opts {
    int is_json;
    uint64_t max_bytes; /* of all bodies, before compression */
    size_t body_spans;  /* in one body; 0: 512 */
};

struct pp_otlp_traces_result {
    uint64_t batches, spans;           /* delivered; each batch has its root among the spans */
    uint64_t bodies, bytes;            /* the same */
    uint64_t batches_left, spans_left; /* left out for the budget */
    uint64_t spans_alone;              /* of no batch */
    uint64_t damaged_chunks;
    int utc_known; /* else times count from the machine's start */
};

/* An ExportTraceServiceRequest; JSON ends with a newline. Not 0 stops: PP_E_INTERRUPTED. */
typedef int pp_otlp_body_fn(void *ctx, const char *body, size_t n, size_t spans);

pp_status pp_otlp_traces(const struct pp_source *source, const struct pp_otlp_traces_opts *opts,
                         pp_otlp_body_fn *fn, void *ctx, struct pp_otlp_traces_result *result,
                         struct pp_err *err);
