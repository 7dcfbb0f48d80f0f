/* `pipeprobe compare`: repeated runs of two versions, or of two machines' worth of options, against each
 * other. */
#include "collectors/import/import.h"
#include "probe/base/err.h"
#include "report/ci/baseline.h"
#include "report/compare/load.h"
#include "tui/cli/gate.h"

struct options {
    struct gate_opts gate;
    int paired;
};

/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "paired", .advanced = 1, .type = PP_OPT_FLAG, .offset = offsetof(struct options, paired),
     .group = "Gate",
     .help = "pairwise: run k of BASE and run k of HEAD ran side by side"},
    GATE_OPT_ROWS(struct options, gate, "no"),
    {.name = NULL},
};
/* clang-format on */

/* JSON may also be a trace: what opens recordings says what to do with one. */
static pp_status load_side(const char *operand, struct pp_runs *runs, struct pp_err *err)
{
    return pp_baseline_is(operand) && !pp_import_trace_format(operand)
               ? pp_baseline_read(operand, runs, NULL, err)
               : pp_runs_load(&operand, 1, runs, err);
}

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct pp_runs base = {0}, head = {0};
    struct pp_compare c = {0};
    struct pp_compare_opts settings;
    const char *allow[40], **operands = (const char **)argv;
    int n, code = pp_cli_parse(&pp_cmd_compare, &set, argc, argv, operands, &n);
    pp_status st = PP_OK;
    if (code >= 0)
        return code;
    if (n < 2)
        st = pp_fail(
            &err, PP_E_USAGE,
            "give BASE and HEAD: a recording, a directory of them, a 'glob*' in quotes, or a baseline.json");
    else if (n > 2)
        st = pp_fail(
            &err, PP_E_USAGE,
            "two operands, BASE and HEAD, but %d were given (%s, %s, %s%s); put several recordings in a directory, or a glob in quotes",
            n, operands[0], operands[1], operands[2], n > 3 ? ", ..." : "");
    if (st == PP_OK)
        st = gate_settings(&o.gate, allow, &settings, &err);
    settings.paired = o.paired;
    if (st == PP_OK)
        st = gate_check_outputs(&o.gate, &err);
    if (st == PP_OK)
        st = load_side(operands[0], &base, &err);
    if (st == PP_OK)
        st = load_side(operands[1], &head, &err);
    if (st == PP_OK)
        st = pp_compare_build(&(struct pp_compare_side){operands[0], &base},
                              &(struct pp_compare_side){operands[1], &head}, &settings, &c, &err);
    if (st == PP_OK)
        st = gate_write(&o.gate, &c, &err);
    code = st == PP_OK ? pp_compare_exit_code(&c, o.gate.strict) : gate_fail(&pp_cmd_compare, &o.gate, &err);
    pp_compare_free(&c);
    pp_runs_free(&base);
    pp_runs_free(&head);
    return code;
}

const struct pp_command pp_cmd_compare = {
    .name = "compare",
    .summary = "test whether repeated runs of HEAD are worse than those of BASE",
    .usage = "compare BASE HEAD [options]",
    .opts = opts,
    .notes = "BASE, HEAD: a recording, a directory of them, a 'glob*' in quotes, or a\n"
             "baseline.json. Timings need 7 runs a side; counts (bytes, reads, batches,\n"
             "errors) need one.\n"
             "Exit codes: 0 not regressed, 1 regressed, 2 usage, 3 inconclusive or not\n"
             "comparable (--strict: 1), 4 a file is damaged or not a recording.",
    .examples = {"pipeprobe compare runs/main runs/branch",
                 "pipeprobe compare base.json 'head-*.sqlite' --threshold samples_per_s=3%"},
    .run = run,
};
