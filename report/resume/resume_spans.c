#include "report/resume/resume_spans.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#include <stdlib.h>

enum { SAVES = 1 << 16 };

struct taken {
    uint32_t batch;
    int trained;
};

struct save {
    uint32_t batch;
    int torn;
};

struct reading {
    struct pp_order_row *order;
    size_t orders, order_room;
    struct taken *taken;
    size_t n, room;
    struct save *save;
    size_t saves, save_room;
    uint32_t last; /* batch that was taken last */
    int no_memory;
};

static void note_order(void *ctx, const struct pp_order_row *o)
{
    struct reading *g = ctx;
    if (!pp_grow(&g->order, &g->order_room, g->orders + 1, sizeof(*g->order)))
        g->no_memory = 1;
    else
        g->order[g->orders++] = *o;
}

static int note_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct reading *g = ctx;
    (void)thread;
    for (size_t i = 0; i < n && !g->no_memory; i++) {
        const struct pp_span *s = &spans[i];
        if (s->flags & PP_SPAN_ERROR)
            continue;
        if (s->phase == PP_PHASE_DATA_WAIT && s->batch != PP_NO_BATCH) {
            g->no_memory = !pp_grow(&g->taken, &g->room, g->n + 1, sizeof(*g->taken));
            if (!g->no_memory)
                g->taken[g->n++] = (struct taken){.batch = s->batch};
            g->last = s->batch;
        }
        if (s->phase == PP_PHASE_STEP && s->flags & PP_SPAN_TRAINED && g->n &&
            g->taken[g->n - 1].batch == s->batch)
            g->taken[g->n - 1].trained = 1;
        if (s->phase == PP_PHASE_CHECKPOINT && g->saves < SAVES) {
            g->no_memory = !pp_grow(&g->save, &g->save_room, g->saves + 1, sizeof(*g->save));
            if (!g->no_memory)
                g->save[g->saves++] = (struct save){g->last, (s->flags & PP_SPAN_UNFINISHED) != 0};
        }
    }
    return g->no_memory;
}

PP_BY(by_batch, struct taken, batch)
PP_BY(by_first, struct pp_order_row, first_batch)

static const struct pp_order_row *order_of(const struct reading *g, uint32_t batch)
{
    size_t low = 0, high = g->orders;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->order[middle].first_batch <= batch)
            low = middle + 1;
        else
            high = middle;
    }
    const struct pp_order_row *o = low ? &g->order[low - 1] : NULL;
    return o && batch - o->first_batch < o->batches ? o : NULL;
}

pp_status resume_spans_read(const struct pp_source *source, pp_use_fn *use, pp_state_fn *state, void *ctx,
                            struct pp_err *err)
{
    struct reading g = {.last = PP_NO_BATCH};
    const struct pp_wanted wanted = {.columns = PP_COLUMN_PHASE | PP_COLUMN_BATCH | PP_COLUMN_FLAGS};
    pp_status st = source->each_order ? source->each_order(source->ctx, NULL, note_order, &g, err) : PP_OK;
    if (st == PP_OK && g.orders)
        st = source->each_chunk(source->ctx, &wanted, note_spans, &g, NULL, err);
    if (g.orders)
        qsort(g.order, g.orders, sizeof(*g.order), by_first);
    if (g.n)
        qsort(g.taken, g.n, sizeof(*g.taken), by_batch);
    for (size_t i = 0; i < g.n; i++) {
        const struct pp_order_row *o = order_of(&g, g.taken[i].batch);
        if (o)
            use(ctx, &(struct pp_use_row){.pid = o->pid,
                                          .loader = o->loader,
                                          .epoch = o->epoch,
                                          .first_batch = g.taken[i].batch,
                                          .batches = 1,
                                          .trained = g.taken[i].trained});
    }
    for (size_t i = 0; i < g.saves && g.orders; i++)
        state(ctx, &(struct pp_state_row){.pid = g.order[0].pid,
                                          .dur_ns = g.save[i].torn ? UINT64_MAX : 0,
                                          .action = "save",
                                          .via = "",
                                          .batch = g.save[i].batch});
    free(g.order);
    free(g.taken);
    free(g.save);
    return st == PP_OK && g.no_memory
               ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the batches of %s", source->path)
               : st;
}
