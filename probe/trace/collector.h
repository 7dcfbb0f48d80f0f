/* trace/collector.h: starting `pipeprobe drain` beside a program that records through the public API. It
 * inherits the session's lock, so that the session stays locked for as long as either of them lives, detaches
 * itself, and says in one line when it is ready. */
#ifndef PP_TRACE_COLLECTOR_H
#define PP_TRACE_COLLECTOR_H

#include <pipeprobe/status.h>

#include <stddef.h>

/* program NULL: $PIPEPROBE_COLLECTOR, "pipeprobe" in PATH, the installed one. path: absolute, of the run.
 * Waits until the collector is ready (10 s at most). On failure err says why; nothing is left running. */
pp_status pp_collector_start(const char *program, const char *path, int lock_fd, struct pp_err *err);

#define PP_COLLECTOR_READY "ready\n" /* what it writes, or else a sentence that says why it cannot */
enum { PP_COLLECTOR_LOCK_FD = 3, PP_COLLECTOR_READY_FD = 4 };

#endif
