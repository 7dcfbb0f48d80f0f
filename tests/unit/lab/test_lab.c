/* The lab's plan and tables: a plan cut anywhere has favoured nothing, halves share no seed, and what is
 * printed is what the rows say. */
#include "tests/lab/neighbours.h"
#include "tests/lab/plan.h"
#include "tests/lab/reliability.h"
#include "tests/lab/results.h"
#include "report/verdict/verdict.h"

#include "probe/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SCENARIOS = 7, LEVELS = 3, SEEDS = 5 };
static const int levels[LEVELS] = {0, 1, 2};
static const unsigned seeds[SEEDS] = {2, 4, 6, 8, 10};

static struct lab_plan plan_of(uint64_t key)
{
    struct lab_plan p;
    struct pp_err err = {0};
    assert_int_equal(lab_plan_make(SCENARIOS, levels, LEVELS, seeds, SEEDS, key, &p, &err), PP_OK);
    assert_int_equal(p.n, SCENARIOS * LEVELS * SEEDS);
    assert_int_equal(p.rounds, LEVELS * SEEDS);
    return p;
}

static void test_every_run_comes_once(void **state)
{
    int seen[SCENARIOS][LEVELS][SEEDS] = {{{0}}};
    struct lab_plan p = plan_of(1);
    for (size_t i = 0; i < p.n; i++)
        assert_int_equal(seen[p.run[i].scenario][p.run[i].level][p.run[i].seed / 2 - 1]++, 0);
    free(p.run);
}

static void spread(const int *n, int of, int most)
{
    int low = n[0], high = n[0];
    for (int i = 1; i < of; i++) {
        low = n[i] < low ? n[i] : low;
        high = n[i] > high ? n[i] : high;
    }
    assert_true(high - low <= most);
}

static void test_a_plan_cut_anywhere_favours_nothing(void **state)
{
    for (uint64_t key = 0; key < 20; key++) {
        struct lab_plan p = plan_of(key);
        int of_scenario[SCENARIOS] = {0}, of_level[SCENARIOS][LEVELS] = {{0}};
        for (size_t i = 0; i < p.n; i++) {
            of_scenario[p.run[i].scenario]++;
            of_level[p.run[i].scenario][p.run[i].level]++;
            assert_int_equal(p.run[i].round, i / SCENARIOS);
            spread(of_scenario, SCENARIOS, 1);
            for (int s = 0; s < SCENARIOS; s++)
                spread(of_level[s], LEVELS, 1);
        }
        free(p.run);
    }
}

static void test_the_order_is_random_and_the_key_decides_it(void **state)
{
    struct lab_plan a = plan_of(5), b = plan_of(5), c = plan_of(6);
    size_t other = 0, in_order = 0;
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(a.run[i].scenario, b.run[i].scenario);
        assert_int_equal(a.run[i].level, b.run[i].level);
        assert_int_equal(a.run[i].seed, b.run[i].seed);
        other += a.run[i].scenario != c.run[i].scenario || a.run[i].level != c.run[i].level ||
                 a.run[i].seed != c.run[i].seed;
        in_order += a.run[i].scenario == i % SCENARIOS;
    }
    assert_true(other > a.n / 2);
    assert_true(in_order < a.n / 2);
    free(a.run);
    free(b.run);
    free(c.run);
}

static void test_halves_share_no_seed(void **state)
{
    unsigned tune[60], report[60], held_out[5], any[3], one[6];
    struct pp_err err = {0};
    assert_int_equal(lab_seeds(SEEDS_TUNE, 1, 60, tune, &err), PP_OK);
    assert_int_equal(lab_seeds(SEEDS_REPORT, 1, 60, report, &err), PP_OK);
    assert_int_equal(lab_seeds(SEEDS_HELD_OUT, 1, 5, held_out, &err), PP_OK);
    assert_int_equal(lab_seeds(SEEDS_ANY, 19, 3, any, &err), PP_OK);
    assert_int_equal(any[2], 21);
    for (int i = 0; i < 60; i++) {
        assert_true(tune[i] % 2 == 1 && report[i] % 2 == 0);
        assert_true((tune[i] < 20 || tune[i] > 24) && (report[i] < 20 || report[i] > 24));
    }
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(held_out[i], 20 + i);
    assert_int_equal(lab_seeds(SEEDS_HELD_OUT, 1, 6, one, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "held out"));
}

/* ---- runs that were kept ---- */

static void put_file(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fclose(out);
}

