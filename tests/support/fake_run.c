#include "tests/support/fake_run.h"

void fake_text(struct fake_run *f, const char *section, const char *key, const char *value)
{
    f->meta[f->n_meta++] = (struct fake_meta){section, key, value, NULL, 0};
}

void fake_num(struct fake_run *f, const char *section, const char *key, const char *value, const char *unit)
{
    f->meta[f->n_meta++] = (struct fake_meta){section, key, value, unit, 1};
}

uint32_t fake_thread(struct fake_run *f, pp_lane lane, const char *name)
{
    uint32_t id = (uint32_t)f->n_threads++;
    snprintf(f->name[id], sizeof(f->name[id]), "%s", name);
    f->thread[id] = (struct pp_thread_row){
        .id = id, .lane = lane, .name = f->name[id], .pid = 1, .tid = 1 + id};
    return id;
}

struct pp_span *fake_span(struct fake_run *f, uint32_t thread, pp_phase phase, uint64_t start_ns,
                          uint64_t dur_ns)
{
    if (f->n_spans[thread] == f->room[thread]) {
        f->room[thread] = f->room[thread] ? 2 * f->room[thread] : 64;
        f->span[thread] = realloc(f->span[thread], f->room[thread] * sizeof(struct pp_span));
    }
    struct pp_span *s = &f->span[thread][f->n_spans[thread]++];
    f->thread[thread].recorded++;
    *s = (struct pp_span){.start_ns = start_ns,
                          .dur_ns = dur_ns,
                          .phase = (uint8_t)phase,
                          .sample = PP_NO_SAMPLE,
                          .batch = PP_NO_BATCH};
    return s;
}

void fake_counter(struct fake_run *f, const char *name, uint64_t t_ns, double value)
{
    if (f->n_counters == f->counter_room) {
        f->counter_room = f->counter_room ? 2 * f->counter_room : 64;
        f->counter = realloc(f->counter, f->counter_room * sizeof(*f->counter));
    }
    f->counter[f->n_counters].t_ns = t_ns;
    f->counter[f->n_counters].name = name;
    f->counter[f->n_counters++].value = value;
}

void fake_free(struct fake_run *f)
{
    free(f->counter);
    for (size_t i = 0; i < f->n_threads; i++)
        free(f->span[i]);
    free(f);
}

/* ---- the source ---- */

static const struct fake_meta *fake_find(const struct fake_run *f, const char *section, const char *key)
{
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].section, section) == 0 && strcmp(f->meta[i].key, key) == 0)
            return &f->meta[i];
    return NULL;
}

const char *fake_get(void *ctx, const char *section, const char *key)
{
    const struct fake_meta *m = fake_find(ctx, section, key);
    return m ? m->value : NULL;
}

int fake_get_num(void *ctx, const char *section, const char *key, double *value)
{
    const struct fake_meta *m = fake_find(ctx, section, key);
    if (m && m->numeric)
        *value = atof(m->value);
    return m && m->numeric;
}

pp_status fake_each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].section, section) == 0)
            fn(fn_ctx, f->meta[i].key, f->meta[i].value, f->meta[i].unit, f->meta[i].numeric);
    return PP_OK;
}

size_t fake_threads(void *ctx, const struct pp_thread_row **rows)
{
    struct fake_run *f = ctx;
    *rows = f->thread;
    return f->n_threads;
}

