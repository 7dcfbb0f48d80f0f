#include "report/audit/facts.h"

#include "probe/base/err.h"
#include "report/rules/remedies.h"

#define MOST_REPEATS 0.5 /* of the uses: beyond, the recording does not tell its epochs apart */

struct cause {
    uint64_t samples;
    double epochs, first_epoch;
    int by_content;   /* of samples without numbers: */
    double of_rank;   /* epochs of the rank */
    size_t last_rank; /* that was named last */
    uint8_t *ranks;   /* by place */
};

struct judge {
    const struct audit_facts *f;
    struct pp_audit *out;
    struct cause cause[PP_AUDIT_CAUSES];
    uint8_t *ranks; /* of all causes */
    int with_replacement, epochs_untold, has_prints;
    double most_distinct;               /* of the whole epochs, where the data set's number is not known */
    double number[PP_AUDIT_FACT_COUNT]; /* the facts: of all, and of the cause that is concluded */
    const char *text[PP_AUDIT_FACT_COUNT];
};

/* One epoch while it is judged. */
struct epoch {
    size_t at;
    const struct audit_fact *fact;
    struct pp_audit_epoch *row;
    uint64_t followed; /* uses of ranks that draw another's samples */
    uint64_t shared;   /* by several ranks, which nothing explains */
    uint64_t taken_over;
    size_t present, followers;
};

static void blame(struct judge *j, enum pp_audit_cause_id id, const struct epoch *e, uint64_t samples)
{
    struct cause *c = &j->cause[id];
    if (!(c->epochs++ > 0))
        c->first_epoch = e->row->epoch;
    c->samples += samples;
}

static void name_rank(struct judge *j, enum pp_audit_cause_id id, size_t rank)
{
    j->cause[id].ranks[rank] = 1;
}

/* ---- findings of an epoch ---- */

static void count(const struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    uint64_t cross = 0, last = 0, own = 0;
    double world = f->epochs[e->at].world;
    size_t all = 0;
    e->row->used = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        const struct audit_fact *r = &e->fact[i];
        e->present += r->uses > 0;
        e->row->used += (double)r->uses;
        own += r->own_again + r->resume_again;
        e->taken_over += r->taken_over;
        /* More than its share: the whole data set, but for a short last batch. */
        double n = f->samples, b = isnan(f->batch_size) ? 1 : f->batch_size, uses = (double)r->uses;
        all += uses > ceil(n / world) && uses > n - b && world > 1;
        if (r->leader != i) {
            e->followers++;
            e->followed += r->cross_again;
        } else {
            cross += r->cross_again;
            last += r->cross_last;
        }
    }
    if (all > 1 && all == e->present && all == f->n_ranks) {
        e->followers = all - 1;
        e->followed += cross;
        cross = last = 0;
    }
    /* Samples that come twice so that all ranks have as many. */
    double most = isnan(f->samples) ? world - 1 : world * ceil(f->samples / world) - f->samples;
    uint64_t padding = f->leased ? 0 : (uint64_t)fmin((double)last, fmax(most, 0));
    e->shared = cross - padding;
    e->row->ranks = (double)e->present;
    e->row->distinct = (double)f->epochs[e->at].distinct;
    e->row->padding = (double)padding;
    e->row->taken_over = (double)e->taken_over;
    e->row->shards = f->leased ? (double)f->epochs[e->at].shards : NAN;
    e->row->repeated = (double)(own + e->shared + e->followed);
}

static void judge_own(struct judge *j, struct epoch *e)
{
    uint64_t sum[PP_AUDIT_CAUSES] = {0};
    for (size_t i = 0; i < j->f->n_ranks; i++) {
        const struct audit_fact *r = &e->fact[i];
        enum pp_audit_cause_id id = r->workers_alike ? PP_AUDIT_WORKERS_ALIKE : PP_AUDIT_REPEATED;
        if (r->own_again) {
            sum[id] += r->own_again;
            name_rank(j, id, i);
        }
        if (r->resume_again) {
            sum[PP_AUDIT_RESUME_REPEATS] += r->resume_again;
            name_rank(j, PP_AUDIT_RESUME_REPEATS, i);
        }
    }
    j->epochs_untold |= j->f->n_epochs == 1 && e->row->epoch == 0 &&
                        (double)sum[PP_AUDIT_REPEATED] > MOST_REPEATS * e->row->used;
    for (int id = 0; id < PP_AUDIT_CAUSES; id++)
        if (sum[id])
            blame(j, (enum pp_audit_cause_id)id, e, sum[id]);
}

