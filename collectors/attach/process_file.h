/* collectors/attach/process_file.h: what a recorded process says about itself, besides its spans: one small
 * mapped file "process-PID" in the session directory, made at its first NVTX call or by the Python hooks. It
 * outlives the process, however that ends; `pipeprobe exec` reads it at the end.
 *
 * A range that was refused is counted here, as a full ring counts its own drops. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/ring.h>
#include <sys/types.h>

#define PP_PROCESS_MAGIC "PPPROCT"

enum {
    PP_PROCESS_HOOKED = 1, /* an interpreter with our hooks */
    PP_PROCESS_LOADER = 2  /* it has also imported PyTorch's DataLoader */
};

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
    uint32_t python;     /* PP_PROCESS_HOOKED, PP_PROCESS_LOADER; 0: no interpreter, or one without hooks */
    char note[256];      /* the Python hooks: why they are off, or what they left out; "" for neither */
    char ended[256];   /* the exception that ended the interpreter: "FIRST LINE || LAST LINE || A WORKER THAT
                          DIED" */
    char versions[96]; /* of its Python and torch: "Python 3.11.2, torch 2.4.1"; "" before its first batch */
    char data[256];    /* a file or directory that its first DataLoader reads, absolute; "": not known */
    char seen[32];     /* another kind of loader, imported when the interpreter ended: "grain"; "": none */
    uint32_t own_loop; /* it takes batches that its own threads and processes make, and no DataLoader */
    char mixed[256];   /* of its loaders, what a report mixes: a sentence; "": nothing */
    char command[4096 - 592 - 388 - 256];
};

_Static_assert(sizeof(struct pp_process_file) == 4096, "one page");

/* Maps the calling process's file in session_dir; NULL: it cannot be had. The mapping stays until the process
 * ends. A file that is there already is of the same pid, before an exec or by another library of this
 * process: its counts go on. */
struct pp_process_file *pp_process_file_map(const char *session_dir);

/* The descriptor that a recorded thread reads its run-queue delay from, kept
 * safe in a process that is not ours. One thread. */

struct pp_accounts {
    int fd; /* the thread's schedstat; -1: not to be had */
    dev_t dev;
    ino_t ino;
};

/* Opens that of the calling thread. */
void pp_accounts_open(struct pp_accounts *a);
/* A program may close descriptors it does not know and open its own: closes only the file that was opened. */
void pp_accounts_close(struct pp_accounts *a);
