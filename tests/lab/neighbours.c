#include "tests/lab/neighbours.h"

#include "probe/base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

pp_status lab_loads_parse(const char *text, int loads[LAB_LOADS_MOST], int *n, struct pp_err *err)
{
    *n = 0;
    for (const char *p = text; *p;) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p || (*end && *end != ',') || v < 0 || v > LAB_NEIGHBOURS_MOST || *n == LAB_LOADS_MOST)
            return pp_fail(err, PP_E_USAGE,
                           "--neighbours '%s': it takes up to %d numbers from 0 to %d, separated by commas",
                           text, LAB_LOADS_MOST, LAB_NEIGHBOURS_MOST);
        loads[(*n)++] = (int)v;
        p = end + (*end == ',');
    }
    return PP_OK;
}

/* In the child; the parent's end is its own. */
static void spin(pid_t parent)
{
    volatile unsigned long n = 0;
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        for (unsigned long i = 0; i < 100000000; i++)
            n++;
    _exit(0);
}

pp_status lab_neighbours_start(struct lab_neighbours *a, int n, struct pp_err *err)
{
    pid_t parent = getpid();
    for (a->n = 0; a->n < n && a->n < LAB_NEIGHBOURS_MOST; a->n++) {
        pid_t pid = fork();
        if (pid == 0)
            spin(parent);
        if (pid < 0) {
            int e = errno;
            lab_neighbours_end(a);
            return pp_fail_errno(err, e, "cannot start %d neighbours", n);
        }
        a->pid[a->n] = (int)pid;
    }
    return PP_OK;
}

void lab_neighbours_end(struct lab_neighbours *a)
{
    for (int i = 0; i < a->n; i++)
        kill(a->pid[i], SIGKILL);
    for (int i = 0; i < a->n; i++)
        waitpid(a->pid[i], NULL, 0);
    a->n = 0;
}
