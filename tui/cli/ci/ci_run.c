/* `pipeprobe ci run`: repeated runs of one or two versions, in an order that is fair to both, and the gate on
 * them. */
#include "tui/cli/ci/ci.h"

#include "probe/base/err.h"
#include "report/ci/baseline.h"
#include "report/ci/plan.h"
#include "tui/cli/jobs/interrupt.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
    const struct ci_opts *o;
    struct ci_command command[2]; /* by enum pp_ci_side */
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

/* Only what was made here, and only where --keep was not given. */
static void remove_dir(struct job *j)
{
    char pattern[PATH_MAX];
    glob_t g;
    if (!j->dir[0] || j->o->keep)
        return;
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

/* ---- runs ---- */

static pp_status make_one(struct job *j, enum pp_ci_side side, const char *name, struct pp_runs *into,
                          struct pp_err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s.sqlite", j->dir, name);
    if (j->o->keep && !j->o->gate.force && access(path, F_OK) == 0)
        return pp_fail(err, PP_E_EXISTS, "%s exists; --force replaces the runs in it", path);
    return ci_make_run(&j->command[side], path, into, err);
}

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
        st = ci_make_run(&j->command[PP_CI_HEAD], path, &ignored, err);
        unlink(path);
        if (st == PP_OK &&
            ci_log_path(path, log, sizeof(log)) == 0) /* of one that failed the sentence names it */
            unlink(log);
    }
    pp_runs_free(&ignored);
    return st;
}

/* Up to `runs` on each side that is made here. */
static pp_status make_runs(struct job *j, size_t runs, struct pp_err *err)
{
    size_t total = j->two_sided ? 2 * runs : runs;
    char name[64];
    pp_status st = PP_OK;
    for (; j->made < total && st == PP_OK; j->made++) {
        enum pp_ci_side side = j->two_sided ? pp_ci_abba(j->made) : PP_CI_HEAD;
        snprintf(name, sizeof(name), "%s-%02zu", side == PP_CI_BASE ? "base" : "head", j->runs[side].n + 1);
        pp_progress_line(&j->progress, "run %zu of %zu: %s", j->made + 1, total, name);
        st = make_one(j, side, name, &j->runs[side], err);
        int both = j->runs[PP_CI_BASE].n && j->runs[PP_CI_HEAD].n;
        if (st == PP_OK && both && j->runs[PP_CI_HEAD].n == 1) /* before six more are made for nothing */
            st = pp_compare_check_environment(&j->runs[PP_CI_BASE], &j->runs[PP_CI_HEAD], &j->settings, err);
    }
    return st;
}

static pp_status compare(struct job *j, struct pp_err *err)
{
    const char *base = j->o->aa ? "the same command (A/A)" : j->o->ab ? j->o->ab : j->o->baseline;
    pp_progress_clear(&j->progress);
    pp_compare_free(&j->result);
    return pp_compare_build(&(struct pp_compare_side){base, &j->runs[PP_CI_BASE]},
                            &(struct pp_compare_side){"this run", &j->runs[PP_CI_HEAD]}, &j->settings,
                            &j->result, err);
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
    j->command[PP_CI_HEAD] = (struct ci_command){.argv = run_argv, .argc = run_argc};
    j->command[PP_CI_BASE] = j->command[PP_CI_HEAD];
    if (o->ab && ci_check_shell(o->ab, err) != PP_OK)
        return err->code;
    if (o->ab)
        j->command[PP_CI_BASE] = (struct ci_command){.shell = o->ab};
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
        st = compare(j, err);
    if (st != PP_OK || !j->has_base || max == runs || !pp_compare_more_runs_help(&j->result))
        return st;
    if (!j->o->quiet)
        fprintf(stderr, "pipeprobe ci: inconclusive after %zu runs a side; continuing to %zu (--max-runs)\n",
                runs, max);
    j->settings.look_share = pp_ci_look_share(runs, max, 1);
    st = make_runs(j, max, err);
    return st == PP_OK ? compare(j, err) : st;
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
    remove_dir(j);
    pp_compare_free(&j->result);
    pp_runs_free(&j->runs[PP_CI_BASE]);
    pp_runs_free(&j->runs[PP_CI_HEAD]);
    free(j);
    return code;
}
