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
    for (int kind = 0; kind <= PP_ALLOWED_FOREIGN; kind++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            struct pp_allowance a = pp_allowance_of(kind, sizes[i]);
            uint64_t most = pp_allowances[kind].base + pp_allowances[kind].times * sizes[i];
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
        snprintf(number, sizeof(number), " more than %llu times its bytes; ",
                 (unsigned long long)pp_allowances[kind].times);
        assert_non_null(strstr(err.text, number));
        assert_non_null(strstr(err.text, "cannot read a.file: "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_kind_ends_where_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
