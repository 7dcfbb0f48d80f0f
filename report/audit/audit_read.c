#include "report/audit/audit_read.h"
#include "report/audit/facts.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/sample_list.h"
#include "probe/ranks/lease_words.h"
#include "report/measure/visit.h"

#define VISIT_COLUMNS \
    (PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_SAMPLE | PP_COLUMN_EPOCH | PP_COLUMN_FLAGS)

/* ---- one recording ---- */

struct pass {
    const struct pp_source *source;
    struct pp_timeline tl;
    struct pp_visit_walk walk;
    struct audit_window *window; /* by number of epoch */
    int any_loss, is_pytorch;
    struct audit_order order; /* of a PyTorch job */
    struct audit_marks marks;
    uint64_t unlisted; /* batches that were taken and that no list has */
    /* feeding one epoch */
    const struct audit_window *only;
    uint16_t epoch;
    pp_audit_use_fn *use;
    void *use_ctx;
    int stopped;
};

static void on_batch(void *ctx, const struct pp_timeline_batch *b)
{
    struct pass *p = ctx;
    uint32_t epoch = p->is_pytorch ? audit_order_epoch(&p->order, b->number) : b->epoch;
    p->unlisted += epoch == AUDIT_UNLISTED;
    if (epoch > UINT16_MAX)
        return;
    struct audit_window *w = &p->window[epoch];
    w->first = !w->taken || b->number < w->first ? b->number : w->first;
    w->last = !w->taken || b->number > w->last ? b->number : w->last;
    w->taken = 1;
}

/* What the loader's row says: "... samples=60 sampler=torch.utils.data.sampler.RandomSampler ...". */
static double told_number(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    double v = at ? strtod(at + strlen(key), NULL) : 0;
    return v > 0 ? v : NAN;
}

/* The timeline, and which spans are visits. A streaming reader does not know batches yet. */
static pp_status begin_pass(struct pass *p, const struct pp_source *source, struct pp_err *err)
{
    p->source = source;
    p->is_pytorch = pp_source_is(source, "source", "pytorch");
    pp_status st = p->is_pytorch ? audit_order_read(source, &p->order, err) : PP_OK;
    if (st == PP_OK)
        st = pp_timeline_build_each(source, &p->tl, p->window ? on_batch : NULL, p, err);
    if (st == PP_OK && !pp_visit_walk_begin(&p->walk, source, &p->tl))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", source->path);
    if (st == PP_OK && pp_source_is(source, "stream", "true") && p->tl.sample_spans[PP_PHASE_DECODE])
        p->walk.phase = PP_PHASE_DECODE;
    return st;
}

static int is_taken(const struct audit_window *w, const struct pp_span *s)
{
    return w->taken && (s->batch == PP_NO_BATCH || (s->batch >= w->first && s->batch <= w->last));
}

static int find_windows(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    size_t at = pp_visit_walk_thread(&p->walk, thread);
    if (p->order.own && p->tl.has_trainer && thread == p->tl.trainer)
        audit_marks_chunk(&p->marks, spans, n);
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        struct audit_window *w = &p->window[s->epoch];
        uint64_t end = s->start_ns + s->dur_ns;
        if (at == SIZE_MAX || !pp_visit_walk_is(&p->walk, at, s) || !is_taken(w, s))
            continue;
        w->from_ns = s->start_ns < w->from_ns ? s->start_ns : w->from_ns;
        w->to_ns = end > w->to_ns ? end : w->to_ns;
    }
    return 0;
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct pass *p = ctx;
    p->any_loss |= count && what && (strcmp(what, "spans") == 0 || strcmp(what, "sample lists") == 0);
}

static double number(const struct pp_source *s, const char *key)
{
    double v = pp_source_number(s, "config", key, NAN);
    return v > 0 ? v : NAN;
}

#define MOST_READS 64 /* times that the recording is read for its epochs: more lie across each other */

