/* Statistics against tables that SciPy and NumPy computed (stats_golden.h), against laws, and by simulation.
 */
#include "report/stats/bootstrap.h"
#include "report/stats/order.h"
#include "report/stats/tests.h"
#include "tests/support/stats_golden.h"

#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void near(const char *what, size_t row, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1e-12)))
        fail_msg("%s, row %zu: %.17g instead of %.17g", what, row, got, want);
}

static double normal(struct pp_rng *r)
{
    double u = 1 - pp_rng_unit(r), v = pp_rng_unit(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void quantiles_are_numpys(void **state)
{
    for (size_t i = 0; i < ROWS(quantile_rows); i++) {
        double x[25];
        size_t n = quantile_rows[i].n;
        memcpy(x, quantile_rows[i].x, sizeof(x));
        near("median of unsorted", i, pp_stats_median(x, n), quantile_rows[i].median, 1e-14);
        assert_memory_equal(x, quantile_rows[i].x, sizeof(x));
        pp_stats_sort(x, n);
        near("median", i, pp_stats_median_sorted(x, n), quantile_rows[i].median, 1e-14);
        near("q25", i, pp_stats_quantile_sorted(x, n, 0.25), quantile_rows[i].q25, 1e-14);
        near("q75", i, pp_stats_quantile_sorted(x, n, 0.75), quantile_rows[i].q75, 1e-14);
        near("q90", i, pp_stats_quantile_sorted(x, n, 0.9), quantile_rows[i].q90, 1e-14);
    }
    assert_true(isnan(pp_stats_median(NULL, 0)));
    assert_true(isnan(pp_stats_quantile_sorted(NULL, 0, 0.5)));
}

/* Quartiles 2.5 and 5.5 of 1..7: fences at -2 and 10 (mild), -6.5 and 14.5 (severe). */
static void outliers_are_beyond_tukeys_fences(void **state)
{
    static const struct {
        double last;
        size_t mild, severe;
    } rows[] = {{7, 0, 0}, {10, 0, 0}, {10.01, 1, 0}, {14.5, 1, 0}, {14.51, 0, 1}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        double x[] = {4, 1, 6, 2, 5, 3, rows[i].last};
        struct pp_outliers o = pp_stats_outliers(x, 7);
        assert_int_equal(o.mild, rows[i].mild);
        assert_int_equal(o.severe, rows[i].severe);
    }
    double three[] = {1, 2, 1000}, equal[] = {5, 5, 5, 5, 5, 6};
    assert_int_equal(pp_stats_outliers(three, 3).severe, 0);
    assert_int_equal(pp_stats_outliers(equal, 6).severe, 1);
}

static void mann_whitney_is_scipys(void **state)
{
    struct pp_mann_whitney got, swapped;
    struct pp_err err;
    for (size_t i = 0; i < ROWS(mann_whitney_rows); i++) {
        const typeof(mann_whitney_rows[0]) *r = &mann_whitney_rows[i];
        assert_int_equal(pp_mann_whitney(r->x, r->nx, r->y, r->ny, &got, &err), PP_OK);
        near("U", i, got.u, r->u, 1e-14);
        near("p", i, got.p, r->p, 1e-9);
        assert_int_equal(got.exact, r->exact);
        assert_int_equal(pp_mann_whitney(r->y, r->ny, r->x, r->nx, &swapped, &err), PP_OK);
        near("U of the other side", i, swapped.u, (double)(r->nx * r->ny) - r->u, 1e-14);
        near("p of the other side", i, swapped.p, got.p, 1e-12);
    }
}

static void mann_whitney_floor_is_reached_by_separated_samples(void **state)
{
    double low[20], high[20];
    struct pp_mann_whitney got;
    struct pp_err err;
    for (size_t n = 1; n <= 20; n++) {
        for (size_t i = 0; i < n; i++) {
            low[i] = (double)i;
            high[i] = 100 + (double)i;
        }
        assert_int_equal(pp_mann_whitney(low, n, high, n, &got, &err), PP_OK);
        near("floor", n, got.p, pp_mann_whitney_floor(n, n), 1e-12);
    }
    near("n = 3", 0, pp_mann_whitney_floor(3, 3), 0.1, 1e-12);
    near("n = 7", 0, pp_mann_whitney_floor(7, 7), 2.0 / 3432, 1e-12);
    assert_true(pp_mann_whitney_floor(0, 7) == 1);
}

static void mann_whitney_refuses(void **state)
{
    double x[] = {1, 2}, bad[] = {1, NAN}, same[] = {5, 5, 5, 5};
    struct pp_mann_whitney got;
    struct pp_err err;
    assert_int_equal(pp_mann_whitney(x, 2, x, 0, &got, &err), PP_E_USAGE);
    assert_int_equal(pp_mann_whitney(x, 2, bad, 2, &got, &err), PP_E_USAGE);
    assert_int_equal(pp_mann_whitney(same, 4, same, 4, &got, &err), PP_OK);
    assert_true(got.p == 1);
}

/* Under the null hypothesis an exact test rejects at most as often as it says. 4,000 draws: standard error of
 * 1 % is 0.16 %. */
static void mann_whitney_holds_its_level(void **state)
{
    enum { TRIALS = 4000 };
    int rejected = 0;
    struct pp_err err;
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct pp_rng r = pp_rng_key(7, t, 0, 0);
        double x[7], y[7];
        struct pp_mann_whitney got;
        for (int i = 0; i < 7; i++) {
            x[i] = exp(normal(&r));
            y[i] = exp(normal(&r));
        }
        assert_int_equal(pp_mann_whitney(x, 7, y, 7, &got, &err), PP_OK);
        rejected += got.p < 0.01;
    }
    assert_in_range(rejected, 1, TRIALS * 15 / 1000);
}

static void student_and_beta_are_scipys(void **state)
{
    for (size_t i = 0; i < ROWS(beta_rows); i++)
        near("beta", i, pp_incomplete_beta(beta_rows[i].a, beta_rows[i].b, beta_rows[i].x),
             beta_rows[i].value, 1e-10);
    for (size_t i = 0; i < ROWS(student_rows); i++)
        near("student", i,
             pp_student(student_rows[i].x, student_rows[i].nx, student_rows[i].y, student_rows[i].ny),
             student_rows[i].p, 1e-9);
    double flat[] = {2, 2, 2}, other[] = {3, 3, 3};
    assert_true(pp_student(flat, 3, flat, 3) == 1);
    assert_true(pp_student(flat, 3, other, 3) == 0);
    assert_true(pp_student(flat, 1, other, 3) == 1);
}

static void fisher_is_scipys(void **state)
{
    for (size_t i = 0; i < ROWS(fisher_rows); i++)
        near("fisher", i,
             pp_fisher_exact(fisher_rows[i].a, fisher_rows[i].n, fisher_rows[i].b, fisher_rows[i].m),
             fisher_rows[i].p, 1e-9);
}

/* Worked by hand from the definition; rows 1 and 2 are also R's p.adjust(p, "holm"). */
static void holm_is_by_the_book(void **state)
{
    static const struct {
        size_t n;
        double p[5], want[5];
    } rows[] = {
        {4, {0.01, 0.04, 0.03, 0.005}, {0.03, 0.06, 0.06, 0.02}},
        {5, {0.0006, 0.9, 0.0006, 0.02, 0.5}, {0.003, 1, 0.003, 0.06, 1}},
        {3, {0.02, NAN, 0.01}, {0.02, NAN, 0.02}},
        {1, {0.3}, {0.3}},
        {0, {0}, {0}},
    };
    struct pp_err err;
    for (size_t i = 0; i < ROWS(rows); i++) {
        double got[5];
        assert_int_equal(pp_holm(rows[i].p, rows[i].n, got, &err), PP_OK);
        for (size_t k = 0; k < rows[i].n; k++) {
            if (isnan(rows[i].want[k]))
                assert_true(isnan(got[k]));
            else
                near("holm", i, got[k], rows[i].want[k], 1e-12);
        }
    }
}

#define VALUES(v, count) ((struct pp_values){(v), (count)})

static const struct pp_bootstrap_opts quick = {.confidence = 0.95, .resamples = 2000, .seed = 1};

static void bootstrap_is_deterministic_and_scales(void **state)
{
    double x[] = {5, 4, 6, 5.5, 4.5, 5.2, 4.9}, y[] = {2, 2.2, 1.9, 2.1, 2.05, 1.95, 2}, twice[7];
    struct pp_ratio a, b, c;
    struct pp_err err;
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(x, 7), VALUES(y, 7), &quick, &a, &err), PP_OK);
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(x, 7), VALUES(y, 7), &quick, &b, &err), PP_OK);
    assert_memory_equal(&a, &b, sizeof(a));
    near("ratio", 0, a.ratio, 2.5, 1e-14);
    assert_true(a.low < 2.5 && a.high > 2.5);
    for (int i = 0; i < 7; i++)
        twice[i] = 2 * x[6 - i]; /* order must not matter */
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(twice, 7), VALUES(y, 7), &quick, &c, &err), PP_OK);
    near("low of twice", 0, c.low, 2 * a.low, 1e-12);
    near("high of twice", 0, c.high, 2 * a.high, 1e-12);
}

