/* tui/cli/run/run_top.h: `pipeprobe run --top`: the dashboard on the run's own file, as a process of its own,
 * so that drawing shares no lock and no CPU account with what is measured. */
#ifndef PP_TUI_CLI_RUN_RUN_TOP_H
#define PP_TUI_CLI_RUN_RUN_TOP_H

#include <pipeprobe/status.h>

#include <sys/types.h>

/* Starts `pipeprobe top PATH` on this terminal. *pid is 0 after a failure. */
pp_status run_top_start(const char *path, pid_t *pid, struct pp_err *err);
/* Whether it has ended; *pid is then 0. Does not wait. */
int run_top_has_gone(pid_t *pid);
/* Waits until the user has left the dashboard; the terminal is then ours again. pid 0: nothing. */
void run_top_wait(pid_t pid);

#endif
