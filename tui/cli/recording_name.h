/* cli/recording_name.h: what a new recording's file is called. */
#pragma once

#include "collectors/record/recording.h"
#include "probe/ranks/identity.h"
#include <pipeprobe/status.h>

/* For a rank of several (rank says which, as its launcher does; NULL: there are none) a file of its own:
 * pipeprobe-JOB/rank0003.sqlite when output is NULL (JOB: or when the launcher began), JOB-rank0003.sqlite in
 * output when that is a directory or ends in a slash, NAME-rank0003.sqlite when output is NAME.sqlite; of a
 * restarted job rank0003-attempt1.
 *
 * Else output, or pipeprobe-DATE-TIME.sqlite when it is NULL, in output when that ends in a slash. What we
 * choose ourselves comes with -2, -3, ... where that is taken: another run of the same second may take it
 * yet, and pp_store_create says so (PP_E_EXISTS: ask again). Refuses an output that exists (unless force) and
 * a directory that cannot be written, before anything slow happens. size: at least PP_RECORDING_PATH. */
#define PP_RECORDING_NAME_TRIES 100
#define PP_RECORDING_PATH 4096
pp_status pp_recording_name(const char *output, const struct pp_identity *rank, int force, char *path,
                            size_t size, struct pp_err *err);

/* pp_recording_create under the name that pp_recording_name chose; where that was our own choice and has been
 * taken meanwhile, under the next one, which path is then. opts->store.path is set here. */
pp_status pp_recording_create_named(const char *output, const struct pp_identity *rank,
                                    const struct pp_recording_opts *opts, char path[PP_RECORDING_PATH],
                                    struct pp_recording **out, struct pp_err *err);

/* Which recording a person means who names a process or a directory instead of a file.
 */

/* what: a file (taken as it is, there or not), a directory (its newest recording; when several are being
 * written just now, PP_E_USAGE names them), or the number of a process (the recording it has open, or records
 * into through its rings), unless a file has that name. size: at least 4096. PP_E_NOT_FOUND when there is
 * none, PP_E_ACCESS when the process is another user's. */
pp_status pp_find_recording(const char *what, char *path, size_t size, struct pp_err *err);
/* The one that a command's operands name; of none the newest in this directory. PP_E_USAGE for several. */
pp_status pp_choose_recording(const char *const *operands, int n, char *path, size_t size,
                              struct pp_err *err);