static void read_part(struct pass *p, struct pp_audit_part *part)
{
    const struct pp_source *s = p->source;
    const char *section = pp_source_number(s, "rank", "rank", -1) >= 0 ? "rank" : "config";
    double rank = pp_source_number(s, section, "rank", 0),
           world = pp_source_number(s, section, "world_size", 1);
    part->rank = rank >= 0 && rank < 1e9 ? (int64_t)rank : 0;
    part->world_size = world >= 1 && world < 1e9 ? (int64_t)world : 1;
    int streamed = pp_source_is(s, "stream", "true");
    part->samples = streamed ? NAN : number(s, "dataset_samples");
    part->batch_size = number(s, "batch_size");
    part->started_ns = pp_source_number(s, "run", "started_utc_ns", 0);
    part->ended_ns = part->started_ns + (double)(p->tl.last_ns > p->tl.first_ns && p->tl.spans
                                                     ? p->tl.last_ns - p->tl.first_ns
                                                     : 0);
    part->drop_last = pp_source_is(s, "drop_last", "true")    ? 1
                      : pp_source_is(s, "drop_last", "false") ? 0
                                                              : -1;
    part->with_replacement = pp_source_is(s, "sampler", "weighted");
    part->stratified = pp_source_is(s, "sampler", "stratified");
    part->leased = streamed && pp_source_has(s, "lease");
    part->shards = part->leased ? number(s, "stream_shards") : NAN;
    part->numbers_are_local = streamed && !part->leased;
    if (p->order.own) {
        char key[48];
        snprintf(key, sizeof(key), "%lld.%u", (long long)p->order.loader.pid, p->order.loader.loader);
        const char *text = p->source->meta(p->source->ctx, "loader", key);
        part->samples = told_number(text, " samples=");
        part->batch_size = told_number(text, " batch_size=");
        part->drop_last = told_number(text, " drop_last=") == 1 ? 1 : -1;
        part->with_replacement = text &&
                                 (strstr(text, "WeightedRandomSampler") || strstr(text, "(replacement)"));
    }
    double all_ns = (double)(p->tl.last_ns - p->tl.first_ns) + 1, sum_ns = 0;
    for (unsigned e = 0; e <= UINT16_MAX; e++)
        if (p->window[e].taken && p->window[e].to_ns >= p->window[e].from_ns)
            sum_ns += (double)(p->window[e].to_ns - p->window[e].from_ns);
    part->unknown =
        pp_source_is(s, "cached_batches", "true") ? "batches were repeated without reading (--cached-batches)"
        : p->is_pytorch && !p->order.loader.ended
            ? "a recording of a PyTorch job has no list of its samples (an iterable data set, or an older version)"
        : !p->tl.has_trainer || !p->tl.batches
            ? "a recording has no trainer, so that it is not known which batches were used"
        : p->walk.phase == PP_PHASE_NONE && !p->is_pytorch
            ? "no span names a sample, or they were recorded as sums (--detail batch or rollup)"
        : sum_ns > MOST_READS * all_ns ? "the epochs of a recording lie across each other in time"
                                       : NULL;
}

static pp_status list_epochs(struct pass *p, struct pp_audit_file *file, struct pp_err *err)
{
    const char *by = p->source->meta(p->source->ctx, "result", "ended_by");
    int all = by && strcmp(by, "epochs") == 0,
        inside = pp_source_has(p->source, "resume") && /* in the middle of its first epoch */
                 pp_source_number(p->source, "config", "start_position", 1) > 0;
    struct pp_audit_part *part = &file->part;
    size_t n = 0;
    for (unsigned e = 0; e <= UINT16_MAX; e++)
        n += p->window[e].taken != 0;
    part->finished = all;
    part->epochs = calloc(n + 1, sizeof(*part->epochs));
    file->windows = calloc(n + 1, sizeof(*file->windows));
    if (!part->epochs || !file->windows)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the epochs of %s", file->path);
    for (size_t i = 0; i < p->order.n; i++) {
        const struct audit_stretch *s = &p->order.row[i];
        struct audit_window *w = &p->window[s->epoch];
        if (s->other)
            continue;
        w->given += s->samples;
        /* A loop that knows the number of batches asks for no more, and the sampler does not say its end. */
        int is_last = s->ended || (double)w->given >= ceil(part->samples / (double)part->world_size);
        w->ended |= is_last && w->last + 1 == s->end;
    }
    for (unsigned e = 0; e <= UINT16_MAX; e++) {
        const struct audit_window *w = &p->window[e];
        if (!w->taken)
            continue;
        size_t at = part->n_epochs++;
        part->epochs[at] = (struct pp_audit_span){.epoch = (uint16_t)e,
                                                  .begun = at > 0 || !inside,
                                                  .ended = w->ended || (!p->order.own && (at + 1 < n || all)),
                                                  .batches = w->last - w->first + 1,
                                                  .to = p->order.own ? w->last - w->first + 1 : 0,
                                                  .given = w->given,
                                                  .trained = w->trained};
        file->windows[at] = *w;
    }
    return PP_OK;
}

/* ---- leases that it took over ---- */

enum { LEASES_MOST = 1 << 20 };

struct leases {
    struct pp_audit_part *part;
    size_t room;
    int no_memory;
};

