#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_NOT_BEGUN = 125 }; /* docs/reference/exit-codes.md */

/* ---- signals ---- */

static volatile sig_atomic_t stopped;
static volatile sig_atomic_t child; /* process in hand; 0: none */

/* A terminal sends Ctrl-C to the child as well; twice would make it leave without finishing its file. */
static void on_signal(int sig)
{
    stopped = 1;
    if (sig == SIGTERM && child > 0)
        kill((pid_t)child, SIGTERM);
}

void ci_catch_signals(void)
{
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

/* ---- words of the child ---- */

/* The words name their command when they begin with it; a data set of that name is ./exec. */
static int begins_with(const struct ci_command *cmd, const char *name)
{
    return !cmd->shell && cmd->argc > 0 && strcmp(cmd->argv[0], name) == 0;
}

/* "run" WORDS... "-o" PATH "--quiet" "--force"; "exec" with the same before its words, for behind "--" they
 * would be the program's; or the shell with the same as its parameters. Free the array only. */
static char **words_of(const struct ci_command *cmd, const char *self, const char *path, const char *script)
{
    char **w = calloc((size_t)cmd->argc + 16, sizeof(*w));
    int n = 0, exec = begins_with(cmd, "exec");
    if (!w)
        return NULL;
    if (cmd->shell) {
        w[n++] = (char *)"/bin/sh";
        w[n++] = (char *)"-c";
        w[n++] = (char *)script;
        w[n++] = (char *)"sh";
    } else {
        w[n++] = (char *)self;
        w[n++] = (char *)(exec ? "exec" : "run");
    }
    for (int i = begins_with(cmd, "run"); !cmd->shell && !exec && i < cmd->argc; i++)
        w[n++] = cmd->argv[i];
    w[n++] = (char *)"-o";
    w[n++] = (char *)path;
    w[n++] = (char *)"--quiet";
    w[n++] = (char *)"--force";
    for (int i = 1; exec && i < cmd->argc; i++)
        w[n++] = cmd->argv[i];
    return w;
}

static pp_status own_path(char *buf, size_t size, struct pp_err *err)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - 1);
    if (n < 0)
        return pp_fail_errno(err, errno, "cannot find the path of this program");
    buf[n] = '\0';
    return PP_OK;
}

static int redirect(posix_spawn_file_actions_t *a, const char *log)
{
    return posix_spawn_file_actions_addopen(a, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ||
           posix_spawn_file_actions_addopen(a, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0644) ||
           posix_spawn_file_actions_adddup2(a, STDOUT_FILENO, STDERR_FILENO);
}

/* *status as waitpid(2) gives it. */
static pp_status spawn_and_wait(char **words, const char *log, int *status, struct pp_err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t defaults; /* what it starts in turn is not to inherit what we ignore */
    pid_t pid;
    int e = posix_spawn_file_actions_init(&actions);
    sigemptyset(&defaults);
    if (pp_io_ignores_file_size_signal())
        sigaddset(&defaults, SIGXFSZ);
    if (e == 0) {
        posix_spawnattr_init(&attr);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigdefault(&attr, &defaults);
        e = redirect(&actions, log) ? ENOMEM : posix_spawn(&pid, words[0], &actions, &attr, words, environ);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (e != 0)
        return pp_fail_errno(err, e, "%s cannot be started", words[0]);
    child = (sig_atomic_t)pid;
    if (stopped)
        kill(pid, SIGTERM); /* the signal came before the handler could see the child */
    pp_status st = PP_OK;
    while (st == PP_OK && waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            st = pp_fail_errno(err, errno, "waiting for a run failed");
    child = 0;
    return st;
}

/* ---- what became of it ---- */

/* The last line that says something. */
static void last_words(const char *log, char *buf, size_t size)
{
    char line[1024];
    FILE *in = fopen(log, "re");
    struct statvfs fs;
    int full = statvfs(log, &fs) == 0 && fs.f_bavail == 0;
    snprintf(buf, size, full ? "its messages did not fit in %s" : "no message", log);
    while (in && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")])
            snprintf(buf, size, "%.300s", line);
    }
    if (in)
        fclose(in);
}

static pp_status check_status(const struct ci_command *cmd, int status, const char *log, struct pp_err *err)
{
    char said[320];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (stopped)
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

static int takes_words(const char *shell)
{
    return strstr(shell, "$@") != NULL || strstr(shell, "${@}") != NULL;
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
    char self[PATH_MAX], log[PATH_MAX];
    char *script = NULL, **words = NULL;
    const char *operand = path;
    int status = 0;
    pp_status st = own_path(self, sizeof(self), err);
    if (st != PP_OK)
        return st;
    if (ci_log_path(path, log, sizeof(log)) != 0)
        return pp_fail(err, PP_E_USAGE, "the path %s is too long", path);
    *strrchr(log, '/') = '\0';
    mkdir(log, 0777); /* where it cannot be, opening the log says why */
    log[strlen(log)] = '/';
    if (cmd->shell && asprintf(&script, "%s%s", cmd->shell, takes_words(cmd->shell) ? "" : " \"$@\"") < 0)
        script = NULL;
    words = !cmd->shell || script ? words_of(cmd, self, path, script) : NULL;
    st = words ? spawn_and_wait(words, log, &status, err)
               : pp_fail(err, PP_E_NO_MEMORY, "no memory to start a run");
    if (st == PP_OK)
        st = check_status(cmd, status, log, err);
    if (st == PP_OK)
        st = pp_runs_load(&operand, 1, into, err);
    if (st == PP_OK)
        st = check_finished(path, into, err);
    free(words);
    free(script);
    return st;
}
