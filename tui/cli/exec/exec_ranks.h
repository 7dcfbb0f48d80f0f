/* tui/cli/exec/exec_ranks.h: the ranks of a job whose launcher runs under this exec: `pipeprobe exec --
 * torchrun train.py`. Each process that is a rank asks for a recording of its own
 * (collectors/attach/rank_session.h) and gets it: a file per rank, as if pipeprobe stood in front of each. A
 * thread of exec answers; it sleeps meanwhile.
 *
 * Of one job and attempt a rank has one recording, whichever of its processes asked first. All end with the
 * launcher. */
#ifndef PP_TUI_CLI_EXEC_EXEC_RANKS_H
#define PP_TUI_CLI_EXEC_EXEC_RANKS_H

#include "tui/cli/exec/exec_record.h"

enum { EXEC_RANKS_MAX = 1024 }; /* of one exec; those beyond record into its own file */

/* Borrowed until exec_ranks_stop. */
struct exec_ranks_opts {
    const struct exec_record *above; /* exec's own recording, which has been made */
    const char *output;              /* as typed; NULL: none */
    const char *map_text, *command_line;
    size_t ring_spans;
    int force;
    void (*config)(void *ctx, struct pp_store *store); /* what the recording of exec says as well */
    void (*begun)(void *ctx, const char *path);        /* the recording of a rank; by the thread */
    void *ctx;
};

struct exec_ranks;

/* Before the program starts, where signals are blocked. NULL: no memory or no thread, and all record into one
 * file. */
struct exec_ranks *exec_ranks_start(const struct exec_ranks_opts *opts);
/* Answers no more. Where the end of all ranks of a job was seen, the record of the one whose process ended
 * first says so (first_by_ns): the launcher ends the others, and its exit code tells nothing of them. */
void exec_ranks_stop(struct exec_ranks *x); /* NULL is fine */
size_t exec_ranks_count(const struct exec_ranks *x);
/* Of the rank that was made i-th. */
struct exec_record *exec_ranks_record(struct exec_ranks *x, size_t i);
/* Why a rank got no recording of its own; NULL: each got it. */
const char *exec_ranks_trouble(const struct exec_ranks *x);
void exec_ranks_free(struct exec_ranks *x);

#endif
