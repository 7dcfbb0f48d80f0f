/* How often the gate is wrong, and how often it finds what is there.
 *
 *   bench_ci sim [TRIALS]                       runs made up: noise of 1, 2 and 4 %, and a machine that
 *                                               drifts by 10 %
 *   bench_ci runs NAME BASE SAME SLOW [DRAWS]   recorded runs: BASE against SAME, which is the same thing,
 *                                               and against SLOW; run k of each was made
 *                                               beside run k of the others, so they can be taken as
 *                                                 sides and as pairs
 *
 * The draws are of recorded runs, each run at most once in a comparison. Comparisons of one recording are not
 * independent: Wilson's interval says how finely the draws give the rate, the number of rounds how well it is
 * known. */
#include "report/ci/plan.h"
#include "report/compare/run.h"
#include "tests/support/fake_runs.h"

#define N 7
#define ROUNDS_MAX 1000

/* ---- rates ---- */

struct score {
    double count[4]; /* by enum pp_answer */
    double ratio;    /* sum of times worse, of throughput */
};

/* Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927: 95 %. */
static void wilson(double hits, double n, double *low, double *high)
{
    const double z = 1.959964;
    double share = hits / n, middle = share + z * z / (2 * n),
           half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)), scale = 1 + z * z / n;
    *low = fmax(0, (middle - half) / scale);
    *high = fmin(1, (middle + half) / scale);
}

static void print_head(void)
{
    printf("%-52s %6s %11s %16s %13s %7s   %s\n", "", "tries", "regressed", "95 % of it", "inconclusive",
           "not", "goal");
}

static void print_score(const char *what, const struct score *s, const char *goal)
{
    double n = 0, low, high;
    for (int i = 0; i < 4; i++)
        n += s->count[i];
    wilson(s->count[PP_REGRESSED], n, &low, &high);
    printf("%-52s %6.0f %9.1f %% %6.1f - %5.1f %% %11.1f %% %5.1f %%   %s\n", what, n,
           100 * s->count[PP_REGRESSED] / n, 100 * low, 100 * high, 100 * s->count[PP_INCONCLUSIVE] / n,
           100 * s->count[PP_NOT_REGRESSED] / n, goal);
}

/* ---- the gate ---- */

struct design {
    const char *name;
    int paired;
    int looks; /* 2: as `ci run`, seven, and fourteen when those are inconclusive; the noise check on */
};
static const struct design designs[] = {{"compare", 0, 1},
                                        {"compare --paired", 1, 1},
                                        {"ci run against a baseline", 0, 2},
                                        {"ci run --ab", 1, 2}};
#define DESIGNS (sizeof(designs) / sizeof(designs[0]))

static enum pp_answer gate(struct pp_runs *base, struct pp_runs *head, const struct design *d, int second,
                           double *ratio)
{
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    pp_compare_defaults(&o);
    o.resamples = 1000;
    o.paired = d->paired;
    o.look_share = pp_ci_look_share(N, (size_t)d->looks * N, second);
    o.refuse_below_noise = d->looks > 1;
    if (pp_compare_build(&(struct pp_compare_side){"BASE", base}, &(struct pp_compare_side){"HEAD", head}, &o,
                         &c, &err) != PP_OK) {
        fprintf(stderr, "bench_ci: %s\n", err.text);
        exit(1);
    }
    enum pp_answer answer = c.answer;
    *ratio = c.metric[PP_CMP_SAMPLES_PER_S].ratio;
    pp_compare_free(&c);
    return answer;
}

/* What `ci run` does: 7 runs a side, and when those are inconclusive, all 14. base and head hold looks x N
 * runs. */
static void decide(struct pp_runs *base, struct pp_runs *head, const struct design *d, struct score *s)
{
    double ratio;
    base->n = head->n = N;
    enum pp_answer answer = gate(base, head, d, 0, &ratio);
    if (answer == PP_INCONCLUSIVE && d->looks > 1) {
        base->n = head->n = 2 * N;
        answer = gate(base, head, d, 1, &ratio);
    }
    s->count[answer]++;
    s->ratio += ratio;
}

/* ---- simulated ---- */

static void simulate_one(const struct design *d, double noise, double drift, double slow, uint64_t trials)
{
    struct score s = {0};
    char what[100];
    for (uint64_t t = 0; t < trials; t++) {
        uint64_t seed = 4 * t + (slow > 1);
        struct pp_runs base = fake_side("a", 2 * N, 1, noise, 2 * seed),
                       head = fake_side("b", 2 * N, slow, noise, 2 * seed + 1);
        size_t all = base.n;
        fake_drift(&base, &head, drift, seed);
        decide(&base, &head, d, &s);
        base.n = head.n = all;
        pp_runs_free(&base);
        pp_runs_free(&head);
    }
    snprintf(what, sizeof(what), "%s, noise %.0f %%%s, %s", d->name, noise * 100,
             drift > 0 ? ", drift 10 %" : "", slow > 1 ? "10 % slower" : "A/A");
    print_score(what, &s,
                slow == 1                                   ? "<= 1 %"
                : noise > 0.03 || (drift > 0 && !d->paired) ? "(inconclusive rather than wrong)"
                                                            : ">= 95 %");
}

