#include "report/audit/facts.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/measure/visit.h"

enum {
    PREFIX = 64, /* batches of an epoch whose order is compared with the epoch before */
    WORKERS = 256,
    AHEAD = 24 /* uses whose bits are on their way from memory */
};

struct worker {
    uint32_t number;
    uint64_t uses, set;
};

/* The first batches of a rank's newest epoch, and of the one before. */
struct prefix {
    struct pp_visit_batch batch[PREFIX];
    uint16_t epoch;
    int any;
};

struct walk {
    struct audit_facts *f;
    struct pp_seen all, rank, part, shards;
    struct audit_fact *now;
    struct prefix *prefix; /* per rank: newest, then the one before */
    struct prefix *filling;
    struct worker worker[WORKERS];
    size_t n_workers;
    uint32_t last_batch;              /* of the part in this epoch; UINT32_MAX: not known */
    int resumed;                      /* the rank has earlier parts in this epoch */
    const struct pp_audit_span *span; /* of the part in this epoch */
    uint64_t again[PP_AUDIT_EXAMPLES];
    size_t n_again;
};

/* ---- one use ---- */

static void note_again(struct walk *w, uint64_t sample)
{
    if (w->f->n_examples + w->n_again == PP_AUDIT_EXAMPLES)
        return;
    for (size_t i = 0; i < w->n_again; i++)
        if (w->again[i] == sample)
            return;
    w->again[w->n_again++] = sample;
}

PP_BY_BOTH(by_lease, struct pp_audit_lease, epoch, shard)

struct feeding {
    struct walk *walk;
    struct audit_epoch *epoch;
    int no_memory;
};

/* It is of a batch that was taken, and that a resumed run has not done again. */
static int counts(const struct pp_audit_span *s, const struct pp_audit_use *u)
{
    return !s->to || u->batch == UINT32_MAX || (u->batch >= s->from && u->batch < s->to);
}

static int take_uses(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    struct feeding *g = ctx;
    for (size_t i = 0; i < n && !g->no_memory; i++) {
        if (!counts(g->walk->span, &uses[i]))
            continue;
        if (i + AHEAD < n) {
            pp_seen_expect(&g->walk->rank, uses[i + AHEAD].sample);
            pp_seen_expect(&g->walk->all, uses[i + AHEAD].sample);
        }
        struct walk *w = g->walk;
        const struct pp_audit_use *u = &uses[i];
        struct audit_fact *f = w->now;
        enum pp_watch_answer part = w->resumed ? pp_seen_add(&w->part, u->sample) : PP_WATCH_FIRST,
                             rank = pp_seen_add(&w->rank, u->sample),
                             all = w->f->numbers_are_local ? rank : pp_seen_add(&w->all, u->sample);
        f->uses++;
        f->set += pp_watch_hash(u->sample);
        size_t k = 0;
        while (k < w->n_workers && w->worker[k].number != u->worker)
            k++;
        if (k < WORKERS) {
            if (k == w->n_workers)
                w->worker[w->n_workers++] = (struct worker){.number = u->worker};
            w->worker[k].uses++;
            w->worker[k].set += pp_watch_hash(u->sample);
        }
        if (w->filling && u->batch < PREFIX)
            pp_visit_batch_add(&w->filling->batch[u->batch], u->sample);
        if (all == PP_WATCH_FIRST)
            g->epoch->distinct += pp_seen_weight(w->f->numbers_are_local ? &w->rank : &w->all, u->sample);
        if (w->f->leased)
            g->epoch->shards += pp_seen_add(&w->shards, u->sample >> 32) == PP_WATCH_FIRST;
        const struct pp_audit_lease lease = {.epoch = g->epoch->number, .shard = u->sample >> 32};
        if ((rank == PP_WATCH_AGAIN || all == PP_WATCH_AGAIN) && w->f->n_taken_over &&
            bsearch(&lease, w->f->taken_over, w->f->n_taken_over, sizeof(lease), by_lease)) {
            f->taken_over += pp_seen_weight(&w->all, u->sample);
        } else if (rank == PP_WATCH_AGAIN) {
            int of_this = !w->resumed || part == PP_WATCH_AGAIN;
            *(of_this ? &f->own_again : &f->resume_again) += pp_seen_weight(&w->rank, u->sample);
            note_again(w, u->sample);
        } else if (all == PP_WATCH_AGAIN) {
            int last = w->f->stratified || w->last_batch == UINT32_MAX || u->batch == UINT32_MAX ||
                       u->batch == w->last_batch;
            f->cross_again += pp_seen_weight(&w->all, u->sample);
            f->cross_last += last ? pp_seen_weight(&w->all, u->sample) : 0;
            if (!last)
                note_again(w, u->sample);
        }
        g->no_memory = part == PP_WATCH_NO_MEMORY || rank == PP_WATCH_NO_MEMORY || all == PP_WATCH_NO_MEMORY;
    }
    return g->no_memory;
}

