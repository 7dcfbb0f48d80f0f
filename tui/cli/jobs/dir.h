/* tui/cli/jobs/dir.h: the new directory that a command puts recordings and logs of a job's runs into. */
#ifndef PP_TUI_CLI_JOBS_DIR_H
#define PP_TUI_CLI_JOBS_DIR_H

#include <pipeprobe/status.h>

#include <stddef.h>

/* Its name: output, or pipeprobe-COMMAND-DATE-TIME; not made yet. PP_E_EXISTS, ... where it cannot be. */
pp_status job_dir_name(const char *output, const char *command, char *dir, size_t size, struct pp_err *err);
/* Makes it; path: absolute, since the job may change its directory. */
pp_status job_dir_make(const char *dir, char *path, size_t size, struct pp_err *err);

#endif
