#include "report/export/otlp_traces.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/export/export.h"
#include "report/otlp/doc.h"

/* ---- which batches are exported, and their spans: two walks over the chunks ---- */

struct otlp_batch {
    uint32_t batch, chosen; /* chosen: 1 + the place in the order of delivery; 0: left out */
    uint32_t spans;
    uint64_t wait_ns; /* of the trainer for it */
};

struct otlp_span {
    uint32_t place, thread; /* place of its batch; thread as the recording numbers it */
    struct pp_span span;
};

struct otlp_batches {
    struct otlp_batch *slot; /* a table by hash, 2^bits */
    unsigned bits;
    size_t n;
    uint64_t spans, spans_alone, damaged_chunks;
    struct otlp_batch **order; /* those chosen, in the order of delivery */
    size_t n_order;
    struct otlp_span *span; /* of those, in the order of delivery */
    size_t n_span, cap_span;
    int no_memory;
};

enum { BITS_FIRST = 12, BITS_MOST = 25 }; /* 16 million batches; others are left out */

static struct otlp_batch *slot_of(const struct otlp_batches *b, uint32_t batch)
{
    size_t mask = ((size_t)1 << b->bits) - 1, i = pp_mix64(batch + 1u) & mask;
    while (b->slot[i].spans && b->slot[i].batch != batch)
        i = (i + 1) & mask;
    return &b->slot[i];
}

/* 0: no memory. */
static int grow_table(struct otlp_batches *b)
{
    struct otlp_batches more = {.bits = b->slot ? b->bits + 1 : BITS_FIRST};
    more.slot = calloc((size_t)1 << more.bits, sizeof(*more.slot));
    if (!more.slot)
        return 0;
    for (size_t i = 0; b->slot && i < (size_t)1 << b->bits; i++)
        if (b->slot[i].spans)
            *slot_of(&more, b->slot[i].batch) = b->slot[i];
    free(b->slot);
    b->slot = more.slot;
    b->bits = more.bits;
    return 1;
}

static int count_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct otlp_batches *b = ctx;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_COUNTER)
            continue;
        b->spans++;
        if (s->batch == PP_NO_BATCH) {
            b->spans_alone++;
            continue;
        }
        if ((!b->slot || (b->bits < BITS_MOST && b->n * 2 > (size_t)1 << b->bits)) && !grow_table(b)) {
            b->no_memory = 1;
            return 1;
        }
        struct otlp_batch *of = slot_of(b, s->batch);
        if (!of->spans && b->n + 1 >= (size_t)1 << b->bits)
            continue; /* the table is full: left out */
        b->n += !of->spans;
        of->batch = s->batch;
        of->spans += of->spans < UINT32_MAX;
        of->wait_ns += s->phase == PP_PHASE_DATA_WAIT ? s->dur_ns : 0;
    }
    return 0;
}

static int longer_wait_first(const void *x, const void *y)
{
    const struct otlp_batch *a = *(struct otlp_batch *const *)x, *b = *(struct otlp_batch *const *)y;
    int order = PP_COMPARE(b->wait_ns, a->wait_ns);
    return order ? order : PP_COMPARE(a->batch, b->batch);
}

/* Of a recording that grows meanwhile there may be more than were counted. */
static int take_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct otlp_batches *b = ctx;
    for (size_t i = 0; b->slot && i < n; i++) {
        if (spans[i].phase == PP_PHASE_COUNTER || spans[i].batch == PP_NO_BATCH)
            continue;
        uint32_t chosen = slot_of(b, spans[i].batch)->chosen;
        if (chosen && b->n_span < b->cap_span)
            b->span[b->n_span++] = (struct otlp_span){chosen - 1, thread, spans[i]};
    }
    return 0;
}

static int in_order(const void *x, const void *y)
{
    const struct otlp_span *a = x, *b = y;
    int order = PP_COMPARE(a->place, b->place);
    order = order ? order : PP_COMPARE(a->span.start_ns, b->span.start_ns);
    order = order ? order : PP_COMPARE(b->span.dur_ns, a->span.dur_ns);
    order = order ? order : PP_COMPARE(a->thread, b->thread);
    return order ? order : PP_COMPARE(a->span.phase, b->span.phase);
}

