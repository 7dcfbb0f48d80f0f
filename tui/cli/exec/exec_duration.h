/* tui/cli/exec/exec_duration.h: ends a job after so much of its steady state (exec --duration), as Ctrl-C
 * would: SIGINT to the program and to the processes that made DataLoaders, SIGTERM and SIGKILL to the program
 * where that does not help. A thread of its own, for exec waits for the program's end meanwhile. */
#ifndef PP_TUI_CLI_EXEC_EXEC_DURATION_H
#define PP_TUI_CLI_EXEC_EXEC_DURATION_H

#include <stdint.h>
#include <sys/types.h>

struct exec_duration;

/* duration_ns: 0 for none. recording and session are borrowed until exec_duration_stop. NULL: none, or no
 * memory for it. */
struct exec_duration *exec_duration_start(const char *recording, const char *session, pid_t program,
                                          uint64_t duration_ns);
/* After the program's end; frees. Whether the job was ended so. NULL is 0. */
int exec_duration_stop(struct exec_duration *d);

#endif
