/* stacks/threads.h: the collector of what a job's native threads do. Loaders in C++ (tf.data, DALI, codecs)
 * make batches in threads that no Python and no span tells of; the kernel says of each whether it computes,
 * waits for a CPU, or which call it is blocked in. A thread of its own looks PP_THREADS_HZ times a second, at
 * a random moment of each period, from outside: /proc/PID/task/TID/schedstat, and of those that ran since
 * also /proc/PID/task/TID/syscall, which needs the rights of a debugger; without them a blocked thread is in
 * "another call".
 *
 * Looked at are the processes that take batches, and their children, as long as no other process makes any
 * (struct pp_collect_opts, .takers): workers that record themselves need no look. */
#pragma once

#include "collectors/attach/python_runtime.h"
#include "collectors/collector.h"
#include "collectors/store/rows.h"

#define PP_THREADS_HZ 20

extern const struct pp_collector pp_collector_threads;

/* What a thread does that is blocked in this call. syscall: the text of /proc/PID/task/TID/syscall
 * ("running", "-1 SP PC", "NUMBER ARG0 ..."). ran_ns: since it ran the last time. The file behind the first
 * argument is told by /proc/PID/fd. runtime: of the Python in it, in which the interpreter's lock is. */
enum pp_thread_does pp_thread_blocked_in(int64_t pid, const char *syscall, uint64_t ran_ns,
                                         const struct pp_python_runtime *runtime);
