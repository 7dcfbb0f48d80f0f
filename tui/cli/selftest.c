/* `pipeprobe selftest`: stalls of known cause and size, made on this machine, and how often the verdict was right. */
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/rivals.h"
#include "report/signals.h"
#include "tui/cli/cli.h"
#include "tui/cli/scenario.h"
#include "tui/cli/shipped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *scenarios, *only, *keep;
    int full, truth;
    int64_t seeds, first_seed;
    double seconds;
};

#define AT(field) offsetof(struct options, field)
static const struct pp_opt opts[] = {
    {.name = "full", .type = PP_OPT_FLAG, .offset = AT(full), .group = "Options", .help = "all three severities and --seeds seeds of every scenario"},
    {.name = "truth", .type = PP_OPT_FLAG, .offset = AT(truth), .help = "turn every knob for real too: is the label causal, do predictions hold"},
    {.name = "seeds", .type = PP_OPT_INT, .offset = AT(seeds), .min = 1, .max = 100, .arg = "N", .dflt = "5", .help = "with --full"},
    {.name = "first-seed", .type = PP_OPT_INT, .offset = AT(first_seed), .min = 0, .max = 1e6, .arg = "N", .dflt = "1", .help = "thresholds were looked at with seeds 1 to 19 alone"},
    {.name = "seconds", .type = PP_OPT_DOUBLE, .offset = AT(seconds), .min = 1, .max = 600, .arg = "S", .dflt = "2.5", .help = "length of one run; severe ones take twice that"},
    {.name = "only", .type = PP_OPT_STRING, .offset = AT(only), .arg = "NAMES", .help = "these scenarios, apart by commas"},
    {.name = "scenarios", .type = PP_OPT_STRING, .offset = AT(scenarios), .arg = "DIR", .help = "of one's own, instead of the ones that come with pipeprobe"},
    {.name = "keep", .type = PP_OPT_STRING, .offset = AT(keep), .arg = "DIR", .help = "keep the recordings there"},
    {.name = NULL},
};

/* Above this, others took enough of two CPUs to be a cause of their own. */
#define QUIET_CPUS 0.3

enum { CLASSES = 6, RIVALS_MAX = 16, PREDICTIONS_MAX = 4096 };
static const char *const classes[CLASSES] = {"storage", "transform", "loader", "sync", "not", "inconclusive"};

struct score {
    int runs, l0, l1, l2, l2_asked, controls, false_bound, abstained, skipped;
    int confusion[CLASSES][CLASSES]; /* truth, verdict */
    int rival_l0[RIVALS_MAX], rival_l1[RIVALS_MAX], rival_false[RIVALS_MAX];
    int quiet, quiet_l1, quiet_l2, quiet_l2_asked; /* runs in which others left the CPUs alone */
    int accepted, judged;            /* --truth */
    double efficacy[1024], error[PREDICTIONS_MAX], attribution[1024];
    int efficacies, errors, covered, attributions;
};

struct test {
    const struct options *o;
    struct score score;
    char dir[256];
};

static int class_number(const char *l0, const char *l1)
{
    if (l0 && strcmp(l0, "not-input-bound") == 0)
        return 4;
    for (int i = 0; l1 && i < 4; i++)
        if (strcmp(l1, classes[i]) == 0)
            return i;
    return 5;
}

/* The class that a scenario's truth is counted under: the first, where it has several. */
static int true_class(const struct scenario *s)
{
    char first[40];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(s->l1, "|"), s->l1);
    return class_number(s->l0, first);
}

/* ---- one run ---- */

/* Severe stalls take twice as long, for the ten batches that a verdict needs. */
static double seconds_of(const struct test *t, int level)
{
    return t->o->seconds * (level == 2 ? 2 : 1);
}

static pp_status record(struct test *t, const struct scenario *s, int level, unsigned seed, const struct intervention *turned, char *file, size_t size, double *outside,
                        struct pp_err *err)
{
    if (t->o->keep)
        snprintf(file, size, "%s/%s-%d-%u%s%s.sqlite", t->o->keep, s->name, level, seed, turned ? "-" : "", turned ? turned->knob : "");
    else
        snprintf(file, size, "%s/run.sqlite", t->dir);
    return scenario_execute(s, &(struct scenario_run){.level = level, .seed = seed, .seconds = seconds_of(t, level), .turned = turned, .file = file, .outside_cpus = outside}, err);
}

