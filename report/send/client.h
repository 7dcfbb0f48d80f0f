/* send/client.h: one HTTP request at a time to a server that may be anything, by libcurl, which is opened
 * when it is first asked for. An answer is bounded in time and size. Redirects are not followed: a request
 * may carry credentials. https is verified; SSL_CERT_FILE or CURL_CA_BUNDLE name other authorities than the
 * system's.
 *
 * A client belongs to one thread at a time and keeps its connection. */
#ifndef PP_REPORT_SEND_CLIENT_H
#define PP_REPORT_SEND_CLIENT_H

#include <pipeprobe/status.h>

#include <stddef.h>

struct pp_client;

/* NULL, or a sentence: what this build or this machine lacks. */
const char *pp_client_missing(void);

struct pp_client_opts {
    const char *authorities, *certificate, *key; /* PEM files; NULL: as above, none, none; borrowed */
    const char *user, *password;                 /* NULL: those of the URL, if any; borrowed */
    long timeout_ms;                             /* of one request; 0: 5 s */
    int (*stop)(void *ctx); /* asked about once a second; 1 ends a request; NULL is fine */
    void *ctx;
};
pp_status pp_client_open(const struct pp_client_opts *o, struct pp_client **out, struct pp_err *err);
void pp_client_close(struct pp_client *c); /* NULL is fine */

enum { PP_CLIENT_HEADERS = 20 };
struct pp_request {
    const char *method;                     /* "PUT" */
    const char *url;                        /* a user and a password in it are sent, and never shown */
    const char *shown;                      /* what sentences call it; NULL: the URL without secrets */
    const char *headers[PP_CLIENT_HEADERS]; /* "Name: value"; ends with NULL, or full */
    const void *body;
    size_t n;
    int gzip; /* compresses the body */
};

/* What a status means, for sentences; ends with from 0. */
struct pp_status_words {
    long from, to;
    const char *words;
};

struct pp_answer {
    long code;        /* 0: there was no answer */
    long retry_s;     /* Retry-After of a 429 or 503; 0: none */
    const char *body; /* of the client, until its next request; ended by 0 */
    size_t n;
    size_t sent;   /* bytes of the body on the wire */
    char why[320]; /* no 2xx: a sentence that names the server; "" */
};
/* 1: a 2xx. words, which may be NULL, stand before those that every server's status has. */
int pp_client_send(struct pp_client *c, const struct pp_request *r, const struct pp_status_words *words,
                   struct pp_answer *a);

/* A name as part of a path; the caller frees. NULL: no memory. */
char *pp_client_escape(const char *text);

#endif
