/* Recordings of ranks as one source: on one clock, with threads, processes and names apart. The clock of the
 * second rank is off by 50 ms and drifts by 20 ppm. */
#include "tests/support/fake_run.h"
#include "probe/base/rng.h"
#include "report/ranks/clock.h"
#include "report/source/joined.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { STEPS = 300, TRAINER = 0, WORKER = 1 };

static double off(double t)
{
    return t + 50e6 + (t - FAKE_T0) * 20e-6;
}

/* Both ranks do what they do at the same times; `clock` says what a rank's clock shows then. */
static struct fake_run *made(double (*clock)(double), const char *rank, uint64_t seed)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_rng r = pp_rng_key(seed, 0, 0, 3);
    assert_int_equal(fake_thread(f, PP_LANE_TRAINER, "pp-trainer"), TRAINER);
    assert_int_equal(fake_thread(f, PP_LANE_WORKER, "pp-worker-0"), WORKER);
    f->thread[TRAINER].pid = f->thread[WORKER].pid = 4711;
    fake_num(f, "rank", "rank", rank, NULL);
    for (uint32_t b = 0; b < STEPS; b++) {
        double at[4] = {(double)FAKE_T0 + b * 40e6, 0, 0, 0};
        at[1] = at[0] + 10e6;
        at[2] = at[0] + 25e6;
        at[3] = at[0] + 39e6 - 30e3 * log(1 - pp_rng_unit(&r)); /* each notices the end a little later */
        uint64_t t[4];
        for (int i = 0; i < 4; i++)
            t[i] = (uint64_t)(clock ? clock(at[i]) : at[i]);
        static const pp_phase phases[] = {PP_PHASE_DATA_WAIT, PP_PHASE_STEP, PP_PHASE_COLLECTIVE};
        for (int i = 0; i < 3; i++) {
            struct pp_span *s = fake_span(f, TRAINER, phases[i], t[i], t[i + 1] - t[i]);
            s->batch = b;
            s->name = i == 1 && clock ? 7 : 0;
        }
        fake_span(f, WORKER, PP_PHASE_DECODE, t[0], t[1] - t[0])->batch = b;
    }
    return f;
}

static const char *name_of(void *ctx, uint16_t id)
{
    (void)ctx;
    return id == 7 ? "forward" : NULL;
}

static uint64_t to_common(const void *clock, uint64_t own_ns)
{
    return pp_clock_to_reference(clock, own_ns);
}

struct seen {
    const struct pp_source *source;
    uint64_t collective_end[2][STEPS], last_end[16];
    size_t spans, named, gaps;
};

static int see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct seen *seen = ctx;
    assert_true(thread < 16);
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        const char *name = seen->source->name(seen->source->ctx, s->name);
        seen->spans++;
        seen->named += name && strcmp(name, "forward") == 0;
        if (s->phase == PP_PHASE_COLLECTIVE)
            seen->collective_end[thread > WORKER][s->batch] = s->start_ns + s->dur_ns;
        if (s->phase == PP_PHASE_STEP || s->phase == PP_PHASE_COLLECTIVE) /* they touched what was before */
            seen->gaps += s->start_ns != seen->last_end[thread];
        seen->last_end[thread] = s->start_ns + s->dur_ns;
    }
    return 0;
}

