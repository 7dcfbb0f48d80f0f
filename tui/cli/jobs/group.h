/* tui/cli/jobs/group.h: the processes of a job that a command started in a session of its own: the process
 * group of its leader (again.h), and those that have left the group (torchrun starts its ranks in sessions of
 * their own) and have the run's variable still in their environment. Read from /proc; a process is signalled
 * only while it is one of them. */
#ifndef PP_TUI_CLI_JOBS_GROUP_H
#define PP_TUI_CLI_JOBS_GROUP_H

#include <sys/types.h>

struct job_group {
    pid_t leader;
    const char
        *mark; /* "NAME=value", as in the environment, where a line of a longer value may end with it */
};

/* Of /proc/PID/stat; the name in parentheses may hold anything. 0: it is gone, or a zombie. */
int job_stat(pid_t pid, int *parent, int *group);
/* Each living process but the leader: how many there are; each gets sig, unless that is 0. */
int job_group_visit(const struct job_group *g, int sig);
/* The same for those that are not this program itself: what the leader has beside the job. */
int job_group_visit_others(const struct job_group *g, int sig);
/* A process of the group that the leader started; 0: none. */
pid_t job_group_child(const struct job_group *g);

#endif
