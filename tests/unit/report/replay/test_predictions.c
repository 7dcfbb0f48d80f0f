/* Predictions out of costs made by hand: what the laws say has to come out, and what a knob may be. */
#include "tests/support/made_costs.h"
#include "report/replay/costs_impl.h"
#include "report/replay/whatif.h"
#include "report/replay/storage.h"

static struct pp_prediction predict(const struct pp_costs *c, const char *set)
{
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, c, set, &err), PP_OK);
    assert_int_equal(pp_whatif(c, &k, &p, &err), PP_OK);
    return p;
}

static void test_predictions_follow_the_laws(void **state)
{
    struct pp_costs c = made_costs_new();
    double now = c.samples_per_s;
    assert_near(made_costs_predicted(&c, "workers=2"), now, 0.001 * now);
    assert_near(made_costs_predicted(&c, "workers=4"), 2 * now,
                0.03 * now); /* latency: twice the reads in flight */
    assert_near(made_costs_predicted(&c, "workers=64"), 8 / 0.005,
                0.02 * 1600); /* until the trainer is the limit */
    assert_near(made_costs_predicted(&c, "storage-latency=0.5"), 2 / 0.006, 0.02 * 333);
    assert_near(made_costs_predicted(&c, "cache=warm"), 8 / 0.005, 0.02 * 1600);
    c.dataset_samples = 1000; /* of 20 kB */
    assert_near(made_costs_predicted(&c, "cache-bytes=10MB"), made_costs_predicted(&c, "cache=0.5"), 1e-6);
    assert_near(made_costs_predicted(&c, "cache-bytes=1GB"), made_costs_predicted(&c, "cache=warm"), 1e-6);
    assert_near(made_costs_predicted(&c, "storage-bandwidth=1MB"), 1e6 / 20000, 0.05 * 50);
    assert_near(made_costs_predicted(&c, "decode=11"), 2 / 0.019,
                0.02 * 105); /* 8.8 + 0.2 + 10 ms, on CPUs enough */
    assert_near(made_costs_predicted(&c, "step-ms=100"), 80, 1);
    assert_near(made_costs_predicted(&c, "order=out-of-order"), now, 0.02 * now);
    pp_costs_free(&c);
}

/* What the trainer does to take a batch is no wait that workers could end: 2 ms before a step of 5 ms. */
static void test_taking_a_batch_costs_the_trainer(void **state)
{
    struct pp_costs c = made_costs_new();
    double now = c.samples_per_s;
    c.fetch_cpu_ns = 1.5e6, c.fetch_blocked_ns = 0.5e6;
    assert_near(made_costs_predicted(&c, "workers=2"), now, 0.001 * now); /* the workers are the limit */
    assert_near(made_costs_predicted(&c, "workers=64"), 8 / 0.007, 0.02 * 1143);
    struct pp_prediction p = predict(&c, "workers=64");
    assert_near(p.data_wait_share, 2.0 / 7, 0.02);
    pp_costs_free(&c);
}

/* 1.8 of these 2 ms are unpickling; the workers need 4 ms a batch. */
static void test_fewer_tensors_are_taken_faster(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0;
    c.fetch_cpu_ns = 1.5e6, c.fetch_blocked_ns = 0.5e6;
    c.samples_per_s = 8 / 0.007;
    assert_int_equal(pp_knobs_set(&k, &c, "unpickle=0.5", &err), PP_E_UNSUPPORTED); /* older recordings */
    c.unpickle_ns = 1.8e6;
    assert_near(made_costs_predicted(&c, "unpickle=1"), 8 / 0.007, 1);
    assert_near(made_costs_predicted(&c, "unpickle=0.5"), 8 / 0.0061, 0.01 * 1311);
    assert_near(made_costs_predicted(&c, "unpickle=0"), 8 / 0.0052, 0.01 * 1538);
    assert_near(predict(&c, "unpickle=0").data_wait_share, 0.2 / 5.2, 0.01);
    assert_near(made_costs_predicted(&c, "unpickle=2"), 8 / 0.0088, 0.01 * 909);
    assert_int_equal(pp_knobs_set(&k, &c, "unpickle=-1", &err), PP_E_USAGE);
    pp_costs_free(&c);
}

