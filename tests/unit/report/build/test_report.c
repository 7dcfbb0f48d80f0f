/* The report model: window, totals, shares and rows, from runs made up in memory whose truth is known. */
#include "tests/support/made_report.h"
#include "report/build/parts.h"

static const struct pp_report_phase *phase(const struct pp_report *r, pp_phase id)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == id)
            return &r->phases[i];
    fail_msg("no phase %d", id);
    return NULL;
}

static void test_window_and_totals(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->batches, 60);
    assert_int_equal(r->samples, 480);
    assert_int_equal(r->window_batches, 50);
    assert_int_equal(r->window_samples, 400);
    assert_int_equal(r->epochs, 1);
    assert_int_equal(r->has_steady_state, 1);
    near(r->window_s, 2.5, 1e-9);
    near(r->samples_per_s, 160, 1e-6);
    near(r->data_wait_share, 0.6, 1e-9);
    near(r->accelerator_utilization_share, 0.4, 1e-9);
    near(r->headroom_samples_per_s, 400, 1e-6);
    near(r->step_mean_ns, 20e6, 1e-3);
    near(r->startup_s, 0.1, 1e-9);
    near(r->first_batch_s, 0.13, 1e-9);
    near(r->duration_s, 3.1, 1e-9);
    near(r->bytes_per_s, 2 * 100000 / 0.010, 0.01 * 2e7);
    near(r->cache_hit_share, 0.5, 0.01); /* clamped: 98 KiB of 100,000 bytes is all of them */
    assert_string_equal(r->outcome, "finished");

    const struct pp_report_phase *wait = phase(r, PP_PHASE_DATA_WAIT);
    assert_int_equal(wait->count, 50);
    assert_int_equal(wait->total_ns, 1500 * FAKE_MS);
    near(wait->share, 0.6, 1e-9);
    near((double)wait->p50_ns, 30e6, 30e6 / 256);
    assert_int_equal(wait->max_ns, 30 * FAKE_MS);
    assert_true(isnan(wait->cpu_share)); /* not measured is not zero */
    const struct pp_report_phase *decode = phase(r, PP_PHASE_DECODE);
    near(decode->share, 0.8, 0.005);
    near(decode->cpu_share, 0.98, 1e-6);
    near(decode->run_delay_share, 0.02, 1e-6);
    near(decode->blocked_share, 0, 1e-6);

    assert_int_equal(r->n_workers, 2);
    near(r->workers[0].busy_share, 1, 0.001);
    near(r->workers[0].cpu_share, 0.902, 0.005);
    near((double)r->workers[1].samples, 250, 1);
    assert_string_equal(r->workers[1].name, "pp-worker-1");
    report_done(r, f);
}

/* Only what is inside the window counts: worker totals never exceed the lane's time. */
static void test_lane_shares_add_up(void **state)
{
    struct fake_pipeline p = base();
    p.stage[3] = (struct fake_stage){PP_PHASE_SLOT_WAIT, 777777, 0, 0};
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    double sum[PP_LANE_COUNT] = {0};
    for (size_t i = 0; i < r->n_phases; i++)
        sum[r->phases[i].lane] += r->phases[i].share;
    near(sum[PP_LANE_WORKER], 1, 0.002);
    near(sum[PP_LANE_TRAINER], 1, 1e-9);
    near(sum[PP_LANE_COPY], 1, 1e-9);
    near(r->workers[0].busy_share + r->workers[0].wait_share, 1, 0.002);
    report_done(r, f);
}

/* 30 of 50 ms of a batch of 8 are waits, in which the workers decode; the rest is steps, a quarter of which
 * lacks a CPU. */
