/* The table of formats, the scan, and the walk that delivers. */
#include "report/export/export.h"
#include "report/export/out.h"
#include "report/export/tracks.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#define ROW(name, help) &pp_export_##name,
const struct pp_exporter *const pp_exporters[] = {PP_EXPORT_FORMATS(ROW) NULL};
#undef ROW

const struct pp_exporter *pp_exporter_by_suffix(const char *path)
{
    const struct pp_exporter *found = NULL;
    size_t n = strlen(path), longest = 0;
    for (size_t i = 0; pp_exporters[i]; i++)
        for (size_t k = 0; k < 3 && pp_exporters[i]->suffixes[k]; k++) {
            const char *suffix = pp_exporters[i]->suffixes[k];
            size_t m = strlen(suffix);
            if (n > m && m > longest && strcmp(path + n - m, suffix) == 0)
                found = pp_exporters[i], longest = m;
        }
    return found;
}

/* ---- the scan: everything of struct pp_export_run ---- */

struct scan {
    struct pp_export_run *run;
    size_t cap_threads, cap_losses;
    int out_of_memory;
};

PP_BY(by_id, struct pp_thread_row, id)

const struct pp_thread_row *pp_scan_thread(const struct pp_export_run *run, uint32_t id)
{
    if (id < run->n_threads && run->threads[id].id == id) /* threads are numbered from 0 */
        return &run->threads[id];
    size_t first = PP_BEFORE(run->n_threads, i, run->threads[i].id < id);
    return first < run->n_threads && run->threads[first].id == id ? &run->threads[first] : NULL;
}

static void see(struct pp_export_run *run, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns < run->origin_ns)
        run->origin_ns = from_ns;
    if (to_ns > run->end_ns)
        run->end_ns = to_ns;
}

/* A name of its own, since those of declared threads belong to the source. */
static int add_thread(struct scan *s, struct pp_thread_row row)
{
    struct pp_export_run *run = s->run;
    char made_up[32];
    if (!pp_grow(&run->threads, &s->cap_threads, run->n_threads + 1, sizeof(*run->threads)))
        return 0;
    if (!row.name || !*row.name) {
        snprintf(made_up, sizeof(made_up), "thread %u", row.id);
        row.name = made_up;
    }
    row.name = strdup(row.name);
    if (!row.name)
        return 0;
    run->threads[run->n_threads++] = row;
    if (run->n_threads > 1 &&
        run->threads[run->n_threads - 2].id > row.id) /* those that a file declares come in order */
        qsort(run->threads, run->n_threads, sizeof(*run->threads), by_id);
    return 1;
}

static int scan_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct scan *s = ctx;
    struct pp_export_run *run = s->run;
    if (!pp_scan_thread(run, thread) && !add_thread(s, (struct pp_thread_row){.id = thread})) {
        s->out_of_memory = 1;
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        see(run, spans[i].start_ns, pp_span_end(&spans[i]));
        if (spans[i].phase == PP_PHASE_COUNTER)
            continue;
        run->phase_spans[spans[i].phase]++;
        run->spans++;
    }
    return 0;
}

static void scan_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct scan *s = ctx;
    see(s->run, t_ns, t_ns);
}

static void scan_error(void *ctx, const struct pp_error_row *e)
{
    scan_counter(ctx, e->t_ns, NULL, 0);
}

static void scan_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct scan *s = ctx;
    struct pp_export_run *run = s->run;
    if (!pp_grow(&run->losses, &s->cap_losses, run->n_losses + 1, sizeof(*run->losses))) {
        s->out_of_memory = 1;
        return;
    }
    struct pp_export_loss *loss = &run->losses[run->n_losses++];
    *loss = (struct pp_export_loss){.what = strdup(what ? what : "?"),
                                    .why = strdup(why ? why : ""),
                                    .count = count};
    s->out_of_memory |= !loss->what || !loss->why;
}

static void scan_gpu(void *ctx, const struct pp_gpu_row *g)
{
    struct scan *s = ctx;
    see(s->run, g->start_ns, g->start_ns + g->dur_ns);
    s->run->gpu_rows++;
}

static void scan_request(void *ctx, const struct pp_request_row *r)
{
    struct scan *s = ctx;
    see(s->run, r->start_ns, r->start_ns + pp_request_row_ns(r));
    s->run->requests++;
}