/* Batches of 512, of which the first ten are made in a tenth of the time: they do not stand for all. */
static void test_a_replay_has_samples_from_all_over_the_recording(void **state)
{
    enum { BATCH = 512, MANY = 60 * BATCH };
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    double off;
    free(c.samples);
    c.samples = calloc(MANY, sizeof(*c.samples));
    c.n = MANY;
    c.batch_size = BATCH;
    c.per_worker = 1;
    for (size_t i = 0; i < MANY; i++)
        c.samples[i] = (struct pp_cost_sample){.transform_cpu = i < MANY / 6 ? 0.1e6f : 1e6f,
                                               .batch = (uint32_t)(i / BATCH),
                                               .worker = (uint32_t)(i / BATCH % 2),
                                               .reached = PP_PHASE_TRANSFORM};
    c.samples_per_s = 2 / 0.00085;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
    assert_near(off, 0, 0.1);
    pp_costs_free(&c);
}

/* num_workers=0: the first worker is gained whole, since the trainer no longer waits while it makes a batch.
 */
static void test_the_trainer_gets_a_worker(void **state)
{
    struct pp_costs c = made_costs_new();
    c.workers = 1, c.in_trainer = 1, c.step_blocked_ns = 88e6;
    c.samples_per_s = 8 / 0.176; /* 8 samples of 11 ms, then the step */
    struct pp_signals s = made_costs_signals(&c);
    const struct pp_fix *more = pp_signals_fix(&s, "workers");
    assert_near(made_costs_predicted(&c, "prefetch=4"), c.samples_per_s, 0.01 * c.samples_per_s);
    assert_near(made_costs_predicted(&c, "workers=1"), 2 * c.samples_per_s, 0.04 * c.samples_per_s);
    assert_string_equal(more->to, "1");
    assert_near(more->p.gain, 1, 0.05);
    pp_costs_free(&c);
}

/* Workers of the job's own that rest while it trains: nothing was made ahead where that replay gives the
 * rate. */