static void test_the_time_of_a_sample_adds_up(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_STEP) {
            f->span[0][i].run_delay_ns = f->span[0][i].dur_ns / 4;
            f->span[0][i].flags |= PP_SPAN_HAS_DELAY | PP_SPAN_HAS_CPU;
        }
    struct pp_report *r = report_of(f);
    double ns[PP_SPENT_KINDS] = {0}, all = 0, share = 0;
    for (size_t i = 0; i < r->n_spent; i++) {
        assert_true(i == 0 || r->spent[i].kind > r->spent[i - 1].kind);
        ns[r->spent[i].kind] = r->spent[i].per_sample_ns;
        all += r->spent[i].per_sample_ns;
        share += r->spent[i].share;
    }
    near(all, 1e9 / r->samples_per_s, 1e-3);
    near(share, 1, 1e-9);
    near(ns[PP_SPENT_STEP], 15e6 / 8, 1);
    near(ns[PP_SPENT_CPU], 5e6 / 8, 1);
    near(ns[PP_SPENT_DECODE], 0.8 * 30e6 / 8, 0.02 * 30e6 / 8);
    near(ns[PP_SPENT_READ] + ns[PP_SPENT_DECODE] + ns[PP_SPENT_TRANSFORM] + ns[PP_SPENT_COLLATE] +
             ns[PP_SPENT_HANDOVER] + ns[PP_SPENT_IDLE] + ns[PP_SPENT_WAIT],
         30e6 / 8, 1);
    report_done(r, f);
}

static void test_epoch_boundaries_are_apart(void **state)
{
    struct fake_pipeline p = base();
    p.batches_per_epoch = 20; /* batches 20 and 40 start an epoch inside the window; 0 is warm-up */
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_spans[0]; i++) {
        struct pp_span *s = &f->span[0][i];
        if (s->phase == PP_PHASE_DATA_WAIT && s->batch != 20 && s->batch != 40 && s->batch != 0)
            s->dur_ns = 0;
    }
    struct pp_report *r = report_of(f);
    near(r->data_wait_share, 0, 1e-12);
    near(r->boundary_s, 0.06, 1e-9);
    assert_int_equal(r->epochs, 3);
    assert_int_equal(r->window_batches, 50);
    assert_string_equal(r->verdict.l0, "not-input-bound");
    report_done(r, f);
}

/* Workers that stay for all epochs already need other advice; a loader without workers, one that is made
 * again for each epoch, and one that does not say, have none that stay. */
static void test_the_advice_for_epochs_knows_whether_workers_stay(void **state)
{
    static const struct {
        const char *num_workers, *persistent_workers, *made_again;
        int stay;
    } rows[] = {{"2", "1", NULL, 1},
                {"2", "0", NULL, 0},
                {"2", NULL, NULL, 0},
                {NULL, "1", NULL, 0},
                {"2", "1", "1", 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 2;
        struct fake_run *f = made(&p, "2");
        if (rows[row].num_workers)
            fake_num(f, "config", "num_workers", rows[row].num_workers, NULL);
        if (rows[row].persistent_workers)
            fake_num(f, "config", "persistent_workers", rows[row].persistent_workers, NULL);
        if (rows[row].made_again)
            fake_num(f, "config", "loader_made_again", rows[row].made_again, NULL);
        for (size_t i = 0; i < f->n_spans[0]; i++)
            if (f->span[0][i].phase == PP_PHASE_DATA_WAIT && f->span[0][i].batch % 2)
                f->span[0][i].dur_ns = 0;
        struct pp_report *r = report_of(f);
        assert_string_equal(r->verdict.l2, "epoch-drain");
        if ((strstr(r->verdict.next_step, "one iteration of the loader") != NULL) != rows[row].stay)
            fail_msg("row %zu: %s", row, r->verdict.next_step);
        report_done(r, f);
    }
}

/* As the loader records it: the wait for an epoch's first batch is an epoch_boundary span. Its batch counts
 * in every rate, with a step or without. */
static void test_first_batches_of_epochs_count(void **state)
{
    for (int step = 0; step < 2; step++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 20;
        struct fake_run *f = made(&p, "2");
        for (size_t i = 0; i < f->n_spans[0]; i++) {
            struct pp_span *s = &f->span[0][i];
            if (s->phase == PP_PHASE_DATA_WAIT && (s->batch == 20 || s->batch == 40))
                s->phase = PP_PHASE_EPOCH_BOUNDARY;
            if (!step && s->phase == PP_PHASE_STEP)
                s->phase = PP_PHASE_USER;
        }
        struct pp_report *r = report_of(f);
        assert_int_equal(r->window_batches, 50);
        near(r->boundary_s, 0.06, 1e-9);
        near(r->samples_per_s, 50 * 8 / r->window_s, 1e-6);
        report_done(r, f);
    }
}

/* Ranges of a foreign program without batch numbers: a batch is what lies between one step and the next. */
static void test_batches_without_numbers(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    struct pp_report *numbered = report_of(f);
    for (size_t i = 0; i < f->n_spans[0]; i++)
        f->span[0][i].batch = PP_NO_BATCH;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->batches, numbered->batches);
    assert_int_equal(r->window_batches, numbered->window_batches);
    near(r->data_wait_share, numbered->data_wait_share, 1e-9);
    assert_string_equal(r->verdict.l0, numbered->verdict.l0);
    pp_report_free(r);
    report_done(numbered, f);
}

