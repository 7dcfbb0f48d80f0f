#include "report/audit/facts.h"
#include "report/audit/prints.h"

#include "probe/base/arena.h"
#include "probe/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 48 };
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
    double most_distinct; /* of the whole epochs, where the data set's number is not known */
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

/* ---- what a sampler may do ---- */

/* Samples that come twice so that all ranks have as many. */
static double padding_of(const struct audit_facts *f)
{
    if (f->leased)
        return 0;
    return isnan(f->samples) ? f->world - 1 : f->world * ceil(f->samples / f->world) - f->samples;
}

/* Every rank has the same number, which is what is left when short batches and short rounds are cut. */
static int is_cut(const struct judge *j, const struct epoch *e)
{
    const struct audit_facts *f = j->f;
    double n = f->samples, b = isnan(f->batch_size) ? 1 : f->batch_size, uses = (double)e->fact[0].uses,
           low = floor(n / f->world), high = ceil(n / f->world);
    for (size_t i = 1; i < f->n_ranks; i++)
        if (e->fact[i].uses != e->fact[0].uses)
            return 0;
    return f->drop_last != 0 && (uses == low || uses == floor(low / b) * b || uses == floor(high / b) * b);
}

/* What is left out by design: of the ways to cut the one that comes nearest without being more. */
static double dropped_of(const struct audit_facts *f, double missing)
{
    double n = f->samples, b = isnan(f->batch_size) ? 1 : f->batch_size, low = floor(n / f->world),
           high = ceil(n / f->world), best = 0;
    const double uses[] = {floor(low / b) * b, floor(high / b) * b};
    for (size_t i = 0; i < 2 && f->drop_last == 1; i++) {
        double cut = n - f->world * uses[i];
        best = cut <= missing && cut > best ? cut : best;
    }
    return best;
}

/* More than its share: the whole data set, but for a short last batch. */
static int draws_all(const struct audit_facts *f, const struct audit_fact *r)
{
    double n = f->samples, b = isnan(f->batch_size) ? 1 : f->batch_size, uses = (double)r->uses;
    return uses > ceil(n / f->world) && uses > n - b && f->world > 1;
}

/* ---- findings of an epoch ---- */

static void count(const struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    uint64_t cross = 0, last = 0, own = 0;
    size_t all = 0;
    e->row->used = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        const struct audit_fact *r = &e->fact[i];
        e->present += r->uses > 0;
        e->row->used += (double)r->uses;
        own += r->own_again + r->resume_again;
        e->taken_over += r->taken_over;
        all += draws_all(f, r);
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
    uint64_t padding = (uint64_t)fmin((double)last, fmax(padding_of(f), 0));
    e->shared = cross - padding;
    e->row->ranks = (double)e->present;
    e->row->distinct = (double)f->epochs[e->at].distinct;
    e->row->padding = (double)padding;
    e->row->taken_over = (double)e->taken_over;
    e->row->shards = f->leased ? (double)f->epochs[e->at].shards : NAN;
    e->row->repeated = (double)(own + e->shared + e->followed);
}

static void judge_order(struct judge *j, struct epoch *e)
{
    size_t same = 0;
    for (size_t i = 0; i < j->f->n_ranks; i++)
        if (e->fact[i].same_order) {
            same++;
            name_rank(j, PP_AUDIT_SAME_ORDER, i);
        }
    if (same)
        blame(j, PP_AUDIT_SAME_ORDER, e, 0);
}

static void judge_alike(struct judge *j, struct epoch *e)
{
    if (!e->followers)
        return;
    enum pp_audit_cause_id id = e->followers + 1 == e->present ? PP_AUDIT_RANKS_ALIKE : PP_AUDIT_WRONG_RANK;
    blame(j, id, e, e->followed);
    for (size_t i = 0; i < j->f->n_ranks; i++)
        if (e->fact[i].leader != i || id == PP_AUDIT_RANKS_ALIKE) {
            name_rank(j, id, i);
            name_rank(j, id, e->fact[i].leader);
        }
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
    for (int id = 0; id < PP_AUDIT_BY_DESIGN; id++)
        if (sum[id])
            blame(j, (enum pp_audit_cause_id)id, e, sum[id]);
}

