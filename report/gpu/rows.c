#include "report/gpu/rows.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MARGIN_NS 1000000000u /* a row of the window may have its copy or its call before it */

struct reading {
    struct pp_gpu_rows *rows;
    size_t cap_kernels, cap_copies, cap_syncs, cap_calls;
    uint64_t from_ns, to_ns;
    int out_of_memory;
};

/* Room for one more; NULL and out_of_memory when there is none. */
static void *more(struct reading *r, void *array, size_t n, size_t *cap, size_t size)
{
    void **a = array;
    if (n == *cap) {
        size_t wanted = *cap ? *cap * 2 : 1024;
        void *grown = realloc(*a, wanted * size);
        if (!grown) {
            r->out_of_memory = 1;
            return NULL;
        }
        *a = grown;
        *cap = wanted;
    }
    return (char *)*a + n * size;
}

static int is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static void add_kernel(struct reading *r, const struct pp_gpu_row *g)
{
    struct pp_gpu_kernel *k = more(r, &r->rows->kernels, r->rows->n_kernels, &r->cap_kernels, sizeof(*k));
    if (!k)
        return;
    *k = (struct pp_gpu_kernel){.start_ns = g->start_ns,
                                .end_ns = g->start_ns + g->dur_ns,
                                .batch = g->batch,
                                .correlation = g->correlation,
                                .thread = NONE};
    r->rows->n_kernels++;
}

static void add_copy(struct reading *r, const struct pp_gpu_row *g)
{
    struct pp_gpu_copy *c = more(r, &r->rows->copies, r->rows->n_copies, &r->cap_copies, sizeof(*c));
    if (!c)
        return;
    *c = (struct pp_gpu_copy){.start_ns = g->start_ns,
                              .end_ns = g->start_ns + g->dur_ns,
                              .bytes = g->bytes,
                              .batch = g->batch,
                              .pageable = is(g->source, "pageable"),
                              .blocking = g->asynchronous == 0};
    r->rows->n_copies++;
}

static void add_sync(struct reading *r, const struct pp_gpu_row *g)
{
    struct pp_gpu_sync *s = more(r, &r->rows->syncs, r->rows->n_syncs, &r->cap_syncs, sizeof(*s));
    if (!s)
        return;
    *s = (struct pp_gpu_sync){.start_ns = g->start_ns,
                              .end_ns = g->start_ns + g->dur_ns,
                              .correlation = g->correlation,
                              .thread = NONE,
                              .whole = is(g->name, "context synchronize") ||
                                       is(g->name, "stream synchronize")};
    r->rows->n_syncs++;
}

static void add_call(struct reading *r, const struct pp_gpu_row *g)
{
    struct pp_gpu_call *c = more(r, &r->rows->calls, r->rows->n_calls, &r->cap_calls, sizeof(*c));
    if (!c)
        return;
    *c = (struct pp_gpu_call){.start_ns = g->start_ns, .correlation = g->correlation, .thread = g->thread};
    r->rows->n_calls++;
}

static void on_row(void *ctx, const struct pp_gpu_row *g)
{
    struct reading *r = ctx;
    if (r->out_of_memory || g->start_ns > r->to_ns || g->start_ns + g->dur_ns + MARGIN_NS < r->from_ns)
        return;
    if (is(g->kind, "kernel"))
        add_kernel(r, g);
    else if (is(g->kind, "memcpy") && !is(g->source, "device")) /* to the GPU: all that a loader copies */
        add_copy(r, g);
    else if (is(g->kind, "sync"))
        add_sync(r, g);
    else if (is(g->kind, "api") && g->correlation != NONE)
        add_call(r, g);
}