/* For odd n the bootstrap distribution of one median is known exactly (Maritz and Jarrett 1978): P(median* <=
 * x_(k)) is the chance that at least (n+1)/2 of n draws fall among the k smallest. With a constant y the
 * interval's ends are quantiles of it. */
static void bootstrap_agrees_with_its_exact_distribution(void **state)
{
    double x[] = {1, 2, 3, 4, 5, 6, 7}, one[] = {1};
    struct pp_err err;
    for (double confidence = 0.5; confidence < 1; confidence += 0.09) {
        struct pp_bootstrap_opts o = {.confidence = confidence, .resamples = 20000, .seed = 3};
        double tail = (1 - confidence) / 2;
        int low = 0;
        for (int k = 1; k <= 7 && !low; k++) {
            double cdf = 0;
            for (int j = 4; j <= 7; j++)
                cdf += exp(lgamma(8) - lgamma(j + 1) - lgamma(8 - j)) * pow(k / 7.0, j) *
                       pow(1 - k / 7.0, 7 - j);
            if (fabs(cdf - tail) < 0.01)
                low = -1; /* too near to the edge for a simulation to decide */
            else if (cdf > tail)
                low = k;
        }
        struct pp_ratio r;
        assert_int_equal(pp_bootstrap_median_ratio(VALUES(x, 7), VALUES(one, 1), &o, &r, &err), PP_OK);
        if (low > 0) {
            near("low", (size_t)(confidence * 100), r.low, low, 1e-12);
            near("high", (size_t)(confidence * 100), r.high, 8 - low, 1e-12);
        }
    }
}

