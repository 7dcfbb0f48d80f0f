#include "report/findings/alike.h"

#include <stdlib.h>

enum { PRINTS = 16, LEAST_PRINTS = 8, ROWS = 1 << 12 }; /* of a row; rows: of the first epochs */

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
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 64;
        struct row *grown = realloc(p->row, room * sizeof(*grown));
        if (!grown)
            return NULL;
        p->row = grown;
        p->room = room;
    }
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

/* Enough of them, and most unlike each other: padding, or a data set of zeros, is alike anywhere. */
static int tells(const struct row *r)
{
    uint32_t different = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t k = 0;
        while (k < i && r->print[k] != r->print[i])
            k++;
        different += k == i;
    }
    return r->n >= LEAST_PRINTS && 2 * different > r->n;
}

static int are_alike(const struct row *a, const struct row *b)
{
    uint32_t n = a->n < b->n ? a->n : b->n;
    for (uint32_t i = 0; i < n; i++)
        if (a->print[i] != b->print[i])
            return 0;
    return 1;
}

static int by_epoch(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

void pp_alike_end(struct pp_alike_pass *p, struct pp_visits *out)
{
    if (p && out && p->n)
        qsort(p->row, p->n, sizeof(*p->row), by_epoch);
    for (size_t from = 0, to; p && out && from < p->n; from = to) {
        const struct row *first = NULL;
        double workers = 0, same = 0;
        for (to = from; to < p->n && p->row[to].epoch == p->row[from].epoch; to++) {
            if (!tells(&p->row[to]))
                continue;
            first = first ? first : &p->row[to];
            workers++;
            same += are_alike(first, &p->row[to]);
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
