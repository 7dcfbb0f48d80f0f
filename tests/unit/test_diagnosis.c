/* The diagnosis behind the verdict: costs out of a recording, predictions, the signals that tell alike causes apart, the rules, the scenarios. */
#include "fake_run.h"
#include "report/diagnose.h"
#include "report/estimate.h"
#include "report/rivals.h"
#include "tui/cli/scenario.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SAMPLES = 2000 };

static void near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, wanted);
}

/* Two workers, 10 ms reads and 1 ms of CPU a sample, batches of 8, a step of 5 ms: what each case varies. rate: what that makes. */
static struct pp_costs made(void)
{
    struct pp_costs c = {.n = SAMPLES, .room = SAMPLES, .batch_size = 8, .step_blocked_ns = 5e6, .copy_blocked_ns = 1e5, .workers = 2, .prefetch = 2,
                         .copy_buffers = 2, .in_order = 1, .usable_cpus = 4, .cpus = 4, .online_cpus = 4, .has_resources = 1, .samples_per_s = 2 / 0.011,
                         .throttled_share = NAN, .outside_cpus = NAN, .process_cpus = NAN, .major_faults_per_s = NAN, .memory_available = 1e9, .dataset_samples = SAMPLES, .window_ns = 11e9};
    c.samples = calloc(SAMPLES, sizeof(*c.samples));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t start = i / 2 * 11 * FAKE_MS + i % 2 * 3 * FAKE_MS;
        *x = (struct pp_cost_sample){.sample = i * 769 % SAMPLES, .read_blocked = 10e6f, .decode_cpu = 0.8e6f, .transform_cpu = 0.2e6f, .batch = (uint32_t)(i / 8),
                                     .worker = (uint32_t)(i % 2), .bytes = (uint32_t)(10000 + i * 7919 % 20000), .done = 1, .hit = 1, .hit_known = 1,
                                     .read_start_ns = start, .read_end_ns = start + 10 * FAKE_MS};
        c.cpu_ns += 1e6;
    }
    return c;
}

static double predicted(const struct pp_costs *c, const char *set)
{
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, c, set, &err), PP_OK);
    assert_int_equal(pp_whatif(c, &k, &p, &err), PP_OK);
    assert_true(p.low <= p.samples_per_s && p.samples_per_s <= p.high);
    near(p.gain, p.samples_per_s / c->samples_per_s - 1, 1e-9);
    return p.samples_per_s;
}

static void test_predictions_follow_the_laws(void **state)
{
    struct pp_costs c = made();
    double now = c.samples_per_s;
    near(predicted(&c, "workers=2"), now, 0.001 * now);
    near(predicted(&c, "workers=4"), 2 * now, 0.03 * now);      /* latency: twice the reads in flight */
    near(predicted(&c, "workers=64"), 8 / 0.005, 0.02 * 1600);  /* until the trainer is the limit */
    near(predicted(&c, "storage-latency=0.5"), 2 / 0.006, 0.02 * 333);
    near(predicted(&c, "cache=warm"), 8 / 0.005, 0.02 * 1600);
    near(predicted(&c, "storage-bandwidth=1MB"), 1e6 / 20000, 0.05 * 50);
    near(predicted(&c, "decode=11"), 2 / 0.019, 0.02 * 105);    /* 8.8 + 0.2 + 10 ms, on CPUs enough */
    near(predicted(&c, "step-ms=100"), 80, 1);
    near(predicted(&c, "order=out-of-order"), now, 0.02 * now);
    pp_costs_free(&c);
}