static void bootstrap_refuses(void **state)
{
    double ok[] = {1, 2, 3}, zero[] = {1, 0, 2}, nan[] = {1, NAN, 2};
    struct pp_bootstrap_opts few = {.confidence = 0.95, .resamples = 10},
                             sure = {.confidence = 1, .resamples = 1000};
    struct pp_ratio r;
    struct pp_err err;
    double floor;
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(ok, 3), VALUES(zero, 3), &quick, &r, &err), PP_E_USAGE);
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(nan, 3), VALUES(ok, 3), &quick, &r, &err), PP_E_USAGE);
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(ok, 3), VALUES(ok, 0), &quick, &r, &err), PP_E_USAGE);
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(ok, 3), VALUES(ok, 3), &few, &r, &err), PP_E_USAGE);
    assert_int_equal(pp_bootstrap_median_ratio(VALUES(ok, 3), VALUES(ok, 3), &sure, &r, &err), PP_E_USAGE);
    assert_int_equal(pp_bootstrap_noise_floor(VALUES(ok, 3), 0, 3, &quick, &floor, &err), PP_E_USAGE);
}

/* Coverage of the 95 % interval with n = 7, skewed and normal noise. 1,500 trials: standard error 0.6 %. */
static void bootstrap_covers(void **state)
{
    enum { TRIALS = 1500 };
    struct pp_err err;
    for (int skewed = 0; skewed < 2; skewed++) {
        int covered = 0;
        for (uint64_t t = 0; t < TRIALS; t++) {
            struct pp_rng r = pp_rng_key(11, t, (uint64_t)skewed, 0);
            struct pp_bootstrap_opts o = {.confidence = 0.95, .resamples = 500, .seed = t};
            struct pp_ratio got;
            double x[7], y[7];
            for (int i = 0; i < 7; i++) {
                x[i] = skewed ? 1.1 * exp(0.2 * normal(&r)) : 1.1 * (1 + 0.03 * normal(&r));
                y[i] = skewed ? exp(0.2 * normal(&r)) : 1 + 0.03 * normal(&r);
            }
            assert_int_equal(pp_bootstrap_median_ratio(VALUES(x, 7), VALUES(y, 7), &o, &got, &err), PP_OK);
            covered += got.low <= 1.1 && got.high >= 1.1;
        }
        print_message("# coverage of the 95 %% interval, n = 7, %s noise: %.1f %%\n",
                      skewed ? "lognormal" : "normal", 100.0 * covered / TRIALS);
        assert_in_range(covered, TRIALS * 93 / 100, TRIALS * 99 / 100);
    }
}

/* The floor grows with the spread, shrinks with n, and holds: at most 5 % of fresh A/A pairs stray beyond it
 * (plus sampling). */