/* The span with the columns that are wanted, and no other. */
static struct pp_span fake_columns(const struct pp_span *s, unsigned columns)
{
    struct pp_span out = {.start_ns = columns & PP_COLUMN_START ? s->start_ns : 0};
#define FAKE_COLUMN(bit, field) out.field = columns & bit ? s->field : 0
    FAKE_COLUMN(PP_COLUMN_PHASE, phase);
    FAKE_COLUMN(PP_COLUMN_DUR, dur_ns);
    FAKE_COLUMN(PP_COLUMN_BATCH, batch);
    FAKE_COLUMN(PP_COLUMN_SAMPLE, sample);
    FAKE_COLUMN(PP_COLUMN_EPOCH, epoch);
    FAKE_COLUMN(PP_COLUMN_BYTES, bytes);
    FAKE_COLUMN(PP_COLUMN_CPU, cpu_ns);
    FAKE_COLUMN(PP_COLUMN_RUN_DELAY, run_delay_ns);
    FAKE_COLUMN(PP_COLUMN_CACHE_HIT, cache_hit_kib);
    FAKE_COLUMN(PP_COLUMN_NAME, name);
    FAKE_COLUMN(PP_COLUMN_FLAGS, flags);
#undef FAKE_COLUMN
    return out;
}

/* n spans of one thread, as much of them as is wanted; chunks outside the time are left out. */
static int fake_hand_on(const struct pp_wanted *wanted, uint32_t thread, const struct pp_span *spans,
                        size_t n, pp_spans_fn *fn, void *fn_ctx)
{
    struct pp_span some[FAKE_CHUNK];
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < n; i++) {
        some[i] = fake_columns(&spans[i], wanted && wanted->columns ? wanted->columns : PP_COLUMNS_ALL);
        first = spans[i].start_ns < first ? spans[i].start_ns : first;
        last = spans[i].start_ns + spans[i].dur_ns > last ? spans[i].start_ns + spans[i].dur_ns : last;
    }
    if (wanted && wanted->thread && *wanted->thread != thread)
        return 0;
    if (wanted && wanted->to_ns && (last < wanted->from_ns || first > wanted->to_ns))
        return 0;
    return fn(fn_ctx, thread, some, n);
}

pp_status fake_each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                          uint64_t *bad_chunks, struct pp_err *err)
{
    struct fake_run *f = ctx;
    size_t at[FAKE_THREADS] = {0};
    int more = 1, stop = 0;
    if (bad_chunks)
        *bad_chunks = f->bad_chunks;
    while (more && !stop) {
        more = 0;
        for (size_t t = 0; t < f->n_threads && !stop; t++) {
            size_t left = f->n_spans[t] - at[t], n = left < FAKE_CHUNK ? left : FAKE_CHUNK;
            if (n)
                stop = fake_hand_on(wanted, (uint32_t)t, f->span[t] + at[t], n, fn, fn_ctx);
            at[t] += n;
            more |= n > 0;
        }
    }
    return PP_OK;
}

pp_status fake_each_error(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_errors; i++)
        fn(fn_ctx, &f->error[i]);
    return PP_OK;
}

static pp_status fake_each_queue(void *ctx, pp_queue_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_queues; i++)
        fn(fn_ctx, &f->queue[i]);
    return PP_OK;
}

pp_status fake_each_loss(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_losses; i++)
        fn(fn_ctx, f->loss[i].what, f->loss[i].count, f->loss[i].why);
    return PP_OK;
}

static pp_status fake_each_proof(void *ctx, pp_proof_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_proofs; i++)
        fn(fn_ctx, &f->proof[i]);
    return PP_OK;
}

static pp_status fake_each_counter(void *ctx, pp_counter_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct fake_run *f = ctx;
    for (size_t i = 0; i < f->n_counters; i++)
        fn(fn_ctx, f->counter[i].t_ns, f->counter[i].name, f->counter[i].value);
    return PP_OK;
}

struct pp_source fake_source(struct fake_run *f)
{
    return (struct pp_source){
        .path = "run.sqlite",
        .ctx = f,
        .meta = fake_get,
        .meta_num = fake_get_num,
        .each_meta = fake_each_meta,
        .threads = fake_threads,
        .each_chunk = fake_each_chunk,
        .each_error = fake_each_error,
        .each_queue = fake_each_queue,
        .each_loss = fake_each_loss,
        .each_proof = fake_each_proof,
        .each_counter = fake_each_counter,
    };
}

/* ---- a whole pipeline ---- */

