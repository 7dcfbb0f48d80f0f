#include "tests/support/export_source.h"

static const char *fx_meta(void *ctx, const char *section, const char *key)
{
    return fake_get(((struct fake_export *)ctx)->run, section, key);
}

static int fx_num(void *ctx, const char *section, const char *key, double *v)
{
    return fake_get_num(((struct fake_export *)ctx)->run, section, key, v);
}

static pp_status fx_each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx,
                              struct pp_err *err)
{
    return fake_each_meta(((struct fake_export *)ctx)->run, section, fn, fn_ctx, err);
}

static size_t fx_threads(void *ctx, const struct pp_thread_row **rows)
{
    return fake_threads(((struct fake_export *)ctx)->run, rows);
}

static const char *fx_name(void *ctx, uint16_t id)
{
    return id < FAKE_NAMES ? ((struct fake_export *)ctx)->name[id] : NULL;
}

struct fx_shift {
    pp_spans_fn *fn;
    void *ctx;
    uint32_t by;
};

static int fx_shifted(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct fx_shift *s = ctx;
    return s->fn(s->ctx, thread + s->by, spans, n);
}

static pp_status fx_each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                               uint64_t *bad_chunks, struct pp_err *err)
{
    struct fake_export *f = ctx;
    return fake_each_chunk(f->run, wanted, fx_shifted, &(struct fx_shift){fn, fn_ctx, f->id_offset},
                           bad_chunks, err);
}

static pp_status fx_each_error(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return fake_each_error(((struct fake_export *)ctx)->run, fn, fn_ctx, err);
}

static pp_status fx_each_counter(void *ctx, pp_counter_fn *fn, void *fn_ctx, struct pp_err *err)
{
    struct fake_export *f = ctx;
    for (size_t i = 0; i < f->n_counters; i++)
        fn(fn_ctx, f->counter[i].t_ns, f->counter[i].name, f->counter[i].value);
    return PP_OK;
}

static pp_status fx_each_gpu(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    struct fake_export *f = ctx;
    for (size_t i = 0; i < f->n_gpu; i++)
        fn(fn_ctx, &f->gpu[i]);
    return PP_OK;
}

static pp_status fx_each_request(void *ctx, pp_request_fn *fn, void *fn_ctx, struct pp_err *err)
{
    struct fake_export *f = ctx;
    for (size_t i = 0; i < f->n_requests; i++)
        fn(fn_ctx, &f->request[i]);
    return PP_OK;
}

static pp_status fx_each_loss(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return fake_each_loss(((struct fake_export *)ctx)->run, fn, fn_ctx, err);
}

struct pp_source fx_source(struct fake_export *f)
{
    return (struct pp_source){.ctx = f,
                              .path = "recorded run",
                              .meta = fx_meta,
                              .meta_num = fx_num,
                              .each_meta = fx_each_meta,
                              .threads = fx_threads,
                              .name = fx_name,
                              .each_chunk = fx_each_chunk,
                              .each_error = fx_each_error,
                              .each_counter = fx_each_counter,
                              .each_gpu = fx_each_gpu,
                              .each_request = fx_each_request,
                              .each_request_by_start = fx_each_request,
                              .each_stack = f->each_stack,
                              .each_loss = fx_each_loss};
}

/* ---- a small run with one of everything ---- */

struct pp_span *fx_span(struct fake_export *f, uint32_t thread, pp_phase phase, uint64_t start_us,
                        uint64_t end_us, uint32_t batch)
{
    struct pp_span *s = fake_span(f->run, thread, phase, FX_T0 + start_us * FX_US,
                                  (end_us - start_us) * FX_US);
    s->batch = batch;
    return s;
}

void fx_begin(struct fake_export *f)
{
    *f = (struct fake_export){.run = calloc(1, sizeof(*f->run))};
    fake_thread(f->run, PP_LANE_WORKER, "pp-worker-0");
    fake_thread(f->run, PP_LANE_COPY, "pp-copy");
    fake_thread(f->run, PP_LANE_TRAINER, "pp-trainer");
    for (size_t i = 0; i < 3; i++) {
        f->run->thread[i].pid = 4242;
        f->run->thread[i].tid = 4300 + (int64_t)i;
    }
    fake_num(f->run, "run", "started_mono_ns", "7000000000", "ns");
    fake_num(f->run, "run", "started_utc_ns", "1700000000000000000", "ns");
}

