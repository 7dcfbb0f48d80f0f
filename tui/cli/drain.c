/* `pipeprobe drain`: the collector that libpipeprobe starts beside a program that records its own loader. */
#include "tui/cli/cli.h"
#include "collectors/record/collectors.h"
#include "probe/base/err.h"
#include "probe/trace/drain_side.h"
#include <unistd.h>

struct options {
    int64_t lock_fd, ready_fd;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "lock-fd", .type = PP_OPT_INT, .offset = AT(lock_fd), .min = -1, .max = 1 << 20, .dflt = "-1",
     .group = "Options", .arg = "FD", .help = "inherited descriptor that holds the session's lock"},
    {.name = "ready-fd", .type = PP_OPT_INT, .offset = AT(ready_fd), .min = -1, .max = 1 << 20, .dflt = "-1",
     .arg = "FD", .help = "descriptor for the ready message or the error; without it, stay in the foreground"},
    {.name = NULL},
};
/* clang-format on */

static void on_ready(void *ctx, const struct pp_err *failed)
{
    int *fd = ctx;
    const char *text = failed ? failed->text : PP_COLLECTOR_READY;
    if (*fd < 0)
        return;
    ssize_t n = write(*fd, text, strlen(text));
    (void)n;
    close(*fd);
    *fd = -1;
}

static int run(int argc, char **argv)
{
    struct options o = {.lock_fd = -1, .ready_fd = -1};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    const char **operands = (const char **)argv;
    int n, code = pp_cli_parse(&pp_cmd_drain, &set, argc, argv, operands, &n);
    if (code >= 0)
        return code;
    if (n != 1 || o.lock_fd < 0) {
        pp_fail(
            &err, PP_E_USAGE,
            "libpipeprobe starts this for a program that records; to see a run use 'pipeprobe report FILE'");
        return pp_cli_fail(&pp_cmd_drain, &err);
    }
    int to = (int)o.ready_fd;
    if (to >= 0) {
        /* A session of its own: what ends the program's terminal or process group is not to end the
         * collector. */
        pid_t pid = fork();
        if (pid < 0) {
            pp_fail(&err, PP_E_SYSTEM, "%s", strerror(errno));
            on_ready(&to, &err);
        }
        if (pid != 0)
            return 0;
        setsid();
    }
    return pp_collect(operands[0], (int)o.lock_fd, on_ready, &to, &err) == PP_OK
               ? 0
               : pp_cli_fail(&pp_cmd_drain, &err);
}

const struct pp_command pp_cmd_drain = {
    .name = "drain",
    .summary = "write the spans of a libpipeprobe program into its file",
    .usage = "drain FILE [options]",
    .opts = opts,
    .notes = "Started by pp_open() (pipeprobe/pipeprobe.h) as a process of its own; ends when\n"
             "the last process of the session has closed or died, and leaves FILE finished.",
    .examples = {"PATH=build/release:$PATH build/release/samples/c_loader c.sqlite",
                 "pipeprobe report c.sqlite"},
    .run = run,
};
