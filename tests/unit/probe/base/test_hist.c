/* The stated error bound of the histogram, against exact quantiles, and merging in any order. */
#include "probe/base/hist.h"
#include "probe/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every magnitude up to `bits` bits is equally likely. */
static uint64_t log_uniform(struct pp_rng *r, unsigned bits)
{
    uint64_t v = pp_rng_next(r) | UINT64_C(1) << 63;
    return v >> (63 - pp_rng_below(r, bits));
}

static void check_quantiles(const struct pp_hist *h, const uint64_t *sorted, uint64_t n)
{
    for (int k = 0; k <= 1000; k++) {
        double q = k / 1000.0;
        uint64_t rank = (uint64_t)(q * (double)n);
        if ((double)rank < q * (double)n || rank == 0)
            rank++;
        uint64_t exact = sorted[rank - 1], got = pp_hist_quantile(h, q);
        uint64_t off = got > exact ? got - exact : exact - got;
        assert_true(off <= exact / 256);
        if (exact < 256)
            assert_int_equal(got, exact);
    }
    assert_true(pp_hist_quantile(h, 0) == sorted[0]);
    assert_true(pp_hist_quantile(h, 1) == sorted[n - 1]);
}

static void test_error_bound(void **state)
{
    static uint64_t value[20000];
    static struct pp_hist h;
    for (unsigned bits = 1; bits <= 64; bits++) {
        struct pp_rng r = pp_rng_key(1, bits, 0, 0);
        uint64_t n = 1 + pp_rng_below(&r, bits == 64 ? 20000 : 3000);
        pp_hist_clear(&h);
        for (uint64_t i = 0; i < n; i++) {
            value[i] = log_uniform(&r, bits);
            pp_hist_add(&h, value[i]);
        }
        qsort(value, n, sizeof(*value), by_value);
        check_quantiles(&h, value, n);
        assert_true(h.count == n);
    }
}

static void test_edges(void **state)
{
    static struct pp_hist h;
    pp_hist_clear(&h);
    assert_int_equal(pp_hist_quantile(&h, 0.5), 0);
    static const uint64_t edges[] = {0, 1, 127, 128, 129, 255, 256, 257, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        pp_hist_clear(&h);
        pp_hist_add(&h, edges[i]);
        assert_true(pp_hist_quantile(&h, 0.5) == edges[i]);
        assert_true(h.min == edges[i] && h.max == edges[i] && h.sum == edges[i]);
    }
    pp_hist_add(&h, 5);
    assert_true(h.sum == UINT64_MAX); /* saturates */
    pp_hist_clear(&h);
    pp_hist_add(&h, 10);
    pp_hist_add(&h, 20);
    assert_true(h.sum == 30 && h.count == 2);
}

static void test_merge_in_any_order(void **state)
{
    enum { PARTS = 7 };
    static struct pp_hist whole, part[PARTS], merged;
    struct pp_rng r = pp_rng_key(2, 0, 0, 0);
    pp_hist_clear(&whole);
    for (int k = 0; k < PARTS; k++)
        pp_hist_clear(&part[k]); /* the last stays empty: merging it changes nothing */
    for (int i = 0; i < 30000; i++) {
        uint64_t v = log_uniform(&r, 64);
        pp_hist_add(&whole, v);
        pp_hist_add(&part[pp_rng_below(&r, PARTS - 1)], v);
    }
    for (int round = 0; round < 50; round++) {
        int order[PARTS];
        for (int k = 0; k < PARTS; k++) {
            int at = (int)pp_rng_below(&r, (uint64_t)k + 1);
            order[k] = order[at];
            order[at] = k;
        }
        pp_hist_clear(&merged);
        for (int k = 0; k < PARTS; k++)
            pp_hist_merge(&merged, &part[order[k]]);
        assert_memory_equal(&merged, &whole, sizeof(whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_bound),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_merge_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
