/* trace/record.h: the hot path's steps, shared by thread.c (laps) and open_span.c (spans). Private to
 * probe/trace; for the recording thread alone. */
#ifndef PP_TRACE_RECORD_H
#define PP_TRACE_RECORD_H

#include "probe/trace/session.h"

#define PP_RECORDS_AHEAD 16 /* at 13 ns a record, what memory takes to answer */

/* Relaxed: the only other writer is the fork handler of a child, in which this thread does not exist. */
static inline int pp_is_recording(const struct pp_thread *t)
{
    return t && __atomic_load_n(&t->recording, __ATOMIC_RELAXED);
}

/* Reached at half full, at full, and at every further record while full: 0 when there is no room, which is
 * then counted. */
int pp_thread_look_for_room(struct pp_thread *t);

/* After anything that decides whether a lap may go straight: on a clock of ticks, without resources, with a
 * stamp to start from, and nothing announced. */
static inline void pp_record_settle(struct pp_thread *t)
{
    int straight = pp_is_recording(t) && t->tsc && !t->resources && t->stamp && !t->expected;
    __atomic_store_n(&t->straight_until, straight ? t->check_at : 0,
                     __ATOMIC_RELAXED); /* relaxed: as recording */
}

/* The line of a record some way ahead, for writing: the drain has read it on another core, or it has left the
 * cache since the last round. A hint; processors without it take it for nothing. */
static inline void pp_record_fetch_ahead(const struct pp_thread *t)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(t->slots[(t->head + PP_RECORDS_AHEAD) & t->mask]));
#else
    __builtin_prefetch(&t->slots[(t->head + PP_RECORDS_AHEAD) & t->mask], 1);
#endif
}

static inline struct pp_span *pp_record_slot(struct pp_thread *t)
{
    if (__builtin_expect(t->head == t->check_at, 0) && !pp_thread_look_for_room(t))
        return NULL;
    return &t->slots[t->head & t->mask];
}

static inline void pp_record_publish(struct pp_thread *t)
{
    t->head++;
    __atomic_store_n(&t->ring->head, t->head,
                     __ATOMIC_RELEASE); /* pairs with the acquire in pp_ring_reader */
}

static inline uint8_t pp_record_stamp_kind(const struct pp_thread *t)
{
    return t->tsc ? PP_STAMP_TICKS : PP_STAMP_NS;
}

/* The innermost open span is about to be published as the next record. */
static inline void pp_record_ends_open(struct pp_thread *t, uint32_t which)
{
    if (which < PP_OPEN_SPANS_MAX)
        t->ring->opened[which].ends_at = t->head +
                                         1; /* before the release of head, which is what makes it true */
}

static inline void pp_record_set_open(struct pp_thread *t, uint32_t open)
{
    t->open = open;
    __atomic_store_n(
        &t->ring->open, open,
        __ATOMIC_RELEASE); /* after the slot it uncovers; read when this thread is gone, or at rest */
}

/* Takes back what pp_lap_expect announced, after its record was published, if it was. */
static inline void pp_record_unexpect(struct pp_thread *t)
{
    if (__builtin_expect(t->expected != 0, 0)) {
        pp_record_set_open(t, t->expected - 1);
        t->expected = 0;
        pp_record_settle(t);
    }
}

#endif