/* A data set no larger than a batch: with a step there is no wait inside an epoch to judge, and the verdict
 * says so instead of asking for a longer run; without a step the rate is known all the same. */
static void test_an_epoch_of_one_batch(void **state)
{
    for (int step = 0; step < 2; step++) {
        struct fake_pipeline p = base();
        p.batches_per_epoch = 1;
        struct fake_run *f = made(&p, "2");
        for (size_t i = 0; i < f->n_spans[0]; i++) {
            struct pp_span *s = &f->span[0][i];
            if (s->phase == PP_PHASE_DATA_WAIT)
                s->phase = PP_PHASE_EPOCH_BOUNDARY;
            if (!step && s->phase == PP_PHASE_STEP)
                s->dur_ns = 0;
        }
        struct pp_report *r = report_of(f);
        assert_int_equal(r->window_batches, 50);
        assert_string_equal(r->verdict.l0, "inconclusive");
        assert_int_equal(r->verdict.ceiling, !step);
        assert_int_equal(pp_report_exit_code(r), step ? 3 : 0);
        if (step)
            assert_non_null(strstr(r->verdict.sentence, "an epoch has one batch"));
        report_done(r, f);
    }
}

static void test_a_failed_run_is_not_asked_to_run_longer(void **state)
{
    struct fake_pipeline p = base();
    p.batches = p.warmup;
    struct fake_run *f = made(&p, "2");
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, "outcome") == 0)
            f->meta[i].value = "failed";
    struct pp_report *r = report_of(f);
    assert_string_equal(r->verdict.reason, "the run failed before a steady state was reached");
    assert_null(strstr(r->verdict.next_step, "longer"));
    report_done(r, f);
}

static void test_first_batch_is_never_steady(void **state)
{
    struct fake_pipeline p = base();
    p.warmup = 0;
    struct fake_run *f = made(&p, "2");
    f->span[0][1].dur_ns = 29 * FAKE_MS;
    struct pp_report *r = report_of(f);
    assert_int_equal(r->window_batches, 59);
    report_done(r, f);
}

static void test_whole_run_in_warmup(void **state)
{
    struct fake_pipeline p = base();
    p.warmup = 100;
    struct fake_run *f = made(&p, "2");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->has_steady_state, 0);
    assert_int_equal(r->window_batches, 60);
    near(r->samples_per_s, 160, 1e-6);
    assert_string_equal(r->verdict.l0, "inconclusive");
    assert_string_equal(
        r->verdict.sentence,
        "INCONCLUSIVE: the recording ends before a steady state was reached; measured: 160 samples/s.");
    assert_int_equal(pp_report_exit_code(r), 3);
    report_done(r, f);
}

/* ---- the subject ---- */

