/* collectors/attach/watch.h: a running job as /proc shows it, without touching it: the process, its children,
 * and what each of them used. Nothing is written, stopped or loaded. Texts come from other programs: whoever
 * shows them makes them safe for a terminal. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* What /proc says of a process now. Totals since it started; NAN: not to be had. */
struct pp_watch_look {
    int64_t pid, parent;
    uint64_t started; /* clock ticks since boot; with the pid it names one process for good */
    char state;       /* R, S, D, T, Z, ... (proc(5)) */
    char name[32];    /* of its program, as the kernel has it */
    char wait[48];    /* the kernel function it sleeps in; "": it runs, or it is not told */
    double cpu_s;     /* of all its threads, ended ones too */
    double delay_s;   /* its threads were ready and had no CPU; of the threads there are now */
    double read_bytes,
        storage_bytes; /* by read calls; of those, what came from storage and not from memory */
};

/* 0: there is no such process (any more). */
int pp_watch_look(int64_t pid, struct pp_watch_look *out);
/* From the text of /proc/PID/stat: pid, parent, started, state, name and cpu_s. 0: it is no such text. */
int pp_watch_parse_stat(const char *text, double ticks_per_s, struct pp_watch_look *out);

/* The processes whose parent is one of the n given, at most max of them: how many. */
size_t pp_watch_children(const int64_t *parents, size_t n, int64_t *out, size_t max);

/* The command line into buf, each word ending with NUL; how many bytes, 0: there is none. */
size_t pp_watch_command(int64_t pid, char *buf, size_t size);

/* What a child of a Python process is, by its program's name and its command line (n bytes), given that of
 * the process it came from. */
enum pp_watch_kind {
    PP_WATCH_WORKER, /* as torch and multiprocessing start them */
    PP_WATCH_SERVER, /* forks the workers: theirs is another level of children */
    PP_WATCH_HELPER, /* multiprocessing's own */
    PP_WATCH_OTHER
};
enum pp_watch_kind pp_watch_kind_of(const struct pp_watch_look *look, const char *command, size_t n,
                                    const char *parents, size_t parents_n);

/* PP_E_NOT_FOUND: no such process. PP_E_ACCESS: somebody else's. PP_E_SYSTEM: it has ended. PP_E_USAGE: it is
 * no Python; where a child of it is one, the sentence names that. */
pp_status pp_watch_check(int64_t pid, struct pp_err *err);
