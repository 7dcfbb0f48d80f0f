/* collectors/attach/order_files.h: takes the order files of a session. */
#pragma once

#include "collectors/attach/order_file.h"
#include "collectors/attach/session_files.h"

/* A block of any kind, as its magic says. list has block->bytes bytes, its texts end in them, and is the
 * caller's until the function returns. */
typedef void pp_order_block_fn(void *ctx, int64_t pid, const struct pp_order_block *block,
                               const uint8_t *list);
/* Hands each sound block to fn (NULL: to none) and removes all files of the kind, unless they are to stay.
 * taken: files; unsound: those that are no ordinary file or end in a damaged block. */
struct pp_session_taken pp_order_files_take(const char *dir, enum pp_session_files then,
                                            pp_order_block_fn *fn, void *ctx);
