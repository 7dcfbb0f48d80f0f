/* When a request is late, and how many may be made again. */
#include "report/replay/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_request_is_late_beyond_the_quantile_of_the_newest(void **state)
{
    struct pp_hedge h = {.quantile = 0.95};
    for (uint64_t i = 1; i < PP_HEDGE_LEAST; i++) {
        pp_hedge_note(&h, i);
        assert_true(pp_hedge_after_ns(&h) == UINT64_MAX);
    }
    pp_hedge_note(&h, PP_HEDGE_LEAST);
    assert_int_equal(pp_hedge_after_ns(&h), 47); /* of 1 to 50 */
    for (uint64_t i = 0; i < PP_HEDGE_RECENT; i++)
        pp_hedge_note(&h, 1000);
    assert_int_equal(pp_hedge_after_ns(&h), 1000); /* what was before is forgotten */
    h.quantile = 0;
    assert_true(pp_hedge_after_ns(&h) == UINT64_MAX);
}

static void as_many_as_the_quantile_leaves_may_be_made_again(void **state)
{
    struct pp_hedge h = {.quantile = 0.95};
    int made = 0, in_a_row = 0;
    assert_false(pp_hedge_spend(&h));
    for (int i = 0; i < 2000; i++) {
        pp_hedge_note(&h, 1000);
        made += pp_hedge_spend(&h);
    }
    assert_in_range(made, 98, 100);
    for (int i = 0; i < 2000; i++)
        pp_hedge_note(&h, 1000);
    while (pp_hedge_spend(&h))
        in_a_row++;
    assert_in_range(in_a_row, 4, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_late_beyond_the_quantile_of_the_newest),
        cmocka_unit_test(as_many_as_the_quantile_leaves_may_be_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
