/* columns/trial.h: a first try of what parses a stranger's file with somebody else's library, in a child that
 * may be killed: by a signal of the user, after a minute of CPU time, or where it asks for more than 1 GiB.
 * What the child survives is then done in this process.
 *
 * Measured with libhdf5 1.10.8 on a file of 64 columns: open 9 ms, with a trial before it 12 ms; a row
 * through a pipe from a child took 3 times as long as in this process (110 us against 35), so that rows are
 * read here. A refusal of files of other owners would stop what clusters do: their data sets belong to
 * others. */
#ifndef PP_COLUMNS_TRIAL_H
#define PP_COLUMNS_TRIAL_H

#include <pipeprobe/status.h>

/* PP_OK: attempt, in a child, returned 0, or there could be no child. PP_E_CORRUPT: it returned another
 * number or did not end well; the sentence names both. PP_E_INTERRUPTED. attempt runs with the locks
 * that the caller holds and without other threads. */
pp_status pp_trial(int (*attempt)(void *ctx), void *ctx, const char *library, const char *path,
                   struct pp_err *err);

#endif
