/* collectors/attach/session_files.h: what recorded processes leave about themselves in the session directory.
 * The collector of loaders reads while they run (loaders.c); `pipeprobe exec` takes all at the end.
 *
 * Any process of the program can write there, so nothing in these files is trusted: an ordinary file of the
 * right size whose name is the process id in it, texts that end, a limited number of them. A file that is
 * none of that is removed and counted. */
#pragma once

#include "collectors/attach/loaders_file.h"
#include "collectors/attach/process_file.h"
#include "collectors/attach/rank_session.h"
#include "collectors/collector.h"
#include "probe/base/err.h"

#define PP_SESSION_FILES_MAX 16384 /* of a kind that are read; as many as threads in a session */

struct pp_session_taken {
    unsigned taken;    /* were handed over */
    unsigned unsound;  /* are not what a recorded process writes */
    unsigned too_many; /* were not looked at */
};

/* f is the caller's until the function returns; texts in it end. n_loaders is at most PP_LOADERS_MAX. */
typedef void pp_process_file_fn(void *ctx, const struct pp_process_file *f);
typedef void pp_loaders_file_fn(void *ctx, const struct pp_loaders_file *f);
typedef void pp_rank_file_fn(void *ctx, const struct pp_rank_file *f);

/* What becomes of files that were read; of those that stay the processes may be writing. */
enum pp_session_files { PP_FILES_GO, PP_FILES_STAY };

/* Each hands every sound file of its kind to fn (NULL: to none) and removes all of its kind, unless they are
 * to stay. */
struct pp_session_taken pp_process_files_take(const char *dir, pp_process_file_fn *fn, void *ctx);
struct pp_session_taken pp_loaders_files_take(const char *dir, enum pp_session_files then,
                                              pp_loaders_file_fn *fn, void *ctx);
struct pp_session_taken pp_rank_files_take(const char *dir, pp_rank_file_fn *fn, void *ctx);

/* A mapped file of so many zero bytes, which the job's processes are going to fill while it is read here:
 * DIR/NAME, its name into path. One that a killed recording left is replaced. what: "requests", for the
 * error. */
pp_status pp_session_ring_make(char path[PATH_MAX], const char *dir, const char *name, size_t size,
                               const char *what, void **out, struct pp_err *err);
void pp_session_ring_remove(const char *path, void *ring, size_t size); /* unmaps it, too */

/* The process id that a name of this prefix ends in; -1: it ends in something else. */
long long pp_session_file_pid(const char *name, const char *prefix);

/* The collectors of what is in it; what each records stands in its file. */
extern const struct pp_collector pp_collector_activity, pp_collector_loaders, pp_collector_job_requests;
