#include "probe/trace/collector.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_NS 10000000000ull
#ifndef PP_BINDIR
#define PP_BINDIR "/usr/local/bin"
#endif

extern char **environ;

static int spawn(const char *program, char *const *argv, char **env, int lock_fd, int ready_fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, defaults;
    int e = posix_spawn_file_actions_init(&actions);
    if (e)
        return e;
    e = posix_spawnattr_init(&attr);
    if (e) {
        posix_spawn_file_actions_destroy(&actions);
        return e;
    }
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int fd = 0; fd < 3 && !e; fd++)
        e = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    /* The numbers handed over may themselves be 3 and 4: both were moved above beforehand. */
    if (!e)
        e = posix_spawn_file_actions_adddup2(&actions, lock_fd, PP_COLLECTOR_LOCK_FD);
    if (!e)
        e = posix_spawn_file_actions_adddup2(&actions, ready_fd, PP_COLLECTOR_READY_FD);
    if (!e)
        e = posix_spawnp(pid, program, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return e;
}

static int spawn_any(const char *program, const char *path, int lock_fd, int ready_fd, pid_t *pid)
{
    const char *asked = program ? program : getenv("PIPEPROBE_COLLECTOR");
    const char *const candidates[] = {asked && *asked ? asked : "pipeprobe",
                                      asked && *asked ? NULL : PP_BINDIR "/pipeprobe"};
    /* What is preloaded or injected into the program is not for the collector, and its allocator settings
     * neither. NULL without memory. */
    static const char *const left_out[] = {"LD_PRELOAD=", "LD_AUDIT=", "NVTX_INJECTION64_PATH=",
                                           "CUDA_INJECTION64_PATH=", "PIPEPROBE_SESSION="};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **out = malloc((n + 1) * sizeof(*out));
    for (size_t i = 0; out && i < n; i++) {
        int drop = 0;
        for (size_t k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++)
            drop |= strncmp(environ[i], left_out[k], strlen(left_out[k])) == 0;
        if (!drop)
            out[kept++] = environ[i];
    }
    if (out)
        out[kept] = NULL;
    char **env = out;
    int e = ENOMEM;
    for (size_t i = 0; env && i < 2 && candidates[i]; i++) {
        char *const argv[] = {(char *)candidates[i], (char *)"drain",      (char *)"--lock-fd",
                              (char *)"3",           (char *)"--ready-fd", (char *)"4",
                              (char *)"--",          (char *)path,         NULL};
        e = spawn(candidates[i], argv, env, lock_fd, ready_fd, pid);
        if (!e)
            break;
    }
    free(env);
    return e;
}

/* Reads until the other end is closed; 0 when it was not in time. */
static int read_answer(int fd, char *text, size_t size)
{
    uint64_t until = pp_now_ns() + READY_NS;
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now = pp_now_ns();
        int ready = now < until ? poll(&p, 1, (int)((until - now) / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        ssize_t got = read(fd, text + n, size - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || n + (size_t)got == size - 1) {
            text[n + (size_t)(got > 0 ? got : 0)] = '\0';
            return 1;
        }
        n += (size_t)got;
    }
    text[n] = '\0';
    return 0;
}

/* Above the two numbers the collector finds them under. */
static int moved_up(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, PP_COLLECTOR_READY_FD + 1);
}

pp_status pp_collector_start(const char *program, const char *path, int lock_fd, struct pp_err *err)
{
    char answer[sizeof(err->text)];
    int ends[2] = {-1, -1}, lock = -1, ready = -1, e = 0;
    pp_status status = PP_OK;
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 || (lock = moved_up(lock_fd)) < 0 || (ready = moved_up(ends[1])) < 0)
        e = errno;
    if (!e)
        e = spawn_any(program, path, lock, ready, &pid);
    if (ends[1] >= 0)
        close(ends[1]);
    if (ready >= 0)
        close(ready);
    if (lock >= 0)
        close(lock);
    if (e) {
        status = pp_fail(
            err, e == ENOENT ? PP_E_NOT_FOUND : PP_E_SYSTEM,
            "no collector for %s: cannot run `%s drain`: %s; the spans stay in ring files until the run is opened",
            path, program ? program : "pipeprobe", strerror(e));
        goto out;
    }
    int answered = read_answer(ends[0], answer, sizeof(answer));
    /* What was spawned has detached the collector and ended. A program that reaps all its children may have
     * been faster. */
    if (answered)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    else
        kill(pid, SIGKILL), waitpid(pid, NULL, 0);
    if (!answered)
        status = pp_fail(
            err, PP_E_SYSTEM,
            "no collector for %s: it did not become ready in time; the spans stay in ring files until the run is opened",
            path);
    else if (strcmp(answer, PP_COLLECTOR_READY) != 0)
        status = pp_fail(err, PP_E_SYSTEM,
                         "no collector for %s: %s; the spans stay in ring files until the run is opened",
                         path, answer[0] ? answer : "it ended without a message");
out:
    if (ends[0] >= 0)
        close(ends[0]);
    return status;
}