/* Who is behind samples that no rank used: a rank that was resumed, or one is not to be named. */
static void judge_left_out(struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    double n = isnan(f->samples) ? j->most_distinct : f->samples, missing = fmax(n - e->row->distinct, 0),
           samples = f->samples, world = f->epochs[e->at].world, b = isnan(f->batch_size) ? 1 : f->batch_size,
           low = floor(samples / world), high = ceil(samples / world), first = (double)e->fact[0].uses,
           best = 0;
    const double uses[] = {floor(low / b) * b, floor(high / b) * b};
    int resumed = 0;
    e->row->left_out = missing;
    e->row->dropped = 0;
    if (!(missing > 0))
        return;
    /* Every rank has the same number, which is what is left when short batches and short rounds are cut. */
    int is_cut = f->drop_last != 0 && (first == low || first == uses[0] || first == uses[1]);
    for (size_t i = 1; i < f->n_ranks; i++)
        is_cut &= !e->fact[i].whole || e->fact[i].uses == e->fact[0].uses;
    if (is_cut && !(e->row->repeated > 0)) {
        e->row->left_out = 0;
        e->row->dropped = missing;
        blame(j, PP_AUDIT_DROPPED, e, (uint64_t)missing);
        return;
    }
    /* What is left out by design: of the ways to cut the one that comes nearest without being more. */
    for (size_t i = 0; i < 2 && f->drop_last == 1; i++) {
        double cut = samples - world * uses[i];
        best = cut <= missing && cut > best ? cut : best;
    }
    e->row->dropped = best;
    e->row->left_out = missing - e->row->dropped;
    missing = fmax(e->row->left_out - (double)e->followed, 0);
    if (e->row->dropped > 0)
        blame(j, PP_AUDIT_DROPPED, e, (uint64_t)e->row->dropped);
    if (!(missing > 0))
        return;
    for (size_t i = 0; i < f->n_ranks; i++)
        if (e->fact[i].parts > 1) {
            resumed = 1;
            name_rank(j, PP_AUDIT_RESUME_SKIPS, i);
        }
    blame(j, resumed ? PP_AUDIT_RESUME_SKIPS : PP_AUDIT_LEFT_OUT, e, (uint64_t)missing);
}

/* Ranks with different numbers of batches end their epochs at different steps. */
static void judge_uneven(struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    const struct audit_fact *least = &e->fact[0], *most = &e->fact[0];
    int resumed = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        if (!e->fact[i].whole) /* the job had fewer ranks then */
            continue;
        least = e->fact[i].uses < least->uses ? &e->fact[i] : least;
        most = e->fact[i].uses > most->uses ? &e->fact[i] : most;
        resumed |= e->fact[i].parts > 1;
    }
    e->row->least_used = (double)least->uses;
    e->row->most_used = (double)most->uses;
    if (f->leased) /* it is what leases are for */
        return;
    int uneven = least->batches && most->batches ? least->batches != most->batches
                                                 : most->uses > least->uses + 1;
    if (!uneven || resumed || f->n_ranks < 2)
        return;
    blame(j, PP_AUDIT_UNEVEN, e, most->uses - least->uses);
    name_rank(j, PP_AUDIT_UNEVEN, (size_t)(least - e->fact));
    name_rank(j, PP_AUDIT_UNEVEN, (size_t)(most - e->fact));
}

/* Leases: an epoch ends for a rank when all shards are done. */
static void judge_leases(struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    if (e->taken_over) {
        blame(j, PP_AUDIT_TAKEN_OVER, e, e->taken_over);
        for (size_t i = 0; i < f->n_ranks; i++)
            if (e->fact[i].taken_over)
                name_rank(j, PP_AUDIT_TAKEN_OVER, i);
    }
    if (!e->row->whole || isnan(f->shards))
        return;
    e->row->shards_left = fmax(f->shards - e->row->shards, 0);
    if (e->row->shards_left > 0)
        blame(j, PP_AUDIT_SHARDS_LEFT, e, (uint64_t)e->row->shards_left);
}

/* The epochs of a cause come rising, those of each rank by themselves. */
static void on_alike(void *ctx, uint16_t epoch, size_t rank)
{
    struct judge *j = ctx;
    enum pp_audit_cause_id id = rank == SIZE_MAX ? PP_AUDIT_RANKS_ALIKE : PP_AUDIT_WORKERS_ALIKE;
    struct cause *c = &j->cause[id];
    c->first_epoch = c->epochs > 0 ? fmin(c->first_epoch, epoch) : epoch;
    c->of_rank = c->last_rank == rank && c->epochs > 0 ? c->of_rank + 1 : 1;
    c->last_rank = rank;
    c->epochs = fmax(c->epochs, c->of_rank);
    c->by_content = 1;
    for (size_t i = 0; i < j->f->n_ranks; i++)
        if (rank == i || rank == SIZE_MAX)
            name_rank(j, id, i);
}

