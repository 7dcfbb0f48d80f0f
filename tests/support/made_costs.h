/* Costs made by hand, as a recording of two workers would give them, and what the replay and the signals say
 * of them. Link nothing; include in one test file. */
#ifndef PP_TESTS_SUPPORT_MADE_COSTS_H
#define PP_TESTS_SUPPORT_MADE_COSTS_H

#include "tests/support/fake_run.h"
#include "report/build/diagnose.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SAMPLES = 2000 };

static inline void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, wanted);
}

/* Two workers, 10 ms reads and 1 ms of CPU a sample, batches of 8, a step of 5 ms: what each case varies.
 * rate: what that makes. */
static inline struct pp_costs made(void)
{
    struct pp_costs c = {.n = SAMPLES,
                         .room = SAMPLES,
                         .batch_size = 8,
                         .step_blocked_ns = 5e6,
                         .copy_blocked_ns = 1e5,
                         .workers = 2,
                         .prefetch = 2,
                         .copy_buffers = 2,
                         .in_order = 1,
                         .usable_cpus = 4,
                         .cpus = 4,
                         .online_cpus = 4,
                         .has_resources = 1,
                         .samples_per_s = 2 / 0.011,
                         .throttled_share = NAN,
                         .outside_cpus = NAN,
                         .process_cpus = NAN,
                         .major_faults_per_s = NAN,
                         .memory_available = 1e9,
                         .dataset_samples = SAMPLES,
                         .window_ns = 11e9};
    c.samples = calloc(SAMPLES, sizeof(*c.samples));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t start = i / 2 * 11 * FAKE_MS + i % 2 * 3 * FAKE_MS;
        *x = (struct pp_cost_sample){.sample = i * 769 % SAMPLES,
                                     .read_blocked = 10e6f,
                                     .decode_cpu = 0.8e6f,
                                     .transform_cpu = 0.2e6f,
                                     .batch = (uint32_t)(i / 8),
                                     .worker = (uint32_t)(i % 2),
                                     .bytes = (uint32_t)(10000 + i * 7919 % 20000),
                                     .done = 1,
                                     .hit = 1,
                                     .hit_known = 1,
                                     .read_start_ns = start,
                                     .read_end_ns = start + 10 * FAKE_MS};
        c.cpu_ns += 1e6;
    }
    return c;
}

static inline double predicted(const struct pp_costs *c, const char *set)
{
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, c, set, &err), PP_OK);
    assert_int_equal(pp_whatif(c, &k, &p, &err), PP_OK);
    assert_true(p.low <= p.samples_per_s && p.samples_per_s <= p.high);
    near(p.gain, p.samples_per_s / c->samples_per_s - 1, 1e-9);
    return p.samples_per_s;
}

static inline struct pp_signals signals_of(struct pp_costs *c)
{
    struct pp_signals s;
    struct pp_err err = {0};
    assert_int_equal(pp_signals_read(c, &s, &err), PP_OK);
    return s;
}

#endif
