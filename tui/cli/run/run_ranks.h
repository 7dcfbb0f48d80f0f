/* tui/cli/run/run_ranks.h: `run --ranks N`: this command line as N processes of this machine, the ranks of
 * one data-parallel run, each with its own recording; and a line on each of them. */
#ifndef PP_TUI_CLI_RUN_RUN_RANKS_H
#define PP_TUI_CLI_RUN_RUN_RANKS_H

#include "tui/cli/cli.h"
#include "tui/cli/run/run_opts.h"

/* Starts the ranks, waits for them and prints what their recordings say. Ctrl-C and SIGTERM end them all,
 * with their files whole. cmd is the one whose errors these are. Returns the exit code: that of the first
 * rank that failed, 130 when interrupted, 3 when one of them could not be judged. */
int run_ranks(const struct pp_command *cmd, const struct run_request *asked);

#endif