static void test_no_change_is_no_change(void **state)
{
    struct pp_costs c = made();
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

/* A trainer that is the limit: what a step takes at twice the batch decides everything, and is not in the recording. */
static void test_a_batch_size_comes_with_a_step(void **state)
{
    struct pp_costs c = made();
    c.step_blocked_ns = 100e6;
    c.samples_per_s = 80;
    near(predicted(&c, "batch-size=16"), 80, 1);
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, &c, "batch-size=16", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    assert_true(p.low < 80 && p.high > 160); /* from in proportion to not at all */
    assert_int_equal(pp_knobs_set(&k, &c, "step-ms=100", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    near(p.samples_per_s, 160, 2);
    assert_true(p.low > 140);
    assert_int_equal(pp_knobs_set(&k, &c, "step-ms=200", &err), PP_OK);
    assert_int_equal(pp_whatif(&c, &k, &p, &err), PP_OK);
    near(p.samples_per_s, 80, 1);
    pp_costs_free(&c);
}

/* 10 ms of reads and 1 ms of CPU a sample, batches of 8. */
static void test_what_a_step_needs(void **state)
{
    struct pp_costs c = made();
    struct pp_knobs none = pp_knobs_none();
    struct pp_estimate e;
    struct pp_err err = {0};
    assert_int_equal(pp_estimate(&c, &none, 10e6, &e, &err), PP_OK);
    near(e.samples_per_s, 800, 1e-6);
    near(e.cores, 0.8, 1e-3);
    near(e.reads_waiting, 8, 1e-3);
    near(e.busy_workers, 8.8, 1e-3);
    near(e.bytes_per_s, 800 * 20000, 800 * 200);
    near(e.copy_share, 0.01, 1e-6);
    assert_true(e.workers >= 9 && e.workers <= 11);
    near(e.with_workers.samples_per_s, 800, 30);
    assert_true(e.most_per_s > 800); /* four CPUs: 4000 */
    near(e.most_per_s, 4000, 1);

    assert_int_equal(pp_estimate(&c, &none, 1e6, &e, &err), PP_OK); /* 8000 samples/s need eight CPUs, and there are four */
    assert_true(e.most_per_s < e.samples_per_s);
    assert_string_equal(e.most_of, "the CPUs");
    near(e.cores, 8, 1e-2);
    assert_int_equal(pp_estimate(&c, &none, 0, &e, &err), PP_E_USAGE);
    assert_int_equal(pp_estimate(&c, &none, NAN, &e, &err), PP_E_USAGE);
    pp_costs_free(&c);
}

/* Three workers on storage that stops for 300 ms of every second: fewer of them see it stop just as often. */
static void test_outages_are_times_and_no_samples(void **state)
{
    struct pp_costs c = made();
    struct pp_err err = {0};
    uint64_t at[2] = {0, 0};
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t *t = &at[i % 2], in_period = *t % (1000 * FAKE_MS), stopped = in_period >= 700 * FAKE_MS ? 1000 * FAKE_MS - in_period : 0;
        x->read_start_ns = *t;
        x->read_blocked = (float)(stopped + 10 * FAKE_MS);
        x->read_end_ns = *t + stopped + 10 * FAKE_MS;
        *t = x->read_end_ns + FAKE_MS + i % 3 * FAKE_MS / 10;
    }
    c.window_ns = (double)at[0];
    c.samples_per_s = (double)c.n * 1e9 / c.window_ns;
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    near((double)c.n_outages, c.window_ns / 1e9, 1);
    for (size_t i = 0; i < c.n_outages; i++)
        near(c.outages[i].end - c.outages[i].start, 300e6, 20e6);
    near(predicted(&c, "workers=1"), c.samples_per_s / 2, 0.05 * c.samples_per_s);
    near(predicted(&c, "workers=6"), c.samples_per_s * 3, 0.25 * c.samples_per_s);
    pp_costs_free(&c);
}

static void test_a_full_link_gains_nothing_from_workers(void **state)
{
    struct pp_costs c = made();
    c.bandwidth = 20000 * c.samples_per_s;
    near(predicted(&c, "workers=16"), c.samples_per_s, 0.03 * c.samples_per_s);
    near(predicted(&c, "storage-latency=0.5"), 2 * c.samples_per_s, 0.05 * c.samples_per_s);
    pp_costs_free(&c);
}

static void test_others_take_their_share(void **state)
{
    struct pp_costs c = made();
    struct pp_err err = {0};
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked = 0;
    c.usable_cpus = c.online_cpus = 1;
    c.samples_per_s = 500;         /* 1 ms each on one CPU: half of it went to others */
    c.cpu_ns = 1, c.delay_ns = 3;  /* two of ours and two of theirs */
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    near(c.others, 2, 0.3);
    pp_costs_free(&c);
}

/* One worker waits the same for a CPU, hardly at all, with nobody beside it and with the other CPU taken: what others used tells. */
static void test_idle_cpus_are_there_for_a_second_worker(void **state)
{
    static const struct { double outside, least, most; } rows[] = {{0.05, 1.8, 2.05}, {1, 0.9, 1.4}};
    for (int fair = 0; fair <= 1; fair++)
        for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
            struct pp_costs c = made();
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
            double gain = predicted(&c, "workers=2") / c.samples_per_s;
            if (fair || row == 0) /* threads that share one by one leave a second worker more */
                assert_true(gain >= rows[row].least && gain <= rows[row].most);
            else
                assert_true(gain >= rows[row].least && gain <= 1.6);
            pp_costs_free(&c);
        }
}

static void test_knobs_are_checked(void **state)
{
    static const struct {
        const char *set, *word;
        pp_status status;
    } rows[] = {{"wrokers=3", "workers", PP_E_USAGE}, {"workers=0", "workers=N", PP_E_USAGE}, {"workers", "workers=N", PP_E_USAGE}, {"cache=1.5", "SHARE", PP_E_USAGE},
                {"order=maybe", "in-order", PP_E_USAGE}, {"step=inf", "FACTOR", PP_E_USAGE}, {"decode=-1", "FACTOR", PP_E_USAGE}, {"step-ms=0", "MS", PP_E_USAGE}, {"batch-size=1.5", "N", PP_E_USAGE}, {"gil=none", "lock", PP_E_UNSUPPORTED}, {"gpu-decode=yes", "device", PP_E_UNSUPPORTED}, {"pinned=no", "pageable", PP_E_UNSUPPORTED}};
    struct pp_costs c = made();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_err err = {0};
        assert_int_equal(pp_knobs_set(&k, &c, rows[i].set, &err), rows[i].status);
        if (!strstr(err.text, rows[i].word))
            fail_msg("'%s' does not name '%s'", err.text, rows[i].word);
    }
    pp_costs_free(&c);
}

/* ---- signals ---- */

static struct pp_signals signals_of(struct pp_costs *c)
{
    struct pp_signals s;
    struct pp_err err = {0};
    assert_int_equal(pp_signals_read(c, &s, &err), PP_OK);
    return s;
}

static void test_latency_is_no_bandwidth(void **state)
{
    struct pp_costs c = made();
    c.step_blocked_ns = 8e6; /* 1000 samples/s: sixteen workers reach it as well as storage that answers at once */
    struct pp_signals s = signals_of(&c);
    assert_true(s.read_serial < PP_SERIAL);
    assert_true(c.bandwidth == 0);
    assert_true(s.weight[PP_CAUSE_STORAGE] > 0.8);
    near(s.read_tail, 1, 0.01);
    near(s.worker_skew, 1, 0.01);
    near(s.shard_skew, 1, 0.01);
    near(s.drift, 1, 0.01);
    assert_string_equal(s.fix[0].knob, "workers"); /* an option goes before new storage */
    pp_costs_free(&c);
}

/* Both of two workers' reads make a fault and a half: 1.5 a sample. */
static void test_major_faults_are_per_sample(void **state)
{
    struct pp_costs c = made();
    assert_true(isnan(signals_of(&c).major_faults));
    c.major_faults_per_s = 1.5 * c.samples_per_s;
    near(signals_of(&c).major_faults, 1.5, 1e-9);
    pp_costs_free(&c);
}

