/* storage/request_log.h: what the requests of this process to remote storages took: as counters, and each
 * request by itself with the parts of its time, from where it is made to the collector that stores it.
 *
 * Nothing is kept until pp_request_log_set(1). Then up to PP_REQUESTS_KEPT requests wait to be taken; further
 * ones are counted as lost, and no request ever waits. Any thread. */
#pragma once

#include "probe/base/counters.h"
#include "probe/net/http.h"

struct pp_read_context;

#define PP_REQUEST_COUNTS_LIST(X) \
    X(REQUESTS, "remote_requests_total", "requests that were answered or failed") \
    X(FAILED, "remote_failed_total", "of them: no answer, a cut one, or an answer that is an error") \
    X(THROTTLED, "remote_throttled_total", "of them: 429 or 503, the server asks to slow down") \
    X(RETRIES, "remote_retries_total", "requests made again: after a failure, a redirect, a new region") \
    X(CONNECTIONS, "remote_connections_total", "connections opened") \
    X(BYTES, "remote_bytes_total", "bytes of bodies received") \
    X(BUSY_NS, "remote_busy_ns_total", "requests in flight, summed over time") \
    X(RESOLVE_NS, "remote_resolve_ns_total", "looking up host names") \
    X(CONNECT_NS, "remote_connect_ns_total", "opening connections") \
    X(TLS_NS, "remote_tls_ns_total", "TLS handshakes") \
    X(FIRST_BYTE_NS, "remote_first_byte_ns_total", "from the request sent to the first byte of its answer") \
    X(TRANSFER_NS, "remote_transfer_ns_total", "from the first byte to the last")

enum pp_request_count {
#define PP_REQUEST_COUNT_ENUM(symbol, name, what) PP_REQUEST_COUNT_##symbol,
    PP_REQUEST_COUNTS_LIST(PP_REQUEST_COUNT_ENUM)
#undef PP_REQUEST_COUNT_ENUM
};
extern const struct pp_counter_set pp_request_counters;

enum {
    PP_REQUESTS_KEPT = 16384,
    PP_REQUEST_PLACES = 1024, /* further places are place 0 */
    PP_REQUEST_PREFIX = 200
};

enum pp_request_flag {                           /* 2 and 4 are of older recordings */
                       PP_REQUEST_CONNECTED = 1, /* it opened a connection */
                       PP_REQUEST_MODEL = 8,   /* no request: a storage model let this time pass (model.h) */
                       PP_REQUEST_BEGINS = 16, /* a range of an object, from its first byte on */
};

/* The times are parts of one stretch, in this order, and end with the last byte. */
struct pp_request {
    uint64_t start_ns;      /* asked for; CLOCK_MONOTONIC */
    uint64_t queue_ns;      /* until the client began, and what is in no other part */
    uint64_t resolve_ns;    /* host name */
    uint64_t connect_ns;    /* TCP */
    uint64_t tls_ns;        /* handshake */
    uint64_t first_byte_ns; /* from the request sent to the first byte of the answer */
    uint64_t transfer_ns;   /* to the last */
    uint64_t cpu_ns;        /* of the thread that made it */
    uint64_t bytes;         /* of the body received */
    uint64_t sample, epoch; /* that it is for; UINT64_MAX: for none */
    int status;             /* of HTTP; 0: no answer */
    int attempt;            /* 0 for the first */
    unsigned flags;         /* enum pp_request_flag */
    uint16_t place;         /* set by pp_request_log_add */
};

/* Where requests go. address "" and prefix "": more places than are kept apart. */
struct pp_request_place {
    char address[PP_HTTP_ADDRESS];  /* "10.0.0.7:443"; "": there was no connection */
    char prefix[PP_REQUEST_PREFIX]; /* of the object's name up to its last '/': "s3://bucket/train" */
};

/* On: begins anew; either way what was kept is dropped. Returns whether it is on: 0 without memory, too. */
int pp_request_log_set(int on);

/* Counts a request, and keeps it when the log is on and it is for an object. name: of that, as a user writes
 * it; a query is no part of its prefix. NULL: for none. */
void pp_request_log_add(const struct pp_request *r, const char *address, const char *name);

/* A request for the sample that is read; NULL: for none. */
struct pp_request pp_request_for(const struct pp_read_context *c);
/* The same for a request over HTTP: what its answer took is filled in here. */
void pp_request_log_answer(struct pp_request r, const struct pp_http_answer *a, const char *name);

/* Takes up to max of them, in the order they were added. */
size_t pp_request_log_take(struct pp_request *out, size_t max);
uint64_t pp_request_log_lost(void);
/* 0: there is no such place. */
int pp_request_log_place(uint16_t id, struct pp_request_place *out);
