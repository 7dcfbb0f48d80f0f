#include "report/findings/visits.h"

#include "report/findings/measure.h"
#include "report/findings/watch.h"
#include "report/measure/visit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BATCHES (UINT32_C(1) << 21)
enum { AHEAD = 32 };     /* spans: a few hundred ns */
#define MOST_REPEATS 0.5 /* of the visits: beyond, epochs are not told, or each worker reads everything */

struct pp_visits_pass {
    const struct pp_timeline *tl;
    struct pp_visit_walk walk;
    size_t n_batches, room;
    struct pp_visit_batch *batches;
    struct pp_watch watch;
    int merged, with_replacement, cached, resumed, leased;
    int several; /* loaders, of which each numbers its epochs: those of the timeline are not one loader's */
    double per_epoch, slack; /* samples of a whole epoch, and how many fewer are fine; NAN: not known */
    double visits, repeats;
    uint8_t repeat_epoch[(UINT16_MAX + 1) / 8];
    struct pp_visits_example again[PP_VISITS_EXAMPLES];
    size_t n_again;
    uint16_t last_epoch;
};

/* ---- what the recording says of itself ---- */

static int is(const struct pp_source *s, const char *key, const char *value)
{
    const char *text = s->meta(s->ctx, "config", key);
    return text && strcmp(text, value) == 0;
}

static void read_config(struct pp_visits_pass *p, const struct pp_source *s)
{
    const char *resume = s->meta(s->ctx, "config", "resume");
    double samples = pp_source_number(s, "config", "dataset_samples", NAN),
           ranks = pp_source_number(s, "config", "world_size", 1);
    p->resumed = resume && resume[0];
    p->with_replacement = is(s, "sampler", "weighted") || pp_source_yes(s, "config", "with_replacement");
    p->cached = is(s, "cached_batches", "true");
    p->several = p->tl->other.n > 0;
    const char *lease = s->meta(s->ctx, "config", "lease");
    p->leased = lease && lease[0];
    p->per_epoch = samples > 0 && ranks >= 1 && !is(s, "stream", "true") ? floor(samples / ranks) : NAN;
    p->slack = pp_source_yes(s, "config", "drop_last") ? pp_source_number(s, "config", "batch_size", 1) - 1
                                                       : 0;
}

struct pp_visits_pass *pp_visits_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_visits_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tl = tl;
    if (!pp_visit_walk_begin(&p->walk, source, tl)) {
        free(p);
        return NULL;
    }
    p->merged = tl->merged_samples;
    read_config(p, source);
    return p;
}

/* ---- adding spans ---- */

static int note_batch(struct pp_visits_pass *p, uint32_t batch, uint16_t epoch, uint64_t sample)
{
    if (batch >= MOST_BATCHES)
        return 1;
    if (batch >= p->room) {
        size_t room = p->room ? p->room : 1024;
        while (room <= batch)
            room *= 2;
        struct pp_visit_batch *grown = realloc(p->batches, room * sizeof(*grown));
        if (!grown)
            return 0;
        memset(grown + p->room, 0, (room - p->room) * sizeof(*grown));
        p->batches = grown;
        p->room = room;
    }
    struct pp_visit_batch *b = &p->batches[batch];
    pp_visit_batch_add(b, sample);
    b->epoch = epoch;
    p->n_batches = batch >= p->n_batches ? (size_t)batch + 1 : p->n_batches;
    return 1;
}

static int visit(struct pp_visits_pass *p, const struct pp_span *s)
{
    enum pp_watch_answer seen = pp_watch_see(&p->watch, s->sample, s->epoch);
    p->visits++;
    p->last_epoch = s->epoch > p->last_epoch ? s->epoch : p->last_epoch;
    if (seen == PP_WATCH_AGAIN) {
        p->repeats += pp_watch_scale(&p->watch);
        p->repeat_epoch[s->epoch / 8] |= (uint8_t)(1u << s->epoch % 8);
        if (p->n_again < PP_VISITS_EXAMPLES)
            p->again[p->n_again++] = (struct pp_visits_example){s->sample, s->epoch};
    }
    return seen != PP_WATCH_NO_MEMORY &&
           (s->batch == PP_NO_BATCH || note_batch(p, s->batch, s->epoch, s->sample));
}

int pp_visits_chunk(struct pp_visits_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = pp_visit_walk_thread(&p->walk, thread);
    if (at == SIZE_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n && spans[i + AHEAD].phase == p->walk.phase)
            pp_watch_expect(&p->watch, spans[i + AHEAD].sample);
        if (pp_visit_walk_is(&p->walk, at, &spans[i]) && !visit(p, &spans[i]))
            return 1;
    }
    return 0;
}

/* ---- order ---- */

static uint32_t first_batch(const struct pp_timeline *tl, size_t epoch)
{
    return epoch < tl->n_epoch_first ? tl->epoch_first[epoch] : UINT32_MAX;
}

static const struct pp_visit_batch *batch_of(const struct pp_visits_pass *p, uint64_t number, size_t epoch)
{
    const struct pp_visit_batch *b = number < p->n_batches && number <= p->tl->last_batch
                                         ? &p->batches[number]
                                         : NULL;
    return b && b->n && b->epoch == epoch ? b : NULL;
}

