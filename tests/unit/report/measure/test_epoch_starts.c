/* How epochs begin: the wait for the first batch, the time before it, and how much of that the loader's
 * workers took. */
#include "report/measure/timeline.h"
#include "tests/support/fake_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct clock {
    struct fake_run *f;
    uint32_t trainer;
    uint64_t at;
};

static void span(struct clock *c, pp_phase phase, uint64_t ms, uint32_t batch, uint16_t epoch)
{
    struct pp_span *s = fake_span(c->f, c->trainer, phase, c->at, ms * FAKE_MS);
    s->batch = batch;
    s->epoch = epoch;
    c->at += ms * FAKE_MS;
}

/* An iteration of a loader: 6 ms of starting workers, a first wait of 20 ms, others of 5, steps of 10, and 4
 * ms of ending workers. */
static void iteration(struct clock *c, uint32_t first, uint32_t batches, uint16_t epoch)
{
    span(c, PP_PHASE_STARTUP, 6, first, epoch);
    for (uint32_t b = 0; b < batches; b++) {
        span(c, PP_PHASE_DATA_WAIT, b ? 5 : 20, first + b, epoch);
        span(c, PP_PHASE_STEP, 10, first + b, epoch);
    }
    span(c, PP_PHASE_EPOCH_BOUNDARY, 4, PP_NO_BATCH, epoch);
    c->at += 7 * FAKE_MS; /* what the program itself does */
}

static struct clock new_clock(void)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    return (struct clock){.f = f, .trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"), .at = FAKE_T0};
}

static struct pp_epoch_starts starts_of(const struct pp_source *s)
{
    struct pp_timeline tl;
    struct pp_err err;
    if (pp_timeline_build(s, &tl, &err) != PP_OK)
        fail_msg("%s", err.text);
    struct pp_epoch_starts starts = tl.starts;
    pp_timeline_free(&tl);
    return starts;
}

static void epochs_of_one_loader(void **state)
{
    (void)state;
    struct clock c = new_clock();
    for (uint32_t e = 0; e < 4; e++)
        iteration(&c, 3 * e, 3, (uint16_t)e);
    struct pp_source s = fake_source(c.f);
    struct pp_epoch_starts e = starts_of(&s);
    assert_int_equal(e.n, 3); /* the run's first is no boundary that is judged */
    assert_int_equal(e.wait_ns, 3 * 20 * FAKE_MS);
    assert_int_equal(e.gap_ns, 3 * 17 * FAKE_MS);
    assert_int_equal(e.workers_ns, 3 * 10 * FAKE_MS);
    assert_int_equal(e.starting_ns, 3 * 6 * FAKE_MS);
    assert_int_equal(e.late_ns, 0);
    assert_int_equal(e.whole, 3); /* that the last one ended is not known */
    assert_int_equal(e.batches, 9);
    fake_free(c.f);
}

/* A sampler that draws in iter(loader), and one of a program that draws for each batch: that is none of the
 * epoch's start. */
static void samplers_draw_before_an_epoch(void **state)
{
    (void)state;
    struct clock c = new_clock();
    for (uint32_t e = 0; e < 3; e++) {
        span(&c, PP_PHASE_STARTUP, 6, 2 * e, (uint16_t)e);
        span(&c, PP_PHASE_SAMPLER, 9, 2 * e, (uint16_t)e);
        for (uint32_t b = 2 * e; b < 2 * e + 2; b++) {
            span(&c, PP_PHASE_DATA_WAIT, 5, b, (uint16_t)e);
            span(&c, PP_PHASE_STEP, 10, b, (uint16_t)e);
            span(&c, PP_PHASE_SAMPLER, 1, b, (uint16_t)e);
        }
    }
    struct pp_source s = fake_source(c.f);
    struct pp_timeline tl;
    struct pp_err err;
    assert_int_equal(pp_timeline_build(&s, &tl, &err), PP_OK);
    assert_int_equal(tl.first_start_ns, 6 * FAKE_MS);
    assert_int_equal(tl.first_sampler_ns, 9 * FAKE_MS);
    assert_int_equal(tl.starts.n, 2);
    assert_int_equal(tl.starts.sampler_ns, 2 * 9 * FAKE_MS);
    assert_int_equal(tl.starts.starting_ns, 2 * 6 * FAKE_MS);
    pp_timeline_free(&tl);
    fake_free(c.f);
}

