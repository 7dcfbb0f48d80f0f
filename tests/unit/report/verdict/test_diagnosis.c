/* The diagnosis of a whole recording: its costs, its verdict, what the other causes miss, and what must not
 * be looked at. */
#include "tests/support/made_costs.h"
#include "tests/support/findings.h"
#include "probe/base/rng.h"
#include "tests/lab/other_tools.h"

static void describe(struct fake_run *f, const char *workers, const char *batch_size, const char *cpus)
{
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "step", "sleep");
    fake_num(f, "config", "workers", workers, "threads");
    fake_num(f, "config", "batch_size", batch_size, "samples");
    fake_num(f, "config", "prefetch", "2", "batches");
    fake_num(f, "environment", "usable_cpus", cpus, NULL);
}

static struct fake_run *recorded(int with_inject, int no_resources)
{
    struct fake_pipeline p = {
        .workers = 2,
        .batches = 60,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 36 * FAKE_MS,
        .step_ns = 12 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .no_resources = no_resources,
        .stage = {{PP_PHASE_READ, 10 * FAKE_MS, 0.01, 0.04},
                  {PP_PHASE_DECODE, FAKE_MS, 0.9, 0.1},
                  {PP_PHASE_TRANSFORM, FAKE_MS, 0.9, 0.1}},
    };
    struct fake_run *f = fake_pipeline(&p);
    describe(f, "2", "8", "4");
    if (with_inject)
        fake_text(f, "config", "inject", "decode-cost=9 read-errors=0.5");
    return f;
}

static struct fake_run *on_two_cpus(const struct fake_pipeline *p, const char *workers, double own,
                                    double others)
{
    struct fake_run *f = fake_pipeline(p);
    describe(f, workers, "8", "2");
    fake_num(f, "environment", "cpus_online", "2", NULL);
    fake_text(f, "environment", "cpu_sharing", "groups");
    fake_cpu_counters(f, p, own, others);
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
    if (strcmp(v->l0, l0) != 0 ||
        (l1 && (!v->l1 || !v->l2 || strcmp(v->l1, l1) != 0 || strcmp(v->l2, l2) != 0)))
        fail_msg("not %s %s/%s: %s (%s)", l0, l1 ? l1 : "", l2 ? l2 : "", v->sentence,
                 v->why_no_fixes ? v->why_no_fixes : "replayed");
    report_done(r, f);
}

/* One worker decodes all the time. An idle second CPU is there for a second worker; one that others use has
 * to be freed first. */
static void test_cpus_that_others_use_are_missing_to_more_workers(void **state)
{
    struct fake_pipeline p = {.workers = 1,
                              .batches = 60,
                              .warmup = 10,
                              .batch_size = 8,
                              .wait_ns = 75 * FAKE_MS,
                              .step_ns = 5 * FAKE_MS,
                              .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 10, 0.9, 0},
                                        {PP_PHASE_DECODE, 9 * FAKE_MS, 0.98, 0.02},
                                        {PP_PHASE_TRANSFORM, 9 * FAKE_MS / 10, 0.98, 0.02}}};
    expect_verdict(on_two_cpus(&p, "1", 0.98, 0.05), "input-bound", "loader", "under-parallel");
    expect_verdict(on_two_cpus(&p, "1", 0.98, 1), "input-bound", "transform", "cpu-contended");
}

/* From 60 % of the run on a neighbour takes half of the CPUs: that is named, with when. One that was there
 * all the time did not begin. */
