/* The lab (make bench-diagnosis): stalls of known cause and size, made on this machine by the built
 * pipeprobe, and how often the verdict was right, beside the rules of other tools. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "tui/cli/cli.h"
#include "tests/lab/neighbours.h"
#include "tests/lab/plan.h"
#include "tests/lab/reliability.h"
#include "tests/lab/truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *scenarios, *only, *keep, *again, *scores, *neighbours;
    struct pp_opt_list pool;
    int full, truth, half, severity, fit;
    int64_t seeds, first_seed, truth_rounds;
    double seconds, budget_min;
};

/* In the order of enum seed_half. */
static const struct pp_opt_choice half_choices[] = {
    {"any", "from --first-seed on"},
    {"tune", "odd seeds: for tuning thresholds"},
    {"report", "even seeds: for reported numbers"},
    {"held-out", "20 to 24: no rule was tuned with them"},
    {NULL, NULL},
};

static const struct pp_opt_choice severity_choices[] = {
    {"auto", "medium; all of them with --full"},
    {"mild", NULL},
    {"medium", NULL},
    {"severe", NULL},
    {NULL, NULL},
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "full", .type = PP_OPT_FLAG, .offset = AT(full), .group = "What is run",
     .help = "all three severities and --seeds seeds of every scenario"},
    {.name = "severity", .type = PP_OPT_CHOICE, .offset = AT(severity), .choices = severity_choices,
     .arg = "S", .dflt = "auto", .help = "mild, medium or severe alone"},
    {.name = "seeds", .type = PP_OPT_INT, .offset = AT(seeds), .min = 1, .max = 100, .arg = "N", .dflt = "5",
     .help = "with --full"},
    {.name = "half", .type = PP_OPT_CHOICE, .offset = AT(half), .choices = half_choices, .arg = "HALF",
     .dflt = "any", .help = "which seeds: any, tune, report or held-out"},
    {.name = "first-seed", .type = PP_OPT_INT, .offset = AT(first_seed), .min = 0, .max = 1e6, .arg = "N",
     .dflt = "1", .help = "of --half any"},
    {.name = "truth", .type = PP_OPT_FLAG, .offset = AT(truth),
     .help = "also run every knob: checks that labels are causal and predictions hold"},
    {.name = "truth-rounds", .advanced = 1, .type = PP_OPT_INT, .offset = AT(truth_rounds), .min = 1,
     .max = 300, .arg = "N", .dflt = "1", .help = "--truth in the first N runs of each scenario"},
    {.name = "only", .type = PP_OPT_STRING, .offset = AT(only), .arg = "NAMES",
     .help = "these scenarios, separated by commas"},
    {.name = "scenarios", .type = PP_OPT_STRING, .offset = AT(scenarios), .arg = "DIR",
     .dflt = "samples/scenarios", .help = "read the scenarios from there"},
    {.name = "seconds", .type = PP_OPT_DOUBLE, .offset = AT(seconds), .min = 1, .max = 600, .arg = "S",
     .dflt = "2.5", .group = "How long", .help = "length of one run; severe ones take twice that"},
    {.name = "budget", .type = PP_OPT_DOUBLE, .offset = AT(budget_min), .min = 0, .max = 1e5,
     .arg = "MINUTES", .dflt = "0", .help = "time limit: start no run that would end later; 0: the whole plan"},
    {.name = "keep", .type = PP_OPT_STRING, .offset = AT(keep), .arg = "DIR",
     .help = "directory for the recordings"},
    {.name = "again", .type = PP_OPT_STRING, .offset = AT(again), .arg = "DIR",
     .help = "run nothing: judge the recordings of an earlier --keep"},
    {.name = "fit", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(fit),
     .help = "also print the table of confidence that these runs and those of --pool give"},
    {.name = "scores", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(scores), .arg = "FILE",
     .help = "append the verdicts' scores and whether they were right to FILE"},
    {.name = "pool", .advanced = 1, .type = PP_OPT_LIST, .offset = AT(pool), .arg = "FILE",
     .help = "--fit: also the scores of FILE, that earlier runs appended (repeatable)"},
    {.name = "neighbours", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(neighbours), .arg = "N,N,...",
     .help = "beside round k so many processes that want a CPU, over and over: 0,0,1,2"},
    {.name = NULL},
};
/* clang-format on */

