/* storage/http.h: one HTTP request and its answer, carried by libcurl, which is opened when the first request
 * is made: a build needs its header alone, and a machine without the library reads everything that is local.
 *
 *   pp_http_open -> pp_http_perform, by any thread -> pp_http_close
 *
 * A client keeps its connections: each request takes one of its handles, of which there are as many as
 * threads have asked at once. It follows no redirect and retries nothing: that is for who knows what the
 * request was. Several addresses of a host name are tried in random order, so that connections spread over
 * them. Certificates are verified. Times of every request are counted (request_log.h). */
#ifndef PP_STORAGE_HTTP_H
#define PP_STORAGE_HTTP_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_http;

enum { PP_HTTP_ETAG = 136, PP_HTTP_HEADERS = 8, PP_HTTP_TEXT = 4096, PP_HTTP_URL = 8192 };

/* What the header of an answer said. */
struct pp_http_head {
    int status;
    int has_range;
    uint64_t first, last; /* of Content-Range; last below first: no byte of the range exists */
    uint64_t total;       /* the same, or PP_HTTP_UNKNOWN */
    uint64_t length;      /* Content-Length, or PP_HTTP_UNKNOWN */
    uint32_t retry_after_s;
    char etag[PP_HTTP_ETAG]; /* with its quotes; "": none */
    char modified[40];       /* Last-Modified */
    char region[40];         /* x-amz-bucket-region */
    char date[40];
};
#define PP_HTTP_UNKNOWN UINT64_MAX

/* Takes in one line of a header, as it came; a status line begins anew. Other lines are passed over. */
void pp_http_head_line(struct pp_http_head *h, const char *line, size_t size);

/* The bytes of a good answer (2xx), in order. PP_END: enough, the rest is not wanted; anything else but PP_OK
 * is what pp_http_perform returns. */
typedef pp_status pp_http_body_fn(void *ctx, const struct pp_http_head *head, const uint8_t *bytes,
                                  size_t size, struct pp_err *err);

/* What a request is for, as its record says (request_log.h). */
struct pp_http_subject {
    const char *name;       /* of the object, as a user writes it */
    uint64_t sample, epoch; /* UINT64_MAX: for none */
    int attempt;            /* 0 for the first */
    unsigned flags;         /* PP_REQUEST_BEGINS of request_log.h, or 0 */
};

struct pp_http_request {
    const char *method;                  /* NULL: GET */
    const char *url;                     /* encoded */
    const char *header[PP_HTTP_HEADERS]; /* "Name: value"; NULL ends them */
    const char *range;                   /* "0-99"; NULL: the whole */
    const char *post;                    /* body of a POST; NULL: none */
    int netrc;                           /* user and password may come from ~/.netrc */
    int local; /* answered within seconds or not at all, without a proxy: a service of this machine */
    const struct pp_http_subject *subject; /* NULL: it is for no object, and has no record of its own */
    pp_http_body_fn *body;
    void *ctx;
};

struct pp_http_answer {
    struct pp_http_head head;
    char location[PP_HTTP_URL]; /* of a redirect, absolute; "" */
    char text[PP_HTTP_TEXT];    /* how the body of any other answer than 2xx begins */
    size_t text_size;
};

/* PP_E_UNSUPPORTED: libcurl is not here, in a sentence with what to install. */
pp_status pp_http_open(struct pp_http **out, struct pp_err *err);
void pp_http_close(struct pp_http *h);

/* PP_OK: an answer came, whatever its status, and its body went to request->body to the end or to PP_END.
 * Else err has the reason alone ("the connection was cut after 10 of 20 bytes"), for a sentence of the
 * caller's: PP_E_TRANSIENT may pass, PP_E_ACCESS is a certificate, PP_E_USAGE a URL that is none. */
pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err);

/* For doctor: 1 and "libcurl 7.88.1, OpenSSL 3.0.15"; 0 and why not. */
int pp_http_available(char *text, size_t size);

/* How long a connection may bring nothing, or less than 1 KiB/s, before the request fails (30 s). */
void pp_http_set_timeout(double seconds);
/* Asked once a second by every request, and between retries: not 0 ends it with PP_E_INTERRUPTED. NULL: none,
 * which is so at first. For the time in which a data set is opened: later the loader gives a request up that
 * does not return. */
void pp_http_set_interrupted(int (*interrupted)(void));
int pp_http_is_interrupted(void);

#endif