/* A file system that does not tell about its cache (FUSE, some network mounts) has not missed it. */
static void test_an_untold_cache_is_no_miss(void **state)
{
    struct pp_costs c = made();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].hit = 0, c.samples[i].hit_known = i % 4 == 0;
    near(signals_of(&c).hit_share, 0, 0);
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].hit_known = 0;
    assert_true(isnan(signals_of(&c).hit_share));
    pp_costs_free(&c);
}

/* late: every so many reads one ends 20 ms late, for its thread had no CPU, and the reads behind it when they would have. */
static void expect_link(size_t late)
{
    struct pp_costs c = made();
    uint64_t end = 10 * FAKE_MS;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->read_start_ns = i < 2 ? 0 : c.samples[i - 2].read_end_ns + FAKE_MS / 10;
        end += (uint64_t)x->bytes * 250; /* 4 MB/s */
        x->read_end_ns = end + (late && i % late == late - 1 ? 20 * FAKE_MS : 0);
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
    }
    struct pp_signals s = signals_of(&c);
    if (!(s.read_serial >= PP_SERIAL))
        fail_msg("1 of %zu late: %g", late, s.read_serial);
    near(c.bandwidth, 4e6, late ? 3e5 : 1e5);
    pp_costs_free(&c);
}

/* Of two workers one takes 50 ms a read, the other 10: 20 and 91 samples/s. Four workers have one slow one among them; as quick as the other, both make 182. */
static void test_a_slow_worker_stays_slow(void **state)
{
    struct pp_costs c = made();
    struct pp_err err = {0};
    uint64_t at[2] = {0, 0};
    c.samples_per_s = 1 / 0.051 + 1 / 0.011;
    c.prefetch = 8;
    for (size_t i = 0; i < c.n; i++) { /* claimed by whoever is free first */
        struct pp_cost_sample *x = &c.samples[i];
        uint32_t w = at[1] < at[0];
        x->worker = w;
        x->read_blocked = w ? 10e6f : 50e6f;
        x->read_start_ns = at[w];
        x->read_end_ns = at[w] + (uint64_t)x->read_blocked;
        at[w] = x->read_end_ns + FAKE_MS;
    }
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(c.n_slow, 1);
    near(c.slow[0].more_ns, 40e6, 1);
    double error;
    assert_int_equal(pp_whatif_error(&c, &error, &err), PP_OK);
    near(error, 0, 0.02);
    near(predicted(&c, "workers=4"), 1 / 0.051 + 3 / 0.011, 10);
    struct pp_knobs k = pp_knobs_none();
    double rate;
    k.even_workers = 1;
    assert_int_equal(pp_whatif_rate(&c, &k, &rate, NULL, &err), PP_OK);
    near(rate, 2 / 0.011, 4);
    pp_costs_free(&c);
}

static void test_a_shared_link_is_seen(void **state)
{
    expect_link(0);
    expect_link(25);
}

/* Between its reads a worker takes from 0.1 to 0.9 ms. */
static uint64_t between_reads(size_t i)
{
    return FAKE_MS / 10 + i * 7919 % 9 * FAKE_MS / 10;
}

/* 200 reads a second, one after another: more workers wait longer, no more. */
static void test_a_quota_of_reads_is_seen(void **state)
{
    struct pp_costs c = made();
    uint64_t end = 0;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->read_start_ns = i < 2 ? 0 : c.samples[i - 2].read_end_ns + between_reads(i);
        end = (end > x->read_start_ns ? end : x->read_start_ns) + 5 * FAKE_MS;
        x->read_end_ns = end;
        x->read_blocked = (float)(end - x->read_start_ns);
    }
    c.samples_per_s = 200;
    struct pp_signals s = signals_of(&c);
    near(c.reads_per_s, 200, 1);
    near(c.bandwidth, 0, 0);
    near(s.read_serial, 0, 0.3);
    near(predicted(&c, "workers=8"), 200, 4);
    near(predicted(&c, "storage-latency=0.5"), 400, 8);
    near(predicted(&c, "cache=warm"), 8 / 0.005, 0.02 * 1600);
    const struct pp_fix *workers = pp_signals_fix(&s, "workers");
    assert_true(!workers || workers->p.gain < 0.03);
    pp_costs_free(&c);
}

/* Reads of 10 ms each, that end at a pace because one CPU decodes them in turn: no quota. */
static void test_paced_by_the_cpu_is_no_quota(void **state)
{
    struct pp_costs c = made();
    uint64_t end = 10 * FAKE_MS;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        end += 5 * FAKE_MS + between_reads(i);
        x->read_end_ns = end + i % 7 * FAKE_MS / 100;
        x->read_start_ns = end - 10 * FAKE_MS;
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
    }
    signals_of(&c);
    near(c.reads_per_s, 0, 0);
    near(c.bandwidth, 0, 0);
    pp_costs_free(&c);
}

/* Of reads of one size nobody can tell bytes from reads: it is a link, and a faster one helps. */
static void test_a_line_of_equal_reads_is_a_link(void **state)
{
    struct pp_costs c = made();
    uint64_t end = 0;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->bytes = 20000;
        x->read_start_ns = i < 2 ? 0 : c.samples[i - 2].read_end_ns + between_reads(i);
        end = (end > x->read_start_ns ? end : x->read_start_ns) + 5 * FAKE_MS;
        x->read_end_ns = end;
        x->read_blocked = (float)(end - x->read_start_ns);
    }
    c.samples_per_s = 200;
    signals_of(&c);
    near(c.bandwidth, 4e6, 4e4);
    near(c.reads_per_s, 0, 0);
    near(predicted(&c, "workers=8"), 200, 4);
    near(predicted(&c, "storage-bandwidth=8MB"), 400, 8);
    pp_costs_free(&c);
}

