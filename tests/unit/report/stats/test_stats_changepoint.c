/* Change points on synthetic series, against a naive search written from the definition, and their false
 * alarms by simulation. */
#include "report/stats/changepoint.h"

#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct pp_change_opts usual = {.max_p = 0.001};

static double normal(struct pp_rng *r)
{
    double u = 1 - pp_rng_unit(r), v = pp_rng_unit(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

struct level {
    size_t until;
    double value;
};

static size_t make(double *x, const struct level *levels, double sd, uint64_t seed)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, 9);
    size_t n = 0;
    for (; levels->until; levels++)
        while (n < levels->until)
            x[n++] = levels->value * (1 + sd * normal(&r));
    return n;
}

static void levels_are_found_where_they_are(void **state)
{
    static const struct {
        struct level level[5];
        size_t at[3], n;
    } rows[] = {
        {{{20, 100}, {40, 110}, {0, 0}}, {20}, 1},
        {{{30, 100}, {35, 120}, {60, 100}, {0, 0}}, {30, 35}, 2},
        {{{15, 100}, {30, 90}, {50, 105}, {80, 80}, {0, 0}}, {15, 30, 50}, 3},
        {{{50, 100}, {0, 0}}, {0}, 0},
        {{{5, 100}, {40, 130}, {0, 0}}, {5}, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double x[100];
        struct pp_change *c;
        struct pp_err err;
        size_t n = make(x, rows[i].level, 0.01, i), found;
        assert_int_equal(pp_change_points(x, n, &usual, &c, &found, &err), PP_OK);
        assert_int_equal(found, rows[i].n);
        for (size_t k = 0; k < found; k++) {
            assert_int_equal(c[k].at, rows[i].at[k]);
            assert_true(fabs(c[k].before / rows[i].level[k].value - 1) < 0.02);
            assert_true(fabs(c[k].after / rows[i].level[k + 1].value - 1) < 0.02);
            assert_true(c[k].p < 0.001);
        }
        free(c);
    }
}

/* Energy distance straight from the paper: three double loops. */
static double naive_energy(const double *x, size_t m, const double *y, size_t n)
{
    double cross = 0, left = 0, right = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            cross += fabs(x[i] - y[j]);
    for (size_t i = 0; i < m; i++)
        for (size_t k = i + 1; k < m; k++)
            left += fabs(x[i] - x[k]);
    for (size_t j = 0; j < n; j++)
        for (size_t k = j + 1; k < n; k++)
            right += fabs(y[j] - y[k]);
    double dm = (double)m, dn = (double)n;
    return dm * dn / (dm + dn) *
           (2 * cross / (dm * dn) - left / (dm * (dm - 1) / 2) - right / (dn * (dn - 1) / 2));
}

static void first_split_maximises_the_energy(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct level two[] = {{12 + seed, 100}, {45, 103}, {0, 0}};
        double x[45], most = -INFINITY;
        size_t n = make(x, two, 0.01, seed), best = 0, found;
        struct pp_change *c;
        struct pp_err err;
        for (size_t at = PP_CHANGE_SEGMENT_MIN; at + PP_CHANGE_SEGMENT_MIN <= n; at++) {
            double q = naive_energy(x, at, x + at, n - at);
            if (q > most) {
                most = q;
                best = at;
            }
        }
        assert_int_equal(pp_change_points(x, n, &usual, &c, &found, &err), PP_OK);
        int present = 0;
        for (size_t k = 0; k < found; k++)
            present |= c[k].at == best;
        assert_true(present);
        free(c);
    }
}

static void false_alarms_are_as_the_header_says(void **state)
{
    enum { SERIES = 1000 };
    int alarms = 0, missed = 0;
    for (uint64_t t = 0; t < SERIES; t++) {
        struct level flat[] = {{40, 100}, {0, 0}}, step[] = {{20, 100}, {40, 104}, {0, 0}};
        struct pp_change *c;
        struct pp_err err;
        double x[40];
        size_t found, n = make(x, flat, 0.02, 1000 + t);
        assert_int_equal(pp_change_points(x, n, &usual, &c, &found, &err), PP_OK);
        alarms += found > 0;
        free(c);
        n = make(x, step, 0.02, 5000 + t);
        assert_int_equal(pp_change_points(x, n, &usual, &c, &found, &err), PP_OK);
        missed += found == 0;
        free(c);
    }
    print_message(
        "# 40 values, one level: %.1f %% of series show a change; a step of two standard deviations is missed in %.1f %%\n",
        alarms * 100.0 / SERIES, missed * 100.0 / SERIES);
    assert_in_range(alarms, 0, SERIES * 4 / 100);
    assert_in_range(missed, 0, SERIES * 5 / 100);
}

static void edges(void **state)
{
    double few[] = {1, 2, 3, 4, 5}, flat[30], bad[10] = {1, 2, NAN}, small[40];
    struct pp_change_opts large = {.max_p = 0.001, .min_change = 0.05};
    struct level levels[] = {{20, 100}, {40, 103}, {0, 0}};
    struct pp_change *c;
    struct pp_err err;
    size_t found;
    for (size_t i = 0; i < 30; i++)
        flat[i] = 7;
    for (size_t n = 0; n <= 5; n++) {
        assert_int_equal(pp_change_points(few, n, &usual, &c, &found, &err), PP_OK);
        assert_int_equal(found, 0);
        free(c);
    }
    assert_int_equal(pp_change_points(flat, 30, &usual, &c, &found, &err), PP_OK);
    assert_int_equal(found, 0);
    free(c);
    for (size_t i = 15; i < 30; i++)
        flat[i] = 8; /* counts have no noise at all */
    assert_int_equal(pp_change_points(flat, 30, &usual, &c, &found, &err), PP_OK);
    assert_int_equal(found, 1);
    assert_int_equal(c[0].at, 15);
    free(c);
    size_t n = make(small, levels, 0.001, 1);
    assert_int_equal(pp_change_points(small, n, &large, &c, &found, &err), PP_OK);
    assert_int_equal(found, 0);
    free(c);
    assert_int_equal(pp_change_points(bad, 10, &usual, &c, &found, &err), PP_E_USAGE);
    assert_int_equal(pp_change_points(flat, PP_CHANGE_MAX + 1, &usual, &c, &found, &err), PP_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_found_where_they_are),
        cmocka_unit_test(first_split_maximises_the_energy),
        cmocka_unit_test(false_alarms_are_as_the_header_says),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
