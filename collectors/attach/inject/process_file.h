/* collectors/attach/inject/process_file.h: what an injected process says about itself, besides its spans: one
 * small mapped file "process-PID" in the session directory, made at its first NVTX call. It outlives the
 * process, however that ends; `pipeprobe exec` reads it at the end.
 *
 * A range that was refused is counted here, as a full ring counts its own drops. */
#ifndef PP_COLLECTORS_ATTACH_INJECT_PROCESS_FILE_H
#define PP_COLLECTORS_ATTACH_INJECT_PROCESS_FILE_H

#include <pipeprobe/ring.h>

#include <stdint.h>

#define PP_PROCESS_MAGIC "PPPROCS"

struct pp_process_file {
    char magic[8];
    int64_t pid, parent_pid;
    /* written with relaxed atomics by any thread of the process */
    uint64_t clients;    /* shared objects that called the entry point */
    uint64_t too_deep;   /* ranges below the deepest level kept per thread */
    uint64_t too_many;   /* start/end ranges beyond the number that can be open at once */
    uint64_t unnamed;    /* events whose name found no room in the table of names */
    uint64_t unthreaded; /* events of threads that could not be given a ring */
    uint64_t reentrant;  /* events from inside our own calls (a signal handler, an annotated allocator) */
    uint32_t chained;    /* 1: another tool is attached behind us; 2: it was asked for and could not be */
    char command[4096 - 76];
};

_Static_assert(sizeof(struct pp_process_file) == 4096, "one page");

#endif
