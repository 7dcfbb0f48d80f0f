/* How often the gate is wrong, and how often it finds what is there.
 *
 *   bench_ci sim [TRIALS]          runs made up: noise of 1, 2 and 4 %, n = 7 and 14, nothing changed and 10 % slower
 *   bench_ci runs A B [SPLITS]     recorded runs: A against A in random splits of distinct runs, and A against B
 *
 * Splits of the same recordings are not independent of each other: their number says how finely the rate is printed, the number of
 * recordings how well it is known. */
#include "report/compare/load.h"
#include "tests/unit/fake_runs.h"

#include <stdio.h>
#include <stdlib.h>

struct score {
    unsigned regressed, inconclusive, fine;
    double ratio; /* sum of times worse, of throughput */
};

static enum pp_answer gate(struct pp_runs *base, struct pp_runs *head, unsigned looks, int noise_check, struct score *s)
{
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    pp_compare_defaults(&o);
    o.resamples = 1000;
    o.looks = looks;
    o.refuse_below_noise = noise_check;
    if (pp_compare_build(&(struct pp_compare_side){"A", base}, &(struct pp_compare_side){"B", head}, &o, &c, &err) != PP_OK) {
        fprintf(stderr, "bench_ci: %s\n", err.text);
        exit(1);
    }
    enum pp_answer answer = c.answer;
    s->regressed += answer == PP_REGRESSED;
    s->inconclusive += answer == PP_INCONCLUSIVE;
    s->fine += answer == PP_NOT_REGRESSED;
    s->ratio += c.metric[PP_CMP_SAMPLES_PER_S].ratio;
    pp_compare_free(&c);
    return answer;
}

static void print_score(const char *what, const struct score *s, const char *goal)
{
    double n = s->regressed + s->inconclusive + s->fine;
    printf("%-46s %6.0f %8.1f %% %11.1f %% %8.1f %%   %s\n", what, n, 100 * s->regressed / n, 100 * s->inconclusive / n, 100 * s->fine / n, goal);
}

static void print_head(void)
{
    printf("%-46s %6s %10s %13s %10s   %s\n", "", "tries", "regressed", "inconclusive", "not", "goal");
}

static void simulate(uint64_t trials)
{
    static const double noise[] = {0.01, 0.02, 0.04};
    print_head();
    for (size_t k = 0; k < 3; k++)
        for (size_t n = 7; n <= 14; n += 7)
            for (int slow = 0; slow < 2; slow++) {
                struct score s = {0};
                char what[80];
                for (uint64_t t = 0; t < trials; t++) {
                    uint64_t seed = ((t * 3 + k) * 2 + n / 14) * 2 + (uint64_t)slow;
                    struct pp_runs a = fake_side("a", n, 1, noise[k], 2 * seed), b = fake_side("b", n, slow ? 1.1 : 1, noise[k], 2 * seed + 1);
                    gate(&a, &b, 1, 0, &s);
                    pp_runs_free(&a);
                    pp_runs_free(&b);
                }
                snprintf(what, sizeof(what), "simulated, noise %.0f %%, n = %zu, %s", noise[k] * 100, n, slow ? "10 % slower" : "nothing changed");
                print_score(what, &s, !slow ? "regressed <= 1 %" : noise[k] < 0.03 ? "regressed >= 95 %" : "(inconclusive rather than wrong)");
            }
}

