/* What a recording's trainer does apart from its batches, and how long its GPU is busy, as costs. */
#include "report/replay/storage.h"
#include "report/replay/whatif.h"
#include "tests/support/fake_run.h"
#include "tests/support/made_costs.h"

enum { BATCHES = 202, WARMUP = 2, JUDGED = BATCHES - WARMUP };

static uint64_t kernel_ms;

/* Of every batch a call of 6 ms that copies 2 ms from this memory; 1: and waits for the stream. */
static const char *copied_from;
static int copies_are_waited_for;
static int copies_by_another;
static const char *said_key, *said; /* by the file, of the GPU or of the loader */

/* The trainer's is thread 1 (fake_thread). */
static void copy_of_batch(pp_gpu_fn *fn, void *fn_ctx, uint64_t b, uint32_t thread)
{
    struct pp_gpu_row row = {.kind = "api",
                             .name = "cudaMemcpyAsync_v3020",
                             .start_ns = FAKE_T0 + (WARMUP + b) * 20 * FAKE_MS + 9 * FAKE_MS,
                             .dur_ns = 6 * FAKE_MS,
                             .batch = UINT32_MAX,
                             .correlation = (uint32_t)b,
                             .thread = thread};
    fn(fn_ctx, &row);
    row.name = "cuMemcpyHtoDAsync_v2"; /* within that one */
    row.dur_ns -= FAKE_MS;
    fn(fn_ctx, &row);
    row.kind = "memcpy";
    row.name = NULL;
    row.source = copied_from;
    row.start_ns += 4 * FAKE_MS;
    row.dur_ns = FAKE_MS;
    fn(fn_ctx, &row); /* in two parts */
    fn(fn_ctx, &row);
    if (copies_are_waited_for) {
        row.kind = "api";
        row.name = "cudaStreamSynchronize_v3020";
        fn(fn_ctx, &row);
        row.name = "cuStreamSynchronize";
        fn(fn_ctx, &row);
    }
}

/* Two kernels of a step overlap; a third is of another program's time, long before. */
static pp_status kernels(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    (void)ctx, (void)err;
    struct pp_gpu_row row = {.kind = "kernel", .start_ns = 1, .dur_ns = 5 * FAKE_MS, .batch = UINT32_MAX};
    fn(fn_ctx, &row);
    for (uint64_t b = 0; b < JUDGED && copied_from; b++)
        copy_of_batch(fn, fn_ctx, b,
                      b % 2 || copies_by_another ? 7 : 1); /* every other call is another thread's */
    for (uint64_t b = 0; b < JUDGED && kernel_ms; b++) {
        row.start_ns = FAKE_T0 + (WARMUP + b) * 20 * FAKE_MS;
        row.dur_ns = kernel_ms * FAKE_MS;
        fn(fn_ctx, &row);
        row.start_ns += FAKE_MS;
        fn(fn_ctx, &row);
        row.kind = "memcpy";
        fn(fn_ctx, &row);
        row.kind = "kernel";
    }
    return PP_OK;
}

struct beside {
    uint64_t pause_ms, saved_ms; /* in every 40th step; after the step of batch 100 */
    int files;                   /* that it is saved into, each as long */
    int counted;                 /* CPU time every second: 1.5 CPUs by the job, 0.1 by others */
    double start_cpu_s;          /* that the job had before, which the first look did not see */
};

/* 4 s of batches. The last look is made when the job has ended: of its own time of that second it has no row.
 */
static void cpu_counters(struct fake_run *f, double start_cpu_s)
{
    for (uint64_t s = 0; s <= 4; s++) {
        uint64_t t = FAKE_T0 + s * 990 * FAKE_MS;
        double passed = (double)(s * 990 * FAKE_MS);
        if (s < 4)
            fake_counter(f, "process_cpu_ns_total", t, s ? 1.5 * passed + start_cpu_s * 1e9 : 0);
        fake_counter(f, "machine_cpu_user_ns_total", t + FAKE_MS, 1.2 * passed);
        fake_counter(f, "machine_cpu_system_ns_total", t + FAKE_MS, 0.4 * passed);
    }
}

