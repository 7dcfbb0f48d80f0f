/* The run that tests of the report vary, made up in memory, and what they look up in its report. */
#pragma once

#include "tests/support/findings.h"

static inline void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, wanted);
}

/* 2 workers, decode-heavy at full CPU, the trainer waits 30 of 50 ms: the base that cases below vary. */
static inline struct fake_pipeline base(void)
{
    return (struct fake_pipeline){
        .workers = 2,
        .batches = 60,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 30 * FAKE_MS,
        .step_ns = 20 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, FAKE_MS, 0.2, 0.05},
                  {PP_PHASE_DECODE, 8 * FAKE_MS, 0.98, 0.02},
                  {PP_PHASE_TRANSFORM, FAKE_MS, 0.98, 0.02}},
    };
}

static inline struct fake_run *made(const struct fake_pipeline *p, const char *usable_cpus)
{
    struct fake_run *f = fake_pipeline(p);
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    if (usable_cpus)
        fake_num(f, "environment", "usable_cpus", usable_cpus, NULL);
    return f;
}
