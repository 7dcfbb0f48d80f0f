/* The pictures' data: time is neither lost nor made when it is cut into slices, queue fill is the true mean,
 * the batches followed are the right ones and their legs add up. */
#include "tests/support/findings.h"

static struct fake_pipeline usual(void)
{
    return (struct fake_pipeline){
        .workers = 2,
        .batches = 100,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 30 * FAKE_MS,
        .step_ns = 20 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, 7 * FAKE_MS, 0.04, 0.01},
                  {PP_PHASE_DECODE, 2 * FAKE_MS, 0.97, 0.02},
                  {PP_PHASE_SLOT_WAIT, FAKE_MS, 0.1, 0}},
    };
}

#define SUM(r, field) \
    ({ \
        double sum_ = 0; \
        for (size_t i_ = 0; i_ < (r)->n_slices; i_++) \
            sum_ += (r)->slices[i_].field * ((r)->slices[i_].end_s - (r)->slices[i_].start_s); \
        sum_; \
    })

static void test_time_is_kept(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    f->error[0] = (struct pp_error_row){.t_ns = FAKE_T0 + 10 * FAKE_MS,
                                        .kind = "io",
                                        .action = "skipped",
                                        .count = 3};
    f->error[1] = (struct pp_error_row){.t_ns = FAKE_T0 + 5000 * FAKE_MS,
                                        .kind = "io",
                                        .action = "skipped",
                                        .count = 1};
    f->n_errors = 2;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_slices, 120);
    assert_true(r->slices[0].start_s == 0);
    assert_float_equal(SUM(r, wait_share), 3.0, 1e-3); /* seconds, over the whole run */
    assert_float_equal(SUM(r, step_share), 2.0, 1e-3);
    assert_float_equal(SUM(r, apart_share), 0.1, 1e-3); /* start-up */
    assert_float_equal(SUM(r, h2d_share), 0.1, 1e-3);
    assert_float_equal(SUM(r, samples_per_s), 800, 0.1);
    uint64_t errors = 0, coarse = 0;
    for (size_t i = 0; i < r->n_slices; i++)
        errors += r->slices[i].errors;
    for (size_t i = 0; i < r->n_coarse; i++)
        coarse += r->coarse[i].errors;
    assert_int_equal(errors, 4);
    assert_int_equal(coarse, 4);
    assert_int_equal(r->slices[0].errors, 3);
    assert_int_equal(r->n_heat, 2);
    assert_float_equal(r->heat[0].busy_share, 0.9 * 5.0 / 5.1, 0.01); /* 9 of 10 ms, after start-up */
    report_done(r, f);
}

static void test_coarse_is_the_mean(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    struct pp_report *r = report_of(f);
    size_t each = r->n_slices / r->n_coarse;
    for (size_t c = 0; c < r->n_coarse; c++) {
        double wait = 0;
        for (size_t i = 0; i < each; i++)
            wait += r->slices[c * each + i].wait_share / (double)each;
        assert_float_equal(r->coarse[c].wait_share, wait, 2e-6);
        assert_true(r->coarse[c].start_s == r->slices[c * each].start_s &&
                    r->coarse[c].end_s == r->slices[c * each + each - 1].end_s);
    }
    report_done(r, f);
}

/* A batch is copied 1 ms after the wait begins and taken 29 ms later: 29 of 50 ms one batch is on the device.
 */
static void test_queue_fill(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    struct pp_report *r = report_of(f);
    assert_true(isnan(r->slices[60].ready_batches)); /* no worker ever finished one: not known, not zero */
    double mean = 0;
    for (size_t i = 20; i < 100; i++)
        mean += r->slices[i].device_batches / 80;
    assert_float_equal(mean, 0.58, 0.02);
    report_done(r, f);
}