static void add_lease(void *ctx, const struct pp_error_row *row)
{
    struct leases *g = ctx;
    struct pp_audit_part *p = g->part;
    struct pp_audit_lease l = {0};
    unsigned long long shard, epoch;
    if (!row->reason || sscanf(row->reason, PP_LEASE_STOLEN_SCAN, &shard, &epoch, l.from) != 3 ||
        epoch > UINT16_MAX || p->n_taken_over == LEASES_MOST)
        return;
    if (!pp_grow(&p->taken_over, &g->room, p->n_taken_over + 1, sizeof(*p->taken_over))) {
        g->no_memory = 1;
        return;
    }
    l.shard = shard;
    l.epoch = (uint16_t)epoch;
    p->taken_over[p->n_taken_over++] = l;
}

/* ---- the files ---- */

pp_status pp_audit_files_add_source(struct pp_audit_files *f, const char *path,
                                    const struct pp_source *source, int stays, struct pp_err *err)
{
    if (!pp_grow(&f->file, &f->room, f->n + 1, sizeof(*f->file)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu recordings", f->n + 1);
    struct pp_audit_file *file = &f->file[f->n];
    *file = (struct pp_audit_file){.path = strdup(path), .source = stays ? source : NULL};
    if (!file->path)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the name of %s", path);
    f->n++;
    struct pass p = {.window = calloc(UINT16_MAX + 1, sizeof(*p.window))};
    const struct pp_wanted wanted = {.columns = VISIT_COLUMNS};
    uint64_t bad = 0;
    if (!p.window)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the epochs of %s", file->path);
    for (unsigned e = 0; e <= UINT16_MAX; e++)
        p.window[e].from_ns = UINT64_MAX, p.window[e].trained = PP_AUDIT_NONE;
    p.marks = (struct audit_marks){.order = &p.order, .window = p.window, .part = &file->part};
    pp_status st = begin_pass(&p, source, err);
    if (st == PP_OK)
        st = source->each_chunk(source->ctx, &wanted, find_windows, &p, &bad, err);
    if (st == PP_OK) {
        read_part(&p, &file->part);
        file->part.file = file->path;
        file->visit_phase = p.walk.phase;
        file->part.by_content = p.is_pytorch;
        file->part.unlisted = p.is_pytorch && p.unlisted;
        file->has_order = p.order.own > 0;
        file->loader = p.order.loader;
        const struct pp_thread_row *rows;
        size_t n = p.source->threads(p.source->ctx, &rows);
        (void)p.source->each_loss(p.source->ctx, on_loss, &p, err);
        for (size_t i = 0; i < n; i++)
            p.any_loss |= rows[i].dropped > 0;
        file->part.incomplete = p.any_loss || p.order.unnumbered || bad ||
                                (p.tl.merged_samples && !p.order.own);
        if (!file->part.unknown)
            st = list_epochs(&p, file, err);
        if (st == PP_OK && p.is_pytorch && p.order.own && !p.order.loader.ended)
            st = audit_prints_read(source, &p.order, &file->part, err);
        if (st == PP_OK) {
            struct leases g = {.part = &file->part};
            pp_status read = file->part.leased ? source->each_error(source->ctx, add_lease, &g, err) : PP_OK;
            st = read == PP_OK && g.no_memory
                     ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the leases of %s", file->path)
                     : read;
        }
    }
    pp_visit_walk_free(&p.walk);
    pp_timeline_free(&p.tl);
    free(p.order.row);
    free(p.window);
    return st;
}

static void drop_last_file(struct pp_audit_files *f)
{
    struct pp_audit_file *file = &f->file[--f->n];
    if (file->is_open)
        pp_source_close(&file->own);
    free(file->path);
    free(file->windows);
    free(file->part.epochs);
    free(file->part.taken_over);
    free(file->part.prints);
}

pp_status pp_audit_files_add(struct pp_audit_files *f, const char *path, struct pp_err *err)
{
    struct pp_source source;
    size_t before = f->n;
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = pp_audit_files_add_source(f, path, &source, 0, err);
    if (st != PP_OK && f->n > before)
        drop_last_file(f);
    pp_source_close(&source);
    return st;
}

void pp_audit_files_free(struct pp_audit_files *f)
{
    while (f->n)
        drop_last_file(f);
    free(f->file);
    *f = (struct pp_audit_files){0};
}

/* ---- feeding ---- */

enum { USES = 512 };

static int feed_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    struct pp_audit_use uses[USES];
    size_t at = pp_visit_walk_thread(&p->walk, thread), k = 0;
    for (size_t i = 0; i < n && at != SIZE_MAX && !p->stopped; i++) {
        const struct pp_span *s = &spans[i];
        if (!pp_visit_walk_is(&p->walk, at, s) || s->epoch != p->epoch || !is_taken(p->only, s))
            continue;
        uses[k++] = (struct pp_audit_use){.sample = s->sample,
                                          .batch = s->batch == PP_NO_BATCH ? UINT32_MAX
                                                                           : s->batch - p->only->first,
                                          .worker = (uint32_t)at};
        if (k == USES) {
            p->stopped = p->use(p->use_ctx, uses, k);
            k = 0;
        }
    }
    if (k && !p->stopped)
        p->stopped = p->use(p->use_ctx, uses, k);
    return p->stopped;
}

/* The lists of an epoch. */
static void feed_order(void *ctx, const struct pp_order_row *o)
{
    struct pass *p = ctx;
    struct pp_sample_list l = {.at = o->list, .end = o->list + o->list_bytes};
    struct pp_audit_use u = {0};
    uint64_t n;
    for (uint32_t b = o->first_batch; o->list && !p->stopped && pp_sample_list_batch(&l, &n); b++) {
        if (b < p->only->first)
            continue;
        u.batch = b - p->only->first;
        while (!p->stopped && pp_sample_list_next(&l, &u.sample))
            p->stopped = p->use(p->use_ctx, &u, 1);
    }
}

static pp_status feed(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                      struct pp_err *err)
{
    struct pp_audit_files *f = ctx;
    struct pp_audit_file *file = &f->file[part];
    struct pass p = {.epoch = epoch, .use = fn, .use_ctx = fn_ctx};
    for (size_t i = 0; i < file->part.n_epochs; i++)
        if (file->part.epochs[i].epoch == epoch)
            p.only = &file->windows[i];
    if (!p.only)
        return PP_OK;
    pp_status st = PP_OK;
    if (!file->source && !file->is_open) {
        st = pp_source_open(file->path, &file->own, err);
        file->is_open = st == PP_OK;
        if (st != PP_OK)
            pp_source_close(&file->own);
    }
    const struct pp_source *source = file->source ? file->source : &file->own;
    if (st == PP_OK && file->has_order) {
        struct pp_order_row only = file->loader;
        only.epoch = epoch;
        st = source->each_order(source->ctx, &only, feed_order, &p, err);
    } else if (st == PP_OK && p.only->from_ns <= p.only->to_ns) { /* else batches without a sample */
        const struct pp_wanted wanted = {.columns = VISIT_COLUMNS,
                                         .from_ns = p.only->from_ns,
                                         .to_ns = p.only->to_ns};
        p.source = source;
        if (!pp_visit_walk_begin(&p.walk, source, &p.tl))
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", file->path);
        p.walk.phase = (pp_phase)file->visit_phase;
        if (st == PP_OK)
            st = source->each_chunk(source->ctx, &wanted, feed_chunk, &p, NULL, err);
        pp_visit_walk_free(&p.walk);
    }
    if (f->n > PP_AUDIT_OPEN && file->is_open) {
        pp_source_close(&file->own);
        file->is_open = 0;
    }
    return st;
}

/* ---- together ---- */

PP_BY_BOTH(by_rank, struct pp_audit_file, part.rank, part.started_ns)

pp_status pp_audit_files_judge(struct pp_audit_files *f, struct pp_audit *out, struct pp_err *err)
{
    struct pp_audit_part *parts = calloc(f->n + 1, sizeof(*parts));
    *out = (struct pp_audit){0};
    if (!parts)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the audit of %zu recordings", f->n);
    if (f->n)
        qsort(f->file, f->n, sizeof(*f->file), by_rank);
    pp_status st = PP_OK;
    for (size_t i = 1; st == PP_OK && i < f->n; i++) {
        const struct pp_audit_part *a = &f->file[i - 1].part, *b = &f->file[i].part;
        if (a->world_size != b->world_size && !(a->by_content && b->by_content))
            st = pp_fail(
                err, PP_E_USAGE,
                "%s is of %lld ranks and %s of %lld: samples are divided differently; audit them apart",
                a->file, (long long)a->world_size, b->file, (long long)b->world_size);
        else if (!isnan(a->samples) && !isnan(b->samples) && a->samples != b->samples)
            st = pp_fail(err, PP_E_USAGE,
                         "%s is of %.0f samples and %s of %.0f: two data sets; audit them apart", a->file,
                         a->samples, b->file, b->samples);
        else if (a->rank == b->rank && b->started_ns < a->ended_ns)
            st = pp_fail(err, PP_E_USAGE,
                         "%s and %s are both of rank %lld at the same time: name one of them", a->file,
                         b->file, (long long)a->rank);
    }
    for (size_t i = 0; i < f->n; i++)
        parts[i] = f->file[i].part;
    if (st == PP_OK)
        st = pp_audit_judge(&(struct pp_audit_input){.parts = parts, .n_parts = f->n, .feed = feed, .ctx = f},
                            out, err);
    free(parts);
    return st;
}