/* Two neighbouring epochs. */
static struct pp_visit_orders compare(const struct pp_visits_pass *p, size_t epoch)
{
    struct pp_visit_orders c = {0};
    uint32_t now = first_batch(p->tl, epoch), before = first_batch(p->tl, epoch - 1);
    const struct pp_visit_batch *a, *b;
    if (now == UINT32_MAX || before == UINT32_MAX || before >= now)
        return c;
    for (uint64_t i = 0;
         before + i < now && (a = batch_of(p, before + i, epoch - 1)) && (b = batch_of(p, now + i, epoch));
         i++)
        pp_visit_orders_add(&c, a, b);
    return c;
}

static void judge_order(const struct pp_visits_pass *p, struct pp_visits *out)
{
    int possible = 0, by_number = 0;
    for (size_t e = 1; e < p->tl->n_epoch_first; e++) {
        struct pp_visit_orders c = compare(p, e);
        if (c.compared == 0)
            continue;
        possible = 1;
        if (c.compared < 2)
            continue; /* an epoch of one batch has but one order that can be told */
        out->pairs++;
        if (pp_visit_orders_by_number(&c)) {
            by_number++;
            continue;
        }
        if (pp_visit_orders_repeat(&c) && out->repeated++ == 0) {
            out->repeated_epoch = (uint16_t)e;
            out->same_batches = c.same;
        }
    }
    out->by_number = by_number > 0;
    if (out->pairs == 0)
        out->order_unknown =
            possible ? "the epochs have one batch in common, or one batch each"
                     : "only one epoch has enough samples to compare, or its spans have no batch numbers";
}

/* ---- samples ---- */

static void judge_repeats(const struct pp_visits_pass *p, struct pp_visits *out)
{
    out->visits = p->visits;
    out->repeats = p->repeats;
    out->n_again = p->n_again;
    memcpy(out->again, p->again, sizeof(p->again));
    for (size_t e = 0; e <= UINT16_MAX; e++)
        out->repeat_epochs += p->repeat_epoch[e / 8] >> e % 8 & 1;
    if (p->with_replacement)
        out->repeats_unknown = "the sampler draws with replacement, so samples repeat by design";
    else if (p->last_epoch == 0 && p->repeats > MOST_REPEATS * p->visits)
        out->repeats_unknown =
            "most samples repeat and all spans have epoch 0: either the epoch is not recorded (pp_lap.epoch), or each worker reads the whole data set";
}

/* An epoch that began and ended in the recording. */
static int is_whole(const struct pp_visits_pass *p, uint16_t epoch)
{
    uint32_t first = first_batch(p->tl, epoch);
    int begun = first != UINT32_MAX &&
                (first == 0 ? !p->resumed : epoch > 0 && first_batch(p->tl, (size_t)epoch - 1) != UINT32_MAX);
    return begun && first_batch(p->tl, (size_t)epoch + 1) != UINT32_MAX;
}

/* Watched samples seen in each epoch from `from` on. */
static void count_seen(const struct pp_visits_pass *p, uint16_t from, double seen[PP_WATCH_EPOCHS])
{
    memset(seen, 0, PP_WATCH_EPOCHS * sizeof(*seen));
    for (size_t i = 0; i < p->watch.room; i++) {
        const struct pp_watch_entry *w = &p->watch.entries[i];
        for (uint32_t bits = w->used ? w->seen : 0; bits; bits &= bits - 1) {
            int epoch = w->newest - __builtin_ctz(bits);
            if (epoch >= from)
                seen[epoch - from]++;
        }
    }
}

/* The smallest sample numbers that the reference epoch had and this one has not. */
static void name_missing(const struct pp_visits_pass *p, uint16_t epoch, uint16_t reference,
                         struct pp_visits *out)
{
    for (size_t i = 0; i < p->watch.room; i++) {
        const struct pp_watch_entry *w = &p->watch.entries[i];
        if (!w->used || pp_watch_was_seen(w, epoch) || !pp_watch_was_seen(w, reference))
            continue;
        size_t at = out->n_missing < PP_VISITS_EXAMPLES ? out->n_missing++ : PP_VISITS_EXAMPLES - 1;
        if (at == PP_VISITS_EXAMPLES - 1 && out->missing[at].sample && w->sample > out->missing[at].sample)
            continue;
        for (; at > 0 && out->missing[at - 1].sample > w->sample; at--)
            out->missing[at] = out->missing[at - 1];
        out->missing[at] = (struct pp_visits_example){w->sample, epoch};
    }
}

