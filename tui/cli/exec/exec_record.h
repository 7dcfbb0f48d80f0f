/* tui/cli/exec/exec_record.h: what is exec's own of a recording (collectors/record/recording.h): the
 * processes of a foreign program join its session, read their phases from a map in it, and say at their end
 * what they lost. */
#pragma once

#include "collectors/record/recording.h"
#include "collectors/store/writer.h"
#include "tui/cli/exec_files.h"
#include <sys/types.h>

#define EXEC_GPU_RECORDS 1000000 /* some 100 MB of the file */
#define EXEC_LINES_HZ 10

struct exec_record {
    char path[4096];
    char taken[4096]; /* the name that was asked for, and is another's; "": path is that name */
    int gpu_records;  /* set before exec_record_create: rows of the GPU's activity at most; 0: none are asked
                         for */
    double lines_hz;  /* likewise: readings of the job's stacks a second; 0: none */
    char unhooked[EXEC_UNHOOKED];   /* why a Python process was not given the hooks; "": none said so */
    struct pp_recording *recording; /* NULL: not made, or abandoned */
    struct exec_totals totals;
    int ended_by_duration;   /* likewise: exec ended the job, as --duration asks */
    int interrupted_by;      /* set before exec_record_end: the signal passed on; 0: none */
    double oom_kills;        /* of the control group when it began; NAN: not to be had */
    uint64_t first_by_ns;    /* of the ranks under one exec: its process ended first, so long before the next
                                one;    0: it did not, or that is not known, or the job did not fail */
    struct pp_identity rank; /* launcher NULL: of no rank; before exec_record_create: this process's own */
};

/* Makes the file and, beside it, the session "PATH.rings" for ring_spans spans a thread, with map_text (may
 * be empty) in it. The name is output, or one of our own choice; where output exists and is not to be
 * replaced, the next free one beside it. On failure nothing is left. Once pp_recording_start has started its
 * drain, the program may begin. */
pp_status exec_record_create(struct exec_record *r, const char *output, int force, size_t ring_spans,
                             const char *map_text, struct pp_err *err);
/* Stops the drain: how many spans were recorded. */
uint64_t exec_record_stop(struct exec_record *r);
/* Stops the drain and finishes the file. exit_code is the program's, -1: it goes on; outcome: "finished",
 * "failed" or "interrupted". The file stays readable whatever fails; err says what is missing. */
pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err);
/* After its end: no span was recorded, and none was lost. */
int exec_record_is_empty(const struct exec_record *r);
/* The program did not start, or nothing is to be kept: leaves nothing behind. */
void exec_record_abandon(struct exec_record *r);
void exec_record_free(struct exec_record *r);

/* What a recording was made of: stores run.directory, environment.gpu (the models that NVIDIA's driver lists)
 * and, where git knows one here, run.git_commit (of HEAD; changes since are not seen). */
void exec_origin_store(struct pp_store *store);

/* The ranks of a job whose launcher runs under this exec: `pipeprobe exec -- torchrun train.py`. Each process
 * that is a rank asks for a recording of its own (collectors/attach/rank_session.h) and gets it: a file per
 * rank, as if pipeprobe stood in front of each. A thread of exec answers; it sleeps meanwhile.
 *
 * Of one job and attempt a rank has one recording, whichever of its processes asked first. All end with the
 * launcher. */

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
struct exec_ranks_made {
    struct exec_record *const *rank; /* in the order in which they were made; until exec_ranks_free */
    size_t n;
    const char *trouble; /* why a rank got no recording of its own; NULL: each got it */
};

/* Answers no more. Where the end of all ranks of a job was seen, the record of the one whose process ended
 * first says so (first_by_ns): the launcher ends the others, and its exit code tells nothing of them. */
struct exec_ranks_made exec_ranks_stop(struct exec_ranks *x); /* NULL is fine */
void exec_ranks_free(struct exec_ranks *x);

/* Ends a job after so much of its steady state (exec --duration), as Ctrl-C would: SIGINT to the program and
 * to the processes that made DataLoaders, SIGTERM and SIGKILL to the program where that does not help. A
 * thread of its own, for exec waits for the program's end meanwhile. */

struct exec_duration;

/* duration_ns: 0 for none. recording and session are borrowed until exec_duration_stop. NULL: none, or no
 * memory for it. */
struct exec_duration *exec_duration_start(const char *recording, const char *session, pid_t program,
                                          uint64_t duration_ns);
/* After the program's end; frees. Whether the job was ended so. NULL is 0. */
int exec_duration_stop(struct exec_duration *d);

/* The batches that a trainer has taken, as far as its recording was looked through; begins as zeros. */
struct exec_taken {
    int64_t last_id;
    uint64_t batches;
};
/* Looks at what came since. 1: the job is in its steady state. */
int exec_is_steady(const char *recording, struct exec_taken *t);