static void test_kept_runs_are_found_by_their_names(void **state)
{
    static const struct scenario all[] = {{.name = "slow"}, {.name = "slow-reads"}};
    static const char *const names[] = {"slow-0-3.sqlite",         "slow-2-11.sqlite",      "slow-0-4.sqlite",
                                        "slow-0-3-workers.sqlite", "slow-reads-1-3.sqlite", "slow-3-3.sqlite",
                                        "other-0-3.sqlite",        "slow-0-3.sqlite-wal",   "slow-0.sqlite"};
    char dir[] = "/tmp/pipeprobe-kept-XXXXXX", path[512];
    struct lab_plan p;
    struct pp_err err = {0};
    assert_non_null(mkdtemp(dir));
    assert_int_equal(lab_plan_kept(dir, all, 2, -1, SEEDS_ANY, &p, &err), PP_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "holds no recording"));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        put_file(dir, names[i]);
    assert_int_equal(lab_plan_kept(dir, all, 2, -1, SEEDS_TUNE, &p, &err), PP_OK);
    assert_int_equal(p.n, 3);
    assert_true(p.run[0].scenario == 0 && p.run[0].level == 0 && p.run[0].seed == 3);
    assert_true(p.run[1].scenario == 0 && p.run[1].level == 2 && p.run[1].seed == 11);
    assert_true(p.run[2].scenario == 1 && p.run[2].level == 1 && p.run[2].seed == 3);
    free(p.run);
    assert_int_equal(lab_plan_kept(dir, all, 2, 0, SEEDS_ANY, &p, &err), PP_OK);
    assert_int_equal(p.n, 2); /* mild ones, of both halves */
    free(p.run);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

/* The fix list is the steady state's; what lies outside of it has the remedy that its cause names. */
static void test_the_first_fix(void **state)
{
    struct pp_report_fix fix = {.knob = "workers"};
    assert_string_equal(lab_first_fix(&(struct pp_report_verdict){
                            .l1 = "storage", .l2 = "latency", .fixes = &fix, .n_fixes = 1}),
                        "workers");
    assert_string_equal(lab_first_fix(&(struct pp_report_verdict){
                            .l1 = "loader", .l2 = "warm-up", .fixes = &fix, .n_fixes = 1}),
                        "start");
    assert_string_equal(lab_first_fix(&(struct pp_report_verdict){.l1 = "loader", .l2 = "epoch-drain"}),
                        "start");
    assert_string_equal(lab_first_fix(&(struct pp_report_verdict){.fixes = &fix, .n_fixes = 1}),
                        ""); /* not input-bound */
}

/* ---- tables ---- */

static const struct scenario slow = {
    .name = "slow-reads", .row = 4, .l0 = "input-bound", .l1 = "storage", .l2 = "latency", .fix = "workers"};
static const struct scenario idle = {.name = "idle", .row = 1, .l0 = "not-input-bound"};

static void add_run(struct lab_results *r, const struct scenario *s, const char *l0, const char *l1,
                    const char *l2)
{
    struct pp_report_rejected why = {"storage", "latency",
                                     "replay: weight of storage is 10.0 %, not >= 40.0 %"};
    struct pp_report report = {.data_wait_share = 0.25,
                               .samples_per_s = 100,
                               .without_waits_samples_per_s = 150,
                               .verdict = {.l0 = l0, .l1 = l1, .l2 = l2, .rejected = &why, .n_rejected = 1}};
    struct lab_run *row = lab_add_run(r);
    assert_non_null(row);
    lab_judge(row, s, &report);
}

static char *printed(const struct lab_results *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lab_tables(r, out);
    fclose(out);
    return text;
}

static void has(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("no '%s' in:\n%s", line, text);
}

static void test_the_tables_count_the_rows(void **state)
{
    struct lab_results r = {0};
    for (int i = 0; i < 16; i++)
        add_run(&r, &slow, "input-bound", "storage", i < 14 ? "latency" : "bandwidth");
    add_run(&r, &slow, "input-bound", "transform", "cpu-saturated");
    add_run(&r, &idle, "not-input-bound", NULL, NULL);
    add_run(&r, &idle, "not-input-bound", NULL, NULL);
    add_run(&r, &idle, "input-bound", "storage", "latency");
    char *text = printed(&r);
    has(text, "19 of  20 =  95.0 %  (76.4 to 99.1)"); /* L0; Wilson's interval as R's prop.test(correct =
                                                         FALSE) gives it */
    has(text, "18 of  20 =  90.0 %  (69.9 to 97.2)"); /* L1 */
    has(text, "14 of  17 =  82.4 %  (59.0 to 93.8)"); /* L2 */
    has(text, "1 of   3 =  33.3 %  (6.1 to 79.2)");   /* false input-bound */
    has(text,
        "  storage                   16            1            0            0            0            0\n");
    has(text,
        "  not                        1            0            0            0            2            0\n");
    has(text, "4 slow-reads             storage/latency");
    has(text, "16 of 17  14 of 17");
    has(text,
        "NO  4 slow-reads             mild     0  said transform/cpu-saturated  wait 25.0 %  others 0.0: latency: replay: weight of storage is 10.0 %, not >= 40.0 %");
    has(text, "l2  4 slow-reads");
    has(text,
        "NO  1 idle                   mild     0  said storage/latency  wait 25.0 %  others 0.0: the stall is 25.0 %, the line is at 5.0 %");
    free(text);
    lab_results_free(&r);
}

