/* Replay against what can be worked out by hand: the laws of one bottleneck at a time. */
#include "report/replay/replay.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static const struct pp_replay_setup base = {.workers = 4,
                                            .prefetch = 2,
                                            .copy_buffers = 2,
                                            .in_order = 1,
                                            .batch_size = 8,
                                            .cpus = 8,
                                            .machine_cpus = 8,
                                            .copy_ns = 1000};

static double rate(struct pp_replay_setup s, struct pp_replay_sample x, struct pp_replay_result *out)
{
    struct pp_replay_result r;
    struct pp_err err;
    if (pp_replay(&s, &x, 1, 400, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    if (out)
        *out = r;
    return r.samples_per_s;
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got / want - 1) <= tolerance))
        fail_msg("%g instead of %g", got, want);
}

static void latency_scales_with_workers(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 10e6f};
    for (s.workers = 1; s.workers <= 16; s.workers *= 2)
        near(rate(s, x, NULL), s.workers * 100.0, 0.01);
}

/* Little's law: as many reads in flight, as many times the rate of one worker; what a link, or the CPUs,
 * allow at the most; and one in flight is a worker that reads by itself. */
static void reads_in_flight_hide_latency(void **state)
{
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 10e6f, .bytes = 10000};
    s.workers = 1, s.prefetch = 4;
    double alone = rate(s, x, NULL);
    for (s.inflight = 1; s.inflight <= 16; s.inflight *= 2)
        near(rate(s, x, NULL), s.inflight * 100.0, 0.02);
    s.inflight = 1;
    assert_true(rate(s, x, NULL) == alone);
    s.inflight = 8, s.workers = 2;
    near(rate(s, x, NULL), 1600, 0.02);
    s.storage_bytes_per_s = 1e6;
    near(rate(s, x, NULL), 100, 0.02);
    s.storage_bytes_per_s = 0;
    s.cpus = s.machine_cpus = 1, s.inflight = 16;
    x.read_cpu = 0.5e6f, x.work_cpu = 1.5e6f;
    near(rate(s, x, NULL), 500, 0.03);
    s.in_order = 0;
    near(rate(s, x, NULL), 500, 0.03);
}

/* One slow read holds up its own worker's samples, in their order, and later reads are under way meanwhile.
 */
static void a_slow_read_ahead_is_waited_for(void **state)
{
    struct pp_replay_setup s = base;
    struct pp_replay_sample x[8] = {{.read_blocked = 80e6f}};
    struct pp_replay_result r;
    struct pp_err err;
    s.workers = 1, s.prefetch = 8, s.inflight = 8;
    for (int i = 1; i < 8; i++)
        x[i].read_blocked = 1e6f;
    assert_int_equal(pp_replay(&s, x, 8, 400, &r, &err), PP_OK);
    near(r.samples_per_s, 8 / 0.081, 0.03);
}

/* A batch of 8 is begun when the trainer wants it: its samples, then the step, and so on. */
static void on_demand_nothing_is_made_ahead(void **state)
{
    struct pp_replay_setup s = base;
    struct pp_replay_result r;
    s.workers = 1, s.batch_size = 8, s.step_ns = 40e6;
    struct pp_replay_sample x = {.work_cpu = 10e6f};
    near(rate(s, x, &r), 100, 0.01);
    s.on_demand = 1;
    near(rate(s, x, &r), 8 / 0.12, 0.01);
    near(r.data_wait_share, 2.0 / 3, 0.01);
}

/* A stream: its one reader is the pace however many workers there are, unless they are slower; and it is no
 * further ahead of them than there is room. */