/* Each batch is waited for 8 ms and stepped on for 12, of which the trainer computes 9. */
static struct pp_costs costs_of(const char *workers, struct beside x)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    uint64_t now = FAKE_T0;
    assert_non_null(f);
    fake_num(f, "config", "num_workers", workers, NULL);
    fake_num(f, "config", "workers", strcmp(workers, "0") ? workers : "1", NULL);
    fake_num(f, "config", "prefetch", "2", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_text(f, "config", "source", "pytorch");
    fake_num(f, "gpu", "records", "5000", NULL);
    fake_num(f, "environment", "cpus_online", "2", NULL);
    int of_activity = said_key && strcmp(said_key, "activity") == 0;
    const char *activity = of_activity ? said : "CUPTI of libcupti.so.13, in the job";
    if (activity)
        fake_text(f, "gpu", "activity", activity);
    if (said_key && !of_activity)
        fake_num(f, strcmp(said_key, "pin_memory") ? "gpu" : "config", said_key, said, NULL);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer");
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (int k = 0; k < 2 + (b == 100 ? x.files : 0); k++) {
            uint64_t ms = k == 0 ? 8 : k == 1 ? 12 + (b % 40 == 39 ? x.pause_ms : 0) : x.saved_ms;
            pp_phase phase = k == 0 ? PP_PHASE_DATA_WAIT : k == 1 ? PP_PHASE_STEP : PP_PHASE_CHECKPOINT;
            struct pp_span *s = fake_span(f, trainer, phase, now, ms * FAKE_MS);
            s->batch = b;
            s->cpu_ns = k == 1 ? 9 * FAKE_MS : 0;
            s->sample = k < 1 ? 8 : PP_NO_SAMPLE;
            s->flags = (uint16_t)(PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (k < 1 ? PP_SPAN_COUNT : 0) |
                                  (b < WARMUP ? PP_SPAN_WARMUP : 0));
            now += ms * FAKE_MS;
        }
    }
    if (x.counted)
        cpu_counters(f, x.start_cpu_s);
    struct pp_source source = fake_source(f);
    source.each_gpu = kernels;
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    pp_costs_read(&source, &tl, &c, &err); /* too little to predict from; the trainer's costs are there */
    pp_timeline_free(&tl);
    fake_free(f);
    return c;
}

/* Two workers fill four batches in 80 ms: that much of five pauses of a second is not lost. */
static void a_long_pause_is_no_part_of_steps(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("2", (struct beside){.pause_ms = 1000});
    assert_near(c.apart_ns, 5 * 920e6 / JUDGED, 1e5);
    assert_near(c.step_cpu_ns, 9e6 - 5 * 9e6 * (920.0 / 1012) / JUDGED, 1e5);
    assert_near(c.step_blocked_ns + c.step_cpu_ns, (12 + 5 * 80.0 / JUDGED) * 1e6, 1e5);
    pp_costs_free(&c);
    c = costs_of("0", (struct beside){.pause_ms = 1000}); /* no worker makes batches meanwhile */
    assert_near(c.apart_ns, 5 * 1000e6 / JUDGED, 1e4);
    pp_costs_free(&c);
}

/* What is as long as nine steps is a step, and what is shorter than the workers need to fill what is
 * prefetched is hidden behind them. */
static void a_long_step_is_a_step(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("0", (struct beside){.pause_ms = 96});
    assert_near(c.apart_ns, 0, 1);
    assert_near(c.step_blocked_ns + c.step_cpu_ns, (12 + 5 * 96.0 / JUDGED) * 1e6, 1e4);
    pp_costs_free(&c);
    c = costs_of("8", (struct beside){.pause_ms = 200, .saved_ms = 200, .files = 1}); /* 16 take 320 ms */
    assert_near(c.apart_ns, 0, 1);
    pp_costs_free(&c);
}

/* However many files it has. */
static void a_checkpoint_is_apart(void **state)
{
    (void)state;
    for (int files = 1; files <= 5; files += 4) {
        struct pp_costs c = costs_of("2", (struct beside){.saved_ms = 300 / (uint64_t)files, .files = files});
        assert_near(c.apart_ns, (300 - 80) * 1e6 / JUDGED, 1e4);
        assert_near(c.step_blocked_ns + c.step_cpu_ns, 12e6, 1e3);
        pp_costs_free(&c);
    }
}

