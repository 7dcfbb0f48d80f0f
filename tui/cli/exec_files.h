/* tui/cli/exec_files.h: what the processes of a recorded program leave in its session directory beside
 * the rings: who they were and what they lost, which samples their loaders gave. They become rows of the
 * recording at its end, or, where exec was killed, when the recording is opened next; the files go. */
#pragma once

#include "collectors/store/writer.h"

enum { EXEC_UNHOOKED = 256 };

/* What was recorded, for the closing words. */
struct exec_totals {
    uint64_t spans, dropped, ringless; /* ringless: threads that could be given no ring */
    unsigned threads, processes;       /* with spans or not: with a ring, an NVTX call, or our hooks */
    int64_t *pids;                     /* of those with a ring, rising; n_pids of them */
    unsigned n_pids;
    char seen[32];            /* another kind of loader that a process had imported: "grain"; "": none */
    int own_loop;             /* a process took batches of no DataLoader (process_file.h) */
    char note[EXEC_UNHOOKED]; /* what a process said of hooks that are off or left out; "": none */
    unsigned files;           /* of processes with NVTX calls or our hooks */
    unsigned hooked;          /* of the processes, Python with our hooks */
    unsigned with_loader;     /* of those, with PyTorch's DataLoader imported */
    unsigned loading;         /* processes that made a DataLoader */
    unsigned trainers;        /* processes that took batches */
    char data[256];           /* where the data of the first process that said so lies; "": not known */
    int chained;              /* 1: another tool was attached, 2: it could not be */
};

void exec_files_take(struct pp_store *store, const char *dir, struct exec_totals *totals);
/* What the first Python without hooks said, if any did, into text. */
void exec_files_unhooked(const char *dir, char text[EXEC_UNHOOKED]);
/* Both, of an exec that was killed: a pp_recover_files_fn. */
void exec_files_recover(struct pp_store *store, const char *dir);