/* ---- a rank in an epoch ---- */

static const struct pp_audit_span *span_of(const struct pp_audit_part *p, uint16_t epoch)
{
    for (size_t i = 0; i < p->n_epochs; i++)
        if (p->epochs[i].epoch == epoch)
            return &p->epochs[i];
    return NULL;
}

static pp_status walk_rank(struct walk *w, struct audit_epoch *e, size_t rank, struct pp_err *err)
{
    struct audit_facts *f = w->f;
    const struct audit_rank *r = &f->ranks[rank];
    struct feeding g = {w, e, 0};
    int begun = 0, ended = 0, alike = 0, complete = 1;
    pp_status st = PP_OK;
    w->now = &f->fact[(size_t)(e - f->epochs) * f->n_ranks + rank];
    w->now->leader = rank;
    w->resumed = 0;
    for (size_t i = r->first_part; st == PP_OK && i < r->first_part + r->n_parts; i++) {
        const struct pp_audit_part *p = &f->in->parts[i];
        const struct pp_audit_span *s = span_of(p, e->number);
        complete &= !p->incomplete && !p->unknown;
        if (!s)
            continue;
        w->resumed = w->now->parts++ > 0;
        begun = w->resumed ? begun : s->begun;
        ended = s->ended && !p->incomplete && (!s->to || s->to == s->batches);
        w->span = s;
        w->now->order_of = s->order_of ? s->order_of : w->now->order_of;
        w->last_batch = s->batches ? s->batches - 1 : UINT32_MAX;
        w->n_workers = 0;
        w->filling = s->begun && !w->resumed && s->batches && !f->leased ? w->prefix + 2 * rank : NULL;
        if (w->filling) { /* the newest becomes the one before, and an empty one the newest */
            w->filling[1] = w->filling[0];
            w->filling[0] = (struct prefix){.epoch = e->number, .any = 1};
        }
        st = f->in->feed(f->in->ctx, i, (uint16_t)(e->number - s->moved), take_uses, &g, err);
        if (st == PP_OK && g.no_memory)
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s", p->file);
        const struct prefix *two = w->filling;
        if (two && two[0].any && two[1].any && two[1].epoch + 1 == two[0].epoch) {
            struct pp_visit_orders c = {0};
            for (size_t k = 0; k < PREFIX && two[0].batch[k].n && two[1].batch[k].n; k++)
                pp_visit_orders_add(&c, &two[1].batch[k], &two[0].batch[k]);
            w->now->same_order = !pp_visit_orders_by_number(&c) && pp_visit_orders_repeat(&c);
        }
        w->now->batches += s->to ? s->to - s->from : s->batches;
        /* All workers that gave anything gave the same. */
        int same = w->n_workers > 1 && w->n_workers < WORKERS && w->worker[0].uses > 1;
        for (size_t k = 1; k < w->n_workers; k++)
            same &= w->worker[k].set == w->worker[0].set && w->worker[k].uses == w->worker[0].uses;
        alike |= ended && same;
        pp_seen_clear(&w->part);
    }
    w->now->whole = (uint8_t)(f->leased ? f->leases_done && complete : begun && ended);
    w->now->workers_alike = (uint8_t)(alike && w->now->own_again);
    pp_seen_clear(&w->rank);
    return st;
}

/* ---- ranks that draw what another draws ---- */

struct drawn {
    uint64_t samples; /* stands for them */
    size_t rank;
};

PP_BY_BOTH(by_samples, struct drawn, samples, rank)

static int same_prefix(const struct walk *w, size_t i, size_t j)
{
    const struct prefix *x = &w->prefix[2 * i], *y = &w->prefix[2 * j];
    struct pp_visit_orders c = {0};
    for (size_t k = 0;
         x->any && y->any && x->epoch == y->epoch && k < PREFIX && x->batch[k].n && y->batch[k].n; k++)
        pp_visit_orders_add(&c, &x->batch[k], &y->batch[k]);
    return pp_visit_orders_repeat(&c);
}

enum drawn_by { BY_SET, BY_FIRST_BATCH };

