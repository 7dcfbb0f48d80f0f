#include "tests/lab/truth.h"

#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/verdict/signals.h"
#include "tests/lab/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fix is worth its name; two gains are the same; a control gains nothing. */
#define FIX_GAIN 0.15
#define SAME_GAIN 0.03
enum { ROUNDS = 3 };

struct knob {
    struct intervention turned;
    double rate[ROUNDS];
    int rounds;
};

struct proof {
    const struct lab_place *place;
    const struct scenario *s;
    int level;
    unsigned seed;
    double base[ROUNDS + 1];
    int bases;
    struct knob knob[INTERVENTIONS_MAX];
    int n;
};

/* Severe stalls take twice as long, for the ten batches that a verdict needs. */
static double seconds_of(const struct lab_place *p, int level)
{
    return p->seconds * (level == 2 ? 2 : 1);
}

pp_status lab_record(const struct lab_place *p, const struct scenario *s, int level, unsigned seed,
                     const struct intervention *turned, char *file, size_t size, double *outside_cpus,
                     struct pp_err *err)
{
    char name[96];
    lab_run_name(s, level, seed, name, sizeof(name));
    if (p->keep)
        snprintf(file, size, "%s/%s%s%s.sqlite", p->keep, name, turned ? "-" : "",
                 turned ? turned->knob : "");
    else
        snprintf(file, size, "%s/%s.sqlite", p->dir, turned ? "turned" : "run");
    if (p->again)
        return PP_OK; /* what others used meanwhile was not kept */
    return scenario_execute(s,
                            &(struct scenario_run){.level = level,
                                                   .seed = seed,
                                                   .seconds = seconds_of(p, level),
                                                   .turned = turned,
                                                   .file = file,
                                                   .outside_cpus = outside_cpus},
                            err);
}

/* Of the steady state; where the start is what it is about, of the whole run. */
static double rate_in(const struct scenario *s, const struct pp_report *r)
{
    return scenario_lists(s->l2, "warm-up") ? (double)r->samples / r->duration_s : r->samples_per_s;
}

/* turned NULL: the run as it is, once more, beside the recording that predictions are made from. NAN: it
 * could not be made. */
static double measure(const struct proof *p, const struct intervention *turned, double *outside)
{
    static const struct intervention again = {.knob = "again"};
    char file[512];
    struct pp_err err = {0};
    struct pp_report *r = NULL;
    double rate = NAN;
    pp_status st = lab_record(p->place, p->s, p->level, p->seed, turned ? turned : &again, file, sizeof(file),
                              outside, &err);
    if (st == PP_OK)
        st = pp_report_build(file, &r, &err);
    if (st == PP_OK)
        rate = rate_in(p->s, r);
    else if (!scenario_interrupted())
        printf("        %-14s could not be measured: %s\n", turned ? turned->knob : "as it is", err.text);
    pp_report_free(r);
    return rate;
}

/* What the replay of the base recording says about an intervention; 0 when it has no such knob. */
static int predict(const char *file, const char *set, struct pp_prediction *p)
{
    struct pp_source source;
    struct pp_timeline tl = {0};
    struct pp_costs c = {0};
    struct pp_signals s;
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    pp_status st = pp_source_open(file, &source, &err);
    if (st != PP_OK)
        return 0;
    st = pp_timeline_build(&source, &tl, &err);
    if (st == PP_OK)
        st = pp_costs_read(&source, &tl, &c, &err);
    if (st == PP_OK)
        st = pp_whatif_calibrate(&c, &err);
    if (st == PP_OK)
        st = pp_signals_read(&c, &s, &err);
    if (st == PP_OK)
        st = pp_knobs_set(&k, &c, set, &err);
    if (st == PP_OK)
        st = pp_whatif(&c, &k, p, &err);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    pp_source_close(&source);
    return st == PP_OK;
}