static void kernels_that_overlap_count_once(void **state)
{
    (void)state;
    kernel_ms = 6;
    struct pp_costs c = costs_of("2", (struct beside){0});
    assert_near(c.gpu_busy_ns, 7e6, 1e3);
    pp_costs_free(&c);
    kernel_ms = 0;
    c = costs_of("2", (struct beside){0});
    assert_near(c.gpu_busy_ns, 0, 0);
    pp_costs_free(&c);
}

static void calls_that_copy_from_pageable_memory(void **state)
{
    (void)state;
    copied_from = "pageable";
    struct pp_costs c = costs_of("2", (struct beside){0});
    assert_near(c.pageable_call_ns, 3e6, 1e3);
    assert_near(c.pageable_copy_ns, 1e6, 1e3);
    assert_int_equal(c.waits_for_copies, 0);
    assert_null(c.no_pinning);
    pp_costs_free(&c);
    copies_are_waited_for = 1;
    c = costs_of("2", (struct beside){0});
    assert_int_equal(c.waits_for_copies, 1);
    copies_are_waited_for = 0;
    pp_costs_free(&c);
    copied_from = "device"; /* to the host */
    c = costs_of("2", (struct beside){0});
    assert_near(c.pageable_call_ns + c.pageable_copy_ns, 0, 0);
    assert_null(c.no_pinning);
    copied_from = NULL;
    pp_costs_free(&c);
}

static void what_is_not_known_of_copies_is_not_predicted(void **state)
{
    (void)state;
    static const struct {
        const char *workers, *key, *value, *why;
    } rows[] = {{"2", "activity", "CUPTI of libcupti.so.13, in the job", NULL},
                {"2", "activity", NULL, "GPU activity was not recorded"},
                {"2", "activity", "not recorded: another profiler owns CUPTI",
                 "GPU activity was not recorded"},
                {"2", "records_dropped", "60", "records were dropped"},
                {"2", "records_dropped", "40", NULL},
                {"2", "pin_memory", "1", "pinned batches already"},
                {"0", "pin_memory", "0", "would have to pin them"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_knobs knobs = pp_knobs_none();
        struct pp_err err = {0};
        copied_from = "pageable";
        said_key = rows[i].key, said = rows[i].value;
        struct pp_costs c = costs_of(rows[i].workers, (struct beside){0});
        pp_status st = pp_knobs_set(&knobs, &c, "pinned=yes", &err);
        if (st != (rows[i].why ? PP_E_UNSUPPORTED : PP_OK) || (rows[i].why && !strstr(err.text, rows[i].why)))
            fail_msg("row %zu: %s", i, st == PP_OK ? "predicted" : err.text);
        pp_costs_free(&c);
    }
    copied_from = said_key = NULL;
    copies_by_another = 1; /* as in a recording whose CUPTI has other thread ids */
    copied_from = "pageable";
    struct pp_costs c = costs_of("2", (struct beside){0});
    assert_non_null(strstr(c.no_pinning, "not known to be of the training thread"));
    copies_by_another = 0;
    copied_from = NULL;
    pp_costs_free(&c);
}

/* The CPU time of a job's last second is not that of other processes. */
static void the_end_of_a_job_is_no_load(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("2", (struct beside){.counted = 1});
    assert_near(c.process_cpus, 1.5, 1e-6);
    assert_near(c.outside_cpus, 0.1, 1e-6);
    pp_costs_free(&c);
}

/* A file may say anything of its set-up, and that samples were read in another century. */
static void what_cannot_be_is_not_taken(void **state)
{
    (void)state;
    static const char *const keys[] = {"workers", "prefetch", "copy_buffers", "inflight", "dataset_samples"};
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    assert_non_null(f);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        fake_num(f, "config", keys[i], i & 1 ? "-1e300" : "1e300", NULL);
    fake_num(f, "config", "batch_size", "nan", NULL);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, FAKE_T0 + b * FAKE_MS, FAKE_MS);
        s->batch = b;
        s->sample = 8;
        s->flags = PP_SPAN_COUNT;
    }
    struct pp_span *s = fake_span(f, worker, PP_PHASE_READ, FAKE_T0 + 20 * FAKE_MS, INT64_MAX / 2);
    s->batch = 20;
    s->sample = 1000;
    s->flags = PP_SPAN_COUNT | PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_E_INCONCLUSIVE);
    assert_int_equal(c.n, 1000);
    assert_true(c.rate_se > 0 && c.rate_se < 10);
    assert_true(c.workers == 0 && c.prefetch == 2 && c.copy_buffers == 2 && c.inflight == 0);
    assert_int_equal(c.dataset_samples, 0);
    assert_near(c.batch_size, 8, 0.1); /* that of the batches */
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

