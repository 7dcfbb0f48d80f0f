/* import/bytes.h: the bytes of a trace, one after the other, plain or gzip (told by content), in a buffer of
 * fixed size: a trace of gigabytes takes as much memory as one of kilobytes. One thread at a time. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_bytes;

/* How the bytes ended. A killed job leaves CUT: a gzip stream without its end. */
enum pp_bytes_end { PP_BYTES_MORE, PP_BYTES_WHOLE, PP_BYTES_CUT, PP_BYTES_DAMAGED, PP_BYTES_TOO_MANY };

/* What is no regular file is refused: PP_E_NOT_FOUND, PP_E_UNSUPPORTED, PP_E_EMPTY. */
pp_status pp_bytes_open(const char *path, struct pp_bytes **out, struct pp_err *err);
void pp_bytes_close(struct pp_bytes *b); /* NULL is fine */

/* The next run of bytes; *n 0: there is none any more, and pp_bytes_ended says why. Valid until the next
 * call. */
const uint8_t *pp_bytes_next(struct pp_bytes *b, size_t *n);
/* *why: of DAMAGED and TOO_MANY, in words; else NULL. */
enum pp_bytes_end pp_bytes_ended(const struct pp_bytes *b, const char **why);
