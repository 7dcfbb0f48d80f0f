/* The tables of the lab: shares with their intervals, the confusion matrix, other tools' rules, labels,
 * predictions, and why each miss was one. */
#include "tests/lab/reliability.h"
#include "tests/lab/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 6, NOT_BOUND = 4, NO_CLASS = 5 };
static const char *const classes[CLASSES] = {"storage", "transform", "loader", "sync", "not", "inconclusive"};

static int class_number(const char *l0, const char *l1)
{
    if (strcmp(l0, "not-input-bound") == 0)
        return NOT_BOUND;
    for (int i = 0; l1 && strcmp(l0, "input-bound") == 0 && i < NOT_BOUND; i++)
        if (strcmp(l1, classes[i]) == 0)
            return i;
    return NO_CLASS;
}

/* The class that a scenario's truth is counted under: the first, where it has several. */
static int true_class(const struct scenario *s)
{
    char first[40];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(s->l1, "|"), s->l1);
    return class_number(s->l0, first);
}

/* ---- shares ---- */

/* Wilson, Probable inference, JASA 1927: the 95 % interval of a share. */
static void put_share(FILE *out, const char *name, size_t right, size_t all)
{
    double n = (double)all, p = (double)right / n, z = 1.96, d = 1 + z * z / n, m = (p + z * z / (2 * n)) / d,
           h = z / d * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    if (all)
        fprintf(out, "  %-44s %3zu of %3zu = %5.1f %%  (%.1f to %.1f)\n", name, right, all, 100 * p,
                100 * fmax(m - h, 0), 100 * fmin(m + h, 1));
}

static int always(const struct lab_run *r)
{
    return 1;
}
static int l0_right(const struct lab_run *r)
{
    return r->l0_right;
}
static int l1_right(const struct lab_run *r)
{
    return r->l1_right;
}
static int l2_right(const struct lab_run *r)
{
    return r->l2_right;
}
static int is_control(const struct lab_run *r)
{
    return scenario_is_control(r->s);
}
static int has_cause(const struct lab_run *r)
{
    return !scenario_is_control(r->s);
}
static int called_bound(const struct lab_run *r)
{
    return strcmp(r->l0, "input-bound") == 0;
}
static int is_quiet(const struct lab_run *r)
{
    return r->outside_cpus <= QUIET_CPUS;
} /* what is not known is not quiet */
static int quiet_with_cause(const struct lab_run *r)
{
    return is_quiet(r) && has_cause(r);
}
static int no_answer(const struct lab_run *r)
{
    return class_number(r->l0, r->l1) == NO_CLASS;
}

static size_t count(const struct lab_results *r, int (*of)(const struct lab_run *),
                    int (*is)(const struct lab_run *))
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        n += (size_t)(of(&r->runs[i]) && is(&r->runs[i]));
    return n;
}

