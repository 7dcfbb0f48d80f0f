/* tui/cli/tune/tune_group.h: the processes of a run: its process group, whose leader is `pipeprobe exec`.
 * Read from /proc, and a process is signalled only while it is still in the group. */
#ifndef PP_TUI_CLI_TUNE_TUNE_GROUP_H
#define PP_TUI_CLI_TUNE_TUNE_GROUP_H

#include <sys/types.h>

/* A child of the leader, which has one; 0: none. */
pid_t tune_group_child(pid_t leader);
int tune_group_has(pid_t leader, pid_t pid);
/* To all of the group but the leader. Returns how many there were. */
int tune_group_signal(pid_t leader, int sig);
/* The leader has ended: those that are left get SIGTERM, and SIGKILL two seconds later. */
void tune_group_finish(pid_t leader);

#endif