/* Reads of four workers, each asked for 1 to 9 ms after its worker's last one: how long they are blocked is answer's to say. */
static void ask(struct pp_costs *c, uint64_t (*answer)(size_t i, uint64_t asked_ns))
{
    uint64_t free_at[4] = {0};
    c->workers = 4;
    for (size_t i = 0; i < c->n; i++) {
        struct pp_cost_sample *x = &c->samples[i];
        uint32_t w = 0;
        for (uint32_t k = 1; k < 4; k++)
            w = free_at[k] < free_at[w] ? k : w;
        x->worker = w;
        x->read_start_ns = free_at[w];
        x->read_end_ns = answer(i, free_at[w]);
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
        free_at[w] = x->read_end_ns + 10 * between_reads(i);
        c->window_ns = (double)x->read_end_ns;
    }
    c->samples_per_s = (double)c->n * 1e9 / c->window_ns;
}

/* Six reads in every 100 ms, at once; the seventh waits for the next. */
static uint64_t six_a_slice(size_t i, uint64_t asked_ns)
{
    enum { SLICE = 100, BUDGET = 6 };
    static uint64_t slice;
    static int left;
    slice = i ? slice : 0, left = i ? left : BUDGET;
    uint64_t now = asked_ns / (SLICE * FAKE_MS);
    if (now > slice)
        slice = now, left = BUDGET;
    else if (!left)
        slice++, left = BUDGET;
    left--;
    return slice > now ? slice * SLICE * FAKE_MS + i % 5 * FAKE_MS / 100 : asked_ns + FAKE_MS / 2;
}

/* As slow, and by themselves. */
static uint64_t slow_by_itself(size_t i, uint64_t asked_ns)
{
    return asked_ns + i * 7919 % 125 * FAKE_MS;
}

static void test_a_quota_in_slices_is_seen(void **state)
{
    struct pp_costs c = made();
    ask(&c, six_a_slice);
    signals_of(&c);
    near(c.samples_per_s, 60, 3);
    near(c.reads_per_s, c.samples_per_s, 1e-9);
    near(predicted(&c, "workers=16"), c.samples_per_s, 2);
    pp_costs_free(&c);

    c = made();
    ask(&c, slow_by_itself);
    signals_of(&c);
    near(c.samples_per_s, 60, 3);
    near(c.reads_per_s, 0, 0);
    near(predicted(&c, "workers=16"), 4 * c.samples_per_s, 15);
    pp_costs_free(&c);
}

static void test_a_slow_part_a_slow_worker_a_tail_and_a_change(void **state)
{
    struct pp_costs c = made();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked *= c.samples[i].sample < SAMPLES / 8 ? 8 : 1;
    struct pp_signals s = signals_of(&c);
    near(s.shard_skew, 8, 0.1);
    assert_true(s.drift < PP_DRIFT);
    pp_costs_free(&c);

    c = made();
    for (size_t i = 1; i < c.n; i += 2)
        c.samples[i].read_blocked *= 5;
    s = signals_of(&c);
    assert_true(s.worker_skew > 4);
    pp_costs_free(&c);

    c = made();
    for (size_t i = 0; i < c.n; i += 50)
        c.samples[i].read_blocked *= 30;
    s = signals_of(&c);
    near(s.read_tail, 30, 0.1);
    assert_true(s.shard_skew < 3 && s.worker_skew < 3);
    pp_costs_free(&c);

    c = made();
    for (size_t i = SAMPLES / 2; i < SAMPLES; i++) {
        c.samples[i].read_blocked *= 3;
        c.samples[i].read_start_ns = c.samples[i - 1].read_end_ns;
        c.samples[i].read_end_ns = c.samples[i].read_start_ns + 15 * FAKE_MS;
    }
    s = signals_of(&c);
    near(s.drift, 3, 0.1);
    near(c.samples_per_s, 1e3 / 15, 1); /* what goes on: the rate after the change */
    pp_costs_free(&c);
}

/* ---- a recording ---- */

static struct fake_run *recorded(int with_inject, int no_resources)
{
    struct fake_pipeline p = {
        .workers = 2, .batches = 60, .warmup = 10, .batch_size = 8, .wait_ns = 36 * FAKE_MS, .step_ns = 12 * FAKE_MS, .h2d_ns = FAKE_MS, .no_resources = no_resources,
        .stage = {{PP_PHASE_READ, 10 * FAKE_MS, 0.01, 0.04}, {PP_PHASE_DECODE, FAKE_MS, 0.9, 0.1}, {PP_PHASE_TRANSFORM, FAKE_MS, 0.9, 0.1}},
    };
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "config", "workers", "2", "threads");
    fake_num(f, "config", "batch_size", "8", "samples");
    fake_num(f, "config", "prefetch", "2", "batches");
    if (with_inject)
        fake_text(f, "config", "inject", "decode-cost=9 read-errors=0.5");
    fake_num(f, "environment", "usable_cpus", "4", NULL);
    return f;
}

static struct pp_report *report_of(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    struct pp_report *r = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_report_from(&source, &r, &err), PP_OK);
    return r;
}

/* What the system counted over the run: the CPU time of this process, and of the machine with `others` CPUs more. */
static void add_cpu_counters(struct fake_run *f, const struct fake_pipeline *p, double own, double others)
{
    uint64_t all = (uint64_t)p->batches * (p->wait_ns + p->step_ns);
    for (int i = 0; i <= 10; i++) {
        uint64_t t = FAKE_T0 + 100 * FAKE_MS + all / 10 * (uint64_t)i;
        double passed = (double)(all / 10) * i;
        fake_counter(f, "process_cpu_ns_total", t, own * passed);
        fake_counter(f, "machine_cpu_user_ns_total", t, (own + others) * passed);
        fake_counter(f, "machine_cpu_system_ns_total", t, 0);
    }
}