static void put_shares(const struct lab_results *r, FILE *out)
{
    static const struct {
        const char *name;
        int (*of)(const struct lab_run *), (*is)(const struct lab_run *);
    } rows[] = {{"L0 (input-bound or not)", always, l0_right},
                {"L1 (storage, transform, loader, sync, not)", always, l1_right},
                {"L2 (the cause), of those with one", has_cause, l2_right},
                {"L1, of runs without background load", is_quiet, l1_right},
                {"L2, of runs without background load", quiet_with_cause, l2_right},
                {"false input-bound, of the controls", is_control, called_bound},
                {"no answer (inconclusive, or no class)", always, no_answer}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        put_share(out, rows[i].name, count(r, rows[i].of, rows[i].is), count(r, rows[i].of, always));
    if (r->not_run)
        fprintf(out, "  not run: %zu\n", r->not_run);
}

static void put_confusion(const struct lab_results *r, FILE *out)
{
    int seen[CLASSES][CLASSES] = {{0}}, any[CLASSES] = {0};
    for (size_t i = 0; i < r->n_runs; i++) {
        int truth = true_class(r->runs[i].s);
        seen[truth][class_number(r->runs[i].l0, r->runs[i].l1)]++;
        any[truth] = 1;
    }
    fprintf(out, "\n  truth \\ verdict");
    for (int k = 0; k < CLASSES; k++)
        fprintf(out, "%13s", classes[k]);
    for (int i = 0; i < CLASSES; i++) {
        if (any[i])
            fprintf(out, "\n  %-15s", classes[i]);
        for (int k = 0; k < CLASSES && any[i]; k++)
            fprintf(out, "%13d", seen[i][k]);
    }
    fputc('\n', out);
}

/* ---- other tools ---- */

static int tool_right(const struct lab_run *r, int i)
{
    const struct other_tool_verdict *v = &r->tool[i];
    return scenario_is_control(r->s) ? !v->input_bound : v->input_bound && scenario_lists(r->s->l1, v->l1);
}

static void put_other_tools(const struct lab_results *r, FILE *out)
{
    struct other_tool_verdict unused;
    const char *name;
    size_t controls = count(r, is_control, always);
    double n = (double)r->n_runs;
    fprintf(out, "\n  %-26s %10s %10s %22s\n", "rules of", "L0 right", "L1 right", "false input-bound");
    fprintf(out, "  %-26s %8.1f %% %8.1f %% %15zu of %zu\n", "pipeprobe",
            100 * (double)count(r, always, l0_right) / n, 100 * (double)count(r, always, l1_right) / n,
            count(r, is_control, called_bound), controls);
    for (int i = 0; i < LAB_OTHER_TOOLS && (name = other_tool(i, NULL, &unused)); i++) {
        int l0 = 0, l1 = 0, false_bound = 0;
        for (size_t k = 0; k < r->n_runs; k++) {
            const struct lab_run *run = &r->runs[k];
            l0 += run->tool[i].input_bound == has_cause(run);
            l1 += tool_right(run, i);
            false_bound += is_control(run) && run->tool[i].input_bound;
        }
        fprintf(out, "  %-26s %8.1f %% %8.1f %% %15d of %zu\n", name, 100 * l0 / n, 100 * l1 / n, false_bound,
                controls);
    }
}

/* ---- per scenario ---- */

static void put_scenarios(const struct lab_results *r, FILE *out)
{
    fprintf(out, "\n  %3s %-22s %-24s %9s %9s  %s\n", "row", "scenario", "truth", "L1 right", "L2 right",
            "label, by turning every knob");
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct scenario *s = r->runs[i].s;
        int first = 1, runs = 0, l1 = 0, l2 = 0;
        for (size_t k = 0; k < r->n_runs; k++) {
            if (r->runs[k].s != s)
                continue;
            first &= k >= i;
            runs++;
            l1 += r->runs[k].l1_right;
            l2 += r->runs[k].l2_right;
        }
        if (!first)
            continue;
        char truth[128], second[32] = "-";
        snprintf(truth, sizeof(truth), "%s%s%s", scenario_is_control(s) ? "not" : s->l1, s->l2[0] ? "/" : "",
                 s->l2);
        if (!scenario_is_control(s))
            snprintf(second, sizeof(second), "%d of %d", l2, runs);
        fprintf(out, "  %3d %-22s %-24.24s %4d of %-2d %9s  ", s->row, s->name, truth, l1, runs, second);
        for (size_t k = 0; k < r->n_truths; k++)
            if (r->truths[k].s == s)
                fprintf(out, "%s (%s): best %s; its fix %+.0f %%, any other %+.0f %%  ",
                        r->truths[k].accepted ? "causal" : "NOT SHOWN",
                        scenario_level_name(r->truths[k].level), r->truths[k].best, 100 * r->truths[k].named,
                        100 * r->truths[k].other);
        fputc('\n', out);
    }
}

static void put_misses(const struct lab_results *r, FILE *out)
{
    int any = 0;
    char others[16];
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct lab_run *m = &r->runs[i];
        if (m->l1_right && (m->l2_right || scenario_is_control(m->s)))
            continue;
        if (!any++)
            fprintf(
                out,
                "\n  Misses (NO: the class; l2: the cause alone), and what the true cause's rule missed:\n");
        fprintf(out, "  %-2s %2d %-22s %-6s %3u  said %s%s%s  wait %.1f %%  others %s: %s\n",
                m->l1_right ? "l2" : "NO", m->s->row, m->s->name, scenario_level_name(m->level), m->seed,
                m->l1 ? m->l1 : m->l0, m->l1 && m->l2 ? "/" : "", m->l1 && m->l2 ? m->l2 : "", 100 * m->wait,
                lab_cpus_text(others, sizeof(others), m->outside_cpus), m->why);
    }
}

