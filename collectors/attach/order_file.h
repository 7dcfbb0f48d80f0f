/* collectors/attach/order_file.h: which samples a Python job's DataLoaders asked for, what became of their
 * batches, and why they came in that order: a file "order-PID" in the session directory, blocks one behind
 * the other, each with a head and what its magic says:
 *
 *     PP_ORDER_MAGIC    batches of one iteration that follow each other: a list (probe/base/sample_list.h)
 *     PP_USE_MAGIC      batches of one iteration that were taken one behind the other, of which the first
 *                       `samples` were trained on; flags: batches of all loaders that had been before the
 *                       first one. In the order in which they were taken. No more
 *     PP_FACT_MAGIC     of an iteration: a key and its value, two texts
 *     PP_STATE_MAGIC    state was saved, restored or set: struct pp_state_times, then PP_STATE_TEXTS texts.
 *                       loader: iterations begun; first_batch: taken last; flags: trained on so far. One that
 *                       ends may come once more, with its time
 *     PP_CONTENT_MAGIC  of the batch first_batch: 8 bytes per sample of its content, then as many of the files
 *                       read for it. loader: the process that takes the batch, which need not be this one
 *
 * A block lies within a window of PP_ORDER_BYTES; what a window has left is zeros. The process has the last
 * window mapped and brings the head of a block up to date with every batch, so that a kill loses nothing.
 * `pipeprobe exec` stores the blocks at the end.
 *
 * Whoever reads it from outside trusts nothing in it. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/ring.h> /* PP_ORDER_FILE_PREFIX */

#define PP_ORDER_MAGIC 0x4f425050u   /* "PPBO" */
#define PP_USE_MAGIC 0x55425050u     /* "PPBU" */
#define PP_FACT_MAGIC 0x46425050u    /* "PPBF" */
#define PP_STATE_MAGIC 0x53425050u   /* "PPBS" */
#define PP_CONTENT_MAGIC 0x43425050u /* "PPBC" */
enum {
    PP_ORDER_BYTES = 256 << 10, /* of a window, and so of a block at the most */
    PP_STATE_TEXTS = 5,         /* action, via, path, place, value; "": not known */
    PP_STATE_TEXT_MAX = 400,    /* bytes of one */
    PP_ORDER_ENDED = 1, /* flags: the sampler had no more behind these; else the epoch is incomplete */
};
#define PP_ORDER_FILE_BYTES (UINT64_C(256) << 20) /* of a process; what comes then is not written */

struct pp_order_block {
    uint32_t magic, bytes; /* bytes: of what is behind it */
    uint32_t loader, epoch, first_batch, batches;
    uint32_t samples, flags; /* samples 0: they have no numbers */
};

struct pp_state_times {
    uint64_t t_ns, dur_ns; /* UINT64_MAX: it has not ended */
};
