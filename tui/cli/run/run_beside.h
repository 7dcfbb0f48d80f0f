/* tui/cli/run/run_beside.h: PyTorch's DataLoader beside pipeprobe's own loader on the same data: two
 * recordings, one line, and what makes them unequal. */
#pragma once

#include "tui/cli/cli.h"
#include "tui/cli/run/run_opts.h"
#include "tui/cli/run/run_record.h"
#include "tui/cli/run/run_setup.h"
#include <pipeprobe/status.h>

struct run_beside {
    const char *torch_path, *own_path; /* recordings; own_path NULL: there is none to stand beside */
    const char *versions;              /* "torch 1.13.0, ..." */
    /* What each run read from the storage, past the page cache. The own one ran second, on warmer data;
     * UINT64_MAX: not known (a recording of another day) */
    uint64_t torch_storage_bytes, own_storage_bytes;
};

/* Where our own loader's recording goes: "job.sqlite" -> "job-pipeprobe.sqlite". */
pp_status run_beside_name(const char *torch_path, int force, char *out, size_t size, struct pp_err *err);
/* Text, or the document pipeprobe.loaders/1. PP_E_IO: out could not be written. */
pp_status run_beside_print(const struct run_beside *b, int json, FILE *out, struct pp_err *err);

/* ---- several ranks on this machine ----
 *
 * `run --ranks N`: this command line as N processes of this machine, the ranks of
 * one data-parallel run, each with its own recording; and a line on each of them. */

/* Starts the ranks, waits for them and prints what their recordings say. Ctrl-C and SIGTERM end them all,
 * with their files whole. cmd is the one whose errors these are. Returns the exit code: that of the first
 * rank that failed, 130 when interrupted, 3 when one of them could not be judged. */
int run_ranks(const struct pp_command *cmd, const struct run_request *asked);

/* `run --loader pytorch`: PyTorch's own DataLoader in place of ours, in a Python process that runs
 * samples/python/torch_loader.py and joins our recording's session.
 *
 * check: what the options must not say. start: the interpreter begins, and imports torch; nothing is recorded
 * yet, so that a missing torch costs nothing. measure: it is told the job (its standard input), runs it, and
 * answers with the totals (its standard output). free ends it if it still runs.
 *
 * One at a time; from the main thread, but for run_torch_stop. */

struct run_torch {
    pid_t pid;              /* 0: not started, or ended */
    int to, from;           /* its standard input and output; -1: closed */
    char python[512];       /* the interpreter, as it calls itself */
    char versions[128];     /* "torch 2.6.0, torchvision 0.21.0, Pillow 11.0" */
    uint64_t storage_bytes; /* that its run read past the page cache */
    char *answer;           /* what it said and was not yet read */
    size_t answer_n, answer_room;
};

/* Combinations that PyTorch's loader cannot do, or that would say nothing about it. */
pp_status run_torch_check(const struct run_opts *o, const struct pp_opt_set *set, struct pp_err *err);
/* PP_E_UNSUPPORTED without torch in the interpreter: where to get it. PP_E_NOT_FOUND: no such interpreter. */
pp_status run_torch_start(struct run_torch *t, const struct run_opts *o, const struct pp_dataset *dataset,
                          struct pp_err *err);
/* Runs to the end; result gets what PyTorch's loader can tell (see run_record_end), and what failed goes into
 * the recording. A loader that was interrupted is PP_OK. */
pp_status run_torch_measure(struct run_torch *t, const struct run_request *asked, const struct run_parts *p,
                            struct run_record *rec, struct pp_loader_result *result, struct pp_err *err);
void run_torch_free(struct run_torch *t);

/* For a signal handler: the process that measures is asked to stop, or with now ended at once. */
void run_torch_stop(int now);
