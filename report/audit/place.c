#include "report/audit/audit_read.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

enum {
    NEEDLE = 64,
    GAP = 2 /* epochs before a run that is not placed: none of its neighbours is compared */
};
#define CHANCE 13.8155106 /* ln(1e6): shuffles agree so once in a million */

/* In batches of a rank. */
struct place {
    uint16_t epoch;
    int64_t batch;
};

/* The first samples of a run of a rank, and how many it has. */
struct needle {
    uint64_t sample[NEEDLE], n, from, before, used; /* before: samples of batches before `from` */
};

struct placing {
    const struct pp_audit_input *in;
    struct audit_placed *out;
    struct pp_arena *arena;
    struct pp_err *err;
    pp_status status;
    size_t *run; /* by part: which run of the job it is of */
    size_t n_runs;
    uint32_t lag; /* batches that a wrapper takes before the first one is trained on */
    int any_trained;
    /* Of the run that is being placed: */
    int any_save;
    struct place newest; /* checkpoint of the runs before */
    uint16_t last;       /* epoch of theirs */
};

/* ---- runs of the job ---- */

struct started {
    double ns;
    size_t part;
};

PP_BY_BOTH(by_start, struct started, ns, part)

/* A rank that comes again, and another world size, begin a run. */
static int list_runs(struct placing *p)
{
    size_t n = p->out->n, first = 0;
    struct started *order = calloc(n + 1, sizeof(*order));
    p->run = calloc(n + 1, sizeof(*p->run));
    for (size_t i = 0; order && i < n; i++)
        order[i] = (struct started){p->out->parts[i].started_ns, i};
    if (order)
        qsort(order, n, sizeof(*order), by_start);
    for (size_t i = 0; order && p->run && i < n; i++) {
        const struct pp_audit_part *part = &p->out->parts[order[i].part];
        int again = i > 0 && part->world_size != p->out->parts[order[first].part].world_size;
        for (size_t k = first; k < i; k++)
            again |= p->out->parts[order[k].part].rank == part->rank;
        if (again) {
            p->n_runs++;
            first = i;
        }
        p->run[order[i].part] = p->n_runs;
    }
    p->n_runs++;
    free(order);
    return order && p->run;
}

/* The part of the rank in the run; NULL: it has none. */
static struct pp_audit_part *part_of(const struct placing *p, size_t run, int64_t rank)
{
    for (size_t i = 0; i < p->out->n; i++)
        if (p->run[i] == run && p->out->parts[i].rank == rank)
            return &p->out->parts[i];
    return NULL;
}

static const struct pp_audit_part *any_part_of(const struct placing *p, size_t run)
{
    size_t i = 0;
    while (p->run[i] != run)
        i++;
    return &p->out->parts[i];
}

/* ---- what was trained on ---- */

/* The first epoch of the part that it trained on, without the batches that it dropped before. What came
 * before was for something else. NULL: none. */
static struct pp_audit_span *first_span(const struct placing *p, struct pp_audit_part *part)
{
    for (size_t k = 0; k < part->n_epochs; k++) {
        struct pp_audit_span *s = &part->epochs[k];
        if (p->any_trained && s->trained == PP_AUDIT_NONE)
            continue;
        s->from = p->any_trained ? s->trained - p->lag : 0;
        return s;
    }
    return NULL;
}

/* ---- lists ---- */

static pp_status feed(struct placing *p, const struct pp_audit_part *part, const struct pp_audit_span *s,
                      pp_audit_use_fn *fn, void *ctx)
{
    if (p->status == PP_OK)
        p->status = p->in->feed(p->in->ctx, (size_t)(part - p->out->parts), (uint16_t)(s->epoch - s->moved),
                                fn, ctx, p->err);
    return p->status;
}

static int fill_needle(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    struct needle *needle = ctx;
    for (size_t i = 0; i < n; i++) {
        if (uses[i].batch < needle->from) {
            needle->before++;
            continue;
        }
        if (needle->n < NEEDLE)
            needle->sample[needle->n++] = uses[i].sample;
        needle->used++;
    }
    return 0;
}

struct search {
    const struct needle *needle;
    uint64_t m; /* of the needle, that stand here; 0: not begun */
    uint32_t batch, before;
    int at_start, failed;
};

