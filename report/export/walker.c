#include "report/export/export.h"
#include "report/export/place.h"
#include "report/export/scan.h"
#include "report/export/tracks.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    const struct pp_source *source;
    const struct pp_exporter *to;
    const struct pp_export_opts *opts;
    struct pp_export_run run;
    void *self;               /* the exporter's */
    struct pp_tracks *tracks; /* per thread of run */
    uint32_t *order;          /* of the spans of one chunk */
    size_t cap_order;
    char *unnamed[256]; /* names made up for phases this version does not know */
    struct pp_export_result done;
    pp_status status;
    struct pp_err *err;
};

/* ---- the order of a chunk: by start, of equal starts the longer (the outer) first ---- */

static int before(const struct pp_span *a, const struct pp_span *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns > b->dur_ns;
}

static int compare(const void *a, const void *b, void *ctx)
{
    const struct pp_span *spans = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (before(&spans[x], &spans[y]))
        return -1;
    if (before(&spans[y], &spans[x]))
        return 1;
    return x < y ? -1 : x > y;
}

/* Laps come in order; only ranges that enclose others, recorded when they end, need the sort. */
static pp_status put_in_order(struct walk *w, const struct pp_span *spans, size_t n)
{
    int sorted = 1;
    if (n > w->cap_order) {
        uint32_t *more = realloc(w->order, n * sizeof(*more));
        if (!more)
            return pp_fail(w->err, PP_E_NO_MEMORY, "exporting %s: no memory for a chunk of %zu spans",
                           w->source->path, n);
        w->order = more;
        w->cap_order = n;
    }
    for (size_t i = 0; i < n; i++) {
        w->order[i] = (uint32_t)i;
        sorted &= i == 0 || !before(&spans[i], &spans[i - 1]);
    }
    if (!sorted)
        qsort_r(w->order, n, sizeof(*w->order), compare, (void *)spans);
    return PP_OK;
}

/* ---- delivery ---- */

static const char *phase_name(struct walk *w, unsigned phase)
{
    const struct pp_phase_info *info = pp_phase_info(phase);
    if (info)
        return info->name;
    if (!w->unnamed[phase] && asprintf(&w->unnamed[phase], "phase %u", phase) < 0)
        w->unnamed[phase] = NULL;
    return w->unnamed[phase] ? w->unnamed[phase] : "?";
}

static pp_status deliver_counter(struct walk *w, const struct pp_export_counter *c)
{
    w->done.counters++;
    return w->to->counter ? w->to->counter(w->self, c, w->err) : PP_OK;
}

static pp_status deliver_span(struct walk *w, size_t thread, const struct pp_span *span)
{
    const struct pp_phase_info *info = pp_phase_info(span->phase);
    const char *interned = span->name ? w->source->name(w->source->ctx, span->name) : NULL;
    struct pp_export_span s = {.span = span, .thread = &w->run.threads[thread], .end_ns = pp_span_end(span)};
    int ok = 1;
    if (span->phase == PP_PHASE_COUNTER)
        return deliver_counter(w, &(struct pp_export_counter){.thread = s.thread,
                                                              .name = interned ? interned : "counter",
                                                              .t_ns = span->start_ns,
                                                              .value = (double)span->bytes});
    s.name = interned ? interned : phase_name(w, span->phase);
    s.key = interned ? 256u + span->name : span->phase;
    s.waits = info && info->kind == PP_KIND_WAIT;
    s.flow = span->batch != PP_NO_BATCH && !w->opts->no_flows ? w->run.phase_flow[span->phase] : PP_FLOW_NONE;
    s.track = pp_tracks_place(&w->tracks[thread], span->start_ns, s.end_ns, &ok);
    if (!ok)
        return pp_fail(w->err, PP_E_NO_MEMORY, "exporting %s: out of memory", w->source->path);
    w->done.overlapping += s.track > 0;
    w->done.spans++;
    return w->to->span ? w->to->span(w->self, &s, w->err) : PP_OK;
}

static int on_chunk(void *ctx, uint32_t id, const struct pp_span *spans, size_t n)
{
    struct walk *w = ctx;
    size_t thread = pp_scan_thread(&w->run, id);
    if (thread == w->run.n_threads)
        return 0; /* of a thread that began after the scan: the file is being written */
    w->status = put_in_order(w, spans, n);
    for (size_t i = 0; i < n && w->status == PP_OK; i++)
        w->status = deliver_span(w, thread, &spans[w->order[i]]);
    if (w->status == PP_OK && w->opts->progress &&
        w->opts->progress(w->opts->progress_ctx, w->done.spans, w->run.spans))
        w->status = pp_fail(w->err, PP_E_INTERRUPTED, "interrupted; the partial export was removed");
    return w->status != PP_OK;
}