static void judge_epoch(struct judge *j, size_t at)
{
    const struct audit_facts *f = j->f;
    struct epoch e = {.at = at, .fact = audit_fact_at(f, at, 0), .row = &j->out->epochs[at]};
    *e.row = (struct pp_audit_epoch){.epoch = f->epochs[at].number,
                                     .left_out = NAN,
                                     .dropped = NAN,
                                     .least_used = NAN,
                                     .most_used = NAN,
                                     .shards = NAN,
                                     .shards_left = NAN,
                                     .whole = audit_epoch_is_whole(f, at)};
    count(j, &e);
    int same = 0, order_of = 0; /* order_of: of a resumed job, the epoch whose order it has, plus 1 */
    for (size_t i = 0; i < f->n_ranks; i++)
        if (e.fact[i].order_of || e.fact[i].same_order) {
            order_of = e.fact[i].order_of ? e.fact[i].order_of : order_of;
            same |= !e.fact[i].order_of;
            name_rank(j, e.fact[i].order_of ? PP_AUDIT_RESUME_ORDER : PP_AUDIT_SAME_ORDER, i);
        }
    if (same)
        blame(j, PP_AUDIT_SAME_ORDER, &e, 0);
    if (order_of) {
        blame(j, PP_AUDIT_RESUME_ORDER, &e, 0);
        j->number[PP_AUDIT_FACT_ORDER_OF] = order_of - 1;
    }
    j->out->used += e.row->used;
    j->out->whole_epochs += e.row->whole;
    if (j->with_replacement) {
        e.row->repeated = NAN;
        return;
    }
    if (!f->numbers_are_local) {
        if (e.followers) {
            enum pp_audit_cause_id id = e.followers + 1 == e.present ? PP_AUDIT_RANKS_ALIKE
                                                                     : PP_AUDIT_WRONG_RANK;
            blame(j, id, &e, e.followed);
            for (size_t i = 0; i < f->n_ranks; i++)
                if (e.fact[i].leader != i || id == PP_AUDIT_RANKS_ALIKE) {
                    name_rank(j, id, i);
                    name_rank(j, id, e.fact[i].leader);
                }
        }
        if (e.row->padding > 0)
            blame(j, PP_AUDIT_PADDING, &e, (uint64_t)e.row->padding);
        if (e.shared)
            blame(j, PP_AUDIT_SHARED, &e, e.shared);
        for (size_t i = 0; e.shared && i < f->n_ranks; i++)
            if (e.fact[i].leader == i && e.fact[i].cross_again)
                name_rank(j, PP_AUDIT_SHARED, i);
        if (e.row->whole)
            judge_left_out(j, &e);
    }
    if (f->leased)
        judge_leases(j, &e);
    judge_own(j, &e);
    if (e.row->whole)
        judge_uneven(j, &e);
}

/* ---- what is said ---- */

/* "shard 17 of epoch 0, which node3.4711 had": up to three of those that were taken over. */
static const char *leases_of(struct judge *j)
{
    enum { MOST = 3 };
    struct pp_arena *a = &j->out->arena;
    const struct audit_facts *f = j->f;
    const char *list = NULL;
    for (size_t i = 0; i < f->n_taken_over && i < MOST; i++) {
        const struct pp_audit_lease *l = &f->taken_over[i];
        int named = (int)(strrchr(l->from, '.') ? strrchr(l->from, '.') - l->from
                                                : (ptrdiff_t)strlen(l->from));
        list = pp_arena_printf(a, "%s%sshard %llu of epoch %u, which %.*s had", list ? list : "",
                               list ? "; " : "", (unsigned long long)l->shard, l->epoch, named, l->from);
    }
    return f->n_taken_over > MOST ? pp_arena_printf(a, "%s; and %zu more", list, f->n_taken_over - MOST)
                                  : list;
}

/* The rules of the code number `code`, and how many they are. */
static const struct pp_rule *rules_of(size_t code, size_t *n)
{
    size_t at = 0;
    for (; at < pp_audit_rules_n && (!pp_audit_rules[at].l1 || code-- > 0); at++)
        continue;
    for (*n = 1; at + *n < pp_audit_rules_n && !pp_audit_rules[at + *n].l1; ++*n)
        continue;
    return &pp_audit_rules[at];
}