static struct fake_run *on_two_cpus(const struct fake_pipeline *p, const char *workers, double own, double others)
{
    struct fake_run *f = fake_pipeline(p);
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "config", "workers", workers, "threads");
    fake_num(f, "config", "batch_size", "8", "samples");
    fake_num(f, "config", "prefetch", "2", "batches");
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    fake_num(f, "environment", "cpus_online", "2", NULL);
    fake_text(f, "environment", "cpu_sharing", "groups");
    add_cpu_counters(f, p, own, others);
    return f;
}

/* The trainer's steps need that part of a CPU, and wait that part for one. */
static void give_steps(struct fake_run *f, double cpu, double delay)
{
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_STEP)
            fake_resources(&f->span[0][i], &(struct fake_stage){.cpu = cpu, .delay = delay}, 0);
}

static void expect_verdict(struct fake_run *f, const char *l0, const char *l1, const char *l2)
{
    struct pp_report *r = report_of(f);
    const struct pp_report_verdict *v = &r->verdict;
    if (strcmp(v->l0, l0) != 0 || (l1 && (!v->l1 || !v->l2 || strcmp(v->l1, l1) != 0 || strcmp(v->l2, l2) != 0)))
        fail_msg("not %s %s/%s: %s (%s)", l0, l1 ? l1 : "", l2 ? l2 : "", v->sentence, v->why_no_fixes ? v->why_no_fixes : "replayed");
    pp_report_free(r);
    fake_free(f);
}

/* One worker decodes all the time. An idle second CPU is there for a second worker; one that others use has to be freed first. */
static void test_cpus_that_others_use_are_missing_to_more_workers(void **state)
{
    struct fake_pipeline p = {.workers = 1, .batches = 60, .warmup = 10, .batch_size = 8, .wait_ns = 75 * FAKE_MS, .step_ns = 5 * FAKE_MS, .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 10, 0.9, 0}, {PP_PHASE_DECODE, 9 * FAKE_MS, 0.98, 0.02}, {PP_PHASE_TRANSFORM, 9 * FAKE_MS / 10, 0.98, 0.02}}};
    expect_verdict(on_two_cpus(&p, "1", 0.98, 0.05), "input-bound", "loader", "under-parallel");
    expect_verdict(on_two_cpus(&p, "1", 0.98, 1), "input-bound", "transform", "cpu-contended");
}

/* A trainer that sleeps through its steps and wakes up late because others use the CPUs: nothing that the run can do gains from it, and it hardly waits for data. One that
 * has to compute, and gets half of a CPU, is held up by the others. */
static void test_a_late_step_is_no_input(void **state)
{
    struct fake_pipeline p = {.workers = 2, .batches = 100, .warmup = 10, .batch_size = 8, .wait_ns = FAKE_MS / 5, .step_ns = 22 * FAKE_MS, .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 2, 0.2, 0}, {PP_PHASE_DECODE, FAKE_MS, 0.9, 0.1}, {PP_PHASE_TRANSFORM, FAKE_MS / 4, 0.9, 0.1}, {PP_PHASE_SLOT_WAIT, 38 * FAKE_MS / 10, 0, 0}}};
    static const double late[] = {0.02, 0.07, 0.12};
    for (size_t i = 0; i < sizeof(late) / sizeof(*late); i++) {
        struct fake_run *f = on_two_cpus(&p, "2", 0.4, 1.5);
        give_steps(f, 0.01, late[i]);
        expect_verdict(f, "not-input-bound", NULL, NULL);
    }
    p.stage[0].cpu = 0.02; /* its workers hardly compute */
    p.stage[1] = (struct fake_stage){PP_PHASE_DECODE, FAKE_MS / 5, 0.05, 0};
    p.stage[2] = (struct fake_stage){PP_PHASE_TRANSFORM, FAKE_MS / 10, 0.05, 0};
    p.stage[3] = (struct fake_stage){PP_PHASE_SLOT_WAIT, 475 * FAKE_MS / 100, 0, 0};
    struct fake_run *f = on_two_cpus(&p, "2", 0.6, 1.4);
    give_steps(f, 0.5, 0.49);
    struct pp_report *r = report_of(f); /* what there is to gain is the wait, and what the steps took longer */
    near(r->samples_per_s, 8 / 0.0222, 0.1);
    near(r->without_waits_samples_per_s, 8 / 0.022, 0.1);
    near(r->headroom_samples_per_s, 8 / (0.022 - 0.49 * 0.022), 1);
    pp_report_free(r);
    expect_verdict(f, "input-bound", "transform", "cpu-contended");
}

/* Storage stops for 150 ms of every 450 ms; a batch is needed every 25 ms, and made in half of that. Three batches in flight bridge half of a stop, seventeen all of it: little is
 * lost, and nearly all of it by the shallow prefetch. Where storage is too slow on average, a deeper prefetch bridges next to nothing. */
