/* How good the shuffle of a streamed run was, from what its reader recorded: against counts made from the
 * order itself, and the advice against the formulas of the plan. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"

enum { SHARDS = 40, PER_SHARD = 50, ALL = SHARDS * PER_SHARD, BATCH = 20, SHARD = 1, FIRST = 2 };

static const char *name_of(void *ctx, uint16_t id)
{
    (void)ctx;
    return id == SHARD ? "stream_shard" : id == FIRST ? "stream_shard_first" : NULL;
}

static void put_counter(struct fake_run *f, uint32_t reader, uint16_t name, uint64_t t, uint64_t value)
{
    struct pp_span *c = fake_span(f, reader, PP_PHASE_COUNTER, t, 0);
    c->name = name;
    c->bytes = value;
}

/* The order of a buffer that gives a random one of its samples and reads one in its place. */
static void shuffle(uint64_t order[ALL], size_t buffer)
{
    struct pp_rng rng = pp_rng_key(3, 1, 4, 1);
    uint64_t held[ALL];
    size_t n = 0, next = 0;
    for (size_t out = 0; out < ALL; out++) {
        while (n < buffer && next < ALL)
            held[n++] = next++;
        size_t drawn = (size_t)pp_rng_below(&rng, n);
        order[out] = held[drawn];
        held[drawn] = held[--n];
    }
}

static uint64_t leased_number(uint64_t number)
{
    return (SHARDS - 1 - number / PER_SHARD) << 32 | number % PER_SHARD; /* the last shard was leased first */
}

static struct fake_run *made(const uint64_t order[ALL], size_t buffer, int leased)
{
    char text[24];
    struct fake_run *f = fake_pipeline(&(struct fake_pipeline){.workers = 1,
                                                               .batches = ALL / BATCH,
                                                               .warmup = 2,
                                                               .batch_size = BATCH,
                                                               .wait_ns = FAKE_MS,
                                                               .step_ns = 10 * FAKE_MS,
                                                               .stage = {{PP_PHASE_DECODE, FAKE_MS, 1, 0}}});
    uint32_t reader = fake_thread(f, PP_LANE_READER, "pp-reader-0");
    uint64_t read = 0, t = FAKE_T0;
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_text(f, "config", "stream", "true");
    if (leased)
        fake_text(f, "config", "lease", "/scratch/leases");
    fake_num(f, "config", "batch_size", "20", "samples");
    fake_num(f, "config", "stream_shards", "40", "shards");
    static char value[8][24];
    static int used;
    snprintf(text, sizeof(text), "%zu", buffer);
    memcpy(value[used % 8], text, sizeof(text));
    fake_num(f, "config", "shuffle_buffer", value[used++ % 8], "samples");
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    for (size_t out = 0; out < ALL; out++, t += 500000) {
        for (; read < ALL && read < out + buffer; read++)
            if (read % PER_SHARD == 0) {
                put_counter(f, reader, SHARD, t, leased ? leased_number(read) >> 32 : read / PER_SHARD);
                put_counter(f, reader, FIRST, t, read);
            }
        struct pp_span *s = fake_span(f, reader, PP_PHASE_READ, t, 400000);
        s->sample = leased ? leased_number(order[out]) : order[out];
        s->bytes = 1000;
        s->batch = PP_NO_BATCH;
    }
    return f;
}

static struct pp_report *build(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    source.name = name_of;
    return report_of_source(&source);
}

/* Counted from the order, pair by pair. */
static void count(const uint64_t order[ALL], double *others, double *mean, double *most)
{
    *others = *mean = *most = 0;
    for (size_t i = 0; i < ALL; i++) {
        double apart = fabs((double)i - (double)order[i]);
        *mean += apart / ALL;
        *most = fmax(*most, apart);
        for (size_t k = i / BATCH * BATCH; k < i / BATCH * BATCH + BATCH; k++)
            *others += k != i && order[k] / PER_SHARD == order[i] / PER_SHARD ? 1.0 / ALL : 0;
    }
}

static void numbers_are_those_of_the_order(void **state)
{
    (void)state;
    static const size_t buffers[] = {1, 60, 400};
    for (size_t i = 0; i < 6; i++) {
        static uint64_t order[ALL];
        double others, mean, most;
        shuffle(order, buffers[i % 3]);
        count(order, &others, &mean, &most);
        struct fake_run *f = made(order, buffers[i % 3], i >= 3);
        struct pp_report *r = build(f);
        const struct pp_report_finding *row = finding(r, "stream-shuffle");
        assert_true(fabs(number(row, "own_shard_samples") - others) < 1e-6);
        assert_true(fabs(number(row, "mean_places") - mean) < 1e-6);
        assert_true(fabs(number(row, "most_places") - most) < 1e-6);
        assert_true(
            fabs(number(row, "own_shard_samples_full") - (BATCH - 1) * (PER_SHARD - 1.0) / (ALL - 1)) < 1e-6);
        report_done(r, f);
    }
}

static void a_small_buffer_is_found_and_the_advised_one_is_not(void **state)
{
    (void)state;
    static uint64_t order[ALL];
    shuffle(order, 30);
    struct fake_run *f = made(order, 30, 0);
    struct pp_report *r = build(f);
    const struct pp_report_finding *row = finding(r, "stream-shuffle");
    assert_int_equal(row->state, PP_FINDING_FOUND);
    assert_non_null(strstr(row->sentence, "others are of a sample's own shard (full shuffle: 0.4"));
    assert_non_null(row->next_step);
    double enough = number(row, "enough_buffer");
    assert_true(enough > 30 && enough <= ALL);
    assert_true(fabs(number(row, "enough_buffer_bytes") - enough * 1000) < 1);
    report_done(r, f);
    shuffle(order, (size_t)(enough * 1.1));
    f = made(order, (size_t)(enough * 1.1), 0);
    r = build(f);
    assert_int_equal(finding(r, "stream-shuffle")->state, PP_FINDING_NOT_FOUND);
    report_done(r, f);
}

static void what_is_not_recorded_is_not_measured(void **state)
{
    (void)state;
    struct fake_run *f = fake_pipeline(&(struct fake_pipeline){.workers = 1,
                                                               .batches = 40,
                                                               .warmup = 2,
                                                               .batch_size = BATCH,
                                                               .wait_ns = FAKE_MS,
                                                               .step_ns = 10 * FAKE_MS,
                                                               .stage = {{PP_PHASE_DECODE, FAKE_MS, 1, 0}}});
    struct pp_report *r = build(f);
    assert_null(finding_or_null(r, "stream-shuffle")); /* not streamed */
    pp_report_free(r);
    fake_text(f, "config", "stream", "true");
    r = build(f);
    assert_int_equal(finding(r, "stream-shuffle")->state,
                     PP_FINDING_NOT_MEASURED); /* of an older version: no counters */
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_order),
        cmocka_unit_test(a_small_buffer_is_found_and_the_advised_one_is_not),
        cmocka_unit_test(what_is_not_recorded_is_not_measured),
    };
    return cmocka_run_group_tests_name("shuffle", tests, NULL, NULL);
}