struct test {
    const struct options *o;
    struct scenario *s; /* the wanted ones */
    size_t n;
    struct lab_plan plan;
    struct lab_results results;
    struct lab_place place;
    int loads[LAB_LOADS_MOST], n_loads;
    char dir[256];
    uint64_t start_ns;
};

/* ---- one run ---- */

static void print_run(const struct lab_run *r)
{
    const char *mark = !r->l1_right ? "NO" : r->l2_right || scenario_is_control(r->s) ? "ok" : "l2";
    char said[80], others[16];
    snprintf(said, sizeof(said), "%s%s%s", r->l1 ? r->l1 : r->l0, r->l1 && r->l2 ? "/" : "",
             r->l1 && r->l2 ? r->l2 : "");
    printf("%-3s %2d %-22s %-6s %3u  wait %5.1f %%  %-26s others %s  %s%s\n", mark, r->s->row, r->s->name,
           scenario_level_name(r->level), r->seed, 100 * r->wait, said,
           lab_cpus_text(others, sizeof(others), r->outside_cpus), r->first_fix[0] ? "first fix: " : "",
           r->first_fix);
    fflush(stdout);
}

static void run_one(struct test *t, const struct scenario *s, int level, unsigned seed, int truth)
{
    char file[512];
    struct pp_err err = {0};
    struct pp_report *r = NULL;
    struct lab_run *row = NULL;
    double outside = NAN;
    pp_status st = lab_record(&t->place, s, level, seed, NULL, file, sizeof(file), &outside, &err);
    if (st == PP_OK)
        st = pp_report_build(file, &r, &err);
    if (st == PP_OK && !(row = lab_add_run(&t->results)))
        st = pp_fail(&err, PP_E_NO_MEMORY, "no memory for another run");
    if (st == PP_OK) {
        *row = (struct lab_run){.level = level, .seed = seed, .outside_cpus = outside};
        lab_judge(row, s, r);
        print_run(row);
        if (truth)
            lab_find_truth(&t->place, s, level, seed, file, r, &t->results);
    } else if (st != PP_E_INTERRUPTED) {
        t->results.not_run++;
        printf("--  %2d %-22s not run: %s\n", s->row, s->name, err.text);
    }
    pp_report_free(r);
}

/* ---- the plan ---- */

static double minutes_since(uint64_t start_ns)
{
    return (double)(pp_now_ns() - start_ns) / 60e9;
}

/* How far the plan was done. */
static void print_coverage(const struct test *t, size_t done)
{
    size_t least = done / t->n;
    if (scenario_interrupted())
        printf("\nInterrupted after %zu of %zu runs.\n", done, t->plan.n);
    else if (t->o->again)
        printf("\nJudged again: the %zu recordings kept in %s, in %.1f minutes.\n", done, t->o->again,
               minutes_since(t->start_ns));
    else if (done < t->plan.n)
        printf(
            "\nThe budget of %.3g minutes ended the plan after %zu of %zu runs (%.0f %%): every scenario %zu%s times, of %d.\n",
            t->o->budget_min, done, t->plan.n, 100.0 * (double)done / (double)t->plan.n, least,
            done % t->n ? " or one more" : "", t->plan.rounds);
    else
        printf("\nThe whole plan: %zu runs, every scenario %s, in %.1f minutes.\n", done,
               t->plan.rounds == 1 ? "once" : "as often as any other", minutes_since(t->start_ns));
}

/* With the neighbours of its round. 0: they could not be started. */
static int run_beside(struct test *t, const struct planned_run *p, int truth)
{
    struct lab_neighbours beside = {.n = 0};
    struct pp_err err = {0};
    int n = t->n_loads && !t->o->again ? t->loads[p->round % t->n_loads] : 0;
    pp_status st = lab_neighbours_start(&beside, n, &err);
    if (st == PP_OK)
        run_one(t, &t->s[p->scenario], p->level, p->seed, truth);
    else
        printf("--  %s\n", err.text);
    lab_neighbours_end(&beside);
    return st == PP_OK;
}

