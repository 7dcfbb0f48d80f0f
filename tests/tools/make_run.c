/* make_run FILE [--batches N] [--device host|fake] [--pageable] [--lossy] [--overlap] [--spans N]: a recorded
 * run without a pipeline, written through the store's own writer: two workers, a copy lane, a trainer, queue
 * counters, one error. Every time in it is a simple function of the batch, so that a test can say what an
 * export of it has to hold.
 *
 * batch b starts at T0 + b ms. Worker b % 2: read 0..200 us, decode ..500, transform ..700, collate ..800
 * (us, after the batch's start); copy lane: h2d 800..900; trainer: data_wait 0..900, step 900..1000. */
#include "collectors/store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 1000000000000u /* 1000 s after boot */
#define US 1000u
#define BATCH_NS (1000u * US)
#define BATCH_BYTES (32u * 150528u)
enum { WORKER_0, WORKER_1, COPY, TRAINER, THREADS };

struct options {
    const char *path, *device;
    uint64_t batches;
    int pageable, lossy, overlap;
};

static const struct pp_store_thread threads[THREADS] = {
    {.id = WORKER_0, .lane = PP_LANE_WORKER, .name = "pp-worker-0", .pid = 4242, .tid = 4243},
    {.id = WORKER_1, .lane = PP_LANE_WORKER, .name = "pp-worker-1", .pid = 4242, .tid = 4244},
    {.id = COPY, .lane = PP_LANE_COPY, .name = "pp-copy", .pid = 4242, .tid = 4245},
    {.id = TRAINER, .lane = PP_LANE_TRAINER, .name = "pp-trainer", .pid = 4242, .tid = 4242},
};

struct maker {
    struct pp_store *store;
    struct pp_err err;
    pp_status status;
    struct pp_span pending[THREADS][1024];
    size_t n[THREADS];
};

static void keep(struct maker *m, pp_status st)
{
    if (m->status == PP_OK)
        m->status = st;
}

static void flush(struct maker *m, unsigned thread)
{
    keep(m, pp_store_append(m->store, thread, m->pending[thread], m->n[thread]));
    m->n[thread] = 0;
}

static struct pp_span *add(struct maker *m, unsigned thread, pp_phase phase, uint64_t start_ns,
                           uint64_t end_ns, uint64_t batch)
{
    if (m->n[thread] == sizeof(m->pending[0]) / sizeof(m->pending[0][0]))
        flush(m, thread);
    struct pp_span *s = &m->pending[thread][m->n[thread]++];
    *s = (struct pp_span){.start_ns = start_ns,
                          .dur_ns = end_ns - start_ns,
                          .phase = (uint8_t)phase,
                          .batch = (uint32_t)batch,
                          .sample = PP_NO_SAMPLE,
                          .cpu_ns = (end_ns - start_ns) / 2,
                          .flags = PP_SPAN_HAS_CPU};
    return s;
}

static void add_batch(struct maker *m, const struct options *o, uint64_t b)
{
    uint64_t t = T0 + b * BATCH_NS;
    unsigned worker = (unsigned)(b % 2);
    struct pp_span *s;
    s = add(m, worker, PP_PHASE_READ, t, t + 200 * US, b);
    s->sample = b * 32;
    s->bytes = 110000;
    s->flags |= PP_SPAN_HAS_CACHE;
    s->cache_hit_kib = 107;
    add(m, worker, PP_PHASE_DECODE, t + 200 * US, t + 500 * US, b)->sample = b * 32;
    add(m, worker, PP_PHASE_TRANSFORM, t + 500 * US, t + 700 * US, b)->sample = b * 32;
    add(m, worker, PP_PHASE_COLLATE, t + 700 * US, t + 800 * US, b);
    s = add(m, COPY, PP_PHASE_H2D, t + 800 * US, t + (o->overlap ? 1900 : 900) * US,
            b); /* overlapping: the next begins at 1800 */
    s->bytes = BATCH_BYTES;
    s->sample = 32;
    s->flags |= PP_SPAN_COUNT;
    add(m, TRAINER, PP_PHASE_DATA_WAIT, t, t + 900 * US, b);
    s = add(m, TRAINER, PP_PHASE_STEP, t + 900 * US, t + 1000 * US, b);
    s->sample = 32;
    s->flags |= PP_SPAN_COUNT;
    if (b % 10 == 0)
        keep(m, pp_store_counter(m->store, t, "queue_ready_batches", (double)(b % 4)));
}

