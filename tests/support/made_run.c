#include "tests/support/made_run.h"

static void made_span(struct made_run *r, uint32_t thread, pp_phase phase, uint64_t start, uint64_t dur,
                      uint64_t sample, uint32_t batch, double cpu, double delay, uint16_t flags,
                      uint64_t bytes)
{
    struct pp_span s = {
        .start_ns = start,
        .dur_ns = dur,
        .sample = sample,
        .batch = batch,
        .phase = (uint8_t)phase,
        .bytes = bytes,
        .flags = flags | PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY,
        .cpu_ns = (uint64_t)((double)dur * cpu),
        .run_delay_ns = (uint64_t)((double)dur * delay),
    };
    assert_int_equal(pp_store_append(r->store, thread, &s, 1), PP_OK);
}

static void made_depth(struct made_run *r, uint64_t t, uint64_t depth)
{
    struct pp_span s = {.start_ns = t,
                        .phase = PP_PHASE_COUNTER,
                        .name = 1,
                        .bytes = depth,
                        .sample = PP_NO_SAMPLE,
                        .batch = PP_NO_BATCH};
    assert_int_equal(pp_store_append(r->store, MADE_TRAINER, &s, 1), PP_OK);
}

static int made_stalls(uint64_t t)
{
    return t >= MADE_T0 + MADE_STALL_FROM * MADE_S && t < MADE_T0 + MADE_STALL_TO * MADE_S;
}

static void made_trainer(struct made_run *r, uint64_t until)
{
    for (; r->trainer_at < until; r->batch++) {
        uint64_t wait = (made_stalls(r->trainer_at) ? 60 : 2) * MADE_MS, step = 48 * MADE_MS,
                 t = r->trainer_at;
        r->begins[r->batch] = t;
        uint16_t flags = PP_SPAN_COUNT | (r->batch < 5 ? PP_SPAN_WARMUP : 0);
        made_span(r, MADE_COPY, PP_PHASE_H2D, t, MADE_MS, MADE_BATCH, r->batch, 0.05, 0, flags, 4 << 20);
        made_span(r, MADE_COPY, PP_PHASE_GET_WAIT, t + MADE_MS, wait + step - MADE_MS, MADE_BATCH, r->batch,
                  0, 0, flags, 0);
        made_span(r, MADE_TRAINER,
                  r->batch && r->batch % 400 == 0 ? PP_PHASE_EPOCH_BOUNDARY : PP_PHASE_DATA_WAIT, t, wait,
                  MADE_BATCH, r->batch, 0, 0, flags, 0);
        made_depth(r, t + wait, made_stalls(t) ? 0 : 5);
        made_span(r, MADE_TRAINER, PP_PHASE_STEP, t + wait, step, MADE_BATCH, r->batch, 0.02, 0, flags, 0);
        r->trainer_at += wait + step;
    }
}

/* What the workers prepare at t: the batch after the one that the trainer then has. */
static uint32_t made_batch_at(const struct made_run *r, uint64_t t)
{
    uint32_t b = 0;
    while (b + 1 < r->batch && r->begins[b + 1] <= t)
        b++;
    return b + 1;
}

/* What the worker is in when the recorder looks, in a cycle that began at t. */
static void made_look(struct made_run *r, uint32_t thread, uint64_t look, uint64_t t, uint64_t read,
                      uint64_t sample, uint32_t batch)
{
    static const pp_phase phases[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_SLOT_WAIT};
    uint64_t begins[] = {t, t + read, t + read + 7 * MADE_MS, t + read + 9 * MADE_MS};
    char path[64];
    int p = 3;
    while (begins[p] > look)
        p--;
    snprintf(path, sizeof(path), "/data/imagenet/train/n%08u/n%08u_%u.JPEG", 1440764 + (unsigned)sample % 9,
             1440764 + (unsigned)sample % 9, (unsigned)sample);
    assert_int_equal(
        pp_store_open_phase(r->store, &(struct pp_store_open_phase){.t_ns = look,
                                                                    .thread = thread,
                                                                    .phase = phases[p],
                                                                    .batch = batch,
                                                                    .since_ns = begins[p],
                                                                    .sample = p == 3 ? PP_NO_SAMPLE : sample,
                                                                    .path = p == 3 ? NULL : path}),
        PP_OK);
}

static void made_worker(struct made_run *r, int w, uint64_t until)
{
    uint32_t id = MADE_WORKER0 + (uint32_t)w;
    while (r->at[w] < until) {
        uint64_t t = r->at[w], i = r->sample[w]++ * MADE_WORKERS + (uint64_t)w,
                 read = (made_stalls(t) ? 25 : 4) * MADE_MS; /* 75 and 158 samples/s, as the trainer takes */
        uint32_t batch = made_batch_at(r, t);
        if (w == 1 && i == 6001)
            read = 300 * MADE_MS; /* a straggler */
        made_span(r, id, PP_PHASE_READ, t, read, i, batch, 0.05, 0.01, 0, 100000);
        made_span(r, id, PP_PHASE_DECODE, t + read, 7 * MADE_MS, i, batch, 0.9, 0.08, 0, 600000);
        made_span(r, id, PP_PHASE_TRANSFORM, t + read + 7 * MADE_MS, 2 * MADE_MS, i, batch, 0.95, 0.05, 0,
                  600000);
        made_span(r, id, PP_PHASE_SLOT_WAIT, t + read + 9 * MADE_MS, 6 * MADE_MS, PP_NO_SAMPLE, batch, 0, 0,
                  0, 0);
        r->at[w] = t + read + 15 * MADE_MS;
        if (t <= until - MADE_MS && until - MADE_MS < r->at[w])
            made_look(r, id, until - MADE_MS, t, read, i, batch);
    }
}

