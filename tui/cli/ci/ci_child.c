#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_NOT_BEGUN = 125 }; /* docs/reference/exit-codes.md */

/* ---- words of the child ---- */

/* The words name their command when they begin with it; a data set of that name is ./exec. */
static int begins_with(const struct ci_command *cmd, const char *name)
{
    return !cmd->shell && cmd->argc > 0 && strcmp(cmd->argv[0], name) == 0;
}

static int takes_words(const char *shell)
{
    return strstr(shell, "$@") != NULL || strstr(shell, "${@}") != NULL;
}

/* "run" WORDS... "-o" PATH "--quiet" "--force"; "exec" with the same before its words, for behind "--" they
 * would be the program's; or the shell with the same as its parameters. Its output goes to log. *status as
 * waitpid(2) gives it. */
static pp_status run_child(const struct ci_command *cmd, const char *path, const char *log, int *status,
                           struct pp_err *err)
{
    char *script = NULL;
    int exec = begins_with(cmd, "exec"), skip = exec || begins_with(cmd, "run"), out, e;
    struct again a = {.in = AGAIN_NULL};
    pid_t pid = 0;
    if (cmd->shell) {
        a.program = "/bin/sh";
        if (asprintf(&script, "%s%s", cmd->shell, takes_words(cmd->shell) ? "" : " \"$@\"") < 0)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to start a run");
        again_add(&a, a.program, "-c", script, "sh", NULL);
    } else {
        again_add(&a, "pipeprobe", exec ? "exec" : "run", NULL);
        if (!exec)
            again_add_all(&a, cmd->argv + skip, (size_t)(cmd->argc - skip));
    }
    again_add(&a, "-o", path, "--quiet", "--force", NULL);
    if (exec)
        again_add_all(&a, cmd->argv + skip, (size_t)(cmd->argc - skip));
    out = pp_io_open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    a.failed = out < 0 ? errno : 0;
    a.out = a.errors = out;
    e = again_start(&a, &pid);
    if (out >= 0)
        close(out);
    free(script);
    if (e != 0)
        return pp_fail_errno(err, e, "%s cannot be started", cmd->shell ? "/bin/sh" : "pipeprobe");
    interrupt_passes_to(pid);
    *status = again_wait(pid);
    e = errno;
    interrupt_passes_no_more();
    return *status < 0 ? pp_fail_errno(err, e, "waiting for a run failed") : PP_OK;
}

/* ---- what became of it ---- */

/* The last line that says something. */
static void last_words(const char *log, char *buf, size_t size)
{
    struct statvfs fs;
    int full = statvfs(log, &fs) == 0 && fs.f_bavail == 0;
    if (!again_last_line(log, buf, size))
        snprintf(buf, size, full ? "its messages did not fit in %s" : "no message", log);
}

static pp_status check_status(const struct ci_command *cmd, int status, const char *log, struct pp_err *err)
{
    char said[320];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (interrupt_asked())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
    int exec = begins_with(cmd, "exec"); /* whose exit code is the program's own */
    if (code == 0 || (!exec && code == pp_status_exit_code(PP_E_INCONCLUSIVE)))
        return PP_OK; /* a run whose own verdict is inconclusive was measured all the same */
    last_words(log, said, sizeof(said));
    if (exec && code > 0)
        return pp_fail(err, code == EXEC_NOT_BEGUN ? PP_E_USAGE : PP_E_SYSTEM,
                       "a run ended with exit code %d and is not compared: %s (its output: %s)", code, said,
                       log);
    if (code == pp_status_exit_code(PP_E_INTERRUPTED))
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
    if (WIFSIGNALED(status))
        return pp_fail(err, PP_E_SYSTEM, "a run was ended by signal %d and is not compared: %s",
                       WTERMSIG(status), said);
    return pp_fail(err, code == pp_status_exit_code(PP_E_USAGE) ? PP_E_USAGE : PP_E_SYSTEM,
                   "a run failed with exit code %d and is not compared: %s", code, said);
}

static pp_status check_finished(const char *path, struct pp_runs *into, struct pp_err *err)
{
    struct pp_runs last = {.run = into->run + into->n - 1, .n = 1};
    struct pp_err why;
    if (pp_compare_check_side(&(struct pp_compare_side){path, &last}, &why) == PP_OK)
        return PP_OK;
    return pp_fail(err, PP_E_SYSTEM, "%s", why.text); /* exit code 4: this was to be a measurement */
}

int ci_log_path(const char *path, char *log, size_t size)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) : 1,
        n = snprintf(log, size, "%.*s/logs/%s.log", dir, slash ? path : ".", slash ? slash + 1 : path);
    return n > 0 && (size_t)n < size ? 0 : -1;
}

pp_status ci_check_shell(const char *shell, struct pp_err *err)
{
    if (!takes_words(shell) && strstr(shell, " exec ") && strstr(shell, " -- "))
        return pp_fail(
            err, PP_E_USAGE,
            "--ab: what follows -- belongs to the program; write \"$@\" where exec's own options go: 'pipeprobe exec "
            "\"$@\" -- python train.py'");
    return PP_OK;
}

pp_status ci_make_run(const struct ci_command *cmd, const char *path, struct pp_runs *into,
                      struct pp_err *err)
{
    char log[PATH_MAX];
    const char *operand = path;
    int status = 0;
    if (ci_log_path(path, log, sizeof(log)) != 0)
        return pp_fail(err, PP_E_USAGE, "the path %s is too long", path);
    *strrchr(log, '/') = '\0';
    mkdir(log, 0777); /* where it cannot be, opening the log says why */
    log[strlen(log)] = '/';
    pp_status st = run_child(cmd, path, log, &status, err);
    if (st == PP_OK)
        st = check_status(cmd, status, log, err);
    if (st == PP_OK)
        st = pp_runs_load(&operand, 1, into, err);
    if (st == PP_OK)
        st = check_finished(path, into, err);
    return st;
}
