#include "probe/columns/trial.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/net/http.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MORE_BYTES = 1 << 30, MOST_CPU_S = 60, LEAST_NAP_US = 100, MOST_NAP_US = 20000 };

pp_status pp_trial(int (*attempt)(void *ctx), void *ctx, const char *library, const char *path,
                   struct pp_err *err)
{
    int status = 0;
    pid_t child = fork();
    if (child < 0)
        return PP_OK;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_CPU_S, MOST_CPU_S});
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        /* Of addresses, beyond those that the process has already. */
        unsigned long long pages = 0;
        char statm[128];
        pp_io_text(statm, sizeof(statm), "/proc/self/statm");
        if (sscanf(statm, "%llu", &pages) == 1) {
            rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE_BYTES;
            setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
        }
        _exit(attempt(ctx) != 0);
    }
    long nap_us = LEAST_NAP_US;
    for (pid_t ended; (ended = waitpid(child, &status, WNOHANG)) != child;) {
        if (ended < 0 && errno != EINTR) /* who ignores SIGCHLD is not told */
            return PP_OK;
        if (pp_http_is_interrupted()) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
        }
        nanosleep(&(struct timespec){.tv_nsec = nap_us * 1000}, NULL);
        nap_us = nap_us * 2 < MOST_NAP_US ? nap_us * 2 : MOST_NAP_US;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PP_OK;
    if (WIFEXITED(status))
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s cannot open %s: it is truncated, damaged, open for writing, or takes more than 1 GiB",
            library, path);
    if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
        return pp_fail(err, PP_E_CORRUPT, "%s takes more than %d s of CPU time for opening %s", library,
                       MOST_CPU_S, path);
    return pp_fail(err, PP_E_CORRUPT, "%s is damaged: %s crashed on it (signal %d)", path, library,
                   WTERMSIG(status));
}
