#include "report/audit/audit_read.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

enum {
    LOADERS = 64, /* the most whose orders are kept apart */
    SAVES = 1 << 16
};

struct loaders {
    struct pp_order_row seen[LOADERS]; /* samples: batches, summed up; ended: any of them has numbers */
    size_t n;
};

static void sum_loader(void *ctx, const struct pp_order_row *o)
{
    struct loaders *g = ctx;
    size_t i = 0;
    while (i < g->n && (g->seen[i].pid != o->pid || g->seen[i].loader != o->loader))
        i++;
    if (i == LOADERS)
        return;
    if (i == g->n)
        g->seen[g->n++] = (struct pp_order_row){.pid = o->pid, .loader = o->loader};
    g->seen[i].samples += o->batches;
    g->seen[i].ended |= o->samples > 0;
}

static void add_stretch(void *ctx, const struct pp_order_row *r)
{
    struct audit_order *o = ctx;
    int other = r->pid != o->loader.pid || r->loader != o->loader.loader;
    o->unnumbered |= !other && !r->samples;
    if (o->no_memory || !pp_grow(&o->row, &o->room, o->n + 1, sizeof(*o->row))) {
        o->no_memory = 1;
        return;
    }
    o->row[o->n++] = (struct audit_stretch){.epoch = r->epoch,
                                            .first = r->first_batch,
                                            .end = r->first_batch + r->batches,
                                            .samples = r->samples,
                                            .ended = r->ended != 0,
                                            .other = (uint8_t)other};
}

PP_BY_BOTH(by_batch, struct audit_stretch, first, end)

pp_status audit_order_read(const struct pp_source *s, struct audit_order *o, struct pp_err *err)
{
    struct loaders g = {0};
    *o = (struct audit_order){0};
    if (!s->each_order)
        return PP_OK;
    pp_status st = s->each_order(s->ctx, NULL, sum_loader, &g, err);
    for (size_t i = 0; i < g.n; i++)
        if (i == 0 || g.seen[i].samples > o->loader.samples)
            o->loader = g.seen[i];
    if (st == PP_OK && g.n)
        st = s->each_order(s->ctx, NULL, add_stretch, o, err);
    if (st == PP_OK && o->no_memory)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the epochs of %s", s->path);
    if (o->n)
        qsort(o->row, o->n, sizeof(*o->row), by_batch);
    /* Stretches of an epoch that follow each other become one; a recording has none on another. */
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        struct audit_stretch *now = &o->row[i], *last = n ? &o->row[n - 1] : NULL;
        if (last && now->first < last->end)
            continue;
        if (last && last->epoch == now->epoch && last->other == now->other && last->end == now->first) {
            last->end = now->end;
            last->ended |= now->ended;
            last->samples += now->samples;
            continue;
        }
        o->own += !now->other;
        o->row[n++] = *now;
    }
    o->n = n;
    return st;
}

uint32_t audit_order_epoch(const struct audit_order *o, uint32_t batch)
{
    size_t first = PP_BEFORE(o->n, i, o->row[i].end <= batch);
    if (first == o->n || o->row[first].first > batch)
        return AUDIT_UNLISTED;
    return o->row[first].other ? PP_NO_BATCH : o->row[first].epoch;
}

/* ---- what became of the batches ---- */

void audit_marks_chunk(struct audit_marks *m, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->flags & (PP_SPAN_ERROR | PP_SPAN_UNFINISHED))
            continue;
        if (s->phase == PP_PHASE_CHECKPOINT && m->any) {
            /* Of the trainer's saves the newest counts. */
            uint32_t saved = audit_order_epoch(m->order, m->last);
            if (m->window[saved].taken)
                m->part->save = (struct pp_audit_save){.epoch = (uint16_t)saved,
                                                       .batches = m->last - m->window[saved].first + 1,
                                                       .at_end = m->at_end};
        }
        if (s->phase == PP_PHASE_EPOCH_BOUNDARY && m->newest_is_own)
            m->at_end = 1;
        if (s->batch == PP_NO_BATCH)
            continue;
        uint32_t epoch = audit_order_epoch(m->order, s->batch);
        if (s->phase == PP_PHASE_DATA_WAIT && (m->newest_is_own = epoch <= UINT16_MAX)) {
            m->last = s->batch;
            m->any = 1;
            m->at_end = 0;
        }
        if (s->phase == PP_PHASE_STEP && s->flags & PP_SPAN_TRAINED && epoch <= UINT16_MAX) {
            struct audit_window *w = &m->window[epoch];
            uint32_t at = s->batch - w->first;
            w->trained = w->taken && s->batch >= w->first && at < w->trained ? at : w->trained;
        }
    }
}