static void test_a_neighbour_comes_in_mid_run(void **state)
{
    for (int comes = 0; comes <= 1; comes++) {
        struct fake_pipeline p = {.workers = 2,
                                  .batches = 120,
                                  .warmup = 10,
                                  .batch_size = 8,
                                  .wait_ns = 60 * FAKE_MS,
                                  .step_ns = 5 * FAKE_MS,
                                  .h2d_ns = FAKE_MS / 10,
                                  .stage = {{PP_PHASE_READ, FAKE_MS / 10, 0.9, 0},
                                            {PP_PHASE_DECODE, 14 * FAKE_MS, 0.5, 0.5},
                                            {PP_PHASE_TRANSFORM, FAKE_MS, 0.5, 0.5}}};
        struct fake_run *f = fake_pipeline(&p);
        describe(f, "2", "8", "2");
        fake_num(f, "environment", "cpus_online", "2", NULL);
        fake_text(f, "environment", "cpu_sharing", "threads");
        uint64_t all = (uint64_t)p.batches * (p.wait_ns + p.step_ns);
        double own = 0, others = 0, passed = (double)(all / 20);
        for (int i = 0; i <= 20; i++) {
            uint64_t t = FAKE_T0 + 100 * FAKE_MS + all / 20 * (uint64_t)i;
            fake_counter(f, "process_cpu_ns_total", t, own);
            fake_counter(f, "machine_cpu_user_ns_total", t + 1, own + others);
            fake_counter(f, "machine_cpu_system_ns_total", t + 1, 0);
            own += 1 * passed;
            others += (!comes || i >= 12 ? 1 : 0.02) * passed;
        }
        struct pp_report *r = report_of(f);
        const char *l2 = r->verdict.l2 ? r->verdict.l2 : "";
        int began = strstr(r->verdict.sentence, "used 1.0 % at first, and 50 % from") != NULL;
        if (strcmp(l2, "cpu-contended") != 0 || began != comes)
            fail_msg("%d: %s (%s)", comes, r->verdict.sentence,
                     r->verdict.why_no_fixes ? r->verdict.why_no_fixes : "replayed");
        report_done(r, f);
    }
}

/* A trainer that sleeps through its steps and wakes up late because others use the CPUs: nothing that the run
 * can do gains from it, and it hardly waits for data. One that has to compute, and gets half of a CPU, is
 * held up by the others. */
static void test_a_late_step_is_no_input(void **state)
{
    struct fake_pipeline p = {.workers = 2,
                              .batches = 100,
                              .warmup = 10,
                              .batch_size = 8,
                              .wait_ns = FAKE_MS / 5,
                              .step_ns = 22 * FAKE_MS,
                              .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 2, 0.2, 0},
                                        {PP_PHASE_DECODE, FAKE_MS, 0.9, 0.1},
                                        {PP_PHASE_TRANSFORM, FAKE_MS / 4, 0.9, 0.1},
                                        {PP_PHASE_SLOT_WAIT, 38 * FAKE_MS / 10, 0, 0}}};
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
    struct pp_report *r = report_of(
        f); /* what there is to gain is the wait, and what the steps took longer */
    assert_near(r->samples_per_s, 8 / 0.0222, 0.1);
    assert_near(r->without_waits_samples_per_s, 8 / 0.022, 0.1);
    assert_near(r->headroom_samples_per_s, 8 / (0.022 - 0.49 * 0.022), 1);
    pp_report_free(r);
    expect_verdict(f, "cpu-starved", "transform", "cpu-contended");
}

/* ---- what taking a batch costs ---- */

static void give_waits(struct fake_run *f, double cpu, double delay)
{
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_DATA_WAIT)
            fake_resources(&f->span[0][i], &(struct fake_stage){.cpu = cpu, .delay = delay}, 0);
}

enum { UNPICKLE_NS = 1, UNPICKLE_TENSORS };

static const char *counter_name(void *ctx, uint16_t id)
{
    return id == UNPICKLE_NS ? "unpickle_ns" : id == UNPICKLE_TENSORS ? "unpickle_tensors" : "";
}

/* Workers with little to do, and waits of 12 ms, 11 of which the trainer unpickles. tensors 0: not counted.
 * delay: the share of the waits in which it waits for a CPU, which others use. */
