#include "report/gpu/gpu.h"

#include "probe/base/array.h"
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

static int room_for_one(struct reading *r, void *array, size_t n, size_t *cap, size_t size)
{
    int ok = pp_grow(array, cap, n + 1, size);
    r->out_of_memory |= !ok;
    return ok;
}

static int is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static void take_row(void *ctx, const struct pp_gpu_row *g)
{
    struct reading *r = ctx;
    struct pp_gpu_rows *to = r->rows;
    uint64_t end_ns = g->start_ns + g->dur_ns;
    if (r->out_of_memory || g->start_ns > r->to_ns || end_ns + MARGIN_NS < r->from_ns)
        return;
    if (is(g->kind, "kernel")) {
        if (room_for_one(r, &to->kernels, to->n_kernels, &r->cap_kernels, sizeof(*to->kernels)))
            to->kernels[to->n_kernels++] = (struct pp_gpu_kernel){.start_ns = g->start_ns,
                                                                  .end_ns = end_ns,
                                                                  .batch = g->batch,
                                                                  .correlation = g->correlation,
                                                                  .thread = NONE};
    } else if (is(g->kind, "memcpy") && !is(g->source, "device")) { /* to the GPU: all that a loader copies */
        if (room_for_one(r, &to->copies, to->n_copies, &r->cap_copies, sizeof(*to->copies)))
            to->copies[to->n_copies++] = (struct pp_gpu_copy){.start_ns = g->start_ns,
                                                              .end_ns = end_ns,
                                                              .bytes = g->bytes,
                                                              .batch = g->batch,
                                                              .pageable = is(g->source, "pageable"),
                                                              .blocking = g->asynchronous == 0};
    } else if (is(g->kind, "sync")) {
        int whole = is(g->name, "context synchronize") || is(g->name, "stream synchronize");
        if (room_for_one(r, &to->syncs, to->n_syncs, &r->cap_syncs, sizeof(*to->syncs)))
            to->syncs[to->n_syncs++] = (struct pp_gpu_sync){.start_ns = g->start_ns,
                                                            .end_ns = end_ns,
                                                            .correlation = g->correlation,
                                                            .thread = NONE,
                                                            .whole = whole};
    } else if (is(g->kind, "api") && g->correlation != NONE) {
        if (room_for_one(r, &to->calls, to->n_calls, &r->cap_calls, sizeof(*to->calls)))
            to->calls[to->n_calls++] = (struct pp_gpu_call){.start_ns = g->start_ns,
                                                            .correlation = g->correlation,
                                                            .thread = g->thread};
    }
}

/* ---- order and joins ---- */

PP_BY(by_kernel_start, struct pp_gpu_kernel, start_ns)
PP_BY(by_sync_start, struct pp_gpu_sync, start_ns)
PP_BY(by_correlation, struct pp_gpu_call, correlation)
PP_BY(by_copy_start, struct pp_gpu_copy, start_ns)
PP_BY_BOTH(by_batch, struct pp_gpu_copy, batch, start_ns)

static void sort_rows(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
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

pp_status pp_gpu_rows_read(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                           struct pp_gpu_rows *out, struct pp_err *err)
{
    struct reading r = {.rows = out, .from_ns = from_ns, .to_ns = to_ns};
    memset(out, 0, sizeof(*out));
    if (!source->each_gpu)
        return PP_OK;
    pp_status st = source->each_gpu(source->ctx, take_row, &r, err);
    if (st != PP_OK)
        return st;
    out->blocking = malloc((out->n_copies + 1) * sizeof(*out->blocking));
    if (r.out_of_memory || !out->blocking)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the GPU activity of %s", source->path);
    for (size_t i = 0; i < out->n_copies; i++)
        if (out->copies[i].blocking)
            out->blocking[out->n_blocking++] = out->copies[i];
    sort_rows(out->blocking, out->n_blocking, sizeof(*out->blocking), by_copy_start);
    sort_rows(out->kernels, out->n_kernels, sizeof(*out->kernels), by_kernel_start);
    sort_rows(out->copies, out->n_copies, sizeof(*out->copies), by_batch);
    sort_rows(out->syncs, out->n_syncs, sizeof(*out->syncs), by_sync_start);
    sort_rows(out->calls, out->n_calls, sizeof(*out->calls), by_correlation);
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