static void test_a_prefetch_that_bridges_what_is_lost(void **state)
{
    static const struct {
        double read_ms;
        int bridges;
    } rows[] = {{0.1, 1}, {9, 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct pp_costs c = made();
        uint64_t at[2] = {0, 0};
        c.prefetch = 1;
        c.step_blocked_ns = 25e6;
        for (size_t i = 0; i < c.n; i++) {
            struct pp_cost_sample *x = &c.samples[i];
            uint64_t *t = &at[i % 2], in_period = *t % (450 * FAKE_MS), stopped = in_period >= 300 * FAKE_MS ? 450 * FAKE_MS - in_period : 0, read = (uint64_t)(rows[row].read_ms * 1e6);
            x->read_start_ns = *t;
            x->read_blocked = (float)(stopped + read);
            x->read_end_ns = *t + stopped + read;
            x->decode_cpu = 2.8e6f;
            *t = x->read_end_ns + 3 * FAKE_MS + (rows[row].bridges ? 31 * FAKE_MS / 10 : 0); /* a worker that is faster than the trainer waits for a slot */
        }
        c.window_ns = (double)at[0];
        c.samples_per_s = (double)c.n * 1e9 / c.window_ns;
        struct pp_err err = {0};
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        struct pp_signals s = signals_of(&c);
        double part = pp_signals_fix(&s, "prefetch")->p.gain / pp_signals_fix(&s, "storage")->p.gain;
        assert_true(s.read_burst >= pp_conditions[PP_IF_READ_BURST].at_least);
        if ((part >= pp_conditions[PP_IF_PREFETCH_BRIDGES].at_least) != rows[row].bridges)
            fail_msg("row %zu: prefetch gains %g, free storage %g", row, pp_signals_fix(&s, "prefetch")->p.gain, pp_signals_fix(&s, "storage")->p.gain);
        pp_costs_free(&c);
    }
}

static void test_costs_are_cpu_and_blocked_time(void **state)
{
    struct fake_run *f = recorded(0, 0);
    struct pp_source source = fake_source(f);
    struct pp_timeline tl;
    struct pp_costs c;
    struct pp_err err = {0};
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    assert_in_range(c.n, 380, 402); /* 2.4 s, 12 ms a sample on two workers */
    for (size_t i = 0; i < c.n; i++) {
        near(c.samples[i].read_blocked, 9.5e6, 1e3); /* of 10 ms, without CPU and run-queue delay */
        near(c.samples[i].read_cpu, 1e5, 1e2);
        near(c.samples[i].decode_cpu, 9e5, 1e2);
        near(c.samples[i].decode_blocked, 0, 10);
        assert_true(i == 0 || c.samples[i].batch >= c.samples[i - 1].batch);
    }
    near(c.step_blocked_ns, 12e6, 1);
    near(c.samples_per_s, 8 / 0.048, 0.01);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

static const char *why_not(const struct pp_report *r, const char *l2)
{
    for (size_t i = 0; i < r->verdict.n_rejected; i++)
        if (strcmp(r->verdict.rejected[i].l2, l2) == 0)
            return r->verdict.rejected[i].why;
    return NULL;
}

/* Two causes look alike in a table of means: what the other one misses is said in numbers. */
static void test_every_other_cause_says_what_it_misses(void **state)
{
    struct fake_run *f = recorded(0, 0);
    struct pp_report *r = report_of(f);
    assert_null(why_not(r, r->verdict.l2));
    assert_non_null(strstr(why_not(r, "cpu-saturated"), "replay: weight of CPU work is "));
    assert_non_null(strstr(why_not(r, "cpu-saturated"), " %, not >= 40.0 %"));
    assert_non_null(strstr(why_not(r, "bandwidth"), "gaps between reads follow bytes is "));
    assert_string_equal(why_not(r, "warm-up"), "time to the first batch is unknown, not >= 15.0 %");
    assert_non_null(why_not(r, "pageable"));
    pp_report_free(r);
    fake_free(f);
}

/* What was injected is in the file, for people; the verdict must come from its effects alone. */
static void test_the_injected_fault_is_not_looked_at(void **state)
{
    struct fake_run *with = recorded(1, 0), *without = recorded(0, 0);
    struct pp_report *a = report_of(with), *b = report_of(without);
    assert_string_equal(a->verdict.sentence, b->verdict.sentence);
    assert_string_equal(a->verdict.l1, "storage");
    assert_string_equal(a->verdict.l1, b->verdict.l1);
    assert_string_equal(a->verdict.l2, b->verdict.l2);
    assert_true(a->verdict.confidence == b->verdict.confidence);
    assert_int_equal(a->verdict.n_fixes, b->verdict.n_fixes);
    assert_true(a->verdict.n_fixes > 0);
    for (size_t i = 0; i < a->verdict.n_fixes; i++)
        assert_true(strcmp(a->verdict.fixes[i].knob, b->verdict.fixes[i].knob) == 0 && a->verdict.fixes[i].gain == b->verdict.fixes[i].gain);
    assert_int_equal(a->n_config, b->n_config + 1);
    pp_report_free(a);
    pp_report_free(b);
    fake_free(with);
    fake_free(without);
}

static void test_without_cpu_accounting_nothing_is_predicted(void **state)
{
    struct fake_run *f = recorded(0, 1);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->verdict.n_fixes, 0);
    assert_non_null(strstr(r->verdict.why_no_fixes, "schedstat"));
    assert_null(r->verdict.l1); /* input-bound, and what by is not guessed */
    assert_string_equal(r->verdict.l0, "input-bound");
    pp_report_free(r);
    fake_free(f);
}

static void test_rivals_judge_the_same_recording(void **state)
{
    struct fake_run *f = recorded(0, 0);
    struct pp_report *r = report_of(f);
    struct pp_rival_verdict v;
    const char *name;
    int n = 0, nsys = 0;
    for (int i = 0; (name = pp_rival(i, r, &v)); i++, n++) {
        if (strcmp(name, "XProf") == 0)
            assert_true(v.input_bound && strcmp(v.l1, "storage") == 0);
        if (strcmp(name, "FastFlow") == 0)
            assert_true(v.input_bound && strcmp(v.l1, "transform") == 0); /* it knows no other */
        if (strstr(name, "nsys"))
            nsys = !v.input_bound; /* 36 ms gaps are silent under its 500 ms */
    }
    assert_int_equal(n, 13);
    assert_true(nsys);
    pp_report_free(r);
    fake_free(f);
}

/* ---- tables and files ---- */

static int known_name(const char *name, size_t len)
{
    static const char *const texts[] = {"owner", "gpu_not_measured"};
    for (int i = 0; i < 2; i++)
        if (strlen(texts[i]) == len && memcmp(texts[i], name, len) == 0)
            return 1;
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        if (strlen(pp_metric_infos[m].name) == len && memcmp(pp_metric_infos[m].name, name, len) == 0)
            return 1;
    return 0;
}

static void check_rules(const struct pp_cause_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *texts[] = {rules[i].sentence, rules[i].remedy};
        for (int t = 0; t < 2; t++)
            for (const char *p = strchr(texts[t], '{'); p; p = strchr(p + 1, '{'))
                if (!known_name(p + 1, strcspn(p + 1, "}|")))
                    fail_msg("%s/%s speaks of %.20s, which is no metric", rules[i].l1, rules[i].l2, p);
        for (int k = 0; k < 4 && rules[i].when[k].id != PP_IF_END; k++)
            assert_non_null(pp_conditions[rules[i].when[k].id].source);
    }
}