static void score_rivals(struct score *sc, const struct scenario *s, const struct pp_report *r)
{
    int control = strcmp(s->l0, "not-input-bound") == 0;
    struct pp_rival_verdict v;
    for (int i = 0; pp_rival(i, r, &v); i++) {
        sc->rival_l0[i] += v.input_bound == !control;
        sc->rival_false[i] += control && v.input_bound;
        sc->rival_l1[i] += control ? !v.input_bound : v.input_bound && scenario_lists(s->l1, v.l1);
    }
}

/* Counts the verdict; returns whether its class is right. */
static int score_verdict(struct score *sc, const struct scenario *s, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    int control = strcmp(s->l0, "not-input-bound") == 0, bound = strcmp(v->l0, "input-bound") == 0, abstained = strcmp(v->l0, "inconclusive") == 0;
    int right = control ? strcmp(v->l0, s->l0) == 0 : bound && scenario_lists(s->l1, v->l1);
    sc->runs++;
    sc->controls += control;
    sc->false_bound += control && bound;
    sc->abstained += abstained || (bound && !v->l1);
    sc->l0 += strcmp(v->l0, s->l0) == 0;
    sc->l1 += right;
    sc->l2_asked += !control;
    sc->l2 += !control && right && scenario_lists(s->l2, v->l2);
    sc->confusion[true_class(s)][class_number(v->l0, v->l1)]++;
    score_rivals(sc, s, r);
    return right;
}

static void print_run(const struct scenario *s, int level, unsigned seed, const struct pp_report *r, int right, double outside)
{
    static const char *const levels[] = {"mild", "medium", "severe"};
    const struct pp_report_verdict *v = &r->verdict;
    char said[80];
    snprintf(said, sizeof(said), "%s%s%s%s", v->l1 ? v->l1 : v->l0, v->l2 ? "/" : "", v->l2 ? v->l2 : "", "");
    printf("%-3s %2d %-22s %-6s %3u  wait %5.1f %%  %-26s others %.1f  %s%s\n", right ? (s->l2[0] && !scenario_lists(s->l2, v->l2) ? "l2" : "ok") : "NO", s->row, s->name, levels[level], seed,
           100 * r->data_wait_share, said, outside, v->n_fixes && v->l1 ? "first fix: " : "", v->n_fixes && v->l1 ? v->fixes[0].knob : "");
    fflush(stdout);
}

/* ---- interventions ---- */

/* Of the steady state; where the start is what it is about, of the whole run. */
static double rate_in(const struct scenario *s, const struct pp_report *r)
{
    return strcmp(s->l2, "warm-up") == 0 ? (double)r->samples / r->duration_s : r->samples_per_s;
}

static double rate_of(const struct scenario *s, const char *file, struct pp_err *err)
{
    struct pp_report *r = NULL;
    double rate = pp_report_build(file, &r, err) == PP_OK ? rate_in(s, r) : NAN;
    pp_report_free(r);
    return rate;
}

/* What the replay of the base recording says about an intervention; 0 when it has no such knob. */
static int predict(const char *file, const char *set, struct pp_prediction *p, struct pp_err *err)
{
    struct pp_source source;
    struct pp_timeline tl = {0};
    struct pp_costs c = {0};
    struct pp_signals s;
    struct pp_knobs k = pp_knobs_none();
    pp_status st = pp_source_open(file, &source, err);
    if (st == PP_OK)
        st = pp_timeline_build(&source, &tl, err);
    if (st == PP_OK)
        st = pp_costs_read(&source, &tl, &c, err);
    if (st == PP_OK)
        st = pp_whatif_calibrate(&c, err);
    if (st == PP_OK)
        st = pp_signals_read(&c, &s, err);
    if (st == PP_OK)
        st = pp_knobs_set(&k, &c, set, err);
    if (st == PP_OK)
        st = pp_whatif(&c, &k, p, err);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    pp_source_close(&source);
    return st == PP_OK;
}

