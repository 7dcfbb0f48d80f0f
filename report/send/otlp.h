/* send/otlp.h: one body of OTLP over HTTP to a server: of metrics by the sink (otlp.c), of traces by
 * `pipeprobe export`. */
#pragma once

#include "report/otlp/settings.h"
#include "report/send/client.h"
#include "report/send/sender.h"

struct pp_otlp_sending {
    uint64_t things;    /* how many are in the body; UINT64_MAX: not known */
    const char *called; /* "spans" */
    /* out */
    uint64_t rejected;   /* of them */
    uint64_t wire_bytes; /* added to: what was sent, after compression */
    long retry_s;
    char why[500]; /* a sentence, unless all was taken */
};

/* What a client for these settings is opened with; borrowed from them. */
struct pp_http_opts pp_otlp_client_opts(const struct pp_otlp_settings *s);
enum pp_sent pp_otlp_send(struct pp_client *c, const struct pp_otlp_settings *s, const char *body, size_t n,
                          struct pp_otlp_sending *x);