static void one_reader_serves_all_workers(void **state)
{
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 10e6f, .work_cpu = 1e6f}, piece[16] = {{.work_cpu = 10e6f}};
    struct pp_replay_result r;
    struct pp_err err;
    s.stream_items = 16;
    for (s.workers = 1; s.workers <= 16; s.workers *= 4)
        near(rate(s, x, NULL), 100, 0.01);
    x = (struct pp_replay_sample){.read_blocked = 1e6f, .work_cpu = 16e6f};
    for (s.workers = 1; s.workers <= 4; s.workers *= 2)
        near(rate(s, x, NULL), s.workers * 62.5, 0.01);
    s.cpus = s.machine_cpus = 1;
    near(rate(s, (struct pp_replay_sample){.read_cpu = 1e6f, .work_cpu = 4e6f}, NULL), 200, 0.02);
    s = base;
    s.workers = 1;
    for (size_t i = 0; i < 16; i++)
        piece[i] = (struct pp_replay_sample){.read_blocked = i ? 0 : 160e6f, .work_cpu = 10e6f};
    static const struct {
        int items;
        double per_s;
    } rows[] = {{1, 50}, {17, 100}};
    for (size_t i = 0; i < 2; i++) {
        s.stream_items = rows[i].items;
        assert_int_equal(pp_replay(&s, piece, 16, 400, &r, &err), PP_OK);
        near(r.samples_per_s, rows[i].per_s, 0.03);
    }
}

static void cpu_is_shared_not_multiplied(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_result r;
    s.cpus = s.machine_cpus = 2;
    for (s.workers = 2; s.workers <= 8; s.workers *= 2)
        near(rate(s, (struct pp_replay_sample){.work_cpu = 2e6f}, &r), 1000, 0.01);
    near(r.cpu_share, 1, 0.02);
    s.cpus = s.machine_cpus = 0.5;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 2e6f}, NULL), 250, 0.01);
}

/* Two busy groups beside ours: a third of both CPUs, however many threads are ours; but never more than the
 * CPUs that we may use. */
static void groups_share_as_groups(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.work_cpu = 2e6f};
    s.cpus = s.machine_cpus = 2;
    s.groups = 2;
    for (s.workers = 1; s.workers <= 8; s.workers *= 2)
        near(rate(s, x, NULL), 1000 / 3.0, 0.01);
    s.groups = 0.25;
    s.cpus = 1;
    s.workers = 8;
    near(rate(s, x, NULL), 500, 0.01);
    s.cpus = s.machine_cpus = 2;
    s.groups = 0;
    s.others = 8;
    near(rate(s, x, NULL), 500, 0.01); /* eight of ours, eight of theirs */
}

/* Ranks that meet after each step: the slowest decides, in turns where they take turns, and what this one
 * saves it waits. */
static void the_slowest_rank_sets_the_pace(void **state)
{
    (void)state;
    static const float steady[] = {20e6f}, in_turns[] = {5e6f, 25e6f};
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 4e6f}; /* 4 workers: 8 samples take 8 ms */
    s.step_ns = 5e6;
    s.others_factor = 1;
    near(rate(s, x, NULL), 1000, 0.01);
    s.others_ns = steady;
    s.n_others = 1;
    near(rate(s, x, NULL), 400, 0.01);
    s.workers = 16;
    near(rate(s, x, NULL), 400, 0.01);
    s.others_factor = 0;
    near(rate(s, x, NULL), 1600, 0.01);
    s.others_factor = 1;
    s.step_ns = 40e6;
    near(rate(s, x, NULL), 200, 0.01); /* the slowest is this one */
    s.step_ns = 10e6;
    s.others_ns = in_turns;
    s.n_others = 2;
    near(rate(s, x, NULL), 8 / 0.0175, 0.01);
}

static void slow_trainer_never_waits(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_result r;
    s.step_ns = 50e6;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e6f}, &r), 160, 0.001);
    assert_true(r.data_wait_share < 0.001);
    assert_true(r.slot_wait_share > 0.9);
}

static void bandwidth_is_shared_whatever_the_workers(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.storage_bytes_per_s = 20e6;
    for (s.workers = 1; s.workers <= 16; s.workers *= 4)
        near(rate(s, (struct pp_replay_sample){.bytes = 100000, .work_cpu = 1e5f}, NULL),
             s.workers == 1 ? 1e9 / (5e6 + 1e5) : 200, 0.01);
}

static void one_lock_serves_one_at_a_time(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.workers = 8;
    near(rate(s, (struct pp_replay_sample){.serial_cpu = 1e6f, .read_cpu = 1e5f}, NULL), 1000, 0.01);
}