/* ---- labels and predictions ---- */

static int by_double(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double quantile(double *v, size_t n, double q)
{
    if (n)
        qsort(v, n, sizeof(*v), by_double);
    return n ? v[(size_t)ceil(q * (double)(n - 1))] : NAN;
}

/* Of the scenarios where some knob gains what a fix has to. A verdict without a fix has gained nothing; a
 * first fix that is no knob here is counted apart: it was neither right nor wrong. */
static void put_truths(const struct lab_results *r, FILE *out)
{
    size_t accepted = 0, n = 0, no_knob = 0;
    double *efficacy = calloc(r->n_truths + 1, sizeof(*efficacy));
    for (size_t i = 0; efficacy && i < r->n_truths; i++) {
        const struct lab_truth *t = &r->truths[i];
        double best = fmax(t->named, t->other);
        accepted += (size_t)t->accepted;
        if (scenario_is_control(t->s) || best < 0.15)
            continue;
        if (t->first_fix[0] && isnan(t->first_gain))
            no_knob++;
        else
            efficacy[n++] = t->first_fix[0] ? fmax(t->first_gain, 0) / best : 0;
    }
    if (r->n_truths)
        put_share(out, "labels shown causal by intervention", accepted, r->n_truths);
    if (n)
        fprintf(out, "  fix efficacy (our first fix / best knob): median %.2f, lowest tenth %.2f, of %zu\n",
                quantile(efficacy, n, 0.5), quantile(efficacy, n, 0.1), n);
    if (no_knob)
        fprintf(out, "  first fixes that are not knobs of this machine, not judged: %zu\n", no_knob);
    free(efficacy);
}

/* One line: of the predictions of one knob (NULL: all), all of them or those that others left alone. */
static void put_errors(const struct lab_results *r, const char *knob, int quiet, FILE *out)
{
    double *error = calloc(r->n_predictions + 1, sizeof(*error));
    size_t n = 0, covered = 0;
    for (size_t i = 0; error && i < r->n_predictions; i++) {
        const struct lab_prediction *p = &r->predictions[i];
        if ((knob && strcmp(knob, p->knob) != 0) || (quiet && !(p->outside_cpus <= QUIET_CPUS)))
            continue;
        covered += (size_t)(p->measured >= p->low && p->measured <= p->high);
        error[n++] = fabs(p->predicted / p->measured - 1);
    }
    if (n)
        fprintf(out, "    %-30s %4zu %8.1f %% %8.1f %% %8.0f %%\n",
                knob    ? knob
                : quiet ? "without background load"
                        : "all",
                n, 100 * quantile(error, n, 0.5), 100 * quantile(error, n, 0.95),
                100.0 * (double)covered / (double)n);
    free(error);
}

static void put_predictions(const struct lab_results *r, FILE *out)
{
    double *attribution = calloc(r->n_predictions + 1, sizeof(*attribution));
    size_t n = 0;
    if (!r->n_predictions || !attribution)
        goto out;
    fprintf(out, "\n    %-30s %4s %10s %10s %10s\n", "what-if error by knob", "n", "median", "p95",
            "in 80 %");
    for (size_t i = 0; i < r->n_predictions; i++) {
        const struct lab_prediction *p = &r->predictions[i];
        int first = 1;
        for (size_t k = 0; k < i; k++)
            first &= strcmp(r->predictions[k].knob, p->knob) != 0;
        if (first)
            put_errors(r, p->knob, 0, out);
        if (p->of_cause)
            attribution[n++] = fabs(p->base / p->predicted - p->base / p->measured);
    }
    put_errors(r, NULL, 0, out);
    put_errors(r, NULL, 1, out);
    if (n)
        fprintf(
            out,
            "  attribution error (part of the time that the cause takes): median %.1f points, p95 %.1f, of %zu\n",
            100 * quantile(attribution, n, 0.5), 100 * quantile(attribution, n, 0.95), n);
out:
    free(attribution);
}

void lab_tables(const struct lab_results *r, FILE *out)
{
    if (r->n_runs) {
        put_shares(r, out);
        put_truths(r, out);
        put_confusion(r, out);
        lab_put_reliability(r, out);
        put_other_tools(r, out);
        put_scenarios(r, out);
    }
    put_predictions(r, out);
    put_misses(r, out);
}
