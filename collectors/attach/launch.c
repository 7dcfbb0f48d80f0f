#include "collectors/attach/launch.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static void waited_for(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(set, passed_on[i]);
}

/* ---- finding ---- */

/* 0 when path can be executed, else why not. */
static int why_not_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int exit_code_of(int e)
{
    return e == ENOENT || e == ENOTDIR ? PP_LAUNCH_NOT_FOUND : PP_LAUNCH_NOT_EXECUTABLE;
}

int pp_launch_find(const char *program, struct pp_err *err)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];
    int e = ENOENT;
    if (strchr(program, '/') || !*program) {
        e = *program ? why_not_executable(program) : ENOENT;
    } else {
        for (const char *dir = path ? path : "/bin:/usr/bin", *end; dir && e; dir = *end ? end + 1 : NULL) {
            end = strchrnul(dir, ':');
            int fits = (size_t)snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)(end - dir), dir,
                                        end == dir ? "./" : "/", program) < sizeof(candidate);
            int this = fits ? why_not_executable(candidate) : ENOENT;
            if (!this || this == EACCES)
                e = this; /* as execvp: one that may not be run is remembered while the search goes on */
        }
    }
    if (!e)
        return 0;
    size_t n = strlen(program);
    int in_path = !strchr(program, '/'), script = n > 3 && strcmp(program + n - 3, ".py") == 0;
    if (exit_code_of(e) == PP_LAUNCH_NOT_FOUND)
        pp_fail(err, PP_E_NOT_FOUND, "program not found: %s%s%s%s", program, in_path ? " in PATH" : "",
                script    ? "; a script has its interpreter in front: python3 "
                : in_path ? "; activate the job's environment, or give its path"
                          : "",
                script ? program : "");
    else
        pp_fail(err, PP_E_ACCESS, "%s cannot be executed: %s; a script has its interpreter in front: bash %s",
                program, strerror(e), program);
    return exit_code_of(e);
}

/* ---- signals ---- */

void pp_launch_begin(struct pp_launch *l)
{
    sigset_t set;
    *l = (struct pp_launch){.pid = -1};
    waited_for(&set);
    l->blocked = pthread_sigmask(SIG_BLOCK, &set, &l->before) == 0;
    /* A parent that ignores SIGCHLD would take the exit status away from us. */
    l->child_default = sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &l->child_before) == 0;
}

void pp_launch_die_of(int sig)
{
    sigset_t one;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program's is the one that says something */
    signal(sig, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, sig);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
}

void pp_launch_end(struct pp_launch *l)
{
    sigset_t set;
    waited_for(&set);
    sigdelset(&set, SIGCHLD);
    /* Signals that came after the program had ended: there is no program to pass them on to. */
    while (l->blocked && sigtimedwait(&set, NULL, &(struct timespec){0, 0}) > 0)
        ;
    if (l->child_default)
        sigaction(SIGCHLD, &l->child_before, NULL);
    if (l->blocked)
        pthread_sigmask(SIG_SETMASK, &l->before, NULL);
    l->child_default = l->blocked = 0;
}

/* ---- starting ---- */

static char **merged_environment(const char *const *env)
{
    size_t n = 0, added = 0;
    while (environ[n])
        n++;
    while (env && env[added])
        added++;
    char **out = malloc((n + added + 1) * sizeof(*out));
    if (!out)
        return NULL;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        int replaced = 0;
        for (size_t j = 0; j < added && !replaced; j++)
            replaced = strncmp(env[j], environ[i], strcspn(env[j], "=") + 1) == 0;
        if (!replaced)
            out[k++] = environ[i];
    }
    for (size_t j = 0; j < added; j++)
        out[k++] = (char *)env[j];
    out[k] = NULL;
    return out;
}

/* posix_spawn can set a signal to its default, and not to being ignored: for a parent that ignores SIGCHLD,
 * as its programs inherit. */
