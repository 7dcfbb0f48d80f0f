/* The formulas for the shuffle of a stream against the rule of the stream's buffer itself, played with
 * numbers. */
#include "probe/base/rng.h"
#include "probe/sampler/shuffle_quality.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHARDS = 60, SHARD = 500, N = SHARDS * SHARD };

/* What dataset/shard_stream.c does: a random one of those held, or the oldest once B younger ones have
 * overtaken it. out[N]: numbers in the order read. */
static void stream(uint32_t buffer, uint64_t seed, uint32_t *out)
{
    struct pp_rng r = pp_rng_key(seed, 1, 2, 3);
    uint32_t *held = malloc(buffer * sizeof(*held)), n = 0, next = 0, oldest = 0;
    uint8_t *gone = calloc(N, 1);
    for (uint32_t o = 0; o < N; o++) {
        while (n < buffer && next < N)
            held[n++] = next++;
        uint32_t slot = (uint32_t)pp_rng_below(&r, n);
        if (next - oldest - n >= buffer)
            for (slot = 0; held[slot] != oldest;)
                slot++;
        out[o] = held[slot];
        held[slot] = held[--n];
        gone[out[o]] = 1;
        while (oldest < next && gone[oldest])
            oldest++;
    }
    free(held);
    free(gone);
}

struct played {
    double most, spread, own_shard, class_run;
};

/* Of the middle of an epoch, where the buffer is full; classes are as long as shards. */
static struct played play(uint32_t buffer, uint32_t batch)
{
    struct played p = {0};
    uint32_t *out = malloc(N * sizeof(*out)), shard[SHARDS];
    double outputs = 0, pairs = 0, runs = 1;
    for (uint64_t seed = 0; seed < 4; seed++) {
        stream(buffer, seed, out);
        for (uint32_t from = N / 4 / batch * batch; from + batch < N * 3 / 4; from += batch) {
            memset(shard, 0, sizeof(shard));
            for (uint32_t i = from; i < from + batch; i++) {
                double places = fabs((double)out[i] - (double)i);
                p.most = fmax(p.most, places);
                p.spread += places;
                p.own_shard += 2.0 * shard[out[i] / SHARD]++;
                runs += out[i] / SHARD != out[i - 1] / SHARD;
                outputs++;
            }
            pairs += batch;
        }
    }
    p.spread /= outputs;
    p.own_shard /= pairs;
    p.class_run = outputs / runs;
    free(out);
    return p;
}

static void formulas_say_what_the_buffer_does(void **state)
{
    static const uint32_t buffers[] = {50, 200, 500, 1000, 2500}, batches[] = {16, 64};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        for (size_t k = 0; k < sizeof(batches) / sizeof(*batches); k++) {
            struct played p = play(buffers[i], batches[k]);
            struct pp_shuffle_quality q;
            pp_shuffle_quality(&(struct pp_shuffle_setup){.samples = N,
                                                          .shards = SHARDS,
                                                          .buffer = buffers[i],
                                                          .batch = batches[k],
                                                          .class_run = SHARD,
                                                          .class_same = 1.0 / SHARDS},
                               &q);
            print_message(
                "buffer %4u batch %2u: places %.0f (%.0f), spread %.1f (%.1f), own shard %.3f (%.3f), run %.3f (%.3f)\n",
                buffers[i], batches[k], p.most, q.most_places, p.spread, q.spread_places, p.own_shard,
                q.own_shard, p.class_run, q.class_run);
            assert_true(p.most <= q.most_places);
            assert_true(p.most > 0.9 * q.most_places); /* the bound is met, too */
            assert_true(fabs(p.spread / q.spread_places - 1) < 0.05);
            assert_true(fabs(p.own_shard - q.own_shard) < 0.05 * q.own_shard + 0.15);
            assert_true(fabs(p.class_run / q.class_run - 1) < 0.1);
        }
}

static struct pp_shuffle_quality of(double buffer)
{
    struct pp_shuffle_quality q;
    pp_shuffle_quality(&(struct pp_shuffle_setup){.samples = 1e6,
                                                  .shards = 1000,
                                                  .buffer = buffer,
                                                  .batch = 256,
                                                  .class_run = 1000,
                                                  .class_same = 0.001},
                       &q);
    return q;
}

static void more_buffer_is_never_worse(void **state)
{
    struct pp_shuffle_quality before = of(1), q;
    for (double b = 2; b < 2e6; b *= 1.7, before = q) {
        q = of(b);
        assert_true(q.own_shard <= before.own_shard + 1e-9);
        assert_true(q.class_run <= before.class_run + 1e-9);
        assert_true(q.own_shard >= q.full_own_shard && q.class_run >= q.full_class_run - 1e-9);
        assert_true(q.enough_buffer == before.enough_buffer);
    }
    assert_true(before.own_shard == before.full_own_shard);
}

static void enough_is_enough(void **state)
{
    struct pp_shuffle_quality q = of(1000), at = of(q.enough_buffer), below = of(q.enough_buffer * 0.98);
    assert_true(at.own_shard < at.full_own_shard + 1);
    assert_true(below.own_shard >= below.full_own_shard + 1);
}

static void no_buffer_is_the_stored_order(void **state)
{
    struct pp_shuffle_quality q = of(0);
    assert_true(q.most_places == 0 && q.spread_places == 0);
    assert_true(q.own_shard > 200); /* nearly all of a batch of 256 */
    assert_true(q.class_run > 300); /* of 1000 in a row */
}

static void what_is_not_known_stays_so(void **state)
{
    struct pp_shuffle_quality q;
    pp_shuffle_quality(
        &(struct pp_shuffle_setup){.samples = 100, .shards = 4, .buffer = 10, .batch = 8, .class_run = NAN},
        &q);
    assert_true(isnan(q.class_run) && isnan(q.full_class_run));
    pp_shuffle_quality(
        &(struct pp_shuffle_setup){.samples = 1, .shards = 1, .buffer = 1, .batch = 1, .class_run = NAN}, &q);
    assert_true(q.own_shard == 0 && q.enough_buffer == 1);
}

/* Also of few samples, and of parts of them, as a division by ranks leaves. */
static void the_search_ends_whatever_the_numbers(void **state)
{
    for (double samples = 2; samples < 300; samples += 4.3)
        for (double shards = 1; shards <= samples; shards *= 2)
            for (double batch = 1; batch < 200; batch *= 4) {
                struct pp_shuffle_quality q;
                pp_shuffle_quality(&(struct pp_shuffle_setup){.samples = samples,
                                                              .shards = shards,
                                                              .buffer = 10,
                                                              .batch = batch,
                                                              .class_run = NAN,
                                                              .class_same = NAN},
                                   &q);
                assert_true(q.enough_buffer >= 1 && q.enough_buffer <= ceil(samples));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_say_what_the_buffer_does),
        cmocka_unit_test(more_buffer_is_never_worse),
        cmocka_unit_test(enough_is_enough),
        cmocka_unit_test(no_buffer_is_the_stored_order),
        cmocka_unit_test(what_is_not_known_stays_so),
        cmocka_unit_test(the_search_ends_whatever_the_numbers),
    };
    return cmocka_run_group_tests_name("shuffle quality", tests, NULL, NULL);
}
