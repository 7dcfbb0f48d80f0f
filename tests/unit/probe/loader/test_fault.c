#include "probe/base/clock.h"
#include "probe/loader/fault.h"
#include "probe/loader/stop.h"
#include "probe/storage/fault.h"
#include "probe/storage/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct pp_faults *parse(const char *spec)
{
    struct pp_faults *f;
    struct pp_err err = {0};
    if (pp_faults_parse(&spec, 1, 1, &f, &err) != PP_OK)
        fail_msg("%s: %s", spec, err.text);
    return f;
}

static void every_fault_of_the_table_parses(void **state)
{
    (void)state;
    static const char *const specs[] = {"read-latency=5ms,jitter=0.5,tail=0.01:250ms,after=1s",
                                        "open-latency=1ms",
                                        "read-bandwidth=20MB,after=2s",
                                        "read-iops=3k",
                                        "slow-shard=10ms,of=8",
                                        "read-errors=0.03,fails=2",
                                        "straggler=0.02,cost=40ms",
                                        "slow-worker=5ms,worker=1",
                                        "decode-cost=3",
                                        "transform-cost=2ms",
                                        "collate-cost=4ms",
                                        "global-lock",
                                        "startup-cost=1s",
                                        "cold-cache=5ms",
                                        "storage-stall=200ms,every=2s",
                                        "epoch-restart=300ms",
                                        "sync-latency=2ms",
                                        "copy-staging=1GB"};
    const char *name, *args;
    int n = 0;
    while (pp_faults_help(n, &name, &args))
        n++;
    assert_int_equal(n, sizeof(specs) / sizeof(specs[0]));
    for (int i = 0; i < n; i++)
        pp_faults_destroy(parse(specs[i]));
}

static void bad_specs_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *word;
    } rows[] = {{"read-latncy=5ms", "read-latency"},
                {"read-latency", "read-latency="},
                {"read-latency=fast", "fast"},
                {"read-latency=5ms,of=3", "of"},
                {"read-errors=1.5", "1.5"},
                {"slow-shard=1ms,of=0", "of"},
                {"global-lock=3", "3"},
                {"", "list"},
                {"read-latency=5ms,tail=0.1", "tail"},
                {"read-iops=0", "0"},
                {"read-latency=20", "20 needs a unit: 20ms"},
                {"read-latency=0.5", "0.5 needs a unit: 0.5ms"},
                {"read-latency=5ms,tail=0.1:60", "60 needs a unit: 60ms"},
                {"read-latency=5ms,after=2", "2 needs a unit: 2ms"},
                {"straggler=0.1,cost=50", "50 needs a unit: 50ms"},
                {"storage-stall=300ms,every=2", "2 needs a unit: 2ms"},
                {"slow-worker=7,worker=1", "7 needs a unit: 7ms"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_faults *f = (void *)1;
        struct pp_err err = {0};
        pp_status st = pp_faults_parse(&rows[i].spec, 1, 1, &f, &err);
        assert_int_equal(st, PP_E_USAGE);
        assert_null(f);
        if (!strstr(err.text, rows[i].word))
            fail_msg("'%s' does not name '%s'", err.text, rows[i].word);
    }
}

static void latency_blocks_without_cpu(void **state)
{
    (void)state;
    struct pp_faults *f = parse("read-latency=20ms");
    struct pp_read_context at = {.sample = 3};
    uint64_t t0 = pp_now_ns(), cpu0 = pp_thread_cpu_ns();
    assert_int_equal(pp_fault_before_read(f, &at, NULL), PP_OK);
    assert_true(pp_now_ns() - t0 >= 20000000);
    assert_true(pp_thread_cpu_ns() - cpu0 < 5000000);
    pp_faults_destroy(f);
}

static void zero_needs_no_unit(void **state)
{
    (void)state;
    pp_faults_destroy(parse("read-latency=0"));
    pp_faults_destroy(parse("read-latency=8ms,tail=0.5:0"));
}