/* A trainer that waits for data that part of its time, and whose step is stretched by the other part; nothing else is known. */
static struct pp_facts starved_facts(double waits, double stretched)
{
    struct pp_facts f = {.has_step = 1, .has_steady_state = 1, .data_wait_se = 0.01, .owner_known = 1, .owner = PP_PHASE_NONE, .starved = 1, .starved_alone = 1};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f.metric[m] = NAN;
    f.metric[PP_METRIC_DATA_WAIT] = waits + stretched, f.metric[PP_METRIC_WAIT_ITSELF] = waits, f.metric[PP_METRIC_STRETCH] = stretched;
    f.metric[PP_METRIC_BATCHES] = 100, f.metric[PP_METRIC_WINDOW] = 5e9, f.metric[PP_METRIC_LOSS] = 0, f.metric[PP_METRIC_OWNER_SHARE] = 1;
    return f;
}

/* The trainer's own step does not get a CPU: it is this run's workers that take it, or somebody else; the sentence never calls that waiting for data. */
static void test_who_crowds_the_trainer(void **state)
{
    static const struct {
        double own_crowd, workers_per_cpu;
        const char *l1, *l2;
    } rows[] = {{0.7, 4, "loader", "oversubscribed"}, {0.2, 4, "transform", "cpu-contended"}, {0.7, 1, "transform", "cpu-contended"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.03, 0.82);
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_G_WORK] = 0.3, f.metric[PP_METRIC_G_FEWER] = 0, f.metric[PP_METRIC_G_CPUS] = 2, f.metric[PP_METRIC_CPUS_LEAD] = 1, f.metric[PP_METRIC_CONTENDED] = 0.3;
        f.metric[PP_METRIC_WORKERS] = 8, f.metric[PP_METRIC_CPUS] = 8 / rows[i].workers_per_cpu, f.metric[PP_METRIC_WORKERS_PER_CPU] = rows[i].workers_per_cpu;
        f.metric[PP_METRIC_OWN_CROWD] = rows[i].own_crowd;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l1, rows[i].l1);
        assert_string_equal(v.l2, rows[i].l2);
        assert_non_null(strstr(v.sentence, "loses 85.0 % of its time: 3.0 % waiting for data, 82.0 % because its own step does not get a CPU"));
        assert_null(strchr(v.sentence, '{'));
        assert_null(strstr(v.sentence, " - ")); /* no value that is not known */
        pp_report_arena_free(&arena);
    }
}

/* Where the replay does not come out, whose threads take the trainer's CPU is not known; and the owner of the little wait there is has not taken it. */
static void test_a_starved_trainer_is_not_charged_to_who_owns_the_waits(void **state)
{
    struct pp_report_arena arena = {0};
    struct pp_report_verdict v;
    struct pp_facts f = starved_facts(0.04, 0.76);
    pp_verdict_judge(&f, &arena, &v);
    assert_string_equal(v.l0, "input-bound");
    assert_null(v.l1);
    assert_non_null(strstr(v.sentence, "what holds it up is not established: the replay"));
    assert_non_null(strstr(v.next_step, "whose threads"));
    pp_report_arena_free(&arena);
}

static void test_rules_speak_of_metrics(void **state)
{
    check_rules(pp_cause_rules, pp_cause_rules_n);
    check_rules(pp_outside_rules, pp_outside_rules_n);
}

/* ---- docs/DIAGNOSIS.md has the tables of the rules, row by row ---- */

static void put_condition(FILE *out, const struct pp_condition *c, int holds)
{
    fprintf(out, "%s %s %g", pp_metric_infos[c->metric].text, holds ? ">=" : "<", c->at_least);
}

static void put_owners(FILE *out, unsigned owners)
{
    const char *between = "owner ";
    for (unsigned phase = 0; owners != PP_ANY_OWNER && phase < 32; phase++)
        if (owners & (1u << phase)) {
            const struct pp_phase_info *info = pp_phase_info((pp_phase)phase);
            fprintf(out, "%s%s", between, phase == PP_PHASE_NONE || !info ? "the hand-off" : info->name);
            between = ", ";
        }
}

static void put_rule(FILE *out, const struct pp_cause_rule *r)
{
    const char *between = r->owners == PP_ANY_OWNER ? "" : "; ";
    fprintf(out, "| %s | %s | ", r->l1 ? r->l1 : "-", r->l2 ? r->l2 : "-");
    put_owners(out, r->owners);
    for (int k = 0; k < 4 && r->when[k].id != PP_IF_END; k++, between = "; ") {
        fputs(between, out);
        put_condition(out, &pp_conditions[r->when[k].id], r->when[k].holds);
    }
    fputs(" | ", out);
    if (r->relief != PP_IF_END)
        put_condition(out, &pp_conditions[r->relief], 1);
    else
        fputc('-', out);
    fputs(" |\n", out);
}

