/* Replay of PyTorch's DataLoader: a batch is one worker's, workers take turns, and an epoch begins with an
 * empty pipeline. What can be worked out by hand. */
#include "report/replay/replay.h"
#include "tests/support/made_costs.h"

/* Batches of 8 samples that take a worker 80 ms; epochs of 10 batches. */
static const struct pp_replay_setup base = {.workers = 4,
                                            .prefetch = 2,
                                            .copy_buffers = 2,
                                            .in_order = 1,
                                            .batch_size = 8,
                                            .epoch_samples = 80,
                                            .cpus = 64,
                                            .machine_cpus = 64,
                                            .per_worker = 1,
                                            .drains = 1};
static const struct pp_replay_sample waits = {.read_blocked = 10e6f};

static struct pp_replay_result replayed(struct pp_replay_setup s)
{
    struct pp_replay_result r;
    struct pp_err err;
    if (pp_replay(&s, &waits, 1, 400, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

static void takes(struct pp_replay_setup s, double epoch_s)
{
    assert_near(80 / replayed(s).samples_per_s, epoch_s, 0.002 * epoch_s);
}

static void an_epoch_takes_whole_rounds(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    takes(s, 0.24); /* 4, 4 and 2 batches at a time */
    assert_near(replayed(s).first_wait_ns, 80e6, 1);
    s.workers = 1;
    takes(s, 0.8);
    s.workers = 2;
    takes(s, 0.4);
    s.workers = 8;
    takes(s, 0.16);
    s.workers = 16; /* six of them have nothing to do */
    takes(s, 0.08);
    s.in_order = 0;
    takes(s, 0.08);
}

static void each_epoch_waits_for_its_first_batch(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.step_ns = 50e6;
    takes(s, 0.58);
    s.prefetch = 8;
    takes(s, 0.58);
    s.epoch_gap_ns = 100e6;
    takes(s, 0.68);
    s.restart_ns = 30e6;
    takes(s, 0.71);
    assert_near(replayed(s).first_wait_ns, 110e6, 1);
    assert_near(replayed(s).settled_per_s, 8 / 0.05, 0.01 * 160);
    s.drains = 0; /* what is prefetched bridges the start of the workers */
    assert_near(replayed(s).samples_per_s, 160, 0.01 * 160);
}

static void the_last_batch_is_short(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.workers = 1;
    s.epoch_samples = 76;
    assert_near(76 / replayed(s).samples_per_s, 0.76, 0.001);
}

/* Workers take turns: a slow one has its quarter of the batches, and holds up the others. Where batches have
 * no order the others are given more. */
static void a_slow_worker_holds_up_the_others_in_order(void **state)
{
    (void)state;
    static const double slow_ns[] = {30e6};
    struct pp_replay_setup s = base;
    struct pp_replay_sample x = {.read_blocked = 10e6f, .bytes = 1};
    struct pp_replay_result r;
    struct pp_err err;
    s.drains = 0, s.epoch_samples = 0;
    s.slow_ns = slow_ns, s.n_slow = 1;
    assert_int_equal(pp_replay(&s, &x, 1, 800, &r, &err), PP_OK);
    assert_near(r.samples_per_s, 4 * 8 / 0.32, 1); /* a round of four takes as long as its slowest */
    s.in_order = 0;
    assert_int_equal(pp_replay(&s, &x, 1, 8000, &r, &err), PP_OK); /* of which the slow one makes the last */
    assert_near(r.samples_per_s, 3 * 8 / 0.08 + 8 / 0.32, 3);
}

/* Every fourth batch takes 800 ms, the others 100: in order they are all of one worker, which holds up the
 * others; where batches have no order, four workers share 1100 ms in four batches. */
static void a_heavy_batch_is_one_workers(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    struct pp_replay_sample x[33];
    struct pp_replay_result r;
    struct pp_err err;
    s.drains = 0, s.epoch_samples = 0;
    for (size_t cut = 0; cut <= 1; cut++) { /* the recording may begin in the middle of a batch */
        size_t n = 32 + cut;
        for (size_t i = 0; i < n; i++)
            x[i] = (struct pp_replay_sample){.read_blocked = i >= n - 8 ? 100e6f : 12.5e6f,
                                             .begins = i >= cut && (i - cut) % 8 == 0};
        s.in_order = 1;
        assert_int_equal(pp_replay(&s, x, n, 400, &r, &err), PP_OK);
        assert_near(r.samples_per_s, 4 * 8 / 0.8, 0.5);
        s.in_order = 0;
        assert_int_equal(pp_replay(&s, x, n, 8000, &r, &err), PP_OK);
        assert_near(r.samples_per_s, 4 * 4 * 8 / 1.1, 2);
    }
}

/* workers x prefetch batches are given and not taken. The one that is given when a step begins is there 80 ms
 * later, so that a step of 60 ms waits 20 ms with one batch ahead, and not with two workers. */
static void a_batch_is_given_when_one_is_taken(void **state)
{
    (void)state;
    struct pp_replay_setup s = base;
    s.drains = 0, s.epoch_samples = 0;
    s.workers = s.prefetch = 1;
    s.step_ns = 60e6;
    assert_near(replayed(s).samples_per_s, 8 / 0.08, 0.5);
    s.workers = 2;
    assert_near(replayed(s).samples_per_s, 8 / 0.06, 0.5);
}

/* ---- predictions ---- */

static struct pp_costs costs_of_epochs(double batches, double gap_ns)
{
    struct pp_costs c = made_costs_new(); /* 2 workers, 8 samples of 11 ms, a step of 5 ms */
    c.per_worker = c.drains = 1;
    c.epoch_samples = (uint64_t)(8 * batches);
    c.epoch_gap_ns = gap_ns;
    c.epoch_wait_ns = 88e6;
    c.samples_per_s = (double)c.epoch_samples / (ceil(batches / 2) * 0.088 + 0.005 + gap_ns / 1e9);
    c.trainer_rest_ns = gap_ns / batches;
    return c;
}

/* What the trainer does between epochs, no worker makes shorter (Amdahl), however long the epochs are. */
static void time_between_epochs_stays(void **state)
{
    (void)state;
    for (double batches = 40; batches <= 40000; batches *= 10) {
        double made_s = batches / 2 * 0.088;
        struct pp_costs c = costs_of_epochs(batches, made_s * 1e9);
        struct pp_err err = {0};
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        assert_near(c.restart_ns, 0, 3e6);
        double off;
        assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
        assert_near(off, 0, 0.02);
        assert_near(made_costs_predicted(&c, "workers=4"), c.samples_per_s * 2 / 1.5, 0.02 * c.samples_per_s);
        pp_costs_free(&c);
    }
}

static void the_start_of_workers_is_what_the_first_wait_has_beyond_a_batch(void **state)
{
    (void)state;
    for (double cpus = 4; cpus <= 8; cpus += 4) { /* eight workers on four take twice as long to start */
        struct pp_costs c = costs_of_epochs(8, 0);
        struct pp_err err = {0};
        c.usable_cpus = c.machine_cpus = c.online_cpus = cpus;
        c.epoch_wait_ns = 188e6;
        c.samples_per_s = 64 / (0.1 + 4 * 0.088 + 0.005);
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        assert_near(c.restart_ns, 100e6, 5e6);
        assert_near(made_costs_predicted(&c, "workers=8"), 64 / (0.1 * 8 / cpus + 0.088 + 8 * 0.005), 8);
        pp_costs_free(&c);
    }
}

/* The wait for an epoch's first batch, of a cheaper sample, is no bound of what it gains. */
static void a_cheaper_sample_shortens_the_first_wait(void **state)
{
    (void)state;
    struct pp_costs c = costs_of_epochs(8, 0);
    struct pp_err err = {0};
    c.samples_per_s = 64 / (4 * 0.088 + 2 * 0.005);
    c.trainer_rest_ns = 88e6 / 8; /* 8 steps of 5 ms, and the first wait */
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(made_costs_predicted(&c, "storage-latency=0.1"), 64 / (4 * 0.016 + 2 * 0.005), 20);
    pp_costs_free(&c);
}

/* num_workers=0: a batch takes the trainer what it took a worker, and nothing is handed over. */
static void without_workers_the_trainer_makes_its_batches(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    c.samples_per_s = 8 / 0.044; /* 88 ms of two workers */
    assert_int_equal(pp_knobs_set(&k, &c, "num_workers=0", &err), PP_E_UNSUPPORTED); /* our own loader */
    c.per_worker = 1;
    assert_near(made_costs_predicted(&c, "num_workers=0"), 8 / 0.093, 1);
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 1e6f;
    c.fetch_cpu_ns = 20e6, c.fetch_blocked_ns = 30e6; /* which takes the trainer longer than making it */
    c.samples_per_s = 8 / 0.055;
    assert_near(made_costs_predicted(&c, "workers=1"), 8 / 0.055, 2);
    assert_near(made_costs_predicted(&c, "workers=0"), 8 / 0.021, 0.03 * 380);
    assert_near(made_costs_predicted(&c, "fewer-workers=0"), 8 / 0.021, 0.03 * 380);
    struct pp_signals s = made_costs_signals(&c);
    const struct pp_fix *none = pp_signals_fix(&s, "no-workers");
    assert_string_equal(none->set, "num_workers=0");
    assert_near(none->p.gain, 55.0 / 21 - 1, 0.1);
    assert_near(s.metric[PP_METRIC_G_NO_WORKERS], none->p.gain, 1e-9);
    for (int sure = 1; sure >= 0;
         sure--) { /* beside others: the hand-over that it saves holds waits for a CPU */
        c.outside_cpus = 1, c.machine_cpus = 2, c.others = 1;
        c.cold_step = (struct pp_cold){0, sure ? 0 : -90e6};
        s = made_costs_signals(&c);
        none = pp_signals_fix(&s, "no-workers");
        assert_true(none->p.gain > 1 && (none->p.gain_low > 0) == sure);
        assert_int_equal(s.has_own && pp_signals_own_without_workers(&s, 1e5) > 1, sure);
        assert_true(pp_signals_own_without_workers(&s, 2e6) > 1); /* the bytes are what takes the time */
        s.own_wait = 0.01;
        assert_true(pp_signals_own_without_workers(&s, 2e6) == 0);
    }
    pp_costs_free(&c);
}

/* What hand-overs made slower is gone with them: at most it may be more, at least nothing. */
static void without_workers_caches_are_warm(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0; /* 8 ms of CPU a batch */
    c.per_worker = 1, c.step_cpu_ns = 5e6, c.step_blocked_ns = 0, c.fetch_cpu_ns = 20e6,
    c.samples_per_s = 8 / 0.025;
    c.cold_step = (struct pp_cold){2e6, 4e6}, c.cold_work = (struct pp_cold){3e6, 7e6};
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(pp_knobs_set(&k, &c, "num_workers=0", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_near(p.samples_per_s, 8 / 0.008, 25);
    assert_in_range((int)p.low, 8 / 0.0145, 8 / 0.0130);
    assert_in_range((int)p.high, 8 / 0.0022, 8 / 0.0017);
    assert_near(made_costs_predicted(&c, "workers=1"), 8 / 0.025, 8); /* these stay as they are */
    pp_costs_free(&c);
}

/* Nor does it start any. */
static void without_workers_epochs_begin_at_once(void **state)
{
    (void)state;
    struct pp_costs c = costs_of_epochs(8, 100e6);
    struct pp_err err = {0};
    c.epoch_workers_ns = 100e6;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(made_costs_predicted(&c, "num_workers=0"), 64 / (8 * 0.093), 3);
    pp_costs_free(&c);
}

/* A window of three epochs has two starts of them: the replay, which has three, is not off by that. */
static void a_window_has_fewer_starts_than_epochs(void **state)
{
    (void)state;
    struct pp_costs c = costs_of_epochs(8, 5e9);
    struct pp_err err = {0};
    double off, epoch_s = 4 * 0.088 + 0.005, start_s = 5;
    c.epoch_starts_missing = 1.0 / 3;
    c.samples_per_s = 3 * 64 / (3 * epoch_s + 2 * start_s);
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
    assert_near(off, 0, 0.03);
    pp_costs_free(&c);
}

/* Threads of the job without a lane: they take CPUs from its workers, and no other process's leaving helps.
 */
static void helper_threads_compete_and_stay(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0, c.samples[i].decode_cpu = 10e6f;
    c.usable_cpus = c.machine_cpus = c.online_cpus = 2;
    c.cpu_ns = 1, c.delay_ns = 1; /* every other moment */
    c.samples_per_s = 2 / 0.0204;
    c.process_cpus = 1.98, c.outside_cpus = 0, c.helper_cpus = 0.98;
    c.fair_to_groups = 1;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_true(c.others > 1 && c.groups == 0);
    assert_int_equal(pp_knobs_set(&k, &c, "other-load=none", &err), PP_E_UNSUPPORTED);
    k.alone = 1;
    double rate;
    assert_int_equal(pp_whatif_rate(&c, &k, &rate, NULL, &err), PP_OK);
    assert_near(rate, c.samples_per_s, 0.01 * c.samples_per_s);
    pp_costs_free(&c);
}

/* What the trainer does apart from its batches stays as it was. */
static void a_pause_stays(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    c.per_worker = 1;
    c.apart_ns = 44e6; /* a batch takes 44 ms without it */
    c.trainer_rest_ns = c.apart_ns;
    c.samples_per_s = 8 / 0.088;
    double off;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
    assert_near(off, 0, 0.02);
    assert_near(made_costs_predicted(&c, "workers=4"), 8 / 0.066, 0.02 * 8 / 0.066);
    pp_costs_free(&c);
}

/* Who launches ahead is done with a step before the GPU is. */
static void the_gpu_bounds_what_is_gained(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    c.per_worker = 1;
    c.samples_per_s = 8 / 0.044;
    c.gpu_busy_ns = 30e6;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(made_costs_predicted(&c, "workers=4"), 8 / 0.030, 1);
    assert_near(made_costs_predicted(&c, "workers=8"), 8 / 0.030, 1);
    pp_costs_free(&c);
    c = costs_of_epochs(8, 0); /* shorter waits for first batches are no shorter kernels */
    c.samples_per_s = 64 / (4 * 0.088 + 2 * 0.005);
    c.trainer_rest_ns = 88e6 / 8;
    c.gpu_busy_ns = 30e6;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(made_costs_predicted(&c, "storage-latency=0.1"), 8 / 0.030, 1);
    pp_costs_free(&c);
}

/* Steps of 44 ms, a call of 20 of them that copies for 8: without it steps are as short as the GPU lets them
 * be. */
static void pinned_memory_frees_the_trainer(void **state)
{
    (void)state;
    static const struct {
        double gpu_busy_ms;
        int waits;
        double step_ms;
    } cases[] = {{20, 0, 24}, {30, 0, 32}, {43, 0, 44}, {20, 1, 44 - 6}};
    for (size_t i = 0; i < 4; i++) {
        struct pp_costs c = made_costs_new();
        struct pp_err err = {0};
        c.per_worker = 1;
        c.workers = 16; /* batches come in time */
        c.step_blocked_ns = 40e6;
        c.step_cpu_ns = 4e6;
        c.samples_per_s = 8 / 0.044;
        c.gpu_busy_ns = cases[i].gpu_busy_ms * 1e6;
        c.pageable_call_ns = 20e6;
        c.pageable_copy_ns = 8e6;
        c.waits_for_copies = cases[i].waits;
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        assert_near(made_costs_predicted(&c, "pinned=yes"), 8e3 / cases[i].step_ms,
                    0.02 * 8e3 / cases[i].step_ms);
        pp_costs_free(&c);
    }
}

/* A data set that divides itself among the workers may have fewer parts than that. */
static void more_parts_are_assumed(void **state)
{
    (void)state;
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    struct pp_prediction p;
    char text[160];
    c.samples_per_s = 8 / 0.044;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    for (c.divides = 0; c.divides <= 1; c.divides++)
        for (int workers = 1; workers <= 4; workers++) {
            struct pp_knobs k = pp_knobs_none();
            k.workers = workers;
            assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
            assert_int_equal(p.parts, c.divides && workers > c.workers ? workers : 0);
        }
    p.reads_seen = 0;
    assert_string_equal(pp_whatif_assumes(&p, text, sizeof(text)),
                        "the IterableDataset has an equal part for each of 4 workers");
    p.reads_seen = 2, p.reads_waiting = 4;
    assert_string_equal(
        pp_whatif_assumes(&p, text, sizeof(text)),
        "storage serves 4.0 parallel reads as fast as the 2 recorded, and the IterableDataset has an equal part for each of 4 workers");
    pp_costs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_takes_whole_rounds),
        cmocka_unit_test(each_epoch_waits_for_its_first_batch),
        cmocka_unit_test(the_last_batch_is_short),
        cmocka_unit_test(a_slow_worker_holds_up_the_others_in_order),
        cmocka_unit_test(a_heavy_batch_is_one_workers),
        cmocka_unit_test(a_batch_is_given_when_one_is_taken),
        cmocka_unit_test(time_between_epochs_stays),
        cmocka_unit_test(the_start_of_workers_is_what_the_first_wait_has_beyond_a_batch),
        cmocka_unit_test(a_cheaper_sample_shortens_the_first_wait),
        cmocka_unit_test(without_workers_the_trainer_makes_its_batches),
        cmocka_unit_test(without_workers_caches_are_warm),
        cmocka_unit_test(without_workers_epochs_begin_at_once),
        cmocka_unit_test(a_window_has_fewer_starts_than_epochs),
        cmocka_unit_test(helper_threads_compete_and_stay),
        cmocka_unit_test(a_pause_stays),
        cmocka_unit_test(the_gpu_bounds_what_is_gained),
        cmocka_unit_test(pinned_memory_frees_the_trainer),
        cmocka_unit_test(more_parts_are_assumed),
    };
    return cmocka_run_group_tests_name("dataloader", tests, NULL, NULL);
}
