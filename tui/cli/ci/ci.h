/* tui/cli/ci/ci.h: the parts of `pipeprobe ci`: options of all its subcommands, one file each. */
#ifndef PP_TUI_CLI_CI_CI_H
#define PP_TUI_CLI_CI_CI_H

#include "report/compare/load.h"
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
/* baseline save|show|update RUNS...: words[0] is what to do. Returns the exit code. */
int ci_baseline(const struct ci_opts *o, const char *const *words, int n);

/* Writes head's runs as the baseline, with label, time and version. */
pp_status ci_save_baseline(const struct ci_opts *o, const struct pp_runs *runs, struct pp_err *err);

/* One recorded run in a child process. */
struct ci_command {
    const char *shell; /* a shell command, or NULL: this program's `run` or `exec`. "-o FILE --quiet --force"
                          stands for its
                          "$@", and is appended where it has none */
    char **argv;       /* its words otherwise */
    int argc;
};
/* PP_E_USAGE for a shell command that would hand "-o FILE" to the program behind `pipeprobe exec ... --`. */
pp_status ci_check_shell(const char *shell, struct pp_err *err);
/* Where the output of the run into path goes: logs/NAME.log in the same directory, so that no pattern for
 * recordings matches it. 0, or -1: too long. */
int ci_log_path(const char *path, char *log, size_t size);
/* Makes one run into path (its output as ci_log_path says) and loads it. A run that fails, or does not
 * finish, is PP_E_SYSTEM with the end of what it said; PP_E_USAGE when it refused its options;
 * PP_E_INTERRUPTED where the caller catches that (interrupt.h): the run in hand is ended, and nothing is left
 * behind. */
pp_status ci_make_run(const struct ci_command *cmd, const char *path, struct pp_runs *into,
                      struct pp_err *err);

#endif
