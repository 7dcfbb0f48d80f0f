/* What comes again keeps to its share of the CPUs, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probe/base/pace.h"

static void test_the_share_is_kept(void **state)
{
    static const struct {
        uint64_t began_ns, cpu_ns;
        double share;
    } rows[] = {
        {0, 1000000, 0.001}, {5000000000, 60000000, 0.0009}, {7, 1, 0.5}, {1000, 3000000000, 1}, {12, 0, 0.1},
    };
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t until = pp_pace_until(rows[i].began_ns, rows[i].cpu_ns, rows[i].share);
        double room_ns = (double)(until - rows[i].began_ns) * cpus * rows[i].share;
        assert_true(until >= rows[i].began_ns);
        assert_true(room_ns <= (double)rows[i].cpu_ns + 1 && room_ns >= (double)rows[i].cpu_ns - cpus);
    }
}

static void test_what_no_time_pays_for_never_comes(void **state)
{
    assert_true(pp_pace_until(1, 1, 0) == UINT64_MAX);
    assert_true(pp_pace_until(UINT64_MAX - 1000, 1000000, 0.001) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_share_is_kept),
        cmocka_unit_test(test_what_no_time_pays_for_never_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