/* A verdict is about what was recorded, and says whose pipeline that is. */
static void test_the_subject_is_named(void **state)
{
    static const struct {
        const char *tool, *command, *source, *format, *dataset, *synthetic, *loader;
        enum pp_subject_kind kind;
        const char *subject;
    } rows[] = {
        {"pipeprobe", "pipeprobe run D/train", NULL, "folder", "D/train", "", NULL, PP_SUBJECT_OWN_LOADER,
         "pipeprobe's own loader on D/train"},
        {"pipeprobe", NULL, NULL, "synthetic", "n=3000,size=256x192", "n=3000,size=256x192", NULL,
         PP_SUBJECT_OWN_LOADER, "pipeprobe's own loader on synthetic data"},
        {"pipeprobe", "pipeprobe run --loader pytorch D", NULL, "folder", "D", "", "pytorch",
         PP_SUBJECT_PYTORCH_LOADER, "PyTorch's DataLoader on D"},
        {"pipeprobe", "pipeprobe exec -- /usr/bin/python3.11 -u src/train.py --epochs 2", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- OMP_NUM_THREADS=1 torchrun --nproc=2 main.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job main.py"},
        {"pipeprobe", "pipeprobe exec -- timeout 60s python3 -W ignore train.py -c x.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- flock /tmp/lock taskset -c 0-3 python3 train.py", "nvtx", NULL, NULL,
         NULL, NULL, PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- bash -c uv run train.py --steps 5", "nvtx", NULL, NULL, NULL, NULL,
         PP_SUBJECT_JOB, "the job train.py"},
        {"pipeprobe", "pipeprobe exec -- taskset -c 0 /usr/bin/python3 -c import torch; print(7)", "nvtx",
         NULL, NULL, NULL, NULL, PP_SUBJECT_JOB, "the job python3 -c"},
        {"pipeprobe", "pipeprobe exec -- python3", "nvtx", NULL, NULL, NULL, NULL, PP_SUBJECT_JOB,
         "the job python3"},
        {"pipeprobe", "pipeprobe exec --", "nvtx", NULL, NULL, NULL, NULL, PP_SUBJECT_JOB,
         "the job that pipeprobe exec ran"},
        {"libpipeprobe", "./c_loader run.sqlite", NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_PROGRAM,
         "the program c_loader (libpipeprobe)"},
        {"libpipeprobe", NULL, NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_PROGRAM,
         "a program that records itself (libpipeprobe)"},
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, PP_SUBJECT_UNKNOWN, "the recorded program"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = calloc(1, sizeof(*f));
        const char *text[][3] = {{"run", "tool", rows[i].tool},
                                 {"run", "command_line", rows[i].command},
                                 {"config", "source", rows[i].source},
                                 {"config", "format", rows[i].format},
                                 {"config", "dataset", rows[i].dataset},
                                 {"config", "synthetic", rows[i].synthetic},
                                 {"config", "loader", rows[i].loader}};
        for (size_t k = 0; k < sizeof(text) / sizeof(*text); k++)
            if (text[k][2])
                fake_text(f, text[k][0], text[k][1], text[k][2]);
        struct pp_report *r = report_of(f);
        assert_string_equal(r->subject, rows[i].subject);
        assert_int_equal(r->subject_kind, rows[i].kind);
        report_done(r, f);
    }
}

/* ---- samples, errors, retries ---- */

static struct pp_span *work(struct fake_run *f, uint32_t id, pp_phase ph, uint64_t *t, uint64_t sample,
                            unsigned flags)
{
    struct pp_span *s = fake_span(f, id, ph, *t, FAKE_MS);
    s->sample = sample;
    s->batch = 20;
    s->flags = (uint16_t)flags;
    *t += FAKE_MS;
    return s;
}

static void test_samples_of_a_worker(void **state)
{
    struct fake_pipeline p = base();
    p.workers = 0;
    struct fake_run *f = made(&p, "2");
    uint32_t id = fake_thread(f, PP_LANE_WORKER, "pp-worker-0");
    uint64_t t = FAKE_T0 + 1000 * FAKE_MS;
    for (int i = 0; i < 3; i++) { /* the same index three times in one batch: a dataset of one image */
        work(f, id, PP_PHASE_READ, &t, 7, 0);
        work(f, id, PP_PHASE_DECODE, &t, 7, 0);
    }
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_ERROR); /* fails, is retried, succeeds: one sample */
    work(f, id, PP_PHASE_RETRY, &t, 8, PP_SPAN_RETRY);
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_RETRY);
    work(f, id, PP_PHASE_DECODE, &t, 8, 0);
    work(f, id, PP_PHASE_READ, &t, 9, 0); /* corrupt */
    work(f, id, PP_PHASE_DECODE, &t, 9, PP_SPAN_ERROR);
    work(f, id, PP_PHASE_READ, &t, 10, 0); /* in its place */
    work(f, id, PP_PHASE_DECODE, &t, 10, 0);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->n_workers, 1);
    assert_int_equal(r->workers[0].samples, 5);
    assert_int_equal(r->workers[0].errors, 1);
    assert_int_equal(r->workers[0].retries, 1);
    report_done(r, f);
}

