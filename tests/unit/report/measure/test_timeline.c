/* The last batch of a recording, which the end of the job may have cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/fake_run.h"

#include "report/measure/timeline.h"

#include <stdlib.h>

/* Ten batches, `wait` ms and a step of the rest of 50 ms, of two epochs, the second of which begins with
 * batch `starts`; the last one's step did not end. Between epochs lie 500 ms. */
static struct pp_timeline made(uint32_t starts, uint64_t wait)
{
    struct fake_run *run = calloc(1, sizeof(*run));
    struct pp_timeline tl;
    struct pp_err err = {0};
    uint32_t trainer = fake_thread(run, PP_LANE_TRAINER, "trainer");
    uint64_t t = FAKE_T0;
    for (uint32_t b = 0; b < 10; b++, t += 50 * FAKE_MS) {
        t += b == starts ? 500 * FAKE_MS : 0;
        struct pp_span *s = fake_span(run, trainer, PP_PHASE_DATA_WAIT, t, wait * FAKE_MS);
        s->batch = b, s->epoch = b >= starts;
        if (b == 9)
            break;
        s = fake_span(run, trainer, PP_PHASE_STEP, t + wait * FAKE_MS, (50 - wait) * FAKE_MS);
        s->batch = b, s->epoch = b >= starts;
    }
    struct pp_source source = fake_source(run);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    fake_free(run);
    return tl;
}

static void test_a_step_that_did_not_end_is_no_batch(void **state)
{
    struct pp_timeline tl = made(99, 10);
    (void)state;
    assert_int_equal(tl.window_batches, 8); /* the first one is warm-up */
    assert_int_equal(tl.end_ns - tl.start_ns, 8 * 50 * FAKE_MS);
    pp_timeline_free(&tl);
}

/* Where the wait is most of a cycle, it has most of one. */
static void test_a_wait_is_most_of_a_batch(void **state)
{
    struct pp_timeline tl = made(99, 45);
    (void)state;
    assert_int_equal(tl.window_batches, 9);
    pp_timeline_free(&tl);
}

/* The time between two epochs is known by the batch behind it, whatever became of its step. */
static void test_the_first_of_an_epoch_counts(void **state)
{
    struct pp_timeline tl = made(9, 10);
    (void)state;
    assert_int_equal(tl.window_batches, 9);
    assert_true(tl.end_ns - tl.start_ns > 900 * FAKE_MS);
    pp_timeline_free(&tl);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_that_did_not_end_is_no_batch),
        cmocka_unit_test(test_a_wait_is_most_of_a_batch),
        cmocka_unit_test(test_the_first_of_an_epoch_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