/* Of bytes that all came from the page cache; returns how many still count as such. */
static size_t after_read(struct pp_faults *f, uint64_t sample, size_t bytes)
{
    struct pp_read r = {.got = bytes, .cache_known = 1, .cache_hit_bytes = bytes};
    pp_faults_reads(f)->after(f, &(struct pp_read_context){.sample = sample}, &r);
    return r.cache_hit_bytes;
}

static void *request_stop(void *stop)
{
    pp_sleep_until_ns(pp_now_ns() + 100000000);
    pp_stop_request(stop);
    return NULL;
}

/* A wait or a cost of 20 s ends with the run. */
static void a_stop_ends_what_is_injected(void **state)
{
    (void)state;
    static const char *const specs[] = {"read-latency=20s",         "open-latency=20s",
                                        "slow-worker=20s,worker=0", "storage-stall=20s,every=1ns",
                                        "cold-cache=20s",           "read-bandwidth=1",
                                        "transform-cost=20s"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct pp_faults *f = parse(specs[i]);
        struct pp_read_context at = {0};
        struct pp_stop stop = {.lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_t other;
        assert_int_equal(pp_faults_set_dataset(f, 10, NULL), PP_OK);
        pp_faults_set_stop(f, &stop);
        uint64_t t0 = pp_now_ns();
        assert_int_equal(pthread_create(&other, NULL, request_stop, &stop), 0);
        pp_fault_before_read(f, &at, NULL);
        after_read(f, 0, 20);
        pp_fault_pass(f, PP_FAULT_TRANSFORM);
        if (pp_now_ns() - t0 > UINT64_C(5000000000))
            fail_msg("%s went on for %.1f s", specs[i], (double)(pp_now_ns() - t0) / 1e9);
        assert_true(pp_now_ns() - t0 >= 90000000);
        pthread_join(other, NULL);
        pp_faults_destroy(f);
        pthread_mutex_destroy(&stop.lock);
    }
}

static void costs_burn_cpu(void **state)
{
    (void)state;
    struct pp_faults *f = parse("transform-cost=10ms");
    uint64_t cpu0 = pp_thread_cpu_ns();
    pp_fault_pass(f, PP_FAULT_TRANSFORM);
    assert_true(pp_thread_cpu_ns() - cpu0 >= 10000000);
    pp_faults_destroy(f);
}

static void bandwidth_is_shared_and_exact(void **state)
{
    (void)state;
    struct pp_faults *f = parse("read-bandwidth=10MB");
    uint64_t t0 = pp_now_ns();
    for (int i = 0; i < 5; i++)
        after_read(f, 0, 100000);
    assert_true(pp_now_ns() - t0 >= 50000000);
    pp_faults_destroy(f);
}

static void reads_are_counted(void **state)
{
    (void)state;
    struct pp_faults *f = parse("read-iops=100");
    uint64_t t0 = pp_now_ns();
    for (size_t i = 0; i < 5; i++)
        after_read(f, 0, i * 1000000);
    assert_true(pp_now_ns() - t0 >= 50000000);
    pp_faults_destroy(f);
}

static void errors_hit_their_share_and_pass_after_n_tries(void **state)
{
    (void)state;
    struct pp_faults *f = parse("read-errors=0.25,fails=2");
    int hit = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        struct pp_read_context at = {.sample = i};
        struct pp_err err;
        pp_status first = pp_fault_before_read(f, &at, &err);
        hit += first == PP_E_TRANSIENT;
        at.attempt = 1; /* a function of the sample, not of luck */
        assert_int_equal(pp_fault_before_read(f, &at, &err), first);
        at.attempt = 2;
        assert_int_equal(pp_fault_before_read(f, &at, &err), PP_OK);
    }
    assert_in_range(hit, 1000 - 137, 1000 + 137); /* 5 standard deviations of a binomial(4000, 1/4) */
    pp_faults_destroy(f);
}