/* Batches that were fetched in one call, and one that was recorded as a whole: the stage that has all samples
 * counts. */
static void test_samples_that_are_counted(void **state)
{
    struct fake_pipeline p = base();
    p.workers = 0;
    struct fake_run *f = made(&p, "2");
    uint32_t id = fake_thread(f, PP_LANE_WORKER, "pp-worker-0");
    uint64_t t = FAKE_T0 + 1000 * FAKE_MS;
    work(f, id, PP_PHASE_READ, &t, 8, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 8, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 8, PP_SPAN_COUNT); /* what it needed had been read before */
    work(f, id, PP_PHASE_TRANSFORM, &t, 5, PP_SPAN_COUNT);
    work(f, id, PP_PHASE_TRANSFORM, &t, 3, 0); /* one sample, its number is 3 */
    work(f, id, PP_PHASE_TRANSFORM, &t, 4, 0);
    struct pp_report *r = report_of(f);
    assert_int_equal(r->workers[0].samples, 23);
    report_done(r, f);
}

static void test_rows(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    f->error[0] = (struct pp_error_row){
        .path = "a.jpg", .kind = "corrupt", .action = "skipped", .reason = "ends early", .count = 1};
    f->error[1] = (struct pp_error_row){
        .path = "b.jpg", .kind = "corrupt", .action = "skipped", .reason = "no SOI", .count = 40};
    f->error[2] = (struct pp_error_row){
        .path = "c.jpg", .kind = "transient", .action = "retried", .reason = "EIO", .count = 2};
    f->n_errors = 3;
    f->queue[0] = (struct pp_queue_row){.name = "ready",
                                        .capacity = 4,
                                        .mean_depth = 1.5,
                                        .share_empty = 0.25};
    f->n_queues = 1;
    fake_num(f, "config", "workers", "2", NULL);
    fake_text(f, "chosen", "workers", "auto: one per usable CPU");
    fake_num(f, "result", "recorder_cpu_ns", "31000000", "ns");
    fake_num(f, "result", "span_cost_ns", "100", "ns");
    struct pp_report *r = report_of(f);
    assert_int_equal(r->errors, 41);
    assert_int_equal(r->n_error_kinds, 2);
    assert_int_equal(r->error_kinds[0].count, 41);
    assert_string_equal(r->error_kinds[0].example_path, "a.jpg");
    assert_int_equal(r->error_kinds[0].files, 2);
    assert_int_equal(r->error_kinds[0].n_examples, 2);
    assert_string_equal(r->error_kinds[0].examples[1].path, "b.jpg");
    assert_string_equal(r->error_kinds[0].examples[1].reason, "no SOI");
    assert_int_equal(r->error_files, 2); /* a retried read is no failure */
    assert_int_equal(r->n_queues, 1);
    assert_string_equal(r->queues[0].name, "ready");
    assert_string_equal(r->config[1].note, "auto: one per usable CPU");
    near(r->overhead_cpu_s, 0.031 + (double)r->spans * 100e-9, 1e-12);
    near(r->overhead_share, r->overhead_cpu_s / (r->duration_s * 2), 1e-12);
    report_done(r, f);
}