static void read_meta(struct pp_export_run *run)
{
    const struct pp_source *src = run->source;
    double mono = 0, utc = 0, pinned = 0;
    if (src->meta_num(src->ctx, "run", "started_mono_ns", &mono) && mono > 0) {
        see(run, (uint64_t)mono, (uint64_t)mono);
        run->utc_known = src->meta_num(src->ctx, "run", "started_utc_ns", &utc) && utc > 0;
        if (run->utc_known)
            run->utc_ns = (uint64_t)utc - ((uint64_t)mono - run->origin_ns);
    }
    run->pinned = src->meta_num(src->ctx, "config", "pinned", &pinned) ? pinned != 0 : -1;
    const char *kind = src->meta(src->ctx, "config", "device_kind");
    run->device_rows = kind && (strcmp(kind, "cuda") == 0 || strcmp(kind, "fake") == 0);
    run->device_name = src->meta(src->ctx, "config", "device_name");
    run->recovery = src->meta(src->ctx, "run", "recovery");

    /* "pipeprobe exec -- /usr/bin/python3 train.py" was run in processes of python3; likewise of attach. */
    const char *line = src->meta(src->ctx, "run", "command_line");
    int is_foreign = line && (strncmp(line, "pipeprobe exec ", 15) == 0 ||
                              strncmp(line, "pipeprobe attach ", 17) == 0);
    const char *foreign = is_foreign ? strstr(line, " -- ") : NULL;
    size_t n = foreign ? strcspn(foreign + 4, " ") : 0;
    const char *slash = foreign ? memrchr(foreign + 4, '/', n) : NULL;
    const char *name = slash ? slash + 1 : foreign ? foreign + 4 : "";
    snprintf(run->program, sizeof(run->program), "%.*s", (int)strcspn(name, " "), name);
    if (!*run->program)
        strcpy(run->program, "pipeprobe");
}

pp_status pp_scan(const struct pp_source *src, struct pp_export_run *run, struct pp_err *err)
{
    struct scan s = {.run = run};
    *run = (struct pp_export_run){.source = src, .origin_ns = UINT64_MAX, .pinned = -1};
    const struct pp_thread_row *declared;
    size_t n_declared = src->threads(src->ctx, &declared);
    for (size_t i = 0; i < n_declared; i++)
        if (!add_thread(&s, declared[i]))
            return pp_fail(err, PP_E_NO_MEMORY, "exporting %s: no memory for its %zu threads", src->path,
                           n_declared);
    pp_status st = src->each_chunk(src->ctx, NULL, scan_chunk, &s, &run->damaged_chunks, err);
    if (st == PP_OK)
        st = src->each_error(src->ctx, scan_error, &s, err);
    if (st == PP_OK)
        st = src->each_counter(src->ctx, scan_counter, &s, err);
    if (st == PP_OK && src->each_gpu)
        st = src->each_gpu(src->ctx, scan_gpu, &s, err);
    if (st == PP_OK && src->each_request)
        st = src->each_request(src->ctx, scan_request, &s, err);
    if (st == PP_OK)
        st = src->each_loss(src->ctx, scan_loss, &s, err);
    if (st == PP_OK && run->damaged_chunks)
        scan_loss(&s, "chunks of spans", run->damaged_chunks,
                  "their checksums do not match: the file is damaged");
    if (st == PP_OK && s.out_of_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", src->path);
    if (st != PP_OK)
        return st;
    read_meta(run);
    if (run->origin_ns == UINT64_MAX)
        run->origin_ns = 0;
    /* The chain a batch is followed along; a run without one of the links (no step, a foreign program) is
     * followed along the others. */
    static const pp_phase chain[] = {PP_PHASE_COLLATE, PP_PHASE_H2D, PP_PHASE_STEP};
    pp_phase present[3];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++)
        if (run->phase_spans[chain[i]])
            present[n++] = chain[i];
    for (size_t i = 0; n > 1 && i < n; i++)
        run->phase_flow[present[i]] = i == 0 ? PP_FLOW_START : i == n - 1 ? PP_FLOW_END : PP_FLOW_STEP;
    return PP_OK;
}

void pp_scan_free(struct pp_export_run *run)
{
    for (size_t i = 0; i < run->n_threads; i++)
        free((char *)run->threads[i].name);
    for (size_t i = 0; i < run->n_losses; i++) {
        free(run->losses[i].what);
        free(run->losses[i].why);
    }
    free(run->threads);
    free(run->losses);
    *run = (struct pp_export_run){0};
}

/* ---- the walk ---- */

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

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct pp_span *spans = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (before(&spans[x], &spans[y]))
        return -1;
    if (before(&spans[y], &spans[x]))
        return 1;
    return x < y ? -1 : x > y;
}

/* ---- delivery ---- */

static pp_status deliver_span(struct walk *w, const struct pp_thread_row *thread, const struct pp_span *span)
{
    const struct pp_phase_info *info = pp_phase_info(span->phase);
    const char *interned = span->name ? w->source->name(w->source->ctx, span->name) : NULL;
    struct pp_export_span s = {.span = span, .thread = thread, .end_ns = pp_span_end(span)};
    int ok = 1;
    if (span->phase == PP_PHASE_COUNTER) {
        const struct pp_export_counter c = {.thread = s.thread,
                                            .name = interned ? interned : "counter",
                                            .t_ns = span->start_ns,
                                            .value = (double)span->bytes};
        w->done.counters++;
        return w->to->counter ? w->to->counter(w->self, &c, w->err) : PP_OK;
    }
    if (!interned && !info && !w->unnamed[span->phase] &&
        asprintf(&w->unnamed[span->phase], "phase %u", span->phase) < 0)
        w->unnamed[span->phase] = NULL;
    s.name = interned ? interned : info ? info->name : w->unnamed[span->phase];
    s.name = s.name ? s.name : "?";
    s.key = interned ? 256u + span->name : span->phase;
    s.waits = info && info->kind == PP_KIND_WAIT;
    s.flow = span->batch != PP_NO_BATCH && !w->opts->no_flows ? w->run.phase_flow[span->phase] : PP_FLOW_NONE;
    s.track = pp_tracks_place(&w->tracks[thread - w->run.threads], span->start_ns, s.end_ns, &ok);
    if (!ok)
        return pp_fail(w->err, PP_E_NO_MEMORY, "exporting %s: out of memory", w->source->path);
    w->done.overlapping += s.track > 0;
    w->done.spans++;
    return w->to->span ? w->to->span(w->self, &s, w->err) : PP_OK;
}