/* ---- order and joins ---- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_kernel_start(const void *a, const void *b)
{
    return COMPARE(((const struct pp_gpu_kernel *)a)->start_ns, ((const struct pp_gpu_kernel *)b)->start_ns);
}

static int by_sync_start(const void *a, const void *b)
{
    return COMPARE(((const struct pp_gpu_sync *)a)->start_ns, ((const struct pp_gpu_sync *)b)->start_ns);
}

static int by_correlation(const void *a, const void *b)
{
    return COMPARE(((const struct pp_gpu_call *)a)->correlation,
                   ((const struct pp_gpu_call *)b)->correlation);
}

static int by_batch(const void *a, const void *b)
{
    const struct pp_gpu_copy *x = a, *y = b;
    return x->batch != y->batch ? COMPARE(x->batch, y->batch) : COMPARE(x->start_ns, y->start_ns);
}

static int by_copy_start(const void *a, const void *b)
{
    return COMPARE(((const struct pp_gpu_copy *)a)->start_ns, ((const struct pp_gpu_copy *)b)->start_ns);
}

static void sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n)
        qsort(array, n, size, compare);
}

static const struct pp_gpu_call *call_of(const struct pp_gpu_rows *rows, uint32_t correlation)
{
    const struct pp_gpu_call key = {.correlation = correlation};
    return rows->n_calls && correlation != NONE
               ? bsearch(&key, rows->calls, rows->n_calls, sizeof(key), by_correlation)
               : NULL;
}

/* unknown: what a thread without a lane is. */
static int is_trainer(const struct pp_thread_row *rows, size_t n, uint32_t os_thread, int unknown)
{
    int is = unknown;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].tid != (int64_t)os_thread)
            continue;
        if (rows[i].lane == PP_LANE_TRAINER)
            return 1;
        is = 0;
    }
    return is;
}

/* Who launched each kernel and when, who waited. A kernel whose launch is not known may be the trainer's. */
static void join_calls(const struct pp_source *source, struct pp_gpu_rows *rows)
{
    const struct pp_thread_row *threads;
    size_t n_threads = source->threads(source->ctx, &threads);
    double from;
    int of_job = source->meta_num(source->ctx, "gpu", "from_ns", &from);
    for (size_t i = 0; i < rows->n_kernels; i++) {
        struct pp_gpu_kernel *k = &rows->kernels[i];
        const struct pp_gpu_call *c = call_of(rows, k->correlation);
        if (c) {
            k->launch_ns = c->start_ns;
            k->thread = c->thread;
        }
        k->trainer = !c || is_trainer(threads, n_threads, k->thread, of_job);
    }
    for (size_t i = 0; i < rows->n_syncs; i++) {
        const struct pp_gpu_call *c = call_of(rows, rows->syncs[i].correlation);
        if (c)
            rows->syncs[i].thread = c->thread;
    }
}

static int keep_blocking(struct pp_gpu_rows *rows)
{
    rows->blocking = malloc((rows->n_copies + 1) * sizeof(*rows->blocking));
    for (size_t i = 0; rows->blocking && i < rows->n_copies; i++)
        if (rows->copies[i].blocking)
            rows->blocking[rows->n_blocking++] = rows->copies[i];
    sort(rows->blocking, rows->n_blocking, sizeof(*rows->blocking), by_copy_start);
    return rows->blocking != NULL;
}

pp_status pp_gpu_rows_read(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                           struct pp_gpu_rows *out, struct pp_err *err)
{
    struct reading r = {.rows = out, .from_ns = from_ns, .to_ns = to_ns};
    memset(out, 0, sizeof(*out));
    if (!source->each_gpu)
        return PP_OK;
    pp_status st = source->each_gpu(source->ctx, on_row, &r, err);
    if (st == PP_OK && (r.out_of_memory || !keep_blocking(out)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the GPU activity of %s", source->path);
    if (st != PP_OK)
        return st;
    sort(out->kernels, out->n_kernels, sizeof(*out->kernels), by_kernel_start);
    sort(out->copies, out->n_copies, sizeof(*out->copies), by_batch);
    sort(out->syncs, out->n_syncs, sizeof(*out->syncs), by_sync_start);
    sort(out->calls, out->n_calls, sizeof(*out->calls), by_correlation);
    join_calls(source, out);
    return PP_OK;
}

void pp_gpu_rows_free(struct pp_gpu_rows *rows)
{
    free(rows->kernels);
    free(rows->copies);
    free(rows->blocking);
    free(rows->syncs);
    free(rows->calls);
    memset(rows, 0, sizeof(*rows));
}

int pp_gpu_copy_of(const struct pp_gpu_rows *rows, uint32_t batch, uint64_t *from_ns, uint64_t *to_ns)
{
    size_t low = 0, high = rows->n_copies;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->copies[middle].batch < batch)
            low = middle + 1;
        else
            high = middle;
    }
    if (batch == NONE || low == rows->n_copies || rows->copies[low].batch != batch)
        return 0;
    *from_ns = rows->copies[low].start_ns;
    *to_ns = 0;
    for (size_t i = low; i < rows->n_copies && rows->copies[i].batch == batch; i++)
        *to_ns = rows->copies[i].end_ns > *to_ns ? rows->copies[i].end_ns : *to_ns;
    return 1;
}
