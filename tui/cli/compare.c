/* `pipeprobe compare`: repeated runs of two versions, or of two machines' worth of options, against each
 * other. */
#include "collectors/import/import.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/ci/baseline.h"
#include "report/compare/render.h"
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

static int run(int argc, char **argv)
{
    struct pp_report *drawn[2] = {NULL, NULL}; /* of several runs that with the median rate */
    struct options o = {.gate = {.page = drawn}};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct pp_runs runs[2] = {0};
    struct pp_compare c = {0};
    struct pp_compare_opts settings;
    const char *allow[40], **operands = (const char **)argv;
    int n, is_baseline[2] = {0, 0}, code = pp_cli_parse(&pp_cmd_compare, &set, argc, argv, operands, &n);
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
    for (int i = 0; i < 2 && st == PP_OK; i++) {
        /* JSON may also be a trace: what opens recordings says what to do with one. */
        is_baseline[i] = pp_baseline_is(operands[i]) && !pp_import_trace_format(operands[i]);
        st = is_baseline[i] ? pp_baseline_read(operands[i], &runs[i], NULL, &err)
                            : pp_runs_load(&operands[i], 1, &runs[i], &err);
    }
    if (st == PP_OK)
        st = pp_compare_build(&(struct pp_compare_side){operands[0], &runs[0]},
                              &(struct pp_compare_side){operands[1], &runs[1]}, &settings, &c, &err);
    int draws = o.gate.output && pp_ends_in(o.gate.output, ".html");
    for (int i = 0; i < 2 && st == PP_OK && draws; i++) {
        const struct pp_compare_metric *rate = &c.metric[PP_CMP_SAMPLES_PER_S];
        double median = i ? rate->head_median : rate->base_median;
        size_t nearest = 0;
        for (size_t k = 1; k < runs[i].n; k++)
            if (fabs(runs[i].run[k].metric[PP_CMP_SAMPLES_PER_S] - median) <
                fabs(runs[i].run[nearest].metric[PP_CMP_SAMPLES_PER_S] - median))
                nearest = k;
        if (!is_baseline[i]) /* no spans are in one */
            st = pp_report_build(runs[i].run[nearest].path, &drawn[i], &err);
    }
    if (st == PP_OK)
        st = gate_write(&o.gate, &c, &err);
    code = st == PP_OK ? pp_compare_exit_code(&c, o.gate.strict) : gate_fail(&pp_cmd_compare, &o.gate, &err);
    pp_compare_free(&c);
    for (int i = 0; i < 2; i++) {
        pp_report_free(drawn[i]);
        pp_runs_free(&runs[i]);
    }
    return code;
}

const struct pp_command pp_cmd_compare = {
    .name = "compare",
    .summary = "test whether repeated runs of HEAD are worse than those of BASE",
    .usage = "compare BASE HEAD [options]",
    .opts = opts,
    .notes = "BASE, HEAD: a recording, a directory of them, a 'glob*' in quotes, or a\n"
             "baseline.json. Timings need 7 runs a side; counts (bytes, reads, batches,\n"
             "errors) need one. -o FILE.html draws both sides as one page.\n"
             "Exit codes: 0 not regressed, 1 regressed, 2 usage, 3 inconclusive or not\n"
             "comparable (--strict: 1), 4 a file is damaged or not a recording.",
    .examples = {"pipeprobe compare before.sqlite after.sqlite -o diff.html",
                 "pipeprobe compare base.json 'head-*.sqlite' --threshold samples_per_s=3%"},
    .run = run,
};
