/* `pipeprobe ci`: gates for continuous integration. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "report/ci/baseline.h"
#include "report/ci/plan.h"
#include "report/compare/run.h"
#include "tui/cli/gate.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct ci_opts {
    const struct pp_command *cmd; /* whose errors these are */
    struct gate_opts gate;
    int64_t runs, max_runs, warmup_runs;
    const char *ab, *baseline, *keep, *label;
    int aa, lenient, update, quiet;
};

/* ---- ci baseline save|show|update: the file that later runs are compared with ---- */

/* Writes head's runs as the baseline, with label, time and version. */
static pp_status ci_save_baseline(const struct ci_opts *o, const struct pp_runs *runs, struct pp_err *err)
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
                pp_answer_names[c.answer]);
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

/* ---- ci run: repeated runs of one or two versions, in an order that is fair to both, and the gate ---- */

/* One recorded run in a child process. */
struct command {
    const char *shell; /* a shell command, or NULL: this program's `run` or `exec`. "-o FILE --quiet --force"
                          stands for its "$@", and is appended where it has none */
    char **argv;       /* its words otherwise */
    int argc;
};

enum { EXEC_NOT_BEGUN = 125 }; /* docs/reference/exit-codes.md */

/* ---- words of the child ---- */

/* The words name their command when they begin with it; a data set of that name is ./exec. */
static int begins_with(const struct command *cmd, const char *name)
{
    return !cmd->shell && cmd->argc > 0 && strcmp(cmd->argv[0], name) == 0;
}

/* "run" WORDS... "-o" PATH "--quiet" "--force"; "exec" with the same before its words, for behind "--" they
 * would be the program's; or the shell with the same as its parameters. Its output goes to log. *status as
 * waitpid(2) gives it. */
static pp_status run_child(const struct command *cmd, const char *path, const char *log, int *status,
                           struct pp_err *err)
{
    char *script = NULL;
    int exec = begins_with(cmd, "exec"), skip = exec || begins_with(cmd, "run"), out, e;
    struct again a = {.in = AGAIN_NULL};
    pid_t pid = 0;
    if (cmd->shell) {
        int takes_words = strstr(cmd->shell, "$@") != NULL || strstr(cmd->shell, "${@}") != NULL;
        a.program = "/bin/sh";
        if (asprintf(&script, "%s%s", cmd->shell, takes_words ? "" : " \"$@\"") < 0)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to start a run");
        again_add(&a, a.program, "-c", script, "sh", NULL);
    } else {
        again_add(&a, "pipeprobe", exec ? "exec" : "run", NULL);
        if (!exec)
            again_add_all(&a, cmd->argv + skip, (size_t)(cmd->argc - skip));
    }
    again_add(&a, "-o", path, "--quiet", "--force", NULL);
    if (exec)
        again_add_all(&a, cmd->argv + skip, (size_t)(cmd->argc - skip));
    out = pp_io_open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    a.failed = out < 0 ? errno : 0;
    a.out = a.errors = out;
    e = again_start(&a, &pid);
    if (out >= 0)
        close(out);
    free(script);
    if (e != 0)
        return pp_fail_errno(err, e, "%s cannot be started", cmd->shell ? "/bin/sh" : "pipeprobe");
    interrupt_passes_to(pid);
    *status = again_wait(pid);
    e = errno;
    interrupt_passes_no_more();
    return *status < 0 ? pp_fail_errno(err, e, "waiting for a run failed") : PP_OK;
}

/* Makes one run into path and loads it. A run that fails, or does not finish, is PP_E_SYSTEM with the end of
 * what it said; PP_E_USAGE when it refused its options; PP_E_INTERRUPTED: the run in hand is ended, and
 * nothing is left behind.
 */
