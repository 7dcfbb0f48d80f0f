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

/* JSON may also be a trace: what opens recordings says what to do with one. */
static pp_status load_side(const char *operand, struct pp_runs *runs, struct pp_err *err)
{
    return pp_baseline_is(operand) && !pp_import_trace_format(operand)
               ? pp_baseline_read(operand, runs, NULL, err)
               : pp_runs_load(&operand, 1, runs, err);
}

/* The runs that a page draws, one of each side: of several that with the median rate. */
struct drawn {
    struct pp_report *base, *head;
};

static int put_page(void *of, const struct pp_compare *c, FILE *out)
{
    const struct drawn *d = of;
    return pp_compare_html(c, d->base, d->head, out);
}

static pp_status draw_side(const char *operand, const struct pp_runs *runs, double median,
                           struct pp_report **out, struct pp_err *err)
{
    size_t nearest = 0;
    if (pp_baseline_is(operand) && !pp_import_trace_format(operand)) /* no spans are in it */
        return PP_OK;
    for (size_t i = 1; i < runs->n; i++)
        if (fabs(runs->run[i].metric[PP_CMP_SAMPLES_PER_S] - median) <
            fabs(runs->run[nearest].metric[PP_CMP_SAMPLES_PER_S] - median))
            nearest = i;
    return pp_report_build(runs->run[nearest].path, out, err);
}

static int run(int argc, char **argv)
{
    struct drawn drawn = {0};
    struct options o = {.gate = {.page = put_page, .page_of = &drawn}};
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
    if (st == PP_OK && o.gate.output && pp_ends_in(o.gate.output, ".html")) {
        const struct pp_compare_metric *rate = &c.metric[PP_CMP_SAMPLES_PER_S];
        st = draw_side(operands[0], &base, rate->base_median, &drawn.base, &err);
        if (st == PP_OK)
            st = draw_side(operands[1], &head, rate->head_median, &drawn.head, &err);
    }
    if (st == PP_OK)
        st = gate_write(&o.gate, &c, &err);
    code = st == PP_OK ? pp_compare_exit_code(&c, o.gate.strict) : gate_fail(&pp_cmd_compare, &o.gate, &err);
    pp_report_free(drawn.base);
    pp_report_free(drawn.head);
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
             "errors) need one. -o FILE.html draws both sides as one page.\n"
             "Exit codes: 0 not regressed, 1 regressed, 2 usage, 3 inconclusive or not\n"
             "comparable (--strict: 1), 4 a file is damaged or not a recording.",
    .examples = {"pipeprobe compare before.sqlite after.sqlite -o diff.html",
                 "pipeprobe compare base.json 'head-*.sqlite' --threshold samples_per_s=3%"},
    .run = run,
};
