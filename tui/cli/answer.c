/* `pipeprobe answer`: what a report decides, as one short document for a program. */
#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "tui/cli/cli.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/trace_report.h"

struct options {
    const char *loader;
};

/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "loader", .type = PP_OPT_STRING, .offset = offsetof(struct options, loader), .arg = "NAME", .group = "Options",
     .help = "of several DataLoaders the one to judge: its variable, or file:line"},
    {.name = NULL},
};
/* clang-format on */

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct pp_report *report = NULL;
    char path[4096];
    pp_status st = pp_choose_recording(operands, n, path, sizeof(path), err);
    if (st == PP_OK)
        st = pp_report_of_file(path, o->loader, &report, err);
    errno = 0;
    if (st == PP_OK && pp_render_answer(report, path, stdout) != 0)
        st = pp_fail_errno(err, errno, "cannot write the answer to standard output");
    if (st == PP_OK)
        *code = pp_report_exit_code(report);
    pp_report_free(report);
    return st;
}

const struct pp_command pp_cmd_answer = {
    .name = "answer",
    .summary = "the verdict for a program: codes, numbers, changes, what to run next",
    .usage = "answer [FILE|DIR] [--loader NAME]",
    .opts = opts,
    .notes = "One JSON document of schema pipeprobe.answer/1, at most 4,000 bytes. Texts that\n"
             "come out of the recording stand under \"untrusted\" and nowhere else.\n"
             "Exit codes as report: 0 for a verdict, 3 when too little was recorded.",
    .examples = {"pipeprobe answer run.sqlite | jq .changes[0].set",
                 "pipeprobe answer run.sqlite | jq -r .stop"},
    .fields = sizeof(struct options),
    .act = act,
};