static void one_device_buffer_adds_copy_and_step(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.work_cpu = 1e5f};
    s.copy_ns = 10e6;
    s.step_ns = 10e6;
    s.copy_buffers = 1;
    near(rate(s, x, NULL), 8 / 20e-3, 0.01);
    s.copy_buffers = 2;
    near(rate(s, x, NULL), 8 / 10e-3, 0.01);
}

/* A request, then its bytes: one worker pays both in turn; enough workers hide the latency, and the link
 * remains. */
static void bytes_follow_the_latency(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 5e6f, .bytes = 100000};
    s.storage_bytes_per_s = 20e6;
    s.workers = 1;
    near(rate(s, x, NULL), 100, 0.01);
    s.workers = 8;
    near(rate(s, x, NULL), 200, 0.01);
}

/* 300 ms of every second no worker reads: that takes its part of the time from any number of workers, and
 * nothing from samples that storage is not asked for. */
static void outages_stop_all_readers_at_once(void **state)
{
    (void)state;
    struct pp_outage o = {0.5e9, 0.8e9};
    struct pp_replay_setup s = base;
    s.outages = &o;
    s.n_outages = 1;
    s.outage_period_ns = 1e9;
    s.batch_size = 64;
    for (s.workers = 1; s.workers <= 16; s.workers *= 4)
        near(rate(s, (struct pp_replay_sample){.read_blocked = 10e6f, .bytes = 1}, NULL),
             0.7 * s.workers * 100.0, 0.05);
    s.workers = 4;
    near(rate(s, (struct pp_replay_sample){.read_blocked = 10e6f}, NULL), 400, 0.01);
}

/* The sync holds the trainer, and with it the buffer of its batch, until the copy under way is done: with two
 * buffers the next copy begins only then. */
static void sync_waits_for_the_copy_under_way(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.work_cpu = 1e4f};
    s.copy_ns = 30e6;
    s.step_ns = 10e6;
    near(rate(s, x, NULL), 8 / 30e-3, 0.01);
    s.sync = 1;
    s.sync_ns = 5e6;
    near(rate(s, x, NULL), 8 / 35e-3,
         0.01); /* the copy, beside the step and the wait of the sync; then the sync's own time */
    s.copy_ns = 1e3;
    near(rate(s, x, NULL), 8 / 15e-3, 0.01);
}

/* The trainer gets a batch at 0, and the next copy begins. It is off the link at 30 ms, which ends the sync
 * at 35, and its lane has a CPU again at 40: then the next batch is there. */
static void sync_does_not_wait_for_the_copy_lane_to_wake_up(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.copy_ns = 30e6;
    s.copy_link_wake_ns = 10e6;
    s.step_ns = 10e6;
    s.sync = 1;
    s.sync_ns = 5e6;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 8 / 40e-3, 0.01);
    s.sync_ns = 15e6; /* 30 + 15: now the trainer is last */
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 8 / 45e-3, 0.01);
}

/* 20 ms of staging on the CPU, 10 on the link: when the sync asks at 10 ms nothing is on the link, so the
 * next batch, at 30, finds the trainer waiting. */
static void sync_does_not_wait_for_what_is_still_staged(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.copy_cpu_ns = 20e6;
    s.copy_ns = 10e6;
    s.step_ns = 10e6;
    s.sync = 1;
    s.sync_ns = 5e6;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 8 / 30e-3, 0.01);
}

/* Who waits has to wake up: 2 ms after the copy has come, and 1 ms of the copy lane's own after the buffer
 * has come free. One buffer: all in a row. */
static void waking_up_is_paid_once_per_wait(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.work_cpu = 1e5f};
    s.copy_ns = s.step_ns = 10e6;
    s.trainer_wake_ns = 2e6;
    s.copy_wake_ns = 1e6;
    s.copy_buffers = 1;
    near(rate(s, x, NULL), 8 / 23e-3, 0.01);
    s.copy_buffers = 2; /* trainer bound, whose batch is there when it asks */
    s.step_ns = 20e6;
    near(rate(s, x, NULL), 8 / 20e-3, 0.01);
}