/* Of 12 ms that most steps compute, the quickest tenth does without 4; of a batch nothing is quicker. Taking
 * a batch costs 3 of 8 ms. */
static void what_hand_overs_may_slow_is_bounded_by_their_cost(void **state)
{
    (void)state;
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    assert_non_null(f);
    fake_num(f, "config", "num_workers", "2", NULL);
    fake_num(f, "config", "workers", "2", NULL);
    fake_text(f, "config", "source", "pytorch");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 20 * FAKE_MS;
        struct pp_span *s[] = {fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 8 * FAKE_MS),
                               fake_span(f, trainer, PP_PHASE_STEP, now + 8 * FAKE_MS, 12 * FAKE_MS),
                               fake_span(f, worker, PP_PHASE_TRANSFORM, now, 6 * FAKE_MS)};
        static const uint64_t cpu_ms[] = {3, 12, 6};
        for (int k = 0; k < 3; k++) {
            s[k]->batch = b;
            s[k]->cpu_ns = cpu_ms[k] * FAKE_MS - (k == 1 && b % 5 == 0 ? 4 * FAKE_MS : 0);
            s[k]->dur_ns -= k == 1 && b % 5 == 0 ? 4 * FAKE_MS : 0;
            s[k]->sample = k == 1 ? PP_NO_SAMPLE : 8;
            s[k]->flags = (uint16_t)(PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (k == 1 ? 0 : PP_SPAN_COUNT));
        }
    }
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    assert_near(c.cold_step.ns, fmin(c.fetch_cpu_ns, 3.2e6), 1e5);
    assert_near(c.cold_step.most_ns, 3.2e6, 1e5);
    assert_near(c.cold_work.ns, 0, 1e3);
    assert_near(c.cold_work.most_ns, fmin(c.fetch_cpu_ns + c.fetch_blocked_ns, 4.5e6), 1e5);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

/* The data set makes whole batches of 100: one span each, of 20 ms. The worker has a CPU for a part of it. */
static void check_batches_that_are_one_sample(double on_cpu)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    assert_non_null(f);
    fake_num(f, "config", "num_workers", "0", NULL);
    fake_num(f, "config", "workers", "1", NULL);
    fake_text(f, "config", "source", "pytorch");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 30 * FAKE_MS;
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 20 * FAKE_MS);
        s->batch = b;
        s->sample = 100;
        s->flags = PP_SPAN_COUNT;
        s = fake_span(f, trainer, PP_PHASE_STEP, now + 20 * FAKE_MS, 10 * FAKE_MS);
        s->batch = b;
        s = fake_span(f, worker, PP_PHASE_TRANSFORM, now, 20 * FAKE_MS);
        s->batch = b;
        s->cpu_ns = (uint64_t)(on_cpu * 20 * FAKE_MS);
        s->run_delay_ns = 20 * FAKE_MS - s->cpu_ns;
        s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    }
    struct pp_source source = fake_source(f);
    double off;
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    assert_near(c.batch_size, 100, 1e-6);
    assert_true(c.whole_batches);
    assert_near(c.samples[0].transform_cpu, on_cpu * 0.2e6, 1);
    assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
    assert_int_equal(pp_whatif_error(&c, &off, &err), PP_OK);
    assert_near(off, 0, 0.02);
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