static void add_error(struct score *sc, const struct intervention *turned, const struct pp_prediction *p, double base, double measured)
{
    double error = p->samples_per_s / measured - 1;
    if (sc->errors < PREDICTIONS_MAX)
        sc->error[sc->errors++] = fabs(error);
    sc->covered += measured >= p->low && measured <= p->high;
    if (turned->without_faults && sc->attributions < 1024) /* the part of the time that the cause takes: replayed against real */
        sc->attribution[sc->attributions++] = fabs(base / p->samples_per_s - base / measured);
    printf("        %-14s %-24s predicted %8.0f (%.0f to %.0f)  measured %8.0f  error %+5.1f %%\n", turned->knob, turned->options[0] ? turned->options : "without the faults",
           p->samples_per_s, p->low, p->high, measured, 100 * error);
}

/* Turns every knob; the label is causal when one of its fixes gains 15 % and no other knob gains more (3 points of it are noise). */
static void find_truth(struct test *t, const struct scenario *s, int level, unsigned seed, const char *base_file, const struct pp_report *base)
{
    struct intervention all[INTERVENTIONS_MAX];
    struct score *sc = &t->score;
    int n = scenario_interventions(s, level, all), control = strcmp(s->l0, "not-input-bound") == 0;
    double named = 0, other = 0, first = NAN, base_rate = rate_in(s, base);
    const char *first_fix = base->verdict.n_fixes ? base->verdict.fixes[0].knob : "", *best = "none";
    for (int i = 0; i < n; i++) {
        char file[512];
        struct pp_err err = {0};
        struct pp_prediction p;
        if (control && all[i].without_faults)
            continue; /* a control has no cause to take away */
        char spare[280];
        snprintf(spare, sizeof(spare), "%s/turned.sqlite", t->dir);
        pp_status st = t->o->keep ? record(t, s, level, seed, &all[i], file, sizeof(file), NULL, &err)
                                  : scenario_execute(s, &(struct scenario_run){.level = level, .seed = seed, .seconds = seconds_of(t, level), .turned = &all[i], .file = spare}, &err);
        double rate = st == PP_OK ? rate_of(s, t->o->keep ? file : spare, &err) : NAN, gain = rate / base_rate - 1;
        if (isnan(rate)) {
            printf("        %-14s could not be measured: %s\n", all[i].knob, err.text);
            continue;
        }
        double *to = scenario_lists(s->fix, all[i].knob) ? &named : &other;
        if (gain > fmax(named, other))
            best = all[i].knob;
        *to = fmax(*to, gain);
        if (strcmp(all[i].knob, first_fix) == 0)
            first = gain;
        if (all[i].set[0] && strcmp(s->l2, "warm-up") != 0 && predict(base_file, all[i].set, &p, &err))
            add_error(sc, &all[i], &p, base->samples_per_s, rate);
        else
            printf("        %-14s %-24s %36s  measured %8.0f  gain %+5.0f %%\n", all[i].knob, all[i].options, "", rate, 100 * gain);
    }
    int accepted = control ? fmax(named, other) < 0.03 : named >= 0.15 && named >= other - 0.03;
    sc->judged++;
    sc->accepted += accepted;
    if (!control && !isnan(first) && fmax(named, other) >= 0.15 && sc->efficacies < 1024)
        sc->efficacy[sc->efficacies++] = fmax(first, 0) / fmax(named, other);
    printf("        truth %s: best %s; named fix %+.0f %%, any other %+.0f %%\n", accepted ? "accepted" : "NOT ACCEPTED", best, 100 * named, 100 * other);
    fflush(stdout);
}

static void run_one(struct test *t, const struct scenario *s, int level, unsigned seed)
{
    char file[512];
    struct pp_err err = {0};
    struct pp_report *r = NULL;
    double outside = NAN;
    pp_status st = record(t, s, level, seed, NULL, file, sizeof(file), &outside, &err);
    if (st == PP_OK)
        st = pp_report_build(file, &r, &err);
    if (st != PP_OK) {
        t->score.skipped++;
        printf("--  %2d %-22s not run: %s\n", s->row, s->name, err.text);
        return;
    }
    int before = t->score.l2, right = score_verdict(&t->score, s, r);
    if (!(outside > QUIET_CPUS)) {
        t->score.quiet++;
        t->score.quiet_l1 += right;
        t->score.quiet_l2_asked += strcmp(s->l0, "not-input-bound") != 0;
        t->score.quiet_l2 += t->score.l2 > before;
    }
    print_run(s, level, seed, r, right, outside);
    if (t->o->truth)
        find_truth(t, s, level, seed, file, r);
    pp_report_free(r);
}

