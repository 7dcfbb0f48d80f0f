/* What looks at stacks alone tell of a job: how long it waits, which of its threads trains, what its workers
 * do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/measure/looks.h"

#include <math.h>
#include <string.h>

static const struct pp_stack_function_row functions[] = {
    {.id = 1, .function = "main", .file = "/home/u/train.py"},
    {.id = 2, .function = "_BaseDataLoaderIter.__next__", .file = "/v/torch/utils/data/dataloader.py"},
    {.id = 3, .function = "_MapDatasetFetcher.fetch", .file = "/v/torch/utils/data/_utils/fetch.py"},
    {.id = 4, .function = "Birds.__getitem__", .file = "/home/u/train.py"},
    {.id = 5, .function = "SSLSocket.recv_into", .file = "/usr/lib/python3.11/ssl.py"},
    {.id = 6, .function = "_worker_loop", .file = "/v/torch/utils/data/_utils/worker.py"},
    {.id = 7, .function = "serve", .file = "/home/u/log.py"},
};
enum { STEP = 1, WAITS = 2, MAKES = 4, WORK = 7, READS = 8, IDLE = 5, SERVES = 9 };
static const struct pp_stack_row frames[] = {
    {1, 0, 1, 80, 0}, {2, 1, 2, 630, 0}, {3, 2, 3, 54, 0}, {4, 3, 4, 40, 0}, {5, 0, 6, 300, 0},
    {6, 5, 3, 54, 0}, {7, 6, 4, 41, 0},  {8, 7, 5, 9, 0},  {9, 0, 7, 3, 0},
};
enum { MAIN, BESIDE, WORKER, THREADS };

static struct pp_stack_sample_row samples[8192];
static size_t n_samples;

static void look(double s, uint32_t thread, uint32_t stack, char state)
{
    samples[n_samples++] = (struct pp_stack_sample_row){.t_ns = 1 + (uint64_t)(s * 1e9),
                                                        .thread = thread,
                                                        .stack = stack,
                                                        .state = state};
}

static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        to->function(to->ctx, &functions[i]);
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
        to->frame(to->ctx, &frames[i]);
    for (size_t i = 0; i < n_samples; i++)
        to->sample(to->sample_ctx, &samples[i]);
    return PP_OK;
}

static struct pp_looks judge(void)
{
    static const unsigned char role[THREADS] = {PP_LOOKS_MAIN, PP_LOOKS_BESIDE, PP_LOOKS_WORKER};
    const struct pp_source source = {.path = "a job", .each_stack = each_stack};
    struct pp_looks l = {0};
    struct pp_err err = {0};
    assert_int_equal(pp_stacks_read(&source, &l.ops.stacks, &err), PP_OK);
    assert_int_equal(pp_looks_judge(&l, role, THREADS, 30, &err), PP_OK);
    n_samples = 0;
    return l;
}

/* 20 looks a second for 30 s; of each ten the first `waits` are waits. */
static void watch(uint32_t thread, int waits, uint32_t wait, uint32_t else_)
{
    for (int i = 0; i < 600; i++)
        look(i / 20.0, thread, i % 10 < waits ? wait : else_, 'S');
}

static void test_the_wait_has_its_interval(void **state)
{
    watch(MAIN, 6, WAITS, STEP);
    struct pp_looks l = judge();
    assert_true(l.looks == 600 && fabs(l.wait - 0.6) < 1e-9 && l.makes == 0);
    /* even looks have the binomial interval, 0.6 -+ 1.96 sqrt(0.6 * 0.4 / 600) */
    assert_true(fabs(l.wait_high - 0.639) < 0.003 && fabs(l.wait_low - 0.561) < 0.003);
    assert_true(isnan(l.busy) && isnan(l.on_cpu));
    assert_true(l.ops.n_steps == 1 && strcmp(l.ops.steps[0].place, "train.py:80") == 0);
    pp_ops_free(&l.ops);
}

/* Twelve seconds of waiting, then none: those are 30 observations, and not 600. */
static void test_waits_that_come_in_bursts_are_less_sure(void **state)
{
    for (int i = 0; i < 600; i++)
        look(i / 20.0, MAIN, i < 240 ? WAITS : STEP, 'S');
    struct pp_looks l = judge();
    assert_true(fabs(l.wait - 0.4) < 1e-9);
    assert_true(l.wait_high - l.wait_low > 0.3);
    pp_ops_free(&l.ops);
}

static void test_the_thread_that_takes_batches_trains(void **state)
{
    watch(MAIN, 0, 0, SERVES);
    watch(BESIDE, 5, WAITS, STEP);
    struct pp_looks l = judge();
    assert_true(l.looks == 600 && fabs(l.wait - 0.5) < 1e-9);
    pp_ops_free(&l.ops);
    watch(MAIN, 0, 0, STEP);
    watch(BESIDE, 0, 0, SERVES);
    l = judge();
    assert_true(l.looks == 600 && l.wait == 0 && strcmp(l.ops.steps[0].place, "train.py:80") == 0);
    pp_ops_free(&l.ops);
}

/* Without workers the training thread makes the batches: it waits, and the line is known. */
static void test_a_trainer_that_makes_its_batches_waits(void **state)
{
    for (int i = 0; i < 600; i++)
        look(i / 20.0, MAIN, i % 4 ? MAKES : STEP, 'R');
    struct pp_looks l = judge();
    assert_true(fabs(l.wait - 0.75) < 1e-9 && fabs(l.makes - 0.75) < 1e-9 && l.on_cpu == 1);
    assert_true(l.ops.n_ops == 1 && strcmp(l.ops.ops[0].place, "train.py:40") == 0);
    pp_ops_free(&l.ops);
}

static void test_workers_compute_read_or_idle(void **state)
{
    watch(MAIN, 9, WAITS, STEP);
    for (int i = 0; i < 600; i++)
        look(i / 20.0, WORKER, i % 10 == 0 ? IDLE : i % 10 < 4 ? WORK : READS, i % 10 < 4 ? 'R' : 'S');
    struct pp_looks l = judge();
    assert_true(fabs(l.busy - 0.9) < 1e-9 && l.workers_looks == 600);
    assert_true(fabs(l.on_cpu - 1 / 3.0) < 1e-9 && fabs(l.in_read - 2 / 3.0) < 1e-9);
    assert_string_equal(l.ops.ops[0].place, "train.py:41");
    pp_ops_free(&l.ops);
}

static void test_nothing_seen_is_no_number(void **state)
{
    look(0, WORKER, WORK, 'D');
    struct pp_looks l = judge();
    assert_true(l.looks == 0 && isnan(l.wait) && l.busy == 1 && l.in_read == 1);
    pp_ops_free(&l.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_wait_has_its_interval),
        cmocka_unit_test(test_waits_that_come_in_bursts_are_less_sure),
        cmocka_unit_test(test_the_thread_that_takes_batches_trains),
        cmocka_unit_test(test_a_trainer_that_makes_its_batches_waits),
        cmocka_unit_test(test_workers_compute_read_or_idle),
        cmocka_unit_test(test_nothing_seen_is_no_number),
    };
    return cmocka_run_group_tests_name("looks", tests, NULL, NULL);
}
