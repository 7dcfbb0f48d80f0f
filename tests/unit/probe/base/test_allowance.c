/* What may be touched of a file: by kind, exactly TIMES its bytes and BASE, no more; the sentence names
 * TIMES. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probe/base/allowance.h"

static void test_each_kind_ends_where_it_says(void **state)
{
    static const uint64_t sizes[] = {0, 1, 1000, UINT64_C(1) << 40};
    static const uint64_t most_of[][2] = {
        [PP_ALLOWED_TRACE] = {16 << 20, 200},  [PP_ALLOWED_PACKED] = {1 << 30, 2000},
        [PP_ALLOWED_TABLE] = {1 << 20, 64},    [PP_ALLOWED_STEPS] = {80000000, 64},
        [PP_ALLOWED_TEXTS] = {256 << 20, 16},  [PP_ALLOWED_SPANS] = {64 << 20, 8},
        [PP_ALLOWED_CPU] = {10000000000, 500}, [PP_ALLOWED_FOREIGN] = {400000000, 400},
    };
    for (int kind = 0; kind <= PP_ALLOWED_FOREIGN; kind++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            struct pp_allowance a = pp_allowance_of(kind, sizes[i]);
            uint64_t most = most_of[kind][0] + most_of[kind][1] * sizes[i];
            assert_true(pp_allowance_take(&a, most - 1) && pp_allowance_take(&a, 1));
            assert_false(pp_allowance_take(&a, 1));
            a = pp_allowance_of(kind, sizes[i]);
            assert_false(pp_allowance_take(&a, most + 1));
            assert_false(pp_allowance_take(&a, 1)); /* what was refused once is not tried in smaller pieces */
        }
        char number[64];
        struct pp_err err;
        struct pp_allowance a = pp_allowance_of(kind, UINT64_MAX);
        assert_int_equal(a.left, UINT64_MAX);
        assert_int_equal(pp_allowance_fail(&a, "a.file", &err), PP_E_CORRUPT);
        snprintf(number, sizeof(number), " more than %llu ", (unsigned long long)most_of[kind][1]);
        assert_non_null(strstr(err.text, number));
        assert_non_null(strstr(err.text, "cannot read a.file: "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_kind_ends_where_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
