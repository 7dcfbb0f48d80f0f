/* tui/cli/tune/tune_group.h: the processes of a run: its process group, whose leader is `pipeprobe exec`, and
 * those that have left the group (torchrun starts its ranks in sessions of their own) and have the run's
 * variable still in their environment. Read from /proc; a process is signalled only while it is one of them.
 */
#ifndef PP_TUI_CLI_TUNE_TUNE_GROUP_H
#define PP_TUI_CLI_TUNE_TUNE_GROUP_H

#include <sys/types.h>

struct tune_group {
    pid_t leader;
    const char
        *mark; /* "NAME=value", as in the environment, where a line of a longer value may end with it */
};

/* A child of the leader, which has one; 0: none. */
pid_t tune_group_child(const struct tune_group *g);
/* In the group itself. */
int tune_group_has(const struct tune_group *g, pid_t pid);
/* To all but the leader; sig 0: to none. Returns how many there were. */
int tune_group_signal(const struct tune_group *g, int sig);

#endif
