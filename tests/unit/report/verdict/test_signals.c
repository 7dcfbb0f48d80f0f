/* The signals that tell alike causes apart, each on costs made by hand that have it and on others that look
 * like it. */
#include "tests/support/made_costs.h"
#include "probe/base/rng.h"
#include "report/replay/storage.h"
#include "report/verdict/verdict.h"

/* The signals write the metrics that are theirs by metrics.h, and no other. */
static void test_signals_write_their_own_metrics(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_signals s = made_costs_signals(&c);
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        if (pp_metric_facts[m].from != PP_FROM_REPLAY && pp_metric_facts[m].from != PP_FROM_COUNTERS &&
            !isnan(s.metric[m]))
            fail_msg("%s is not of the replay", pp_metric_facts[m].text);
    assert_false(isnan(s.metric[PP_METRIC_G_WORKERS]));
    assert_false(isnan(s.metric[PP_METRIC_CPUS_LEAD]));
    pp_costs_free(&c);
}

static void test_latency_is_no_bandwidth(void **state)
{
    struct pp_costs c = made_costs_new();
    c.step_blocked_ns =
        8e6; /* 1000 samples/s: sixteen workers reach it as well as storage that answers at once */
    struct pp_signals s = made_costs_signals(&c);
    assert_true(s.metric[PP_METRIC_READ_SERIAL] < PP_SERIAL);
    assert_true(c.bandwidth == 0);
    assert_true(s.metric[PP_METRIC_W_STORAGE] > 0.8);
    assert_near(s.metric[PP_METRIC_READ_TAIL], 1, 0.01);
    assert_near(s.metric[PP_METRIC_WORKER_SKEW], 1, 0.01);
    assert_near(s.metric[PP_METRIC_SHARD_SKEW], 1, 0.01);
    assert_near(s.metric[PP_METRIC_DRIFT], 1, 0.01);
    assert_string_equal(s.fix[0].knob, "workers"); /* an option goes before new storage */
    pp_costs_free(&c);
}

/* How many workers are offered: 0 where none are. */
static int offered(struct pp_costs *c)
{
    struct pp_signals s = made_costs_signals(c);
    const struct pp_fix *f = pp_signals_fix(&s, "workers");
    return f ? f->knobs.workers : 0;
}

/* Beside neighbours more threads than CPUs would take time from them, and the replay says so; work has a
 * worker for every usable CPU and no more. Waiting for storage takes none. */
static void test_work_is_offered_a_worker_per_cpu(void **state)
{
    static const struct {
        int workers;
        double cpus, read_ms;
        int least, most;
    } rows[] = {
        {1, 2, 0, 2, 2},   /* one for each */
        {2, 2, 0, 0, 0},   /* there is no CPU for another */
        {8, 2, 0, 0, 0},   /* far more than there are */
        {1, 1.5, 0, 2, 2}, /* a quota */
        {2, 4, 0, 4, 4},   /* not eight */
        {2, 2, 10, 9, 22}, /* 10 ms of reads beside 1 ms of work */
        {2, 2, 0.2, 0, 0}, /* mostly work: the reads are not what it waits for */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_costs c = made_costs_new();
        struct pp_err err = {0};
        double ms = 1 + rows[i].read_ms, at = 0;
        c.workers = rows[i].workers;
        c.usable_cpus = c.online_cpus = rows[i].cpus;
        c.step_blocked_ns = 1e5;
        for (size_t k = 0; k < c.n; k++) {
            struct pp_cost_sample *x = &c.samples[k];
            x->worker = (uint32_t)(k % (size_t)c.workers);
            x->read_blocked = (float)(rows[i].read_ms * 1e6);
            x->read_start_ns = (uint64_t)(at * 1e6);
            x->read_end_ns = (uint64_t)((at + rows[i].read_ms) * 1e6);
            at += ms / c.workers;
        }
        c.samples_per_s = fmin(c.workers / ms, c.usable_cpus) * 1e3;
        c.outside_cpus = 1;
        c.process_cpus = c.usable_cpus - 0.5;
        c.delay_ns = c.cpu_ns;
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        int n = offered(&c);
        if (n < rows[i].least || n > rows[i].most)
            fail_msg("row %zu: %d workers are offered", i, n);
        pp_costs_free(&c);
    }
}

