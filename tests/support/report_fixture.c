#include "tests/support/report_fixture.h"

char *report_text;
size_t report_text_size;

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

const struct pp_report *report_full(void)
{
    static struct pp_report *r; /* lives with the process */
    if (!r) {
        struct fake_run *f = report_full_run(2);
        r = report_of(f);
        fake_free(f);
    }
    return r;
}

/* clang-format off */
#define CPU(ns)                    {PP_PHASE_DECODE, (ns), 0.97, 0.01}, {PP_PHASE_TRANSFORM, 500000, 0.97, 0.01}
#define WARM_READS(decode_ns)      {{PP_PHASE_READ, 100000, 0.5, 0.01}, CPU(decode_ns)}
#define AND_REST(decode_ns, rest_ns) \
                                   {{PP_PHASE_READ, 100000, 0.5, 0.01}, CPU(decode_ns), {PP_PHASE_SLOT_WAIT, (rest_ns), 0.01, 0}}
#define SLOW_READS                 {{PP_PHASE_READ, 9500000, 0.03, 0.01}, {PP_PHASE_DECODE, 2500000, 0.97, 0.02}, \
                                    {PP_PHASE_TRANSFORM, 500000, 0.97, 0.02}}
/* clang-format on */

/* Shapes of a worker's cycle, and of the trainer's, that make a class; times in ms; `job`: of a program that
 * says nothing of its loader. */
static const struct {
    const char *name;
    int workers, batches, job;
    double wait, step, sync, h2d;
    struct fake_stage stage[4];
    const char *cpus, *outcome, *pageable; /* NULL: finished, false */
    double used_cpus;                      /* 0: not counted */
} classes[REPORT_CLASSES] = {
    {"storage", 2, 70, 0, 30, 20, 0, 1, SLOW_READS, "8", NULL, NULL, 0},
    {"too-few-workers", 1, 90, 0, 30, 10, 0, 1, WARM_READS(4400000), "16", NULL, NULL, 0.97},
    {"cpu-saturated", 2, 90, 0, 30, 10, 0, 1, WARM_READS(9400000), "2", NULL, NULL, 0},
    {"interrupted", 2, 70, 0, 30, 20, 0, 1, SLOW_READS, "8", "interrupted", NULL, 0},
    {"keeps-up", 4, 90, 0, 0.5, 40, 0, 0.25, AND_REST(4400000, 15250000), "8", NULL, NULL, 0},
    {"ceiling", 2, 90, 0, 30, 0, 0, 1, WARM_READS(6900000), "8", NULL, NULL, 1.94},
    {"sync", 4, 90, 0, 1, 20, 15, 0.5, AND_REST(4400000, 13000000), "8", NULL, "true", 0},
    {"job", 2, 70, 1, 30, 20, 0, 1, SLOW_READS, "8", NULL, NULL, 0},
};

const char *report_class_name(int i)
{
    return classes[i].name;
}

struct fake_run *report_of_class(int i)
{
    const typeof(classes[0]) *c = &classes[i];
    struct fake_pipeline p = {.workers = c->workers,
                              .batches = c->batches,
                              .warmup = 10,
                              .batch_size = 8,
                              .batches_per_epoch = 30,
                              .wait_ns = (uint64_t)(c->wait * 1e6),
                              .step_ns = (uint64_t)(c->step * 1e6),
                              .sync_ns = (uint64_t)(c->sync * 1e6),
                              .h2d_ns = (uint64_t)(c->h2d * 1e6)};
    static char workers[REPORT_CLASSES][8];
    memcpy(p.stage, c->stage, sizeof(c->stage));
    struct fake_run *f = fake_pipeline(&p);
    snprintf(workers[i], sizeof(workers[i]), "%d", c->workers);
    fake_text(f, "run", "outcome", c->outcome ? c->outcome : "finished");
    fake_num(f, "environment", "usable_cpus", c->cpus, NULL);
    if (c->used_cpus > 0)
        fake_cpu_counters(f, &p, c->used_cpus, 0.05);
    if (c->job) {
        fake_text(f, "run", "command_line", "pipeprobe exec -- python3 train.py --epochs 2");
        return f;
    }
    fake_text(f, "config", "dataset", "imagenet/train");
    fake_text(f, "config", "format", "image-folder");
    fake_num(f, "config", "workers", workers[i], NULL);
    fake_num(f, "config", "prefetch", "4", NULL);
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_text(f, "config", "step", c->step > 0 ? "sleep" : "none");
    fake_text(f, "config", "pageable", c->pageable ? c->pageable : "false");
    return f;
}