void fx_batch(struct fake_export *f, uint32_t b)
{
    uint64_t t = b * UINT64_C(1000);
    struct pp_span *s = fx_span(f, FX_WORKER, PP_PHASE_READ, t, t + 200, b);
    s->sample = 10 + b;
    s->bytes = 5000;
    s->flags |= PP_SPAN_HAS_CPU;
    s->cpu_ns = 0;
    fx_span(f, FX_WORKER, PP_PHASE_COLLATE, t + 200, t + 300, b);
    s = fx_span(f, FX_COPY, PP_PHASE_H2D, t + 300, t + 400, b);
    s->bytes = 4096;
    s->sample = 32;
    s->flags |= PP_SPAN_COUNT;
    fx_span(f, FX_TRAINER, PP_PHASE_DATA_WAIT, t, t + 400, b);
    fx_span(f, FX_TRAINER, PP_PHASE_STEP, t + 400, t + 1000, b);
}

void fx_requests(struct fake_export *f)
{
    static const char one[] = "10.0.0.1:443", two[] = "10.0.0.2:443", prefix[] = "s3://b/train";
    static const struct pp_request_row rows[] = {
        {.start_ns = FX_T0 + 10 * FX_US,
         .queue_ns = 5 * FX_US,
         .connect_ns = 20 * FX_US,
         .tls_ns = 30 * FX_US,
         .first_byte_ns = 100 * FX_US,
         .transfer_ns = 45 * FX_US,
         .bytes = 5000,
         .sample = 10,
         .status = 206,
         .flags = PP_REQUEST_ROW_CONNECTED,
         .place = 1,
         .address = one,
         .prefix = prefix},
        {.start_ns = FX_T0 + 50 * FX_US,
         .first_byte_ns = 10 * FX_US,
         .bytes = 7,
         .sample = 11,
         .status = 503,
         .place = 1,
         .address = one,
         .prefix = prefix},
        {.start_ns = FX_T0 + 220 * FX_US,
         .first_byte_ns = 80 * FX_US,
         .transfer_ns = 5 * FX_US,
         .bytes = 100,
         .sample = PP_NO_SAMPLE,
         .epoch = UINT32_MAX,
         .status = 206,
         .attempt = 1,
         .flags = PP_REQUEST_ROW_HEDGE,
         .place = 2,
         .address = two,
         .prefix = prefix},
        {.start_ns = FX_T0 + 400 * FX_US,
         .queue_ns = 60 * FX_US,
         .sample = 12,
         .flags = PP_REQUEST_ROW_DROPPED,
         .address = two},
        {.start_ns = FX_T0 + 500 * FX_US, .resolve_ns = 9 * FX_US, .sample = 12},
    };
    f->request = rows;
    f->n_requests = sizeof(rows) / sizeof(rows[0]);
}

const struct fx_asked fx_asked[FX_ASKED] = {
    {"requests to 10.0.0.1:443", "GET 206", 10, 200, 5000, 0, 0},
    {"requests to 10.0.0.1:443", "queue", 10, 5, 0, 0, 1},
    {"requests to 10.0.0.1:443", "connect", 15, 20, 0, 0, 1},
    {"requests to 10.0.0.1:443", "tls", 35, 30, 0, 0, 1},
    {"requests to 10.0.0.1:443", "first byte", 65, 100, 0, 0, 1},
    {"requests to 10.0.0.1:443", "transfer", 165, 45, 0, 0, 1},
    {"requests to 10.0.0.1:443 (overlapping 1)", "GET 503", 50, 10, 7, 1, 0},
    {"requests to 10.0.0.1:443 (overlapping 1)", "first byte", 50, 10, 0, 0, 1},
    {"requests to 10.0.0.2:443", "GET 206", 220, 85, 100, 0, 0},
    {"requests to 10.0.0.2:443", "first byte", 220, 80, 0, 0, 1},
    {"requests to 10.0.0.2:443", "transfer", 300, 5, 0, 0, 1},
    {"requests to 10.0.0.2:443", "no answer", 400, 60, 0, 0, 0},
    {"requests to 10.0.0.2:443", "queue", 400, 60, 0, 0, 1},
    {"requests", "no answer", 500, 9, 0, 1, 0},
    {"requests", "resolve", 500, 9, 0, 0, 1},
};

