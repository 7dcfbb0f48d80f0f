/* collectors/attach/order_file.h: which samples a Python job's DataLoaders asked for: a file "order-PID" in
 * the session directory, blocks one behind the other, each of one iteration's batches that follow each other.
 * A block lies within a window of PP_ORDER_BYTES; what a window has left is zeros. The process that takes the
 * batches has the last window mapped and brings the head of its block up to date with every batch, so that a
 * kill loses nothing. `pipeprobe exec` stores the blocks at the end.
 *
 * Whoever reads it from outside trusts nothing in it. */
#ifndef PP_COLLECTORS_ATTACH_ORDER_FILE_H
#define PP_COLLECTORS_ATTACH_ORDER_FILE_H

#include <pipeprobe/ring.h> /* PP_ORDER_FILE_PREFIX */
#include <stdint.h>

#define PP_ORDER_MAGIC 0x4f425050u /* "PPBO" */
enum {
    PP_ORDER_BYTES = 256 << 10, /* of a window, and so of a block at the most */
    PP_ORDER_ENDED = 1, /* flags: the sampler had no more behind these; else the epoch is incomplete */
};
#define PP_ORDER_FILE_BYTES (UINT64_C(256) << 20) /* of a process; what comes then is not written */

struct pp_order_block {
    uint32_t magic, bytes; /* bytes: of the list behind it (probe/base/sample_list.h) */
    uint32_t loader, epoch, first_batch, batches;
    uint32_t samples, flags; /* samples 0: they have no numbers */
};

#endif