static pp_status read_batches(const struct pp_source *source, uint64_t max_spans, struct otlp_batches *b,
                              struct pp_err *err)
{
    static const struct pp_wanted few = {.columns = PP_COLUMN_PHASE | PP_COLUMN_DUR | PP_COLUMN_BATCH};
    *b = (struct otlp_batches){0};
    pp_status st = source->each_chunk(source->ctx, &few, count_chunk, b, &b->damaged_chunks, err);
    if (st != PP_OK)
        return st;
    /* Those with the longest waits, as many as max_spans has room for. */
    size_t n = 0;
    b->order = b->no_memory ? NULL : calloc(b->n + 1, sizeof(struct otlp_batch *));
    for (size_t i = 0; b->order && b->slot && i < (size_t)1 << b->bits; i++)
        if (b->slot[i].spans)
            b->order[b->n_order++] = &b->slot[i];
    if (b->order)
        qsort(b->order, b->n_order, sizeof(*b->order), longer_wait_first);
    for (; n < b->n_order && n < UINT32_MAX - 1 && b->cap_span + b->order[n]->spans <= max_spans; n++) {
        b->cap_span += b->order[n]->spans;
        b->order[n]->chosen = (uint32_t)n + 1;
    }
    b->n_order = n;
    b->span = b->order ? malloc((b->cap_span ? b->cap_span : 1) * sizeof(*b->span)) : NULL;
    if (!b->span)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", source->path);
    st = source->each_chunk(source->ctx, NULL, take_chunk, b, NULL, err);
    if (st == PP_OK)
        qsort(b->span, b->n_span, sizeof(*b->span), in_order);
    return st;
}

/* ---- what is written ---- */

enum { BODY_SPANS = 512, INTERNAL = 1, STATUS_ERROR = 2 };
/* The least that a span takes, without attributes: what the choice is made by; what is delivered is counted
 * exactly. */
enum { SPAN_LEAST = 60, SPAN_LEAST_JSON = 220 };

struct trace_id {
    uint8_t bytes[16];
};

struct writing {
    const struct pp_source *source;
    const struct pp_otlp_traces_opts *opts;
    struct pp_export_run run;
    struct otlp_batches batches;
    struct pp_otlp doc;
    size_t in_body; /* spans */
    uint64_t seed;
    pp_otlp_body_fn *fn;
    void *ctx;
    struct pp_otlp_traces_result *done;
};

/* ---- ids ---- */

static uint64_t mixed(uint64_t h, uint64_t v)
{
    return pp_mix64(h ^ (v + 0x9e3779b97f4a7c15u + (h << 6)));
}

static void put_id(uint8_t *to, uint64_t v)
{
    v = v ? v : 1; /* all zeros is no id */
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(v >> (56 - 8 * i));
}

static struct trace_id trace_of(const struct writing *w, uint32_t batch)
{
    struct trace_id id;
    put_id(id.bytes, mixed(w->seed, batch));
    put_id(id.bytes + 8, mixed(w->seed + 1, batch));
    return id;
}

static void span_id(const struct writing *w, const struct otlp_span *s, uint8_t id[8])
{
    uint64_t h = mixed(mixed(w->seed, s->span.batch), s->thread);
    h = mixed(mixed(h, s->span.start_ns), s->span.dur_ns);
    put_id(id, mixed(mixed(h, s->span.phase), s->span.sample));
}

/* ---- spans: trace_id=1, span_id=2, parent=4, name=5, kind=6, start=7, end=8, attributes=9, links=13,
 * status=15 ---- */

/* id NULL: the root of the batch. */
static void begin_span(struct writing *w, uint32_t batch, const uint8_t *id, const char *name,
                       uint64_t start_ns, uint64_t end_ns)
{
    struct trace_id trace = trace_of(w, batch);
    uint64_t utc = w->run.utc_known ? w->run.utc_ns - w->run.origin_ns : 0;
    uint8_t root[8];
    put_id(root, mixed(w->seed + 2, batch));
    pp_otlp_item(&w->doc, 2);
    pp_otlp_id(&w->doc, 1, "traceId", trace.bytes, 16);
    pp_otlp_id(&w->doc, 2, "spanId", id ? id : root, 8);
    pp_otlp_text(&w->doc, 5, "name", name);
    pp_otlp_enum(&w->doc, 6, "kind", INTERNAL);
    if (id)
        pp_otlp_id(&w->doc, 4, "parentSpanId", root, 8);
    pp_otlp_fixed64(&w->doc, 7, "startTimeUnixNano", utc + start_ns);
    pp_otlp_fixed64(&w->doc, 8, "endTimeUnixNano", utc + end_ns);
}

static void put_number(struct writing *w, const char *key, int known, uint64_t v)
{
    if (known)
        pp_otlp_attribute_number(&w->doc, 9, key, v < INT64_MAX ? (int64_t)v : INT64_MAX);
}