static void conclude_cause(struct judge *j, enum pp_audit_cause_id id)
{
    struct pp_audit *out = j->out;
    const struct cause *c = &j->cause[id];
    const struct pp_values v = {pp_audit_facts, PP_AUDIT_FACT_COUNT, j->number, j->text};
    double *m = j->number, samples = (double)c->samples;
    size_t n;
    m[PP_AUDIT_FACT_EPOCHS] = id == PP_AUDIT_REPEATED && j->epochs_untold ? 0 : c->epochs;
    m[PP_AUDIT_FACT_FIRST_EPOCH] = c->first_epoch;
    m[PP_AUDIT_FACT_SAMPLES] = id == PP_AUDIT_SAME_ORDER || id == PP_AUDIT_RESUME_ORDER || c->by_content
                                   ? NAN
                                   : samples;
    m[PP_AUDIT_FACT_BY_CONTENT] = c->by_content ? 1 : NAN;
    m[PP_AUDIT_FACT_SHARDS] = j->f->shards * c->epochs;
    const struct audit_facts *f = j->f;
    const char *list = NULL;
    size_t ranges = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        size_t first = i;
        if (!c->ranks[i])
            continue;
        while (i + 1 < f->n_ranks && c->ranks[i + 1] && f->ranks[i + 1].number == f->ranks[i].number + 1)
            i++;
        list = pp_ranges_add(&j->out->arena, list, ranges++, f->ranks[first].number, f->ranks[i].number);
    }
    j->text[PP_AUDIT_FACT_RANKS] = list;
    j->text[PP_AUDIT_FACT_LEASES] = id == PP_AUDIT_TAKEN_OVER ? leases_of(j) : NULL;
    const struct pp_rule *rules = rules_of(id, &n), *rule = pp_rules_first(rules, n, &v);
    if (!rule)
        return;
    int by_design = rule->says == PP_SAYS_NOT;
    struct pp_audit_cause *row = &out->causes[out->n_causes++];
    *row = (struct pp_audit_cause){.id = id,
                                   .name = rules->l1,
                                   .sentence = pp_rules_fill(rule->said, &v, &out->arena),
                                   .fix = by_design ? NULL : pp_remedies[rule->remedy].sentence,
                                   .ranks = j->text[PP_AUDIT_FACT_RANKS],
                                   .epochs = c->epochs,
                                   .first_epoch = c->first_epoch,
                                   .samples = m[PP_AUDIT_FACT_SAMPLES],
                                   .by_design = by_design};
    if (!by_design && !j->text[PP_AUDIT_FACT_FAULT])
        j->text[PP_AUDIT_FACT_FAULT] = row->sentence;
}

static double holds(int flag)
{
    return flag ? 1 : NAN;
}

/* Facts of all epochs and ranks. */
static void sum_up(struct judge *j)
{
    const struct audit_facts *f = j->f;
    const struct pp_audit *out = j->out;
    double *m = j->number;
    int incomplete = 0, unlisted = 0;
    for (size_t i = 0; i < f->in->n_parts; i++) {
        const char **unknown = &j->text[PP_AUDIT_FACT_PART_UNKNOWN];
        *unknown = *unknown ? *unknown : f->in->parts[i].unknown;
        incomplete |= f->in->parts[i].incomplete;
        unlisted |= f->in->parts[i].unlisted;
    }
    j->text[PP_AUDIT_FACT_ABOUT] = f->scale > 1 ? "about" : NULL;
    m[PP_AUDIT_FACT_JOB_RANKS] = out->ranks;
    m[PP_AUDIT_FACT_WHOLE_EPOCHS] = out->whole_epochs;
    m[PP_AUDIT_FACT_ALL_EPOCHS] = (double)out->n_epochs;
    m[PP_AUDIT_FACT_DATA_SAMPLES] = out->samples;
    j->text[PP_AUDIT_FACT_DATA_UNKNOWN] = isnan(out->samples) ? "sample" : NULL;
    m[PP_AUDIT_FACT_USED] = out->used;
    m[PP_AUDIT_FACT_MISSING_RANKS] = out->missing_ranks;
    m[PP_AUDIT_FACT_CONTENT] = holds(j->has_prints);
    m[PP_AUDIT_FACT_INCOMPLETE] = holds(incomplete);
    m[PP_AUDIT_FACT_UNLISTED] = holds(unlisted);
    j->text[PP_AUDIT_FACT_UNPLACED] = f->placed.unknown;
    m[PP_AUDIT_FACT_UNACCOUNTED] = holds(incomplete || unlisted || f->placed.unknown ||
                                         out->missing_ranks > 0 || j->text[PP_AUDIT_FACT_PART_UNKNOWN] ||
                                         f->cut);
    m[PP_AUDIT_FACT_REPLACEMENT] = holds(j->with_replacement);
    m[PP_AUDIT_FACT_LOCAL_NUMBERS] = holds(f->numbers_are_local);
    m[PP_AUDIT_FACT_UNTOLD] = holds(j->epochs_untold);
    m[PP_AUDIT_FACT_LEASED] = holds(f->leased);
    m[PP_AUDIT_FACT_LEASES_OPEN] = holds(f->leased && !f->leases_done && out->n_epochs);
    m[PP_AUDIT_FACT_CUT] = holds(f->cut);
}

