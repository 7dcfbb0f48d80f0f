/* A run made up in memory, behind the reader's calls: tests say what each thread did, and the model is
 * computed from that. */
#pragma once

#include "report/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds for many seeds is asked of each in the plain build (test.mk's PLAIN runs what names this), and
 * of every fourth under a sanitizer: it takes four times as long, and looks for what all of them do alike. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SEED_STEP = 4 };
#else
enum { SEED_STEP = 1 };
#endif

enum { FAKE_THREADS = 160, FAKE_META = 64, FAKE_ROWS = 16, FAKE_CHUNK = 7 };

struct fake_meta {
    const char *section, *key, *value, *unit;
    int numeric;
};

struct fake_run {
    struct pp_thread_row thread[FAKE_THREADS];
    char name[FAKE_THREADS][24];
    struct pp_span *span[FAKE_THREADS];
    size_t n_spans[FAKE_THREADS], room[FAKE_THREADS];
    size_t n_threads;
    struct fake_meta meta[FAKE_META];
    size_t n_meta;
    struct pp_error_row error[FAKE_ROWS];
    struct pp_queue_row queue[FAKE_ROWS];
    struct {
        const char *what, *why;
        uint64_t count;
    } loss[FAKE_ROWS];
    size_t n_errors, n_queues, n_losses, n_proofs;
    struct pp_proof_row proof[2];
    struct {
        uint64_t t_ns;
        const char *name;
        double value;
    } * counter;
    size_t n_counters, counter_room;
    uint64_t bad_chunks;
};

void fake_text(struct fake_run *f, const char *section, const char *key, const char *value);
void fake_num(struct fake_run *f, const char *section, const char *key, const char *value, const char *unit);
uint32_t fake_thread(struct fake_run *f, pp_lane lane, const char *name);
struct pp_span *fake_span(struct fake_run *f, uint32_t thread, pp_phase phase, uint64_t start_ns,
                          uint64_t dur_ns);
void fake_counter(struct fake_run *f, const char *name, uint64_t t_ns, double value);
void fake_free(struct fake_run *f);

/* ---- the source ---- */

const char *fake_get(void *ctx, const char *section, const char *key);
int fake_get_num(void *ctx, const char *section, const char *key, double *value);
pp_status fake_each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err);
size_t fake_threads(void *ctx, const struct pp_thread_row **rows);

/* Chunks of all threads take turns, as the drain writes them. */
pp_status fake_each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                          uint64_t *bad_chunks, struct pp_err *err);

pp_status fake_each_error(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err);
pp_status fake_each_loss(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err);
struct pp_source fake_source(struct fake_run *f);

/* ---- a whole pipeline ---- */

#define FAKE_MS UINT64_C(1000000)
#define FAKE_T0 UINT64_C(5000000000)

/* One stage of a worker's cycle over one sample: how long, and what that time was. */
struct fake_stage {
    pp_phase phase;
    uint64_t dur_ns;
    double cpu, delay; /* shares; the rest is blocked */
};

struct fake_pipeline {
    int workers, batches, warmup, batch_size, batches_per_epoch; /* 0: one epoch */
    uint64_t wait_ns, step_ns, sync_ns;                          /* of the trainer, per batch */
    uint64_t h2d_ns;          /* of the copy lane, at the start of each wait; the rest of its time it waits */
    struct fake_stage copies; /* what that time was; without a phase: h2d, and it is not known */
    struct fake_stage
        stage[6];     /* every worker repeats these over the whole run; up to the first without a phase */
    int no_resources; /* spans without CPU and run delay */
};

void fake_resources(struct pp_span *s, const struct fake_stage *g, int off);
struct fake_run *fake_pipeline(const struct fake_pipeline *p);
/* What the system counted over its run: the CPU time of this process, and of the machine with `others` CPUs
 * more. */
void fake_cpu_counters(struct fake_run *f, const struct fake_pipeline *p, double own, double others);