static void after_waits_for_its_time(void **state)
{
    (void)state;
    struct pp_faults *f = parse("read-latency=30ms,after=1h");
    struct pp_read_context at = {0};
    uint64_t cpu0 = pp_now_ns();
    for (int i = 0; i < 100; i++)
        pp_fault_before_read(f, &at, NULL);
    assert_true(pp_now_ns() - cpu0 < 2000000000u); /* 100 x 30 ms would be 3 s */
    pp_faults_destroy(f);
}

static void a_slow_shard_is_a_run_of_neighbours(void **state)
{
    (void)state;
    struct pp_faults *f = parse("slow-shard=2ms,of=4");
    assert_int_equal(pp_faults_set_dataset(f, 8, NULL), PP_OK);
    for (uint64_t i = 0; i < 8; i++) {
        struct pp_read_context at = {.sample = i};
        uint64_t t0 = pp_now_ns(), cpu0 = pp_thread_cpu_ns();
        pp_fault_before_read(f, &at, NULL);
        if (i < 2)
            assert_true(pp_now_ns() - t0 >= 2000000);
        else
            assert_true(pp_thread_cpu_ns() - cpu0 < 1000000);
    }
    pp_faults_destroy(f);
}

static void a_cold_cache_is_warm_the_second_time(void **state)
{
    (void)state;
    struct pp_faults *f = parse("cold-cache=3ms");
    assert_int_equal(pp_faults_set_dataset(f, 2, NULL), PP_OK);
    uint64_t t0 = pp_now_ns();
    assert_int_equal(after_read(f, 1, 1), 0);
    assert_true(pp_now_ns() - t0 >= 3000000);
    assert_int_equal(after_read(f, 1, 1), 1);
    assert_int_equal(after_read(f, 7, 1), 1); /* a dataset that grew: not remembered, not slowed */
    pp_faults_destroy(f);
}

static void staging_costs_cpu_only_for_pageable_memory(void **state)
{
    (void)state;
    struct pp_faults *f = parse("copy-staging=100MB");
    uint64_t cpu0 = pp_thread_cpu_ns();
    pp_fault_copy(f, 1000000, 1);
    assert_true(pp_thread_cpu_ns() - cpu0 < 5000000);
    pp_fault_copy(f, 1000000, 0);
    assert_true(pp_thread_cpu_ns() - cpu0 >= 10000000);
    pp_faults_destroy(f);
}

static void nothing_happens_without_faults(void **state)
{
    (void)state;
    struct pp_read_context at = {0};
    assert_int_equal(pp_fault_before_read(NULL, &at, NULL), PP_OK);
    pp_fault_decode_end(NULL, &at, pp_fault_decode_begin(NULL));
    pp_fault_pass(NULL, PP_FAULT_TRANSFORM);
    pp_fault_pass(NULL, PP_FAULT_COLLATE);
    pp_fault_pass(NULL, PP_FAULT_START);
    pp_fault_pass(NULL, PP_FAULT_EPOCH);
    pp_fault_pass(NULL, PP_FAULT_SYNC);
    pp_fault_copy(NULL, 1u << 30, 0);
    assert_null(pp_faults_reads(NULL));
    assert_int_equal(pp_faults_set_dataset(NULL, 5, NULL), PP_OK);
    pp_faults_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_of_the_table_parses),
        cmocka_unit_test(bad_specs_are_named),
        cmocka_unit_test(latency_blocks_without_cpu),
        cmocka_unit_test(zero_needs_no_unit),
        cmocka_unit_test(a_stop_ends_what_is_injected),
        cmocka_unit_test(costs_burn_cpu),
        cmocka_unit_test(bandwidth_is_shared_and_exact),
        cmocka_unit_test(reads_are_counted),
        cmocka_unit_test(errors_hit_their_share_and_pass_after_n_tries),
        cmocka_unit_test(a_slow_shard_is_a_run_of_neighbours),
        cmocka_unit_test(a_cold_cache_is_warm_the_second_time),
        cmocka_unit_test(staging_costs_cpu_only_for_pageable_memory),
        cmocka_unit_test(after_waits_for_its_time),
        cmocka_unit_test(nothing_happens_without_faults),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