static void test_predictions_and_labels_are_counted(void **state)
{
    struct lab_results r = {0};
    add_run(&r, &slow, "input-bound", "storage", "latency");
    *lab_add_truth(&r) = (struct lab_truth){.s = &slow,
                                            .accepted = 1,
                                            .named = 0.5,
                                            .other = 0.1,
                                            .best = "workers",
                                            .first_fix = "workers",
                                            .first_gain = 0.4};
    *lab_add_prediction(&r) = (struct lab_prediction){.s = &slow,
                                                      .knob = "workers",
                                                      .base = 100,
                                                      .predicted = 110,
                                                      .low = 90,
                                                      .high = 120,
                                                      .measured = 100};
    *lab_add_prediction(&r) = (struct lab_prediction){.s = &slow,
                                                      .knob = "workers",
                                                      .base = 100,
                                                      .predicted = 104,
                                                      .low = 90,
                                                      .high = 120,
                                                      .measured = 80,
                                                      .outside_cpus = 1};
    *lab_add_prediction(&r) = (struct lab_prediction){.s = &slow,
                                                      .knob = "storage",
                                                      .base = 100,
                                                      .predicted = 200,
                                                      .low = 190,
                                                      .high = 210,
                                                      .measured = 250,
                                                      .of_cause = 1};
    char *text = printed(&r);
    has(text, "labels shown causal by intervention            1 of   1");
    has(text, "median 0.80, lowest tenth 0.80, of 1");
    has(text,
        "workers                           2     30.0 %     30.0 %       50 %"); /* 10 and 30 % off, one in
                                                                                    its interval, which the
                                                                                    other is below */
    has(text, "storage                           1     20.0 %     20.0 %        0 %");
    has(text, "without background load           2     20.0 %     20.0 %       50 %");
    has(text, "median 10.0 points"); /* 100/200 is said to remain, 100/250 does */
    has(text, "causal (mild): best workers; its fix +50 %, any other +10 %");
    free(text);
    lab_results_free(&r);
}

/* 100 verdicts of every score: those of a low score are right half of the time, the others always. */
static struct lab_scores scores_of(const struct lab_results *r)
{
    struct lab_scores s = {0};
    struct pp_err err = {0};
    assert_int_equal(lab_scores_add(&s, r, &err), PP_OK);
    return s;
}

static void test_confidence_is_fitted_and_checked(void **state)
{
    struct lab_results r = {0};
    struct lab_fit_row row[400];
    for (int i = 0; i < 400; i++) {
        add_run(&r, &slow, "input-bound", i < 100 && i % 2 ? "transform" : "storage", "latency");
        r.runs[i].score = i < 100 ? 0.3 + i * 0.001 : 0.7 + (i % 3) * 0.1;
        r.runs[i].confidence = i < 100 ? 0.75 : 0.92;
    }
    struct lab_scores s = scores_of(&r);
    size_t n = lab_fit(&s, row), all = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(row[i].n >= LAB_FIT_LEAST);
        assert_true(i == 0 || (row[i].score > row[i - 1].score &&
                               row[i].right * row[i - 1].n >= row[i - 1].right * row[i].n));
        all += row[i].n;
    }
    assert_int_equal(all, 400);
    assert_true(n >= 2 && row[0].n == 100 && row[0].right == 50 && row[n - 1].right == row[n - 1].n);
    char *text = printed(&r);
    has(text, "confidence of the class (400 verdicts");
    has(text, " 100   75.0 %     50   50.0 %  (40.4 to 59.6)");
    has(text, " 300   92.0 %    300  100.0 %  (98.7 to 100.0)");
    free(text);
    r.runs[0].score = r.runs[0].confidence = NAN; /* without a confidence a verdict is not counted */
    lab_scores_free(&s);
    s = scores_of(&r);
    assert_int_equal(s.n, 399);
    assert_int_equal(lab_fit(&s, row), n);
    lab_scores_free(&s);
    lab_results_free(&r);
}