/* Both of two workers' reads make a fault and a half: 1.5 a sample. */
static void test_major_faults_are_per_sample(void **state)
{
    struct pp_costs c = made_costs_new();
    assert_true(isnan(made_costs_signals(&c).metric[PP_METRIC_MAJOR_FAULTS]));
    c.major_faults_per_s = 1.5 * c.samples_per_s;
    assert_near(made_costs_signals(&c).metric[PP_METRIC_MAJOR_FAULTS], 1.5, 1e-9);
    pp_costs_free(&c);
}

/* A file system that does not tell about its cache (FUSE, some network mounts) has not missed it. */
static void test_an_untold_cache_is_no_miss(void **state)
{
    struct pp_costs c = made_costs_new();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].hit = 0, c.samples[i].hit_known = i % 4 == 0;
    assert_near(made_costs_signals(&c).metric[PP_METRIC_MISS], 1, 0);
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].hit_known = 0;
    assert_true(isnan(made_costs_signals(&c).metric[PP_METRIC_MISS]));
    pp_costs_free(&c);
}

/* late: every so many reads one ends 20 ms late, for its thread had no CPU, and the reads behind it when they
 * would have. */
static void expect_link(size_t late)
{
    struct pp_costs c = made_costs_new();
    uint64_t end = 10 * FAKE_MS;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->read_start_ns = i < 2 ? 0 : c.samples[i - 2].read_end_ns + FAKE_MS / 10;
        end += (uint64_t)x->bytes * 250; /* 4 MB/s */
        x->read_end_ns = end + (late && i % late == late - 1 ? 20 * FAKE_MS : 0);
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
    }
    struct pp_signals s = made_costs_signals(&c);
    if (!(s.metric[PP_METRIC_READ_SERIAL] >= PP_SERIAL))
        fail_msg("1 of %zu late: %g", late, s.metric[PP_METRIC_READ_SERIAL]);
    assert_near(c.bandwidth, 4e6, late ? 3e5 : 1e5);
    pp_costs_free(&c);
}

/* Of two workers one takes 50 ms a read, the other 10: 20 and 91 samples/s. Four workers have one slow one
 * among them; as quick as the other, both make 182. */
static void test_a_slow_worker_stays_slow(void **state)
{
    struct pp_costs c = made_costs_new();
    struct pp_err err = {0};
    uint64_t at[2] = {0, 0};
    c.samples_per_s = 1 / 0.051 + 1 / 0.011;
    c.prefetch = 8;
    for (size_t i = 0; i < c.n; i++) { /* claimed by the first free worker */
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
    assert_near(c.slow[0].more_ns, 40e6, 1);
    double error;
    assert_int_equal(pp_whatif_error(&c, &error, &err), PP_OK);
    assert_near(error, 0, 0.02);
    assert_near(made_costs_predicted(&c, "workers=4"), 1 / 0.051 + 3 / 0.011, 10);
    struct pp_knobs k = pp_knobs_none();
    double rate;
    k.even_workers = 1;
    assert_int_equal(pp_whatif_rate(&c, &k, &rate, NULL, &err), PP_OK);
    assert_near(rate, 2 / 0.011, 4);
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
    struct pp_costs c = made_costs_new();
    uint64_t end = 0;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->read_start_ns = i < 2 ? 0 : c.samples[i - 2].read_end_ns + between_reads(i);
        end = (end > x->read_start_ns ? end : x->read_start_ns) + 5 * FAKE_MS;
        x->read_end_ns = end;
        x->read_blocked = (float)(end - x->read_start_ns);
    }
    c.samples_per_s = 200;
    struct pp_signals s = made_costs_signals(&c);
    assert_near(c.reads_per_s, 200, 1);
    assert_near(c.bandwidth, 0, 0);
    assert_near(s.metric[PP_METRIC_READ_SERIAL], 0, 0.3);
    assert_near(made_costs_predicted(&c, "workers=8"), 200, 4);
    assert_near(made_costs_predicted(&c, "storage-latency=0.5"), 400, 8);
    assert_near(made_costs_predicted(&c, "cache=warm"), 8 / 0.005, 0.02 * 1600);
    const struct pp_fix *workers = pp_signals_fix(&s, "workers");
    assert_true(!workers || workers->p.gain < 0.03);
    pp_costs_free(&c);
}