static void judge_facts(const struct audit_facts *f, struct pp_audit *out)
{
    struct judge j = {.f = f, .out = out};
    for (size_t i = 0; i < PP_AUDIT_FACT_COUNT; i++)
        j.number[i] = NAN;
    out->epochs = pp_arena_alloc(&out->arena, (f->n_epochs + 1) * sizeof(*out->epochs));
    out->causes = pp_arena_alloc(&out->arena, PP_AUDIT_CAUSES * sizeof(*out->causes));
    j.ranks = pp_arena_alloc(&out->arena, (f->n_ranks + 1) * PP_AUDIT_CAUSES);
    if (pp_arena_failed(&out->arena))
        return;
    for (int id = 0; id < PP_AUDIT_CAUSES; id++)
        j.cause[id].ranks = j.ranks + (size_t)id * (f->n_ranks + 1);
    for (size_t i = 0; i < f->in->n_parts; i++)
        j.with_replacement |= f->in->parts[i].with_replacement;
    for (size_t i = 0; i < f->n_epochs; i++)
        if (audit_epoch_is_whole(f, i))
            j.most_distinct = fmax(j.most_distinct, (double)f->epochs[i].distinct);
    out->ranks = (double)f->n_ranks;
    out->world_size = f->world;
    out->missing_ranks = fmax(f->world - (double)f->n_ranks, 0);
    out->samples = f->samples;
    out->scale = f->scale;
    out->leased = f->leased;
    out->n_epochs = f->n_epochs;
    for (size_t i = 0; i < f->n_epochs; i++)
        judge_epoch(&j, i);
    j.has_prints = audit_compare_prints(f, on_alike, &j);
    for (size_t i = 0; i < f->n_examples; i++)
        out->examples[out->n_examples++] = f->examples[i];
    sum_up(&j);
    for (int id = 0; id < PP_AUDIT_CAUSES; id++)
        conclude_cause(&j, (enum pp_audit_cause_id)id);
    const struct pp_values v = {pp_audit_facts, PP_AUDIT_FACT_COUNT, j.number, j.text};
    for (out->kind = 0; out->kind < PP_AUDIT_KINDS && !out->sentence; out->kind++) {
        size_t n;
        const struct pp_rule *rules = rules_of(PP_AUDIT_CAUSES + (size_t)out->kind, &n),
                             *rule = pp_rules_first(rules, n, &v);
        if (!rule)
            continue;
        out->kind_name = rules->l1;
        out->sentence = pp_rules_fill(rule->said, &v, &out->arena);
        break;
    }
    for (size_t i = 0; i < pp_audit_notes_n; i++)
        if (!pp_rule_missed(&pp_audit_notes[i], &v)) {
            const char *note = pp_rules_fill(pp_audit_notes[i].said, &v, &out->arena);
            out->note = out->note ? pp_arena_printf(&out->arena, "%s; %s", out->note, note) : note;
        }
}

pp_status pp_audit_judge(const struct pp_audit_input *in, struct pp_audit *out, struct pp_err *err)
{
    struct audit_facts f;
    *out = (struct pp_audit){.scale = 1};
    pp_status st = audit_facts_collect(in, &out->arena, &f, err);
    if (st == PP_OK)
        judge_facts(&f, out);
    void *const owned[] = {f.placed.parts, f.placed.spans, f.ranks, f.epochs, f.fact, f.taken_over};
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        free(owned[i]);
    if (st == PP_OK && pp_arena_failed(&out->arena))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the audit of %zu recordings", in->n_parts);
    return st;
}
