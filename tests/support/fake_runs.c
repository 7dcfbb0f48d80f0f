#include "tests/support/fake_runs.h"

/* Near enough to normal, and the same bits with every libm: twelve uniform values (Irwin-Hall). */
static double fake_normal(struct pp_rng *r)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += pp_rng_unit(r);
    return sum;
}

/* slow: 1.1 is 10 % more time per batch, spent decoding. noise: relative standard deviation of each timing.
 */
static void fake_run(struct pp_run *r, const char *path, double slow, double noise, struct pp_rng *rng)
{
    double t = 0.032 * slow * (1 + noise * fake_normal(rng)), step = 0.02;
    if (!pp_run_init(r, path))
        abort();
    snprintf(r->outcome, sizeof(r->outcome), "finished");
    snprintf(r->l0, sizeof(r->l0), "input-bound");
    snprintf(r->l1, sizeof(r->l1), "transform");
    r->metric[PP_CMP_SAMPLES_PER_S] = 32 / t;
    r->why[PP_CMP_BATCHES_PER_S] = PP_WHY_COUNTS_SAMPLES;
    r->metric[PP_CMP_DATA_WAIT_SHARE] = (t - step) / t;
    r->metric[PP_CMP_DATA_WAIT_P99_S] = 3 * (t - step) * (1 + noise * fake_normal(rng));
    r->metric[PP_CMP_FIRST_BATCH_S] = 0.4 * (1 + noise * fake_normal(rng));
    r->metric[PP_CMP_CPU_S_PER_SAMPLE] = 0.0018 * slow * (1 + noise * fake_normal(rng));
    r->metric[PP_CMP_BYTES_READ] = 115e6;
    r->metric[PP_CMP_OPENS] = r->metric[PP_CMP_READS] = r->metric[PP_CMP_SAMPLES] = 1000;
    r->metric[PP_CMP_BATCHES] = 32;
    r->metric[PP_CMP_ERRORS] = 0;
    r->batch_s = t;
    r->part_s[PP_LANE_TRAINER][PP_PHASE_STEP][PP_PART_CPU] = step;
    r->part_s[PP_LANE_TRAINER][PP_PHASE_DATA_WAIT][PP_PART_BLOCKED] = t - step;
    r->part_s[PP_LANE_WORKER][PP_PHASE_READ][PP_PART_BLOCKED] = 0.004;
    r->part_s[PP_LANE_WORKER][PP_PHASE_DECODE][PP_PART_CPU] = t - 0.012;
    r->part_s[PP_LANE_WORKER][PP_PHASE_TRANSFORM][PP_PART_CPU] = 0.008;
    if (!pp_run_set_field(r, "cpu_model", "Test CPU") || !pp_run_set_field(r, "memory_total", "8000000000") ||
        !pp_run_set_field(r, "hostname", path) || !pp_run_set_field(r, "config.workers", "2") ||
        !pp_run_set_field(r, "config.step", "sleep"))
        abort();
}

struct pp_runs fake_side(const char *name, size_t n, double slow, double noise, uint64_t seed)
{
    struct pp_runs runs = {0};
    char path[64];
    for (size_t i = 0; i < n; i++) {
        struct pp_rng rng = pp_rng_key(seed, i, 0, 77);
        struct pp_run *r = pp_runs_push(&runs);
        snprintf(path, sizeof(path), "%s-%02zu.sqlite", name, i + 1);
        if (!r)
            abort();
        fake_run(r, path, slow, noise, &rng);
    }
    return runs;
}

void fake_drift(struct pp_runs *base, struct pp_runs *head, double spread, uint64_t seed)
{
    for (size_t i = 0; i < base->n && i < head->n; i++) {
        struct pp_rng rng = pp_rng_key(seed, i, 0, 78);
        double by = exp(spread * fake_normal(&rng));
        for (int side = 0; side < 2; side++) {
            struct pp_run *r = side ? &head->run[i] : &base->run[i];
            r->metric[PP_CMP_SAMPLES_PER_S] /= by;
            r->metric[PP_CMP_DATA_WAIT_P99_S] *= by;
            r->metric[PP_CMP_FIRST_BATCH_S] *= by;
            r->metric[PP_CMP_CPU_S_PER_SAMPLE] *= by;
            r->batch_s *= by;
        }
    }
}

void fake_quick(struct pp_compare_opts *o)
{
    pp_compare_defaults(o);
    o->resamples = 2000;
}