/* Scores of several runs of the lab are one fit: what a file has comes back, and a second run is added. */
static void test_scores_are_kept_over_runs(void **state)
{
    char file[] = "/tmp/pipeprobe-scores-XXXXXX", *text;
    size_t size;
    struct lab_results r = {0};
    struct lab_scores s = {0};
    struct pp_err err = {0};
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < 60; i++) {
        add_run(&r, &slow, "input-bound", i % 3 ? "storage" : "transform", "latency");
        r.runs[i].score = i < 2 ? NAN : 0.501 + 0.4 * (i % 2);
        r.runs[i].confidence = 0.75;
    }
    assert_int_equal(lab_scores_append(file, &r, &err), PP_OK);
    assert_int_equal(lab_scores_append(file, &r, &err), PP_OK);
    assert_int_equal(lab_scores_read(&s, file, &err), PP_OK);
    assert_int_equal(s.n, 2 * 58);
    for (size_t i = 0; i < s.n; i++) {
        assert_float_equal(s.row[i].score, r.runs[2 + i % 58].score, 1e-6);
        assert_int_equal(s.row[i].right, r.runs[2 + i % 58].l1_right);
    }
    FILE *out = open_memstream(&text, &size);
    lab_put_fit(&s, out);
    fclose(out);
    has(text, "scores of 116 verdicts");
    has(text, "0.50 to 0.55     58");
    has(text, "0.90 to 0.95     58");
    free(text);
    lab_scores_free(&s);

    out = fopen(file, "a"); /* a line of another kind is named, not passed over */
    fputs("slow-reads,medium,1,0.1,1.5,0.75,1\n", out);
    fclose(out);
    assert_int_equal(lab_scores_read(&s, file, &err), PP_E_CORRUPT);
    has(err.text, "line 118 holds no score");
    lab_scores_free(&s);
    unlink(file);
    assert_int_equal(lab_scores_read(&s, file, &err), PP_E_NOT_FOUND);
    lab_results_free(&r);
}

static void test_loads_are_counts(void **state)
{
    int loads[LAB_LOADS_MOST], n;
    struct pp_err err = {0};
    assert_int_equal(lab_loads_parse("0,1,2", loads, &n, &err), PP_OK);
    assert_int_equal(n, 3);
    assert_true(loads[0] == 0 && loads[1] == 1 && loads[2] == 2);
    assert_int_equal(lab_loads_parse("", loads, &n, &err), PP_OK);
    assert_int_equal(n, 0);
    static const char *const bad[] = {"x", "1,,2", "-1", "1;2", "65", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(lab_loads_parse(bad[i], loads, &n, &err), PP_E_USAGE);
}

/* They run, and are gone afterwards. */
static void test_neighbours_end(void **state)
{
    struct lab_neighbours a = {.n = 0};
    struct pp_err err = {0};
    int pid[2];
    assert_int_equal(lab_neighbours_start(&a, 2, &err), PP_OK);
    assert_int_equal(a.n, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kill(pid[i] = a.pid[i], 0), 0);
    lab_neighbours_end(&a);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kill(pid[i], 0), -1);
    assert_int_equal(a.n, 0);
}

/* A higher score is never less likely to be right, and no verdict is certain. */
static void test_the_table_of_confidence_is_monotone(void **state)
{
    for (size_t i = 0; i < pp_confidence_rows_n; i++) {
        assert_true(pp_confidence_rows[i].right > 0 && pp_confidence_rows[i].right < 1);
        assert_true(!i || (pp_confidence_rows[i].score > pp_confidence_rows[i - 1].score &&
                           pp_confidence_rows[i].right >= pp_confidence_rows[i - 1].right));
    }
    assert_true(pp_confidence_rows[0].score == 0 && isnan(pp_confidence_of(NAN)));
    assert_true(pp_confidence_of(0) == pp_confidence_rows[0].right);
    assert_true(pp_confidence_of(1) == pp_confidence_rows[pp_confidence_rows_n - 1].right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_run_comes_once),
        cmocka_unit_test(test_a_plan_cut_anywhere_favours_nothing),
        cmocka_unit_test(test_the_order_is_random_and_the_key_decides_it),
        cmocka_unit_test(test_halves_share_no_seed),
        cmocka_unit_test(test_kept_runs_are_found_by_their_names),
        cmocka_unit_test(test_the_first_fix),
        cmocka_unit_test(test_the_tables_count_the_rows),
        cmocka_unit_test(test_predictions_and_labels_are_counted),
        cmocka_unit_test(test_confidence_is_fitted_and_checked),
        cmocka_unit_test(test_the_table_of_confidence_is_monotone),
        cmocka_unit_test(test_scores_are_kept_over_runs),
        cmocka_unit_test(test_loads_are_counts),
        cmocka_unit_test(test_neighbours_end),
    };
    return cmocka_run_group_tests_name("lab", tests, NULL, NULL);
}
