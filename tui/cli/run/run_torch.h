/* tui/cli/run/run_torch.h: `run --loader pytorch`: PyTorch's own DataLoader in place of ours, in a Python
 * process that runs samples/python/torch_loader.py and joins our recording's session.
 *
 * check: what the options must not say. start: the interpreter begins, and imports torch; nothing is recorded
 * yet, so that a missing torch costs nothing. measure: it is told the job (its standard input), runs it, and
 * answers with the totals (its standard output). free ends it if it still runs.
 *
 * One at a time; from the main thread, but for run_torch_stop. */
#ifndef PP_CLI_RUN_RUN_TORCH_H
#define PP_CLI_RUN_RUN_TORCH_H

#include "tui/cli/run/run_opts.h"
#include "tui/cli/run/run_record.h"
#include "tui/cli/run/run_setup.h"

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

#endif
