/* base/guard.h: mapped files that are cut under their process.
 *
 * A session's files are mapped and shared, so that a killed process's spans can be recovered from them. Files
 * cannot be sealed against truncation (a memfd can, and dies with the last process that holds it). When
 * another program cuts one (a tidy-up script, `rsync --inplace`, `logrotate` with copytruncate), the next
 * store into it raises SIGBUS, which would end the program that is recorded. The guard's handler puts empty
 * memory of the process in place of the pages that are gone: what the ring held is lost and counted, and the
 * program goes on.
 *
 * Any other SIGBUS goes to the handler before, or ends the process as it would have. The handler is
 * installed with the first mapping and taken away with the last one; a program that installs its own later
 * replaces it, and is unguarded. */
#pragma once

#include "probe/base/std.h"

/* Any thread. at: as mmap returned it. More than there is room for are left unguarded. */
void pp_guard_add(void *at, size_t bytes);
void pp_guard_remove(void *at); /* before munmap; one that was not added is fine */

/* Whether the mapping that at lies in was cut, as far as this process has met it. */
int pp_guard_was_cut(const void *at);
/* Mappings of this process that were cut so far. */
uint64_t pp_guard_cuts(void);

/* Around a fork. */
void pp_guard_lock(void);
void pp_guard_unlock(void);
