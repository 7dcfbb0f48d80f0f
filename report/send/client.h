/* send/client.h: one request at a time to a server that may be anything (probe/net/http.h). An answer is
 * bounded in time and size, and what went wrong is a sentence that names the server and no secret.
 *
 * A client belongs to one thread at a time and keeps its connection. */
#pragma once

#include "probe/net/http.h"

#include <pipeprobe/status.h>

struct pp_client;

/* o->timeout_ms 0: 5 s. */
pp_status pp_client_open(const struct pp_http_opts *o, struct pp_client **out, struct pp_err *err);
void pp_client_close(struct pp_client *c); /* NULL is fine */

struct pp_client_request {
    const char *method;                   /* "PUT" */
    const char *url;                      /* a user and a password in it are sent, and never shown */
    const char *shown;                    /* what sentences call it; NULL: the URL without secrets */
    const char *headers[PP_HTTP_HEADERS]; /* "Name: value"; ends with NULL, or full */
    const void *body;                     /* NULL: none */
    size_t n;
};

/* What a status means, for sentences; ends with from 0. */
struct pp_status_words {
    int from, to;
    const char *words;
};

struct pp_client_answer {
    int code;         /* 0: there was no answer */
    long retry_s;     /* Retry-After of a 429 or 503; 0: none */
    const char *body; /* of the client, until its next request; ended by 0 */
    size_t n;
    char why[500]; /* no 2xx: a sentence that names the server; "" */
};
/* 1: a 2xx. words, which may be NULL, stand before those that every server's status has. */
int pp_client_send(struct pp_client *c, const struct pp_client_request *r,
                   const struct pp_status_words *words, struct pp_client_answer *a);

/* Where to listen, as a user writes it. */

struct pp_address {
    char host[256], port[8];
};

/* "9400" and ":9400" (loopback), "HOST:9400", "[::1]:9400". PP_E_USAGE for anything else. */
pp_status pp_address_parse(const char *text, struct pp_address *out, struct pp_err *err);

/* A socket that listens there, not blocking. PP_E_EXISTS: the port is taken. shown: "127.0.0.1:9400", with
 * the port that the system chose for 0. */
pp_status pp_address_listen(const struct pp_address *a, int *fd, char *shown, size_t size,
                            struct pp_err *err);
