/* `pipeprobe drain`: the collector that libpipeprobe starts beside a program that records its own loader. */
#include "tui/cli/cli.h"

#include "collectors/record/collect.h"
#include "probe/base/err.h"
#include "probe/trace/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

struct answer {
    int fd;
};

static void answer(struct answer *a, const char *text)
{
    if (a->fd < 0)
        return;
    ssize_t n = write(a->fd, text, strlen(text));
    (void)n;
    close(a->fd);
    a->fd = -1;
}

static void ready(void *ctx, const struct pp_err *failed)
{
    answer(ctx, failed ? failed->text : PP_COLLECTOR_READY);
}

/* A session of its own: what ends the program's terminal or process group is not to end the collector. 1 in
 * the process that is to end. */
static int detach(struct answer *a)
{
    pid_t pid = fork();
    if (pid < 0)
        answer(a, strerror(errno));
    if (pid != 0)
        return 1;
    setsid();
    return 0;
}

static int run(int argc, char **argv)
{
    struct options o = {.lock_fd = -1, .ready_fd = -1};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    int n, exit_code;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    if (!operands)
        return pp_cli_fail(&pp_cmd_drain,
                           (pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments"), &err));
    exit_code = pp_cli_parse(&pp_cmd_drain, &set, argc, argv, operands, &n);
    if (exit_code >= 0)
        goto out;
    struct answer to = {.fd = (int)o.ready_fd};
    exit_code = 0;
    pp_status status = PP_OK;
    if (n != 1 || o.lock_fd < 0)
        status = pp_fail(
            &err, PP_E_USAGE,
            "libpipeprobe starts this for a program that records; to see a run use 'pipeprobe report FILE'");
    else if (to.fd >= 0 && detach(&to))
        goto out;
    else
        status = pp_collect(operands[0], (int)o.lock_fd, ready, &to, &err);
    if (status != PP_OK)
        exit_code = pp_cli_fail(&pp_cmd_drain, &err);
out:
    free(operands);
    return exit_code;
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
