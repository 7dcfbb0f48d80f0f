/* net/http.h: one HTTP request and its answer, carried by libcurl, which is opened when the first client is:
 * a build needs its header alone, and a machine without the library does everything that needs no network.
 * The storages read with it, and metrics are sent with it.
 *
 *   pp_http_open -> pp_http_perform, by any thread -> pp_http_close
 *
 * A client keeps its connections: each request takes one of its handles, of which there are as many as
 * threads have asked at once. It follows no redirect (a request may carry credentials) and retries nothing:
 * that is for who knows what the request was. Several addresses of a host name are tried in random order, so
 * that connections spread over them. Certificates are verified. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_http;

enum {
    PP_HTTP_ETAG = 136,
    PP_HTTP_HEADERS = 20,
    PP_HTTP_TEXT = 4096,
    PP_HTTP_URL = 8192,
    PP_HTTP_ADDRESS = 56,
    PP_HTTP_RETRY_S = 3600
};

/* What the header of an answer said. */
struct pp_http_head {
    int status;
    int has_range;
    uint64_t first, last;    /* of Content-Range; last below first: no byte of the range exists */
    uint64_t total;          /* the same, or PP_HTTP_UNKNOWN */
    uint64_t length;         /* Content-Length, or PP_HTTP_UNKNOWN */
    uint32_t retry_after_s;  /* at most PP_HTTP_RETRY_S; 0: none */
    char etag[PP_HTTP_ETAG]; /* with its quotes; "": none */
    char modified[40];       /* Last-Modified */
    char region[40];         /* x-amz-bucket-region */
    char date[40];
};
#define PP_HTTP_UNKNOWN UINT64_MAX
#define PP_HTTP_407 "the proxy wants a user and a password, as in http://USER:PASSWORD@PROXY:PORT"

/* Takes in one line of a header, as it came; a status line begins anew. Other lines are passed over. */
void pp_http_head_line(struct pp_http_head *h, const char *line, size_t size);

/* Percent-encodes all but letters, digits and "-._~", and in a path '/'. -1: longer than size. */
enum pp_uri_part { PP_URI_PATH, PP_URI_VALUE };
int pp_uri_encode(const char *text, enum pp_uri_part part, char *out, size_t size);

/* The bytes of a good answer (2xx), in order. PP_END: enough, the rest is not wanted; anything else but PP_OK
 * is what pp_http_perform returns. */
typedef pp_status pp_http_body_fn(void *ctx, const struct pp_http_head *head, const uint8_t *bytes,
                                  size_t size, struct pp_err *err);

struct pp_http_request {
    const char *method;                  /* NULL: GET, or POST where there is a body */
    const char *url;                     /* encoded */
    const char *header[PP_HTTP_HEADERS]; /* "Name: value"; NULL ends them, unless all are there */
    const char *range;                   /* "0-99", of which no more is taken; NULL: the whole */
    const void *post;                    /* the body, post_size bytes; NULL: none */
    size_t post_size;
    int netrc;      /* user and password may come from ~/.netrc */
    int local;      /* answered within seconds or not at all, without a proxy: a service of this machine */
    int any_status; /* body gets the bytes of every answer */
    pp_http_body_fn *body;
    void *ctx;
};

/* What a request took. The parts are one stretch, in this order, and end with the last byte; one that was not
 * taken is 0. */
struct pp_http_took {
    uint64_t began_ns, all_ns; /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;           /* of the calling thread */
    uint64_t resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns;
    uint64_t received;             /* bytes of the body */
    int connected;                 /* it opened a connection */
    char address[PP_HTTP_ADDRESS]; /* "10.0.0.7:443"; "": there was no connection */
};

struct pp_http_answer {
    struct pp_http_head head;
    char location[PP_HTTP_URL]; /* of a redirect, absolute; "" */
    char text[PP_HTTP_TEXT];    /* how a body begins that request->body does not get */
    size_t text_size;
    struct pp_http_took took;
};

struct pp_http_opts {
    const char *authorities, *certificate,
        *key; /* PEM files; NULL: those of CURL_CA_BUNDLE, SSL_CERT_FILE or the system; none; none */
    const char *user, *password; /* NULL: those of the URL, if any */
    long timeout_ms;             /* of a whole request; 0: as pp_http_set_timeout has it */
    int (*stop)(void *ctx);      /* asked about once a second: 1 ends a request; NULL is fine */
    void *ctx;
};

/* o: NULL, or borrowed until close. PP_E_UNSUPPORTED: pp_http_missing. */
pp_status pp_http_open(const struct pp_http_opts *o, struct pp_http **out, struct pp_err *err);
void pp_http_close(struct pp_http *h); /* NULL is fine */

/* PP_OK: an answer came, whatever its status, and its body went to request->body to the end or to PP_END.
 * Else err has the reason alone ("the connection was cut after 10 of 20 bytes"), for a sentence of the
 * caller's: PP_E_TRANSIENT may pass, PP_E_ACCESS is a certificate, PP_E_USAGE a URL that is none. */
pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err);

/* NULL, or a sentence: what this build or this machine lacks, and what to install. */
const char *pp_http_missing(void);
/* For doctor: 1 and "libcurl 7.88.1, OpenSSL 3.0.15"; 0 and pp_http_missing. */
int pp_http_available(char *text, size_t size);

/* How long a connection may bring nothing, or less than 1 KiB/s, before the request fails (30 s). A request
 * also fails when twice that time, and a second per KiB of what was asked for, have passed. */
void pp_http_set_timeout(double seconds);
/* Asked once a second by every request, and between retries: not 0 ends it with PP_E_INTERRUPTED. NULL: none,
 * which is so at first. For the time in which a data set is opened: later the loader gives a request up that
 * does not return. */
void pp_http_set_interrupted(int (*interrupted)(void));
int pp_http_is_interrupted(void);
