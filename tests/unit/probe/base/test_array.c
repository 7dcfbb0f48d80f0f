/* Arrays that grow by doubling, and comparators. */
#include "probe/base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct pair {
    int major;
    double minor;
};

PP_BY(by_minor, struct pair, minor)
PP_BY_BOTH(by_major, struct pair, major, minor)
PP_BY_POINTER(by_pointed, struct pair, minor)

static void test_grows_by_doubling_and_keeps_what_is_there(void **state)
{
    uint32_t *at = NULL;
    size_t cap = 0, times = 0;
    for (size_t n = 0; n < 100000; n++) {
        size_t before = cap;
        assert_true(pp_grow(&at, &cap, n + 1, sizeof(*at)));
        times += cap != before;
        at[n] = (uint32_t)n;
    }
    assert_true(cap >= 100000 && times < 18);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(at[i], i);
    size_t before = cap;
    assert_true(pp_grow(&at, &cap, 10 * before, sizeof(*at)));
    assert_true(cap == 10 * before);
    free(at);
}

static void test_what_cannot_be_had_changes_nothing(void **state)
{
    uint64_t *at = NULL;
    size_t cap = 0;
    assert_true(pp_grow(&at, &cap, 3, sizeof(*at)));
    uint64_t *before = at;
    size_t had = cap;
    at[2] = 7;
    assert_false(pp_grow(&at, &cap, SIZE_MAX / 4, sizeof(*at)));
    assert_false(pp_grow(&at, &cap, SIZE_MAX, sizeof(*at)));
    assert_true(at == before && cap == had && at[2] == 7);
    free(at);
}

static void test_comparators(void **state)
{
    struct pair p[] = {{2, 1.5}, {1, 3.5}, {1, -0.5}}, *pointed[] = {&p[0], &p[1], &p[2]};
    qsort(pointed, 3, sizeof(*pointed), by_pointed);
    assert_true(pointed[0] == &p[2] && pointed[1] == &p[0] && pointed[2] == &p[1]);
    qsort(p, 3, sizeof(*p), by_minor);
    assert_true(p[0].minor == -0.5 && p[1].minor == 1.5 && p[2].minor == 3.5);
    qsort(p, 3, sizeof(*p), by_major);
    assert_true(p[0].minor == -0.5 && p[1].minor == 3.5 && p[2].major == 2);

    uint64_t big[] = {UINT64_MAX, 0, INT64_MAX};
    qsort(big, 3, sizeof(*big), pp_by_u64);
    assert_true(big[0] == 0 && big[1] == INT64_MAX && big[2] == UINT64_MAX);
    int64_t signs[] = {1, -1, INT64_MIN};
    qsort(signs, 3, sizeof(*signs), pp_by_i64);
    assert_true(signs[0] == INT64_MIN && signs[1] == -1);
    const char *text[] = {"b", "a10", "a2"};
    qsort(text, 3, sizeof(*text), pp_by_text);
    assert_string_equal(text[0], "a10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grows_by_doubling_and_keeps_what_is_there),
                                       cmocka_unit_test(test_what_cannot_be_had_changes_nothing),
                                       cmocka_unit_test(test_comparators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