static void judge_skips(const struct pp_visits_pass *p, int lost, struct pp_visits *out)
{
    double seen[PP_WATCH_EPOCHS], scale = pp_watch_scale(&p->watch), largest = 0;
    uint16_t from = p->last_epoch >= PP_WATCH_EPOCHS ? (uint16_t)(p->last_epoch - PP_WATCH_EPOCHS + 1) : 0,
             best = from;
    count_seen(p, from, seen);
    for (uint16_t e = from; e <= p->last_epoch && e >= from; e++) {
        seen[e - from] = is_whole(p, e) ? seen[e - from] : NAN;
        out->whole_epochs += !isnan(seen[e - from]);
        if (seen[e - from] > largest)
            largest = seen[e - from], best = e;
    }
    out->expected = isnan(p->per_epoch) ? largest * scale : p->per_epoch;
    double fewest = scale > 1 ? largest * scale
                              : out->expected - p->slack; /* an estimate is held against the largest epoch's,
                                                             of the same watched samples */
    for (uint16_t e = from; e <= p->last_epoch && e >= from; e++) {
        double missing = fewest - seen[e - from] * scale;
        if (!(missing > 0))
            continue;
        out->skips += missing;
        if (out->skip_epochs++ == 0)
            name_missing(p, e, best, out);
    }
    if (p->with_replacement)
        out->skips_unknown = "the sampler draws with replacement, so an epoch leaves samples out by design";
    else if (p->leased)
        out->skips_unknown = "each epoch leases other shards to this rank (--lease)";
    else if (p->cached)
        out->skips_unknown = "batches were repeated without reading (--cached-batches)";
    else if (lost || p->merged)
        out->skips_unknown = lost ? "spans are missing from the recording"
                                  : "a part of the samples was recorded as sums (--detail)";
    else if (out->whole_epochs == 0)
        out->skips_unknown = "no epoch was read from its first batch to its last";
    else if (isnan(p->per_epoch) && out->whole_epochs < 2)
        out->skips_unknown = "one whole epoch; its expected number of samples is not recorded";
}

void pp_visits_end(struct pp_visits_pass *p, int lost, struct pp_visits *out)
{
    *out = (struct pp_visits){.scale = 1};
    if (!p)
        return;
    out->scale = pp_watch_scale(&p->watch);
    out->several = p->several;
    if (p->walk.phase == PP_PHASE_NONE)
        out->order_unknown = out->repeats_unknown = out->skips_unknown =
            p->merged ? "samples were recorded as sums, not one by one (--detail batch or rollup)"
                      : "no span of the workers names a sample";
    else {
        if (!p->several)
            judge_order(p, out);
        judge_repeats(p, out);
        judge_skips(p, lost, out);
    }
    pp_watch_free(&p->watch);
    free(p->batches);
    pp_visit_walk_free(&p->walk);
    free(p);
}

/* ---- facts ---- */

/* "sample 17 of epoch 0, ..."; NULL: none. */
static const char *name_examples(const struct pp_visits_example *e, size_t n, struct pp_arena *arena)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++)
        text = pp_arena_printf(arena, "%s%s%llu of epoch %u", text ? text : "sample ", text ? ", " : "",
                               (unsigned long long)e[i].sample, e[i].epoch);
    return text;
}

void pp_measure_visits(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_visits *v = &from->checks->visits;
    double *m = f->number;
    int several = v->several && !v->order_unknown; /* else nothing is known of any */
    m[PP_FINDING_VISITS_SEVERAL] = several ? 1 : NAN;
    f->text[PP_FINDING_ORDER_UNKNOWN] = v->order_unknown;
    m[PP_FINDING_ORDER_PAIRS] = (double)v->pairs;
    m[PP_FINDING_ORDER_REPEATED] = (double)v->repeated;
    m[PP_FINDING_ORDER_SAME] = (double)v->same_batches;
    m[PP_FINDING_ORDER_EPOCH] = v->repeated_epoch;
    m[PP_FINDING_ORDER_BEFORE] = v->repeated_epoch - 1;
    m[PP_FINDING_ORDER_BY_NUMBER] = v->by_number;
    f->text[PP_FINDING_VISITS_ESTIMATED] = v->scale > 1 ? "about" : NULL;
    m[PP_FINDING_VISITS_ONE_IN] = v->scale > 1 ? v->scale : NAN;
    f->text[PP_FINDING_REPEATS_UNKNOWN] = v->repeats_unknown;
    m[PP_FINDING_VISITS] = v->visits;
    m[PP_FINDING_REPEATS] = v->repeats;
    m[PP_FINDING_REPEAT_EPOCHS] = (double)v->repeat_epochs;
    m[PP_FINDING_VISITS_SCALE] = m[PP_FINDING_SKIPS_SCALE] = v->scale;
    f->text[PP_FINDING_REPEAT_EXAMPLES] = name_examples(v->again, v->n_again, from->arena);
    f->text[PP_FINDING_SKIPS_UNKNOWN] = several ? NULL : v->skips_unknown;
    m[PP_FINDING_SKIPS_EXPECTED] = v->expected;
    m[PP_FINDING_SKIPS] = v->skips;
    m[PP_FINDING_SKIP_EPOCHS] = (double)v->skip_epochs;
    m[PP_FINDING_SKIP_WHOLE] = (double)v->whole_epochs;
    f->text[PP_FINDING_SKIP_EXAMPLES] = name_examples(v->missing, v->n_missing, from->arena);
}
