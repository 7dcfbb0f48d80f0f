/* store/order.h: which samples a DataLoader asked for, as rows of table sample_order: one per stretch of
 * batches of an epoch that follow each other. */
#ifndef PP_STORE_ORDER_H
#define PP_STORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct pp_order_row {
    int64_t pid;
    uint32_t loader, epoch, first_batch, batches;
    uint64_t samples;
    int ended; /* the sampler had no more behind these */
    const uint8_t *list;
    size_t list_bytes; /* probe/base/sample_list.h */
};

#endif
