/* `pipeprobe ci`: gates for continuous integration. */
#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "report/ci/baseline.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- ci baseline save|show|update: the file that later runs are compared with ---- */

pp_status ci_save_baseline(const struct ci_opts *o, const struct pp_runs *runs, struct pp_err *err)
{
    struct pp_baseline_about about = {.version = PP_VERSION};
    time_t now = time(NULL);
    struct tm tm;
    strftime(about.created_utc, sizeof(about.created_utc), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    if (o->label && strlen(o->label) >= sizeof(about.label))
        return pp_fail(err, PP_E_USAGE, "--label is too long (%zu bytes)", strlen(o->label));
    snprintf(about.label, sizeof(about.label), "%s", o->label ? o->label : "");
    pp_status st = pp_baseline_write(o->baseline, runs, &about, err);
    if (st == PP_OK && !o->quiet)
        fprintf(stderr, "pipeprobe ci: %s now holds %zu run%s\n", o->baseline, runs->n,
                runs->n == 1 ? "" : "s");
    return st;
}

/* Runs of one machine and one set of options, all finished. */
static pp_status load_samples(const char *const *words, int n, struct pp_runs *runs, struct pp_err *err)
{
    struct pp_compare_opts o;
    pp_status st = n > 0 ? pp_runs_load(words, (size_t)n, runs, err)
                         : pp_fail(err, PP_E_USAGE, "no runs given: name recordings, or directories of them");
    pp_compare_defaults(&o);
    if (st == PP_OK)
        st = pp_compare_check_side(&(struct pp_compare_side){words[0], runs}, err);
    return st == PP_OK ? pp_compare_check_environment(runs, runs, &o, err) : st;
}

/* Never by runs that are worse or not comparable: *code is what the comparison says. */
static pp_status update_baseline(const struct ci_opts *o, const char *const *words, int n, int *code,
                                 struct pp_err *err)
{
    struct pp_runs base = {0}, head = {0};
    struct pp_compare c = {0};
    struct pp_compare_opts settings;
    const char *allow[40];
    pp_status st = gate_settings(&o->gate, allow, &settings, err);
    if (st == PP_OK)
        st = gate_check_outputs(&o->gate, err);
    if (st == PP_OK)
        st = pp_baseline_read(o->baseline, &base, NULL, err);
    if (st == PP_OK)
        st = load_samples(words, n, &head, err);
    if (st == PP_OK)
        st = pp_compare_build(&(struct pp_compare_side){o->baseline, &base},
                              &(struct pp_compare_side){words[0], &head}, &settings, &c, err);
    if (st == PP_OK)
        st = gate_write(&o->gate, &c, err);
    if (st == PP_OK && c.answer == PP_NOT_REGRESSED)
        st = ci_save_baseline(o, &head, err);
    else if (st == PP_OK && !o->quiet)
        fprintf(stderr, "pipeprobe ci: the baseline %s is unchanged: the answer is %s\n", o->baseline,
                pp_answer_name(c.answer));
    *code = st == PP_OK ? pp_compare_exit_code(&c, o->gate.strict) : 0;
    pp_compare_free(&c);
    pp_runs_free(&base);
    pp_runs_free(&head);
    return st;
}

static pp_status show_baseline(const struct ci_opts *o, struct pp_err *err)
{
    char text[32];
    struct pp_runs runs = {0};
    struct pp_baseline_about about = {0};
    pp_status st = pp_baseline_read(o->baseline, &runs, &about, err);
    if (st == PP_OK) {
        printf("%s: %zu run%s, saved %s by pipeprobe %s%s%s\n\n", o->baseline, runs.n, runs.n == 1 ? "" : "s",
               about.created_utc, about.version, about.label[0] ? ", " : "", about.label);
        for (int id = 0; id < PP_CMP_COUNT_OF_METRICS; id++) {
            const struct pp_cmp_metric *m = &pp_cmp_metrics[id];
            printf("%-20s", m->title);
            for (size_t i = 0; i < runs.n; i++)
                printf(" %9s", pp_cmp_value_text(text, sizeof(text), m, runs.run[i].metric[id]));
            putchar('\n');
        }
        printf("\nMade on\n");
        for (const struct pp_same_field *f = pp_same_fields; f->name; f++)
            if (pp_run_field(&runs.run[0], f->name))
                printf("  %-24s %s\n", f->name, pp_run_field(&runs.run[0], f->name));
        if (fflush(stdout) != 0)
            st = pp_fail_errno(err, errno, "cannot write to standard output");
    }
    pp_runs_free(&runs);
    return st;
}

/* baseline save|show|update RUNS...: words[0] is what to do. Returns the exit code. */
static int ci_baseline(const struct ci_opts *o, const char *const *words, int n)
{
    static const char *const verbs[] = {"save", "show", "update", NULL};
    struct pp_err err = {0};
    pp_status st = PP_OK;
    char near[128] = "";
    int code = 0;
    if (n > 0 && strcmp(words[0], "save") == 0) {
        struct pp_runs runs = {0};
        if (!o->gate.force && access(o->baseline, F_OK) == 0)
            st = pp_fail(
                &err, PP_E_EXISTS,
                "%s exists; 'ci baseline update' replaces it unless the runs are worse, --force always",
                o->baseline);
        if (st == PP_OK)
            st = load_samples(words + 1, n - 1, &runs, &err);
        if (st == PP_OK)
            st = ci_save_baseline(o, &runs, &err);
        pp_runs_free(&runs);
    } else if (n > 0 && strcmp(words[0], "update") == 0) {
        st = update_baseline(o, words + 1, n - 1, &code, &err);
    } else if (n > 0 && strcmp(words[0], "show") == 0) {
        st = n == 1 ? show_baseline(o, &err)
                    : pp_fail(&err, PP_E_USAGE,
                              "'ci baseline show' takes no operand; --baseline names the file");
    } else {
        st = pp_fail(&err, PP_E_USAGE, "'ci baseline' needs a subcommand: save, show or update%s",
                     n > 0 ? pp_did_you_mean(near, words[0], verbs) : "");
    }
    return st == PP_OK ? code : gate_fail(o->cmd, &o->gate, &err);
}

/* ---- the command ---- */

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
    const char *const *words = (const char *const *)argv;
    char near[128] = "", **rest; /* what stands behind "--" belongs to `pipeprobe run` */
    int n, code = pp_cli_parse_job(&pp_cmd_ci, &set, argc, argv, &n, &rest),
           n_rest = rest ? (int)(argv + argc - rest) : 0;
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