static int search_in(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    struct search *g = ctx;
    for (size_t i = 0; i < n && !g->failed && g->m < g->needle->n; i++) {
        if (uses[i].sample == g->needle->sample[g->m]) {
            if (!g->m) {
                g->batch = uses[i].batch;
                g->at_start = g->batch != g->before;
            }
            g->m++;
        } else {
            g->failed = g->m > 0;
        }
        g->before = uses[i].batch;
    }
    return g->failed || g->m == g->needle->n;
}

/* Whether the samples stand in the list one behind the other, as far as it goes; and from which batch on. */
static int stands_in(struct placing *p, const struct needle *needle, const struct pp_audit_part *part,
                     const struct pp_audit_span *s, int64_t *batch)
{
    struct search g = {.needle = needle, .before = UINT32_MAX};
    if (!needle->n || feed(p, part, s, search_in, &g) != PP_OK || g.failed || !g.at_start)
        return 0;
    *batch = (int64_t)g.batch + s->first;
    return ((double)g.m - 1) * log((double)(s->given > 2 ? s->given : 2)) >= CHANCE;
}

static int same_order(struct placing *p, const struct pp_audit_part *a, const struct pp_audit_span *x,
                      const struct pp_audit_part *b, const struct pp_audit_span *y)
{
    struct needle needle = {0};
    int64_t at;
    feed(p, a, x, fill_needle, &needle);
    return x->first == 0 && y->first == 0 && stands_in(p, &needle, b, y, &at) && at == 0;
}

/* Samples of batches before `to`. */
struct counted {
    int64_t to;
    uint64_t n;
};

static int count_before(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    struct counted *g = ctx;
    for (size_t i = 0; i < n; i++)
        g->n += uses[i].batch < g->to;
    return 0;
}

/* ---- where a run goes on ---- */

/* The newest list of the rank for that epoch of the job, of runs before this one with its ranks. */
static const struct pp_audit_span *list_of(const struct placing *p, size_t run, int64_t rank, uint16_t epoch,
                                           const struct pp_audit_part **of)
{
    int64_t world = any_part_of(p, run)->world_size;
    while (run-- > 0 && any_part_of(p, run)->world_size == world) {
        const struct pp_audit_part *part = part_of(p, run, rank);
        for (size_t k = 0; part && k < part->n_epochs; k++)
            if (part->epochs[k].epoch == epoch) {
                *of = part;
                return &part->epochs[k];
            }
    }
    return NULL;
}

/* The newest checkpoint of the runs before; 0: none was seen. Another rank's is this one's, too. */
static int newest_save(const struct placing *p, size_t run, struct place *at)
{
    int found = 0;
    *at = (struct place){0};
    while (run-- > 0 && !found)
        for (size_t i = 0; i < p->out->n; i++) {
            const struct pp_audit_part *part = &p->out->parts[i];
            const struct pp_audit_span *s = part->epochs, *end = s + part->n_epochs;
            if (p->run[i] != run || !part->save.batches)
                continue;
            while (s < end && s->epoch - s->moved != part->save.epoch)
                s++;
            if (s == end)
                continue;
            int64_t batch = (int64_t)part->save.batches - p->lag;
            /* A loop that knows the number of batches asks for no more. */
            int all = batch == s->batches && (s->ended || s + 1 < end), at_end = part->save.at_end || all;
            struct place here = {(uint16_t)(s->epoch + at_end), at_end ? 0 : batch + s->first};
            if (!found || here.epoch > at->epoch || (here.epoch == at->epoch && here.batch > at->batch))
                *at = here;
            found = 1;
        }
    return found;
}

/* A rank of the run that is to be placed. */
struct ranked {
    const struct pp_audit_part *part;
    struct pp_audit_span *span;
    struct needle needle;
    double whole; /* samples of an epoch of the rank */
    double slack; /* so many fewer, or one more, may be meant */
    int order_of; /* the epoch whose order it has, plus 1; 0: its own */
};

static void measure_epoch(struct placing *p, size_t run, struct ranked *r)
{
    const struct pp_audit_part *part = r->part;
    double world = (double)part->world_size;
    const struct pp_audit_span *next = r->span + 1;
    r->whole = ceil(part->samples / world);
    r->slack = isnan(part->batch_size) ? 0 : part->batch_size;
    if (isnan(r->whole) && next < part->epochs + part->n_epochs && next->ended)
        r->whole = (double)next->given;
    for (size_t i = 0; i < p->out->n; i++) {
        const struct pp_audit_part *other = &p->out->parts[i];
        for (size_t k = 0; k < other->n_epochs; k++) {
            const struct pp_audit_span *s = &other->epochs[k];
            if (other->rank == part->rank && other->world_size == part->world_size && p->run[i] < run &&
                s->ended && s->first == 0 && s->begun) {
                r->whole = (double)s->given;
                r->slack = 0;
            }
        }
    }
}