/* fact: of the epoch. Equal ones stand next to each other, the lowest rank first. */
static void find_leaders(const struct walk *w, struct audit_fact *fact, struct drawn *order, enum drawn_by by)
{
    size_t n = 0;
    for (size_t i = 0; i < w->f->n_ranks; i++)
        if (fact[i].uses && fact[i].leader == i)
            order[n++] = (struct drawn){by == BY_SET ? fact[i].set : w->prefix[2 * i].batch[0].hash, i};
    qsort(order, n, sizeof(*order), by_samples);
    for (size_t k = 1; k < n; k++) {
        size_t i = order[k - 1].rank, j = order[k].rank;
        const struct audit_fact *x = &fact[i], *y = &fact[j];
        if (by == BY_SET ? x->whole && y->whole && x->uses > 1 && x->uses == y->uses && x->set == y->set
                         : same_prefix(w, i, j))
            fact[j].leader = fact[i].leader;
    }
}

/* ---- examples ---- */

struct finding {
    struct audit_facts *f;
    const struct pp_audit_span *span; /* of the part in the epoch */
    const uint64_t *sample;
    size_t n, part;
    const char **where;
    unsigned *uses;
};

static int find_uses(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    struct finding *g = ctx;
    const struct pp_audit_part *p = &g->f->in->parts[g->part];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < g->n; k++) {
            if (uses[i].sample != g->sample[k] || !counts(g->span, &uses[i]) || g->uses[k]++ > 3)
                continue;
            const char *before = g->where[k] ? g->where[k] : "", *comma = g->where[k] ? ", " : "";
            g->where[k] = g->uses[k] == 4 ? pp_arena_printf(g->f->arena, "%s%s...", before, comma)
                          : uses[i].batch == UINT32_MAX
                              ? pp_arena_printf(g->f->arena, "%s%srank %lld", before, comma,
                                                (long long)p->rank)
                              : pp_arena_printf(g->f->arena, "%s%srank %lld batch %u", before, comma,
                                                (long long)p->rank, uses[i].batch + (uint32_t)g->span->first);
        }
    return 0;
}

/* ---- an epoch ---- */

static pp_status walk_epoch(struct walk *w, struct audit_epoch *e, struct drawn *order, struct pp_err *err)
{
    struct audit_facts *f = w->f;
    struct audit_fact *fact = f->fact + (size_t)(e - f->epochs) * f->n_ranks;
    pp_status st = PP_OK;
    w->n_again = 0;
    for (size_t i = 0; st == PP_OK && i < f->n_ranks; i++)
        st = walk_rank(w, e, i, err);
    if (st != PP_OK)
        return st;
    if (!f->numbers_are_local) {
        find_leaders(w, fact, order, BY_SET);
        find_leaders(w, fact, order, BY_FIRST_BATCH);
        /* Of a whole epoch the first samples that no rank used; not where drop_last may have left so many
         * out. */
        double missing = f->samples - (double)e->distinct,
               by_design = f->drop_last == 0 ? 0 : e->world * (isnan(f->batch_size) ? 1 : f->batch_size);
        int listed = audit_epoch_is_whole(f, (size_t)(e - f->epochs)) && missing > 0 &&
                     missing >= by_design && f->samples <= (double)PP_AUDIT_EXACT;
        for (uint64_t i = 0;
             listed && i < (uint64_t)f->samples && f->n_examples + w->n_again < PP_AUDIT_EXAMPLES; i++)
            if (!pp_seen_has(&w->all, i))
                f->examples[f->n_examples++] = (struct pp_audit_example){.sample = (double)i,
                                                                         .epoch = e->number};
    }
    f->scale = fmax(f->scale, pp_watch_scale(&w->all.watch));
    pp_seen_clear(&w->all);
    pp_seen_clear(&w->shards);
    /* Where the samples that came again were used. */
    const char *where[PP_AUDIT_EXAMPLES] = {0};
    unsigned uses[PP_AUDIT_EXAMPLES] = {0};
    struct finding g = {.f = f, .sample = w->again, .n = w->n_again, .where = where, .uses = uses};
    for (g.part = 0; st == PP_OK && g.n && g.part < f->in->n_parts; g.part++)
        if ((g.span = span_of(&f->in->parts[g.part], e->number)))
            st = f->in->feed(f->in->ctx, g.part, (uint16_t)(e->number - g.span->moved), find_uses, &g, err);
    for (size_t k = 0; st == PP_OK && k < g.n; k++)
        f->examples[f->n_examples++] = (struct pp_audit_example){.sample = (double)w->again[k],
                                                                 .epoch = e->number,
                                                                 .uses = uses[k],
                                                                 .where = where[k]};
    return st;
}

/* ---- all ---- */

