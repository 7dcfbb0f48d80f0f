#include "report/resume/compare.h"

/* What is looked at: one rank, the first iterations with a batch, and where they stand. */
struct matter {
    const struct pp_resume_run *a, *r;
    size_t from; /* in batches of a */
    double *number;
    const char **text;
    struct pp_arena *arena;
    struct pp_resume_spot due, at; /* where it should begin, and where it does */
    size_t first;                  /* iteration of r with its first batch */
};

#define FACT(name) m->number[PP_RESUME_FACT_##name]

static size_t next_iteration(const struct pp_resume_run *r, size_t i)
{
    while (i < r->iterations && !r->iteration[i].n)
        i++;
    return i;
}

/* Where the k-th iteration with a batch behind the first one stands; it should at its epoch's beginning. */
static struct pp_resume_spot place_later(const struct matter *m, size_t k, size_t *which)
{
    size_t i = m->first;
    for (size_t n = 0; n < k && i < m->r->iterations; n++)
        i = next_iteration(m->r, i + 1);
    *which = i;
    if (i >= m->r->iterations)
        return (struct pp_resume_spot){PP_RESUME_NOWHERE, 0};
    return pp_resume_place(m->a, m->r, i, (struct pp_resume_spot){m->due.iteration + k, 0});
}

static int is_at(struct pp_resume_spot at, size_t iteration, size_t offset)
{
    return at.iteration == iteration && at.offset == offset;
}

/* Epochs that the resumed run has less, or more. */
static void measure_dropped(struct matter *m, const struct resume_compared *c)
{
    size_t empty = 0, end = c->from + m->r->n, dropped = 0, more = 0;
    for (size_t i = 0; i < m->r->iterations; i++) {
        const struct pp_resume_iteration *it = &m->r->iteration[i];
        empty += it->ended && !it->given;
        more += m->a->finished && it->n && c->from + it->first >= m->a->n;
    }
    FACT(EMPTY) = empty ? (double)empty : NAN;
    FACT(MORE) = more ? (double)more : NAN;
    for (size_t i = 0; m->r->finished && i < m->a->iterations && end < m->a->n; i++)
        dropped += m->a->iteration[i].n && m->a->iteration[i].first >= end;
    int later = m->at.iteration != PP_RESUME_NOWHERE && m->at.offset == 0 &&
                m->at.iteration > m->due.iteration;
    if (later && (empty || dropped || m->due.offset > 0))
        FACT(DROPPED) = (double)(m->at.iteration - m->due.iteration);
    else if (dropped && (is_at(m->at, m->due.iteration, m->due.offset) || !m->r->n))
        FACT(DROPPED) = (double)dropped;
}

/* The iterations behind the first one. */
static void measure_later(struct matter *m)
{
    size_t which, sticks = 0, stuck = 0;
    int first_right = is_at(m->at, m->due.iteration, m->due.offset);
    for (size_t k = 1; m->due.iteration + k < m->a->iterations; k++) {
        struct pp_resume_spot at = place_later(m, k, &which);
        if (which >= m->r->iterations)
            break;
        if (first_right && at.iteration == m->due.iteration + k && at.offset > 0 &&
            (!sticks || at.offset == stuck)) {
            sticks++;
            stuck = at.offset;
        }
        if (k == 1 && m->at.iteration != PP_RESUME_NOWHERE && is_at(at, m->at.iteration, 0) &&
            at.iteration != m->due.iteration + 1)
            FACT(TWICE) = (double)at.iteration;
        if (k == 1 && !m->due.offset && m->due.iteration > 1 && is_at(m->at, m->due.iteration - 1, 0) &&
            is_at(at, m->due.iteration, 0))
            FACT(AGAIN) = (double)m->at.iteration;
        if (first_right && at.iteration == PP_RESUME_NOWHERE && isnan(FACT(LATER_NEW)))
            FACT(LATER_NEW) = (double)(m->due.iteration + k);
        if (first_right && at.iteration != PP_RESUME_NOWHERE && at.iteration != m->due.iteration + k &&
            isnan(FACT(LATER_OF))) {
            /* A later epoch has the order of another one. */
            double epoch = m->a->iteration[m->due.iteration + k].sampler_epoch;
            FACT(LATER) = (double)(m->due.iteration + k);
            FACT(LATER_OF) = (double)at.iteration;
            FACT(LATER_SAMPLER) = m->r->iteration[which].sampler_epoch == epoch
                                      ? NAN
                                      : m->r->iteration[which].sampler_epoch;
        }
    }
    FACT(STICKS) = sticks ? (double)sticks : NAN;
    FACT(STUCK) = sticks ? (double)stuck : NAN;
}