static void put_span(struct writing *w, const struct otlp_span *s, const struct otlp_span *finished)
{
    const struct pp_source *src = w->source;
    unsigned phase = s->span.phase;
    const struct pp_phase_info *info = pp_phase_info(phase);
    const char *own = s->span.name && src->name ? src->name(src->ctx, s->span.name) : NULL,
               *name = own    ? own
                       : info ? info->name
                              : "span";
    uint8_t id[8];
    span_id(w, s, id);
    begin_span(w, s->span.batch, id, name, s->span.start_ns, pp_span_end(&s->span));
    const struct pp_thread_row *t = pp_scan_thread(&w->run, s->thread);
    int counts = (s->span.flags & PP_SPAN_COUNT) != 0;
    pp_otlp_list(&w->doc, "attributes");
    if (t) {
        pp_otlp_attribute(&w->doc, 9, "thread.name", t->name);
        put_number(w, "thread.id", t->tid > 0, (uint64_t)t->tid);
        put_number(w, "process.pid", t->pid > 0, (uint64_t)t->pid);
        pp_otlp_attribute(&w->doc, 9, "pipeprobe.lane", pp_lane_name(t->lane));
    }
    put_number(w, "pipeprobe.sample", !counts && s->span.sample != PP_NO_SAMPLE, s->span.sample);
    put_number(w, "pipeprobe.samples", counts, s->span.sample);
    put_number(w, "pipeprobe.bytes", s->span.bytes != 0, s->span.bytes);
    put_number(w, "pipeprobe.cpu_ns", s->span.flags & PP_SPAN_HAS_CPU, s->span.cpu_ns);
    put_number(w, "pipeprobe.run_delay_ns", s->span.flags & PP_SPAN_HAS_DELAY, s->span.run_delay_ns);
    put_number(w, "pipeprobe.cache_hit_bytes", s->span.flags & PP_SPAN_HAS_CACHE,
               (uint64_t)s->span.cache_hit_kib << 10);
    put_number(w, "pipeprobe.unfinished", s->span.flags & PP_SPAN_UNFINISHED, 1);
    pp_otlp_list_end(&w->doc);
    if (finished && (phase == PP_PHASE_DATA_WAIT || phase == PP_PHASE_STEP)) {
        struct trace_id trace = trace_of(w, s->span.batch);
        span_id(w, finished, id); /* what finished the batch on a worker */
        pp_otlp_list(&w->doc, "links");
        pp_otlp_item(&w->doc, 13);
        pp_otlp_id(&w->doc, 1, "traceId", trace.bytes, 16);
        pp_otlp_id(&w->doc, 2, "spanId", id, 8);
        pp_otlp_end(&w->doc);
        pp_otlp_list_end(&w->doc);
    }
    if (s->span.flags & PP_SPAN_ERROR) {
        pp_otlp_message(&w->doc, 15, "status");
        pp_otlp_enum(&w->doc, 3, "code", STATUS_ERROR);
        pp_otlp_end(&w->doc);
    }
    pp_otlp_end(&w->doc);
}

/* ---- bodies: resource_spans=1 {resource=1, scope_spans=2 {scope=1, spans=2}} ---- */

static void begin_body(struct writing *w)
{
    const struct pp_source *s = w->source;
    const char *host = s->meta(s->ctx, "environment", "hostname");
    const char *rank = s->meta(s->ctx, "rank", "rank");
    char instance[160] = "";
    snprintf(instance, sizeof(instance), rank ? "%s:%s" : "%s", host ? host : "", rank);
    const struct pp_otlp_attr attrs[] = {
        {"service.name", "pipeprobe"}, {"service.instance.id", instance},
        {"host.name", host},           {"pipeprobe.session", s->meta(s->ctx, "run", "session_id")},
        {"pipeprobe.rank", rank},
    };
    pp_otlp_begin(&w->doc, w->opts->is_json);
    pp_otlp_list(&w->doc, "resourceSpans");
    pp_otlp_item(&w->doc, 1);
    pp_otlp_resource(&w->doc, attrs, sizeof(attrs) / sizeof(*attrs));
    pp_otlp_list(&w->doc, "scopeSpans");
    pp_otlp_item(&w->doc, 2);
    pp_otlp_scope(&w->doc);
    pp_otlp_list(&w->doc, "spans");
    w->in_body = 0;
}

/* With the last spans of so many batches. PP_END: the budget is used up, and this body is not delivered. */
static pp_status end_body(struct writing *w, size_t batches, struct pp_err *err)
{
    size_t n = 0;
    pp_status st = PP_OK;
    pp_otlp_list_end(&w->doc);
    pp_otlp_end(&w->doc);
    pp_otlp_list_end(&w->doc);
    pp_otlp_end(&w->doc);
    pp_otlp_list_end(&w->doc);
    char *body = pp_otlp_finish(&w->doc, &n);
    if (!body)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", w->source->path);
    if (w->done->bytes + n > w->opts->max_bytes)
        st = PP_END;
    else if (w->fn(w->ctx, body, n, w->in_body))
        st = pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    if (st == PP_OK) {
        w->done->bodies++;
        w->done->bytes += n;
        w->done->spans += w->in_body;
        w->done->batches += batches;
    }
    free(body);
    return st;
}