/* 200 reads a second, of any size and from any worker; one worker pays its CPU time besides. */
static void reads_are_counted_whatever_their_size(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.storage_reads_per_s = 200;
    for (uint32_t bytes = 1; bytes <= 1000000; bytes *= 1000)
        for (s.workers = 1; s.workers <= 16; s.workers *= 4)
            near(rate(s, (struct pp_replay_sample){.bytes = bytes, .work_cpu = 1e5f}, NULL),
                 s.workers == 1 ? 1e9 / (5e6 + 1e5) : 200, 0.01);
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e6f}, NULL), 16e3 / 2,
         0.02); /* storage is not asked: 8 CPUs */
}

/* One worker that needs 3 ms of CPU after each read: behind a line it pays both, 8 ms. A limit in slices of
 * 100 ms makes up for the time in which nothing was asked, and lets 200 a second through. */
static void a_limit_in_slices_makes_up_for_idle_time(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.bytes = 1000, .work_cpu = 3e6f};
    s.workers = 1;
    s.storage_reads_per_s = 200;
    near(rate(s, x, NULL), 1e3 / 8, 0.01);
    s.storage_burst_ns = 100e6;
    near(rate(s, x, NULL), 200, 0.01);
    s.storage_reads_per_s = 0;
    s.storage_bytes_per_s = 200e3; /* likewise of bytes */
    near(rate(s, x, NULL), 200, 0.01);
    x.work_cpu = 10e6f; /* slower than the limit: it grants no more than was asked */
    near(rate(s, x, NULL), 100, 0.01);
}

/* A thousand sleepers are a thousand times as fast, in CPU time that a test has (a scan of all of them at
 * every event took a hundred times as long). */
static void a_thousand_workers_are_replayed_quickly(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_result r;
    struct pp_replay_sample x = {.read_blocked = 10e6f};
    clock_t before = clock();
    s.workers = 1024;
    s.copy_ns = 1;
    assert_int_equal(pp_replay(&s, &x, 1, 8196, &r, NULL), PP_OK);
    near(r.samples_per_s, 102400, 0.02);
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 2);
}

/* Three workers make 100 samples/s each; the fourth, 30 ms later each, 25. Alone it is all there is. A sample
 * at hand is as quick as with the others. */
static void a_slow_worker_is_slow_for_every_sample(void **state)
{
    (void)state;
    const double slow[] = {30e6};
    struct pp_replay_setup s = base;
    s.slow_ns = slow;
    s.n_slow = 1;
    s.prefetch = 8;
    near(rate(s, (struct pp_replay_sample){.read_blocked = 10e6f, .bytes = 1}, NULL), 325, 0.02);
    near(rate(s, (struct pp_replay_sample){.read_blocked = 10e6f}, NULL), 400, 0.02);
    s.workers = 1;
    near(rate(s, (struct pp_replay_sample){.read_blocked = 10e6f, .bytes = 1}, NULL), 25, 0.02);
}

/* Twenty samples an epoch: batches of 8, 8 and 4, for which the trainer takes three steps. */
static void the_last_batch_of_an_epoch_is_short(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.step_ns = 10e6;
    s.epoch_samples = 20;
    for (s.in_order = 0; s.in_order < 2; s.in_order++)
        near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 20 / 30e-3, 0.01);
    s.batch_size = 64; /* none is larger than the epoch */
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 20 / 10e-3, 0.01);
    s.epoch_samples = 16;
    s.batch_size = 8;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e4f}, NULL), 16 / 20e-3, 0.01);
}

/* One worker: 16 samples of 1 ms, then 40 ms until it has started again. */
static void workers_start_again_for_every_epoch(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.workers = 1;
    s.epoch_samples = 16;
    s.restart_ns = 40e6;
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e6f}, NULL), 16 / 56e-3, 0.01);
    s.workers = 4; /* all at once */
    near(rate(s, (struct pp_replay_sample){.work_cpu = 1e6f}, NULL), 16 / 44e-3, 0.02);
}

