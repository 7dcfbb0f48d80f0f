#include "report/export/otlp_batches.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <stdlib.h>

enum { BITS_FIRST = 12, BITS_MOST = 25 }; /* 16 million batches; others are left out */

static struct otlp_batch *slot_of(const struct otlp_batches *b, uint32_t batch)
{
    size_t mask = ((size_t)1 << b->bits) - 1, i = pp_mix64(batch + 1u) & mask;
    while (b->slot[i].spans && b->slot[i].batch != batch)
        i = (i + 1) & mask;
    return &b->slot[i];
}

/* 0: no memory. */
static int grow(struct otlp_batches *b)
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

struct walk {
    struct otlp_batches *b;
    int no_memory;
};

static int count_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct walk *w = ctx;
    struct otlp_batches *b = w->b;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_COUNTER)
            continue;
        b->spans++;
        if (s->batch == PP_NO_BATCH) {
            b->spans_alone++;
            continue;
        }
        if ((!b->slot || (b->bits < BITS_MOST && b->n * 2 > (size_t)1 << b->bits)) && !grow(b)) {
            w->no_memory = 1;
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
    if (a->wait_ns != b->wait_ns)
        return a->wait_ns > b->wait_ns ? -1 : 1;
    return a->batch < b->batch ? -1 : a->batch > b->batch;
}

static int choose(struct otlp_batches *b, uint64_t max_spans)
{
    uint64_t spans = 0;
    b->order = calloc(b->n + 1, sizeof(struct otlp_batch *));
    if (!b->order)
        return 0;
    for (size_t i = 0; b->slot && i < (size_t)1 << b->bits; i++)
        if (b->slot[i].spans)
            b->order[b->n_order++] = &b->slot[i];
    qsort(b->order, b->n_order, sizeof(*b->order), longer_wait_first);
    size_t n = 0;
    while (n < b->n_order && n < UINT32_MAX - 1 && spans + b->order[n]->spans <= max_spans) {
        spans += b->order[n]->spans;
        b->order[n]->chosen = (uint32_t)n + 1;
        n++;
    }
    b->n_order = n;
    b->cap_span = spans;
    b->span = malloc((spans ? spans : 1) * sizeof(*b->span));
    return b->span != NULL;
}

/* Of a recording that grows meanwhile there may be more than were counted. */
static int take_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct otlp_batches *b = ((struct walk *)ctx)->b;
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
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->span.start_ns != b->span.start_ns)
        return a->span.start_ns < b->span.start_ns ? -1 : 1;
    if (a->span.dur_ns != b->span.dur_ns)
        return a->span.dur_ns > b->span.dur_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (int)a->span.phase - (int)b->span.phase;
}

pp_status otlp_batches_read(const struct pp_source *source, uint64_t max_spans, struct otlp_batches *b,
                            struct pp_err *err)
{
    static const struct pp_wanted few = {.columns = PP_COLUMN_PHASE | PP_COLUMN_DUR | PP_COLUMN_BATCH};
    struct walk w = {.b = b};
    *b = (struct otlp_batches){0};
    pp_status st = source->each_chunk(source->ctx, &few, count_chunk, &w, &b->damaged_chunks, err);
    if (st == PP_OK && (w.no_memory || !choose(b, max_spans)))
        st = pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", source->path);
    if (st == PP_OK)
        st = source->each_chunk(source->ctx, NULL, take_chunk, &w, NULL, err);
    if (st == PP_OK)
        qsort(b->span, b->n_span, sizeof(*b->span), in_order);
    return st;
}

void otlp_batches_free(struct otlp_batches *b)
{
    free(b->slot);
    free(b->order);
    free(b->span);
    *b = (struct otlp_batches){0};
}
