/* stacks/stacks.h: the collector of Python stacks: which line the job's threads are in. A thread of its own
 * wakes once a period, at a random moment of it, and reads the stack of every Python thread of the job's
 * processes from outside: they are not stopped, nothing is put into them. The rows are written once a second,
 * by the thread that polls.
 *
 * The rate is the one that was asked for, or less: reading takes PP_STACKS_SHARE (pace.h) of the
 * machine's CPU at most. */
#ifndef PP_STACKS_STACKS_H
#define PP_STACKS_STACKS_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_stacks;

#endif
