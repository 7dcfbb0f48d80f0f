/* Workers and ranks that give the same samples of an iterable data set, by the content of the first ones. */
#include "report/audit/prints.h"
#include "report/measure/visit.h"

static int are_alike(const struct pp_audit_prints *a, const struct pp_audit_prints *b)
{
    return pp_visit_prints_alike(a->print, a->n, b->print, b->n);
}

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
        same += *first && are_alike(*first, row);
        *first = *first ? *first : row;
    }
    return others && same == others;
}

static const struct pp_audit_prints *first_in(const struct pp_audit_part *p, uint16_t epoch)
{
    const struct pp_audit_prints *first = NULL;
    for (size_t at = 0; at < p->n_prints && p->prints[at].epoch <= epoch;) {
        uint16_t now = p->prints[at].epoch;
        (void)next_epoch(p, &at, &first);
        if (now == epoch)
            return first;
    }
    return NULL;
}

static int ranks_are_alike(const struct audit_facts *f, const struct pp_audit_prints *of_first)
{
    for (size_t i = 1; i < f->n_ranks; i++) {
        const struct pp_audit_prints *p = first_in(&f->in->parts[f->ranks[i].first_part], of_first->epoch);
        if (!p || !are_alike(of_first, p))
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
