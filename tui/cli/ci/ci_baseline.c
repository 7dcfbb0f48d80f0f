/* `pipeprobe ci baseline save|show|update`: the file that later runs are compared with. */
#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "report/ci/baseline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

int ci_baseline(const struct ci_opts *o, const char *const *words, int n)
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