/* ---- the stall index, against counting ---- */

static void test_stalled_before(void **state)
{
    struct pp_stall stalls[] = {{10, 20, 0}, {25, 26, 10}, {40, 60, 11}};
    struct pp_timeline tl = {.stalls = stalls, .n_stalls = 3};
    for (int round = 0; round < 2; round++) {
        size_t cursor = 0;
        for (uint64_t step = 0; step < 400; step++) {
            uint64_t t = round ? step * 37 % 80 : step / 5, counted = 0;
            for (uint64_t ns = 0; ns < t; ns++)
                for (int k = 0; k < 3; k++)
                    counted += ns >= stalls[k].start_ns && ns < stalls[k].end_ns;
            assert_int_equal(pp_timeline_stalled_before(&tl, t, &cursor), counted);
        }
    }
}

/* Every stretch, in order of time and out of it: the stalled time before its end without that before its
 * start. */
static void test_stalled_between(void **state)
{
    struct pp_stall stalls[] = {{10, 20, 0}, {25, 26, 10}, {40, 60, 11}};
    struct pp_timeline tl = {.stalls = stalls, .n_stalls = 3}, none = {.n_stalls = 0};
    for (uint64_t stride = 1; stride < 80; stride += 6) {
        size_t cursor = 0, of_none = 0;
        for (uint64_t step = 0; step < 80; step++)
            for (uint64_t from = step * stride % 80, to = from; to <= 80; to++) {
                size_t first = 0, second = 0;
                uint64_t want = pp_timeline_stalled_before(&tl, to, &first) -
                                pp_timeline_stalled_before(&tl, from, &second);
                assert_int_equal(pp_timeline_stalled_between(&tl, from, to, &cursor), want);
                assert_int_equal(pp_timeline_stalled_between(&none, from, to, &of_none), 0);
            }
    }
}

/* A span of an unknown phase or lane, or an open end, must not be more than a loss. */
static void test_strange_spans(void **state)
{
    struct fake_pipeline p = base();
    struct fake_run *f = made(&p, "2");
    fake_span(f, 2, (pp_phase)200, FAKE_T0 + 1000 * FAKE_MS, FAKE_MS);
    fake_span(f, 2, PP_PHASE_READ, UINT64_MAX - 5, 3)->flags = PP_SPAN_UNFINISHED;
    fake_span(f, 0, PP_PHASE_DATA_WAIT, FAKE_T0 + 4000 * FAKE_MS,
              9000 * FAKE_MS); /* for the end of the data: no batch */
    f->thread[3].lane = (pp_lane)99;
    struct pp_report *r = report_of(f);
    near(r->data_wait_share, 0.6, 1e-9);
    assert_int_equal(r->n_workers, 1);
    assert_int_equal(r->n_losses, 1);
    assert_int_equal(r->losses[0].count, 1);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_and_totals),
        cmocka_unit_test(test_lane_shares_add_up),
        cmocka_unit_test(test_the_time_of_a_sample_adds_up),
        cmocka_unit_test(test_epoch_boundaries_are_apart),
        cmocka_unit_test(test_the_advice_for_epochs_knows_whether_workers_stay),
        cmocka_unit_test(test_first_batches_of_epochs_count),
        cmocka_unit_test(test_batches_without_numbers),
        cmocka_unit_test(test_an_epoch_of_one_batch),
        cmocka_unit_test(test_a_failed_run_is_not_asked_to_run_longer),
        cmocka_unit_test(test_first_batch_is_never_steady),
        cmocka_unit_test(test_whole_run_in_warmup),
        cmocka_unit_test(test_the_subject_is_named),
        cmocka_unit_test(test_samples_of_a_worker),
        cmocka_unit_test(test_samples_that_are_counted),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_stalled_before),
        cmocka_unit_test(test_stalled_between),
        cmocka_unit_test(test_strange_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
