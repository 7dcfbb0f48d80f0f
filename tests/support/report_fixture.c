#include "tests/support/report_fixture.h"

char *report_text;
size_t report_text_size;

struct pp_report *report_built(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    struct pp_report *r = NULL;
    assert_int_equal(pp_report_from(&source, &r, NULL), PP_OK);
    return r;
}

struct fake_run *report_full_run(int workers)
{
    struct fake_pipeline p = {
        .workers = workers,
        .batches = 70,
        .warmup = 10,
        .batch_size = 8,
        .batches_per_epoch = 30,
        .wait_ns = 30 * FAKE_MS,
        .step_ns = 20 * FAKE_MS,
        .h2d_ns = FAKE_MS,
        .stage = {{PP_PHASE_READ, 9500000, 0.03, 0.01},
                  {PP_PHASE_DECODE, 2500000, 0.97, 0.02},
                  {PP_PHASE_TRANSFORM, 480000, 0.97, 0.02},
                  {PP_PHASE_SLOT_WAIT, 20000, 0.1, 0}},
    };
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "run", "outcome", "finished");
    fake_num(f, "config", "workers", "2", NULL);
    fake_text(f, "chosen", "workers", "auto: one per usable CPU");
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_text(f, "config", "transform", "rrc:224,hflip,normalize=imagenet");
    fake_text(f, "config", "step", "sleep");
    fake_text(f, "config", "dataset", "imagenet/train");
    fake_text(f, "config", "format", "image-folder");
    fake_text(f, "environment", "kernel", "6.1.0-18-amd64");
    fake_text(f, "environment", "cpu_model", "Example CPU @ 3.00GHz");
    fake_num(f, "environment", "usable_cpus", workers > 2 ? "64" : "2",
             NULL); /* that can have done what the spans say */
    fake_num(f, "environment", "memory_bytes", "8589934592", "bytes");
    fake_num(f, "result", "recorder_cpu_ns", "3100000", "ns");
    f->error[0] = (struct pp_error_row){.path = "train/n01440764/caf\xc3\xa9 \x1b[31m.JPEG",
                                        .kind = "corrupt",
                                        .action = "skipped",
                                        .reason = "the JPEG ends after 1,204 of 88,123 bytes",
                                        .count = 3};
    f->error[1] = (struct pp_error_row){.path = "train/n01443537/b.JPEG",
                                        .kind = "transient",
                                        .action = "retried",
                                        .reason = "EIO",
                                        .count = 2};
    f->n_errors = 2;
    f->queue[0] = (struct pp_queue_row){.name = "ready",
                                        .capacity = 4,
                                        .puts = 70,
                                        .gets = 70,
                                        .put_wait_ns = 120000,
                                        .get_wait_ns = 2100 * FAKE_MS,
                                        .mean_depth = 0.21,
                                        .share_empty = 0.83,
                                        .share_full = 0.002};
    f->n_queues = 1;
    f->loss[0].what = "counter samples";
    f->loss[0].why = "the monitor fell behind";
    f->loss[0].count = 2;
    f->loss[1].what = "write_ahead_log"; /* nothing lost, but told */
    f->loss[1].why = "no WAL on this file system";
    f->n_losses = 2;
    f->proof[0] = (struct pp_proof_row){.kind = "fix",
                                        .change = "workers",
                                        .value = "8",
                                        .base = 160,
                                        .predicted = 380,
                                        .predicted_low = 350,
                                        .predicted_high = 400,
                                        .measured = 400,
                                        .measured_low = 391,
                                        .measured_high = 404,
                                        .rounds = 3,
                                        .ballast_cpus = NAN};
    f->proof[1] = (struct pp_proof_row){.kind = "headroom",
                                        .change = "free-input",
                                        .value = "",
                                        .base = 160,
                                        .predicted = 400,
                                        .predicted_low = NAN,
                                        .predicted_high = NAN,
                                        .measured = 388,
                                        .measured_low = NAN,
                                        .measured_high = NAN,
                                        .rounds = 1,
                                        .ballast_cpus = 0.61,
                                        .recording = "run-proof-free-input-1.sqlite"};
    f->n_proofs = 2;
    return f;
}

/* Shapes of a worker's cycle, and of the trainer's, that make a class; `job`: of a program that says nothing
 * of its loader. */