static void judge_shared(struct judge *j, struct epoch *e)
{
    if (e->row->padding > 0)
        blame(j, PP_AUDIT_PADDING, e, (uint64_t)e->row->padding);
    if (!e->shared)
        return;
    blame(j, PP_AUDIT_SHARED, e, e->shared);
    for (size_t i = 0; i < j->f->n_ranks; i++)
        if (e->fact[i].leader == i && e->fact[i].cross_again)
            name_rank(j, PP_AUDIT_SHARED, i);
}

/* Who is behind samples that no rank used: a rank that was resumed, or one is not to be named. */
static void judge_left_out(struct judge *j, struct epoch *e)
{
    const struct audit_facts *f = j->f;
    double n = isnan(f->samples) ? j->most_distinct : f->samples, missing = fmax(n - e->row->distinct, 0);
    int resumed = 0;
    e->row->left_out = missing;
    e->row->dropped = 0;
    if (!(missing > 0))
        return;
    if (is_cut(j, e) && !(e->row->repeated > 0)) {
        e->row->left_out = 0;
        e->row->dropped = missing;
        blame(j, PP_AUDIT_DROPPED, e, (uint64_t)missing);
        return;
    }
    e->row->dropped = dropped_of(f, missing);
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

static int is_whole(const struct audit_facts *f, const struct audit_fact *fact)
{
    for (size_t i = 0; i < f->n_ranks; i++)
        if (!fact[i].whole)
            return 0;
    return f->n_ranks && (double)f->n_ranks == f->world;
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
                                     .whole = is_whole(f, e.fact)};
    count(j, &e);
    judge_order(j, &e);
    j->out->used += e.row->used;
    j->out->whole_epochs += e.row->whole;
    if (j->with_replacement) {
        e.row->repeated = NAN;
        return;
    }
    if (!f->numbers_are_local) {
        judge_alike(j, &e);
        judge_shared(j, &e);
        if (e.row->whole)
            judge_left_out(j, &e);
    }
    if (f->leased)
        judge_leases(j, &e);
    judge_own(j, &e);
    if (e.row->whole)
        judge_uneven(j, &e);
}

/* ---- words ---- */

static const char *ranks_of(struct judge *j, const uint8_t *ranks)
{
    const struct audit_facts *f = j->f;
    const char *list = NULL;
    size_t ranges = 0;
    for (size_t i = 0; i < f->n_ranks; i++) {
        size_t first = i;
        if (!ranks[i])
            continue;
        while (i + 1 < f->n_ranks && ranks[i + 1] && f->ranks[i + 1].number == f->ranks[i].number + 1)
            i++;
        list = pp_ranges_add(&j->out->arena, list, ranges++, f->ranks[first].number, f->ranks[i].number);
    }
    return list;
}

static const char *const cause_names[PP_AUDIT_CAUSES] = {
#define PP_AUDIT_NAME(sym, name, text) name,
    PP_AUDIT_CAUSE_MAP(PP_AUDIT_NAME)
#undef PP_AUDIT_NAME
};

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