static void on_error(void *ctx, const struct pp_error_row *e)
{
    struct walk *w = ctx;
    size_t thread = pp_scan_thread(&w->run, e->thread);
    w->done.errors++;
    if (w->status == PP_OK && w->to->error)
        w->status = w->to->error(w->self, e, thread < w->run.n_threads ? &w->run.threads[thread] : NULL,
                                 w->err);
}

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    if (w->status == PP_OK)
        w->status = deliver_counter(w,
                                    &(struct pp_export_counter){.name = name, .t_ns = t_ns, .value = value});
}

static void on_gpu(void *ctx, const struct pp_gpu_row *row)
{
    struct walk *w = ctx;
    if (w->status != PP_OK)
        return;
    w->status = w->to->gpu(w->self, row, w->err);
    w->done.gpu_rows++;
}

static void on_request(void *ctx, const struct pp_request_row *row)
{
    struct walk *w = ctx;
    if (w->status != PP_OK)
        return;
    w->status = w->to->request(w->self, row, w->err);
    w->done.requests++;
}

static pp_status deliver(struct walk *w)
{
    const struct pp_source *src = w->source;
    pp_status st = PP_OK;
    for (size_t i = 0; i < w->run.n_threads && st == PP_OK && w->to->thread; i++)
        st = w->to->thread(w->self, &w->run.threads[i], w->err);
    if (st == PP_OK)
        st = src->each_error(src->ctx, on_error, w, w->err);
    if (st == PP_OK && w->status == PP_OK)
        st = src->each_counter(src->ctx, on_counter, w, w->err);
    if (st == PP_OK && w->status == PP_OK && w->to->gpu && src->each_gpu)
        st = src->each_gpu(src->ctx, on_gpu, w, w->err);
    if (st == PP_OK && w->status == PP_OK && w->to->request && src->each_request_by_start)
        st = src->each_request_by_start(src->ctx, on_request, w, w->err);
    if (st == PP_OK && w->status == PP_OK)
        st = src->each_chunk(src->ctx, NULL, on_chunk, w, NULL, w->err);
    return w->status != PP_OK ? w->status : st;
}

pp_status pp_export_walk(const struct pp_source *source, const struct pp_exporter *to,
                         const struct pp_export_opts *opts, struct pp_export_place *place,
                         struct pp_export_result *result, struct pp_err *err)
{
    struct walk w = {.source = source, .to = to, .opts = opts, .err = err};
    pp_status st = pp_scan(source, &w.run, err), end;
    if (st != PP_OK)
        goto out;
    w.done.losses = w.run.n_losses;
    w.done.damaged_chunks = w.run.damaged_chunks;
    w.tracks = calloc(w.run.n_threads + 1, sizeof(*w.tracks));
    if (!w.tracks) {
        st = pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", source->path);
        goto out;
    }
    st = to->open(&w.run, place, &w.self, err);
    if (st == PP_OK)
        st = deliver(&w);
    end = to->close(w.self, st == PP_OK, st == PP_OK ? err : NULL);
    if (st == PP_OK)
        st = end;
out:
    for (size_t i = 0; w.tracks && i < w.run.n_threads; i++)
        pp_tracks_free(&w.tracks[i]);
    for (size_t i = 0; i < sizeof(w.unnamed) / sizeof(*w.unnamed); i++)
        free(w.unnamed[i]);
    free(w.tracks);
    free(w.order);
    pp_scan_free(&w.run);
    if (result)
        *result = w.done;
    return st;
}

pp_status pp_export(const struct pp_source *source, const struct pp_exporter *to,
                    const struct pp_export_opts *opts, struct pp_export_result *result, struct pp_err *err)
{
    struct pp_export_place place;
    pp_status st = pp_place_open(&place, opts->out, source->path, opts->force, to->streams, err);
    if (st == PP_OK)
        st = pp_export_walk(source, to, opts, &place, result, err);
    if (st == PP_OK)
        st = pp_place_commit(&place, err);
    pp_place_discard(&place);
    return st;
}