/* Workers that are spawned import what they need while the trainer waits: they begin 8 ms after it does. */
static size_t late_generations(void *ctx, const uint64_t **starts_ns)
{
    static uint64_t at[3];
    (void)ctx;
    for (uint64_t e = 1; e < 4; e++)
        at[e - 1] = FAKE_T0 + (77 * e + 6 + 8) * FAKE_MS;
    *starts_ns = at;
    return 3;
}

static void workers_may_begin_late(void **state)
{
    (void)state;
    struct clock c = new_clock();
    for (uint32_t e = 0; e < 4; e++)
        iteration(&c, 3 * e, 3, (uint16_t)e);
    struct pp_source s = fake_source(c.f);
    s.generations = late_generations;
    assert_int_equal(starts_of(&s).late_ns, 3 * 8 * FAKE_MS);
    fake_free(c.f);
}

static void one_epoch_says_nothing(void **state)
{
    (void)state;
    struct clock c = new_clock();
    iteration(&c, 0, 30, 0);
    struct pp_source s = fake_source(c.f);
    struct pp_epoch_starts e = starts_of(&s);
    assert_int_equal(e.n + e.wait_ns + e.gap_ns + e.workers_ns + e.whole + e.batches, 0);
    fake_free(c.f);
}

/* Without workers nothing drains: an epoch's first batch is made as the others are, and waited for as they
 * are. */
static void the_trainer_makes_first_batches_as_others(void **state)
{
    (void)state;
    for (int workers = 0; workers < 2; workers++) {
        struct clock c = new_clock();
        struct pp_timeline tl;
        struct pp_err err;
        fake_num(c.f, "config", "num_workers", workers ? "2" : "0", NULL);
        for (uint32_t e = 0; e < 4; e++)
            iteration(&c, 3 * e, 3, (uint16_t)e);
        span(&c, PP_PHASE_DATA_WAIT, 20, 12, 4); /* the run ends before a step: whole epochs count */
        struct pp_source s = fake_source(c.f);
        assert_int_equal(pp_timeline_build(&s, &tl, &err), PP_OK);
        assert_int_equal(tl.end_ns, c.at);
        assert_int_equal(tl.boundaries, workers ? 4 : 0);
        assert_int_equal(tl.wait_ns, (workers ? 8 * 5 : 8 * 5 + 4 * 20) * FAKE_MS);
        assert_int_equal(tl.boundary_ns, (workers ? 4 * 20 + 3 * (6 + 4) + 4 : 3 * (6 + 4) + 4) * FAKE_MS);
        pp_timeline_free(&tl);
        fake_free(c.f);
    }
}

/* What came before the first batch of a recording that begins in the middle of an epoch is not known. */
static void an_epoch_that_was_entered_late_is_not_whole(void **state)
{
    (void)state;
    struct clock c = new_clock();
    iteration(&c, 27, 3, 0);
    iteration(&c, 30, 30, 1);
    iteration(&c, 60, 5, 2);
    struct pp_source s = fake_source(c.f);
    struct pp_epoch_starts e = starts_of(&s);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.whole, 1);
    assert_int_equal(e.batches, 30);
    fake_free(c.f);
}

/* Validation before and between the epochs of the loader that is judged, with epochs of its own: its batches
 * and its workers are not of their starts. */
static pp_status two_loaders(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                             struct pp_err *err)
{
    static const struct pp_order_row rows[] = {{.pid = 7, .loader = 0, .first_batch = 0, .batches = 100},
                                               {.pid = 7, .loader = 1, .first_batch = 100, .batches = 100}};
    (void)ctx, (void)only, (void)err;
    for (size_t i = 0; i < 2; i++)
        fn(fn_ctx, &rows[i]);
    return PP_OK;
}

static void other_loaders_are_left_out(void **state)
{
    (void)state;
    struct clock c = new_clock();
    fake_text(c.f, "config", "dataloader", "7.0");
    fake_text(c.f, "loader", "7.0", "{}");
    fake_text(c.f, "loader", "7.1", "{}");
    for (uint32_t e = 0; e < 4; e++) {
        iteration(&c, 100 + 2 * e, 2, (uint16_t)e);
        iteration(&c, 3 * e, 3, (uint16_t)e);
    }
    struct pp_source s = fake_source(c.f);
    s.each_order = two_loaders;
    struct pp_epoch_starts e = starts_of(&s);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.wait_ns, 3 * 20 * FAKE_MS);
    /* its own workers end and start, so do the other's, and the program goes on twice */
    assert_int_equal(e.gap_ns, 3 * (4 + 7 + 6 + 4 + 7 + 6) * FAKE_MS);
    assert_int_equal(e.workers_ns, 3 * 10 * FAKE_MS);
    assert_int_equal(e.whole, 3);
    assert_int_equal(e.batches, 9);
    fake_free(c.f);
}

