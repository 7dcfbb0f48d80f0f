/* store/rows.h: what the writer (writer.h) and the reader (reader.h) of a recording have in common. */
#ifndef PP_STORE_ROWS_H
#define PP_STORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Which samples a DataLoader asked for, as rows of table sample_order: one per stretch of batches of an epoch
 * that follow each other. */
struct pp_order_row {
    int64_t pid;
    uint32_t loader, epoch, first_batch, batches;
    uint64_t samples;
    int ended; /* the sampler had no more behind these */
    const uint8_t *list;
    size_t list_bytes; /* probe/base/sample_list.h */
};

/* ---- requests to a remote storage: rows of table request ---- */

/* In the column flags; the same bits as enum pp_request_flag of probe/storage/request_log.h. */
enum pp_request_row_flag {
    PP_REQUEST_ROW_CONNECTED = 1,
    PP_REQUEST_ROW_HEDGE = 2,
    PP_REQUEST_ROW_DROPPED = 4,
    PP_REQUEST_ROW_MODEL = 8,
    PP_REQUEST_ROW_BEGINS = 16,
};

/* The parts of its time, in this order, and what came of it. */
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