/* All epochs have one order, and two of them at least are whole. */
static int are_alike(const struct pp_resume_run *a)
{
    const struct pp_resume_iteration *one = a->iteration;
    size_t whole = 0;
    for (const struct pp_resume_iteration *it = one; it < one + a->iterations; it++) {
        if (memcmp(a->token + one->first_token, a->token + it->first_token,
                   least_of(one->tokens, it->tokens) * sizeof(*a->token)) != 0)
            return 0;
        whole += it->tokens == one->tokens && resume_is_whole(a, (size_t)(it - one));
    }
    return whole > 1 && one->tokens >= RESUME_LEAST;
}

/* Samples that are in the order of another epoch, or in none. */
static void measure_order(struct matter *m)
{
    size_t e = m->due.iteration;
    const struct pp_resume_iteration *was = &m->a->iteration[e], *is = &m->r->iteration[m->first];
    const struct pp_resume_batch *due = m->a->batch + m->from, *got = m->r->batch + is->first;
    const double most = is->workers * is->prefetch + 1; /* batches that workers may be ahead */
    FACT(EPOCH) = (double)e;
    FACT(SAMPLER_EPOCH) = is->sampler_epoch;
    FACT(SAMPLER_EPOCH_BEFORE) = was->sampler_epoch;
    /* Those before stand elsewhere, wherever that is; else it only began too early. */
    int elsewhere = is->workers > 0 && got[0].order != due[0].order;
    for (size_t k = 1; elsewhere && (double)k <= most && k + 1 < is->n && m->from + 1 < m->a->n; k++)
        if (got[k].order == due[0].order && got[k + 1].order == due[1].order &&
            (!m->from || got[k - 1].order != due[-1].order))
            FACT(EARLY) = (double)k;
    if (m->at.iteration == PP_RESUME_NOWHERE) {
        FACT(NEW_ORDER) = 1;
        FACT(ALIKE) = m->r->persistent && are_alike(m->a) ? 1 : NAN;
    } else if (m->at.iteration == e && m->at.offset != m->due.offset) {
        double shift = (double)m->at.offset - (double)m->due.offset;
        uint32_t full = 1, last = was->n ? m->a->batch[was->first + was->n - 1].n : 1;
        for (size_t k = 0; k < was->n; k++)
            full = m->a->batch[was->first + k].n > full ? m->a->batch[was->first + k].n : full;
        double ahead = shift / full;
        FACT(SHIFT) = shift;
        FACT(BACK) = shift < 0 ? -shift : NAN;
        FACT(DUE) = (double)m->due.offset;
        if (shift < 0 && m->at.offset == 0)
            FACT(EPOCH_BEGUN) = 1;
        if (shift > 0 && last < full && shift == (double)m->due.iteration * (full - last))
            FACT(SHORT) = 1;
        if (ahead >= 1 && floor(ahead) == ahead) {
            FACT(AHEAD) = ahead;
            if (is->workers > 0 && ahead <= most)
                FACT(PREFETCH) = most - 1;
        }
    } else if (m->at.iteration > e && m->at.offset != m->due.offset) {
        FACT(SHIFT) = (double)(m->a->iteration[m->at.iteration].first_token + m->at.offset -
                               was->first_token - m->due.offset);
    } else if (m->at.iteration != e) {
        FACT(ORDER_OF) = (double)m->at.iteration;
        FACT(NEXT) = m->at.iteration == e + 1 ? 1 : NAN;
    }
    if (is->workers != was->workers && !isnan(is->workers) && !isnan(was->workers)) {
        FACT(WORKERS) = is->workers;
        FACT(WORKERS_BEFORE) = was->workers;
    }
    for (size_t i = 0; i < m->a->iterations; i++) {
        const struct pp_resume_iteration *other = &m->a->iteration[i];
        if (i != e && is->base_seed && other->base_seed == is->base_seed)
            FACT(SEED_OF) = (double)i;
        if (i != e && is->rng && other->rng == is->rng && !m->text[PP_RESUME_FACT_RNG_OF])
            m->text[PP_RESUME_FACT_RNG_OF] = pp_arena_printf(m->arena, "epoch %zu's", i);
    }
}