static pp_status make_run(const struct command *cmd, const char *path, struct pp_runs *into,
                          struct pp_err *err)
{
    char log[PATH_MAX];
    const char *operand = path;
    int status = 0;
    /* logs/NAME.log in the same directory, so that no pattern for recordings matches it. */
    const char *slash = strrchr(path, '/');
    int n = snprintf(log, sizeof(log), "%.*s/logs/%s.log", slash ? (int)(slash - path) : 1,
                     slash ? path : ".", slash ? slash + 1 : path);
    if (n <= 0 || (size_t)n >= sizeof(log))
        return pp_fail(err, PP_E_USAGE, "the path %s is too long", path);
    *strrchr(log, '/') = '\0';
    mkdir(log, 0777); /* where it cannot be, opening the log says why */
    log[strlen(log)] = '/';
    pp_status st = run_child(cmd, path, log, &status, err);
    if (st != PP_OK)
        return st;
    if (interrupt_asked())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
    int exec = begins_with(cmd, "exec"), /* whose exit code is the program's own */
        code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && (exec || code != pp_status_exit_code(PP_E_INCONCLUSIVE))) {
        /* A run whose own verdict is inconclusive was measured all the same; this one was not. */
        char said[320];
        struct statvfs fs;
        if (!again_last_line(log, said, sizeof(said)))
            snprintf(said, sizeof(said),
                     statvfs(log, &fs) == 0 && fs.f_bavail == 0 ? "its messages did not fit in %s"
                                                                : "no message",
                     log);
        if (exec && code > 0)
            return pp_fail(err, code == EXEC_NOT_BEGUN ? PP_E_USAGE : PP_E_SYSTEM,
                           "a run ended with exit code %d and is not compared: %s (its output: %s)", code,
                           said, log);
        if (code == pp_status_exit_code(PP_E_INTERRUPTED))
            return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
        if (WIFSIGNALED(status))
            return pp_fail(err, PP_E_SYSTEM, "a run was ended by signal %d and is not compared: %s",
                           WTERMSIG(status), said);
        return pp_fail(err, code == pp_status_exit_code(PP_E_USAGE) ? PP_E_USAGE : PP_E_SYSTEM,
                       "a run failed with exit code %d and is not compared: %s", code, said);
    }
    st = pp_runs_load(&operand, 1, into, err);
    if (st != PP_OK)
        return st;
    struct pp_runs last = {.run = into->run + into->n - 1, .n = 1};
    struct pp_err why;
    if (pp_compare_check_side(&(struct pp_compare_side){path, &last}, &why) == PP_OK)
        return PP_OK;
    return pp_fail(err, PP_E_SYSTEM, "%s", why.text); /* exit code 4: this was to be a measurement */
}

/* ---- the runs of both sides ---- */

struct job {
    const struct ci_opts *o;
    struct command command[2]; /* by enum pp_ci_side */
    struct pp_runs runs[2];
    size_t made;   /* runs that count, of both sides */
    int two_sided; /* both sides are made here; else base comes from the baseline */
    int has_base;
    char dir[PATH_MAX - 64];
    const char *allow[40];
    struct pp_compare_opts settings;
    struct pp_compare result;
    struct pp_progress progress;
};

/* ---- runs ---- */

static struct pp_compare_side side_of(const struct job *j, enum pp_ci_side side)
{
    const char *base = j->o->aa ? "the same command (A/A)" : j->o->ab ? j->o->ab : j->o->baseline;
    return (struct pp_compare_side){side == PP_CI_BASE ? base : "this run", &j->runs[side]};
}

/* Up to `runs` on each side that is made here. What cannot be compared ends it before more are made for
 * nothing. */
static pp_status make_runs(struct job *j, size_t runs, struct pp_err *err)
{
    size_t total = j->two_sided ? 2 * runs : runs;
    char name[48], path[PATH_MAX];
    pp_status st = PP_OK;
    for (; j->made < total && st == PP_OK; j->made++) {
        enum pp_ci_side side = j->two_sided ? pp_ci_abba(j->made) : PP_CI_HEAD;
        snprintf(name, sizeof(name), "%s-%02zu", side == PP_CI_BASE ? "base" : "head", j->runs[side].n + 1);
        pp_progress_line(&j->progress, "run %zu of %zu: %s", j->made + 1, total, name);
        snprintf(path, sizeof(path), "%s/%s.sqlite", j->dir, name);
        st = j->o->keep && !j->o->gate.force && access(path, F_OK) == 0
                 ? pp_fail(err, PP_E_EXISTS, "%s exists; --force replaces the runs in it", path)
                 : make_run(&j->command[side], path, &j->runs[side], err);
        struct pp_compare_side made = side_of(j, side);
        int both = j->runs[PP_CI_BASE].n && j->runs[PP_CI_HEAD].n;
        if (st == PP_OK && made.runs->n > 1)
            st = pp_compare_check_side(&made, err);
        if (st == PP_OK && both && j->runs[PP_CI_HEAD].n == 1)
            st = pp_compare_check_environment(&j->runs[PP_CI_BASE], &j->runs[PP_CI_HEAD], &j->settings, err);
    }
    return st;
}