static struct pp_report *of_unpickling(struct fake_run **run, uint64_t tensors, double delay, double others)
{
    struct fake_pipeline p = {.workers = 2,
                              .batches = 60,
                              .warmup = 10,
                              .batch_size = 8,
                              .wait_ns = 12 * FAKE_MS,
                              .step_ns = 12 * FAKE_MS,
                              .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 10, 0.5, 0},
                                        {PP_PHASE_DECODE, FAKE_MS, 1, 0},
                                        {PP_PHASE_SLOT_WAIT, 49 * FAKE_MS / 10, 0, 0}}};
    struct fake_run *f = *run = on_two_cpus(&p, "2", 0.5, others);
    give_waits(f, 0.3, delay);
    for (size_t i = 0, n = f->n_spans[0]; i < n; i++) {
        struct pp_span s = f->span[0][i], *counter;
        if (s.phase != PP_PHASE_DATA_WAIT)
            continue;
        counter = fake_span(f, 0, PP_PHASE_COUNTER, s.start_ns + s.dur_ns - 1, 0);
        counter->name = UNPICKLE_NS;
        counter->bytes = 11 * FAKE_MS;
        if (!tensors)
            continue;
        counter = fake_span(f, 0, PP_PHASE_COUNTER, s.start_ns + s.dur_ns - 1, 0);
        counter->name = UNPICKLE_TENSORS;
        counter->bytes = tensors;
    }
    struct pp_source source = fake_source(f);
    source.name = counter_name;
    return report_of_source(&source);
}

static struct pp_report *of_many_tensors(struct fake_run **run, uint64_t tensors)
{
    struct pp_report *r = of_unpickling(run, tensors, 0, 0);
    if (!r->verdict.l2 || strcmp(r->verdict.l2, "unpickle") != 0)
        fail_msg("%s (%s)", r->verdict.sentence,
                 r->verdict.why_no_fixes ? r->verdict.why_no_fixes : "replayed");
    return r;
}

/* A trainer that is kept from its CPU while it unpickles, or others that keep the workers' threads from
 * theirs, which hand the tensors over: fewer tensors are not what it needs. */
static void test_waiting_for_a_cpu_is_no_unpickling(void **state)
{
    static const struct {
        double delay, others;
    } rows[] = {{0.65, 0}, {0, 1.45}, {0.65, 1.45}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f;
        struct pp_report *r = of_unpickling(&f, 80, rows[i].delay, rows[i].others);
        if (r->verdict.l2 && strcmp(r->verdict.l2, "unpickle") == 0)
            fail_msg("%zu: %s", i, r->verdict.sentence);
        report_done(r, f);
    }
}

/* Data that is always there would gain next to nothing; one tensor gains most of the wait. */
static void test_fewer_tensors_have_a_gain(void **state)
{
    struct fake_run *f;
    struct pp_report *r = of_many_tensors(&f, 80);
    const struct pp_report_fix *fix = r->verdict.action.fix;
    assert_non_null(fix);
    assert_string_equal(fix->knob, "unpickle");
    assert_string_equal(fix->to, "one tensor");
    assert_near(fix->samples_per_s, 8 / (0.012 + 0.011 / 80), 0.06 * 660);
    assert_true(fix->low > 0.7 && fix->low < fix->gain && fix->gain < fix->high);
    assert_near(r->headroom_samples_per_s, 8 / 0.012, 0.1);
    assert_non_null(strstr(r->headroom_if, "data were always available and batches cost nothing to take"));
    report_done(r, f);

    r = of_many_tensors(&f, 0); /* how many there are is not known: no number is promised */
    assert_null(r->verdict.action.fix);
    assert_non_null(strstr(r->verdict.action.depends, "--set unpickle=0.5"));
    report_done(r, f);

    r = of_many_tensors(&f, 1); /* one in place of one is no change */
    assert_null(r->verdict.action.fix);
    report_done(r, f);
}

/* Of a wait of 36 ms, 3.6 are CPU time of the trainer: batches that are there are taken all the same. */
static void test_batches_that_are_there_are_taken(void **state)
{
    struct fake_run *f = recorded(0, 0);
    give_waits(f, 0.1, 0);
    struct pp_report *r = report_of(f);
    assert_near(r->headroom_samples_per_s, 8 / 0.0156, 0.1);
    assert_non_null(strstr(r->headroom_if, "data were always available"));
    assert_null(strstr(r->verdict.sentence, "cost nothing"));
    for (size_t i = 0; i < r->verdict.n_fixes; i++)
        assert_true(r->verdict.fixes[i].samples_per_s <= r->headroom_samples_per_s * (1 + 1e-9));
    report_done(r, f);
}

