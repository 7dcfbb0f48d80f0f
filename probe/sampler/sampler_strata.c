#include "probe/sampler/sampler_strata.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/sampler/sampler_permutation.h"

#include <inttypes.h>

#define MOST_CLASSES (UINT64_C(1) << 24)
enum { CLASS_STREAM = 21, TIE_STREAM = 22, TURN_STREAM = 23 }; /* of pp_rng_key */

struct class
{
    uint64_t first, n; /* in member */
    int64_t label;
};

struct pp_strata {
    uint64_t n;
    uint32_t *member; /* samples by class */
    struct class *classes;
    size_t n_classes;
};

/* ---- lists of samples by class ---- */

struct labelled {
    int64_t label;
    uint32_t sample;
};

PP_BY_BOTH(by_label, struct labelled, label, sample)

pp_status pp_strata_create(const int64_t *class_of, uint64_t n, struct pp_strata **out, struct pp_err *err)
{
    pp_status st = PP_OK;
    struct pp_strata *s = calloc(1, sizeof(*s));
    struct labelled *l = calloc(n + 1, sizeof(*l));
    uint64_t classes = 0;
    *out = NULL;
    for (uint64_t i = 0; l && i < n; i++)
        l[i] = (struct labelled){class_of[i], (uint32_t)i};
    if (s && l) {
        qsort(l, n, sizeof(*l), by_label);
        classes = n > 0;
        for (uint64_t i = 1; i < n; i++)
            classes += l[i].label != l[i - 1].label;
        s->n = n;
        s->member = malloc(n * sizeof(*s->member) + 1);
        s->classes = classes <= MOST_CLASSES ? calloc(classes + 1, sizeof(*s->classes)) : NULL;
    }
    if (classes > MOST_CLASSES)
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "%" PRIu64 " classes are more than 2^24, what the stratified sampler takes", classes);
    else if (!s || !l || !s->member || !s->classes)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the classes of %" PRIu64 " samples", n);
    if (st == PP_OK) {
        for (uint64_t i = 0; i < s->n; i++) {
            if (i == 0 || l[i].label != l[i - 1].label)
                s->classes[s->n_classes++] = (struct class){.first = i, .label = l[i].label};
            s->classes[s->n_classes - 1].n++;
            s->member[i] = l[i].sample;
        }
        *out = s;
        s = NULL;
    }
    free(l);
    pp_strata_destroy(s);
    return st;
}

void pp_strata_destroy(struct pp_strata *s)
{
    if (!s)
        return;
    free(s->member);
    free(s->classes);
    free(s);
}

/* ---- the share of a rank ---- */

/* One class's samples of this rank, in the order in which they come. */
struct queue {
    uint64_t first, n;     /* in drawn */
    uint64_t placed;       /* so far */
    uint64_t release, due; /* positions of the next one, from 1 on */
    uint64_t tie;
};

struct making {
    const struct pp_strata *s;
    const struct pp_strata_share *share;
    uint32_t *drawn; /* the share, class after class */
    struct queue *queue;
    size_t n_queues;
    struct queue **waiting, **ready; /* heaps: by release, by due date */
    size_t n_waiting, n_ready;
};

/* Goes through the row at rank, rank + world, ...: positions of a class follow each other. The last one may
 * be padding, which reads the row from its start: that sample joins its class. */