static void ranks_stand_on_one_clock(void **state)
{
    (void)state;
    struct fake_run *f[2] = {made(NULL, "0", 1), made(off, "1", 2)};
    struct pp_source source[2] = {fake_source(f[0]), fake_source(f[1])}, joined;
    struct pp_clock clock[2];
    struct pp_err err = {0};
    const struct pp_thread_row *rows;
    double value;
    source[1].name = name_of;
    assert_int_equal(pp_clock_align(source, 2, clock, &err), PP_OK);
    assert_null(clock[1].unknown);
    assert_int_equal(clock[1].steps, STEPS);
    assert_true(fabs(clock[1].drift + 20e-6) < 2e-6);
    assert_true(clock[1].error_ns > 0 && clock[1].error_ns < 1e6);
    const struct pp_join_part parts[] = {{.source = &source[0], .label = "rank 0"},
                                         {.source = &source[1],
                                          .label = "rank 1",
                                          .to_common = to_common,
                                          .clock = &clock[1],
                                          .clock_error_ns = clock[1].error_ns}};
    assert_int_equal(pp_source_join(parts, 2, &joined, &err), PP_OK);
    assert_int_equal(joined.threads(joined.ctx, &rows), 4);
    assert_string_equal(rows[0].name, "rank 0 pp-trainer");
    assert_string_equal(rows[3].name, "rank 1 pp-worker-0");
    for (size_t i = 1; i < 4; i++)
        assert_true(rows[i].id > rows[i - 1].id);
    assert_int_equal(rows[0].pid, rows[1].pid);
    assert_int_equal(rows[2].pid, rows[3].pid);
    assert_true(rows[1].pid != rows[2].pid); /* both were 4711 */
    assert_true(joined.meta_num(joined.ctx, "rank", "rank", &value) && value == 0);
    struct seen seen = {.source = &joined};
    uint64_t bad = 1;
    assert_int_equal(joined.each_chunk(joined.ctx, NULL, see, &seen, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    assert_int_equal(seen.spans, 2 * 4 * STEPS);
    assert_int_equal(seen.named, STEPS);
    assert_int_equal(seen.gaps, 0);
    size_t off_by = 0;
    for (int b = 0; b < STEPS; b++) { /* but for the delay of each exit, of 30 us on average, and the error */
        double apart = (double)(int64_t)(seen.collective_end[1][b] - seen.collective_end[0][b]);
        off_by += fabs(apart) > 500e3;
    }
    assert_true(off_by <= STEPS / 50);
    pp_source_unjoin(&joined);
    for (int i = 0; i < 2; i++) {
        pp_clock_free(&clock[i]);
        fake_free(f[i]);
    }
}

static void count_errors(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    (void)unit;
    if (strcmp(key, "rank 1.clock_error_ns") == 0)
        *(int *)ctx += numeric ? 0 : strcmp(value, "unknown") == 0;
}

static void without_collectives_no_error_is_known(void **state)
{
    (void)state;
    struct fake_run *f[2] = {made(NULL, "0", 1), made(off, "1", 2)};
    struct pp_err err = {0};
    int unknown = 0;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < f[i]->n_spans[TRAINER]; k++)
            if (f[i]->span[TRAINER][k].phase == PP_PHASE_COLLECTIVE)
                f[i]->span[TRAINER][k].phase = PP_PHASE_STEP;
    fake_num(f[0], "run", "started_mono_ns", "5000000000", "ns");
    fake_num(f[0], "run", "started_utc_ns", "1700000000000000000", "ns");
    fake_num(f[1], "run", "started_mono_ns", "9000000000", "ns");
    fake_num(f[1], "run", "started_utc_ns", "1700000001000000000", "ns");
    struct pp_source source[2] = {fake_source(f[0]), fake_source(f[1])}, joined;
    struct pp_clock clock[2];
    assert_int_equal(pp_clock_align(source, 2, clock, &err), PP_OK);
    assert_non_null(clock[1].unknown);
    assert_int_equal(pp_clock_to_reference(&clock[1], UINT64_C(9000000000)), UINT64_C(6000000000));
    assert_true(isnan(clock[1].error_ns)); /* no order is claimed */
    const struct pp_join_part parts[] = {{.source = &source[0], .label = "rank 0"},
                                         {.source = &source[1],
                                          .label = "rank 1",
                                          .to_common = to_common,
                                          .clock = &clock[1],
                                          .clock_error_ns = NAN}};
    assert_int_equal(pp_source_join(parts, 2, &joined, &err), PP_OK);
    assert_int_equal(joined.each_meta(joined.ctx, "run", count_errors, &unknown, &err), PP_OK);
    assert_int_equal(unknown, 1);
    pp_source_unjoin(&joined);
    for (int i = 0; i < 2; i++) {
        pp_clock_free(&clock[i]);
        fake_free(f[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_stand_on_one_clock),
        cmocka_unit_test(without_collectives_no_error_is_known),
    };
    return cmocka_run_group_tests_name("joined", tests, NULL, NULL);
}