static void test_the_documentation_has_the_tables(void **state)
{
    static char docs[200000];
    char *rules = NULL, *conditions = NULL;
    size_t size;
    FILE *out = open_memstream(&rules, &size);
    for (size_t i = 0; i < pp_cause_rules_n; i++)
        put_rule(out, &pp_cause_rules[i]);
    for (size_t i = 0; i < pp_outside_rules_n; i++)
        put_rule(out, &pp_outside_rules[i]);
    fclose(out);
    out = open_memstream(&conditions, &size);
    for (int i = PP_IF_END + 1; i < PP_CONDITIONS; i++)
        fprintf(out, "| %s | %g | %s |\n", pp_metric_infos[pp_conditions[i].metric].text, pp_conditions[i].at_least, pp_conditions[i].source);
    fclose(out);
    FILE *in = fopen("docs/DIAGNOSIS.md", "r");
    assert_non_null(in);
    docs[fread(docs, 1, sizeof(docs) - 1, in)] = '\0';
    fclose(in);
    int has_rules = strstr(docs, rules) != NULL, has_conditions = strstr(docs, conditions) != NULL;
    if (!has_rules || !has_conditions)
        fprintf(stderr, "docs/DIAGNOSIS.md should have:\n%s%s", has_rules ? "" : rules, has_conditions ? "" : conditions);
    free(rules);
    free(conditions);
    assert_true(has_rules && has_conditions);
}

static int some_rule_says(const struct scenario *s, const struct pp_cause_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].l2 && scenario_lists(s->l1, rules[i].l1) && scenario_lists(s->l2, rules[i].l2))
            return 1;
    return 0;
}

/* Every scenario reads, and its truth is a label that some rule can give: else it would be lost before it is run. */
static void test_scenarios_have_labels_the_rules_know(void **state)
{
    struct scenario *s;
    size_t n;
    struct pp_err err = {0};
    assert_int_equal(scenarios_read("samples/scenarios", &s, &n, &err), PP_OK);
    assert_true(n >= 30);
    for (size_t i = 0; i < n; i++) {
        struct intervention knobs[INTERVENTIONS_MAX];
        int control = strcmp(s[i].l0, "not-input-bound") == 0, turned = scenario_interventions(&s[i], 1, knobs), fixes = 0;
        for (int k = 0; k < turned; k++)
            fixes += scenario_lists(s[i].fix, knobs[k].knob);
        if (!control && (!some_rule_says(&s[i], pp_cause_rules, pp_cause_rules_n) && !some_rule_says(&s[i], pp_outside_rules, pp_outside_rules_n)))
            fail_msg("%s: no rule says %s/%s", s[i].name, s[i].l1, s[i].l2);
        if (!control && !fixes)
            fail_msg("%s: none of its fixes (%s) is an intervention", s[i].name, s[i].fix);
        assert_true(control == (s[i].fix[0] == '\0'));
    }
    free(s);
}

/* The knob beside more workers is half the decoding, as the report offers it, and what the what-if calls the same. */
static void test_costly_decoding_is_halved_and_not_taken_away(void **state)
{
    static const struct scenario s = {.remedy = "work", .options = "--workers 1 --batch-size 16", .level = {"--inject decode-cost=3", "--inject decode-cost=5", "--inject transform-cost=2ms"}};
    struct intervention knobs[INTERVENTIONS_MAX];
    int n = scenario_interventions(&s, 1, knobs);
    assert_string_equal(knobs[n - 1].knob, "work");
    assert_string_equal(knobs[n - 1].options, "--inject decode-cost=2.5");
    assert_string_equal(knobs[n - 1].set, "decode=0.5");
    assert_false(knobs[n - 1].without_faults);
    n = scenario_interventions(&s, 2, knobs);
    assert_true(knobs[n - 1].without_faults && strcmp(knobs[n - 1].knob, "work") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_change_is_no_change), cmocka_unit_test(test_a_batch_size_comes_with_a_step),
        cmocka_unit_test(test_what_a_step_needs), cmocka_unit_test(test_outages_are_times_and_no_samples),
        cmocka_unit_test(test_predictions_follow_the_laws), cmocka_unit_test(test_a_full_link_gains_nothing_from_workers), cmocka_unit_test(test_others_take_their_share), cmocka_unit_test(test_idle_cpus_are_there_for_a_second_worker),
        cmocka_unit_test(test_knobs_are_checked), cmocka_unit_test(test_latency_is_no_bandwidth), cmocka_unit_test(test_a_shared_link_is_seen), cmocka_unit_test(test_a_quota_of_reads_is_seen), cmocka_unit_test(test_a_slow_worker_stays_slow), cmocka_unit_test(test_a_quota_in_slices_is_seen),
        cmocka_unit_test(test_paced_by_the_cpu_is_no_quota), cmocka_unit_test(test_a_line_of_equal_reads_is_a_link), cmocka_unit_test(test_an_untold_cache_is_no_miss), cmocka_unit_test(test_major_faults_are_per_sample),
        cmocka_unit_test(test_a_slow_part_a_slow_worker_a_tail_and_a_change), cmocka_unit_test(test_costs_are_cpu_and_blocked_time), cmocka_unit_test(test_every_other_cause_says_what_it_misses),
        cmocka_unit_test(test_the_injected_fault_is_not_looked_at), cmocka_unit_test(test_without_cpu_accounting_nothing_is_predicted),
        cmocka_unit_test(test_rivals_judge_the_same_recording), cmocka_unit_test(test_rules_speak_of_metrics), cmocka_unit_test(test_the_documentation_has_the_tables), cmocka_unit_test(test_scenarios_have_labels_the_rules_know),
        cmocka_unit_test(test_costly_decoding_is_halved_and_not_taken_away), cmocka_unit_test(test_who_crowds_the_trainer), cmocka_unit_test(test_a_starved_trainer_is_not_charged_to_who_owns_the_waits),
        cmocka_unit_test(test_cpus_that_others_use_are_missing_to_more_workers), cmocka_unit_test(test_a_late_step_is_no_input), cmocka_unit_test(test_a_prefetch_that_bridges_what_is_lost),
    };
    return cmocka_run_group_tests_name("diagnosis", tests, NULL, NULL);
}