static int list_epochs(struct audit_facts *f)
{
    uint8_t *has = calloc(UINT16_MAX + 1, 1);
    size_t n = 0;
    for (size_t i = 0; has && i < f->in->n_parts; i++)
        for (size_t k = 0; k < f->in->parts[i].n_epochs; k++) {
            n += !has[f->in->parts[i].epochs[k].epoch];
            has[f->in->parts[i].epochs[k].epoch] = 1;
        }
    f->epochs = has ? calloc(n + 1, sizeof(*f->epochs)) : NULL;
    for (unsigned e = 0; f->epochs && e <= UINT16_MAX; e++)
        if (has[e])
            f->epochs[f->n_epochs++].number = (uint16_t)e;
    for (size_t e = 0; f->epochs && e < f->n_epochs; e++) {
        f->epochs[e].world = 1;
        for (size_t i = 0; i < f->in->n_parts; i++)
            if (f->leased || span_of(&f->in->parts[i], f->epochs[e].number))
                f->epochs[e].world = fmax(f->epochs[e].world, (double)f->in->parts[i].world_size);
    }
    if (f->n_ranks && f->n_epochs > PP_AUDIT_FACTS / f->n_ranks) {
        f->n_epochs = PP_AUDIT_FACTS / f->n_ranks;
        f->cut = 1;
    }
    free(has);
    return f->epochs != NULL;
}

pp_status audit_facts_collect(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_facts *f,
                              struct pp_err *err)
{
    struct walk w = {.f = f};
    struct drawn *order = NULL;
    size_t taken_over = 0;
    pp_status st = PP_OK;
    *f = (struct audit_facts){.in = &f->input, .input = *in, .arena = arena, .scale = 1};
    st = audit_place(in, arena, &f->placed, err);
    f->input.parts = f->placed.parts;
    if (st != PP_OK)
        return st;
    f->ranks = calloc(in->n_parts + 1, sizeof(*f->ranks));
    f->samples = f->batch_size = f->shards = NAN;
    f->world = 1;
    f->drop_last = -1;
    for (size_t i = 0; f->ranks && i < in->n_parts; i++) {
        const struct pp_audit_part *p = &in->parts[i];
        if (!f->n_ranks || f->ranks[f->n_ranks - 1].number != p->rank)
            f->ranks[f->n_ranks++] = (struct audit_rank){.number = p->rank, .first_part = i};
        f->ranks[f->n_ranks - 1].n_parts++;
        f->samples = isnan(f->samples) ? p->samples : f->samples; /* of several parts the first that knows */
        f->batch_size = isnan(f->batch_size) ? p->batch_size : f->batch_size;
        f->drop_last = f->drop_last < 0 ? p->drop_last : f->drop_last;
        f->world = fmax(f->world, (double)p->world_size);
        f->numbers_are_local |= p->numbers_are_local;
        f->stratified |= p->stratified;
        f->leased |= p->leased;
        f->leases_done |= p->leased && p->finished;
        f->shards = isnan(f->shards) && p->leased ? p->shards : f->shards;
        taken_over += p->n_taken_over;
    }
    f->taken_over = calloc(taken_over + 1, sizeof(*f->taken_over));
    for (size_t i = 0; f->taken_over && i < in->n_parts; i++)
        for (size_t k = 0; k < in->parts[i].n_taken_over; k++)
            f->taken_over[f->n_taken_over++] = in->parts[i].taken_over[k];
    if (f->n_taken_over)
        qsort(f->taken_over, f->n_taken_over, sizeof(*f->taken_over), by_lease);
    f->numbers_are_local &= f->world > 1;
    if (!f->ranks || !f->taken_over || !list_epochs(f) ||
        !(f->fact = calloc(f->n_epochs * f->n_ranks + 1, sizeof(*f->fact))) ||
        !(w.prefix = calloc(2 * f->n_ranks + 1, sizeof(*w.prefix))) ||
        !(order = calloc(f->n_ranks + 1, sizeof(*order))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the audit of %zu recordings", in->n_parts);
    for (size_t i = 0; st == PP_OK && i < f->n_epochs; i++)
        st = walk_epoch(&w, &f->epochs[i], order, err);
    pp_seen_free(&w.all);
    pp_seen_free(&w.rank);
    pp_seen_free(&w.part);
    pp_seen_free(&w.shards);
    free(w.prefix);
    free(order);
    return st;
}

/* All ranks that the job had in it have it whole. */
int audit_epoch_is_whole(const struct audit_facts *f, size_t epoch)
{
    double whole = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        const struct audit_fact *fact = audit_fact_at(f, epoch, i);
        whole += fact->whole;
        if (fact->uses && !fact->whole)
            return 0;
    }
    return whole > 0 && whole == f->epochs[epoch].world;
}