static void shuffle(size_t *order, size_t n, struct pp_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = pp_rng_below(rng, i), t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

/* Borrows the runs: what is in the list belongs to whoever loaded it. */
static void pick(const struct pp_runs *from, const size_t *order, size_t n, struct pp_runs *out)
{
    for (size_t i = 0; i < n; i++)
        out->run[i] = from->run[order[i]];
    out->n = n;
}

/* What `ci run` does: 7 runs a side, and when those are inconclusive, 14. x and y have room for 14. */
static void two_looks(const struct pp_runs *a, const size_t *of_a, const struct pp_runs *b, const size_t *of_b, struct pp_runs *x, struct pp_runs *y, struct score *s)
{
    struct score first = {0};
    pick(a, of_a, 7, x);
    pick(b, of_b, 7, y);
    if (gate(x, y, 2, 1, &first) != PP_INCONCLUSIVE) {
        s->regressed += first.regressed;
        s->fine += first.fine;
        s->ratio += first.ratio;
        return;
    }
    pick(a, of_a, 14, x);
    pick(b, of_b, 14, y);
    gate(x, y, 2, 1, s);
}

enum { COMPARE, CI_RUN, PROCEDURES };

static void recorded(const struct pp_runs *a, const struct pp_runs *b, unsigned splits, int procedure)
{
    struct pp_run run_a[14], run_b[14];
    struct pp_runs x = {run_a, 0}, y = {run_b, 0};
    struct score same = {0}, slower = {0};
    const char *name = procedure == CI_RUN ? "ci run, 7 then 14" : "compare, n = 7";
    size_t n = procedure == CI_RUN ? 14 : 7, *of_a = calloc(a->n, sizeof(*of_a)), *of_b = calloc(b->n, sizeof(*of_b));
    char what[80];
    for (size_t i = 0; i < a->n; i++)
        of_a[i] = i;
    for (size_t i = 0; i < b->n; i++)
        of_b[i] = i;
    for (unsigned t = 0; t < splits; t++) {
        struct pp_rng rng = pp_rng_key(1, t, 0, 0);
        shuffle(of_a, a->n, &rng);
        shuffle(of_b, b->n, &rng);
        if (procedure == CI_RUN) {
            two_looks(a, of_a, a, of_a + n, &x, &y, &same);
            two_looks(a, of_a, b, of_b, &x, &y, &slower);
            continue;
        }
        pick(a, of_a, n, &x);
        pick(a, of_a + n, n, &y);
        gate(&x, &y, 1, 0, &same);
        pick(b, of_b, n, &y);
        gate(&x, &y, 1, 0, &slower);
    }
    snprintf(what, sizeof(what), "recorded, %s, A/A", name);
    print_score(what, &same, "regressed <= 1 %");
    snprintf(what, sizeof(what), "recorded, %s, %.1f %% slower", name, 100 * (slower.ratio / splits - 1));
    print_score(what, &slower, "regressed >= 95 %");
    free(of_a);
    free(of_b);
}

/* Relative spread of one metric over all runs: what a goal is to be read beside. */
static void print_spread(const char *side, const struct pp_runs *runs, enum pp_cmp_id id)
{
    double v[1000], n = 0, mean = 0, squares = 0;
    for (size_t i = 0; i < runs->n && i < 1000; i++)
        mean += v[i] = runs->run[i].metric[id], n++;
    mean /= n;
    for (size_t i = 0; i < (size_t)n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    printf("%s: %s varies by %.1f %% from run to run\n", side, pp_cmp_metric(id)->title, 100 * sqrt(squares / (n - 1)) / mean);
}

static int real_runs(const char *dir_a, const char *dir_b, unsigned splits)
{
    struct pp_runs a = {0}, b = {0};
    struct pp_err err;
    int code = 1;
    if (pp_runs_load(&dir_a, 1, &a, &err) != PP_OK || pp_runs_load(&dir_b, 1, &b, &err) != PP_OK)
        fprintf(stderr, "bench_ci: %s\n", err.text);
    else if (a.n < 14 || b.n < 7)
        fprintf(stderr, "bench_ci: %zu runs of A and %zu of B; at least 14 and 7 are needed\n", a.n, b.n);
    else {
        print_head();
        for (int procedure = COMPARE; procedure < PROCEDURES; procedure++)
            if (procedure == COMPARE || (a.n >= 28 && b.n >= 14))
                recorded(&a, &b, splits, procedure);
        print_spread("A", &a, PP_CMP_SAMPLES_PER_S);
        print_spread("A", &a, PP_CMP_CPU_S_PER_SAMPLE);
        printf("from %zu recorded runs of A and %zu of B\n", a.n, b.n);
        code = 0;
    }
    pp_runs_free(&a);
    pp_runs_free(&b);
    return code;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "sim") == 0) {
        simulate(argc > 2 ? strtoull(argv[2], NULL, 10) : 1000);
        return 0;
    }
    if (argc >= 4 && strcmp(argv[1], "runs") == 0)
        return real_runs(argv[2], argv[3], argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 400);
    fprintf(stderr, "usage: bench_ci sim [TRIALS] | bench_ci runs A B [SPLITS]\n");
    return 2;
}