/* Two workers that keep up with the step; a PyTorch loader with three times the CPU work does not. */
static struct fake_run *keeps_up(const char *format, const char *transform, int own)
{
    struct fake_pipeline p = {.workers = 2,
                              .batches = 100,
                              .warmup = 10,
                              .batch_size = 8,
                              .wait_ns = FAKE_MS / 5,
                              .step_ns = 22 * FAKE_MS,
                              .h2d_ns = FAKE_MS / 10,
                              .stage = {{PP_PHASE_READ, FAKE_MS / 10, 0.5, 0},
                                        {PP_PHASE_DECODE, 4 * FAKE_MS, 1, 0},
                                        {PP_PHASE_TRANSFORM, FAKE_MS / 4, 1, 0},
                                        {PP_PHASE_SLOT_WAIT, 12 * FAKE_MS / 10, 0, 0}}};
    struct fake_run *f = on_two_cpus(&p, "2", 1.6, 0.02);
    fake_text(f, "config", "transform", transform);
    if (own) {
        fake_text(f, "config", "dataset", "D/train");
        fake_text(f, "config", "format", format);
    } else {
        fake_text(f, "config", "source", "nvtx");
        fake_text(f, "run", "command_line", "pipeprobe exec -- python train.py");
    }
    return f;
}

static void test_our_own_loader_says_what_pytorch_would_do(void **state)
{
    static const struct {
        const char *format, *transform;
        double low, high; /* NAN: not known */
    } rows[] = {{"folder", "rrc:224,hflip", 3.0, 3.6},
                {"webdataset", "resize:256,center-crop:224", 2.3, 3.6},
                {"tokens", "", NAN, NAN}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = keeps_up(rows[i].format, rows[i].transform, 1);
        struct pp_report *r = report_of(f);
        assert_string_equal(r->verdict.l0, "not-input-bound");
        assert_non_null(r->pytorch);
        assert_non_null(strstr(r->verdict.next_step, r->pytorch->sentence));
        assert_non_null(strstr(r->verdict.next_step, "run --loader pytorch"));
        assert_null(strstr(r->verdict.next_step, "Optimise the step"));
        if (isnan(rows[i].low)) {
            assert_true(isnan(r->pytorch->samples_per_s_low) && isnan(r->pytorch->ratio_low));
            assert_non_null(strstr(r->pytorch->sentence, "not known"));
        } else {
            /* 4.25 ms of CPU time a sample and 0.05 ms beside it, times the ratio, on two workers */
            assert_near(r->pytorch->ratio_low, rows[i].low, 1e-9);
            assert_near(r->pytorch->samples_per_s_high, 2000 / (4.25 * rows[i].low + 0.1), 6);
            assert_near(r->pytorch->samples_per_s_low, 2000 / (4.25 * rows[i].high + 0.1), 6);
            assert_near(r->pytorch->data_wait_share_low, 1 - 22 / (8 * 1000 / r->pytorch->samples_per_s_high),
                        0.03);
            assert_near(r->pytorch->data_wait_share_high, 1 - 22 / (8 * 1000 / r->pytorch->samples_per_s_low),
                        0.03);
        }
        report_done(r, f);
    }
    /* about a job itself, the step is the next thing to look at */
    struct fake_run *f = keeps_up("", "", 0);
    struct pp_report *r = report_of(f);
    assert_null(r->pytorch);
    assert_non_null(strstr(r->verdict.next_step, "Optimise the step"));
    report_done(r, f);
}

/* Of the rule with that label, the limit that it sets to the metric. */
static double limit_of(const char *l2, enum pp_metric metric)
{
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++)
        for (int k = 0; k < PP_CONDITIONS_MOST && pp_cause_rules_replay[i].l2; k++)
            if (strcmp(pp_cause_rules_replay[i].l2, l2) == 0 &&
                pp_cause_rules_replay[i].when[k].compare != PP_NO_CONDITION &&
                pp_cause_rules_replay[i].when[k].fact == metric)
                return pp_cause_rules_replay[i].when[k].limit;
    fail_msg("%s has no such condition", l2);
    return NAN;
}

