/* `pipeprobe ci run`: repeated runs of one or two versions, in an order that is fair to both, and the gate on
 * them. */
#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "report/ci/baseline.h"
#include "report/ci/plan.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int takes_words(const char *shell)
{
    return strstr(shell, "$@") != NULL || strstr(shell, "${@}") != NULL;
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
        a.program = "/bin/sh";
        if (asprintf(&script, "%s%s", cmd->shell, takes_words(cmd->shell) ? "" : " \"$@\"") < 0)
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

/* ---- what became of it ---- */

static pp_status check_status(const struct command *cmd, int status, const char *log, struct pp_err *err)
{
    char said[320];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (interrupt_asked())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
    int exec = begins_with(cmd, "exec"); /* whose exit code is the program's own */
    if (code == 0 || (!exec && code == pp_status_exit_code(PP_E_INCONCLUSIVE)))
        return PP_OK; /* a run whose own verdict is inconclusive was measured all the same */
    struct statvfs fs;
    if (!again_last_line(log, said, sizeof(said)))
        snprintf(said, sizeof(said),
                 statvfs(log, &fs) == 0 && fs.f_bavail == 0 ? "its messages did not fit in %s" : "no message",
                 log);
    if (exec && code > 0)
        return pp_fail(err, code == EXEC_NOT_BEGUN ? PP_E_USAGE : PP_E_SYSTEM,
                       "a run ended with exit code %d and is not compared: %s (its output: %s)", code, said,
                       log);
    if (code == pp_status_exit_code(PP_E_INTERRUPTED))
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted during a run; nothing was compared");
    if (WIFSIGNALED(status))
        return pp_fail(err, PP_E_SYSTEM, "a run was ended by signal %d and is not compared: %s",
                       WTERMSIG(status), said);
    return pp_fail(err, code == pp_status_exit_code(PP_E_USAGE) ? PP_E_USAGE : PP_E_SYSTEM,
                   "a run failed with exit code %d and is not compared: %s", code, said);
}

/* logs/NAME.log in the same directory, so that no pattern for recordings matches it. 0, or -1: too long. */
static int log_path(const char *path, char *log, size_t size)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) : 1,
        n = snprintf(log, size, "%.*s/logs/%s.log", dir, slash ? path : ".", slash ? slash + 1 : path);
    return n > 0 && (size_t)n < size ? 0 : -1;
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
    if (log_path(path, log, sizeof(log)) != 0)
        return pp_fail(err, PP_E_USAGE, "the path %s is too long", path);
    *strrchr(log, '/') = '\0';
    mkdir(log, 0777); /* where it cannot be, opening the log says why */
    log[strlen(log)] = '/';
    pp_status st = run_child(cmd, path, log, &status, err);
    if (st == PP_OK)
        st = check_status(cmd, status, log, err);
    if (st == PP_OK)
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

/* ---- where the recordings go ---- */

static pp_status make_dir(struct job *j, struct pp_err *err)
{
    const char *tmp = getenv("TMPDIR");
    size_t size = sizeof(j->dir);
    int n = j->o->keep ? snprintf(j->dir, size, "%s", j->o->keep)
                       : snprintf(j->dir, size, "%s/pipeprobe-ci-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (n >= (int)size)
        return pp_fail(err, PP_E_USAGE, "the directory's name is too long (%d bytes)", n);
    int failed = j->o->keep ? mkdir(j->dir, 0777) != 0 && errno != EEXIST : mkdtemp(j->dir) == NULL;
    if (failed) {
        int e = errno;
        char name[PATH_MAX];
        snprintf(name, sizeof(name), "%s", j->dir);
        j->dir[0] = '\0';
        return pp_fail_errno(err, e, "cannot create the directory %s for the recordings", name);
    }
    return PP_OK;
}

/* ---- runs ---- */

/* Fills the page cache and wakes the machine up; thrown away. */
static pp_status warm_up(struct job *j, struct pp_err *err)
{
    struct pp_runs ignored = {0};
    char path[PATH_MAX], log[PATH_MAX];
    pp_status st = PP_OK;
    for (int64_t i = 0; i < j->o->warmup_runs && st == PP_OK; i++) {
        pp_progress_line(&j->progress, "warm-up run %lld of %lld", (long long)i + 1,
                         (long long)j->o->warmup_runs);
        snprintf(path, sizeof(path), "%s/warm-up.sqlite", j->dir);
        st = make_run(&j->command[PP_CI_HEAD], path, &ignored, err);
        unlink(path);
        if (st == PP_OK &&
            log_path(path, log, sizeof(log)) == 0) /* of one that failed the sentence names it */
            unlink(log);
    }
    pp_runs_free(&ignored);
    return st;
}

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

static pp_status compare_sides(struct job *j, struct pp_err *err)
{
    struct pp_compare_side base = side_of(j, PP_CI_BASE), head = side_of(j, PP_CI_HEAD);
    pp_progress_clear(&j->progress);
    pp_compare_free(&j->result);
    return pp_compare_build(&base, &head, &j->settings, &j->result, err);
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
    if (o->ab && !takes_words(o->ab) && strstr(o->ab, " exec ") && strstr(o->ab, " -- "))
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
    return st == PP_OK ? make_dir(j, err) : st;
}

/* One look, and a second one only when the first was inconclusive in a way that runs can settle. */
static pp_status measure(struct job *j, struct pp_err *err)
{
    size_t runs = (size_t)j->o->runs, max = j->o->max_runs < 0 ? 2 * runs : (size_t)j->o->max_runs;
    j->settings.paired = j->two_sided;
    j->settings.look_share = pp_ci_look_share(runs, max, 0);
    pp_status st = warm_up(j, err);
    if (st == PP_OK)
        st = make_runs(j, runs, err);
    if (st == PP_OK && j->has_base)
        st = compare_sides(j, err);
    if (st != PP_OK || !j->has_base || max == runs || !pp_compare_more_runs_help(&j->result))
        return st;
    if (!j->o->quiet)
        fprintf(stderr, "pipeprobe ci: inconclusive after %zu runs a side; continuing to %zu (--max-runs)\n",
                runs, max);
    j->settings.look_share = pp_ci_look_share(runs, max, 1);
    st = make_runs(j, max, err);
    return st == PP_OK ? compare_sides(j, err) : st;
}

/* Returns the exit code. */
static int conclude(struct job *j, struct pp_err *err)
{
    const struct ci_opts *o = j->o;
    int code = j->has_base ? pp_compare_exit_code(&j->result, o->gate.strict) : 0;
    pp_status st = PP_OK;
    if (j->has_base)
        st = gate_write(&o->gate, &j->result, err);
    else if (!o->quiet)
        fprintf(stderr, "pipeprobe ci: no baseline %s, so nothing was compared (--lenient)\n", o->baseline);
    if (st == PP_OK && o->update && (!j->has_base || j->result.answer == PP_NOT_REGRESSED))
        st = ci_save_baseline(o, &j->runs[PP_CI_HEAD], err);
    else if (st == PP_OK && o->update && !o->quiet)
        fprintf(stderr, "pipeprobe ci: the baseline %s is unchanged: the answer is %s\n", o->baseline,
                pp_answer_name(j->result.answer));
    return st == PP_OK ? code : gate_fail(o->cmd, &o->gate, err);
}

int ci_run(const struct ci_opts *o, char **run_argv, int run_argc)
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
    code = st == PP_OK ? conclude(j, &err) : gate_fail(o->cmd, &o->gate, &err);
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