static void draw_share(struct making *m)
{
    const struct pp_strata *s = m->s;
    const struct pp_strata_share *h = m->share;
    struct pp_permutation classes, within;
    uint64_t last = h->rank + (h->len - 1) * h->world, own = h->len - (last >= s->n), p = 0, n = 0, begin = 0;
    pp_permutation_init(&classes, s->n_classes, h->seed ^ CLASS_STREAM, h->epoch);
    for (size_t i = 0; i < s->n_classes && n < h->len; i++) {
        const struct class *c = &s->classes[pp_permutation_at(&classes, i)];
        struct queue *q = &m->queue[m->n_queues];
        *q = (struct queue){.first = n};
        pp_permutation_init(&within, c->n, h->seed ^ pp_mix64((uint64_t)c->label), h->epoch);
        for (; p < own && h->rank + p * h->world < begin + c->n; p++)
            m->drawn[n++] = s->member[c->first + pp_permutation_at(&within, h->rank + p * h->world - begin)];
        if (own < h->len && last % s->n >= begin && last % s->n < begin + c->n)
            m->drawn[n++] = s->member[c->first + pp_permutation_at(&within, last % s->n - begin)];
        q->n = n - q->first;
        begin += c->n;
        m->n_queues += q->n > 0;
    }
}

/* ---- heaps ---- */

typedef int before_fn(const struct queue *a, const struct queue *b);

static int by_release(const struct queue *a, const struct queue *b)
{
    return a->release < b->release;
}

static int by_due(const struct queue *a, const struct queue *b)
{
    return a->due != b->due ? a->due < b->due : a->tie < b->tie;
}

static void push(struct queue **heap, size_t *n, struct queue *q, before_fn *before)
{
    size_t at = (*n)++;
    for (; at > 0 && before(q, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = q;
}

static struct queue *pop(struct queue **heap, size_t *n, before_fn *before)
{
    struct queue *top = heap[0], *last = heap[--*n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < *n; at = child) {
        child += child + 1 < *n && before(heap[child + 1], heap[child]);
        if (!before(heap[child], last))
            break;
        heap[at] = heap[child];
    }
    if (*n)
        heap[at] = last;
    return top;
}

/* ---- positions ---- */

static void set_window(const struct making *m, struct queue *q)
{
    __uint128_t len = m->share->len, k = q->placed;
    q->release = (uint64_t)(k * len / q->n) + 1;
    q->due = (uint64_t)(((k + 1) * len + q->n - 1) / q->n);
    q->tie = pp_rng_key(m->share->seed, m->share->epoch, m->share->rank << 32 ^ (uint64_t)(q - m->queue),
                        TIE_STREAM + q->placed)
                 .state;
}

pp_status pp_strata_order(const struct pp_strata *s, const struct pp_strata_share *share, uint32_t *order,
                          struct pp_err *err)
{
    size_t most = s->n_classes;
    struct making m = {.s = s,
                       .share = share,
                       .drawn = malloc(share->len * sizeof(*m.drawn)),
                       .queue = malloc((most + 1) * sizeof(*m.queue)),
                       .waiting = malloc((most + 1) * sizeof(struct queue *)),
                       .ready = malloc((most + 1) * sizeof(struct queue *))};
    pp_status st = PP_OK;
    if (m.drawn && m.queue && m.waiting && m.ready) {
        draw_share(&m);
        const struct pp_strata_share *h = m.share;
        struct pp_rng rng = pp_rng_key(h->seed, h->epoch, h->rank, TURN_STREAM);
        uint64_t turn = pp_rng_below(&rng, h->len);
        for (size_t i = 0; i < m.n_queues; i++) {
            set_window(&m, &m.queue[i]);
            push(m.waiting, &m.n_waiting, &m.queue[i], by_release);
        }
        for (uint64_t at = 1; at <= h->len; at++) {
            while (m.n_waiting && m.waiting[0]->release <= at)
                push(m.ready, &m.n_ready, pop(m.waiting, &m.n_waiting, by_release), by_due);
            struct queue *q = pop(m.ready, &m.n_ready, by_due);
            uint64_t position = at - 1 + turn;
            order[position < h->len ? position : position - h->len] = m.drawn[q->first + q->placed++];
            if (q->placed == q->n)
                continue;
            set_window(&m, q);
            push(m.waiting, &m.n_waiting, q, by_release);
        }
    } else {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the stratified order of %" PRIu64 " samples", s->n);
    }
    free(m.drawn);
    free(m.queue);
    free(m.waiting);
    free(m.ready);
    return st;
}
