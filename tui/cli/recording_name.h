/* cli/recording_name.h: what a new recording's file is called. */
#ifndef PP_CLI_RECORDING_NAME_H
#define PP_CLI_RECORDING_NAME_H

#include <pipeprobe/status.h>

#include <stddef.h>

/* output, or pipeprobe-DATE-TIME.sqlite when it is NULL. Refuses a file that exists (unless force) and a directory that cannot be written,
 * before anything slow happens. size: at least 4096. */
pp_status pp_recording_name(const char *output, int force, char *path, size_t size, struct pp_err *err);

#endif
