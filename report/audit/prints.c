/* Workers and ranks that give the same samples of an iterable data set, by the content of the first ones. */
#include "report/audit/facts.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/measure/visit.h"

/* From *at on the rows of one epoch, and *at behind them. *first: the first of them that tells; NULL: none.
 * Whether there are others, and all are like it. */
static int next_epoch(const struct pp_audit_part *p, size_t *at, const struct pp_audit_prints **first)
{
    uint16_t epoch = p->prints[*at].epoch;
    size_t others = 0, same = 0;
    *first = NULL;
    for (; *at < p->n_prints && p->prints[*at].epoch == epoch; ++*at) {
        const struct pp_audit_prints *row = &p->prints[*at];
        if (!pp_visit_prints_tell(row->print, row->n))
            continue;
        others += *first != NULL;
        same += *first && pp_visit_prints_alike((*first)->print, (*first)->n, row->print, row->n);
        *first = *first ? *first : row;
    }
    return others && same == others;
}

static int ranks_are_alike(const struct audit_facts *f, const struct pp_audit_prints *of_first)
{
    for (size_t i = 1; i < f->n_ranks; i++) {
        const struct pp_audit_part *p = &f->in->parts[f->ranks[i].first_part];
        const struct pp_audit_prints *first = NULL;
        size_t at = 0;
        while (at < p->n_prints && p->prints[at].epoch < of_first->epoch)
            at++;
        if (at < p->n_prints && p->prints[at].epoch == of_first->epoch)
            (void)next_epoch(p, &at, &first);
        if (!first || !pp_visit_prints_alike(of_first->print, of_first->n, first->print, first->n))
            return 0;
    }
    return f->n_ranks > 1;
}

int audit_compare_prints(const struct audit_facts *f, audit_alike_fn *fn, void *ctx)
{
    int any = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        const struct pp_audit_part *p = &f->in->parts[f->ranks[i].first_part];
        any |= p->n_prints > 0;
        for (size_t at = 0; at < p->n_prints;) {
            const struct pp_audit_prints *first;
            uint16_t epoch = p->prints[at].epoch;
            if (next_epoch(p, &at, &first))
                fn(ctx, epoch, i);
            if (i == 0 && first && ranks_are_alike(f, first))
                fn(ctx, epoch, SIZE_MAX);
        }
    }
    return any;
}

/* ---- read ---- */

enum { ROWS = 1 << 16, THREADS = 1 << 14 };

/* Of a thread: the epoch of its newest batch, and its newest row, from 1 on. */
struct now {
    uint32_t epoch; /* beyond 16 bits: of another loader, or none yet */
    size_t row;     /* 0: none */
};

struct reading {
    const struct pp_source *source;
    const struct audit_order *order;
    struct pp_audit_part *part;
    struct pp_counter_id print;
    struct now *now; /* by number of the thread */
    size_t room;
    int no_memory;
};

/* A print has no batch; the spans of its sample stand before it. */
static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct reading *g = ctx;
    for (size_t i = 0; i < n && thread < THREADS; i++) {
        const struct pp_span *s = &spans[i];
        struct now *now = &g->now[thread];
        if (s->batch != PP_NO_BATCH)
            now->epoch = audit_order_epoch(g->order, s->batch);
        if (s->batch != PP_NO_BATCH || now->epoch > UINT16_MAX || !pp_counter_is(&g->print, g->source, s))
            continue;
        struct pp_audit_part *part = g->part;
        if (!now->row || part->prints[now->row - 1].epoch != now->epoch) {
            if (part->n_prints == ROWS)
                continue;
            if (!pp_grow(&part->prints, &g->room, part->n_prints + 1, sizeof(*part->prints))) {
                g->no_memory = 1;
                continue;
            }
            part->prints[part->n_prints++] = (struct pp_audit_prints){.epoch = (uint16_t)now->epoch,
                                                                      .worker = thread};
            now->row = part->n_prints;
        }
        struct pp_audit_prints *row = &part->prints[now->row - 1];
        if (row->n < PP_AUDIT_PRINTS)
            row->print[row->n++] = s->bytes;
    }
    return g->no_memory;
}

PP_BY_BOTH(by_epoch, struct pp_audit_prints, epoch, worker)

pp_status audit_prints_read(const struct pp_source *source, const struct audit_order *order,
                            struct pp_audit_part *part, struct pp_err *err)
{
    /* collectors/attach/python/prints.c */
    struct reading g = {.source = source, .order = order, .part = part, .print = {.text = "sample_print"}};
    const struct pp_wanted wanted = {.columns = PP_COLUMN_PHASE | PP_COLUMN_BATCH | PP_COLUMN_NAME |
                                                PP_COLUMN_BYTES};
    if (!(g.now = calloc(THREADS, sizeof(*g.now))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the workers of %s", source->path);
    for (size_t i = 0; i < THREADS; i++)
        g.now[i].epoch = PP_NO_BATCH;
    pp_status st = source->each_chunk(source->ctx, &wanted, each_chunk, &g, NULL, err);
    if (part->n_prints)
        qsort(part->prints, part->n_prints, sizeof(*part->prints), by_epoch);
    free(g.now);
    return st == PP_OK && g.no_memory
               ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the workers of %s", source->path)
               : st;
}
