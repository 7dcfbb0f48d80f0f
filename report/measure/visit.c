#include "report/measure/visit.h"

#include "probe/base/rng.h"

enum { LEAST_PRINTS = 8 }; /* below, nothing is said of contents */
/* Share of the batches that two epochs both have: the last ones may have been on their way at the end */
#define SAME_PART 0.9
#define ALL 0.99          /* of the samples: some are in work where a recording begins or ends */
#define CHANCE 13.8155106 /* ln(1e6) */

struct pp_visit_hand {
    uint64_t sample;
    uint32_t batch;
    uint16_t epoch;
    int any, failed; /* failed: what it had in hand could not be used, so what comes next may stand for it */
};

int pp_visit_walk_begin(struct pp_visit_walk *w, const struct pp_source *source, const struct pp_timeline *tl)
{
    static const pp_phase order[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM};
    const char *on_error = source->meta(source->ctx, "config", "on_error");
    double most = 0;
    w->n_threads = source->threads(source->ctx, &w->threads);
    w->hands = calloc(w->n_threads + 1, sizeof(*w->hands));
    w->phase = PP_PHASE_NONE;
    for (size_t i = 3; i-- > 0;) /* the first that all have: a file is opened for the first of them alone */
        if (tl->sample_spans[order[i]] && (double)tl->sample_spans[order[i]] >= ALL * most) {
            w->phase = order[i];
            most = fmax(most, (double)tl->sample_spans[order[i]]);
        }
    w->substitutes = on_error && strcmp(on_error, "substitute") == 0;
    return w->hands != NULL;
}

void pp_visit_walk_free(struct pp_visit_walk *w)
{
    free(w->hands);
    w->hands = NULL;
}

size_t pp_visit_walk_thread(const struct pp_visit_walk *w, uint32_t thread)
{
    size_t at = pp_thread_at(w->threads, w->n_threads, thread);
    return at == w->n_threads || w->phase == PP_PHASE_NONE ||
                   (w->threads[at].lane != PP_LANE_WORKER && w->threads[at].lane != PP_LANE_READER)
               ? SIZE_MAX
               : at;
}

int pp_visit_walk_is(struct pp_visit_walk *w, size_t at, const struct pp_span *s)
{
    struct pp_visit_hand *t = &w->hands[at];
    int named = s->sample != PP_NO_SAMPLE && !(s->flags & (PP_SPAN_COUNT | PP_SPAN_UNFINISHED));
    if (s->phase != w->phase || !named || (s->flags & PP_SPAN_RETRY)) {
        t->failed |= named && (s->flags & PP_SPAN_ERROR) && s->phase != PP_PHASE_COUNTER;
        return 0;
    }
    int same = t->any && t->sample == s->sample && t->batch == s->batch &&
               t->epoch == s->epoch; /* read in several parts */
    int substitute = w->substitutes && t->failed && t->batch == s->batch;
    *t = (struct pp_visit_hand){.sample = s->sample,
                                .batch = s->batch,
                                .epoch = s->epoch,
                                .any = 1,
                                .failed = (s->flags & PP_SPAN_ERROR) != 0};
    return !same && !substitute;
}

/* ---- orders ---- */

void pp_visit_batch_add(struct pp_visit_batch *b, uint64_t sample)
{
    b->least = b->n && b->least < sample ? b->least : sample;
    b->most = b->n && b->most > sample ? b->most : sample;
    b->hash += pp_mix64(sample + 0xd1342543de82ef95u);
    b->n++;
}

void pp_visit_orders_add(struct pp_visit_orders *c, const struct pp_visit_batch *a,
                         const struct pp_visit_batch *b)
{
    int same = a->n == b->n && a->hash == b->hash;
    c->least = c->compared ? fmin(c->least, (double)b->least) : (double)b->least;
    c->compared++;
    c->same += (uint64_t)same;
    c->samples += same ? b->n : 0;
    c->all += b->n;
    c->chance -= same ? lgamma(b->n + 1.0) : 0;
    c->ranges += (double)(b->most - b->least);
    c->most = fmax(c->most, (double)b->most);
    c->rising += c->last && b->least > c->last->least;
    c->last_higher = c->last && b->most > c->last->most;
    c->higher += (uint64_t)c->last_higher;
    c->last = b;
}

int pp_visit_orders_repeat(const struct pp_visit_orders *c)
{
    return c->compared >= 2 && (double)c->same >= SAME_PART * (double)c->compared &&
           c->chance + lgamma(c->samples + 1) >= CHANCE;
}

/* Batches that span few numbers, in rising order. The last one may end with padding from the start of the
 * order: then the others are looked at, which span no more than their part of all. */
int pp_visit_orders_by_number(const struct pp_visit_orders *c)
{
    if (c->compared < 2)
        return 0;
    double range = c->most - c->least, pairs = (double)(c->compared - 1),
           last = (double)(c->last->most - c->last->least), inner = 1 - c->last->n / c->all;
    int all_rise = (double)c->rising >= SAME_PART * pairs && c->ranges <= 1.05 * range,
        others_rise = (double)(c->higher - (uint64_t)c->last_higher) >= SAME_PART * (pairs - 1) &&
                      (c->compared > 2 || c->last_higher);
    return all_rise || (others_rise && c->ranges - last <= 1.05 * range * inner);
}

int pp_visit_prints_tell(const uint64_t *print, size_t n)
{
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < i && print[k] != print[i])
            k++;
        different += k == i;
    }
    return n >= LEAST_PRINTS && 2 * different > n;
}

int pp_visit_prints_alike(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b)
{
    return memcmp(a, b, (n_a < n_b ? n_a : n_b) * sizeof(*a)) == 0;
}
