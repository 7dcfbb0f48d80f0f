/* store/claim.h: the name of a new recording. Several may want it at the same moment, with and without
 * --force: exactly one gets it, and nothing is removed by another. Private to collectors/store. */
#ifndef PP_STORE_CLAIM_H
#define PP_STORE_CLAIM_H

#include "collectors/store/writer.h"

/* Makes an empty file of opts->path, for SQLite a new database, and locks it (flock, which ends with the
 * process and is none of SQLite's locks). What was there under that name is removed, with its log and its
 * ring files, only while its own lock is held: with opts->force any recording, else an empty file, which a
 * start that was killed left. *lock is to be closed when the recording has ended. PP_E_EXISTS: a recording is
 * there, or another process records there. */
pp_status pp_store_claim(const struct pp_store_opts *opts, int *lock, struct pp_err *err);
/* Removes what was made and gives the lock back; lock may be -1. */
void pp_store_unclaim(const char *path, int lock);

#endif
