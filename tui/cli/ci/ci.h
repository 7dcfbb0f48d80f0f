/* tui/cli/ci/ci.h: the parts of `pipeprobe ci`: options of all its subcommands, one file each. */
#pragma once

#include "report/compare/run.h"
#include "tui/cli/gate.h"

struct ci_opts {
    const struct pp_command *cmd; /* whose errors these are */
    struct gate_opts gate;
    int64_t runs, max_runs, warmup_runs;
    const char *ab, *baseline, *keep, *label;
    int aa, lenient, update, quiet;
};

/* Runs the words after "--" repeatedly and compares: options of `pipeprobe run`, or "exec" and a command line
 * of `pipeprobe exec`. Returns the exit code. */
int ci_run(const struct ci_opts *o, char **run_argv, int run_argc);

/* Writes head's runs as the baseline, with label, time and version. */
pp_status ci_save_baseline(const struct ci_opts *o, const struct pp_runs *runs, struct pp_err *err);