static void a_sample_that_is_a_batch_is_split(void **state)
{
    (void)state;
    check_batches_that_are_one_sample(1);
}

/* Some samples of a worker read, as one that imports a module does for its first one, or a data set with a
 * cache: the others begin with their own work, none takes as long as all, and storage is judged by those that
 * read. */
static void check_samples_without_a_read(double reading)
{
    enum { OF_BATCH = 8 };
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    double reads = 0;
    assert_non_null(f);
    fake_num(f, "config", "num_workers", "1", NULL);
    fake_num(f, "config", "workers", "1", NULL);
    fake_text(f, "config", "source", "pytorch");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 20 * FAKE_MS;
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 16 * FAKE_MS);
        s->batch = b;
        s->sample = OF_BATCH;
        s->flags = PP_SPAN_COUNT;
        s = fake_span(f, trainer, PP_PHASE_STEP, now + 16 * FAKE_MS, 4 * FAKE_MS);
        s->batch = b;
        for (uint32_t k = 0; k < OF_BATCH; k++) {
            uint64_t at = now + k * 2 * FAKE_MS, id = b * OF_BATCH + k;
            int reads_it = (b == WARMUP && k == 0) || (id * 7 % 20) < reading * 20;
            if (reads_it) {
                s = fake_span(f, worker, PP_PHASE_READ, at, FAKE_MS / 2);
                s->batch = b;
                s->sample = id;
                s->bytes = 1000;
                s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
                reads += b >= WARMUP;
            }
            s = fake_span(f, worker, PP_PHASE_TRANSFORM, at + FAKE_MS / 2, FAKE_MS);
            s->batch = b;
            s->sample = id;
            s->cpu_ns = s->dur_ns;
            s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
        }
    }
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    assert_int_equal(pp_storage_read(&c, &err), PP_OK);
    size_t n = c.n;
    double seen = 0;
    assert_true(n >= (JUDGED - 2) * OF_BATCH); /* nothing is taken for a change of storage */
    for (size_t i = 0; i < n; i++) {
        assert_near(c.samples[i].transform_cpu, 1e6, 1e3);
        seen += c.samples[i].bytes > 0;
    }
    assert_near(seen, reads, 2 * OF_BATCH);
    assert_true(c.n_outages == 0 && !(c.storage.drift >= 1.2) && !(c.bandwidth > 0) && !(c.reads_per_s > 0));
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

static void samples_without_a_read_are_samples(void **state)
{
    (void)state;
    check_samples_without_a_read(0);
    check_samples_without_a_read(0.4);
    check_samples_without_a_read(0.6);
}

/* A thread that reads all samples of a batch, and then works on each: its reads are not lost. */
static void a_thread_works_stage_by_stage(void **state)
{
    enum { OF_BATCH = 8 };
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    double work_ns = 0, blocked_ns = 0;
    (void)state;
    assert_non_null(f);
    fake_num(f, "config", "workers", "1", NULL);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 20 * FAKE_MS;
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 16 * FAKE_MS);
        s->batch = b;
        s->sample = OF_BATCH;
        s->flags = PP_SPAN_COUNT;
        s = fake_span(f, trainer, PP_PHASE_STEP, now + 16 * FAKE_MS, 4 * FAKE_MS);
        s->batch = b;
        for (uint32_t k = 0; k < 2 * OF_BATCH; k++) {
            s = fake_span(f, worker, k < OF_BATCH ? PP_PHASE_READ : PP_PHASE_DECODE, now + k * FAKE_MS,
                          FAKE_MS);
            s->batch = b;
            s->sample = b * OF_BATCH + k % OF_BATCH;
            s->bytes = k < OF_BATCH ? 1000 : 0;
            s->cpu_ns = k < OF_BATCH ? 0 : s->dur_ns;
            s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
        }
    }
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    for (size_t i = 0; i < c.n; i++)
        work_ns += c.samples[i].decode_cpu, blocked_ns += c.samples[i].read_blocked;
    assert_true(c.n > 0);
    assert_near(blocked_ns / work_ns, 1, 0.01); /* each as long as the other */
    pp_costs_free(&c);
    pp_timeline_free(&tl);
    fake_free(f);
}