/* ---- the tables ---- */

static int by_double(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double quantile(double *v, int n, double q)
{
    qsort(v, (size_t)n, sizeof(*v), by_double);
    return n ? v[(int)(q * (n - 1))] : NAN;
}

/* Wilson, Probable inference, JASA 1927: the 95 % interval of a share. */
static void put_share(const char *name, int right, int n)
{
    double p = n ? (double)right / n : 0, z = 1.96, d = 1 + z * z / n, m = (p + z * z / (2 * n)) / d, h = z / d * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n));
    if (n)
        printf("  %-44s %3d of %3d = %5.1f %%  (%.1f to %.1f)\n", name, right, n, 100 * p, 100 * fmax(m - h, 0), 100 * fmin(m + h, 1));
}

static void put_confusion(const struct score *sc)
{
    printf("\n  truth \\ verdict");
    for (int k = 0; k < CLASSES; k++)
        printf("%13s", classes[k]);
    putchar('\n');
    for (int i = 0; i < CLASSES; i++) {
        int any = 0;
        for (int k = 0; k < CLASSES; k++)
            any |= sc->confusion[i][k];
        if (!any)
            continue;
        printf("  %-15s", classes[i]);
        for (int k = 0; k < CLASSES; k++)
            printf("%13d", sc->confusion[i][k]);
        putchar('\n');
    }
}

static void put_rivals(const struct score *sc)
{
    struct pp_rival_verdict v;
    const char *name;
    printf("\n  %-26s %10s %10s %22s\n", "rules of", "L0 right", "L1 right", "false input-bound");
    printf("  %-26s %8.1f %% %8.1f %% %15d of %d\n", "pipeprobe", 100.0 * sc->l0 / sc->runs, 100.0 * sc->l1 / sc->runs, sc->false_bound, sc->controls);
    for (int i = 0; (name = pp_rival(i, NULL, &v)); i++)
        printf("  %-26s %8.1f %% %8.1f %% %15d of %d\n", name, 100.0 * sc->rival_l0[i] / sc->runs, 100.0 * sc->rival_l1[i] / sc->runs, sc->rival_false[i], sc->controls);
}

static void put_tables(struct score *sc)
{
    printf("\nOn this machine, now:\n");
    put_share("L0 (input-bound or not)", sc->l0, sc->runs);
    put_share("L1 (storage, transform, loader, sync, not)", sc->l1, sc->runs);
    put_share("L2 (the cause), of those with one", sc->l2, sc->l2_asked);
    put_share("L1, of runs that others left alone", sc->quiet_l1, sc->quiet);
    put_share("L2, of runs that others left alone", sc->quiet_l2, sc->quiet_l2_asked);
    put_share("false input-bound, of the controls", sc->false_bound, sc->controls);
    put_share("no answer (inconclusive, or no class)", sc->abstained, sc->runs);
    if (sc->skipped)
        printf("  not run: %d\n", sc->skipped);
    if (sc->judged)
        put_share("labels shown causal by intervention", sc->accepted, sc->judged);
    if (sc->efficacies)
        printf("  fix efficacy (our first fix / best knob): median %.2f of %d\n", quantile(sc->efficacy, sc->efficacies, 0.5), sc->efficacies);
    if (sc->errors) {
        printf("  what-if error: median %.1f %%, p95 %.1f %% of %d predictions; intervals (80 %%) hold %.0f %% of them\n", 100 * quantile(sc->error, sc->errors, 0.5),
               100 * quantile(sc->error, sc->errors, 0.95), sc->errors, 100.0 * sc->covered / sc->errors);
        if (sc->attributions)
            printf("  attribution error (time that the cause takes): median %.1f points of %d\n", 100 * quantile(sc->attribution, sc->attributions, 0.5), sc->attributions);
    }
    put_confusion(sc);
    put_rivals(sc);
}

