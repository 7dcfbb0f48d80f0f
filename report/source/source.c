#include "report/source/source.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

/* A recording, or the part of it between two moments. */
struct opened {
    struct pp_reader *reader;
    int part;
    uint64_t from_ns, to_ns;
    struct pp_thread_row *threads; /* of a part: without what was lost elsewhere */
    size_t n_threads;
};

/* What stands for the whole run says nothing of a part: its totals are absent, and it begins and ends where
 * the part does. */
static const char *meta(void *ctx, const char *section, const char *key)
{
    const struct opened *o = ctx;
    return o->part && strcmp(section, "result") == 0 ? NULL : pp_reader_meta(o->reader, section, key);
}

static int meta_num(void *ctx, const char *section, const char *key, double *value)
{
    const struct opened *o = ctx;
    int starts = strcmp(key, "started_mono_ns") == 0, ends = strcmp(key, "ended_mono_ns") == 0;
    if (o->part && strcmp(section, "result") == 0)
        return 0;
    if (o->part && strcmp(section, "run") == 0 && (starts || ends)) {
        *value = (double)(starts ? o->from_ns : o->to_ns);
        return 1;
    }
    return pp_reader_meta_num(o->reader, section, key, value);
}

static pp_status each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_meta(((struct opened *)ctx)->reader, section, fn, fn_ctx, err);
}

static size_t threads(void *ctx, const struct pp_thread_row **rows)
{
    struct opened *o = ctx;
    size_t n = pp_reader_threads(o->reader, rows);
    if (!o->part)
        return n;
    if (!o->threads &&
        (o->threads = malloc((n + 1) *
                             sizeof(*o->threads)))) { /* once: who asked before still looks at them */
        for (size_t i = 0; i < n; i++) {
            o->threads[i] = (*rows)[i];
            o->threads[i].dropped = 0;
        }
        o->n_threads = n;
    }
    *rows = o->threads;
    return o->n_threads;
}

static const char *name(void *ctx, uint16_t id)
{
    return pp_reader_name(((struct opened *)ctx)->reader, id);
}

struct clip {
    const struct opened *o;
    pp_spans_fn *fn;
    void *ctx;
};

/* Hands on the stretches of spans that begin within the part. */
static int clip(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    const struct clip *c = ctx;
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && spans[i].start_ns >= c->o->from_ns && spans[i].start_ns < c->o->to_ns)
            i++;
        if (i > from && c->fn(c->ctx, thread, spans + from, i - from))
            return 1;
        i += i == from;
    }
    return 0;
}

static pp_status each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                            uint64_t *bad_chunks, struct pp_err *err)
{
    const struct opened *o = ctx;
    if (!o->part)
        return pp_reader_each_chunk_of(o->reader, wanted, fn, fn_ctx, bad_chunks, err);
    struct pp_wanted of_part = {.columns = wanted && wanted->columns ? wanted->columns | PP_COLUMN_START
                                                                     : PP_COLUMNS_ALL,
                                .from_ns = o->from_ns,
                                .to_ns = o->to_ns,
                                .thread = wanted ? wanted->thread : NULL};
    if (wanted && wanted->to_ns) {
        of_part.from_ns = wanted->from_ns > o->from_ns ? wanted->from_ns : o->from_ns;
        of_part.to_ns = wanted->to_ns < o->to_ns ? wanted->to_ns : o->to_ns;
    }
    return pp_reader_each_chunk_of(o->reader, &of_part, clip, &(struct clip){o, fn, fn_ctx}, bad_chunks, err);
}

struct errors {
    const struct opened *o;
    pp_error_fn *fn;
    void *ctx;
};

static void clip_error(void *ctx, const struct pp_error_row *row)
{
    const struct errors *e = ctx;
    if (!e->o->part || (row->t_ns >= e->o->from_ns && row->t_ns < e->o->to_ns))
        e->fn(e->ctx, row);
}

static pp_status each_error(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_error(o->reader, clip_error, &(struct errors){o, fn, fn_ctx}, err);
}

static pp_status each_queue(void *ctx, pp_queue_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return o->part ? PP_OK : pp_reader_each_queue(o->reader, fn, fn_ctx, err);
}

static pp_status each_loss(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return o->part ? PP_OK : pp_reader_each_loss(o->reader, fn, fn_ctx, err);
}

struct counters {
    const struct opened *o;
    pp_counter_fn *fn;
    void *ctx;
};

static void clip_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    const struct counters *c = ctx;
    if (!c->o->part || (t_ns >= c->o->from_ns && t_ns < c->o->to_ns))
        c->fn(c->ctx, t_ns, name, value);
}

static pp_status each_counter(void *ctx, pp_counter_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_counter(o->reader, clip_counter, &(struct counters){o, fn, fn_ctx}, err);
}

static pp_status each_proof(void *ctx, pp_proof_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_proof(o->reader, fn, fn_ctx, err);
}

static pp_status each_gpu(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_gpu(o->reader, fn, fn_ctx, err);
}

static pp_status open_source(const char *path, const struct opened *how, struct pp_source *out,
                             struct pp_err *err)
{
    struct opened *o = calloc(1, sizeof(*o));
    *out = (struct pp_source){
        .path = path,
        .ctx = o,
        .meta = meta,
        .meta_num = meta_num,
        .each_meta = each_meta,
        .threads = threads,
        .name = name,
        .each_chunk = each_chunk,
        .each_error = each_error,
        .each_queue = each_queue,
        .each_counter = each_counter,
        .each_loss = each_loss,
        .each_proof = each_proof,
        .each_gpu = each_gpu,
    };
    if (!o)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    *o = *how;
    return pp_reader_open(path, &o->reader, err);
}

pp_status pp_source_open(const char *path, struct pp_source *out, struct pp_err *err)
{
    return open_source(path, &(struct opened){.part = 0}, out, err);
}

pp_status pp_source_open_part(const char *path, uint64_t from_ns, uint64_t to_ns, struct pp_source *out,
                              struct pp_err *err)
{
    return open_source(path, &(struct opened){.part = 1, .from_ns = from_ns, .to_ns = to_ns}, out, err);
}

void pp_source_close(struct pp_source *source)
{
    struct opened *o = source->ctx;
    if (o) {
        pp_reader_close(o->reader);
        free(o->threads);
        free(o);
    }
    source->ctx = NULL;
}

double pp_source_number(const struct pp_source *s, const char *section, const char *key, double otherwise)
{
    double v;
    const char *text;
    if (s->meta_num(s->ctx, section, key, &v))
        return v;
    text = s->meta(s->ctx, section, key);
    return text && text[0] ? atof(text) : otherwise;
}

int pp_source_yes(const struct pp_source *s, const char *section, const char *key)
{
    const char *text = s->meta(s->ctx, section, key);
    return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

int pp_counter_is(struct pp_counter_id *id, const struct pp_source *source, const struct pp_span *s)
{
    if (s->phase != PP_PHASE_COUNTER || s->name >= PP_NAMES || !source->name)
        return 0;
    if (!id->known[s->name]) {
        const char *text = source->name(source->ctx, s->name);
        id->known[s->name] = text && strcmp(text, id->text) == 0 ? 2 : 1;
    }
    return id->known[s->name] == 2;
}