static void test_what_is_asked_for_late_can_be_asked_for_ahead(void **state)
{
    const struct {
        int rests;
        double batch_s; /* four samples of 11 ms of each worker, and a step of 44 ms */
        int on_demand;
    } cases[] = {{1, 0.088, 1}, {1, 0.046, 0}, {0, 0.088, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_costs c = made_costs_new();
        double off;
        struct pp_err err = {0};
        c.rests = cases[i].rests, c.step_blocked_ns = 44e6;
        c.samples_per_s = 8 / cases[i].batch_s;
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        struct pp_signals s = made_costs_signals(&c);
        const struct pp_fix *ahead = pp_signals_fix(&s, "ahead");
        assert_int_equal(c.on_demand, cases[i].on_demand);
        assert_int_equal(ahead != NULL, cases[i].on_demand);
        assert_int_equal(pp_signals_fix(&s, "prefetch") == NULL, cases[i].on_demand);
        if (ahead) {
            assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
            assert_near(off, 0, 0.03);
            assert_near(ahead->p.gain, 0.9, 0.15);
            assert_near(made_costs_predicted(&c, "workers=4"), 8 / 0.066, 6); /* still one after the other */
        }
        pp_costs_free(&c);
    }
}

/* Two reads at a time were seen. That storage serves sixteen as quickly is an assumption: it is said, and the
 * interval reaches down to storage that serves hardly more than it was seen to. */
static void test_more_reads_than_were_seen_are_assumed(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    char text[160];
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(c.storage.parallel, 2, 0);
    struct pp_prediction p = predict(&c, "workers=16");
    assert_near(p.reads_seen, 2, 0);
    assert_true(p.samples_per_s > 5 * c.samples_per_s);
    assert_true(p.low <= PP_PARALLEL_BEYOND * 2 / 0.010 && p.low > c.samples_per_s);
    assert_string_equal(pp_whatif_assumes(&p, text, sizeof(text)),
                        "storage serves 11 parallel reads as fast as the 2 recorded");

    p = predict(&c, "workers=3"); /* hardly more than were seen */
    assert_near(p.reads_seen, 0, 0);
    assert_null(pp_whatif_assumes(&p, text, sizeof(text)));
    assert_true(p.low > 1.3 * c.samples_per_s);
    assert_near(predict(&c, "cache=warm").reads_seen, 0, 0);          /* no reads to serve */
    assert_near(predict(&c, "storage-latency=0.1").reads_seen, 0, 0); /* quicker, and no more of them */
    c.reads_per_s = c.samples_per_s; /* storage that answers one after another has no parallel reads */
    assert_near(predict(&c, "workers=16").reads_seen, 0, 0);
    pp_costs_free(&c);

    c = made_costs_new(); /* hardly any read waits: nothing is known of storage, and nothing assumed */
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_true(isnan(c.storage.parallel));
    assert_near(predict(&c, "workers=16").reads_seen, 0, 0);
    pp_costs_free(&c);
}

static void test_no_change_is_no_change(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_knobs none = pp_knobs_none();
    struct pp_prediction a, b;
    struct pp_err err = {0};
    assert_int_equal(pp_whatif(&c, &none, &a, &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &none, &b, &err), PP_OK);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_true(a.samples_per_s == c.samples_per_s);
    assert_true(a.low < a.samples_per_s && a.samples_per_s < a.high && a.low > 0.9 * a.samples_per_s);
    pp_costs_free(&c);
}

/* A trainer that is the limit: what a step takes at twice the batch decides everything, and is not in the
 * recording. */
static void test_a_batch_size_comes_with_a_step(void **state)
{
    struct pp_costs c = made_costs_new();
    c.step_blocked_ns = 100e6;
    c.samples_per_s = 80;
    assert_near(made_costs_predicted(&c, "batch-size=16"), 80, 1);
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, &c, "batch-size=16", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_true(p.low < 80 && p.high > 160); /* from in proportion to not at all */
    assert_int_equal(pp_knobs_set(&k, &c, "step-ms=100", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_near(p.samples_per_s, 160, 2);
    assert_true(p.low > 140);
    assert_int_equal(pp_knobs_set(&k, &c, "step-ms=200", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_near(p.samples_per_s, 80, 1);
    pp_costs_free(&c);

    c = made_costs_new(); /* a trainer that only takes batches over, 10 ms each */
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0;
    c.step_blocked_ns = 1e4;
    c.fetch_cpu_ns = 10e6;
    c.samples_per_s = 800;
    k = pp_knobs_none();
    assert_int_equal(pp_knobs_set(&k, &c, "batch-size=16", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_true(p.low < 800 && p.high > 1500);
    c.fetch_cpu_ns = 2e6; /* and of those 10 ms a sampler that is asked for each batch draws for 8 */
    c.draw_ns = 8e6;
    assert_near(made_costs_predicted(&c, "sampler=none"), 2000, 40); /* what two workers make */
    assert_near(made_costs_predicted(&c, "sampler=0.5"), 8 / 0.006, 20);
    pp_costs_free(&c);
}

/* 10 ms of reads and 1 ms of CPU a sample, batches of 8. */
static void test_what_a_step_needs(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_knobs none = pp_knobs_none();
    struct pp_estimate e;
    struct pp_err err = {0};
    assert_int_equal(pp_estimate(&c, &none, 10e6, &e, &err), PP_OK);
    assert_near(e.samples_per_s, 800, 1e-6);
    assert_near(e.cores, 0.8, 1e-3);
    assert_near(e.reads_waiting, 8, 1e-3);
    assert_near(e.busy_workers, 8.8, 1e-3);
    assert_near(e.bytes_per_s, 800 * 20000, 800 * 200);
    assert_near(e.copy_share, 0.01, 1e-6);
    assert_true(e.workers >= 9 && e.workers <= 11);
    assert_near(e.with_workers.samples_per_s, 800, 30);
    assert_true(e.most_per_s > 800); /* four CPUs: 4000 */
    assert_near(e.most_per_s, 4000, 1);

    assert_int_equal(pp_estimate(&c, &none, 1e6, &e, &err),
                     PP_OK); /* 8000 samples/s need eight CPUs, and there are four */
    assert_true(e.most_per_s < e.samples_per_s);
    assert_string_equal(e.most_of, "the CPUs");
    assert_near(e.cores, 8, 1e-2);
    assert_int_equal(pp_estimate(&c, &none, 0, &e, &err), PP_E_USAGE);
    assert_int_equal(pp_estimate(&c, &none, NAN, &e, &err), PP_E_USAGE);
    pp_costs_free(&c);
}

/* "Needs 711 samples/s; 696 samples/s, data wait 0 %" contradicts itself: with no wait the rate is the
 * trainer's pace, and below that pace there is a wait. */
static void test_an_estimate_agrees_with_itself(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_knobs none = pp_knobs_none();
    struct pp_err err = {0};
    for (double rest = 0; rest < 2.5e6; rest += 1e6)
        for (double off = 0.9; off < 1.15; off += 0.05)
            for (double step = 4e6; step < 80e6; step *= 1.7) {
                struct pp_estimate e;
                c.trainer_rest_ns = rest;
                c.samples_per_s = off * 2 / 0.011;
                assert_int_equal(pp_estimate(&c, &none, step, &e, &err), PP_OK);
                assert_near(e.samples_per_s, 8e9 / step, 1e-6);
                if (!e.workers)
                    continue;
                double got = e.with_workers.samples_per_s, wait = e.with_workers.data_wait_share;
                if (got > e.samples_per_s * (1 + 1e-9))
                    fail_msg("%g samples/s, %g are needed", got, e.samples_per_s);
                if (fabs(wait - (1 / got - 1 / e.samples_per_s) / (1 / got)) > 1e-6)
                    fail_msg("%g of %g samples/s, data wait %g", got, e.samples_per_s, wait);
            }
    pp_costs_free(&c);
}

/* Three workers on storage that stops for 300 ms of every second: fewer of them see it stop just as often. */
static void test_outages_are_times_and_no_samples(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    uint64_t at[2] = {0, 0};
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t *t = &at[i % 2], in_period = *t % (1000 * FAKE_MS),
                 stopped = in_period >= 700 * FAKE_MS ? 1000 * FAKE_MS - in_period : 0;
        x->read_start_ns = *t;
        x->read_blocked = (float)(stopped + 10 * FAKE_MS);
        x->read_end_ns = *t + stopped + 10 * FAKE_MS;
        *t = x->read_end_ns + FAKE_MS + i % 3 * FAKE_MS / 10;
    }
    c.window_ns = (double)at[0];
    c.samples_per_s = (double)c.n * 1e9 / c.window_ns;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near((double)c.n_outages, c.window_ns / 1e9, 1);
    for (size_t i = 0; i < c.n_outages; i++)
        assert_near(c.outages[i].end - c.outages[i].start, 300e6, 20e6);
    assert_near(made_costs_predicted(&c, "workers=1"), c.samples_per_s / 2, 0.05 * c.samples_per_s);
    assert_near(made_costs_predicted(&c, "workers=6"), c.samples_per_s * 3, 0.25 * c.samples_per_s);
    pp_costs_free(&c);
}

/* Two workers, every seventh sample of which takes 80 ms: they fall into step, and their slow reads end
 * together because they began together. */
static void test_slow_samples_in_step_are_no_outages(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    uint64_t at[2] = {0, FAKE_MS};
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t *t = &at[i % 2], took = i / 2 % 7 == 0 ? 80 * FAKE_MS : FAKE_MS / 100;
        x->worker = i % 2;
        x->read_start_ns = *t;
        x->read_blocked = (float)took;
        x->read_end_ns = *t + took;
        *t = x->read_end_ns + FAKE_MS / 2 + i % 5 * FAKE_MS / 50;
    }
    c.window_ns = (double)at[0];
    c.samples_per_s = (double)c.n * 1e9 / c.window_ns;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(c.n_outages, 0);
    pp_costs_free(&c);
}

static void test_a_full_link_gains_nothing_from_workers(void **state)
{
    struct pp_costs c = made_costs_new();
    c.bandwidth = 20000 * c.samples_per_s;
    assert_near(made_costs_predicted(&c, "workers=16"), c.samples_per_s, 0.03 * c.samples_per_s);
    assert_near(made_costs_predicted(&c, "storage-latency=0.5"), 2 * c.samples_per_s, 0.05 * c.samples_per_s);
    pp_costs_free(&c);
}

/* Transforms of 8.8 ms behind reads of 10 ms: by turns under the interpreter's lock, whatever the threads. */
static void test_threads_take_turns_under_a_lock(void **state)
{
    struct pp_costs c = made_costs_new();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].transform_cpu = 8.8e6f, c.samples[i].decode_cpu = 0;
    c.samples_per_s = 2 / 0.0188;
    c.locked = 1;
    assert_near(made_costs_predicted(&c, "workers=4"), 4 / 0.0188, 0.03 * 213);
    c.threads_locked = 1;
    assert_near(made_costs_predicted(&c, "workers=4"), 1 / 0.0088, 0.03 * 114);
    c.workers = 4, c.samples_per_s = 1 / 0.0088;
    assert_near(made_costs_predicted(&c, "lock=none"), 4 / 0.0188, 0.03 * 213);
    pp_costs_free(&c);
}

/* A lock of the job's own: what they do beside waiting for it is one at a time as far as the rate needs it.
 */
static void test_workers_wait_for_a_lock(void **state)
{
    const struct {
        double waits;       /* of 600 looks at two workers */
        int cpu;            /* most of what they do is computing */
        double alone, more; /* samples/s without the lock, and of 16 workers with it */
    } cases[] = {{300, 0, 400, 200}, {300, 1, 400, 200}, {100, 0, 240, 200}, {15, 0, 200, 1600}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_costs c = made_costs_new();
        struct pp_err err = {0};
        struct pp_op ops[] = {{.name = "SemLock.__enter__ in Birds.__getitem__", .n = cases[i].waits},
                              {.name = "Birds.__getitem__", .n = 600 - cases[i].waits}};
        ops[1].cpu = cases[i].cpu ? ops[1].n : 0;
        c.ops = (struct pp_ops){.ops = ops, .n_ops = 2, .loaders = {{.judged = 1}}, .n_loaders = 1};
        float apart = (float)(1 - cases[i].waits / 600) * 10e6f; /* 10 ms a sample, waiting or at work */
        for (size_t k = 0; k < c.n; k++)
            c.samples[k] = (struct pp_cost_sample){.sample = k, .batch = (uint32_t)(k / 8)},
            c.samples[k].transform_blocked = cases[i].cpu ? 10e6f - apart : 10e6f,
            c.samples[k].transform_cpu = cases[i].cpu ? apart : 0;
        c.samples_per_s = 200, c.step_blocked_ns = 1e5;
        c.usable_cpus = c.cpus = c.online_cpus = 32;
        pp_costs_find_lock(&c);
        assert_near(c.lock_wait, cases[i].waits < 20 ? 0 : cases[i].waits / 600, 1e-9);
        c.locked = c.lock_wait > 0;
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        if (c.locked)
            assert_near(made_costs_predicted(&c, "lock=none"), cases[i].alone, 0.03 * cases[i].alone);
        assert_near(made_costs_predicted(&c, "workers=16"), cases[i].more, 0.05 * cases[i].more);
        c.ops = (struct pp_ops){0};
        pp_costs_free(&c);
    }
    const char *const none[] = {"Birds.__enter__", "SemLock.release in A.__getitem__", "Block.forward in A"};
    for (size_t i = 0; i < 3; i++)
        assert_false(pp_costs_is_lock(&(struct pp_op){.name = none[i], .n = 1}));
    assert_true(pp_costs_is_lock(&(struct pp_op){.name = "BaseFileLock.acquire in A.__getitem__", .n = 1}));
}

static void test_others_take_their_share(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0;
    c.usable_cpus = c.online_cpus = 1;
    c.samples_per_s = 500;        /* 1 ms each on one CPU: half of it went to others */
    c.cpu_ns = 1, c.delay_ns = 3; /* two of ours and two of theirs */
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_near(c.others, 2, 0.3);
    pp_costs_free(&c);
}

/* One worker waits the same for a CPU, hardly at all, with the other CPU idle and with the other CPU taken:
 * what others used tells. */
static void test_idle_cpus_are_there_for_a_second_worker(void **state)
{
    static const struct {
        double outside, least, most;
    } rows[] = {{0.05, 1.8, 2.05}, {1, 0.9, 1.4}};
    for (int fair = 0; fair <= 1; fair++)
        for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
            struct pp_costs c = made_costs_new();
            struct pp_err err = {0};
            for (size_t i = 0; i < c.n; i++)
                c.samples[i].read_blocked = 0;
            c.workers = 1;
            c.fair_to_groups = fair;
            c.step_blocked_ns = 1e6;
            c.usable_cpus = c.online_cpus = 2;
            c.samples_per_s = 1000;
            c.cpu_ns = 99, c.delay_ns = 1;
            c.process_cpus = 0.99, c.outside_cpus = rows[row].outside;
            assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
            double gain = made_costs_predicted(&c, "workers=2") / c.samples_per_s;
            if (fair || row == 0) /* threads that share one by one leave a second worker more */
                assert_true(gain >= rows[row].least && gain <= rows[row].most);
            else
                assert_true(gain >= rows[row].least && gain <= 1.6);
            pp_costs_free(&c);
        }
}

/* Others that take 0.44 of two CPUs leave 1.56 to two workers; at 0.9 both CPUs are nearly in use, and what
 * they would take more is not known. The gain falls as the load rises, without a jump. */
static void test_a_small_load_is_no_competitor(void **state)
{
    double before = 2.1;
    for (int fair = 0; fair <= 1; fair++, before = 2.1)
        for (double load = 0.02; load < 1.01; load += 0.07) {
            struct pp_costs c = made_costs_new();
            struct pp_err err = {0};
            for (size_t i = 0; i < c.n; i++)
                c.samples[i].read_blocked = 0;
            c.workers = 1;
            c.fair_to_groups = fair;
            c.step_blocked_ns = 1e6;
            c.usable_cpus = c.online_cpus = 2;
            c.samples_per_s = 970;
            c.cpu_ns = 92, c.delay_ns = 8;
            c.process_cpus = 0.97, c.outside_cpus = load;
            assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
            double gain = made_costs_predicted(&c, "workers=2") / c.samples_per_s;
            if (load < 0.6 && (gain < (2 - load) * 0.95 || gain > (2 - load) * 1.08))
                fail_msg("beside %.2f CPUs a second worker gives %.2f times", load, gain);
            if (gain > before * 1.05 || gain < before - 0.5 || gain < 0.95)
                fail_msg("beside %.2f CPUs %.2f times, and with less load %.2f", load, gain, before);
            before = gain < before ? gain : before;
            pp_costs_free(&c);
        }
}

static void test_knobs_are_checked(void **state)
{
    static const struct {
        const char *set, *word;
        pp_status status;
    } rows[] = {{"wrokers=3", "workers", PP_E_USAGE},
                {"workers=-1", "workers=N", PP_E_USAGE},
                {"workers=0", "PyTorch DataLoader", PP_E_UNSUPPORTED},
                {"prefetch=0", "prefetch=N", PP_E_USAGE},
                {"workers", "workers=N", PP_E_USAGE},
                {"cache=1.5", "SHARE", PP_E_USAGE},
                {"cache-bytes=much", "SIZE", PP_E_USAGE},
                {"cache-bytes=0", "SIZE", PP_E_USAGE},
                {"cache-bytes=1GiB", "size of the data set", PP_E_UNSUPPORTED},
                {"order=maybe", "True|False", PP_E_USAGE},
                {"step=inf", "FACTOR", PP_E_USAGE},
                {"decode=-1", "FACTOR", PP_E_USAGE},
                {"step-ms=0", "MS", PP_E_USAGE},
                {"batch-size=1.5", "N", PP_E_USAGE},
                {"gil=none", "lock", PP_E_UNSUPPORTED},
                {"gpu-decode=yes", "device", PP_E_UNSUPPORTED},
                {"pinned=no", "pageable", PP_E_UNSUPPORTED}};
    struct pp_costs c = made_costs_new();
    c.dataset_samples = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_err err = {0};
        assert_int_equal(pp_knobs_set(&k, &c, rows[i].set, &err), rows[i].status);
        if (!strstr(err.text, rows[i].word))
            fail_msg("'%s' does not name '%s'", err.text, rows[i].word);
    }
    pp_costs_free(&c);
}

/* The trainer's steps in one span each, or in two with a wait for other ranks between them, as the hooks of a
 * PyTorch job record it: 3, 3 and 3 ms. */
static struct pp_costs steps_of_a_run(int interrupted)
{
    enum { BATCHES = 60 };
    static const pp_phase parts[] = {PP_PHASE_STEP, PP_PHASE_COLLECTIVE, PP_PHASE_STEP};
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_source source;
    struct pp_timeline tl;
    struct pp_costs c;
    struct pp_err err;
    assert_non_null(f);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    uint64_t now = FAKE_T0;
    fake_text(f, "run", "outcome", "finished");
    fake_num(f, "config", "workers", "1", "threads");
    fake_num(f, "config", "batch_size", "1", "samples");
    for (uint32_t b = 0; b < BATCHES; b++) {
        struct pp_span *s = fake_span(f, worker, PP_PHASE_READ, now, 4 * FAKE_MS);
        s->batch = b;
        s->sample = b;
        s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
        for (int k = -1; k < 3; k += interrupted || k < 0 ? 1 : 3) {
            uint64_t dur = (k < 0 ? 4 : interrupted ? 3 : 9) * FAKE_MS;
            s = fake_span(f, trainer, k < 0 ? PP_PHASE_DATA_WAIT : parts[k], now, dur);
            s->batch = b;
            s->sample = k < 1 ? 1 : PP_NO_SAMPLE;
            s->flags = (uint16_t)(PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (k < 1 ? PP_SPAN_COUNT : 0) |
                                  (b < 2 ? PP_SPAN_WARMUP : 0));
            now += dur;
        }
    }
    source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    pp_costs_read(&source, &tl, &c, &err); /* too little to predict from; the steps are there */
    pp_timeline_free(&tl);
    fake_free(f);
    return c;
}

static void test_a_step_may_be_interrupted(void **state)
{
    struct pp_costs whole = steps_of_a_run(0), parts = steps_of_a_run(1);
    (void)state;
    assert_near(whole.step_blocked_ns + whole.step_cpu_ns, 9e6, 1e3);
    assert_near(parts.step_blocked_ns + parts.step_cpu_ns, 9e6, 1e3);
    pp_costs_free(&whole);
    pp_costs_free(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions_follow_the_laws),
        cmocka_unit_test(test_fewer_tensors_are_taken_faster),
        cmocka_unit_test(test_taking_a_batch_costs_the_trainer),
        cmocka_unit_test(test_a_replay_has_samples_from_all_over_the_recording),
        cmocka_unit_test(test_the_trainer_gets_a_worker),
        cmocka_unit_test(test_what_is_asked_for_late_can_be_asked_for_ahead),
        cmocka_unit_test(test_more_reads_than_were_seen_are_assumed),
        cmocka_unit_test(test_no_change_is_no_change),
        cmocka_unit_test(test_a_batch_size_comes_with_a_step),
        cmocka_unit_test(test_what_a_step_needs),
        cmocka_unit_test(test_an_estimate_agrees_with_itself),
        cmocka_unit_test(test_outages_are_times_and_no_samples),
        cmocka_unit_test(test_slow_samples_in_step_are_no_outages),
        cmocka_unit_test(test_a_full_link_gains_nothing_from_workers),
        cmocka_unit_test(test_threads_take_turns_under_a_lock),
        cmocka_unit_test(test_workers_wait_for_a_lock),
        cmocka_unit_test(test_others_take_their_share),
        cmocka_unit_test(test_idle_cpus_are_there_for_a_second_worker),
        cmocka_unit_test(test_a_small_load_is_no_competitor),
        cmocka_unit_test(test_knobs_are_checked),
        cmocka_unit_test(test_a_step_may_be_interrupted),
    };
    return cmocka_run_group_tests_name("predictions", tests, NULL, NULL);
}
