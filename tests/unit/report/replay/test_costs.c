/* What a recording's trainer does apart from its batches, and how long its GPU is busy, as costs. */
#include "report/replay/costs.h"
#include "tests/support/fake_run.h"
#include "tests/support/made_costs.h"

enum { BATCHES = 202, WARMUP = 2, JUDGED = BATCHES - WARMUP, PREFETCHED = 4 };

static uint64_t kernel_ms;

/* Two kernels of a step overlap; a third is of another program's time, long before. */
static pp_status kernels(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    (void)ctx, (void)err;
    struct pp_gpu_row row = {.kind = "kernel", .start_ns = 1, .dur_ns = 5 * FAKE_MS, .batch = UINT32_MAX};
    fn(fn_ctx, &row);
    for (uint64_t b = 0; b < JUDGED && kernel_ms; b++) {
        row.start_ns = FAKE_T0 + (WARMUP + b) * 20 * FAKE_MS;
        row.dur_ns = kernel_ms * FAKE_MS;
        fn(fn_ctx, &row);
        row.start_ns += FAKE_MS;
        fn(fn_ctx, &row);
        row.kind = "memcpy";
        fn(fn_ctx, &row);
        row.kind = "kernel";
    }
    return PP_OK;
}

/* Each batch is waited for 8 ms and stepped on for 12. Every 40th step takes `pause` ms more, and a
 * checkpoint of `saved` ms follows the step of batch 100. */
static struct pp_costs costs_of(const char *workers, uint64_t pause, uint64_t saved)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    uint64_t now = FAKE_T0;
    assert_non_null(f);
    fake_num(f, "config", "num_workers", workers, NULL);
    fake_num(f, "config", "workers", strcmp(workers, "0") ? workers : "1", NULL);
    fake_num(f, "config", "prefetch", "2", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_text(f, "config", "source", "pytorch");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer");
    for (uint32_t b = 0; b < BATCHES; b++) {
        const struct {
            pp_phase phase;
            uint64_t ms;
        } parts[] = {{PP_PHASE_DATA_WAIT, 8},
                     {PP_PHASE_STEP, 12 + (b % 40 == 39 ? pause : 0)},
                     {PP_PHASE_CHECKPOINT, b == 100 ? saved : 0}};
        for (int k = 0; k < 3; k++) {
            if (!parts[k].ms)
                continue;
            struct pp_span *s = fake_span(f, trainer, parts[k].phase, now, parts[k].ms * FAKE_MS);
            s->batch = b;
            s->sample = k < 1 ? 8 : PP_NO_SAMPLE;
            s->flags = (uint16_t)(PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (k < 1 ? PP_SPAN_COUNT : 0) |
                                  (b < WARMUP ? PP_SPAN_WARMUP : 0));
            now += parts[k].ms * FAKE_MS;
        }
    }
    struct pp_source source = fake_source(f);
    source.each_gpu = kernels;
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    pp_costs_read(&source, &tl, &c, &err); /* too little to predict from; the trainer's costs are there */
    pp_timeline_free(&tl);
    fake_free(f);
    return c;
}

/* A batch takes 20 ms, and what else there is in 200 of them. */
static double filled_ms(double else_ms)
{
    return PREFETCHED * (20 + else_ms / JUDGED);
}

static void a_long_pause_is_no_part_of_steps(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("2", 1000, 0);
    double filled = filled_ms(5 * 1000);
    assert_near(c.apart_ns, 5 * (1000 - filled) / JUDGED * 1e6, 1e4);
    assert_near(c.step_blocked_ns + c.step_cpu_ns, (12 + 5 * filled / JUDGED) * 1e6, 1e4);
    pp_costs_free(&c);
    c = costs_of("0", 1000, 0); /* nobody makes batches meanwhile */
    assert_near(c.apart_ns, 5 * 1000e6 / JUDGED, 1e4);
    pp_costs_free(&c);
}

/* What is as long as nine steps is a step, and what is shorter than the workers need to fill what is
 * prefetched is hidden behind them. */
static void a_long_step_is_a_step(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("0", 96, 0);
    assert_near(c.apart_ns, 0, 1);
    assert_near(c.step_blocked_ns + c.step_cpu_ns, (12 + 5 * 96.0 / JUDGED) * 1e6, 1e4);
    pp_costs_free(&c);
    c = costs_of("8", 200, 200); /* 16 batches are ready after 400 ms */
    assert_near(c.apart_ns, 0, 1);
    pp_costs_free(&c);
}

static void a_checkpoint_is_apart(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("2", 0, 3000);
    assert_near(c.apart_ns, (3000 - filled_ms(3000)) / JUDGED * 1e6, 1e4);
    assert_near(c.step_blocked_ns + c.step_cpu_ns, 12e6, 1e3);
    pp_costs_free(&c);
}

static void kernels_that_overlap_count_once(void **state)
{
    (void)state;
    kernel_ms = 6;
    struct pp_costs c = costs_of("2", 0, 0);
    assert_near(c.gpu_busy_ns, 7e6, 1e3);
    pp_costs_free(&c);
    kernel_ms = 0;
    c = costs_of("2", 0, 0);
    assert_near(c.gpu_busy_ns, 0, 0);
    pp_costs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_pause_is_no_part_of_steps),
        cmocka_unit_test(a_long_step_is_a_step),
        cmocka_unit_test(a_checkpoint_is_apart),
        cmocka_unit_test(kernels_that_overlap_count_once),
    };
    return cmocka_run_group_tests_name("costs", tests, NULL, NULL);
}