static int fits(const struct ranked *r, double before)
{
    double all = before + (double)r->needle.used;
    return r->span->ended && all >= r->whole - r->slack && all <= r->whole + (r->slack > 0);
}

enum answer { UNKNOWN, PLACED, OTHER_ORDER };

static enum answer cannot_tell(struct placing *p, const char *why)
{
    if (!p->out->unknown)
        p->out->unknown = why;
    return UNKNOWN;
}

/* Its first samples stand where no checkpoint that was seen does: beyond what was taken they are left out. */
static enum answer place_beyond(struct placing *p, const struct pp_audit_span *s, struct place found,
                                const char *why)
{
    int beyond = found.epoch == p->last && found.batch > s->first + (int64_t)s->batches;
    return beyond ? PLACED : cannot_tell(p, why);
}

/* samples: of the epoch of the newest checkpoint before it. */
static enum answer place_order(struct placing *p, size_t run, struct ranked *r, struct place found,
                               double samples)
{
    const struct pp_audit_part *of, *found_of;
    const struct pp_audit_span *s = list_of(p, run, r->part->rank, p->newest.epoch, &of),
                               *found_in = list_of(p, run, r->part->rank, found.epoch, &found_of);
    int alike = s ? same_order(p, found_of, found_in, of, s)
                  : p->newest.epoch == p->last + 1 && found.epoch == p->last;
    if (alike && found.batch == p->newest.batch) /* each epoch has the same order */
        return PLACED;
    r->order_of = found.epoch + 1;
    /* It goes on as an earlier epoch did, though there is a later checkpoint: it was taken back to an older
     * one, or it has the wrong order. The epoch behind tells, where both are known. */
    const struct pp_audit_span *then = list_of(p, run, r->part->rank, (uint16_t)(found.epoch + 1), &of),
                               *now = r->span + 1;
    int known = then && now < r->part->epochs + r->part->n_epochs && then->given > 1 && now->given > 1;
    if (!known || same_order(p, of, then, r->part, now) || same_order(p, r->part, now, of, then))
        return cannot_tell(
            p, pp_arena_printf(
                   p->arena,
                   "a resumed recording goes on in the order of epoch %u from batch %lld on, and the newest "
                   "checkpoint seen stands before batch %lld of epoch %u: from an older checkpoint that is "
                   "right, else it is the wrong order",
                   found.epoch, (long long)found.batch, (long long)p->newest.batch, p->newest.epoch));
    if (fits(r, samples))
        return OTHER_ORDER;
    return cannot_tell(p, "a resumed recording has the order of an earlier epoch, and is not as long as the "
                          "rest of the one that was interrupted");
}

static enum answer place_rank(struct placing *p, size_t run, struct ranked *r, struct place *at)
{
    const struct pp_audit_part *of;
    struct place newest = p->newest, found = {0};
    struct counted before = {0};
    const struct pp_audit_span *s;
    int is_found = 0; /* where its first samples stand: newest epochs first */
    for (int e = p->last; e >= 0 && !is_found; e--) {
        s = list_of(p, run, r->part->rank, (uint16_t)e, &of);
        is_found = s && stands_in(p, &r->needle, of, s, &found.batch);
        found.epoch = is_found ? (uint16_t)e : 0;
    }
    s = list_of(p, run, r->part->rank, p->any_save ? newest.epoch : found.epoch, &of);
    *at = is_found && (!p->any_save || found.epoch == newest.epoch) ? found : newest;
    if (!p->any_save)
        return is_found
                   ? place_beyond(p, s, found,
                                  "no checkpoint was recorded, so that it is not known where a resumed "
                                  "recording was to go on")
                   : cannot_tell(p,
                                 "no checkpoint was recorded, and a resumed recording goes on with samples "
                                 "that were not given before");
    before.to = s ? newest.batch - s->first : 0;
    if (before.to > 0)
        feed(p, of, s, count_before, &before);
    if (is_found && found.epoch != newest.epoch)
        return place_order(p, run, r, found, (double)before.n);
    if (is_found && found.batch == newest.batch)
        return PLACED;
    if (is_found)
        return place_beyond(
            p, s, found,
            pp_arena_printf(p->arena,
                            "a resumed recording goes on with batch %lld of epoch %u, and the newest "
                            "checkpoint seen stands before batch %lld",
                            (long long)found.batch, found.epoch, (long long)newest.batch));
    if (fits(r, (double)before.n) || (!r->span->ended && newest.batch == 0))
        return PLACED;
    return cannot_tell(
        p, pp_arena_printf(
               p->arena,
               "a resumed recording begins with %llu samples in an order that was not seen before, and "
               "the newest checkpoint stands before batch %lld of epoch %u",
               (unsigned long long)r->needle.used, (long long)newest.batch, newest.epoch));
}