static void made_facts(struct pp_store *s)
{
    pp_store_meta_text(s, "run", "tool", "pipeprobe");
    pp_store_meta_num(s, "run", "started_mono_ns", (double)MADE_T0, "ns");
    pp_store_meta_text(s, "config", "dataset", "/data/imagenet/train");
    pp_store_meta_num(s, "config", "workers", MADE_WORKERS, "threads");
    pp_store_meta_num(s, "config", "batch_size", MADE_BATCH, "samples");
    pp_store_meta_num(s, "config", "prefetch", 2, "batches");
    pp_store_meta_text(s, "config", "copy_buffers", "2");
    pp_store_meta_text(s, "environment", "hostname", "a host that is not this one");
    pp_store_meta_num(s, "environment", "usable_cpus", 4, "CPUs");
}

struct made_run *made_begin(void)
{
    struct made_run *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    strcpy(r->dir, "/tmp/pp-made-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->path, sizeof(r->path), "%s/run.sqlite", r->dir);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = r->path}, &r->store, NULL), PP_OK);
    made_facts(r->store);
    pp_store_name(r->store, 1, "queue_ready_batches");
    static const struct {
        pp_lane lane;
        const char *name;
    } threads[] = {
        {PP_LANE_MAIN, "pp-main"},       {PP_LANE_TRAINER, "pp-trainer"}, {PP_LANE_COPY, "pp-copy"},
        {PP_LANE_WORKER, "pp-worker-0"}, {PP_LANE_WORKER, "pp-worker-1"}, {PP_LANE_WORKER, "pp-worker-2"},
    };
    for (uint32_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
        pp_store_thread(r->store, &(struct pp_store_thread){.id = i,
                                                            .lane = threads[i].lane,
                                                            .name = threads[i].name,
                                                            .pid = 1,
                                                            .tid = 1 + (int64_t)i,
                                                            .recorded = 1});
    r->trainer_at = MADE_T0;
    for (int w = 0; w < MADE_WORKERS; w++)
        r->at[w] = MADE_T0;
    return r;
}

/* What the machine's collectors say: 86 % of 4 CPUs, and a disk that reads what the run does. */
static void made_meters(struct made_run *r, int second)
{
    static const struct {
        const char *name;
        double per_s;
    } rows[] = {
        {"machine_cpu_user_ns_total", 3.2e9},      {"machine_cpu_nice_ns_total", 0},
        {"machine_cpu_system_ns_total", 0.24e9},   {"machine_cpu_idle_ns_total", 0.56e9},
        {"machine_cpu_iowait_ns_total", 0},        {"machine_cpu_steal_ns_total", 0},
        {"machine_disk_read_bytes_total", 15.8e6}, {"machine_disk_write_bytes_total", 0.4e6},
        {"machine_net_rx_bytes_total", 0.12e6},    {"machine_net_tx_bytes_total", 0.03e6},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        pp_store_counter(r->store, MADE_T0 + (uint64_t)second * MADE_S + 500 * MADE_MS, rows[i].name,
                         1e12 + rows[i].per_s * second);
}

void made_seconds(struct made_run *r, int from, int to)
{
    for (int s = from; s < to; s++) {
        uint64_t until = MADE_T0 + (uint64_t)(s + 1) * MADE_S;
        made_meters(r, s);
        made_trainer(r, until);
        for (int w = 0; w < MADE_WORKERS; w++)
            made_worker(r, w, until);
        if (s == 40)
            pp_store_error(r->store,
                           &(struct pp_store_error){.t_ns = until - 1,
                                                    .thread = MADE_WORKER0 + 1,
                                                    .batch = 7,
                                                    .sample = 77,
                                                    .path = "train/caf\xc3\xa9 \x1b[31m.JPEG",
                                                    .kind = "corrupt",
                                                    .action = "skipped",
                                                    .reason = "the JPEG ends after 1,204 of 88,123 bytes"});
        if (s == 45)
            made_span(r, MADE_TRAINER, PP_PHASE_CHECKPOINT, until - 400 * MADE_MS, 400 * MADE_MS,
                      PP_NO_SAMPLE, PP_NO_BATCH, 0.5, 0, 0, 0);
        assert_int_equal(pp_store_commit(r->store, NULL), PP_OK);
    }
}

void made_finish(struct made_run *r)
{
    pp_store_meta_num(r->store, "run", "ended_mono_ns", (double)(MADE_T0 + MADE_SECONDS * MADE_S), "ns");
    pp_store_meta_text(r->store, "run", "outcome", "finished");
    assert_int_equal(pp_store_finish(r->store, NULL), PP_OK);
    pp_store_close(r->store);
    r->store = NULL;
}

void made_free(struct made_run *r)
{
    char name[128];
    pp_store_close(r->store);
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
        snprintf(name, sizeof(name), "%s%s", r->path, tails[i]);
        unlink(name);
    }
    rmdir(r->dir);
    free(r);
}
