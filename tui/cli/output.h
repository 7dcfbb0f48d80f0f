/* cli/output.h: where a document goes: -o and its like. A file appears under its name only when it is
 * complete; what is no regular file (/dev/stdout, a pipe) is written to as it is; "-" and no name at all are
 * standard output. */
#pragma once

#include "probe/base/std.h"
#include <pipeprobe/status.h>
#include <sys/stat.h>

/* NULL or "-". */
int pp_output_is_stdout(const char *path);

/* Before anything is measured: PP_E_EXISTS when there is such a file already and force is 0; PP_E_USAGE when
 * it is a directory. NULL is fine. */
pp_status pp_output_check(const char *path, int force, struct pp_err *err);

/* What write puts into a stream (0: all of it): into standard output, or complete into the file at path. what
 * names it in the sentence: "cannot write the report to standard output". */
pp_status pp_output_write(const char *path, const char *what, int (*write)(void *ctx, FILE *out), void *ctx,
                          struct pp_err *err);

/* After it: "page.html: SENTENCE" on standard output, where a file was written and nothing else is said. */
void pp_output_say(const char *path, const char *sentence);

/* Whether path is this file, st_ino 0 meaning that there is none. */
int pp_output_is(const struct stat *file, const char *path);