void fake_resources(struct pp_span *s, const struct fake_stage *g, int off)
{
    if (off)
        return;
    s->flags |= PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    s->cpu_ns = (uint64_t)((double)s->dur_ns * g->cpu);
    s->run_delay_ns = (uint64_t)((double)s->dur_ns * g->delay);
}

struct fake_run *fake_pipeline(const struct fake_pipeline *p)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "pp-trainer"),
             copy = fake_thread(f, PP_LANE_COPY, "pp-copy");
    uint64_t t = FAKE_T0 + 100 * FAKE_MS, end;
    fake_span(f, trainer, PP_PHASE_STARTUP, FAKE_T0, 100 * FAKE_MS);
    for (int b = 0; b < p->batches; b++) {
        uint16_t flags = PP_SPAN_COUNT | (b < p->warmup ? PP_SPAN_WARMUP : 0),
                 epoch = (uint16_t)(p->batches_per_epoch ? b / p->batches_per_epoch : 0);
        const struct {
            pp_phase phase;
            uint64_t ns;
        } part[] = {{PP_PHASE_DATA_WAIT, p->wait_ns},
                    {PP_PHASE_STEP, p->step_ns},
                    {PP_PHASE_DEVICE_SYNC, p->sync_ns}};
        struct pp_span *h2d = fake_span(f, copy, p->copies.phase ? p->copies.phase : PP_PHASE_H2D, t,
                                        p->h2d_ns);
        h2d->batch = (uint32_t)b;
        fake_resources(h2d, &p->copies, p->no_resources || !p->copies.phase);
        fake_span(f, copy, PP_PHASE_GET_WAIT, t + p->h2d_ns,
                  p->wait_ns + p->step_ns + p->sync_ns - p->h2d_ns);
        for (int k = 0; k < 3; k++) {
            if (k == 2 && part[k].ns == 0)
                continue;
            struct pp_span *s = fake_span(f, trainer, part[k].phase, t, part[k].ns);
            s->batch = (uint32_t)b;
            s->epoch = epoch;
            s->flags = flags;
            s->sample = (uint64_t)p->batch_size;
            t += part[k].ns;
        }
    }
    end = t;
    for (int w = 0; w < p->workers; w++) {
        char name[24];
        snprintf(name, sizeof(name), "pp-worker-%d", w);
        uint32_t id = fake_thread(f, PP_LANE_WORKER, name);
        uint64_t sample = (uint64_t)w;
        for (t = FAKE_T0 + 100 * FAKE_MS; t < end; sample += (uint64_t)p->workers)
            for (const struct fake_stage *g = p->stage; g < p->stage + 6 && g->phase; g++) {
                struct pp_span *s = fake_span(f, id, g->phase, t, g->dur_ns);
                s->sample = sample;
                s->batch = (uint32_t)(sample / (uint64_t)p->batch_size);
                fake_resources(s, g, p->no_resources);
                if (g->phase == PP_PHASE_READ) {
                    s->bytes = 100000;
                    s->flags |= PP_SPAN_HAS_CACHE;
                    s->cache_hit_kib = sample % 2 ? 98 : 0; /* 98 KiB are more than 100,000 bytes */
                }
                t += g->dur_ns;
            }
    }
    return f;
}

void fake_cpu_counters(struct fake_run *f, const struct fake_pipeline *p, double own, double others)
{
    uint64_t all = (uint64_t)p->batches * (p->wait_ns + p->step_ns);
    for (int i = 0; i <= 10; i++) {
        uint64_t t = FAKE_T0 + 100 * FAKE_MS + all / 10 * (uint64_t)i;
        double passed = (double)(all / 10) * i;
        fake_counter(f, "process_cpu_ns_total", t, own * passed);
        fake_counter(f, "machine_cpu_user_ns_total", t, (own + others) * passed);
        fake_counter(f, "machine_cpu_system_ns_total", t, 0);
    }
}
