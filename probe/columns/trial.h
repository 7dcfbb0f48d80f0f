/* columns/trial.h: a first try of what parses a stranger's file with somebody else's library, in a child that
 * may be killed: by a signal of the user, after a minute of CPU time, or where it asks for more than 1 GiB.
 * What the child survives is then done in this process.
 *
 * Rows are read in this process, by measurement (libhdf5 1.10.8, two busy CPUs): one of 150 kB took 95 us
 * here, and 227 us by a child through a pipe, which would be the loader's. Of 6,481 damaged files libhdf5
 * crashed on one and looped on one here, on none as it opened them: that ends or holds up the process. */
#pragma once

#include <pipeprobe/status.h>

/* PP_OK: attempt, in a child, returned 0, or there could be no child. PP_E_CORRUPT: it returned another
 * number or did not end well; the sentence names both. PP_E_INTERRUPTED. attempt runs with the locks
 * that the caller holds and without other threads. */
pp_status pp_trial(int (*attempt)(void *ctx), void *ctx, const char *library, const char *path,
                   struct pp_err *err);
