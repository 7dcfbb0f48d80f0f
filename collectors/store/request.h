/* store/request.h: one request to a remote storage, as a row of table request: the parts of its time, in this
 * order, and what came of it. */
#ifndef PP_STORE_REQUEST_H
#define PP_STORE_REQUEST_H

#include <stdint.h>

/* In the column flags; the same bits as enum pp_request_flag of probe/storage/request_log.h. */
enum pp_request_row_flag {
    PP_REQUEST_ROW_CONNECTED = 1,
    PP_REQUEST_ROW_HEDGE = 2,
    PP_REQUEST_ROW_DROPPED = 4,
    PP_REQUEST_ROW_MODEL = 8,
    PP_REQUEST_ROW_BEGINS = 16,
};

struct pp_request_row {
    uint64_t id; /* rising, of the row; reading, not of those that are written */
    uint64_t start_ns, queue_ns, resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns, cpu_ns;
    uint64_t bytes;
    uint64_t sample;              /* PP_NO_SAMPLE: for none */
    uint32_t epoch;               /* UINT32_MAX: for none */
    uint32_t status;              /* of HTTP; 0: no answer */
    uint32_t attempt, flags;      /* 0 for the first; enum pp_request_row_flag */
    uint32_t place;               /* number of its address and prefix; 0: not kept apart */
    const char *address, *prefix; /* of that place; NULL: not known. Reading, valid during the call */
};

static inline uint64_t pp_request_row_ns(const struct pp_request_row *r)
{
    return r->queue_ns + r->resolve_ns + r->connect_ns + r->tls_ns + r->first_byte_ns + r->transfer_ns;
}

#endif
