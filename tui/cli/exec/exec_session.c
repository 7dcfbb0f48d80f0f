#include "tui/cli/exec/exec_session.h"

#include "probe/base/err.h"
#include "probe/base/json.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_MS 200 /* at signals, and whether the process that started us is still there */

int exec_session_print(const struct exec_record *r, const struct exec_python *python, struct pp_err *err)
{
    char recording[PATH_MAX], session[PATH_MAX];
    struct pp_json j;
    int code = 0;
    if (!realpath(r->path, recording) || !realpath(pp_recording_rings_dir(r->recording), session)) {
        pp_fail_errno(err, errno, "the session of %s was removed", r->path);
        code = PP_LAUNCH_FAILED;
        goto out;
    }
    pp_json_begin(&j, stdout, 0);
    pp_json_object(&j);
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.session/1");
    pp_json_key(&j, "recording"), pp_json_str(&j, recording);
    pp_json_key(&j, "session"), pp_json_str(&j, session);
    pp_json_key(&j, "hooks"), pp_json_str(&j, *python->hooks ? python->hooks : NULL);
    pp_json_key(&j, "reads"), pp_json_str(&j, *python->reads ? python->reads : NULL);
    pp_json_object_end(&j);
    if (pp_json_end(&j) != 0 || fflush(stdout) != 0) {
        pp_fail_errno(err, errno, "cannot write to standard output");
        code = PP_LAUNCH_FAILED;
    }
out:
    return code;
}

/* SIGCHLD is no order to end. */
static int signal_waits(void)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    int n = sigtimedwait(&set, &info, &(struct timespec){0});
    return n > 0 ? n : 0;
}

int exec_session_wait(struct pp_launch *l)
{
    pid_t parent = getppid();
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        int ready = poll(&in, 1, LOOK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break;
        l->signalled = signal_waits();
        if (l->signalled || getppid() != parent)
            break;
    }
    return 0;
}