/* Storage stops for 150 ms of every 450 ms; a batch is needed every 25 ms, and made in half of that. Three
 * batches in flight bridge half of a stop, seventeen all of it: little is lost, and nearly all of it by the
 * shallow prefetch. Where storage is too slow on average, a deeper prefetch bridges next to nothing. */
/* Two workers decode a batch in 16 ms; the one thread that pins them takes 36 ms for each. */
static void test_a_thread_that_pins_is_the_bottleneck(void **state)
{
    struct fake_pipeline p = {
        .workers = 2,
        .batches = 60,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 36 * FAKE_MS,
        .step_ns = 4 * FAKE_MS,
        .h2d_ns = 36 * FAKE_MS,
        .copies = {.phase = PP_PHASE_PIN, .cpu = 0.97, .delay = 0.03},
        .stage = {{PP_PHASE_DECODE, 4 * FAKE_MS, 0.9, 0.1}, {PP_PHASE_SLOT_WAIT, 6 * FAKE_MS, 0, 0}},
    };
    struct fake_run *f = on_two_cpus(&p, "2", 1.7, 0);
    fake_text(f, "config", "pin_memory", "1");
    give_steps(f, 0.1, 0);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    if (!r->verdict.l2 || strcmp(r->verdict.l2, "pin-memory") != 0)
        fail_msg("%s (%s)", r->verdict.sentence,
                 r->verdict.why_no_fixes ? r->verdict.why_no_fixes : "replayed");
    assert_string_equal(r->verdict.l1, "loader");
    assert_non_null(strstr(r->verdict.next_step, "pin_memory=False"));
    report_done(r, f);
}

/* The copy lane waits for the device's decoder: it is that, and not the link. */
static void test_a_busy_gpu_decoder_is_named(void **state)
{
    struct fake_pipeline p = {
        .workers = 2,
        .batches = 60,
        .warmup = 10,
        .batch_size = 8,
        .wait_ns = 36 * FAKE_MS,
        .step_ns = 4 * FAKE_MS,
        .h2d_ns = 36 * FAKE_MS,
        .copies = {.phase = PP_PHASE_GPU_DECODE, .cpu = 0.02, .delay = 0.01},
        .stage = {{PP_PHASE_DECODE, 4 * FAKE_MS, 0.9, 0.1}, {PP_PHASE_SLOT_WAIT, 6 * FAKE_MS, 0, 0}},
    };
    struct fake_run *f = on_two_cpus(&p, "2", 1.7, 0);
    give_steps(f, 0.1, 0);
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.l0, "input-bound");
    if (!r->verdict.l2 || strcmp(r->verdict.l2, "gpu-decode") != 0)
        fail_msg("%s (%s)", r->verdict.sentence,
                 r->verdict.why_no_fixes ? r->verdict.why_no_fixes : "replayed");
    for (size_t i = 0; i < r->verdict.n_fixes; i++) /* fewer bytes to copy make no decoder faster */
        if (strcmp(r->verdict.fixes[i].knob, "link") == 0)
            assert_true(r->verdict.fixes[i].gain < 0.05);
    assert_string_equal(r->verdict.l1, "transform");
    report_done(r, f);
}

