/* report/measure/visit.h: which spans are the visit of a sample: what the epochs of one recording
 * (findings/visits.h) and the audit of all ranks (audit/audit.h) count.
 *
 * A visit is the first span of the earliest phase that names samples (read, decode or transform) of a sample
 * on a thread of workers or readers; retries and substitutes for damaged samples are none. */
#pragma once

#include "report/measure/timeline.h"

struct pp_visit_hand;

struct pp_visit_walk {
    const struct pp_thread_row *threads;
    size_t n_threads;
    struct pp_visit_hand *hands; /* by thread: what it had in hand last */
    pp_phase phase;              /* whose spans are visits; PP_PHASE_NONE: none name samples */
    int substitutes;             /* a sample that cannot be used has another in its place */
};

/* Zero-initialised *w; source and timeline are borrowed. 0: no memory. Free with pp_visit_walk_free. */
int pp_visit_walk_begin(struct pp_visit_walk *w, const struct pp_source *source,
                        const struct pp_timeline *timeline);
void pp_visit_walk_free(struct pp_visit_walk *w);
/* Place of the thread among walk's threads when its spans can be visits; SIZE_MAX: they cannot. Once per
 * chunk. */
size_t pp_visit_walk_thread(const struct pp_visit_walk *w, uint32_t thread);
/* 1: the span, in recorded order, is a visit of s->sample. */
int pp_visit_walk_is(struct pp_visit_walk *w, size_t at, const struct pp_span *s);

/* ---- orders ---- */

/* The samples of one batch, in whatever order threads recorded them. */
struct pp_visit_batch {
    uint64_t hash, least, most; /* hash: sum of the hashes of its samples */
    uint32_t n;
    uint16_t epoch;
};
void pp_visit_batch_add(struct pp_visit_batch *b, uint64_t sample);

/* Two orders batch by batch, each counted from its first. */
struct pp_visit_orders {
    uint64_t compared, same;
    double chance;              /* -ln of what shuffles agree with */
    double samples, all;        /* of the batches that are the same, of all */
    double ranges, least, most; /* ranges: of sample numbers, of each batch, summed up */
    uint64_t rising, higher;    /* batches that begin, that end behind the one before */
    int last_higher;            /* the last one does */
    const struct pp_visit_batch *last;
};
/* Zero-initialised; then batch by batch, and the answers. */
void pp_visit_orders_add(struct pp_visit_orders *c, const struct pp_visit_batch *a,
                         const struct pp_visit_batch *b);
/* 1: one is the other over again, and shuffles would agree so with a chance below one in a million. */
int pp_visit_orders_repeat(const struct pp_visit_orders *c);
/* 1: samples come by their numbers, which is no shuffle. */
int pp_visit_orders_by_number(const struct pp_visit_orders *c);

/* ---- contents: of samples without numbers, the first n as a number each ---- */

/* Whether they tell anything: enough of them, and most unlike each other; padding, or a data set of zeros, is
 * alike anywhere. */
int pp_visit_prints_tell(const uint64_t *print, size_t n);
/* As far as the shorter one goes. */
int pp_visit_prints_alike(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b);
