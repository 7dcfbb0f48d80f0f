/* Which part of a run is judged whose DataLoader was changed while it was iterated: the longest stretch of
 * the arguments that it had last. */
#include "report/measure/timeline.h"

#include "probe/base/err.h"
#include "tests/support/fake_run.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

struct row {
    unsigned at_s, workers;
    const char *loader, *why;
};

/* Of a run of 100 s, whose loader 7.0 began with 2 workers. */
static struct pp_part judged(const struct row *rows, size_t n, int is_over)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    static const char *const keys[] = {"0000", "0001", "0002", "0003"};
    char text[4][160], end[32];
    assert_non_null(f);
    fake_text(f, "config", "dataloader", "7.0");
    snprintf(end, sizeof(end), "%" PRIu64, 100 * S);
    if (is_over)
        fake_num(f, "run", "ended_mono_ns", end, "ns");
    for (size_t i = 0; i < n; i++) {
        snprintf(text[i], sizeof(text[i]),
                 "at_ns=%" PRIu64 " loader=%s batch=%zu num_workers=%u prefetch_factor=2 was=2/2 why=%s",
                 rows[i].at_s * S, rows[i].loader, i, rows[i].workers, rows[i].why);
        fake_text(f, "loader_change", keys[i], text[i]);
    }
    struct pp_source source = fake_source(f);
    struct pp_part part = pp_part_judged(&source);
    fake_free(f);
    return part;
}