void fx_gpu(struct fake_export *f)
{
    /* kind, name, source, target, start, length, bytes, batch, correlation, device, context, stream, thread,
     * asynchronous, result */
    static const struct pp_gpu_row rows[] = {
        {"api", "cuMemcpyHtoDAsync_v2", NULL, NULL, FX_T0 + 310 * FX_US, 5000, 0, 0, 21, FX_NO, FX_NO, FX_NO,
         4301, -1, 0},
        {"memcpy", NULL, "pageable", "device", FX_T0 + 320 * FX_US, 60000, 4096, 0, 21, 1, 3, 13, FX_NO, 1,
         -1},
        {"memcpy", NULL, "device", "pinned", FX_T0 + 330 * FX_US, 0, 7, 0, 22, 1, 3, 13, FX_NO, 1, -1},
        {"memset", NULL, NULL, NULL, FX_T0 + 340 * FX_US, 100, 64, 0, 23, 1, 3, 13, FX_NO, -1, -1},
        {"api", "cuLaunchKernel", NULL, NULL, FX_T0 + 410 * FX_US, 3000, 0, 0, 24, FX_NO, FX_NO, FX_NO, 4302,
         -1, 719},
        {"kernel", "pp_spin", NULL, NULL, FX_T0 + 415 * FX_US, 500000, 0, 0, 24, 0, 3, 14, FX_NO, -1, -1},
        {"sync", "context synchronize", NULL, NULL, FX_T0 + 920 * FX_US, 50000, 0, 0, 25, FX_NO, 3, FX_NO,
         FX_NO, -1, -1},
        {"overhead", "CUPTI buffer flush", NULL, NULL, FX_T0 + 930 * FX_US, 50000, 0, FX_NO, FX_NO, FX_NO,
         FX_NO, FX_NO, FX_NO, -1, -1},
    };
    fake_text(f->run, "config", "device_kind", "cuda");
    fake_text(f->run, "config", "device_name", "a GPU");
    f->gpu = rows;
    f->n_gpu = sizeof(rows) / sizeof(rows[0]);
}

const struct fx_drawn fx_drawn[FX_DRAWN] = {
    {"pp-copy", "pp-copy (CUDA calls)", "cuMemcpyHtoDAsync_v2", "cuda_driver", 310, 5000, 0, 21},
    {"GPU 1: a GPU", "stream 13", "Memcpy HtoD (pageable -> device)", "gpu_memcpy", 320, 60000, 4096, 21},
    {"GPU 1: a GPU", "stream 13", "Memcpy DtoH (device -> pinned)", "gpu_memcpy", 330, 0, 7, 22},
    {"GPU 1: a GPU", "stream 13", "Memset", "gpu_memset", 340, 100, 64, 23},
    {"pp-trainer", "pp-trainer (CUDA calls)", "cuLaunchKernel", "cuda_driver", 410, 3000, 0, 24},
    {"GPU 0: a GPU", "stream 14", "pp_spin", "kernel", 415, 500000, 0, 24},
    {NULL, "CUDA synchronization of context 3", "context synchronize", "cuda_sync", 920, 50000, 0, 0},
    {NULL, "CUPTI overhead", "CUPTI buffer flush", "overhead", 930, 50000, 0, 0},
};

void fx_end(struct fake_export *f)
{
    fake_free(f->run);
}

/* ---- exporting it ---- */

pp_status fx_export(struct fake_export *f, const struct pp_exporter *to, const char *out, int force,
                    struct pp_export_result *r, struct pp_err *err)
{
    struct pp_source source = fx_source(f);
    return pp_export(&source, to, &(struct pp_export_opts){.out = out, .force = force}, r, err);
}

char *fx_slurp(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, got;
    if (!in)
        return NULL;
    do {
        text = realloc(text, n + 65537);
        got = fread(text + n, 1, 65536, in);
        n += got;
    } while (got);
    fclose(in);
    text[n] = '\0';
    if (size)
        *size = n;
    return text;
}

char fx_dir[64];

int fx_set_up(void **state)
{
    snprintf(fx_dir, sizeof(fx_dir), "/tmp/pp-test-export-XXXXXX");
    return mkdtemp(fx_dir) ? 0 : -1;
}

const char *fx_path(const char *name)
{
    static char path[4][128];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", fx_dir, name);
    return p;
}
