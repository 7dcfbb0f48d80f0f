/* `pipeprobe ci`: gates for continuous integration. */
#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"

#include <string.h>

#define AT(field) .offset = offsetof(struct ci_opts, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "runs", .letter = 'n', .type = PP_OPT_INT, AT(runs), .min = 1, .max = 1000, .arg = "N",
     .dflt = "7", .group = "ci run",
     .help = "runs on each side; at least 7 are needed to show a regression"},
    {.name = "max-runs", .advanced = 1, .type = PP_OPT_INT, AT(max_runs), .min = 1, .max = 1000, .arg = "N",
     .dflt = "auto", .has_auto = 1,
     .help = "continue to this many when inconclusive; auto: twice --runs"},
    {.name = "warmup-runs", .advanced = 1, .type = PP_OPT_INT, AT(warmup_runs), .min = 0, .max = 100,
     .arg = "N", .dflt = "1", .help = "warm-up runs, not counted"},
    {.name = "ab", .type = PP_OPT_STRING, AT(ab), .arg = "BASE_CMD",
     .help = "BASE is this shell command ('old/pipeprobe run DATA'), interleaved with HEAD (ABBA)"},
    {.name = "aa", .type = PP_OPT_FLAG, AT(aa),
     .help = "BASE is the same command: the noise floor of this machine"},
    {.name = "keep", .type = PP_OPT_STRING, AT(keep), .arg = "DIR", .help = "directory for the recordings"},
    {.name = "update", .type = PP_OPT_FLAG, AT(update),
     .help = "save the runs as baseline unless worse or inconclusive"},
    {.name = "baseline", .letter = 'b', .type = PP_OPT_STRING, AT(baseline), .arg = "FILE",
     .dflt = "pipeprobe-baseline.json", .group = "Baseline",
     .help = "the file with earlier runs"},
    {.name = "lenient", .type = PP_OPT_FLAG, AT(lenient),
     .help = "a missing baseline is not an error: nothing is compared"},
    {.name = "label", .advanced = 1, .type = PP_OPT_STRING, AT(label), .arg = "TEXT",
     .help = "label in the baseline, such as a commit"},
    GATE_OPT_ROWS(struct ci_opts, gate, "yes"),
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, AT(quiet), .help = "no progress and no notes"},
    {.name = NULL},
};
/* clang-format on */

static int run(int argc, char **argv)
{
    static const char *const names[] = {"run", "baseline", NULL};
    struct ci_opts o = {.cmd = &pp_cmd_ci};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    const char **words = (const char **)argv;
    char near[128] = "";
    int own = 1, n;
    while (own < argc && strcmp(argv[own], "--") != 0) /* what stands behind belongs to `pipeprobe run` */
        own++;
    char **rest = own < argc ? argv + own + 1 : argv + argc;
    int n_rest = own < argc ? argc - own - 1 : 0, code = pp_cli_parse(&pp_cmd_ci, &set, own, argv, words, &n);
    if (code >= 0)
        return code;
    if (n == 1 && strcmp(words[0], "run") == 0)
        return ci_run(&o, rest, n_rest);
    if (n > 0 && strcmp(words[0], "baseline") == 0 && n_rest == 0)
        return ci_baseline(&o, words + 1, n - 1);
    if (n > 1 && strcmp(words[0], "run") == 0)
        pp_fail(&err, PP_E_USAGE, "'%s' before --: operands and options of 'pipeprobe run' go after --",
                words[1]);
    else
        pp_fail(&err, PP_E_USAGE, "ci needs a subcommand: run or baseline%s",
                n > 0 ? pp_did_you_mean(near, words[0], names) : "");
    return pp_cli_fail(&pp_cmd_ci, &err);
}

const struct pp_command pp_cmd_ci = {
    .name = "ci",
    .summary = "make repeated runs and fail when they are worse than a baseline",
    .usage = "ci run [options] -- RUN OPTIONS | exec -- PROGRAM   or   ci baseline save|update RUNS...|show",
    .opts = opts,
    .notes = "After --: operands and options of 'pipeprobe run', or 'exec' with its options\n"
             "and program. BASE_CMD gets -o FILE --quiet --force at its end, or where it says\n"
             "\"$@\". --keep DIR has the recordings, and what they printed in DIR/logs.\n"
             "Exit codes: 0 not regressed, 1 regressed, 2 usage, 3 inconclusive or not\n"
             "comparable (--strict: 1), 4 a run failed. Failed and unfinished runs are not\n"
             "compared.",
    .examples = {"pipeprobe ci run --junit gate.xml -- ~/imagenet/val --step-ms 45 --epochs 2",
                 "pipeprobe ci run -- exec -- python train.py --steps 200"},
    .run = run,
};