/* ---- the job ---- */

static pp_status prepare(struct job *j, char **run_argv, int run_argc, struct pp_err *err)
{
    const struct ci_opts *o = j->o;
    if (run_argc == 0)
        return pp_fail(
            err, PP_E_USAGE,
            "no run given: write the operands and options of 'pipeprobe run' after --, or exec and a command line: exec -- python train.py");
    if (o->ab && o->aa)
        return pp_fail(err, PP_E_USAGE, "--ab and --aa both define BASE; give one");
    if (o->update && (o->ab || o->aa))
        return pp_fail(err, PP_E_USAGE,
                       "--update writes the compared baseline, but --%s compares without one",
                       o->ab ? "ab" : "aa");
    if (o->max_runs < o->runs && o->max_runs >= 0)
        return pp_fail(err, PP_E_USAGE, "--max-runs %lld is below --runs %lld", (long long)o->max_runs,
                       (long long)o->runs);
    j->command[PP_CI_HEAD] = (struct command){.argv = run_argv, .argc = run_argc};
    j->command[PP_CI_BASE] = j->command[PP_CI_HEAD];
    if (o->ab && !strstr(o->ab, "$@") && !strstr(o->ab, "${@}") && strstr(o->ab, " exec ") &&
        strstr(o->ab, " -- "))
        return pp_fail(
            err, PP_E_USAGE,
            "--ab: what follows -- belongs to the program; write \"$@\" where exec's own options go: 'pipeprobe exec "
            "\"$@\" -- python train.py'");
    if (o->ab)
        j->command[PP_CI_BASE] = (struct command){.shell = o->ab};
    j->two_sided = o->ab || o->aa;
    j->has_base = j->two_sided || access(o->baseline, F_OK) == 0;
    if (!j->has_base && !o->lenient)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "baseline %s does not exist; 'pipeprobe ci baseline save' creates it, --lenient continues without",
            o->baseline);
    pp_status st = gate_settings(&o->gate, j->allow, &j->settings, err);
    if (st == PP_OK)
        st = gate_check_outputs(&o->gate, err);
    if (st == PP_OK && j->has_base && !j->two_sided)
        st = pp_baseline_read(o->baseline, &j->runs[PP_CI_BASE], NULL, err);
    if (st != PP_OK)
        return st;
    /* Where the recordings go. */
    const char *tmp = getenv("TMPDIR");
    char name[PATH_MAX];
    int n = o->keep
                ? snprintf(j->dir, sizeof(j->dir), "%s", o->keep)
                : snprintf(j->dir, sizeof(j->dir), "%s/pipeprobe-ci-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (n >= (int)sizeof(j->dir))
        return pp_fail(err, PP_E_USAGE, "the directory's name is too long (%d bytes)", n);
    int failed = o->keep ? mkdir(j->dir, 0777) != 0 && errno != EEXIST : mkdtemp(j->dir) == NULL;
    if (failed) {
        int e = errno;
        snprintf(name, sizeof(name), "%s", j->dir);
        j->dir[0] = '\0';
        return pp_fail_errno(err, e, "cannot create the directory %s for the recordings", name);
    }
    return PP_OK;
}