static void test_a_prefetch_that_bridges_what_is_lost(void **state)
{
    static const struct {
        double read_ms;
        int bridges;
    } rows[] = {{0.1, 1}, {9, 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct pp_costs c = made_costs_new();
        uint64_t at[2] = {0, 0};
        c.prefetch = 1;
        c.step_blocked_ns = 25e6;
        for (size_t i = 0; i < c.n; i++) {
            struct pp_cost_sample *x = &c.samples[i];
            uint64_t *t = &at[i % 2], in_period = *t % (450 * FAKE_MS),
                     stopped = in_period >= 300 * FAKE_MS ? 450 * FAKE_MS - in_period : 0,
                     read = (uint64_t)(rows[row].read_ms * 1e6);
            x->read_start_ns = *t;
            x->read_blocked = (float)(stopped + read);
            x->read_end_ns = *t + stopped + read;
            x->decode_cpu = 2.8e6f;
            *t = x->read_end_ns + 3 * FAKE_MS +
                 (rows[row].bridges ? 31 * FAKE_MS / 10
                                    : 0); /* a worker that is faster than the trainer waits for a slot */
        }
        c.window_ns = (double)at[0];
        c.samples_per_s = (double)c.n * 1e9 / c.window_ns;
        struct pp_err err = {0};
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        struct pp_signals s = made_costs_signals(&c);
        double part = pp_signals_fix(&s, "prefetch")->p.gain / pp_signals_fix(&s, "storage")->p.gain;
        assert_true(s.metric[PP_METRIC_READ_BURST] >= limit_of("prefetch", PP_METRIC_READ_BURST));
        assert_near(s.metric[PP_METRIC_PREFETCH_PART], part, 1e-9);
        if ((part >= limit_of("prefetch", PP_METRIC_PREFETCH_PART)) != rows[row].bridges)
            fail_msg("row %zu: prefetch gains %g, free storage %g", row,
                     pp_signals_fix(&s, "prefetch")->p.gain, pp_signals_fix(&s, "storage")->p.gain);
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
        assert_near(c.samples[i].read_blocked, 9.5e6, 1e3); /* of 10 ms, without CPU and run-queue delay */
        assert_near(c.samples[i].read_cpu, 1e5, 1e2);
        assert_near(c.samples[i].decode_cpu, 9e5, 1e2);
        assert_near(c.samples[i].decode_blocked, 0, 10);
        assert_true(i == 0 || c.samples[i].batch >= c.samples[i - 1].batch);
    }
    assert_near(c.step_blocked_ns, 12e6, 1);
    assert_near(c.samples_per_s, 8 / 0.048, 0.01);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

/* Every fourth batch sample by sample, the others as one span that says how many they were: each sample costs
 * what it cost. */
static void test_samples_in_one_span_cost_their_part(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             id = fake_thread(f, PP_LANE_WORKER, "worker 0");
    struct pp_costs c;
    struct pp_err err = {0};
    uint64_t t = FAKE_T0;
    for (uint32_t b = 0; b < 40; b++) {
        for (uint64_t i = 0, n = b % 4 ? 1 : 16; i < n; i++, t += 16 * FAKE_MS / n) {
            struct pp_span *s = fake_span(f, id, PP_PHASE_TRANSFORM, t, 16 * FAKE_MS / n);
            fake_resources(s, &(struct fake_stage){.cpu = 1}, 0);
            s->batch = b;
            s->sample = n > 1 ? i : 16;
            s->flags |= n > 1 ? 0 : PP_SPAN_COUNT;
        }
        fake_span(f, trainer, PP_PHASE_DATA_WAIT, t - 16 * FAKE_MS, 16 * FAKE_MS)->batch = b;
    }
    fake_num(f, "config", "workers", "1", NULL);
    fake_num(f, "config", "batch_size", "16", NULL);
    struct pp_timeline tl = {.start_ns = FAKE_T0, .end_ns = t};
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    assert_int_equal(c.n, 40 * 16);
    for (size_t i = 0; i < c.n; i++)
        assert_near(c.samples[i].transform_cpu, 1e6, 1);
    pp_costs_free(&c);
    fake_free(f);
}

/* A loader of the user's own may have no transform, or read nothing: its samples are whole all the same. */
static void test_samples_are_whole_where_their_last_stage_ends(void **state)
{
    static const struct {
        struct fake_stage stage[2];
        size_t least, most; /* of 2.4 s on two workers */
    } rows[] = {{{{PP_PHASE_READ, 2 * FAKE_MS, 0.1, 0}, {PP_PHASE_DECODE, 10 * FAKE_MS, 0.9, 0.1}}, 380, 402},
                {{{PP_PHASE_READ, 12 * FAKE_MS, 0.1, 0}}, 380, 402},
                {{{PP_PHASE_DECODE, 12 * FAKE_MS, 0.9, 0.1}}, 380, 402},
                {{{PP_PHASE_DECODE, 6 * FAKE_MS, 0.9, 0.1}, {PP_PHASE_TRANSFORM, 6 * FAKE_MS, 0.9, 0.1}},
                 380,
                 402}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct fake_pipeline p = {.workers = 2,
                                  .batches = 60,
                                  .warmup = 10,
                                  .batch_size = 8,
                                  .wait_ns = 36 * FAKE_MS,
                                  .step_ns = 12 * FAKE_MS,
                                  .stage = {rows[row].stage[0], rows[row].stage[1]}};
        struct fake_run *f = fake_pipeline(&p);
        struct pp_source source = fake_source(f);
        struct pp_timeline tl;
        struct pp_costs c;
        struct pp_err err = {0};
        fake_num(f, "config", "workers", "2", "threads");
        assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
        pp_costs_read(&source, &tl, &c, &err);
        if (c.n < rows[row].least || c.n > rows[row].most)
            fail_msg("row %zu: %zu samples: %s", row, c.n, err.text);
        pp_costs_free(&c);
        pp_timeline_free(&tl);
        fake_free(f);
    }
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
    assert_non_null(strstr(why_not(r, "cpu-saturated"), " %, not >= 40 %"));
    assert_non_null(strstr(why_not(r, "bandwidth"), "times of reads follow bytes is "));
    assert_string_equal(why_not(r, "warm-up"), "time to the first batch is unknown, not >= 15 %");
    assert_non_null(why_not(r, "pageable"));
    report_done(r, f);
}

static uint64_t drawn(struct pp_rng *r, double low, double high)
{
    return (uint64_t)(low + pp_rng_unit(r) * (high - low));
}

static struct fake_run *any_pipeline(uint64_t seed)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, 5);
    double cpu = pp_rng_unit(&r), delay = (1 - cpu) * pp_rng_unit(&r);
    struct fake_pipeline p = {.workers = 1 + (int)drawn(&r, 0, 5),
                              .batches = 80,
                              .warmup = 10,
                              .batch_size = 4 + (int)drawn(&r, 0, 8),
                              .batches_per_epoch = pp_rng_unit(&r) < 0.5 ? 0 : (int)drawn(&r, 9, 30),
                              .wait_ns = drawn(&r, 0.1e6, 60e6),
                              .step_ns = drawn(&r, 5e6, 40e6),
                              .sync_ns = pp_rng_unit(&r) < 0.3 ? drawn(&r, 1e6, 8e6) : 0,
                              .h2d_ns = FAKE_MS / 20,
                              .stage = {{PP_PHASE_READ, drawn(&r, 0.2e6, 12e6), 0.1, 0.1},
                                        {PP_PHASE_DECODE, drawn(&r, 0.2e6, 9e6), cpu, delay},
                                        {PP_PHASE_TRANSFORM, drawn(&r, 0.1e6, 3e6), cpu, delay}}};
    static char workers[12], batch[12]; /* the fake run borrows them */
    snprintf(workers, sizeof(workers), "%d", p.workers);
    snprintf(batch, sizeof(batch), "%d", p.batch_size);
    struct fake_run *f = fake_pipeline(&p);
    describe(f, workers, batch, "4");
    if (pp_rng_unit(&r) < 0.5)
        give_steps(f, 0.3, 0.3 * pp_rng_unit(&r));
    if (pp_rng_unit(&r) < 0.5)
        fake_cpu_counters(f, &p, 1, 2 * pp_rng_unit(&r));
    if (pp_rng_unit(&r) < 0.5)
        give_waits(f, 0.3 * pp_rng_unit(&r), 0);
    return f;
}