static void say(struct judge *j, struct pp_audit_cause *c)
{
    static const char *const fixes[PP_AUDIT_CAUSES] = {
        [PP_AUDIT_SAME_ORDER] = "Call sampler.set_epoch(epoch) at the start of each epoch.",
        [PP_AUDIT_RANKS_ALIKE] =
            "Give the DataLoader a DistributedSampler, and each process its own rank (RANK and WORLD_SIZE).",
        [PP_AUDIT_WRONG_RANK] =
            "Look at the rank that these processes give their sampler: it is the same one.",
        [PP_AUDIT_WORKERS_ALIKE] =
            "Split an iterable data set by torch.utils.data.get_worker_info() (webdataset: split_by_worker).",
        [PP_AUDIT_RESUME_REPEATS] =
            "Save the position with the checkpoint: StatefulDataLoader, or pipeprobe run --save-state.",
        [PP_AUDIT_RESUME_SKIPS] =
            "Save the position of the batch that was trained last, not of the one that was prefetched.",
        [PP_AUDIT_UNEVEN] =
            "Give all ranks the same number of samples: as many shards each, or cut at the shortest rank.",
        [PP_AUDIT_REPEATED] = "Look at the sampler of this rank, and at sampling with replacement.",
        [PP_AUDIT_SHARED] =
            "Look at how ranks split the data: the same seed on all ranks, and rank::world_size of one order.",
        [PP_AUDIT_LEFT_OUT] = "Look at how ranks split the data, and at drop_last.",
        [PP_AUDIT_SHARDS_LEFT] =
            "Look for data errors in these shards, and for a recording of a rank that is not here.",
    };
    char samples[CELL], epochs[CELL];
    struct pp_arena *a = &j->out->arena;
    pp_text_counted(samples, sizeof(samples), c->samples, "sample", "samples");
    pp_text_counted(epochs, sizeof(epochs), c->epochs, "epoch", "epochs");
    const char *r = c->ranks ? c->ranks : "", *est = j->f->scale > 1 ? "about " : "";
    int by_content = j->cause[c->id].by_content;
    c->fix = fixes[c->id];
    switch (c->id) {
    case PP_AUDIT_SAME_ORDER:
        c->sentence = pp_arena_printf(
            a, "%s had the order of the epoch before, from epoch %.0f on: set_epoch was not called.", epochs,
            c->first_epoch);
        break;
    case PP_AUDIT_RANKS_ALIKE:
        if (by_content) {
            c->sentence = pp_arena_printf(
                a,
                "All ranks made the same first samples in %s: the iterable data set is not split among ranks.",
                epochs);
            c->fix = "Split the iterable data set by rank (datasets: split_dataset_by_node; webdataset: "
                     "split_by_node).";
            break;
        }
        c->sentence = pp_arena_printf(
            a, "All ranks drew the same samples in %s: the sampler does not know its rank. %s%s came again.",
            epochs, est, samples);
        break;
    case PP_AUDIT_WRONG_RANK:
        c->sentence = pp_arena_printf(
            a,
            "Ranks %s drew samples of each other in %s: processes with the same rank number. %s%s came again.",
            r, epochs, est, samples);
        break;
    case PP_AUDIT_WORKERS_ALIKE:
        if (by_content) {
            c->sentence = pp_arena_printf(
                a,
                "All workers of rank %s made the same first samples in %s: the iterable data set is not split among workers.",
                r, epochs);
            break;
        }
        c->sentence = pp_arena_printf(
            a,
            "All workers of rank %s gave the same samples in %s: the data set is not split among workers. %s%s came again.",
            r, epochs, est, samples);
        break;
    case PP_AUDIT_RESUME_REPEATS:
        c->sentence = pp_arena_printf(a, "The resumed rank %s used %s%s again that it had used before.", r,
                                      est, samples);
        break;
    case PP_AUDIT_RESUME_SKIPS:
        c->sentence = pp_arena_printf(a, "No rank used %s%s of %s, and rank %s was resumed in it.", est,
                                      samples, epochs, r);
        break;
    case PP_AUDIT_UNEVEN:
        c->sentence = pp_arena_printf(
            a,
            "Ranks %s have different numbers of batches in %s, %s apart in all: ranks end at different steps.",
            r, epochs, samples);
        break;
    case PP_AUDIT_REPEATED:
        c->sentence = pp_arena_printf(a, "Rank %s used %s%s more than once in an epoch, in %s.", r, est,
                                      samples, epochs);
        break;
    case PP_AUDIT_SHARED:
        c->sentence = pp_arena_printf(a, "More than one rank used %s%s in %s, found on rank %s.", est,
                                      samples, epochs, r);
        break;
    case PP_AUDIT_LEFT_OUT:
        c->sentence = pp_arena_printf(a, "No rank used %s%s in %s.", est, samples, epochs);
        break;
    case PP_AUDIT_SHARDS_LEFT:
        c->sentence = pp_arena_printf(a, "No rank used a sample of %.0f of %.0f leased shards in %s.",
                                      c->samples, j->f->shards * c->epochs, epochs);
        break;
    case PP_AUDIT_TAKEN_OVER:
        c->sentence = pp_arena_printf(a,
                                      "Rank %s used %s%s again: %s, and died or left before they were done.",
                                      r, est, samples, leases_of(j));
        break;
    case PP_AUDIT_PADDING:
        c->sentence = pp_arena_printf(a, "The sampler repeated %s%s in %s, so that all ranks have as many.",
                                      est, samples, epochs);
        break;
    default:
        c->sentence = pp_arena_printf(a, "The sampler left out %s%s in %s, so that all batches are full.",
                                      est, samples, epochs);
    }
}