/* Whole batches to a body, but for one that is larger than four. */
static pp_status deliver(struct writing *w, struct pp_err *err)
{
    const struct otlp_batches *b = &w->batches;
    size_t most = w->opts->body_spans ? w->opts->body_spans : BODY_SPANS, at = 0, n, batches = 0;
    pp_status st = PP_OK;
    begin_body(w);
    for (size_t i = 0; st == PP_OK && i < b->n_order; i++) {
        for (n = 0; at + n < b->n_span && b->span[at + n].place == i;)
            n++;
        if (!n)
            continue;
        const struct otlp_span *s = &b->span[at], *finished = NULL; /* by a worker */
        uint64_t start = UINT64_MAX, end = 0;
        for (size_t k = 0; k < n; k++) {
            const struct pp_thread_row *t = pp_scan_thread(&w->run, s[k].thread);
            start = s[k].span.start_ns < start ? s[k].span.start_ns : start;
            end = pp_span_end(&s[k].span) > end ? pp_span_end(&s[k].span) : end;
            if (t && (t->lane == PP_LANE_WORKER || t->lane == PP_LANE_READER) &&
                (!finished || pp_span_end(&s[k].span) >= pp_span_end(&finished->span)))
                finished = &s[k];
        }
        begin_span(w, b->order[i]->batch, NULL, "pipeprobe.batch", start, end);
        pp_otlp_list(&w->doc, "attributes");
        put_number(w, "pipeprobe.batch", 1, b->order[i]->batch);
        put_number(w, "pipeprobe.epoch", 1, s->span.epoch);
        put_number(w, "pipeprobe.data_wait_ns", 1, b->order[i]->wait_ns);
        pp_otlp_list_end(&w->doc);
        pp_otlp_end(&w->doc);
        w->in_body++;
        batches++;
        for (size_t k = 0; st == PP_OK && k < n; k++) {
            if (w->in_body >= 4 * most && (st = end_body(w, 0, err)) == PP_OK)
                begin_body(w);
            if (st == PP_OK)
                put_span(w, &s[k], finished);
            w->in_body++;
        }
        at += n;
        /* a small budget is filled by small bodies */
        int full = w->in_body >= most || pp_otlp_size(&w->doc) >= w->opts->max_bytes / 8;
        if (st == PP_OK && full) {
            st = end_body(w, batches, err);
            batches = 0;
            if (st == PP_OK)
                begin_body(w);
        }
    }
    if (st == PP_OK && w->in_body)
        st = end_body(w, batches, err);
    pp_otlp_drop(&w->doc);
    return st == PP_END ? PP_OK : st;
}

pp_status pp_otlp_traces(const struct pp_source *source, const struct pp_otlp_traces_opts *opts,
                         pp_otlp_body_fn *fn, void *ctx, struct pp_otlp_traces_result *result,
                         struct pp_err *err)
{
    struct writing w = {.source = source, .opts = opts, .fn = fn, .ctx = ctx, .done = result};
    *result = (struct pp_otlp_traces_result){0};
    pp_status st = pp_scan(source, &w.run, err);
    if (st != PP_OK)
        goto out;
    /* The run, whatever its file is called. */
    static const char *const keys[][2] = {{"run", "session_id"},
                                          {"run", "started_utc_ns"},
                                          {"environment", "hostname"},
                                          {"rank", "rank"}};
    w.seed = 1;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        for (const char *text = source->meta(source->ctx, keys[i][0], keys[i][1]); text && *text; text++)
            w.seed = mixed(w.seed, (unsigned char)*text);
    result->utc_known = w.run.utc_known;
    st = read_batches(source, opts->max_bytes / (opts->is_json ? SPAN_LEAST_JSON : SPAN_LEAST), &w.batches,
                      err);
    if (st == PP_OK)
        st = deliver(&w, err);
    result->spans_alone = w.batches.spans_alone;
    result->damaged_chunks = w.batches.damaged_chunks;
    result->batches_left = w.batches.n - result->batches;
    uint64_t of_batches = w.batches.spans - w.batches.spans_alone, sent = result->spans - result->batches;
    result->spans_left = of_batches > sent ? of_batches - sent : 0;
out:
    free(w.batches.slot);
    free(w.batches.order);
    free(w.batches.span);
    pp_scan_free(&w.run);
    return st;
}