/* One look, and a second one only when the first was inconclusive in a way that runs can settle. */
static pp_status measure(struct job *j, struct pp_err *err)
{
    size_t runs = (size_t)j->o->runs, max = j->o->max_runs < 0 ? 2 * runs : (size_t)j->o->max_runs;
    struct pp_runs ignored = {0};
    char path[PATH_MAX];
    pp_status st = PP_OK;
    /* Fills the page cache and wakes the machine up; thrown away. */
    for (int64_t i = 0; i < j->o->warmup_runs && st == PP_OK; i++) {
        pp_progress_line(&j->progress, "warm-up run %lld of %lld", (long long)i + 1,
                         (long long)j->o->warmup_runs);
        snprintf(path, sizeof(path), "%s/warm-up.sqlite", j->dir);
        st = make_run(&j->command[PP_CI_HEAD], path, &ignored, err);
        unlink(path);
        snprintf(path, sizeof(path), "%s/logs/warm-up.sqlite.log", j->dir);
        if (st == PP_OK) /* of one that failed the sentence names it */
            unlink(path);
    }
    pp_runs_free(&ignored);
    j->settings.paired = j->two_sided;
    for (int look = 0; look < 2; look++) {
        j->settings.look_share = pp_ci_look_share(runs, max, look);
        if (st == PP_OK)
            st = make_runs(j, look ? max : runs, err);
        if (st == PP_OK && j->has_base) {
            struct pp_compare_side base = side_of(j, PP_CI_BASE), head = side_of(j, PP_CI_HEAD);
            pp_progress_clear(&j->progress);
            pp_compare_free(&j->result);
            st = pp_compare_build(&base, &head, &j->settings, &j->result, err);
        }
        if (look || st != PP_OK || !j->has_base || max == runs || !pp_compare_more_runs_help(&j->result))
            break;
        if (!j->o->quiet)
            fprintf(stderr,
                    "pipeprobe ci: inconclusive after %zu runs a side; continuing to %zu (--max-runs)\n",
                    runs, max);
    }
    return st;
}

/* run_argv: the words after --: options of run, or exec and a command line. Returns the exit code. */
static int ci_run(const struct ci_opts *o, char **run_argv, int run_argc)
{
    struct job *j = calloc(1, sizeof(*j));
    struct pp_err err = {0};
    int code;
    if (!j)
        return pp_cli_fail(o->cmd, (pp_fail(&err, PP_E_NO_MEMORY, "no memory"), &err));
    j->o = o;
    interrupt_catch(0, NULL);
    pp_progress_begin(&j->progress, o->quiet);
    pp_status st = prepare(j, run_argv, run_argc, &err);
    if (st == PP_OK)
        st = measure(j, &err);
    pp_progress_clear(&j->progress);
    code = st == PP_OK && j->has_base ? pp_compare_exit_code(&j->result, o->gate.strict) : 0;
    if (st == PP_OK && !j->has_base && !o->quiet)
        fprintf(stderr, "pipeprobe ci: no baseline %s, so nothing was compared (--lenient)\n", o->baseline);
    if (st == PP_OK && j->has_base)
        st = gate_write(&o->gate, &j->result, &err);
    if (st == PP_OK && o->update && (!j->has_base || j->result.answer == PP_NOT_REGRESSED))
        st = ci_save_baseline(o, &j->runs[PP_CI_HEAD], &err);
    else if (st == PP_OK && o->update && !o->quiet)
        fprintf(stderr, "pipeprobe ci: the baseline %s is unchanged: the answer is %s\n", o->baseline,
                pp_answer_names[j->result.answer]);
    if (st != PP_OK)
        code = gate_fail(o->cmd, &o->gate, &err);
    /* Only what was made here, and only where --keep was not given. */
    char pattern[PATH_MAX];
    glob_t g;
    if (j->dir[0] && !j->o->keep) {
        for (int logs = 0; logs < 2; logs++) {
            snprintf(pattern, sizeof(pattern), "%s/%s", j->dir, logs ? "logs/*.log" : "*.sqlite*");
            if (glob(pattern, 0, NULL, &g) == 0)
                for (size_t i = 0; i < g.gl_pathc; i++)
                    unlink(g.gl_pathv[i]);
            globfree(&g);
        }
        snprintf(pattern, sizeof(pattern), "%s/logs", j->dir);
        rmdir(pattern);
        rmdir(j->dir);
    }
    pp_compare_free(&j->result);
    pp_runs_free(&j->runs[PP_CI_BASE]);
    pp_runs_free(&j->runs[PP_CI_HEAD]);
    free(j);
    return code;
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