/* No change of the input is predicted to be faster than data that is always there. */
static void test_no_prediction_exceeds_the_ceiling(void **state)
{
    static const char *const sets[] = {"workers=64", "cache=warm",  "storage-latency=0",
                                       "decode=0",   "prefetch=64", "order=out-of-order",
                                       "copy=0",     "overlap=on",  "sync=0"};
    int replayed = 0;
    for (uint64_t seed = 1; seed <= 60; seed += SEED_STEP) {
        struct fake_run *f = any_pipeline(seed);
        struct pp_source source = fake_source(f);
        struct pp_timeline tl;
        struct pp_costs c;
        struct pp_err err = {0};
        struct pp_report *r = report_of(f);
        double most = fmax(r->headroom_samples_per_s, r->samples_per_s) * (1 + 1e-9);
        for (size_t i = 0; i < r->verdict.n_fixes; i++)
            if (r->verdict.fixes[i].samples_per_s > most)
                fail_msg("seed %d: %s -> %s gives %g, always there %g", (int)seed, r->verdict.fixes[i].knob,
                         r->verdict.fixes[i].to, r->verdict.fixes[i].samples_per_s, most);
        replayed += r->verdict.n_fixes > 0;
        assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
        if (pp_costs_read(&source, &tl, &c, &err) != PP_OK)
            fail_msg("seed %d: %s", (int)seed, err.text);
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        double judged = (double)tl.judged_batches, taking = (c.fetch_cpu_ns + c.fetch_blocked_ns) * judged;
        double lost = (double)pp_timeline_exposed_ns(&tl) - taking + c.step_stretch_ns * judged;
        most = (double)tl.window_samples * 1e9 / (c.window_ns - lost) * (1 + 1e-9);
        for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
            double rate = made_costs_predicted(&c, sets[i]);
            if (rate > fmax(most, c.samples_per_s))
                fail_msg("seed %d: %s gives %g of %g", (int)seed, sets[i], rate, most);
        }
        pp_costs_free(&c);
        pp_timeline_free(&tl);
        report_done(r, f);
    }
    assert_true(replayed * SEED_STEP >= 10);
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
        assert_true(strcmp(a->verdict.fixes[i].knob, b->verdict.fixes[i].knob) == 0 &&
                    a->verdict.fixes[i].gain == b->verdict.fixes[i].gain);
    assert_int_equal(a->n_config, b->n_config + 1);
    pp_report_free(a);
    report_done(b, with);
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
    report_done(r, f);
}