/* A loader's epochs are its own: validation in the middle of one ends none of it, and its numbers are others.
 */
static void epochs_are_of_their_loader(void **state)
{
    struct clock c = new_clock();
    struct pp_timeline tl;
    struct pp_err err;
    (void)state;
    fake_text(c.f, "config", "dataloader", "7.0");
    fake_text(c.f, "loader", "7.0", "{}");
    fake_text(c.f, "loader", "7.1", "{}");
    for (uint32_t e = 0; e < 4; e++) {
        iteration(&c, 3 * e, 3, 0); /* twelve batches of one epoch */
        iteration(&c, 100 + 2 * e, 2, (uint16_t)e);
    }
    struct pp_source s = fake_source(c.f);
    s.each_order = two_loaders;
    assert_int_equal(pp_timeline_build(&s, &tl, &err), PP_OK);
    assert_int_equal(tl.epochs, 1 + 4);
    assert_int_equal(tl.boundaries, 4); /* the validations' first batches; the first of the run is warm-up */
    assert_int_equal(tl.own.batches, 11);
    assert_int_equal(pp_timeline_of_judged(&tl).n_stalls, 11);
    assert_int_equal(tl.n_stalls, 11 + 4);
    assert_int_equal(pp_other_batches_find(&tl.other, 0)->batches, 12);
    pp_timeline_free(&tl);
    fake_free(c.f);
}

/* What the program does between two epochs, and what it makes within the last step before a validation: of
 * that what is longer than the other steps. */
static void time_between_epochs_is_no_step(void **state)
{
    struct clock c = new_clock();
    struct pp_timeline tl;
    struct pp_err err;
    (void)state;
    fake_text(c.f, "config", "dataloader", "7.0");
    fake_text(c.f, "loader", "7.0", "{}");
    fake_text(c.f, "loader", "7.1", "{}");
    for (uint32_t e = 0; e < 4; e++) {
        for (uint32_t b = 10 * e; b < 10 * e + 10; b++) {
            span(&c, PP_PHASE_DATA_WAIT, 5, b, 0);
            span(&c, PP_PHASE_STEP, b % 10 == 9 ? 10 + 80 : 10, b, 0);
        }
        iteration(&c, 100 + 2 * e, 2, (uint16_t)e);
    }
    struct pp_source s = fake_source(c.f);
    s.each_order = two_loaders;
    assert_int_equal(pp_timeline_build(&s, &tl, &err), PP_OK);
    assert_int_equal(tl.n_gaps, 4 + 3); /* the last validation ends the run */
    assert_int_equal(tl.gap_step_ns, 4 * 80 * FAKE_MS);
    assert_int_equal(tl.gap_ns, tl.gap_step_ns + 3 * 7 * FAKE_MS);
    pp_timeline_free(&tl);
    fake_free(c.f);
}

/* A loop of the program's own has no loader's epochs: what lies between its spans is none of this. */
static void gaps_within_an_epoch_are_none(void **state)
{
    struct clock c = new_clock();
    struct pp_timeline tl;
    struct pp_err err;
    (void)state;
    for (uint32_t b = 0; b < 30; b++, c.at += 20 * FAKE_MS) {
        span(&c, PP_PHASE_DATA_WAIT, 5, b, 0);
        span(&c, PP_PHASE_STEP, 10, b, 0);
    }
    struct pp_source s = fake_source(c.f);
    assert_int_equal(pp_timeline_build(&s, &tl, &err), PP_OK);
    assert_int_equal(tl.n_gaps + tl.gap_ns, 0);
    pp_timeline_free(&tl);
    fake_free(c.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_between_epochs_is_no_step),
        cmocka_unit_test(gaps_within_an_epoch_are_none),
        cmocka_unit_test(epochs_of_one_loader),
        cmocka_unit_test(samplers_draw_before_an_epoch),
        cmocka_unit_test(workers_may_begin_late),
        cmocka_unit_test(the_trainer_makes_first_batches_as_others),
        cmocka_unit_test(one_epoch_says_nothing),
        cmocka_unit_test(an_epoch_that_was_entered_late_is_not_whole),
        cmocka_unit_test(other_loaders_are_left_out),
        cmocka_unit_test(epochs_are_of_their_loader),
    };
    return cmocka_run_group_tests_name("epoch starts", tests, NULL, NULL);
}