/* Spans come in order of their starts; only ranges that enclose others, recorded when they end, need the
 * sort. */
static int walk_chunk(void *ctx, uint32_t id, const struct pp_span *spans, size_t n)
{
    struct walk *w = ctx;
    const struct pp_thread_row *thread = pp_scan_thread(&w->run, id);
    int sorted = 1;
    if (!thread)
        return 0; /* of a thread that began after the scan: the file is being written */
    if (!pp_grow(&w->order, &w->cap_order, n, sizeof(*w->order))) {
        w->status = pp_fail(w->err, PP_E_NO_MEMORY, "exporting %s: no memory for a chunk of %zu spans",
                            w->source->path, n);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        w->order[i] = (uint32_t)i;
        sorted &= i == 0 || !before(&spans[i], &spans[i - 1]);
    }
    if (!sorted)
        qsort_r(w->order, n, sizeof(*w->order), by_start, (void *)spans);
    for (size_t i = 0; i < n && w->status == PP_OK; i++)
        w->status = deliver_span(w, thread, &spans[w->order[i]]);
    if (w->status == PP_OK && w->opts->progress &&
        w->opts->progress(w->opts->progress_ctx, w->done.spans, w->run.spans))
        w->status = pp_fail(w->err, PP_E_INTERRUPTED, "interrupted; the partial export was removed");
    return w->status != PP_OK;
}

static void walk_error(void *ctx, const struct pp_error_row *e)
{
    struct walk *w = ctx;
    w->done.errors++;
    if (w->status == PP_OK && w->to->error)
        w->status = w->to->error(w->self, e, pp_scan_thread(&w->run, e->thread), w->err);
}

static void walk_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    const struct pp_export_counter c = {.name = name, .t_ns = t_ns, .value = value};
    w->done.counters += w->status == PP_OK;
    if (w->status == PP_OK && w->to->counter)
        w->status = w->to->counter(w->self, &c, w->err);
}

static void walk_gpu(void *ctx, const struct pp_gpu_row *row)
{
    struct walk *w = ctx;
    if (w->status != PP_OK)
        return;
    w->status = w->to->gpu(w->self, row, w->err);
    w->done.gpu_rows++;
}

static void walk_request(void *ctx, const struct pp_request_row *row)
{
    struct walk *w = ctx;
    if (w->status != PP_OK)
        return;
    w->status = w->to->request(w->self, row, w->err);
    w->done.requests++;
}

pp_status pp_export_walk(const struct pp_source *source, const struct pp_exporter *to,
                         const struct pp_export_opts *opts, struct pp_export_place *place,
                         struct pp_export_result *result, struct pp_err *err)
{
    struct walk w = {.source = source, .to = to, .opts = opts, .err = err};
    pp_status st = pp_scan(source, &w.run, err), end;
    if (st != PP_OK)
        goto out;
    w.run.to = to;
    w.done.losses = w.run.n_losses;
    w.done.damaged_chunks = w.run.damaged_chunks;
    w.tracks = calloc(w.run.n_threads + 1, sizeof(*w.tracks));
    if (!w.tracks) {
        st = pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", source->path);
        goto out;
    }
    st = to->open(&w.run, place, &w.self, err);
    for (size_t i = 0; i < w.run.n_threads && st == PP_OK && to->thread; i++)
        st = to->thread(w.self, &w.run.threads[i], err);
    if (st == PP_OK)
        st = source->each_error(source->ctx, walk_error, &w, err);
    if (st == PP_OK && w.status == PP_OK)
        st = source->each_counter(source->ctx, walk_counter, &w, err);
    if (st == PP_OK && w.status == PP_OK && to->gpu && source->each_gpu)
        st = source->each_gpu(source->ctx, walk_gpu, &w, err);
    if (st == PP_OK && w.status == PP_OK && to->request && source->each_request_by_start)
        st = source->each_request_by_start(source->ctx, walk_request, &w, err);
    if (st == PP_OK && w.status == PP_OK)
        st = source->each_chunk(source->ctx, NULL, walk_chunk, &w, NULL, err);
    if (w.status != PP_OK)
        st = w.status;
    end = to->close(w.self, st == PP_OK, st == PP_OK ? err : NULL);
    if (st == PP_OK)
        st = end;
out:
    for (size_t i = 0; w.tracks && i < w.run.n_threads; i++)
        free(w.tracks[i].track);
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
