/* With `exec --content`: hashes of a batch's samples, and of the files read for each, as a block of the order
 * file (order_file.h) of the process that makes them. Under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/order_file.h"
#include <unistd.h>

void record_content_files(struct record_local *l, uint64_t identity)
{
    struct record_worker *w = &l->worker;
    if (!w->files)
        w->files = malloc(RECORD_CONTENT_MAX * sizeof(*w->files));
    if (w->files && w->n_files < RECORD_CONTENT_MAX)
        w->files[w->n_files++] = identity;
}

void record_content(struct record_local *l, uint32_t n, const uint64_t *hashes)
{
    struct record_worker *w = &l->worker;
    struct pp_order_block head = {.loader = (uint32_t)(l->slot >= 0 ? w->parent_pid : getpid()),
                                  .epoch = w->epoch,
                                  .first_batch = w->batch,
                                  .batches = 1,
                                  .samples = n};
    uint8_t *both = w->batch != PP_NO_BATCH ? malloc(16 * (size_t)n) : NULL;
    for (size_t i = 0; both && i < n; i++) {
        uint64_t file = w->n_files == n ? w->files[i] : 0; /* else they were not made one by one */
        for (size_t k = 0; k < 8; k++) {
            both[8 * i + k] = (uint8_t)(hashes[i] >> 8 * k);
            both[8 * (n + i) + k] = (uint8_t)(file >> 8 * k);
        }
    }
    if (both)
        record_order_block(PP_CONTENT_MAGIC, 16 * (size_t)n, &head, both);
    free(both);
    w->n_files = 0;
}
