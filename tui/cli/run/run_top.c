#include "tui/cli/run/run_top.h"

#include "probe/base/err.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

pp_status run_top_start(const char *path, pid_t *pid, struct pp_err *err)
{
    char *argv[] = {"pipeprobe", "top", (char *)path, NULL};
    *pid = 0;
    int e = posix_spawn(pid, "/proc/self/exe", NULL, NULL, argv, environ);
    if (!e)
        return PP_OK;
    *pid = 0;
    return pp_fail_errno(err, e, "cannot start the dashboard");
}

int run_top_has_gone(pid_t *pid)
{
    int status;
    if (!*pid || waitpid(*pid, &status, WNOHANG) != *pid)
        return !*pid;
    *pid = 0;
    return 1;
}

void run_top_wait(pid_t pid)
{
    int status;
    while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
}