static void spearman_is_scipys(void **state)
{
    static const double x[] = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
                        y[] = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
    static const double tied[] = {1, 2, 2, 3, 3, 3}, of_tied[] = {2, 1, 4, 3, 3, 9},
                        constant[] = {5, 5, 5, 5, 5, 5};
    assert_true(fabs(pp_stats_spearman(x, y, 10) - -0.17575757575757575) < 1e-12);
    assert_true(fabs(pp_stats_spearman(x, x, 10) - 1) < 1e-12);
    assert_true(fabs(pp_stats_spearman(tied, of_tied, 6) - 0.53229064742237708) < 1e-12);
    assert_true(pp_stats_spearman(tied, constant, 6) == 0);
    assert_true(isnan(pp_stats_spearman(x, y, 1)));
    double far[10]; /* one value far out is one rank out */
    memcpy(far, x, sizeof(far));
    far[7] = 1e9;
    assert_true(fabs(pp_stats_spearman(x, far, 10) - 1) < 1e-12);
}

static void noise_floor_is_the_noise(void **state)
{
    double narrow[40], wide[40], at7, at14, of_wide;
    struct pp_rng r = pp_rng_key(5, 0, 0, 0);
    struct pp_err err;
    int beyond = 0;
    for (int i = 0; i < 40; i++) {
        double z = normal(&r);
        narrow[i] = exp(0.02 * z);
        wide[i] = exp(0.08 * z);
    }
    assert_int_equal(pp_bootstrap_noise_floor(VALUES(narrow, 40), 7, 7, &quick, &at7, &err), PP_OK);
    assert_int_equal(pp_bootstrap_noise_floor(VALUES(narrow, 40), 14, 14, &quick, &at14, &err), PP_OK);
    assert_int_equal(pp_bootstrap_noise_floor(VALUES(wide, 40), 7, 7, &quick, &of_wide, &err), PP_OK);
    assert_true(at14 < at7);
    near("four times the spread", 0, log1p(of_wide), 4 * log1p(at7), 1e-9);
    for (int t = 0; t < 2000; t++) {
        double a[7], b[7];
        for (int i = 0; i < 7; i++) {
            a[i] = exp(0.02 * normal(&r));
            b[i] = exp(0.02 * normal(&r));
        }
        beyond += fabs(log(pp_stats_median(a, 7) / pp_stats_median(b, 7))) > log1p(at7);
    }
    assert_in_range(beyond, 20, 240);
}

static int ascending_floats(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

/* In any order, with many equal ones, and in one that takes a value a round from it. */
static void the_nth_is_that_of_the_sorted(void **state)
{
    enum { MOST = 3000 };
    static float x[MOST], sorted[MOST], y[MOST];
    for (unsigned kind = 0; kind < 5; kind++)
        for (size_t n = 1; n <= MOST; n = n * 3 / 2 + 1) {
            struct pp_rng rng = pp_rng_key(kind, n, 0, 3);
            for (size_t i = 0; i < n; i++)
                x[i] = kind == 0   ? (float)pp_rng_unit(&rng)
                       : kind == 1 ? (float)pp_rng_below(&rng, 4)
                       : kind == 2 ? (float)i
                       : kind == 3 ? (float)(n - i)
                                   : (float)(i % 2 ? i : n - i);
            memcpy(sorted, x, n * sizeof(*x));
            qsort(sorted, n, sizeof(*sorted), ascending_floats);
            for (size_t k = 0; k < n; k += n / 7 + 1) {
                memcpy(y, x, n * sizeof(*x));
                assert_true(pp_stats_nth(y, n, k) == sorted[k]);
                qsort(y, n, sizeof(*y), ascending_floats);
                assert_memory_equal(y, sorted, n * sizeof(*y)); /* reordered, and no more */
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_is_that_of_the_sorted),
        cmocka_unit_test(quantiles_are_numpys),
        cmocka_unit_test(outliers_are_beyond_tukeys_fences),
        cmocka_unit_test(mann_whitney_is_scipys),
        cmocka_unit_test(mann_whitney_floor_is_reached_by_separated_samples),
        cmocka_unit_test(mann_whitney_refuses),
        cmocka_unit_test(mann_whitney_holds_its_level),
        cmocka_unit_test(student_and_beta_are_scipys),
        cmocka_unit_test(fisher_is_scipys),
        cmocka_unit_test(holm_is_by_the_book),
        cmocka_unit_test(bootstrap_is_deterministic_and_scales),
        cmocka_unit_test(bootstrap_agrees_with_its_exact_distribution),
        cmocka_unit_test(bootstrap_refuses),
        cmocka_unit_test(bootstrap_covers),
        cmocka_unit_test(noise_floor_is_the_noise),
        cmocka_unit_test(spearman_is_scipys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
