/* otlp/settings.h: where OTLP goes to and how: the URL that a user gave, and the standard variables of
 * OpenTelemetry (OTEL_EXPORTER_OTLP_*) for what it does not say. Of a variable that there is for one signal
 * (_METRICS_, _TRACES_) that one counts.
 *
 * Headers may be secrets: no sentence has them. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum { PP_OTLP_HEADERS = 16 };

struct pp_otlp_settings {
    char *url;                      /* complete; may hold a password */
    char *headers[PP_OTLP_HEADERS]; /* "name: value" */
    size_t n_headers;
    int is_json, gzip;
    long timeout_ms;
    const char *authorities, *certificate, *key; /* PEM files; NULL: the system's, none, none */
};

/* target: a URL (http, https) or "env": that of the variables. signal: "metrics", "traces". PP_E_USAGE for
 * what cannot be: no URL, gRPC, a header that is none. Free in any case. */
pp_status pp_otlp_settings_read(const char *target, const char *signal, struct pp_otlp_settings *out,
                                struct pp_err *err);
void pp_otlp_settings_free(struct pp_otlp_settings *s);

/* The byte that text of n bytes has from *i on, percent-encoded ("%2C") or not; *i is behind it then. */
int pp_otlp_byte(const char *text, size_t n, size_t *i);

/* What a server of OTLP answers: ExportMetricsServiceResponse or ExportTraceServiceResponse with a 2xx,
 * google.rpc.Status with others; as protocol buffers or as JSON. A stranger's bytes: anything may be there,
 * and what is no answer reads as an empty one. */

struct pp_otlp_answer {
    uint64_t rejected; /* spans or points that the server did not take (partial_success) */
    char message[161]; /* its words, plain; "": none */
};

enum pp_otlp_said { PP_OTLP_TAKEN, PP_OTLP_REFUSED };

/* sent: how many things were; more cannot be rejected. Of a refusal the words alone. */
void pp_otlp_answer_read(const char *body, size_t n, enum pp_otlp_said said, uint64_t sent,
                         struct pp_otlp_answer *out);
