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

/* ---- a PyTorch job: two workers and no copy lane ---- */

enum { JOB_BATCHES = 60 };

/* A batch a tenth of a second, from 2 s after the job's start on: the trainer waits for 40 ms and steps for
 * 60 ms, of which it lacks a CPU for 15. Each batch is finished 50 ms before the trainer asks for it. */
static struct fake_run *job(int epochs)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    fake_num(f, "run", "started_mono_ns", "3000000000", "ns"); /* FAKE_T0 - 2 s */
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker[2] = {fake_thread(f, PP_LANE_WORKER, "worker 0"),
                          fake_thread(f, PP_LANE_WORKER, "worker 1")};
    for (uint32_t i = 0; i < JOB_BATCHES; i++) {
        uint64_t asked = FAKE_T0 + i * 100 * FAKE_MS;
        struct pp_span *s[] = {
            fake_span(f, trainer, PP_PHASE_DATA_WAIT, asked, 40 * FAKE_MS),
            fake_span(f, trainer, PP_PHASE_STEP, asked + 40 * FAKE_MS, 60 * FAKE_MS),
            NULL,
        };
        s[0]->sample = 8, s[0]->flags |= PP_SPAN_COUNT;
        s[1]->run_delay_ns = 15 * FAKE_MS, s[1]->flags |= PP_SPAN_HAS_DELAY;
        for (int k = 0; s[k]; k++)
            s[k]->batch = i, s[k]->epoch = (uint16_t)(i * (uint32_t)epochs / JOB_BATCHES);
        struct pp_span *made = i ? fake_span(f, worker[i % 2], PP_PHASE_COLLATE, asked - 60 * FAKE_MS,
                                             10 * FAKE_MS)
                                 : NULL;
        if (made)
            made->batch = i;
    }
    return f;
}

/* ... which is not all of its time: the part of a step without a CPU is not health. */
static void test_clock_and_starved_steps(void **state)
{
    struct fake_run *f = job(1);
    struct pp_report *r = report_of(f);
    assert_float_equal(r->slices[119].end_s, 8, 1e-6); /* 2 s before the first span, 6 s with spans */
    assert_true(r->slices[0].wait_share + r->slices[0].step_share == 0);
    assert_true(r->slices[29].wait_share == 0 && r->slices[30].wait_share > 0);
    assert_float_equal(SUM(r, step_share), 3.6, 1e-3);
    assert_float_equal(SUM(r, starved_share), 0.9, 1e-3);
    assert_float_equal(SUM(r, wait_share), 2.4, 1e-3);
    assert_float_equal(r->window_end_s, 8, 1e-6);
    for (size_t i = 0; i < r->n_waterfalls; i++)
        assert_float_equal(r->waterfalls[i].asked_s, 2 + 0.1 * (double)r->waterfalls[i].batch, 1e-9);
    for (size_t i = 0; i < r->n_slices; i++) { /* twelve fine ones each */
        double wait = 0;
        for (size_t k = 0; k < 12; k++)
            wait += r->fine[12 * i + k].wait_share / 12;
        assert_float_equal(r->slices[i].wait_share, wait, 2e-6);
    }
    report_done(r, f);
}

/* 90 of 100 ms one batch is finished and not taken. */
static void test_queue_fill_of_a_job(void **state)
{
    struct fake_run *f = job(1);
    for (uint32_t i = 0; i < 30;
         i++) { /* an epoch that was left early: what it had ready is taken by nobody */
        struct pp_span *s = fake_span(f, f->thread[1].id, PP_PHASE_COLLATE, FAKE_T0 + i * FAKE_MS, FAKE_MS);
        s->batch = 1000 + i;
    }
    struct pp_report *r = report_of(f);
    double mean = 0;
    for (size_t i = 45; i < 105; i++)
        mean += r->slices[i].ready_batches / 60;
    assert_float_equal(mean, 0.9, 0.01);
    assert_true(isnan(r->slices[60].device_batches));
    assert_true(r->slices[10].ready_batches == 0);
    report_done(r, f);
}

static pp_status two_orders(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err)
{
    fn(fn_ctx, &(struct pp_order_row){.pid = 1, .loader = 0, .first_batch = 0, .batches = 40});
    fn(fn_ctx, &(struct pp_order_row){.pid = 1, .loader = 1, .first_batch = 40, .batches = 20});
    return PP_OK;
}

static void test_each_loader_has_its_queue(void **state)
{
    struct fake_run *f = job(1);
    fake_text(f, "config", "dataloader", "1.0");
    fake_text(f, "loader", "1.0", "dataset=a.Train num_workers=2");
    fake_text(f, "loader", "1.1", "dataset=a.Valid num_workers=2");
    struct pp_source source = fake_source(f);
    source.each_order = two_orders;
    struct pp_report *r = report_of_source(&source);
    assert_int_equal(r->n_loader_queues, 2);
    assert_string_equal(r->loader_queues[0].row, "1.0");
    assert_string_equal(r->loader_queues[1].row, "1.1");
    for (size_t i = 0; i < r->n_slices; i++)
        assert_float_equal(r->loader_queues[0].ready[i] + r->loader_queues[1].ready[i],
                           r->slices[i].ready_batches, 1e-5);
    assert_true(r->loader_queues[0].ready[60] > 0.5 && r->loader_queues[1].ready[60] == 0);
    assert_true(r->loader_queues[1].ready[110] > 0.5 && r->loader_queues[0].ready[110] == 0);
    report_done(r, f);
}

/* Epochs where there are a few, else equal parts; from the first batch asked for to the end. */
static void test_parts_to_look_closer_at(void **state)
{
    const struct {
        int epochs;
        size_t parts;
    } rows[] = {{1, 6}, {3, 3}, {12, 12}, {30, 6}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = job(rows[i].epochs);
        struct pp_report *r = report_of(f);
        assert_int_equal(r->n_parts, rows[i].parts);
        assert_int_equal(r->parts[0].from, 360); /* of 1440 in 8 s */
        assert_int_equal(r->parts[r->n_parts - 1].to, r->n_fine);
        for (size_t k = 0; k < r->n_parts; k++) {
            assert_true(k == 0 || r->parts[k].from == r->parts[k - 1].to);
            assert_true(rows[i].parts == (size_t)rows[i].epochs ? r->parts[k].epoch == (double)k
                                                                : isnan(r->parts[k].epoch));
        }
        report_done(r, f);
    }
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
        cmocka_unit_test(test_time_is_kept),
        cmocka_unit_test(test_coarse_is_the_mean),
        cmocka_unit_test(test_queue_fill),
        cmocka_unit_test(test_queue_fill_is_withheld),
        cmocka_unit_test(test_batches_followed),
        cmocka_unit_test(test_many_workers_share_rows),
        cmocka_unit_test(test_nothing_recorded),
        cmocka_unit_test(test_quantiles_rise),
        cmocka_unit_test(test_clock_and_starved_steps),
        cmocka_unit_test(test_queue_fill_of_a_job),
        cmocka_unit_test(test_each_loader_has_its_queue),
        cmocka_unit_test(test_parts_to_look_closer_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
