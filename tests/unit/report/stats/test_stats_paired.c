/* Statistics of pairs against tables that SciPy computed (stats_golden.h), against all ways counted by hand,
 * and by simulation. */
#include "report/stats/order.h"
#include "report/stats/paired.h"
#include "tests/support/stats_golden.h"

#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void near(const char *what, size_t row, double got, double want, double tolerance)
{
    if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= tolerance * fmax(fabs(want), 1e-12)))
        fail_msg("%s, row %zu: %.17g instead of %.17g", what, row, got, want);
}

static double normal(struct pp_rng *r)
{
    double u = 1 - pp_rng_unit(r), v = pp_rng_unit(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void sign_flips_are_scipys(void **state)
{
    struct pp_err err;
    for (size_t i = 0; i < ROWS(sign_flip_rows); i++) {
        const typeof(sign_flip_rows[0]) *row = &sign_flip_rows[i];
        double d[24], one[2], all[2], alone, same;
        memcpy(d, row->a, row->n * sizeof(*d));
        memcpy(d + row->n, row->b, row->n * sizeof(*d));
        assert_int_equal(pp_sign_flip(d, 2, row->n, one, all, &err), PP_OK);
        for (int q = 0; q < 2; q++) {
            near("p of one", i, one[q], row->p_one[q], 1e-12);
            near("p of all", i, all[q], row->p_all[q], 1e-12);
        }
        assert_int_equal(pp_sign_flip(row->a, 1, row->n, &alone, &same, &err), PP_OK);
        near("one question needs no adjustment", i, same, alone, 0);
    }
}

/* Above PP_SIGN_FLIP_EXACT ways are drawn: near the share of all of them, and the same every time. */
static void drawn_ways_are_near_all_ways(void **state)
{
    enum { N = 18 };
    struct pp_rng rng = pp_rng_key(3, 0, 0, 0);
    struct pp_err err;
    double d[N], seen = 0, exact = 0, one, all, again;
    for (int i = 0; i < N; i++)
        seen += d[i] = 0.3 + normal(&rng);
    for (uint32_t way = 0; way < 1u << N; way++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += way >> i & 1 ? -d[i] : d[i];
        exact += sum >= seen - 1e-9;
    }
    exact /= 1 << N;
    assert_int_equal(pp_sign_flip(d, 1, N, &one, &all, &err), PP_OK);
    assert_int_equal(pp_sign_flip(d, 1, N, &again, &all, &err), PP_OK);
    assert_true(one == again);
    if (fabs(one - exact) > 5 * sqrt(exact * (1 - exact) / 65536) + 1.0 / 65536)
        fail_msg("p %.5f by drawing, %.5f of all ways", one, exact);
}

static void the_floor_is_reached_by_pairs_that_agree(void **state)
{
    double d[20], one, all;
    struct pp_err err;
    for (size_t n = 1; n <= 20; n++) {
        for (size_t i = 0; i < n; i++)
            d[i] = 1 + (double)i;
        assert_int_equal(pp_sign_flip(d, 1, n, &one, &all, &err), PP_OK);
        if (n <= PP_SIGN_FLIP_EXACT)
            near("floor", n, one, pp_sign_flip_floor(n), 1e-12);
        else
            assert_true(one >= pp_sign_flip_floor(n) && one < 0.001);
    }
    near("seven pairs", 0, pp_sign_flip_floor(7), 1.0 / 128, 0);
}

/* No effect anywhere, five questions that share much of their noise: wrong about any at most as often as
 * alpha says. Its step of 1/128 is 0.78 %. */
static void sign_flips_hold_their_level_over_all_questions(void **state)
{
    enum { TRIALS = 4000, N = 7, QUESTIONS = 5 };
    struct pp_err err;
    int wrong = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct pp_rng r = pp_rng_key(17, t, 0, 0);
        double d[QUESTIONS * N], one[QUESTIONS], all[QUESTIONS], least = 1;
        for (int i = 0; i < N; i++) {
            double shared = normal(&r);
            for (int q = 0; q < QUESTIONS; q++)
                d[q * N + i] = shared + 0.5 * q * normal(&r);
        }
        assert_int_equal(pp_sign_flip(d, QUESTIONS, N, one, all, &err), PP_OK);
        for (int q = 0; q < QUESTIONS; q++) {
            assert_true(all[q] >= one[q]);
            least = fmin(least, all[q]);
        }
        wrong += least < 0.01;
    }
    assert_in_range(wrong, 10, TRIALS * 12 / 1000); /* 31 expected */
}

/* What the adjustment is for: a real effect is found however many questions are asked beside it, where Holm
 * over six would need p < 0.0017 and never get it of seven pairs. */
static void other_questions_cost_nothing(void **state)
{
    enum { N = 7 };
    double d[6 * N], one[6], all[6];
    struct pp_rng r = pp_rng_key(19, 0, 0, 0);
    struct pp_err err;
    for (int i = 0; i < N; i++) {
        d[i] = 0.1 + 0.01 * normal(&r);
        for (int q = 1; q < 6; q++)
            d[q * N + i] = 0.05 * normal(&r);
    }
    assert_int_equal(pp_sign_flip(d, 6, N, one, all, &err), PP_OK);
    near("p of all", 0, all[0], 1.0 / 128, 1e-12);
}

static void signed_rank_intervals_are_scipys(void **state)
{
    struct pp_err err;
    for (size_t i = 0; i < ROWS(signed_rank_rows); i++) {
        const typeof(signed_rank_rows[0]) *row = &signed_rank_rows[i];
        struct pp_shift got;
        assert_int_equal(pp_signed_rank_interval(row->d, row->n, row->confidence, &got, &err), PP_OK);
        near("estimate", i, got.estimate, row->estimate, 1e-12);
        near("low", i, got.low, row->low, 1e-12);
        near("high", i, got.high, row->high, 1e-12);
    }
}

/* At least what it promises, for noise of any shape that is the same either way round. 4,000 trials: standard
 * error 0.3 %. */
static void intervals_cover(void **state)
{
    enum { TRIALS = 4000 };
    static const char *const shapes[] = {"normal", "heavy tails", "two clusters"};
    static const struct {
        size_t n;
        double confidence;
    } rows[] = {{7, 0.95}, {7, 0.96}, {14, 0.99}};
    struct pp_err err;
    for (size_t i = 0; i < ROWS(rows); i++)
        for (int shape = 0; shape < 3; shape++) {
            int covered = 0;
            for (uint64_t t = 0; t < TRIALS; t++) {
                struct pp_rng r = pp_rng_key(23, t, i, (uint64_t)shape);
                struct pp_shift got;
                double d[14];
                for (size_t k = 0; k < rows[i].n; k++) {
                    double z = normal(&r);
                    d[k] = 0.1 + (shape == 1   ? 0.02 * z * z * z
                                  : shape == 2 ? (pp_rng_below(&r, 2) ? 0.05 : -0.05) + 0.005 * z
                                               : 0.03 * z);
                }
                assert_int_equal(pp_signed_rank_interval(d, rows[i].n, rows[i].confidence, &got, &err),
                                 PP_OK);
                covered += got.low <= 0.1 && got.high >= 0.1;
            }
            print_message("# coverage of the %g %% interval, %zu pairs, %s: %.1f %%\n",
                          100 * rows[i].confidence, rows[i].n, shapes[shape], 100.0 * covered / TRIALS);
            assert_true(covered >= TRIALS * (rows[i].confidence - 0.01));
        }
}

/* At most 5 % of fresh pairs without an effect stray beyond the floor (plus sampling), whatever effect the
 * pairs had that it was found from. */
static void noise_floor_is_the_noise(void **state)
{
    const struct pp_bootstrap_opts quick = {.confidence = 0.95, .resamples = 2000, .seed = 1};
    struct pp_rng r = pp_rng_key(29, 0, 0, 0);
    struct pp_err err;
    double many[60], moved[60], floor, same, back[7];
    int beyond = 0;
    for (int i = 0; i < 60; i++) {
        many[i] = 0.03 * normal(&r);
        moved[i] = many[i] + 0.5;
    }
    assert_int_equal(pp_paired_noise_floor(many, 60, &quick, &floor, &err), PP_OK);
    assert_int_equal(pp_paired_noise_floor(moved, 60, &quick, &same, &err), PP_OK);
    near("an effect is no noise", 0, same, floor, 1e-9);
    for (int t = 0; t < 1000; t++) {
        struct pp_shift got;
        double fresh[60];
        for (int i = 0; i < 60; i++)
            fresh[i] = 0.03 * normal(&r);
        assert_int_equal(pp_signed_rank_interval(fresh, 60, 0.95, &got, &err), PP_OK);
        beyond += fabs(got.estimate) > log1p(floor);
    }
    assert_in_range(beyond, 10, 120);
    for (int i = 0; i < 7; i++)
        back[i] = 4 * many[i];
    assert_int_equal(pp_paired_noise_floor(many, 7, &quick, &floor, &err), PP_OK);
    assert_int_equal(pp_paired_noise_floor(back, 7, &quick, &same, &err), PP_OK);
    near("four times the spread", 0, log1p(same), 4 * log1p(floor), 1e-9);
}

static void what_makes_no_sense_is_refused(void **state)
{
    const struct pp_bootstrap_opts quick = {.confidence = 0.95, .resamples = 2000, .seed = 1};
    double ok[] = {1, 2, 3}, bad[] = {1, INFINITY, 3}, zero[7] = {0}, one, all;
    struct pp_shift got;
    struct pp_err err;
    assert_int_equal(pp_sign_flip(ok, 1, 0, &one, &all, &err), PP_E_USAGE);
    assert_int_equal(pp_sign_flip(bad, 1, 3, &one, &all, &err), PP_E_USAGE);
    assert_int_equal(pp_signed_rank_interval(ok, 0, 0.95, &got, &err), PP_E_USAGE);
    assert_int_equal(pp_signed_rank_interval(bad, 3, 0.95, &got, &err), PP_E_USAGE);
    assert_int_equal(pp_signed_rank_interval(ok, 3, 1, &got, &err), PP_E_USAGE);
    assert_int_equal(pp_paired_noise_floor(bad, 3, &quick, &one, &err), PP_E_USAGE);
    assert_int_equal(pp_sign_flip(zero, 1, 7, &one, &all, &err), PP_OK); /* pairs without any difference */
    assert_true(one == 1 && all == 1);
    assert_int_equal(pp_signed_rank_interval(zero, 7, 0.95, &got, &err), PP_OK);
    assert_true(got.low == 0 && got.high == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sign_flips_are_scipys),
        cmocka_unit_test(drawn_ways_are_near_all_ways),
        cmocka_unit_test(the_floor_is_reached_by_pairs_that_agree),
        cmocka_unit_test(sign_flips_hold_their_level_over_all_questions),
        cmocka_unit_test(other_questions_cost_nothing),
        cmocka_unit_test(signed_rank_intervals_are_scipys),
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(noise_floor_is_the_noise),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