/* The fit of these runs, and of earlier ones whose scores were kept. */
static pp_status fit(const struct test *t, struct pp_err *err)
{
    struct lab_scores s = {0};
    pp_status st = lab_scores_add(&s, &t->results, err);
    for (int i = 0; i < t->o->pool.n && st == PP_OK; i++)
        st = lab_scores_read(&s, t->o->pool.item[i], err);
    if (st == PP_OK)
        lab_put_fit(&s, stdout);
    lab_scores_free(&s);
    return st;
}

/* A run is not begun when the longest of its kind so far would go beyond the budget. */
static size_t run_plan(struct test *t)
{
    double longest[2] = {0, 0};
    for (size_t i = 0; i < t->plan.n; i++) {
        const struct planned_run *p = &t->plan.run[i];
        int truth = t->o->truth && p->round < t->o->truth_rounds;
        uint64_t begin = pp_now_ns();
        if (t->o->budget_min > 0 && minutes_since(t->start_ns) + longest[truth] > t->o->budget_min)
            return i;
        if (!run_beside(t, p, truth))
            return i;
        if (scenario_interrupted())
            return i;
        longest[truth] = fmax(longest[truth], minutes_since(begin));
    }
    return t->plan.n;
}

/* A quick look at predictions without --truth: a few knobs of a few scenarios that do not depend on who else
 * uses the CPUs. Their runs are not counted again. */
static void quick_whatif(struct test *t)
{
    static const char *const names[] = {"storage-latency", "shallow-prefetch", "serial-copy",
                                        "implicit-sync"};
    if (t->o->truth || t->o->full || t->o->only || t->o->again || scenario_interrupted())
        return;
    printf("\nPredictions, and what turning the knob gave:\n");
    size_t runs = t->results.n_runs;
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
        for (size_t i = 0; i < t->n; i++)
            if (strcmp(t->s[i].name, names[k]) == 0)
                run_one(t, &t->s[i], 1, t->plan.run[0].seed, 1);
    t->results.n_runs = runs;
    t->results.n_truths = 0;
}

/* ---- the command ---- */

static int wanted(const char *only, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == len && strncmp(p, name, len) == 0)
            return 1;
    return only == NULL;
}

/* Every word of --only is a scenario's name. */
static pp_status check_only(const struct test *t, const char *only, struct pp_err *err)
{
    const char **names = calloc(t->n + 1, sizeof(*names));
    pp_status st = names ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu scenarios", t->n);
    for (size_t i = 0; names && i < t->n; i++)
        names[i] = t->s[i].name;
    for (const char *p = only; st == PP_OK && p && *p; p += strcspn(p, ","), p += *p == ',') {
        char word[64];
        size_t i = 0;
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, ","), p);
        while (i < t->n && strcmp(names[i], word) != 0)
            i++;
        const char *near = i == t->n ? pp_nearest(word, names) : NULL;
        if (i == t->n)
            st = pp_fail(err, PP_E_USAGE, "--only: unknown scenario '%s'%s%s%s", word,
                         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    free(names);
    return st;
}

static pp_status find_scenarios(struct test *t, struct pp_err *err)
{
    const struct options *o = t->o;
    pp_status st = scenarios_read(o->scenarios, &t->s, &t->n, err);
    if (st == PP_OK)
        st = check_only(t, o->only, err);
    size_t kept = 0;
    for (size_t i = 0; st == PP_OK && i < t->n; i++)
        if (wanted(o->only, t->s[i].name))
            t->s[kept++] = t->s[i];
    t->n = st == PP_OK ? kept : t->n;
    return st;
}

static pp_status make_plan(struct test *t, struct pp_err *err)
{
    static const int all_levels[] = {0, 1, 2};
    const struct options *o = t->o;
    unsigned seeds[100];
    if (o->again)
        return lab_plan_kept(o->again, t->s, t->n, o->severity - 1, (enum seed_half)o->half, &t->plan, err);
    int n_seeds = o->full ? (int)o->seeds : 1, one_level = o->severity > 0 || !o->full;
    const int *levels = one_level ? &all_levels[o->severity > 0 ? o->severity - 1 : 1] : all_levels;
    pp_status st = lab_seeds((enum seed_half)o->half, o->first_seed, n_seeds, seeds, err);
    if (st == PP_OK)
        st = lab_plan_make(t->n, levels, one_level ? 1 : SCENARIO_LEVELS, seeds, n_seeds, seeds[0], &t->plan,
                           err);
    return st;
}

