/* base/err.h: filling a struct pp_err. Any thread; err may be NULL. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

void pp_err_clear(struct pp_err *err);

/* Writes the sentence (what, on what, why, what to try) and returns code, so that callers write `return
 * pp_fail(...)`. A text longer than the buffer is cut and ends in "...". */
pp_status pp_fail(struct pp_err *err, pp_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a status derived from errno_value (ENOENT -> PP_E_NOT_FOUND, ENOSPC -> PP_E_NO_SPACE,
 * EIO/ESTALE -> PP_E_TRANSIENT, ...) and ": strerror" appended. */
pp_status pp_fail_errno(struct pp_err *err, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* PP_E_UNSUPPORTED: "WHAT: needs N MiB, limit M MiB; raise it with --max-sample-memory". */
pp_status pp_fail_sample_memory(struct pp_err *err, const char *what, uint64_t need_bytes,
                                uint64_t limit_bytes);
