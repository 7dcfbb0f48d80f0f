/* stacks/frames.h: the Python stack of one thread of a process that goes on running. One process_vm_readv
 * copies its parts in their order: the head of the stack, the innermost frames, the same again, the head
 * again, the rest. Each of the two pictures is walked from its head; what they have in common, from the
 * outermost frame on, was there all the while and is the sample. A single picture is torn in code of many
 * short calls: 8 to 20 of 100 had a caller and a callee that never met; of two, none in 318,000. */
#pragma once

#include "collectors/stacks/code.h"

#define PP_FRAMES_MAX 256u         /* of a stack; a deeper one is not read */
#define PP_FRAME_BYTES 416u        /* of a frame that are looked at: its head and its first locals */
#define PP_CHUNK_BYTES (64u << 10) /* of the innermost part of a thread's stack */

#define PP_CFRAMES 3

/* What is remembered of a thread between samples: where its parts were the last time. */
struct pp_thread_stack {
    uint64_t at;                 /* its state */
    uint64_t cframe[PP_CFRAMES]; /* the newest first: each call from C to Python has one, at few places */
    uint64_t chunk, top;
    uint32_t room;  /* of the chunk, in bytes */
    uint64_t *heap; /* of heap frames: all of the last time, the innermost first; PP_FRAMES_MAX */
    uint32_t heap_n;
};

struct pp_frame {
    uint32_t function; /* of its code; 0: the caller had no number for it */
    uint32_t line;     /* 0: none */
    uint64_t first;    /* its first argument; 0: none */
    uint64_t member;   /* what a Compose is running: a local of its code; 0: none */
};

/* Room for one reading at a time; large. To be freed with free(). */
struct pp_frames_room;
struct pp_frames_room *pp_frames_room_new(void);

enum pp_frames_result {
    PP_FRAMES_READ,
    PP_FRAMES_CUT,  /* read, without innermost frames, which were moving */
    PP_FRAMES_NONE, /* it runs no Python */
    PP_FRAMES_TORN, /* nothing that fits together */
    PP_FRAMES_GONE, /* its memory is not there, or not to be read (errno) */
};

/* The frames, the innermost first; *n of them. */
enum pp_frames_result pp_frames_read(struct pp_frames_room *room, struct pp_codes *codes,
                                     struct pp_thread_stack *thread, uint64_t now_ns,
                                     struct pp_frame frames[PP_FRAMES_MAX], unsigned *n);

/* ---- the interpreter's threads ----
 *
 * The Python of a running process, opened for its stacks: its layout, which is checked,
 * and its threads. Nothing in the process is changed, and it is not stopped. */

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
 * not to be read (errno); PP_E_NOT_FOUND: it is starting or ending, ask again. The struct must not move. */
pp_status pp_interpreter_open(struct pp_interpreter *p, struct pp_memory memory, uint64_t runtime,
                              unsigned minor, pp_code_new_fn *on_new, void *ctx, struct pp_err *err);
/* Looks for its threads anew, in all of its interpreters: how many. */
unsigned pp_interpreter_threads(struct pp_interpreter *p);
/* 1: the stack of one of its threads is of this layout: from frame to frame to the outermost one, each with a
 * code object and an instruction inside its bytecode. 0: none is. -1: it cannot be told now, no thread runs
 * Python. */
int pp_interpreter_check(struct pp_interpreter *p, struct pp_frames_room *room, uint64_t now_ns);
void pp_interpreter_close(struct pp_interpreter *p);