static void test_other_tools_judge_the_same_recording(void **state)
{
    struct fake_run *f = recorded(0, 0);
    struct pp_report *r = report_of(f);
    struct other_tool_verdict v;
    const char *name;
    int n = 0, nsys = 0;
    for (int i = 0; (name = other_tool(i, r, &v)); i++, n++) {
        if (strcmp(name, "XProf") == 0)
            assert_true(v.input_bound && strcmp(v.l1, "storage") == 0);
        if (strcmp(name, "FastFlow") == 0)
            assert_true(v.input_bound && strcmp(v.l1, "transform") == 0); /* it knows no other */
        if (strstr(name, "nsys"))
            nsys = !v.input_bound; /* 36 ms gaps are silent under its 500 ms */
    }
    assert_int_equal(n, 13);
    assert_true(nsys);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpus_that_others_use_are_missing_to_more_workers),
        cmocka_unit_test(test_a_neighbour_comes_in_mid_run),
        cmocka_unit_test(test_a_late_step_is_no_input),
        cmocka_unit_test(test_our_own_loader_says_what_pytorch_would_do),
        cmocka_unit_test(test_a_thread_that_pins_is_the_bottleneck),
        cmocka_unit_test(test_a_busy_gpu_decoder_is_named),
        cmocka_unit_test(test_waiting_for_a_cpu_is_no_unpickling),
        cmocka_unit_test(test_fewer_tensors_have_a_gain),
        cmocka_unit_test(test_batches_that_are_there_are_taken),
        cmocka_unit_test(test_a_prefetch_that_bridges_what_is_lost),
        cmocka_unit_test(test_costs_are_cpu_and_blocked_time),
        cmocka_unit_test(test_samples_in_one_span_cost_their_part),
        cmocka_unit_test(test_samples_are_whole_where_their_last_stage_ends),
        cmocka_unit_test(test_every_other_cause_says_what_it_misses),
        cmocka_unit_test(test_no_prediction_exceeds_the_ceiling),
        cmocka_unit_test(test_the_injected_fault_is_not_looked_at),
        cmocka_unit_test(test_without_cpu_accounting_nothing_is_predicted),
        cmocka_unit_test(test_other_tools_judge_the_same_recording),
    };
    return cmocka_run_group_tests_name("diagnosis", tests, NULL, NULL);
}