static void spinning_trainer_takes_a_cpu_from_the_workers(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.cpus = s.machine_cpus = 2;
    s.step_cpu_ns = 100e6; /* a CPU for 100 ms per batch, shared with 4 workers on 2 CPUs */
    struct pp_replay_result r;
    rate(s, (struct pp_replay_sample){.work_cpu = 100e6f}, &r);
    near(r.cpu_share, 1, 0.02);
    near(r.samples_per_s, 8 / ((8 * 0.1 + 0.1) / 2), 0.02);
}

/* One sample in 50 costs 40 times as much: in order, the batch behind it waits though it is ready. */
static void order_costs_under_stragglers(void **state)
{
    (void)state;
    struct pp_replay_sample x[200];
    struct pp_replay_result in, out;
    struct pp_replay_setup s = base;
    for (int i = 0; i < 200; i++)
        x[i] = (struct pp_replay_sample){.read_blocked = i % 50 == 7 ? 40e6f : 1e6f};
    s.prefetch = 1;
    assert_int_equal(pp_replay(&s, x, 200, 400, &in, NULL), PP_OK);
    s.in_order = 0;
    assert_int_equal(pp_replay(&s, x, 200, 400, &out, NULL), PP_OK);
    assert_true(out.samples_per_s >= in.samples_per_s);
    assert_true(in.samples_per_s > 4 * 200 / (196e-3 + 160e-3) * 0.5);
}

static void same_input_same_output(void **state)
{
    (void)state;
    struct pp_replay_result a, b;
    struct pp_replay_setup s = base;
    s.step_ns = 3e6;
    s.cpus = s.machine_cpus = 1.3;
    rate(s, (struct pp_replay_sample){.work_cpu = 3e5f, .read_blocked = 1e6f}, &a);
    rate(s, (struct pp_replay_sample){.work_cpu = 3e5f, .read_blocked = 1e6f}, &b);
    assert_memory_equal(&a, &b, sizeof(a));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct pp_replay_sample x = {0};
    struct pp_replay_result r;
    struct pp_replay_setup s = base;
    s.cpus = 0;
    assert_int_equal(pp_replay(&s, &x, 1, 10, &r, NULL), PP_E_USAGE);
    assert_int_equal(pp_replay(&base, &x, 0, 10, &r, NULL), PP_E_USAGE);
    assert_int_equal(pp_replay(&base, &x, 1, 10, &r, NULL),
                     PP_OK); /* no cost at all: ends, and only the link takes time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_flight_hide_latency),
        cmocka_unit_test(a_slow_read_ahead_is_waited_for),
        cmocka_unit_test(latency_scales_with_workers),
        cmocka_unit_test(on_demand_nothing_is_made_ahead),
        cmocka_unit_test(one_reader_serves_all_workers),
        cmocka_unit_test(cpu_is_shared_not_multiplied),
        cmocka_unit_test(groups_share_as_groups),
        cmocka_unit_test(the_slowest_rank_sets_the_pace),
        cmocka_unit_test(slow_trainer_never_waits),
        cmocka_unit_test(bandwidth_is_shared_whatever_the_workers),
        cmocka_unit_test(one_lock_serves_one_at_a_time),
        cmocka_unit_test(one_device_buffer_adds_copy_and_step),
        cmocka_unit_test(bytes_follow_the_latency),
        cmocka_unit_test(outages_stop_all_readers_at_once),
        cmocka_unit_test(sync_waits_for_the_copy_under_way),
        cmocka_unit_test(sync_does_not_wait_for_the_copy_lane_to_wake_up),
        cmocka_unit_test(sync_does_not_wait_for_what_is_still_staged),
        cmocka_unit_test(waking_up_is_paid_once_per_wait),
        cmocka_unit_test(a_slow_worker_is_slow_for_every_sample),
        cmocka_unit_test(the_last_batch_of_an_epoch_is_short),
        cmocka_unit_test(workers_start_again_for_every_epoch),
        cmocka_unit_test(reads_are_counted_whatever_their_size),
        cmocka_unit_test(a_limit_in_slices_makes_up_for_idle_time),
        cmocka_unit_test(a_thousand_workers_are_replayed_quickly),
        cmocka_unit_test(spinning_trainer_takes_a_cpu_from_the_workers),
        cmocka_unit_test(order_costs_under_stragglers),
        cmocka_unit_test(same_input_same_output),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