static void one_stretch_is_judged(void **state)
{
    static const struct {
        struct row rows[4];
        size_t n;
        int is_over;
        unsigned from_s, to_s, warmup; /* to_s 0: the end */
    } cases[] = {
        /* kept: since its last turn */
        {{{10, 8, "7.0", "trial"}, {12, 8, "7.0", "back"}, {14, 8, "7.0", "trial"}, {16, 8, "7.0", "kept"}},
         4,
         1,
         14,
         0,
         8},
        /* undone early: since then; undone late: up to the trial */
        {{{10, 8, "7.0", "trial"}, {20, 8, "7.0", "undone"}}, 2, 1, 20, 0, 2},
        {{{60, 8, "7.0", "trial"}, {70, 8, "7.0", "undone"}}, 2, 1, 0, 60, 0},
        /* it ended in a trial: as it was */
        {{{60, 8, "7.0", "trial"}}, 1, 1, 0, 60, 0},
        {{{60, 8, "7.0", "trial"}, {62, 8, "7.0", "back"}}, 2, 1, 0, 60, 0},
        /* the run goes on: the newest */
        {{{60, 8, "7.0", "trial"}, {70, 8, "7.0", "undone"}}, 2, 0, 70, 0, 2},
        /* another loader's, and what was not tried, change nothing */
        {{{10, 8, "7.1", "kept"}, {20, 8, "7.0", "refused"}}, 2, 1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_part part = judged(cases[i].rows, cases[i].n, cases[i].is_over);
        assert_true(part.from_ns == cases[i].from_s * S);
        assert_true(part.to_ns == (cases[i].to_s ? cases[i].to_s * S : UINT64_MAX));
        assert_true(part.warmup == cases[i].warmup);
    }
}

/* 40 batches of 1 s each: a wait and a step of half a second. Backward is called from batch `first` on. */
static void what_comes_before_training_is_not_judged(void **state)
{
    static const struct {
        int first; /* -1: never */
        const char *source;
        uint64_t judged, untrained;
    } cases[] = {
        {0, "pytorch", 39, 0},   /* the first batch is never judged */
        {12, "pytorch", 27, 12}, /* a resumed run that skips to its place */
        {38, "pytorch", 39, 0},  /* hardly anything is trained on: that is not the run */
        {-1, "pytorch", 39, 0},  {12, "pipeprobe", 39, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fake_run *f = calloc(1, sizeof(*f));
        struct pp_timeline tl;
        assert_non_null(f);
        uint32_t t = fake_thread(f, PP_LANE_TRAINER, "trainer");
        fake_text(f, "config", "source", cases[i].source);
        fake_num(f, "run", "started_mono_ns", "1", "ns");
        fake_num(f, "run", "ended_mono_ns", "40000000000", "ns");
        for (uint32_t b = 0; b < 40; b++) {
            fake_span(f, t, PP_PHASE_DATA_WAIT, b * S + 1, S / 2)->batch = b;
            struct pp_span *step = fake_span(f, t, PP_PHASE_STEP, b * S + S / 2 + 1, S / 2 - 1);
            step->batch = b;
            step->flags |= cases[i].first >= 0 && (int)b >= cases[i].first ? PP_SPAN_TRAINED : 0;
        }
        struct pp_source source = fake_source(f);
        assert_int_equal(pp_timeline_build(&source, &tl, &(struct pp_err){0}), PP_OK);
        assert_int_equal(tl.window_batches, cases[i].judged);
        assert_int_equal(tl.untrained, cases[i].untrained);
        pp_timeline_free(&tl);
        fake_free(f);
    }
}

/* 60 batches of steps of 100 ms, of a loader that is not PyTorch's. The first of an epoch is waited for. */
static void what_was_read_ahead_is_not_judged(void **state)
{
    static const struct {
        int from, every; /* from that batch on every so many wait long_ms, others short_us */
        unsigned epochs, long_ms, short_us;
        const char *source, *loader;
        uint64_t judged, untrained;
    } cases[] = {
        {30, 1, 1, 200, 1, "nvtx", "grain", 30, 30},   {30, 8, 1, 200, 1, "nvtx", "own", 30, 30},
        {30, 100, 1, 200, 1, "nvtx", "grain", 59, 0}, /* it waits once: the loader keeps up */
        {30, 10, 1, 6, 4000, "nvtx", "grain", 59, 0}, /* as long as before */
        {1, 1, 1, 200, 1, "nvtx", "grain", 59, 0},    /* never ahead */
        {52, 1, 1, 200, 1, "nvtx", "grain", 59, 0},   /* too few are left */
        {50, 4, 1, 200, 1, "nvtx", "grain", 59, 0},   /* and too little of the run */
        {60, 1, 4, 200, 1, "nvtx", "grain", 59, 0},   /* waits of epochs' first batches are their own */
        {30, 1, 1, 200, 1, "pytorch", "grain", 59, 0}, {30, 1, 1, 200, 1, "nvtx", NULL, 59, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fake_run *f = calloc(1, sizeof(*f));
        struct pp_timeline tl;
        assert_non_null(f);
        uint32_t t = fake_thread(f, PP_LANE_TRAINER, "trainer"), per = 60 / cases[i].epochs;
        uint64_t at = 1;
        fake_text(f, "config", "source", cases[i].source);
        if (cases[i].loader)
            fake_text(f, "config", "loader", cases[i].loader);
        fake_num(f, "run", "started_mono_ns", "1", "ns");
        for (uint32_t b = 0; b < 60; b++) {
            int waits = b % per == 0 ||
                        ((int)b >= cases[i].from && ((int)b - cases[i].from) % cases[i].every == 0);
            struct pp_span *wait = fake_span(f, t, PP_PHASE_DATA_WAIT, at,
                                             waits ? cases[i].long_ms * S / 1000
                                                   : cases[i].short_us * S / 1000000);
            at += wait->dur_ns;
            struct pp_span *step = fake_span(f, t, PP_PHASE_STEP, at, S / 10);
            at += step->dur_ns;
            wait->batch = step->batch = b;
            if ((b + 1) % per == 0) /* no epoch numbers: the loader said that it has no more */
                at += fake_span(f, t, PP_PHASE_EPOCH_BOUNDARY, at, 1000)->dur_ns;
        }
        struct pp_source source = fake_source(f);
        assert_int_equal(pp_timeline_build(&source, &tl, &(struct pp_err){0}), PP_OK);
        if (tl.window_batches != cases[i].judged || tl.untrained != cases[i].untrained)
            fail_msg("case %zu: %d judged, %d not", i, (int)tl.window_batches, (int)tl.untrained);
        pp_timeline_free(&tl);
        fake_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_stretch_is_judged),
                                       cmocka_unit_test(what_comes_before_training_is_not_judged),
                                       cmocka_unit_test(what_was_read_ahead_is_not_judged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
