/* A thread that is given up within a call touches nothing afterwards; one that is outside cannot be given up.
 */
#include "probe/loader/stop.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

struct reading {
    struct pp_gate gate;
    int pipe[2];
    int went_on; /* plain: a race here is what ThreadSanitizer would report */
};

static void *read_once(void *arg)
{
    struct reading *r = arg;
    char byte;
    pp_gate_enter(&r->gate);
    (void)!read(r->pipe[0], &byte, 1);
    pp_gate_leave(&r->gate);
    r->went_on = 1;
    pp_gate_end(&r->gate);
    return NULL;
}

static void begin(struct reading *r, pthread_t *thread)
{
    assert_int_equal(pipe(r->pipe), 0);
    assert_int_equal(pthread_create(thread, NULL, read_once, r), 0);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_given_up_it_does_not_come_back(void **state)
{
    static struct reading r; /* the thread outlives the test */
    pthread_t thread;
    begin(&r, &thread);
    while (!pp_gate_give_up(&r.gate))
        nap();
    assert_int_equal(write(r.pipe[1], "x", 1), 1);
    for (int i = 0; i < 50; i++)
        nap();
    assert_int_equal(r.went_on, 0);
    assert_false(pp_gate_has_ended(&r.gate));
    assert_false(pp_gate_give_up(&r.gate)); /* once is enough */
    pthread_detach(thread);
}

static void test_in_time_it_goes_on(void **state)
{
    struct reading r = {.went_on = 0};
    pthread_t thread;
    begin(&r, &thread);
    assert_int_equal(write(r.pipe[1], "x", 1), 1);
    while (!pp_gate_has_ended(&r.gate))
        nap();
    assert_false(pp_gate_give_up(&r.gate));
    pthread_join(thread, NULL);
    assert_int_equal(r.went_on, 1);
    close(r.pipe[0]);
    close(r.pipe[1]);
}

static void test_outside_it_is_not_given_up(void **state)
{
    struct pp_gate g = {0};
    assert_false(pp_gate_give_up(&g));
    pp_gate_enter(&g);
    pp_gate_leave(&g);
    assert_false(pp_gate_give_up(&g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_given_up_it_does_not_come_back),
                                       cmocka_unit_test(test_in_time_it_goes_on),
                                       cmocka_unit_test(test_outside_it_is_not_given_up)};
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
