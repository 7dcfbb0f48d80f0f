/* tui/cli/jobs/again.h: a process that a command starts: pipeprobe itself again, or a job. The words of its
 * command line are gathered, then it is started, and waited for.
 *
 * It has the signals as pipeprobe was started with them: none is blocked, and what we ignore for ourselves
 * (SIGXFSZ, SIGPIPE) is not ignored by it. */
#pragma once

#include "probe/base/std.h"
#include <pipeprobe/status.h>
#include <sys/types.h>

enum { AGAIN_NULL = -1 }; /* /dev/null for a standard stream */
enum again_group {
    AGAIN_WITH_US,    /* Ctrl-C reaches it too */
    AGAIN_OWN_GROUP,  /* Ctrl-C is not for it */
    AGAIN_OWN_SESSION /* nor anything else of the terminal; it gets SIGTERM when we end */
};

struct again {
    const char *program;      /* looked for in PATH; NULL: pipeprobe itself */
    char *const *environment; /* NULL: ours */
    int in, out, errors;      /* its standard streams: a descriptor, AGAIN_NULL, or 0 for ours */
    enum again_group group;
    const char **word; /* filled by again_add; only pointers are kept */
    size_t n, room;
    int failed; /* an errno value: of gathering the words, or the caller's own: again_start returns it */
};

/* Words behind those that are there, the last argument being NULL. The first one names the program. */
void again_add(struct again *a, ...) __attribute__((sentinel));
void again_add_all(struct again *a, char *const *words, size_t n);
/* Starts it and forgets the words. 0, or an errno value with *pid 0. */
int again_start(struct again *a, pid_t *pid);

/* Until it has ended: its wait status, or -1 with errno. */
int again_wait(pid_t pid);
/* 1: it has ended, *status (may be NULL) is its wait status and *pid 0. Does not wait. */
int again_has_ended(pid_t *pid, int *status);
/* Its exit code, or 128 and its signal as a shell has it. */
int again_code(int status);
/* The last line of the file at path that says something, without its end. 0: none, and line is "". */
int again_last_line(const char *path, char *line, size_t size);

/* ---- the directory of a job's runs ----
 *
 * The new directory that a command puts recordings and logs of a job's runs into. */

/* Its name: output, or pipeprobe-COMMAND-DATE-TIME; not made yet. PP_E_EXISTS, ... where it cannot be. */
pp_status job_dir_name(const char *output, const char *command, char *dir, size_t size, struct pp_err *err);
/* Makes it; path: absolute, since the job may change its directory. */
pp_status job_dir_make(const char *dir, char *path, size_t size, struct pp_err *err);

/* ---- the processes of a job ----
 *
 * The processes of a job that a command started in a session of its own: the process
 * group of its leader (again.h), and those that have left the group (torchrun starts its ranks in sessions of
 * their own) and have the run's variable still in their environment. Read from /proc; a process is signalled
 * only while it is one of them. */

struct job_group {
    pid_t leader;
    const char *mark; /* "NAME=value", as in the environment; a line of a longer value may end with it */
};

/* Of /proc/PID/stat; the name in parentheses may hold anything. 0: it is gone, or a zombie. One whose first
 * thread alone has ended is a zombie in its state, and still holds its files and locks: it counts as there
 * until the others ended. */
int job_stat(pid_t pid, int *parent, int *group);
enum job_visited {
    JOB_ALL,    /* each living process but the leader */
    JOB_OTHERS, /* of them those that are not this program itself: what the leader has beside the job */
    JOB_CHILD   /* those of the group, up to one that the leader started, which is *child (else 0) */
};
/* How many there are; each gets sig, unless that is 0. child: of JOB_CHILD, else NULL. */
int job_group_visit(const struct job_group *g, enum job_visited which, int sig, pid_t *child);
