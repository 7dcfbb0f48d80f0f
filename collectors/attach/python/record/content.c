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

static uint8_t *put_hashes(uint8_t *at, const uint64_t *hashes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            *at++ = (uint8_t)(hashes[i] >> 8 * k);
    return at;
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
    if (both) {
        uint8_t *files = put_hashes(both, hashes, n);
        if (w->n_files == n)
            put_hashes(files, w->files, n);
        else /* they were not made one by one */
            memset(files, 0, 8 * (size_t)n);
        record_order_block(PP_CONTENT_MAGIC, 16 * (size_t)n, &head, both);
    }
    free(both);
    w->n_files = 0;
}