static int wanted(const char *only, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == len && strncmp(p, name, len) == 0)
            return 1;
    return only == NULL;
}

static void run_all(struct test *t, const struct scenario *s, size_t n)
{
    for (int64_t seed = t->o->first_seed; seed < t->o->first_seed + (t->o->full ? t->o->seeds : 1); seed++)
        for (size_t i = 0; i < n; i++)
            for (int level = t->o->full ? 0 : 1; level < (t->o->full ? SCENARIO_LEVELS : 2); level++)
                if (wanted(t->o->only, s[i].name))
                    run_one(t, &s[i], level, (unsigned)seed);
}

/* A quick look at predictions without --truth: a few knobs of a few scenarios that do not depend on who else uses the CPUs. */
static void quick_whatif(struct test *t, const struct scenario *s, size_t n)
{
    static const char *const names[] = {"storage-latency", "shallow-prefetch", "serial-copy", "implicit-sync"};
    if (t->o->truth || t->o->full || t->o->only)
        return;
    printf("\nPredictions, and what turning the knob gave:\n");
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(s[i].name, names[k]) == 0) {
                struct test one = {.o = t->o};
                memcpy(one.dir, t->dir, sizeof(one.dir));
                one.score = t->score;
                struct options o = *t->o;
                o.truth = 1;
                one.o = &o;
                struct score before = t->score;
                run_one(&one, &s[i], 1, (unsigned)o.first_seed);
                memcpy(before.error, one.score.error, sizeof(before.error));
                before.errors = one.score.errors, before.covered = one.score.covered;
                t->score = before;
            }
}

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct scenario *s = NULL;
    struct test *t = calloc(1, sizeof(*t));
    size_t n = 0;
    char shipped[4096];
    int operand_count = 0, code;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_status st = t && operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory");
    if (st == PP_OK && (code = pp_cli_parse(&pp_cmd_selftest, &set, argc, argv, operands, &operand_count)) >= 0)
        goto out;
    if (st == PP_OK && operand_count)
        st = pp_fail(&err, PP_E_USAGE, "'%s': selftest makes its own data; --only names scenarios", operands[0]);
    if (st == PP_OK && !o.scenarios && !shipped_find("scenarios", "", shipped, sizeof(shipped)))
        st = pp_fail(&err, PP_E_NOT_FOUND, "the scenarios that come with pipeprobe are not beside this program (../share/pipeprobe/scenarios); give --scenarios DIR");
    if (st == PP_OK)
        st = scenarios_read(o.scenarios ? o.scenarios : shipped, &s, &n, &err);
    if (st == PP_OK) {
        t->o = &o;
        snprintf(t->dir, sizeof(t->dir), "%s/pipeprobe-selftest-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        if (!mkdtemp(t->dir))
            st = pp_fail(&err, PP_E_ACCESS, "no directory for recordings can be made in %s; set TMPDIR", t->dir);
    }
    if (st == PP_OK) {
        run_all(t, s, n);
        quick_whatif(t, s, n);
        if (t->score.runs)
            put_tables(&t->score);
        char file[300];
        static const char *const left[] = {"run.sqlite", "turned.sqlite"};
        for (int i = 0; i < 2; i++) {
            snprintf(file, sizeof(file), "%s/%s", t->dir, left[i]);
            unlink(file);
        }
        rmdir(t->dir);
    }
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_selftest, &err);
out:
    free(s);
    free(t);
    free(operands);
    return code;
}

const struct pp_command pp_cmd_selftest = {
    .name = "selftest",
    .summary = "Make stalls of known cause on this machine and count how often the verdict is right.",
    .usage = "selftest [options]",
    .opts = opts,
    .notes = "About two minutes: every scenario once, the confusion matrix, other tools' rules beside ours, and a few predictions checked\n"
             "by running them. What it prints holds for this machine, as busy as it is now.",
    .examples = {"pipeprobe selftest", "pipeprobe selftest --truth --only storage-latency,slow-link"},
    .run = run,
};
