#include "report/findings/visits.h"

#include "probe/base/array.h"
#include "report/measure/visit.h"

#include <stdlib.h>

enum { PRINTS = 16, ROWS = 1 << 12 }; /* of a row; rows: of the first epochs */

/* The first samples of a worker in an epoch. */
struct row {
    uint32_t thread, n;
    uint16_t epoch;
    uint64_t print[PRINTS];
};

struct pp_alike_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct pp_counter_id print;
    struct row *row;
    size_t n, room;
    uint32_t thread, batch; /* of the span before: a print has no batch of its own */
    uint16_t epoch;
};

struct pp_alike_pass *pp_alike_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_alike_pass *p = calloc(1, sizeof(*p));
    if (p) {
        p->source = source;
        p->tl = tl;
        p->print.text = "sample_print";
        p->batch = PP_NO_BATCH;
    }
    return p;
}

static struct row *row_of(struct pp_alike_pass *p)
{
    for (size_t i = p->n; i-- > 0;)
        if (p->row[i].thread == p->thread && p->row[i].epoch == p->epoch)
            return &p->row[i];
    if (!pp_grow(&p->row, &p->room, p->n + 1, sizeof(*p->row)))
        return NULL;
    p->row[p->n] = (struct row){.thread = p->thread, .epoch = p->epoch};
    return &p->row[p->n++];
}

int pp_alike_chunk(struct pp_alike_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    if (thread != p->thread)
        p->batch = PP_NO_BATCH;
    p->thread = thread;
    for (size_t i = 0; i < n && p->n < ROWS; i++) {
        const struct pp_span *s = &spans[i];
        if (s->batch != PP_NO_BATCH) {
            p->batch = s->batch;
            p->epoch = s->epoch;
            continue;
        }
        if (p->batch == PP_NO_BATCH || !pp_counter_is(&p->print, p->source, s) ||
            pp_other_batches_has(&p->tl->other, p->batch))
            continue;
        struct row *row = row_of(p);
        if (!row)
            return 1;
        if (row->n < PRINTS)
            row->print[row->n++] = s->bytes;
    }
    return 0;
}

PP_BY(by_epoch, struct row, epoch)

void pp_alike_end(struct pp_alike_pass *p, struct pp_visits *out)
{
    if (p && out && p->n)
        qsort(p->row, p->n, sizeof(*p->row), by_epoch);
    for (size_t from = 0, to; p && out && from < p->n; from = to) {
        const struct row *first = NULL;
        double workers = 0, same = 0;
        for (to = from; to < p->n && p->row[to].epoch == p->row[from].epoch; to++) {
            if (!pp_visit_prints_tell(p->row[to].print, p->row[to].n))
                continue;
            first = first ? first : &p->row[to];
            workers++;
            same += pp_visit_prints_alike(first->print, first->n, p->row[to].print, p->row[to].n);
        }
        if (workers < 2 || same < workers)
            continue;
        out->alike_epochs++;
        out->alike_workers = workers > out->alike_workers ? workers : out->alike_workers;
    }
    if (p)
        free(p->row);
    free(p);
}