/* Many copies are missing from the recording: drawn from what is left, the fill would be nonsense. */
static void test_queue_fill_is_withheld(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    for (size_t i = 0; i < f->n_spans[1]; i += 3)
        f->span[1][i].batch = PP_NO_BATCH;
    struct pp_report *r = report_of(f);
    assert_true(isnan(r->slices[60].device_batches));
    report_done(r, f);
}

static void test_batches_followed(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    uint64_t extra = 0;
    for (size_t i = 0; i < f->n_spans[0]; i++) { /* batch 70 waits 60 ms longer */
        struct pp_span *s = &f->span[0][i];
        s->start_ns += extra;
        if (s->phase == PP_PHASE_DATA_WAIT && s->batch == 70) {
            s->dur_ns += 60 * FAKE_MS;
            extra = 60 * FAKE_MS;
        }
    }
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_waterfalls, 2);
    assert_string_equal(r->waterfalls[0].which, "typical");
    assert_true(r->waterfalls[0].wait_ns == 30.0 * FAKE_MS);
    assert_string_equal(r->waterfalls[1].which, "worst");
    assert_int_equal(r->waterfalls[1].batch, 70);
    assert_true(r->waterfalls[1].wait_ns == 90.0 * FAKE_MS && r->waterfalls[1].step_ns == 20.0 * FAKE_MS);
    for (size_t w = 0; w < 2; w++) {
        const struct pp_report_batch *b = &r->waterfalls[w];
        double in_wait = 0;
        for (size_t i = 0; i < b->n_legs; i++)
            in_wait += b->legs[i].in_wait_ns;
        assert_float_equal(in_wait, b->wait_ns, 1); /* every moment of the wait is on one leg */
        assert_int_equal(b->rows[0].critical, 1);
        for (size_t k = 0; k < b->n_rows; k++) {
            assert_true(b->rows[k].n_bars > 0 && b->rows[k].n_bars <= 310);
            for (size_t i = 0; i < b->rows[k].n_bars; i++) {
                const struct pp_report_bar *bar = &b->rows[k].bars[i];
                assert_true(bar->start_ns >= b->start_ns && bar->end_ns <= b->end_ns &&
                            bar->start_ns <= bar->end_ns);
                assert_true(i == 0 || bar->start_ns >= b->rows[k].bars[i - 1].end_ns - 1);
            }
        }
    }
    report_done(r, f);
}

static void test_many_workers_share_rows(void **state)
{
    struct fake_pipeline p = usual();
    p.workers = 128;
    p.batches = 20;
    struct fake_run *f = fake_pipeline(&p);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_heat, 32);
    assert_string_equal(r->heat[0].name, "pp-worker-0 .. pp-worker-3"); /* by number, not by letter */
    assert_string_equal(r->heat[31].name, "pp-worker-124 .. pp-worker-127");
    for (size_t i = 0; i < r->n_waterfalls; i++)
        assert_true(r->waterfalls[i].n_rows <= 10);
    report_done(r, f);
}

static void test_nothing_recorded(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_slices + r->n_coarse + r->n_heat + r->n_wait_cdf + r->n_waterfalls, 0);
    report_done(r, f);
}

static void test_quantiles_rise(void **state)
{
    struct fake_pipeline p = usual();
    struct fake_run *f = fake_pipeline(&p);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_wait_cdf, 101);
    for (size_t i = 1; i < r->n_wait_cdf; i++)
        assert_true(r->wait_cdf[i].x >= r->wait_cdf[i - 1].x && r->wait_cdf[i].y > r->wait_cdf[i - 1].y);
    assert_true(r->wait_cdf[100].y == 1);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_is_kept),     cmocka_unit_test(test_coarse_is_the_mean),
        cmocka_unit_test(test_queue_fill),       cmocka_unit_test(test_queue_fill_is_withheld),
        cmocka_unit_test(test_batches_followed), cmocka_unit_test(test_many_workers_share_rows),
        cmocka_unit_test(test_nothing_recorded), cmocka_unit_test(test_quantiles_rise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