static int spawn_ignoring(pid_t *pid, const sigset_t *mask, const sigset_t *defaults, char *const *argv,
                          char **environment)
{
    int told[2], e = 0;
    if (pipe2(told, O_CLOEXEC) != 0)
        return errno;
    *pid = fork();
    if (*pid == 0) {
        signal(SIGCHLD, SIG_IGN);
        if (sigismember(defaults, SIGXFSZ) == 1)
            signal(SIGXFSZ, SIG_DFL);
        pthread_sigmask(SIG_SETMASK, mask, NULL);
        execvpe(argv[0], argv, environment);
        e = errno;
        _exit(write(told[1], &e, sizeof(e)) != (ssize_t)sizeof(e));
    }
    close(told[1]);
    if (*pid < 0)
        e = errno;
    else if (read(told[0], &e, sizeof(e)) == (ssize_t)sizeof(e))
        waitpid(*pid, NULL, 0);
    close(told[0]);
    return e;
}

int pp_launch_start(struct pp_launch *l, char *const *argv, const char *const *env, struct pp_err *err)
{
    posix_spawnattr_t attr;
    char **environment = merged_environment(env);
    int e = environment ? posix_spawnattr_init(&attr) : ENOMEM;
    if (e) {
        pp_fail_errno(err, e, "cannot start %s", argv[0]);
        free(environment);
        return PP_LAUNCH_FAILED;
    }
    sigset_t defaults;
    sigemptyset(&defaults);
    if (pp_io_ignores_file_size_signal())
        sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setsigmask(&attr, &l->before);
    if (l->child_default && l->child_before.sa_handler == SIG_IGN)
        e = spawn_ignoring(&l->pid, &l->before, &defaults, argv, environment);
    else
        e = posix_spawnp(&l->pid, argv[0], NULL, &attr, argv, environment);
    /* posix_spawnp, unlike execvp, does not run a script without an interpreter line in sh. */
    if (e == ENOEXEC) {
        size_t n = 0;
        while (argv[n])
            n++;
        char **with_sh = malloc((n + 2) * sizeof(*with_sh));
        if (with_sh) {
            with_sh[0] = (char *)"sh";
            memcpy(with_sh + 1, argv, (n + 1) * sizeof(*argv));
        }
        e = with_sh ? posix_spawn(&l->pid, "/bin/sh", NULL, &attr, with_sh, environment) : ENOMEM;
        free(with_sh);
    }
    posix_spawnattr_destroy(&attr);
    free(environment);
    if (!e)
        return 0;
    l->pid = -1;
    pp_fail_errno(err, e, "cannot start %s", argv[0]);
    return e == EAGAIN || e == ENOMEM ? PP_LAUNCH_FAILED : exit_code_of(e);
}

/* ---- waiting ---- */

int pp_launch_wait(struct pp_launch *l)
{
    sigset_t set;
    siginfo_t info;
    int status, last = 0;
    waited_for(&set);
    for (;;) {
        pid_t ended = waitpid(l->pid, &status, WNOHANG);
        if (ended == l->pid)
            break;
        if (ended < 0 && errno != EINTR)
            return PP_LAUNCH_FAILED;
        if (sigwaitinfo(&set, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        last = info.si_signo;
        /* What SIGUSR1 and SIGUSR2 ask for is the program's affair (SLURM's warning, a dump of stacks),
         * unless it ends of them; what we were started to ignore is ignored by the program as well (nohup; a
         * script's background job ignores SIGINT).
         */
        struct sigaction now;
        int ignored = sigaction(last, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
        if (last != SIGUSR1 && last != SIGUSR2 && !ignored)
            l->signalled = last;
        /* Ctrl-C and Ctrl-\ go to the whole foreground group: the program has them already. */
        if (info.si_code != SI_KERNEL || (last != SIGINT && last != SIGQUIT))
            kill(l->pid, last);
    }
    l->pid = -1;
    l->killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (last && last == l->killed_by)
        l->signalled = last;
    return l->killed_by ? 128 + l->killed_by : WEXITSTATUS(status);
}
