/* tui/cli/run/run_beside.h: PyTorch's DataLoader beside pipeprobe's own loader on the same data: two
 * recordings, one line, and what makes them unequal. */
#ifndef PP_CLI_RUN_RUN_BESIDE_H
#define PP_CLI_RUN_RUN_BESIDE_H

#include "tui/cli/cli.h"
#include "tui/cli/run/run_opts.h"

#include <pipeprobe/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

#endif
