/* Threads in simulated time, against what can be worked out by hand. */
#include "report/replay/replay_impl.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static struct pp_agents made(int n, double cpus)
{
    struct pp_agents a;
    struct pp_cpus c = {.ours = cpus, .machine = cpus};
    assert_true(pp_agents_init(&a, n, &c));
    return a;
}

static void ends(struct pp_agents *a, int who, double at)
{
    assert_int_equal(pp_agents_next(a), who);
    if (!(fabs(a->now - at) < 1e-6))
        fail_msg("agent %d ends at %g instead of %g", who, a->now, at);
}

/* Both at half speed until the shorter one is done at 20; the rest of the other alone. */
static void one_cpu_is_shared(void **state)
{
    (void)state;
    struct pp_agents a = made(2, 1);
    pp_agents_run(&a, 0, 20);
    pp_agents_run(&a, 1, 10);
    ends(&a, 1, 20);
    ends(&a, 0, 30);
    assert_int_equal(pp_agents_next(&a), -1);
    assert_true(fabs(a.cpu_used - 30) < 1e-9 && fabs(a.running_time - 50) < 1e-9);
    pp_agents_free(&a);
}

/* 0 runs alone for 10, then beside 1 at half speed: 0 has 5 left, done at 20; 1 has then had 5 of 8, done
 * at 23. */
static void who_wakes_up_takes_a_share(void **state)
{
    (void)state;
    struct pp_agents a = made(2, 1);
    pp_agents_run(&a, 0, 15);
    pp_agents_sleep(&a, 1, 10);
    ends(&a, 1, 10);
    pp_agents_run(&a, 1, 8);
    ends(&a, 0, 20);
    ends(&a, 1, 23);
    pp_agents_free(&a);
}

/* 0 has a helper: of one CPU each of the three has a third. */
static void who_helps_takes_a_share(void **state)
{
    (void)state;
    struct pp_agents a = made(2, 1);
    a.beside = 1;
    pp_agents_run(&a, 0, 10);
    pp_agents_run(&a, 1, 20);
    ends(&a, 0, 30);
    a.beside = 0;
    ends(&a, 1, 40);
    pp_agents_free(&a);
}

/* 1 of 2 CPUs is ours, and somebody else wants both: threads share by heads (2 CPUs among 3), groups in
 * halves. */
static void others_take_theirs(void **state)
{
    (void)state;
    assert_true(fabs(pp_cpus_rate(&(struct pp_cpus){.ours = 2, .machine = 2, .others = 2}, 1) - 2 / 3.0) <
                1e-12);
    assert_true(fabs(pp_cpus_rate(&(struct pp_cpus){.ours = 2, .machine = 2, .groups = 1}, 4) - 0.25) <
                1e-12);
    assert_true(fabs(pp_cpus_rate(&(struct pp_cpus){.ours = 0.5, .machine = 2}, 1) - 0.5) < 1e-12);
}

/* The order of moments, and of agents where moments are the same. */
static void a_thousand_sleepers_end_in_order(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct pp_agents a = made(N, 1);
    for (int i = 0; i < N; i++)
        pp_agents_sleep(&a, i, i * 7919 % N / 2);
    double at = -1;
    int before = -1;
    for (int i = 0; i < N; i++) {
        int who = pp_agents_next(&a);
        assert_true(a.now > at || (a.now == at && who > before));
        assert_true(a.now == who * 7919 % N / 2);
        at = a.now, before = who;
    }
    assert_int_equal(pp_agents_next(&a), -1);
    pp_agents_free(&a);
}

static void nothing_to_do_ends_at_once(void **state)
{
    (void)state;
    struct pp_agents a = made(2, 1);
    pp_agents_sleep(&a, 0, -5);
    pp_agents_run(&a, 1, 0);
    ends(&a, 1, 0);
    ends(&a, 0, 0);
    pp_agents_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cpu_is_shared),
        cmocka_unit_test(who_wakes_up_takes_a_share),
        cmocka_unit_test(others_take_theirs),
        cmocka_unit_test(who_helps_takes_a_share),
        cmocka_unit_test(a_thousand_sleepers_end_in_order),
        cmocka_unit_test(nothing_to_do_ends_at_once),
    };
    return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