/* 24 other threads for one CPU: more than the usual most. */
static void a_very_busy_machine_is_replayed(void **state)
{
    (void)state;
    check_batches_that_are_one_sample(0.04);
}

/* The trainer makes its batches in 20 ms and steps on them for 10; the job uses `cpus` all the while. */
static struct pp_costs costs_beside_threads(double cpus)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    const uint16_t flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    assert_non_null(f);
    fake_num(f, "config", "num_workers", "0", NULL);
    fake_num(f, "config", "workers", "1", NULL);
    fake_num(f, "config", "batch_size", "10", NULL);
    fake_num(f, "environment", "usable_cpus", "2", NULL);
    fake_num(f, "environment", "cpus_online", "2", NULL);
    fake_text(f, "config", "source", "pytorch");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker 0");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 30 * FAKE_MS;
        struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 20 * FAKE_MS);
        s->batch = b, s->sample = 10, s->cpu_ns = 20 * FAKE_MS, s->flags = flags | PP_SPAN_COUNT;
        s = fake_span(f, trainer, PP_PHASE_STEP, now + 20 * FAKE_MS, 10 * FAKE_MS);
        s->batch = b, s->cpu_ns = 10 * FAKE_MS, s->flags = flags;
        for (uint32_t i = 0; i < 10; i++) {
            s = fake_span(f, worker, PP_PHASE_TRANSFORM, now + i * 2 * FAKE_MS, 2 * FAKE_MS);
            s->batch = b, s->sample = i, s->cpu_ns = 2 * FAKE_MS, s->flags = flags;
        }
    }
    for (uint64_t ns = 0; ns <= BATCHES * 30 * FAKE_MS; ns += 300 * FAKE_MS) {
        fake_counter(f, "process_cpu_ns_total", FAKE_T0 + ns, cpus * (double)ns);
        fake_counter(f, "machine_cpu_user_ns_total", FAKE_T0 + ns + FAKE_MS, cpus * (double)ns);
        fake_counter(f, "machine_cpu_system_ns_total", FAKE_T0 + ns + FAKE_MS, 0);
    }
    struct pp_source source = fake_source(f);
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), PP_OK);
    pp_timeline_free(&tl);
    fake_free(f);
    return c;
}

/* What the job used beside its threads that have spans, it used in its steps, as a model on the CPU does. Two
 * workers then leave a step less than it had, and each of its threads waits for the other. */
static void a_step_has_threads(void **state)
{
    (void)state;
    struct pp_err err = {0};
    struct pp_prediction alone, beside;
    for (int more = 0; more <= 1; more++) {
        struct pp_costs c = costs_beside_threads(more ? 1.25 : 1);
        struct pp_knobs k = pp_knobs_none();
        assert_near(c.step_threads, more ? 0.75 : 0, 0.01);
        assert_near(c.helper_cpus, 0, 0.01);
        assert_int_equal(pp_whatif_calibrate(&c, &err), PP_OK);
        assert_int_equal(pp_knobs_set(&k, &c, "num_workers=2", &err), PP_OK);
        assert_int_equal(pp_whatif(&c, &k, more ? &beside : &alone, &err), PP_OK);
        pp_costs_free(&c);
    }
    assert_near(alone.samples_per_s, 10 / 0.0150, 10); /* 30 ms of work on 2 CPUs */
    assert_true(beside.high <= 1.05 * 10 / 0.01875);   /* 37.5 ms */
    assert_true(beside.samples_per_s < beside.high && beside.low < 0.85 * beside.high);
}

/* Batches of another loader have no size: each takes two threads `made` samples of 4 ms in all, beside a step
 * of 4 ms, in which they may rest, and a third hands tasks over. */
