/* storage/request_log.h: each request to a remote storage by itself, with the parts of its time, from where
 * it is made to the collector that stores it. Beside the sums of tally.h.
 *
 * Nothing is kept until pp_request_log_on. Then up to PP_REQUESTS_KEPT requests wait to be taken; further
 * ones are counted as lost, and no request ever waits. Any thread. */
#ifndef PP_STORAGE_REQUEST_LOG_H
#define PP_STORAGE_REQUEST_LOG_H

#include <stddef.h>
#include <stdint.h>

enum {
    PP_REQUESTS_KEPT = 16384,
    PP_REQUEST_PLACES = 1024, /* further places are place 0 */
    PP_REQUEST_ADDRESS = 56,
    PP_REQUEST_PREFIX = 200
};

enum pp_request_flag {
    PP_REQUEST_CONNECTED = 1, /* it opened a connection */
    PP_REQUEST_HEDGE = 2,     /* made because another one for the same bytes was late */
    PP_REQUEST_DROPPED = 4,   /* the other one of the two answered first */
    PP_REQUEST_MODEL = 8,     /* no request: a storage model let this time pass (model.h) */
    PP_REQUEST_BEGINS = 16,   /* a range of an object, from its first byte on */
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
    char address[PP_REQUEST_ADDRESS]; /* "10.0.0.7:443"; "": there was no connection */
    char prefix[PP_REQUEST_PREFIX];   /* of the object's name up to its last '/': "s3://bucket/train" */
};

/* Begins anew: what was kept is dropped. 0: no memory, and it is off. */
int pp_request_log_on(void);
void pp_request_log_off(void);
int pp_request_log_is_on(void); /* cheap */

/* name: of the object, as a user writes it; a query is no part of its prefix. */
void pp_request_log_add(const struct pp_request *r, const char *address, const char *name);

/* Takes up to max of them, in the order they were added. */
size_t pp_request_log_take(struct pp_request *out, size_t max);
uint64_t pp_request_log_lost(void);
/* 0: there is no such place. */
int pp_request_log_place(uint16_t id, struct pp_request_place *out);

#endif