static void describe(struct maker *m, const struct options *o)
{
    struct pp_store *s = m->store;
    keep(m, pp_store_meta_text(s, "run", "tool", "pipeprobe"));
    keep(m, pp_store_meta_text(s, "run", "command_line",
                               "pipeprobe run \"a \\ b\"")); /* what a careless exporter would spoil */
    keep(m, pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns"));
    keep(m, pp_store_meta_num(s, "run", "started_utc_ns", 1.7e18, "ns"));
    keep(m, pp_store_meta_text(s, "config", "device_kind", o->device));
    keep(m, pp_store_meta_text(s, "config", "device_name",
                               strcmp(o->device, "fake") == 0 ? "fake device" : "host stand-in"));
    keep(m, pp_store_meta_num(s, "config", "pinned", !o->pageable, NULL));
    keep(m, pp_store_meta_text(s, "environment", "cpu_model", "none"));
    for (unsigned i = 0; i < THREADS; i++)
        keep(m, pp_store_thread(s, &threads[i]));
    keep(m, pp_store_error(s, &(struct pp_store_error){.t_ns = T0 + 250 * US,
                                                       .thread = WORKER_0,
                                                       .batch = 0,
                                                       .sample = 7,
                                                       .path = "a/\"b\", c.jpg",
                                                       .kind = "corrupt",
                                                       .action = "skipped",
                                                       .reason = "the bytes end in the middle"}));
    if (o->lossy)
        keep(m, pp_store_loss(s, "spans", 12, "the ring of pp-worker-1 was full"));
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: make_run FILE [--batches N] [--spans N] [--device host|fake] [--pageable] [--lossy] [--overlap]\n");
    return 2;
}

static int parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.device = "host", .batches = 50};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--batches") == 0 && next)
            o->batches = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--spans") == 0 && next)
            o->batches = strtoull(argv[++i], NULL, 10) / 7; /* a batch has seven */
        else if (strcmp(argv[i], "--device") == 0 && next)
            o->device = argv[++i];
        else if (strcmp(argv[i], "--pageable") == 0)
            o->pageable = 1;
        else if (strcmp(argv[i], "--lossy") == 0)
            o->lossy = 1;
        else if (strcmp(argv[i], "--overlap") == 0)
            o->overlap = 1;
        else if (argv[i][0] != '-' && !o->path)
            o->path = argv[i];
        else
            return 0;
    }
    return o->path != NULL;
}

int main(int argc, char **argv)
{
    static struct maker m;
    struct options o;
    if (!parse(&o, argc, argv))
        return usage();
    /* The plain rows are left out of large files: nothing here reads them, and they take longer than all the
     * rest. */
    m.status = pp_store_create(&(struct pp_store_opts){.path = o.path, .force = 1, .max_rows = 100000},
                               &m.store, &m.err);
    if (m.status == PP_OK)
        describe(&m, &o);
    for (uint64_t b = 0; b < o.batches && m.status == PP_OK; b++)
        add_batch(&m, &o, b);
    for (unsigned i = 0; i < THREADS && m.status == PP_OK; i++)
        flush(&m, i);
    if (m.status == PP_OK)
        keep(&m, pp_store_finish(m.store, &m.err));
    pp_store_close(m.store);
    if (m.status != PP_OK)
        fprintf(stderr, "make_run: %s: %s\n", pp_status_name(m.status), m.err.text);
    return m.status != PP_OK;
}