/* ---- a run ---- */

/* The epochs of a part get their numbers in the job; `first` is its first one, and goes on at `at`. */
static void number_epochs(struct pp_audit_part *part, const struct pp_audit_span *first, struct place at,
                          int order_of, int begins)
{
    int32_t moved = (int32_t)at.epoch - first->epoch;
    for (size_t k = 0; k < part->n_epochs; k++) {
        struct pp_audit_span *s = &part->epochs[k];
        if (s < first || s->epoch + moved > UINT16_MAX)
            s->to = s->from;
        s->epoch = (uint16_t)(s->epoch + moved);
        s->moved += moved;
        if (s == first) {
            s->first = (int32_t)at.batch - (int32_t)s->from;
            s->order_of = order_of;
            s->begun = begins;
        }
    }
}

/* Of another world size: the samples of all ranks are as many as the rest of the epoch. */
static enum answer place_by_number(struct placing *p, size_t run, const struct ranked *ranks, size_t n)
{
    double all = 0, samples = ranks[0].part->samples, behind = 0, world = (double)ranks[0].part->world_size,
           batch = isnan(ranks[0].part->batch_size) ? 1 : ranks[0].part->batch_size;
    int ended = 1;
    for (size_t i = 0; i < p->out->n; i++) {
        const struct pp_audit_part *part = &p->out->parts[i];
        for (size_t k = 0; p->run[i] + 1 == run && p->any_save && k < part->n_epochs; k++) {
            struct counted before = {.to = p->newest.batch - part->epochs[k].first};
            if (part->epochs[k].epoch == p->newest.epoch && before.to > 0)
                feed(p, part, &part->epochs[k], count_before, &before);
            all += part->epochs[k].epoch == p->newest.epoch ? (double)before.n : 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        all += (double)ranks[i].needle.used;
        behind += ranks[i].whole;
        ended &= ranks[i].span->ended;
    }
    samples = isnan(samples) ? behind : samples;
    if (p->any_save && ended && (double)n == world && all > samples - world * batch && all < samples + world)
        return PLACED;
    return cannot_tell(
        p, "a run of another world size is not as long as the rest of the epoch that was interrupted");
}

static void place_run(struct placing *p, size_t run, struct ranked *ranks)
{
    struct place at = {0}, cut;
    p->any_save = newest_save(p, run, &p->newest);
    uint16_t last = 0;
    for (size_t j = 0; j < p->out->n; j++)
        for (size_t k = 0; p->run[j] < run && k < p->out->parts[j].n_epochs; k++)
            last = p->out->parts[j].epochs[k].epoch > last ? p->out->parts[j].epochs[k].epoch : last;
    p->last = last;
    size_t n = 0;
    enum answer a = PLACED;
    for (size_t i = 0; i < p->out->n && p->status == PP_OK; i++) {
        struct pp_audit_part *part = &p->out->parts[i];
        struct pp_audit_span *s = p->run[i] == run ? first_span(p, part) : NULL;
        if (p->run[i] == run && !s) /* it trained on nothing, and so used nothing */
            part->n_epochs = 0;
        if (!s)
            continue;
        if (s->epoch > 0 && s == part->epochs)
            a = cannot_tell(p, "the first epoch of a resumed recording gave no batch");
        ranks[n] = (struct ranked){.part = part, .span = s, .needle = {.from = s->from}};
        feed(p, part, s, fill_needle, &ranks[n].needle);
        measure_epoch(p, run, &ranks[n]);
        n++;
    }
    if (!n)
        return;
    int other_world = any_part_of(p, run)->world_size != any_part_of(p, run - 1)->world_size;
    if (other_world && a != UNKNOWN) {
        a = place_by_number(p, run, ranks, n);
        at = p->newest;
    }
    for (size_t i = 0; i < n && !other_world && a != UNKNOWN && p->status == PP_OK; i++) {
        struct place mine;
        enum answer of_rank = place_rank(p, run, &ranks[i], &mine);
        if (i > 0 && of_rank != UNKNOWN && (mine.epoch != at.epoch || mine.batch != at.batch))
            of_rank = cannot_tell(p, "the ranks of a resumed job go on at different places");
        a = of_rank == PLACED ? a : of_rank;
        at = mine;
    }
    if (a == UNKNOWN)
        at = (struct place){(uint16_t)(p->last + GAP), 0};
    cut = p->any_save && p->newest.epoch == at.epoch && p->newest.batch < at.batch ? p->newest : at;
    /* Of the runs before nothing counts from there on. */
    for (size_t i = 0; a != UNKNOWN && i < p->out->n; i++)
        for (size_t k = 0; p->run[i] < run && k < p->out->parts[i].n_epochs; k++) {
            struct pp_audit_span *s = &p->out->parts[i].epochs[k];
            int64_t to = s->epoch > cut.epoch ? 0 : s->epoch < cut.epoch ? s->to : cut.batch - s->first;
            s->to = to > s->from ? (uint32_t)(to < s->to ? to : s->to) : s->from;
        }
    for (size_t i = 0; i < n; i++) {
        int begins = a != UNKNOWN && (at.batch == 0 || !part_of(p, run - 1, ranks[i].part->rank));
        number_epochs(&p->out->parts[ranks[i].part - p->out->parts], ranks[i].span, at,
                      a == OTHER_ORDER ? ranks[i].order_of : 0, begins);
    }
}

pp_status audit_place(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_placed *out,
                      struct pp_err *err)
{
    struct placing p = {.in = in, .out = out, .arena = arena, .err = err};
    struct ranked *ranks = calloc(in->n_parts + 1, sizeof(*ranks));
    int by_content = in->n_parts > 0, replaced = 0;
    size_t spans = 0, at = 0;
    for (size_t i = 0; i < in->n_parts; i++) {
        by_content &= in->parts[i].by_content;
        replaced |= in->parts[i].with_replacement;
        spans += in->parts[i].n_epochs;
    }
    *out = (struct audit_placed){.n = in->n_parts};
    out->parts = calloc(in->n_parts + 1, sizeof(*out->parts));
    out->spans = calloc(spans + 1, sizeof(*out->spans));
    for (size_t i = 0; out->parts && out->spans && i < in->n_parts; i++) {
        out->parts[i] = in->parts[i];
        out->parts[i].epochs = out->spans + at;
        for (size_t k = 0; k < in->parts[i].n_epochs; k++)
            out->spans[at++] = in->parts[i].epochs[k];
    }
    if (!ranks || !out->parts || !out->spans || !list_runs(&p))
        p.status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the audit of %zu recordings", in->n_parts);
    if (p.status == PP_OK && by_content && !replaced) {
        /* An iteration that begins with the batch it is trained on says how many a wrapper takes ahead. */
        p.lag = PP_AUDIT_NONE;
        for (size_t i = 0; i < p.out->n; i++)
            for (size_t k = 0; k < p.out->parts[i].n_epochs; k++)
                p.lag = p.out->parts[i].epochs[k].trained < p.lag ? p.out->parts[i].epochs[k].trained : p.lag;
        p.any_trained = p.lag != PP_AUDIT_NONE;
        p.lag = p.any_trained ? p.lag : 0;
        for (size_t run = 1; run < p.n_runs && p.status == PP_OK; run++)
            place_run(&p, run, ranks);
        /* Epochs of which nothing counts go; those that are left stay in their order. */
        for (size_t i = 0; i < out->n; i++) {
            struct pp_audit_part *part = &out->parts[i];
            size_t n = 0;
            for (size_t k = 0; k < part->n_epochs; k++)
                if (part->epochs[k].to > part->epochs[k].from || !part->by_content)
                    part->epochs[n++] = part->epochs[k];
            part->n_epochs = n;
        }
    }
    free(ranks);
    free(p.run);
    return p.status;
}
