#include "tests/support/made_costs.h"

void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, wanted);
}

struct pp_costs made_costs_new(void)
{
    struct pp_costs c = {.n = MADE_SAMPLES,
                         .room = MADE_SAMPLES,
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
                         .outside_before = NAN,
                         .outside_rose_at = NAN,
                         .process_cpus = NAN,
                         .major_faults_per_s = NAN,
                         .disk_bytes_per_s = NAN,
                         .disk_reads_per_s = NAN,
                         .limit_bytes_per_s = NAN,
                         .limit_reads_per_s = NAN,
                         .refault_bytes_per_s = NAN,
                         .memory_limit = NAN,
                         .memory_total = NAN,
                         .memory_available = 1e9,
                         .dataset_samples = MADE_SAMPLES,
                         .window_ns = 11e9};
    c.samples = calloc(MADE_SAMPLES, sizeof(*c.samples));
    for (uint64_t i = 0; i < MADE_SAMPLES; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t start = i / 2 * 11 * FAKE_MS + i % 2 * 3 * FAKE_MS;
        *x = (struct pp_cost_sample){.sample = i * 769 % MADE_SAMPLES,
                                     .read_blocked = 10e6f,
                                     .decode_cpu = 0.8e6f,
                                     .transform_cpu = 0.2e6f,
                                     .batch = (uint32_t)(i / 8),
                                     .worker = (uint32_t)(i % 2),
                                     .bytes = (uint32_t)(10000 + i * 7919 % 20000),
                                     .reached = PP_PHASE_TRANSFORM,
                                     .hit = 1,
                                     .hit_known = 1,
                                     .read_start_ns = start,
                                     .read_end_ns = start + 10 * FAKE_MS};
        c.cpu_ns += 1e6;
    }
    return c;
}

double made_costs_predicted(const struct pp_costs *c, const char *set)
{
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, c, set, &err), PP_OK);
    assert_int_equal(pp_whatif(c, &k, &p, &err), PP_OK);
    assert_true(p.low <= p.samples_per_s && p.samples_per_s <= p.high);
    assert_near(p.gain, p.samples_per_s / c->samples_per_s - 1, 1e-9);
    return p.samples_per_s;
}

struct pp_signals made_costs_signals(struct pp_costs *c)
{
    struct pp_signals s;
    struct pp_err err = {0};
    assert_int_equal(pp_signals_read(c, &s, &err), PP_OK);
    return s;
}