static int by_double(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(const double *v, int n)
{
    double sorted[ROUNDS + 1];
    memcpy(sorted, v, (size_t)n * sizeof(*v));
    qsort(sorted, (size_t)n, sizeof(*sorted), by_double);
    return n ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 : NAN;
}

static double gain_of(const struct proof *p, const struct knob *k)
{
    return median(k->rate, k->rounds) / median(p->base, p->bases) - 1;
}

/* The knob with the largest gain of those that the label names, or of the others; NULL: there is none. */
static struct knob *best_of(struct proof *p, int named)
{
    struct knob *best = NULL;
    for (int i = 0; i < p->n; i++)
        if (p->knob[i].rounds && scenario_lists(p->s->fix, p->knob[i].turned.knob) == named &&
            (!best || gain_of(p, &p->knob[i]) > gain_of(p, best)))
            best = &p->knob[i];
    return best;
}

static void settle(struct proof *p, struct lab_truth *t)
{
    struct knob *named = best_of(p, 1), *other = best_of(p, 0);
    t->named = named ? fmax(gain_of(p, named), 0) : 0;
    t->other = other ? fmax(gain_of(p, other), 0) : 0;
    const struct knob *best = t->named >= t->other ? named : other;
    snprintf(t->best, sizeof(t->best), "%s", best && gain_of(p, best) > 0 ? best->turned.knob : "none");
    t->first_gain = NAN;
    for (int i = 0; i < p->n; i++)
        if (p->knob[i].rounds && strcmp(p->knob[i].turned.knob, t->first_fix) == 0)
            t->first_gain = gain_of(p, &p->knob[i]);
    t->accepted = scenario_is_control(p->s) ? fmax(t->named, t->other) < SAME_GAIN
                                            : t->named >= FIX_GAIN && t->named >= t->other - SAME_GAIN;
}

static void measure_again(struct proof *p, struct knob *k)
{
    double rate = k && k->rounds < ROUNDS ? measure(p, &k->turned, NULL) : NAN;
    if (!isnan(rate))
        k->rate[k->rounds++] = rate;
}

static void measure_base(struct proof *p)
{
    double rate = measure(p, NULL, NULL);
    if (!isnan(rate) && p->bases <= ROUNDS)
        p->base[p->bases++] = rate;
}

static void add_prediction(const struct proof *p, const struct knob *k, const char *base_file, double base,
                           double outside, struct lab_results *results)
{
    struct pp_prediction said;
    double measured = k->rate[0];
    const char *how = k->turned.options[0] ? k->turned.options : "without the faults";
    struct lab_prediction *row = NULL;
    if (k->turned.set[0] && !scenario_lists(p->s->l2, "warm-up") && predict(base_file, k->turned.set, &said))
        row = lab_add_prediction(results);
    if (!row) {
        printf("        %-14s %-24s %36s  measured %8.0f  gain %+5.0f %%\n", k->turned.knob, how, "",
               measured, 100 * (measured / base - 1));
        return;
    }
    *row = (struct lab_prediction){.s = p->s,
                                   .base = base,
                                   .predicted = said.samples_per_s,
                                   .low = said.low,
                                   .high = said.high,
                                   .measured = measured,
                                   .outside_cpus = outside,
                                   .of_cause = k->turned.without_faults};
    snprintf(row->knob, sizeof(row->knob), "%s", k->turned.knob);
    printf("        %-14s %-24s predicted %8.0f (%.0f to %.0f)  measured %8.0f  error %+5.1f %%\n",
           k->turned.knob, how, said.samples_per_s, said.low, said.high, measured,
           100 * (said.samples_per_s / measured - 1));
}

void lab_find_truth(const struct lab_place *place, const struct scenario *s, int level, unsigned seed,
                    const char *base_file, const struct pp_report *base, struct lab_results *results)
{
    struct proof p = {
        .place = place, .s = s, .level = level, .seed = seed, .base = {rate_in(s, base)}, .bases = 1};
    struct intervention all[INTERVENTIONS_MAX];
    struct lab_truth *t = lab_add_truth(results);
    int n = scenario_interventions(s, level, all);
    if (!t)
        return;
    for (int i = 0; i < n; i++) {
        if (scenario_is_control(s) && all[i].without_faults)
            continue; /* a control has no cause to take away */
        double outside = NAN;
        struct knob *k = &p.knob[p.n++];
        *k = (struct knob){.turned = all[i]};
        k->rate[0] = measure(&p, &k->turned, &outside);
        k->rounds = !isnan(k->rate[0]);
        if (k->rounds)
            add_prediction(&p, k, base_file, p.base[0], outside, results);
        fflush(stdout);
    }
    measure_base(&p);
    if (scenario_interrupted()) {
        results->n_truths--;
        return;
    }
    *t = (struct lab_truth){.s = s, .level = level, .seed = seed, .rounds = 1};
    snprintf(t->first_fix, sizeof(t->first_fix), "%s", lab_first_fix(&base->verdict));
    settle(&p, t);
    while (!t->accepted && t->rounds < ROUNDS) {
        struct knob *named = best_of(&p, 1), *other = best_of(&p, 0);
        measure_again(&p, named);
        measure_again(&p, other);
        measure_base(&p);
        t->rounds++;
        settle(&p, t);
    }
    printf("        label %s%s: best %s; a fix that it names %+.0f %%, any other knob %+.0f %%\n",
           t->accepted ? "shown causal" : "NOT SHOWN CAUSAL", t->rounds > 1 ? " (medians of three)" : "",
           t->best, 100 * t->named, 100 * t->other);
    fflush(stdout);
}