static pp_status make_place(struct test *t, struct pp_err *err)
{
    snprintf(t->dir, sizeof(t->dir), "%s/pipeprobe-lab-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(t->dir)) {
        t->dir[0] = '\0';
        return pp_fail(err, PP_E_ACCESS, "no directory for recordings can be made in %s; set TMPDIR",
                       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    }
    if (t->o->keep && mkdir(t->o->keep, 0777) != 0 && errno != EEXIST)
        return pp_fail_errno(err, errno, "cannot create the directory %s for the recordings", t->o->keep);
    t->place = (struct lab_place){.dir = t->dir,
                                  .keep = t->o->again ? t->o->again : t->o->keep,
                                  .again = t->o->again != NULL,
                                  .seconds = t->o->seconds};
    return PP_OK;
}

static void remove_place(const struct test *t)
{
    static const char *const left[] = {"run.sqlite", "turned.sqlite"};
    char file[300];
    if (!t->dir[0])
        return;
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof(file), "%s/%s", t->dir, left[i]);
        unlink(file);
    }
    rmdir(t->dir);
}

static const struct pp_command lab_command = {
    .name = "lab",
    .summary = "create stalls of known cause and count the correct verdicts",
    .usage = "lab [options]",
    .opts = opts,
    .notes = "About two minutes: every scenario once, the confusion matrix, other tools' rules\n"
             "beside ours, and a few predictions checked by running them. What it prints holds\n"
             "for this machine, as busy as it is now. Runs are made in rounds, each with every\n"
             "scenario once in random order: a plan that --budget cuts short favours none.",
    .examples = {"build/release/tests/lab/lab",
                 "build/release/tests/lab/lab --full --truth --half report --budget 45"},
};

int main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct test *t = calloc(1, sizeof(*t));
    int operand_count = 0, code = -1;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_status st = t && operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory");
    if (st == PP_OK && (code = pp_cli_parse(&lab_command, &set, argc, argv, operands, &operand_count)) >= 0)
        goto out;
    if (st == PP_OK && operand_count)
        st = pp_fail(&err, PP_E_USAGE, "'%s': the lab makes its own data; --only names scenarios",
                     operands[0]);
    if (st == PP_OK && o.again && o.keep)
        st = pp_fail(&err, PP_E_USAGE, "--again reads the recordings of --keep: give one of them");
    if (st == PP_OK) {
        t->o = &o;
        t->start_ns = pp_now_ns();
        st = o.neighbours ? lab_loads_parse(o.neighbours, t->loads, &t->n_loads, &err) : PP_OK;
    }
    if (st == PP_OK)
        st = find_scenarios(t, &err);
    if (st == PP_OK)
        st = make_plan(t, &err);
    if (st == PP_OK)
        st = make_place(t, &err);
    if (st == PP_OK) {
        size_t done = run_plan(t);
        quick_whatif(t);
        print_coverage(t, done);
        if (t->results.n_runs || scenario_interrupted()) {
            printf("%s:\n", o.again ? "Of these recordings" : "On this machine, now");
            lab_tables(&t->results, stdout);
            if (o.scores)
                st = lab_scores_append(o.scores, &t->results, &err);
            if (o.fit && st == PP_OK)
                st = fit(t, &err);
        } else {
            st = pp_fail(&err, PP_E_SYSTEM, "not one run could be made, for the reasons above");
        }
    }
    code = st != PP_OK              ? pp_cli_fail(&lab_command, &err)
           : scenario_interrupted() ? pp_status_exit_code(PP_E_INTERRUPTED)
                                    : 0;
out:
    if (t) {
        remove_place(t);
        lab_results_free(&t->results);
        free(t->plan.run);
        free(t->s);
    }
    free(t);
    free(operands);
    return code;
}