static struct pp_costs costs_of_another_loader(uint32_t made, double stated, int rests, pp_status expected)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_costs c;
    struct pp_timeline tl;
    struct pp_err err = {0};
    assert_non_null(f);
    fake_text(f, "config", "loader", "own");
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"), workers[3];
    for (int i = 0; i < 3; i++)
        workers[i] = fake_thread(f, PP_LANE_WORKER, "pool");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t now = FAKE_T0 + b * 20 * FAKE_MS;
        fake_span(f, trainer, PP_PHASE_DATA_WAIT, now, 16 * FAKE_MS)->batch = b;
        fake_span(f, trainer, PP_PHASE_STEP, now + 16 * FAKE_MS, 4 * FAKE_MS)->batch = b;
        for (int i = 0; rests && i < 2; i++)
            fake_span(f, workers[i], PP_PHASE_DISPATCH_WAIT, now + 16 * FAKE_MS, 4 * FAKE_MS);
        for (uint32_t i = 0; i <= made; i++) {
            uint64_t ns = i == made ? 1000 : 4 * FAKE_MS;
            struct pp_span *s = fake_span(f, workers[i == made ? 2 : i % 2], PP_PHASE_TRANSFORM,
                                          now + i / 2 * 4 * FAKE_MS, ns);
            s->batch = PP_NO_BATCH;
            s->cpu_ns = ns;
            s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
        }
    }
    struct pp_source source = fake_source(f);
    source.stated.batch_size = stated;
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    assert_int_equal(pp_costs_read(&source, &tl, &c, &err), expected);
    if (expected != PP_OK)
        assert_non_null(strstr(err.text, "--batch-size 32"));
    pp_timeline_free(&tl);
    fake_free(f);
    return c;
}

static void batches_without_a_size_are_what_is_made_for_them(void **state)
{
    (void)state;
    const struct {
        uint32_t made;
        double stated, batch, per_s;
        int workers, rests;
    } cases[] = {
        {8, 0, 8, 400, 2, 1}, /* eight samples a batch, each 50 times a second */
        {8, 8, 8, 400, 2, 0}, /* as the user says */
        {1, 0, 1, 50, 1, 0},  /* whole batches, by one thread */
        {1, 8, 8, 400, 1, 0}, /* of which the user knows the size */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_costs c = costs_of_another_loader(cases[i].made, cases[i].stated, cases[i].rests, PP_OK);
        assert_near(c.batch_size, cases[i].batch, 1e-6);
        assert_near(c.samples_per_s, cases[i].per_s, 0.01 * cases[i].per_s);
        assert_int_equal(c.workers, cases[i].workers);
        assert_int_equal(c.in_trainer, 0);
        assert_int_equal(c.rests, cases[i].rests);
        pp_costs_free(&c);
    }
    struct pp_costs c = costs_of_another_loader(8, 32, 0, PP_E_USAGE);
    pp_costs_free(&c);
}

/* A job that began between two looks had CPU time before it was looked at. */
static void the_start_of_a_job_is_no_load(void **state)
{
    (void)state;
    struct pp_costs c = costs_of("2", (struct beside){.counted = 1, .start_cpu_s = 4});
    assert_near(c.process_cpus, 1.5, 1e-6);
    pp_costs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_pause_is_no_part_of_steps),
        cmocka_unit_test(a_long_step_is_a_step),
        cmocka_unit_test(a_checkpoint_is_apart),
        cmocka_unit_test(kernels_that_overlap_count_once),
        cmocka_unit_test(calls_that_copy_from_pageable_memory),
        cmocka_unit_test(what_is_not_known_of_copies_is_not_predicted),
        cmocka_unit_test(the_end_of_a_job_is_no_load),
        cmocka_unit_test(the_start_of_a_job_is_no_load),
        cmocka_unit_test(what_hand_overs_may_slow_is_bounded_by_their_cost),
        cmocka_unit_test(a_sample_that_is_a_batch_is_split),
        cmocka_unit_test(samples_without_a_read_are_samples),
        cmocka_unit_test(a_thread_works_stage_by_stage),
        cmocka_unit_test(a_step_has_threads),
        cmocka_unit_test(a_very_busy_machine_is_replayed),
        cmocka_unit_test(batches_without_a_size_are_what_is_made_for_them),
        cmocka_unit_test(what_cannot_be_is_not_taken),
    };
    return cmocka_run_group_tests_name("costs", tests, NULL, NULL);
}
