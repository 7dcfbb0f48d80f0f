#include "probe/base/clock.h"
#include "probe/loader/loader.h"
#include "probe/loader/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void meter_accounts_for_every_nanosecond(void **state)
{
    (void)state;
    struct pp_meter m;
    struct pp_loader_queue q;
    m = (struct pp_meter){.capacity = 4, .started_ns = 1000, .changed_ns = 1000};
    pp_meter_set(&m, 4, 1250); /* empty for 250 */
    pp_meter_set(&m, 2, 1500); /* full for 250 */
    pp_meter_set(&m, 3, 1400); /* a clock read that came late: counts as no time */
    pp_meter_report(&m, "q", 2000, &q);
    assert_float_equal(q.share_empty, 0.25, 1e-9);
    assert_float_equal(q.share_full, 0.25, 1e-9);
    assert_float_equal(q.mean_depth, (4 * 250 + 3 * 500) / 1000.0, 1e-9);
}

static void queue_keeps_order_and_drains_after_close(void **state)
{
    (void)state;
    struct pp_queue q;
    void *p;
    assert_int_equal(pp_queue_init(&q, 3, NULL), PP_OK);
    for (intptr_t i = 1; i <= 3; i++)
        assert_int_equal(pp_queue_put(&q, (void *)i), PP_OK);
    pp_queue_close(&q);
    assert_int_equal(pp_queue_put(&q, (void *)9), PP_END);
    for (intptr_t i = 1; i <= 3; i++) {
        assert_int_equal(pp_queue_get(&q, &p, UINT64_MAX), PP_OK);
        assert_int_equal((intptr_t)p, i);
    }
    assert_int_equal(pp_queue_get(&q, &p, UINT64_MAX), PP_END);
    pp_queue_free(&q);
}

static void get_gives_up_at_its_deadline(void **state)
{
    (void)state;
    struct pp_queue q;
    void *p;
    assert_int_equal(pp_queue_init(&q, 1, NULL), PP_OK);
    uint64_t t0 = pp_now_ns();
    assert_int_equal(pp_queue_get(&q, &p, t0 + 20000000), PP_E_INTERRUPTED);
    assert_true(pp_now_ns() - t0 >= 20000000);
    assert_true(q.meter.get_wait_ns >= 20000000);
    pp_queue_free(&q);
}

#define ITEMS 20000

static void *producer(void *arg)
{
    struct pp_queue *q = arg;
    for (intptr_t i = 1; i <= ITEMS; i++)
        if (pp_queue_put(q, (void *)i) != PP_OK)
            return (void *)i;
    return NULL;
}

static void *consumer(void *arg)
{
    struct pp_queue *q = arg;
    void *p;
    intptr_t sum = 0;
    while (pp_queue_get(q, &p, UINT64_MAX) == PP_OK)
        sum += (intptr_t)p;
    return (void *)sum;
}

static void many_threads_lose_nothing(void **state)
{
    (void)state;
    struct pp_queue q;
    pthread_t p[2], c[3];
    intptr_t sum = 0;
    assert_int_equal(pp_queue_init(&q, 4, NULL), PP_OK);
    for (int i = 0; i < 3; i++)
        pthread_create(&c[i], NULL, consumer, &q);
    for (int i = 0; i < 2; i++)
        pthread_create(&p[i], NULL, producer, &q);
    for (int i = 0; i < 2; i++) {
        void *left;
        pthread_join(p[i], &left);
        assert_null(left);
    }
    pp_queue_close(&q);
    for (int i = 0; i < 3; i++) {
        void *part;
        pthread_join(c[i], &part);
        sum += (intptr_t)part;
    }
    assert_int_equal(sum, 2 * ((intptr_t)ITEMS * (ITEMS + 1) / 2));
    assert_int_equal(q.meter.puts, 2 * ITEMS);
    assert_int_equal(q.meter.gets, 2 * ITEMS);
    pp_queue_free(&q);
}

static void closing_wakes_a_blocked_producer(void **state)
{
    (void)state;
    struct pp_queue q;
    pthread_t p;
    void *left;
    assert_int_equal(pp_queue_init(&q, 2, NULL), PP_OK);
    pthread_create(&p, NULL, producer, &q);
    while (pp_queue_depth(&q) < 2)
        pp_sleep_until_ns(pp_now_ns() + 1000000);
    pp_queue_close(&q);
    pthread_join(p, &left);
    assert_int_equal((intptr_t)left, 3); /* the third item stayed the producer's */
    pp_queue_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meter_accounts_for_every_nanosecond),
        cmocka_unit_test(queue_keeps_order_and_drains_after_close),
        cmocka_unit_test(get_gives_up_at_its_deadline),
        cmocka_unit_test(many_threads_lose_nothing),
        cmocka_unit_test(closing_wakes_a_blocked_producer),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
