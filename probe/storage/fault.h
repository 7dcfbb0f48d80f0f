/* storage/fault.h: a storage that wraps another one and does something to the reads made for samples: blocks
 * them, fails them, says that they missed the page cache. What is done is decided by the read's context;
 * reads without one (indexes, headers, streams) and all other calls pass through. */
#pragma once

#include "probe/storage/storage.h"

/* Any thread, also several at once. */
struct pp_read_faults {
    void *ctx;
    /* Before the bytes are asked for. A failure, with its sentence, is the read's. */
    pp_status (*before)(void *ctx, const struct pp_read_context *c, struct pp_err *err);
    /* Once they are there; may change cache_hit_bytes. */
    void (*after)(void *ctx, const struct pp_read_context *c, struct pp_read *r);
};

/* Takes inner over: it is detached with *out, which is inner itself after a failure. f is borrowed; NULL:
 * *out is inner. */
pp_status pp_storage_wrap_faults(struct pp_storage *inner, const struct pp_read_faults *f,
                                 struct pp_storage **out, struct pp_err *err);
