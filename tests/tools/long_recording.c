/* long_recording FILE SPANS: a recording of that many spans, as a long run of eight workers leaves it,
 * without the run. */
#include "collectors/store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 8, BATCH = 64, TRAINER = 0, COPY = 1, FIRST_WORKER = 2 };
#define MS UINT64_C(1000000)
#define STEP_NS (20 * MS)

struct recording {
    struct pp_store *store;
    uint64_t spans;
    uint32_t random;
};

static uint32_t next_random(struct recording *r)
{
    r->random = r->random * 1664525u + 1013904223u;
    return r->random >> 8;
}

static int put(struct recording *r, uint32_t thread, pp_phase phase, uint64_t start, uint64_t dur,
               uint32_t batch, uint64_t sample)
{
    int count = thread < FIRST_WORKER;
    struct pp_span s = {.start_ns = start,
                        .dur_ns = dur,
                        .phase = (uint8_t)phase,
                        .batch = batch,
                        .sample = sample,
                        .cpu_ns = dur / 2,
                        .run_delay_ns = dur / 16,
                        .epoch = (uint16_t)(batch / 4000),
                        .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (count ? PP_SPAN_COUNT : 0) |
                                 (batch < 32 ? PP_SPAN_WARMUP : 0)};
    r->spans++;
    return pp_store_append(r->store, thread, &s, 1) == PP_OK;
}

static int put_batch(struct recording *r, uint32_t batch)
{
    uint64_t t = 1000 * MS + batch * (STEP_NS + 5 * MS), each = STEP_NS * WORKERS / BATCH;
    int ok = 1;
    for (uint32_t i = 0; i < BATCH; i++) {
        uint32_t thread = FIRST_WORKER + i % WORKERS;
        uint64_t start = t - 30 * MS + i / WORKERS * each, read = each / 8 + next_random(r) % (each / 4),
                 decode = each / 4, transform = each / 8, sample = (uint64_t)batch * BATCH + i;
        ok &= put(r, thread, PP_PHASE_READ, start, read, batch, sample);
        ok &= put(r, thread, PP_PHASE_DECODE, start + read, decode, batch, sample);
        ok &= put(r, thread, PP_PHASE_TRANSFORM, start + read + decode, transform, batch, sample);
    }
    uint64_t wait = MS + next_random(r) % (4 * MS);
    ok &= put(r, FIRST_WORKER, PP_PHASE_COLLATE, t - 8 * MS, 2000, batch, BATCH);
    ok &= put(r, COPY, PP_PHASE_GET_WAIT, t - 7 * MS, 5 * MS, batch, BATCH);
    ok &= put(r, COPY, PP_PHASE_H2D, t - 2 * MS, MS, batch, BATCH);
    ok &= put(r, TRAINER, PP_PHASE_DATA_WAIT, t, wait, batch, BATCH);
    ok &= put(r, TRAINER, PP_PHASE_STEP, t + wait, STEP_NS, batch, BATCH);
    return ok;
}

int main(int argc, char **argv)
{
    struct pp_err err = {0};
    struct recording r = {.random = 1};
    struct pp_store_opts opts = {.path = argc > 1 ? argv[1] : NULL, .force = 1, .max_rows = 1000};
    uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc != 3 || wanted == 0) {
        fputs("usage: long_recording FILE SPANS\n", stderr);
        return 2;
    }
    if (pp_store_create(&opts, &r.store, &err) != PP_OK)
        goto out;
    for (uint32_t i = 0; i < FIRST_WORKER + WORKERS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "pp-worker-%u", i - FIRST_WORKER);
        struct pp_store_thread t = {.id = i,
                                    .lane = i == TRAINER ? PP_LANE_TRAINER
                                            : i == COPY  ? PP_LANE_COPY
                                                         : PP_LANE_WORKER,
                                    .name = i == TRAINER ? "pp-trainer"
                                            : i == COPY  ? "pp-copy"
                                                         : name,
                                    .pid = 1,
                                    .tid = i + 1};
        pp_store_thread(r.store, &t);
    }
    pp_store_meta_num(r.store, "environment", "usable_cpus", WORKERS, NULL);
    for (uint32_t batch = 0; r.spans < wanted && put_batch(&r, batch); batch++)
        if (batch % 64 == 63 && pp_store_commit(r.store, &err) != PP_OK)
            goto out;
    pp_store_meta_text(r.store, "run", "outcome", "finished");
    pp_store_finish(r.store, &err);
out:
    pp_store_close(r.store);
    if (err.code != PP_OK)
        fprintf(stderr, "long_recording: %s\n", err.text);
    return err.code == PP_OK ? 0 : 1;
}