static const struct {
    const char *name;
    int workers, batches, job;
    uint64_t wait_ns, step_ns, sync_ns, h2d_ns;
    struct fake_stage stage[4];
    const char *cpus, *step, *outcome, *pageable;
    double used_cpus; /* 0: not counted */
} classes[REPORT_CLASSES] = {
    {"storage",
     2,
     70,
     0,
     30 * FAKE_MS,
     20 * FAKE_MS,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 9500000, 0.03, 0.01},
      {PP_PHASE_DECODE, 2500000, 0.97, 0.02},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.02}},
     "8",
     "sleep",
     "finished",
     "false",
     0},
    {"too-few-workers",
     1,
     90,
     0,
     30 * FAKE_MS,
     10 * FAKE_MS,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 100000, 0.5, 0.01},
      {PP_PHASE_DECODE, 4400000, 0.97, 0.01},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01}},
     "16",
     "sleep",
     "finished",
     "false",
     0.97},
    {"cpu-saturated",
     2,
     90,
     0,
     30 * FAKE_MS,
     10 * FAKE_MS,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 100000, 0.5, 0.01},
      {PP_PHASE_DECODE, 9400000, 0.97, 0.01},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01}},
     "2",
     "sleep",
     "finished",
     "false",
     0},
    {"interrupted",
     2,
     70,
     0,
     30 * FAKE_MS,
     20 * FAKE_MS,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 9500000, 0.03, 0.01},
      {PP_PHASE_DECODE, 2500000, 0.97, 0.02},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.02}},
     "8",
     "sleep",
     "interrupted",
     "false",
     0},
    {"keeps-up",
     4,
     90,
     0,
     FAKE_MS / 2,
     40 * FAKE_MS,
     0,
     FAKE_MS / 4,
     {{PP_PHASE_READ, 100000, 0.5, 0.01},
      {PP_PHASE_DECODE, 4400000, 0.97, 0.01},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01},
      {PP_PHASE_SLOT_WAIT, 15250000, 0.01, 0}},
     "8",
     "sleep",
     "finished",
     "false",
     0},
    {"ceiling",
     2,
     90,
     0,
     30 * FAKE_MS,
     0,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 100000, 0.5, 0.01},
      {PP_PHASE_DECODE, 6900000, 0.97, 0.01},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01}},
     "8",
     "none",
     "finished",
     "false",
     1.94},
    {"sync",
     4,
     90,
     0,
     FAKE_MS,
     20 * FAKE_MS,
     15 * FAKE_MS,
     FAKE_MS / 2,
     {{PP_PHASE_READ, 100000, 0.5, 0.01},
      {PP_PHASE_DECODE, 4400000, 0.97, 0.01},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01},
      {PP_PHASE_SLOT_WAIT, 13000000, 0.01, 0}},
     "8",
     "sleep",
     "finished",
     "true",
     0},
    {"job",
     2,
     70,
     1,
     30 * FAKE_MS,
     20 * FAKE_MS,
     0,
     FAKE_MS,
     {{PP_PHASE_READ, 9500000, 0.03, 0.01},
      {PP_PHASE_DECODE, 2500000, 0.97, 0.02},
      {PP_PHASE_TRANSFORM, 500000, 0.97, 0.02}},
     "8",
     NULL,
     "finished",
     NULL,
     0},
};

const char *report_class_name(int i)
{
    return classes[i].name;
}

struct fake_run *report_of_class(int i)
{
    struct fake_pipeline p = {.workers = classes[i].workers,
                              .batches = classes[i].batches,
                              .warmup = 10,
                              .batch_size = 8,
                              .batches_per_epoch = 30,
                              .wait_ns = classes[i].wait_ns,
                              .step_ns = classes[i].step_ns,
                              .sync_ns = classes[i].sync_ns,
                              .h2d_ns = classes[i].h2d_ns};
    static char workers[REPORT_CLASSES][8];
    memcpy(p.stage, classes[i].stage, sizeof(classes[i].stage));
    struct fake_run *f = fake_pipeline(&p);
    snprintf(workers[i], sizeof(workers[i]), "%d", classes[i].workers);
    fake_text(f, "run", "outcome", classes[i].outcome);
    fake_num(f, "environment", "usable_cpus", classes[i].cpus, NULL);
    if (classes[i].used_cpus > 0)
        fake_cpu_counters(f, &p, classes[i].used_cpus, 0.05);
    if (classes[i].job) {
        fake_text(f, "run", "command_line", "pipeprobe exec -- python3 train.py --epochs 2");
        return f;
    }
    fake_text(f, "config", "dataset", "imagenet/train");
    fake_text(f, "config", "format", "image-folder");
    fake_num(f, "config", "workers", workers[i], NULL);
    fake_num(f, "config", "prefetch", "4", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_text(f, "config", "step", classes[i].step);
    fake_text(f, "config", "pageable", classes[i].pageable);
    return f;
}
