/* stacks/interpreter.h: the Python of a running process, opened for its stacks: its layout, which is checked,
 * and its threads. Nothing in the process is changed, and it is not stopped. */
#ifndef PP_STACKS_INTERPRETER_H
#define PP_STACKS_INTERPRETER_H

#include "collectors/stacks/frames.h"

#define PP_INTERPRETER_THREADS 64 /* of a process that are followed */

struct pp_interpreter_thread {
    struct pp_thread_stack stack;
    uint64_t id;     /* pthread_t */
    uint64_t native; /* of the kernel, as the process sees it; 0: its Python does not say (up to 3.10) */
    int is_main;
};

struct pp_interpreter {
    struct pp_memory memory;
    struct pp_layout layout;
    struct pp_codes codes;
    uint64_t runtime;
    struct pp_interpreter_thread thread[PP_INTERPRETER_THREADS];
    unsigned threads;
};

/* Reads with memory what begins at runtime; minor as the name of its file tells it, 0: not. on_new and ctx as
 * in struct pp_codes. PP_E_UNSUPPORTED: a sentence that begins with "Python 3.N"; PP_E_ACCESS: its memory is
 * not to be read (errno); PP_E_NOT_FOUND: it is starting or ending, ask again. The structure must not move.
 */
pp_status pp_interpreter_open(struct pp_interpreter *p, struct pp_memory memory, uint64_t runtime,
                              unsigned minor, pp_code_new_fn *on_new, void *ctx, struct pp_err *err);
/* Looks for its threads anew, in all of its interpreters: how many. */
unsigned pp_interpreter_threads(struct pp_interpreter *p);
/* 1: the stack of one of its threads is of this layout: from frame to frame to the outermost one, each with a
 * code object and an instruction inside its bytecode. 0: none is. -1: it cannot be told now, no thread runs
 * Python. */
int pp_interpreter_check(struct pp_interpreter *p, struct pp_frames_room *room, uint64_t now_ns);
void pp_interpreter_close(struct pp_interpreter *p);

#endif
