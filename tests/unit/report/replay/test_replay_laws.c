/* Replays of a few hundred set-ups drawn at random: whatever the knobs, no operational law is broken, and
 * what costs more is not faster. */
#include "probe/base/rng.h"
#include "report/replay/replay.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { SETUPS = 250, SAMPLES = 64 };

struct drawn {
    struct pp_replay_setup s;
    struct pp_replay_sample x[SAMPLES];
    uint64_t batches;
};

static double between(struct pp_rng *r, double low, double high)
{
    return low + (high - low) * pp_rng_unit(r);
}

/* even: all samples cost the same, so that demands are known exactly. */
static struct drawn draw(uint64_t seed, int even)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, 1);
    struct drawn d = {.s = {
                          .workers = 1 + (int)pp_rng_below(&r, 12),
                          .prefetch = 1 + (int)pp_rng_below(&r, 4),
                          .copy_buffers = 1 + (int)pp_rng_below(&r, 3),
                          .in_order = (int)pp_rng_below(&r, 2),
                          .batch_size = 1 + pp_rng_below(&r, 16),
                          .cpus = between(&r, 0.4, 8),
                          .others = pp_rng_below(&r, 2) ? between(&r, 0, 4) : 0,
                          .step_ns = between(&r, 0, 30e6),
                          .step_cpu_ns = between(&r, 0, 3e6),
                          .copy_ns = between(&r, 0, 10e6),
                          .copy_cpu_ns = between(&r, 0, 1e6),
                          .collate_cpu_ns = between(&r, 0, 1e6),
                          .sync = (int)pp_rng_below(&r, 2),
                          .sync_ns = between(&r, 0, 5e6),
                          .storage_bytes_per_s = pp_rng_below(&r, 2) ? between(&r, 10e6, 200e6) : 0,
                      }};
    d.s.machine_cpus = d.s.cpus * between(&r, 1, 2);
    d.s.groups = pp_rng_below(&r, 2) ? between(&r, 0, 2) : 0;
    for (int i = 0; i < SAMPLES; i++)
        d.x[i] = i && even ? d.x[0]
                           : (struct pp_replay_sample){
                                 .read_blocked = (float)between(&r, 0, 20e6),
                                 .read_cpu = (float)between(&r, 0, 2e5),
                                 .work_cpu = (float)between(&r, 0, 8e6),
                                 .work_blocked = (float)between(&r, 0, 1e6),
                                 .bytes = (uint32_t)between(&r, 1, 200e3),
                             };
    d.batches = 20 * ((uint64_t)d.s.workers * (uint64_t)d.s.prefetch + 4);
    return d;
}

static struct pp_replay_result replayed(const struct drawn *d)
{
    struct pp_replay_result r = {0};
    struct pp_err err;
    if (pp_replay(&d->s, d->x, SAMPLES, d->batches, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

/* samples/s that each server can make at most: X <= servers / demand. What was in stock when the measured
 * half began comes on top. */
static void no_server_serves_more_than_it_can(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SETUPS; seed++) {
        struct drawn d = draw(seed, 1);
        const struct pp_replay_setup *s = &d.s;
        const struct pp_replay_sample *x = &d.x[0];
        double b = (double)s->batch_size, rate = replayed(&d).samples_per_s,
               bytes_ns = s->storage_bytes_per_s > 0 ? x->bytes / s->storage_bytes_per_s * 1e9 : 0;
        double cpu = x->read_cpu + x->work_cpu + (s->collate_cpu_ns + s->copy_cpu_ns + s->step_cpu_ns) / b,
               demand = x->read_blocked + bytes_ns + x->read_cpu + x->work_cpu + x->work_blocked;
        const struct {
            const char *name;
            double most;
        } server[] = {
            {"workers", s->workers * 1e9 / (demand + s->collate_cpu_ns / b)},
            {"link", 1e9 / bytes_ns},
            {"CPUs", s->cpus * 1e9 / cpu},
            {"copy lane", b * 1e9 / (s->copy_ns + s->copy_cpu_ns)},
            {"trainer", b * 1e9 / (s->step_ns + s->step_cpu_ns + (s->sync ? s->sync_ns : 0))},
        };
        double stock = (double)s->workers * s->prefetch + 1 + s->copy_buffers,
               half = (double)(d.batches - d.batches / 2);
        for (size_t i = 0; i < sizeof(server) / sizeof(*server); i++)
            if (rate * (1 - stock / half) > server[i].most * 1.001)
                fail_msg("seed %d: %g samples/s, of which the %s can make %g", (int)seed, rate,
                         server[i].name, server[i].most);
    }
}

/* Each cost made half as large again, one by one, of samples that differ: equal ones march in step, and what
 * upsets that may well be faster (a convoy at the CPUs). The 4 % are for who meets whom: a device sync that
 * finds no copy under way, a batch that is the other's neighbour. */
static void what_costs_more_is_not_faster(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SETUPS; seed++)
        for (int cost = 0; cost < 6; cost++) {
            struct drawn d = draw(seed, 0), dearer = d;
            for (int i = 0; i < SAMPLES; i++) {
                dearer.x[i].read_blocked *= cost == 0 ? 1.5f : 1;
                dearer.x[i].work_cpu *= cost == 1 ? 1.5f : 1;
            }
            dearer.s.step_ns *= cost == 2 ? 1.5 : 1;
            dearer.s.copy_ns *= cost == 3 ? 1.5 : 1;
            dearer.s.cpus /= cost == 4 ? 1.5 : 1;
            dearer.s.storage_bytes_per_s /= cost == 5 ? 1.5 : 1;
            double before = replayed(&d).samples_per_s, after = replayed(&dearer).samples_per_s;
            if (after > before * 1.04)
                fail_msg("seed %d: cost %d half as large again gives %g samples/s instead of %g", (int)seed,
                         cost, after, before);
        }
}

static void same_setup_same_result(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct drawn d = draw(seed, 0);
        struct pp_replay_result a = replayed(&d), b = replayed(&d);
        assert_memory_equal(&a, &b, sizeof(a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_server_serves_more_than_it_can),
        cmocka_unit_test(what_costs_more_is_not_faster),
        cmocka_unit_test(same_setup_same_result),
    };
    return cmocka_run_group_tests_name("replay_laws", tests, NULL, NULL);
}