/* Reads of 10 ms each, that end at a pace because one CPU decodes them in turn: no quota. */
static void test_paced_by_the_cpu_is_no_quota(void **state)
{
    struct pp_costs c = made_costs_new();
    uint64_t end = 10 * FAKE_MS;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        end += 5 * FAKE_MS + between_reads(i);
        x->read_end_ns = end + i % 7 * FAKE_MS / 100;
        x->read_start_ns = end - 10 * FAKE_MS;
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
    }
    made_costs_signals(&c);
    assert_near(c.reads_per_s, 0, 0);
    assert_near(c.bandwidth, 0, 0);
    pp_costs_free(&c);
}

/* With reads of one size, bytes and reads are the same limit: it is a link, and a faster one helps. */
static void test_a_line_of_equal_reads_is_a_link(void **state)
{
    struct pp_costs c = made_costs_new();
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
    made_costs_signals(&c);
    assert_near(c.bandwidth, 4e6, 4e4);
    assert_near(c.reads_per_s, 0, 0);
    assert_near(made_costs_predicted(&c, "workers=8"), 200, 4);
    assert_near(made_costs_predicted(&c, "storage-bandwidth=8MB"), 400, 8);
    pp_costs_free(&c);
}

/* Reads of up to four workers, each asked for 1 to 9 ms after its worker's last one (a quarter of that of one
 * worker): how long they are blocked is answer's to say. */
static void ask_of(struct pp_costs *c, uint32_t workers, uint64_t (*answer)(size_t i, uint64_t asked_ns))
{
    uint64_t free_at[4] = {0};
    c->workers = (int)workers;
    for (size_t i = 0; i < c->n; i++) {
        struct pp_cost_sample *x = &c->samples[i];
        uint32_t w = 0;
        for (uint32_t k = 1; k < workers; k++)
            w = free_at[k] < free_at[w] ? k : w;
        x->worker = w;
        x->hit = 0;
        x->read_start_ns = free_at[w];
        x->read_end_ns = answer(i, free_at[w]);
        x->read_blocked = (float)(x->read_end_ns - x->read_start_ns);
        free_at[w] = x->read_end_ns + 10 * between_reads(i) * workers / 4;
        c->window_ns = (double)x->read_end_ns;
    }
    c->samples_per_s = (double)c->n * 1e9 / c->window_ns;
}

static void ask(struct pp_costs *c, uint64_t (*answer)(size_t i, uint64_t asked_ns))
{
    ask_of(c, 4, answer);
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
    struct pp_costs c = made_costs_new();
    ask(&c, six_a_slice);
    made_costs_signals(&c);
    assert_near(c.samples_per_s, 60, 3);
    assert_near(c.reads_per_s, c.samples_per_s, 1e-9);
    assert_near(made_costs_predicted(&c, "workers=16"), c.samples_per_s, 2);
    pp_costs_free(&c);

    c = made_costs_new();
    ask(&c, slow_by_itself);
    made_costs_signals(&c);
    assert_near(c.samples_per_s, 60, 3);
    assert_near(c.reads_per_s, 0, 0);
    assert_near(made_costs_predicted(&c, "workers=16"), 4 * c.samples_per_s, 15);
    pp_costs_free(&c);
}