static void simulate(uint64_t trials)
{
    static const struct {
        double noise, drift;
    } rows[] = {{0.01, 0}, {0.02, 0}, {0.04, 0}, {0.02, 0.1}};
    printf("Simulated runs, n = 7 (ci run: 7, then 14)\n");
    print_head();
    for (size_t i = 0; i < DESIGNS; i++)
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
            for (int slow = 0; slow < 2; slow++)
                simulate_one(&designs[i], rows[k].noise, rows[k].drift, slow ? 1.1 : 1, trials);
}

/* ---- recorded ---- */

static void shuffle(size_t *order, size_t n, struct pp_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = pp_rng_below(rng, i), t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

/* Borrows the runs: what is in the list belongs to its loader. */
static void pick(const struct pp_runs *from, const size_t *order, size_t n, struct pp_runs *out)
{
    for (size_t i = 0; i < n; i++)
        out->run[i] = from->run[order[i]];
    out->n = n;
}

/* Draws of n rounds: pairs stay pairs; sides are taken from different rounds, as far as there are enough. */
static struct score recorded(const struct pp_runs *base, const struct pp_runs *head, const struct design *d,
                             unsigned draws)
{
    struct pp_run of_base[2 * N], of_head[2 * N];
    struct pp_runs x = {of_base, 0}, y = {of_head, 0};
    size_t n = (size_t)d->looks * N, order[ROUNDS_MAX];
    struct score s = {0};
    for (unsigned t = 0; t < draws; t++) {
        struct pp_rng rng = pp_rng_key(1, t, 0, 0);
        for (size_t i = 0; i < base->n; i++)
            order[i] = i;
        shuffle(order, base->n, &rng);
        pick(base, order, n, &x);
        pick(head, d->paired ? order : order + base->n - n, n, &y);
        decide(&x, &y, d, &s);
    }
    return s;
}

static double spread_of(const double *v, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

/* The noise a goal is to be read beside: of the log of one metric over runs, and over pairs of the same
 * thing. */
static void print_spread(const struct pp_runs *base, const struct pp_runs *same, enum pp_cmp_id id)
{
    double run[ROUNDS_MAX], pair[ROUNDS_MAX];
    for (size_t i = 0; i < base->n; i++) {
        run[i] = log(base->run[i].metric[id]);
        pair[i] = log(same->run[i].metric[id]) - run[i];
    }
    printf(
        "  %s varies by %.1f %% from run to run; two runs made side by side differ by %.1f %% (one of independent runs: %.1f %%)\n",
        pp_cmp_metrics[id].title, 100 * spread_of(run, base->n), 100 * spread_of(pair, base->n),
        100 * M_SQRT2 * spread_of(run, base->n));
}

static void print_recorded(const char *name, const struct pp_runs *base, const struct pp_runs *same,
                           const struct pp_runs *slow, unsigned draws)
{
    char what[100];
    printf("%s: %zu rounds of three runs\n", name, base->n);
    print_head();
    for (size_t i = 0; i < DESIGNS; i++) {
        if ((size_t)designs[i].looks * N > base->n) {
            printf("%-52s needs %d rounds\n", designs[i].name, designs[i].looks * N);
            continue;
        }
        struct score aa = recorded(base, same, &designs[i], draws),
                     slower = recorded(base, slow, &designs[i], draws);
        snprintf(what, sizeof(what), "%s, A/A", designs[i].name);
        print_score(what, &aa, "<= 1 %");
        snprintf(what, sizeof(what), "%s, %.1f %% slower", designs[i].name, 100 * (slower.ratio / draws - 1));
        print_score(what, &slower, ">= 95 % at 10 %");
    }
    print_spread(base, same, PP_CMP_SAMPLES_PER_S);
    print_spread(base, same, PP_CMP_CPU_S_PER_SAMPLE);
}

static int real_runs(const char *name, const char *const dirs[3], unsigned draws)
{
    struct pp_runs runs[3] = {{0}};
    struct pp_err err;
    int code = 0;
    for (int i = 0; i < 3 && code == 0; i++)
        if (pp_runs_load(&dirs[i], 1, &runs[i], &err) != PP_OK) {
            fprintf(stderr, "bench_ci: %s\n", err.text);
            code = 1;
        }
    if (code == 0 &&
        (runs[0].n != runs[1].n || runs[0].n != runs[2].n || runs[0].n < N || runs[0].n > ROUNDS_MAX)) {
        fprintf(stderr, "bench_ci: %zu, %zu and %zu runs; as many of each are needed, %d to %d\n", runs[0].n,
                runs[1].n, runs[2].n, N, ROUNDS_MAX);
        code = 1;
    }
    if (code == 0)
        print_recorded(name, &runs[0], &runs[1], &runs[2], draws);
    for (int i = 0; i < 3; i++)
        pp_runs_free(&runs[i]);
    return code;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "sim") == 0) {
        simulate(argc > 2 ? strtoull(argv[2], NULL, 10) : 1000);
        return 0;
    }
    if (argc >= 6 && strcmp(argv[1], "runs") == 0)
        return real_runs(argv[2], (const char *const[3]){argv[3], argv[4], argv[5]},
                         argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 400);
    fprintf(stderr, "usage: bench_ci sim [TRIALS] | bench_ci runs NAME BASE SAME SLOW [DRAWS]\n");
    return 2;
}
