/* stacks/process.h: a process of the job whose stacks are read: found, opened once its Python runs, refused
 * for good where it cannot be read, with the reason. For the thread that samples. */
#pragma once

#include "collectors/stacks/frames.h"
#include "collectors/stacks/members.h"

#define PP_PROCESS_STATE_FILES 512 /* that may be open, of all processes */

enum pp_process_state { PP_PROCESS_STARTING, PP_PROCESS_OPEN, PP_PROCESS_REFUSED };

struct pp_stack_process {
    int64_t pid;
    enum pp_process_state state;
    unsigned tries;     /* to open it */
    uint64_t looked_ns; /* for it, and for its threads, the last time */
    char why_not[200];  /* "Python 3.7 is too old ..."; "": there is no Python in it */
    struct pp_interpreter python;
    struct pp_members members;
    struct pp_process_thread { /* as those of python */
        uint64_t at;
        int64_t tid;     /* 0: not known */
        int stat;        /* /proc/PID/task/TID/stat; -1: not open */
        int runs;        /* /proc/PID/task/TID/schedstat; -1: not open */
        uint64_t n_runs; /* how often it had begun to run; 0: not known */
        uint32_t stack;  /* of its last sample, the frame of the tree; 0: none */
        uint32_t flags;
        char state;
        int is_helper; /* of multiprocessing: it hands batches over */
    } thread[PP_INTERPRETER_THREADS];
    unsigned threads;
    uint64_t cpu_ns;      /* of all its threads, at the last sample */
    uint64_t children_ns; /* when its children were last looked for */
    int has_children;     /* it has had some */
};

/* Those of one recording, and what they share. */
struct pp_stack_processes {
    struct pp_stack_tree *tree;
    struct pp_frames_room *room;
    const char *session_dir;                  /* where members are noted; NULL: nowhere */
    unsigned state_files;                     /* open */
    uint8_t is_helper[PP_TREE_FUNCTIONS + 1]; /* by the function's number: what such a thread runs */
    int id_offset; /* where a pthread_t has the kernel's number; -1: not known. pp_process_id_offset */
};

struct pp_stack_process *pp_process_new(int64_t pid);
void pp_process_free(struct pp_stack_processes *all, struct pp_stack_process *p);
/* Once in a while: opens it if it can be opened by now, looks for new threads and new members. 0: the process
 * has ended. */
int pp_process_look(struct pp_stack_processes *all, struct pp_stack_process *p, uint64_t now_ns);
/* What the kernel says of its thread i: 'R', 'S', ...; 0: not known. */
char pp_process_thread_state(const struct pp_stack_process *p, unsigned i);
/* 1: none of its threads has run since the last call. Before the next one, for the same moment: */
int pp_process_is_still(struct pp_stack_process *p);
/* 1: thread i has not run since the last call, and did not run then: its stack is what it was. */
int pp_process_thread_is_still(struct pp_stack_process *p, unsigned i);
/* Reads the stack of thread i: state, flags and stack of p->thread[i] are those of now. */
enum pp_frames_result pp_process_sample(struct pp_stack_processes *all, struct pp_stack_process *p,
                                        unsigned i);
/* Children of its main thread into pid, at most max: how many. */
size_t pp_process_children(int64_t pid, int64_t *child, size_t max);
/* Of this program's C library, which is that of the job where the job is not in a container of its own: what
 * it gives is checked against /proc. */
int pp_process_id_offset(void);

/* How often something of a job is looked at from outside: as often as was asked for, or less,
 * so that looking takes a share of the machine's CPU at most. For the thread that looks. */

#define PP_STACKS_SHARE 0.001

struct pp_pace {
    double asked_ns, period_ns; /* between looks: as asked, now */
    double most;                /* CPU seconds a second */
    uint64_t measured_ns, measured_cpu_ns;
};

/* Of the thread that looks. Where the job uses all CPUs, a thread that wakes may wait for one that is free:
 * then a worker sleeps, and more looks would be at its sleep than are. From Linux 6.12 on, one that asks for
 * short turns has the next one at once (sched(7), sched_setattr(2)); before, this changes nothing. */
void pp_take_short_turns(void);
/* Takes short turns. */
struct pp_pace pp_pace_begin(double hz, double share, uint64_t now_ns);
/* After a look; cpu_ns: what the thread has used since it began. */
void pp_pace_adapt(struct pp_pace *p, uint64_t now_ns, uint64_t cpu_ns);
