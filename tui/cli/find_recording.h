/* cli/find_recording.h: which recording a person means who names a process or a directory instead of a file.
 */
#ifndef PP_CLI_FIND_RECORDING_H
#define PP_CLI_FIND_RECORDING_H

#include <pipeprobe/status.h>

#include <stddef.h>

/* what: a file (taken as it is, there or not), a directory (its newest recording; when several are being
 * written just now, PP_E_USAGE names them), or the number of a process (the recording it has open, or records
 * into through its rings), unless a file has that name. size: at least 4096. PP_E_NOT_FOUND when there is
 * none, PP_E_ACCESS when the process is another user's. */
pp_status pp_find_recording(const char *what, char *path, size_t size, struct pp_err *err);

#endif