void resume_measure(const struct pp_resume_start *control, const struct pp_resume_start *start,
                    const struct resume_compared *c, struct pp_arena *arena, double *number,
                    const char **text)
{
    struct matter
        matter = {&control->rank[c->rank], &start->rank[c->rank], c->from, number, text, arena, {0}, {0}, 0},
        *m = &matter;
    FACT(REPEATED) = c->repeated > 0 ? c->repeated : NAN;
    FACT(LEFT_OUT) = c->left_out > 0 ? c->left_out : NAN;
    FACT(MOVED) = c->repeated + c->left_out;
    FACT(RANK) = (double)m->r->rank;
    if (control->ranks != start->ranks) {
        FACT(WORLD) = (double)start->ranks;
        FACT(WORLD_BEFORE) = (double)control->ranks;
        return;
    }
    int other_samples = c->ranks_wrong > 0;
    FACT(IDENTITY) = !other_samples && c->identity ? (double)c->identity : NAN;
    FACT(CONTENT) = !other_samples && !c->identity && c->content ? (double)c->content : NAN;
    FACT(ONLY_TAIL) = other_samples && c->only_tails ? 1 : NAN;
    m->due = pp_resume_spot_of(m->a, c->from);
    m->first = next_iteration(m->r, 0);
    m->at = m->first < m->r->iterations ? pp_resume_place(m->a, m->r, m->first, m->due)
                                        : (struct pp_resume_spot){PP_RESUME_NOWHERE, 0};
    FACT(STREAM) = m->a->stream ? 1 : NAN;
    FACT(BUFFER) = m->r->buffer;
    FACT(RANKS_RIGHT) = start->ranks > 1 ? (double)c->ranks_right : NAN;
    FACT(RANKS_WRONG) = start->ranks > 1 ? (double)c->ranks_wrong : NAN;
    for (size_t i = 0; i < start->ranks; i++)
        if (i != c->rank && m->r->n && c->from < control->rank[i].n && c->from < m->a->n &&
            control->rank[i].batch[c->from].order == m->r->batch[0].order &&
            m->a->batch[c->from].order != m->r->batch[0].order)
            FACT(RANK_OF_OTHER) = (double)control->rank[i].rank;
    measure_dropped(m, c);
    if (m->first >= m->r->iterations)
        return;
    /* At the end of an epoch it is told from a count of epochs that begins anew by its length, or by whether
     * it loaded anything. */
    size_t which;
    struct pp_resume_spot later = place_later(m, 1, &which);
    int whole = m->a->finished && m->r->finished,
        again = m->due.iteration == 0 || m->due.offset > 0
                    ? which >= m->r->iterations || m->due.iteration == 0 || is_at(later, 1, 0)
                    : is_at(later, 1, 0) && (whole ? m->r->n >= m->a->n : m->r->restored == 0);
    if (again && is_at(m->at, 0, 0) && !is_at(m->due, 0, 0))
        FACT(RESTART) = 1;
    if (m->due.iteration >= m->a->iterations) /* the job was at its end */
        return;
    measure_later(m);
    measure_order(m);
}
