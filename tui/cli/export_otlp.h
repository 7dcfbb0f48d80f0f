/* cli/export_otlp.h: `pipeprobe export --to otlp`: a recording as traces, to a server of OpenTelemetry over
 * HTTP or into a file with a request in JSON on each line, as OpenTelemetry's file exporter writes. */
#ifndef PP_CLI_EXPORT_OTLP_H
#define PP_CLI_EXPORT_OTLP_H

#include <pipeprobe/status.h>

#include <stdint.h>

#define EXPORT_OTLP_SUFFIX ".otlp.jsonl"
#define EXPORT_OTLP_HELP "traces, one per batch: to a server of OpenTelemetry (-o URL) or a file"

struct export_otlp_opts {
    const char *out; /* a URL, a file, or "-" */
    int force, quiet;
    uint64_t max_bytes;
};

/* 1: what -o names is a server. */
int export_otlp_is_url(const char *out);
/* What is sent is said on standard error. A failure says what the server has. */
pp_status export_otlp(const char *input, const struct export_otlp_opts *o, struct pp_err *err);

#endif