/* Every eighth read is slow, by itself, at a time of its own. */
static uint64_t some_are_slow(size_t i, uint64_t asked_ns)
{
    return asked_ns + (i * 7919 % 8 == 0 ? (60 + i * 31 % 80) * FAKE_MS : FAKE_MS / 2);
}

/* Nothing is read for 90 of every 100 ms, however little was read before. */
static uint64_t not_at_times(size_t i, uint64_t asked_ns)
{
    uint64_t at = asked_ns % (100 * FAKE_MS);
    return at < 10 * FAKE_MS ? asked_ns + FAKE_MS / 10
                             : asked_ns - at + 100 * FAKE_MS + i % 5 * FAKE_MS / 100;
}

/* No other read is let go with it: its slices show by what each lets through. */
static void test_a_quota_of_one_worker_is_seen(void **state)
{
    static const struct {
        uint64_t (*answer)(size_t i, uint64_t asked_ns);
        int seen;
    } rows[] = {{six_a_slice, 1}, {slow_by_itself, 0}, {some_are_slow, 0}, {not_at_times, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_costs c = made_costs_new();
        ask_of(&c, 1, rows[i].answer);
        made_costs_signals(&c);
        if ((c.reads_per_s > 0) != rows[i].seen || c.bandwidth > 0)
            fail_msg("row %zu: %g reads/s, %g bytes/s", i, c.reads_per_s, c.bandwidth);
        pp_costs_free(&c);
    }
}

static const char *rule_of(const struct pp_signals *s, const char **l2)
{
    struct pp_facts f = {.owner_is_worker = 1};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f.metric[m] = s->metric[m];
    f.metric[PP_METRIC_OWNER] = PP_PHASE_READ;
    const struct pp_rule *r = pp_cause_first(&f, pp_cause_rules_replay, pp_cause_rules_replay_n);
    *l2 = r ? r->l2 : NULL;
    return r ? r->said : NULL;
}

/* 10 to 30 kB. */
static uint32_t size_without_order(size_t i)
{
    uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u;
    return 10000 + (uint32_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 40) % 20000;
}

/* Four workers, and 100 kB in every 100 ms: as many reads as fit, the last one has to wait for the next
 * slice. */
static uint64_t bytes_a_slice(size_t i, uint64_t asked_ns)
{
    enum { SLICE = 100, BUDGET = 100000 };
    static uint64_t slice;
    static int64_t left;
    slice = i ? slice : 0, left = i ? left : BUDGET;
    uint64_t now = asked_ns / (SLICE * FAKE_MS);
    if (now > slice)
        slice = now, left = left < 0 ? left + BUDGET : BUDGET;
    while (left <= 0)
        slice++, left += BUDGET;
    left -= (int64_t)size_without_order(i);
    return slice > now ? slice * SLICE * FAKE_MS + i % 5 * FAKE_MS / 100 : asked_ns + FAKE_MS / 2;
}

/* The same times of reads are a limit of reads, of bytes, or of a control group that the recording knows. */
static void test_limits_have_a_name(void **state)
{
    const char *l2;
    struct pp_costs c = made_costs_new();
    ask(&c, six_a_slice);
    struct pp_signals s = made_costs_signals(&c);
    assert_non_null(rule_of(&s, &l2));
    assert_string_equal(l2, "iops-limit");
    assert_true(c.n_outages == 0); /* the limit holds the time between slices */
    pp_costs_free(&c);

    c = made_costs_new();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].bytes = size_without_order(i);
    ask(&c, bytes_a_slice);
    s = made_costs_signals(&c);
    assert_near(c.reads_per_s, 0, 0);
    assert_near(c.bandwidth, 1e6, 3e4);
    rule_of(&s, &l2);
    assert_string_equal(l2, "bandwidth");
    assert_true(isnan(s.metric[PP_METRIC_SHARD_SKEW]) && s.metric[PP_METRIC_DRIFT] < PP_DRIFT);
    pp_costs_free(&c);

    /* slow by themselves, and what the group got of its limit decides: all of it, half of it, not counted */
    static const struct {
        double got, limit;
        const char *l2;
    } rows[] = {{980, 1000, "iops-limit"},
                {500, 1000, "latency"},
                {NAN, 1000, "latency"},
                {980, NAN, "latency"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        c = made_costs_new();
        c.disk_reads_per_s = rows[i].got;
        c.limit_reads_per_s = rows[i].limit;
        s = made_costs_signals(&c);
        rule_of(&s, &l2);
        assert_string_equal(l2, rows[i].l2);
        c.storage.known = 0;
        c.disk_bytes_per_s = rows[i].got, c.limit_bytes_per_s = rows[i].limit;
        c.disk_reads_per_s = 0.5 * rows[i].got;
        c.reads_per_s = 0;
        s = made_costs_signals(&c);
        rule_of(&s, &l2);
        assert_string_equal(l2, i ? "latency" : "bandwidth");
        pp_costs_free(&c);
    }
}

/* What was dropped from the page cache is read again: the memory limit is the cause where the data would fit
 * into the machine, and not where it would not, where it fits under the limit, or was never read before. */
static void test_a_page_cache_under_a_limit(void **state)
{
    static const struct {
        double refault, limit, total;
        int named;
    } rows[] = {
        {0.9, 0.5, 100, 1}, {0.1, 0.5, 100, 0}, {0.9, 2, 100, 0}, {0.9, 0.5, 0.9, 0}, {NAN, 0.5, 100, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_costs c = made_costs_new();
        const char *l2;
        double data = 20000.0 * MADE_SAMPLES;
        c.refault_bytes_per_s = rows[i].refault * 20000 * c.samples_per_s;
        c.memory_limit = rows[i].limit * data;
        c.memory_total = rows[i].total * data;
        struct pp_signals s = made_costs_signals(&c);
        rule_of(&s, &l2);
        if ((strcmp(l2, "page-cache") == 0) != rows[i].named)
            fail_msg("row %zu: %s", i, l2);
        pp_costs_free(&c);
    }
}

static void test_a_slow_part_a_slow_worker_a_tail_and_a_change(void **state)
{
    struct pp_costs c = made_costs_new();
    for (size_t i = 0; i < c.n; i++)
        c.samples[i].read_blocked *= c.samples[i].sample < MADE_SAMPLES / 8 ? 8 : 1;
    struct pp_signals s = made_costs_signals(&c);
    assert_near(s.metric[PP_METRIC_SHARD_SKEW], 8, 0.1);
    assert_true(s.metric[PP_METRIC_DRIFT] < PP_DRIFT);
    pp_costs_free(&c);

    c = made_costs_new();
    for (size_t i = 1; i < c.n; i += 2)
        c.samples[i].read_blocked *= 5;
    s = made_costs_signals(&c);
    assert_true(s.metric[PP_METRIC_WORKER_SKEW] > 4);
    pp_costs_free(&c);

    c = made_costs_new();
    for (size_t i = 0; i < c.n; i += 50)
        c.samples[i].read_blocked *= 30;
    s = made_costs_signals(&c);
    assert_near(s.metric[PP_METRIC_READ_TAIL], 30, 0.1);
    assert_true(s.metric[PP_METRIC_SHARD_SKEW] < 3 && s.metric[PP_METRIC_WORKER_SKEW] < 3);
    pp_costs_free(&c);

    c = made_costs_new();
    for (size_t i = MADE_SAMPLES / 2; i < MADE_SAMPLES; i++) {
        c.samples[i].read_blocked *= 3;
        c.samples[i].read_start_ns = c.samples[i - 1].read_end_ns;
        c.samples[i].read_end_ns = c.samples[i].read_start_ns + 15 * FAKE_MS;
    }
    s = made_costs_signals(&c);
    assert_near(s.metric[PP_METRIC_DRIFT], 3, 0.1);
    assert_near(c.samples_per_s, 1e3 / 15, 1); /* what goes on: the rate after the change */
    pp_costs_free(&c);
}

/* Of 128 reads, eight of each of 16 parts, some are held up for 80 ms. */
static double skew_of(int (*is_held)(size_t sample, struct pp_rng *r), uint64_t seed)
{
    struct pp_costs c = made_costs_new();
    struct pp_rng r = pp_rng_key(seed, 0, 0, 0);
    struct pp_err err = {0};
    c.n = c.dataset_samples = 128;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        x->sample = i * 77 % 128;
        x->read_blocked = is_held(x->sample, &r) ? 80e6f : 0.2e6f + (float)(i % 5) * 1e4f;
        x->read_end_ns = x->read_start_ns + (uint64_t)x->read_blocked;
    }
    assert_int_equal(pp_storage_read(&c, &err), PP_OK);
    pp_costs_free(&c);
    return c.storage.shard_skew;
}

static int held_by_chance(size_t sample, struct pp_rng *r)
{
    return pp_rng_unit(r) < 0.18;
}

static int held_in_a_part(size_t sample, struct pp_rng *r)
{
    return sample / 8 == 5;
}

/* The slowest of 16 small parts is many times slower than the median one by chance; a slow part is slow read
 * by read. */
static void test_a_few_held_reads_are_no_slow_part(void **state)
{
    int slow = 0;
    for (uint64_t seed = 1; seed <= 300; seed++)
        slow += skew_of(held_by_chance, seed) >= 3;
    if (slow > 3)
        fail_msg("%d of 300", slow);
    assert_true(skew_of(held_in_a_part, 1) >= 3);
}

/* Beside others each step takes twice as long: what the trainer still waits alone on these CPUs is the
 * replay's, much with reads that hold it up and next to nothing with reads that do not. */
static void test_what_is_left_of_the_wait_alone(void **state)
{
    static const struct {
        float read_blocked;
        double least, most;
    } rows[] = {{10e6f, 0.5, 1}, {0.1e6f, 0, 0.05}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_costs c = made_costs_new();
        for (size_t k = 0; k < c.n; k++)
            c.samples[k].read_blocked = rows[i].read_blocked;
        c.step_blocked_ns = 20e6;
        c.samples_per_s = i ? 400 : c.samples_per_s;
        c.machine_cpus = 4, c.outside_cpus = 2, c.process_cpus = 1, c.cpus = 2, c.others = 2;
        struct pp_signals s = made_costs_signals(&c);
        assert_int_equal(s.has_own, 1);
        if (!(s.own_wait >= rows[i].least && s.own_wait <= rows[i].most))
            fail_msg("row %zu: %g of the time", i, s.own_wait);
        pp_costs_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_of_the_wait_alone),
        cmocka_unit_test(test_signals_write_their_own_metrics),
        cmocka_unit_test(test_latency_is_no_bandwidth),
        cmocka_unit_test(test_work_is_offered_a_worker_per_cpu),
        cmocka_unit_test(test_major_faults_are_per_sample),
        cmocka_unit_test(test_an_untold_cache_is_no_miss),
        cmocka_unit_test(test_a_slow_worker_stays_slow),
        cmocka_unit_test(test_a_shared_link_is_seen),
        cmocka_unit_test(test_a_quota_of_reads_is_seen),
        cmocka_unit_test(test_paced_by_the_cpu_is_no_quota),
        cmocka_unit_test(test_a_line_of_equal_reads_is_a_link),
        cmocka_unit_test(test_a_quota_in_slices_is_seen),
        cmocka_unit_test(test_a_quota_of_one_worker_is_seen),
        cmocka_unit_test(test_limits_have_a_name),
        cmocka_unit_test(test_a_page_cache_under_a_limit),
        cmocka_unit_test(test_a_few_held_reads_are_no_slow_part),
        cmocka_unit_test(test_a_slow_part_a_slow_worker_a_tail_and_a_change),
    };
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
