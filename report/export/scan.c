#include "report/export/scan.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    struct pp_export_run *run;
    size_t cap_threads;
    int out_of_memory;
};

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const struct pp_thread_row *)a)->id, y = ((const struct pp_thread_row *)b)->id;
    return x < y ? -1 : x > y;
}

size_t pp_scan_thread(const struct pp_export_run *run, uint32_t id)
{
    size_t low = 0, high = run->n_threads;
    if (id < run->n_threads && run->threads[id].id == id) /* threads are numbered from 0 */
        return id;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (run->threads[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_threads && run->threads[low].id == id ? low : run->n_threads;
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
    if (run->n_threads == s->cap_threads) {
        size_t cap = s->cap_threads ? s->cap_threads * 2 : 16;
        struct pp_thread_row *more = realloc(run->threads, cap * sizeof(*more));
        if (!more)
            return 0;
        run->threads = more;
        s->cap_threads = cap;
    }
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

static int on_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct scan *s = ctx;
    struct pp_export_run *run = s->run;
    if (pp_scan_thread(run, thread) == run->n_threads &&
        !add_thread(s, (struct pp_thread_row){.id = thread})) {
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

static void on_time(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct scan *s = ctx;
    (void)name, (void)value;
    see(s->run, t_ns, t_ns);
}

static void on_error(void *ctx, const struct pp_error_row *e)
{
    on_time(ctx, e->t_ns, NULL, 0);
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct scan *s = ctx;
    struct pp_export_run *run = s->run;
    struct pp_export_loss *more = realloc(run->losses, (run->n_losses + 1) * sizeof(*more));
    if (more) {
        run->losses = more;
        more[run->n_losses] = (struct pp_export_loss){.what = strdup(what ? what : "?"),
                                                      .why = strdup(why ? why : ""),
                                                      .count = count};
        run->n_losses += more[run->n_losses].what != NULL && more[run->n_losses].why != NULL;
    } else {
        s->out_of_memory = 1;
    }
}

static void on_gpu(void *ctx, const struct pp_gpu_row *g)
{
    struct scan *s = ctx;
    see(s->run, g->start_ns, g->start_ns + g->dur_ns);
    s->run->gpu_rows++;
}

static void on_request(void *ctx, const struct pp_request_row *r)
{
    struct scan *s = ctx;
    see(s->run, r->start_ns, r->start_ns + pp_request_row_ns(r));
    s->run->requests++;
}

/* The chain a batch is followed along; a run without one of the links (no step, a foreign program) is
 * followed along the others. */
static void choose_flow(struct pp_export_run *run)
{
    static const pp_phase chain[] = {PP_PHASE_COLLATE, PP_PHASE_H2D, PP_PHASE_STEP};
    pp_phase present[3];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++)
        if (run->phase_spans[chain[i]])
            present[n++] = chain[i];
    for (size_t i = 0; n > 1 && i < n; i++)
        run->phase_flow[present[i]] = i == 0 ? PP_FLOW_START : i == n - 1 ? PP_FLOW_END : PP_FLOW_STEP;
}

/* "pipeprobe exec -- /usr/bin/python3 train.py" was run in processes of python3; likewise of attach. */
static void name_program(struct pp_export_run *run)
{
    const char *line = run->source->meta(run->source->ctx, "run", "command_line");
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
    name_program(run);
}

static pp_status declared_threads(struct scan *s, struct pp_err *err)
{
    const struct pp_source *src = s->run->source;
    const struct pp_thread_row *rows;
    size_t n = src->threads(src->ctx, &rows);
    for (size_t i = 0; i < n; i++)
        if (!add_thread(s, rows[i]))
            return pp_fail(err, PP_E_NO_MEMORY, "exporting %s: no memory for its %zu threads", src->path, n);
    return PP_OK;
}

pp_status pp_scan(const struct pp_source *src, struct pp_export_run *run, struct pp_err *err)
{
    struct scan s = {.run = run};
    *run = (struct pp_export_run){.source = src, .origin_ns = UINT64_MAX, .pinned = -1};
    pp_status st = declared_threads(&s, err);
    if (st == PP_OK)
        st = src->each_chunk(src->ctx, NULL, on_chunk, &s, &run->damaged_chunks, err);
    if (st == PP_OK)
        st = src->each_error(src->ctx, on_error, &s, err);
    if (st == PP_OK)
        st = src->each_counter(src->ctx, on_time, &s, err);
    if (st == PP_OK && src->each_gpu)
        st = src->each_gpu(src->ctx, on_gpu, &s, err);
    if (st == PP_OK && src->each_request)
        st = src->each_request(src->ctx, on_request, &s, err);
    if (st == PP_OK)
        st = src->each_loss(src->ctx, on_loss, &s, err);
    if (st == PP_OK && run->damaged_chunks)
        on_loss(&s, "chunks of spans", run->damaged_chunks,
                "their checksums do not match: the file is damaged");
    if (st == PP_OK && s.out_of_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", src->path);
    if (st != PP_OK)
        return st;
    read_meta(run);
    if (run->origin_ns == UINT64_MAX)
        run->origin_ns = 0;
    choose_flow(run);
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