static void fill_causes(struct judge *j)
{
    struct pp_audit *out = j->out;
    for (int id = 0; id < PP_AUDIT_CAUSES; id++) {
        struct cause *c = &j->cause[id];
        if (!(c->epochs > 0) || (j->epochs_untold && id == PP_AUDIT_REPEATED))
            continue;
        struct pp_audit_cause *row = &out->causes[out->n_causes++];
        *row = (struct pp_audit_cause){.id = (enum pp_audit_cause_id)id,
                                       .name = cause_names[id],
                                       .ranks = ranks_of(j, c->ranks),
                                       .epochs = c->epochs,
                                       .first_epoch = c->first_epoch,
                                       .samples = id == PP_AUDIT_SAME_ORDER || c->by_content
                                                      ? NAN
                                                      : (double)c->samples,
                                       .by_design = id >= PP_AUDIT_BY_DESIGN};
        say(j, row);
        out->kind = row->by_design ? out->kind : PP_AUDIT_BROKEN;
    }
}

static const char *join(struct pp_arena *a, const char *list, const char *more)
{
    return list ? pp_arena_printf(a, "%s; %s", list, more) : more;
}

static void note_what_limits(struct judge *j)
{
    const struct audit_facts *f = j->f;
    struct pp_audit *out = j->out;
    const char *unknown = NULL;
    int incomplete = 0;
    for (size_t i = 0; i < f->in->n_parts; i++) {
        unknown = unknown ? unknown : f->in->parts[i].unknown;
        incomplete |= f->in->parts[i].incomplete;
    }
    const struct {
        int holds;
        const char *note;
    } rows[] = {
        {unknown != NULL, unknown},
        {j->has_prints,
         "samples of an iterable data set have no numbers: of each worker and epoch the first 16 are held "
         "against those of the others by their content"},
        {incomplete, "spans are missing from a recording, so that what was left out is not judged"},
        {out->missing_ranks > 0, "ranks of the job have no recording here"},
        {j->with_replacement,
         "the sampler draws with replacement: samples repeat by design, only orders are compared"},
        {f->numbers_are_local,
         "streamed shards: a sample's number is its place in its rank's own reading, so that ranks are not held against each other"},
        {j->epochs_untold,
         "most samples repeat and all have epoch 0: the recording does not tell its epochs apart"},
        {f->leased && !f->leases_done && out->n_epochs,
         "no rank saw the end of the last epoch, so that it is not known which leases were done"},
        {isnan(f->samples) && !f->numbers_are_local && !j->with_replacement && !f->leased,
         "the data set's size is not recorded: epochs are held against the largest one"},
        {f->scale > 1, f->leased
                           ? "more than some 1e9 samples, or very small shards: counts are estimates"
                           : "sample numbers beyond 2^30 that do not lie together: counts are estimates"},
        {f->cut, "the last epochs are not audited: there are too many epochs and ranks"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].holds)
            out->note = join(&out->arena, out->note, rows[i].note);
}

static void conclude(struct judge *j)
{
    struct pp_audit *out = j->out;
    static const char *const names[] = {"inconclusive", "clean", "broken"};
    char ranks[CELL], epochs[CELL], all[CELL], samples[CELL];
    int able = out->whole_epochs > 0 && !j->with_replacement && !j->f->numbers_are_local && !j->epochs_untold;
    if (out->kind != PP_AUDIT_BROKEN && able)
        out->kind = PP_AUDIT_CLEAN;
    out->kind_name = names[out->kind];
    pp_text_counted(ranks, sizeof(ranks), out->ranks, "rank", "ranks");
    pp_text_counted(epochs, sizeof(epochs), out->whole_epochs, "whole epoch", "whole epochs");
    pp_text_counted(all, sizeof(all), (double)out->n_epochs, "epoch", "epochs");
    pp_text_counted(samples, sizeof(samples), out->samples, "sample", "samples");
    if (out->kind == PP_AUDIT_CLEAN)
        out->sentence = pp_arena_printf(
            &out->arena, "Each %s was used once per epoch, but for what the sampler does by design: %s, %s.",
            isnan(out->samples) ? "sample" : pp_arena_printf(&out->arena, "of %s", samples), ranks, epochs);
    else if (out->kind == PP_AUDIT_BROKEN)
        out->sentence = out->causes[0].sentence;
    else if (!(out->used > 0))
        out->sentence = "The recordings do not say which samples were used.";
    else
        out->sentence = pp_arena_printf(
            &out->arena, "No fault was seen in %s of %s, but not every sample can be accounted for.", all,
            ranks);
}

void audit_judge(const struct audit_facts *f, struct pp_audit *out)
{
    struct judge j = {.f = f, .out = out};
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
        if (is_whole(f, audit_fact_at(f, i, 0)))
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
    fill_causes(&j);
    note_what_limits(&j);
    conclude(&j);
}
