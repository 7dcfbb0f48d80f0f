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
