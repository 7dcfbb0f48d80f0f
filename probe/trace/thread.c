#include "probe/trace/session.h"
#include "probe/trace/drain_side.h"
#include "probe/trace/join.h"
#include "probe/trace/observe.h"
#include "probe/trace/run_delay.h"

#include <linux/futex.h>
#include <sys/syscall.h>

/* A phase shorter of CPU than this does not pay for a look at schedstat (about 550 ns) */
#define UNEXPLAINED_NS 20000u

/* ---- the steps of the hot path; for the recording thread alone ---- */

#define RECORDS_AHEAD 16 /* at 13 ns a record, what memory takes to answer */

/* Relaxed: the only other writer is the fork handler of a child, in which this thread does not exist. */
static inline int is_recording(const struct pp_thread *t)
{
    return t && __atomic_load_n(&t->recording, __ATOMIC_RELAXED);
}

void pp_session_wake(struct pp_session *s)
{
    uint32_t *wake = &s->file->wake;
    if (__atomic_load_n(wake, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(wake, 1, __ATOMIC_RELEASE) == 0)
        syscall(SYS_futex, wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Reached at half full, at full, and at every further record while full: 0 when there is no room, which is
 * then counted. */
__attribute__((noinline)) static int look_for_room(struct pp_thread *t)
{
    uint64_t capacity = t->mask + 1;
    uint64_t tail = __atomic_load_n(&t->ring->tail,
                                    __ATOMIC_ACQUIRE); /* pairs with the release in pp_ring_release */
    uint64_t fill = t->head - tail;
    if (fill >= capacity / 2)
        pp_session_wake(t->session);
    if (fill >= capacity) {
        __atomic_store_n(&t->ring->dropped, t->ring->dropped + 1,
                         __ATOMIC_RELAXED); /* this thread is its only writer */
        return 0;
    }
    t->check_at = tail + (fill >= capacity / 2 ? capacity : capacity / 2);
    return 1;
}

/* After anything that decides whether a lap may go straight: on a clock of ticks, without resources, with a
 * stamp to start from, and nothing announced. */
static inline void record_settle(struct pp_thread *t)
{
    int straight = is_recording(t) && t->tsc && !t->resources && t->stamp && !t->expected;
    __atomic_store_n(&t->straight_until, straight ? t->check_at : 0,
                     __ATOMIC_RELAXED); /* relaxed: as recording */
}

static inline struct pp_span *record_slot(struct pp_thread *t)
{
    if (__builtin_expect(t->head == t->check_at, 0) && !look_for_room(t))
        return NULL;
    return &t->slots[t->head & t->mask];
}

static inline void record_publish(struct pp_thread *t)
{
    t->head++;
    __atomic_store_n(&t->ring->head, t->head,
                     __ATOMIC_RELEASE); /* pairs with the acquire in pp_ring_reader */
}

static inline uint8_t record_stamp_kind(const struct pp_thread *t)
{
    return t->tsc ? PP_STAMP_TICKS : PP_STAMP_NS;
}

static inline void record_set_open(struct pp_thread *t, uint32_t open)
{
    t->open = open;
    __atomic_store_n(
        &t->ring->open, open,
        __ATOMIC_RELEASE); /* after the slot it uncovers; read when this thread is gone, or at rest */
}

/* Takes back what pp_lap_expect announced, after its record was published, if it was. */
static inline void record_unexpect(struct pp_thread *t)
{
    if (__builtin_expect(t->expected != 0, 0)) {
        record_set_open(t, t->expected - 1);
        t->expected = 0;
        record_settle(t);
    }
}

/* Moves the CPU reading to now; returns the CPU time since the last one. */
static uint64_t advance_cpu(struct pp_thread *t)
{
    uint64_t now = pp_thread_cpu_ns(), used = now - t->cpu_ns;
    t->cpu_ns = now;
    return used;
}

/* Run delay since the last look, if the phase was long enough beside its CPU time to be worth one. */
static uint64_t advance_run_delay(struct pp_thread *t, uint64_t wall_ns, uint64_t cpu_ns)
{
    uint64_t now;
    if (wall_ns <= cpu_ns + UNEXPLAINED_NS || !pp_run_delay_read(t->schedstat_fd, &now))
        return 0;
    uint64_t delay = pp_run_delay_within(now - t->run_delay_ns, wall_ns, cpu_ns);
    t->run_delay_ns = now;
    return delay;
}

uint64_t pp_thread_stamps_ns(const struct pp_thread *t, uint64_t from, uint64_t to)
{
    const struct pp_session_file *f = t->session->file;
    return pp_clock_ns_of(f, to) - pp_clock_ns_of(f, from);
}

/* ---- laps ---- */

void pp_lap_start(struct pp_thread *t)
{
    if (!is_recording(t))
        return;
    if (t->resources) {
        advance_cpu(t);
        pp_run_delay_read(t->schedstat_fd, &t->run_delay_ns);
    }
    t->stamp = pp_stamp_now(t->tsc);
    if (!t->straight_until)
        record_settle(t);
}

void pp_lap_skip(struct pp_thread *t)
{
    if (!is_recording(t))
        return;
    uint64_t now = pp_stamp_now(t->tsc);
    if (t->resources)
        advance_run_delay(t, pp_thread_stamps_ns(t, t->stamp, now), advance_cpu(t));
    t->stamp = now;
    record_unexpect(t);
    if (!t->straight_until)
        record_settle(t);
}

static inline __attribute__((always_inline)) void write_lap(struct pp_span *s, uint64_t start, uint64_t now,
                                                            uint8_t stamp_kind, pp_phase phase,
                                                            const struct pp_lap *lap, uint64_t cpu_ns,
                                                            uint64_t run_delay_ns, uint16_t measured)
{
    s->start_ns = start;
    s->dur_ns = now - start;
    s->sample = lap->sample;
    s->bytes = lap->bytes;
    s->cpu_ns = cpu_ns;
    s->run_delay_ns = run_delay_ns;
    s->batch = lap->batch;
    s->cache_hit_kib = lap->cache_hit_kib;
    s->epoch = lap->epoch;
    s->name = lap->name;
    s->phase = (uint8_t)phase;
    s->reserved = stamp_kind;
    s->flags = (uint16_t)(lap->flags | measured);
}

static const struct pp_lap no_lap = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};

/* The wall stamp comes first, so what reading the other clocks costs falls into the next phase, on every
 * clock alike. */
static __attribute__((noinline)) void lap_end_with_care(struct pp_thread *t, pp_phase phase,
                                                        const struct pp_lap *lap)
{
    if (!is_recording(t))
        return;
    uint64_t start = t->stamp, now = pp_stamp_now(t->tsc);
    uint64_t cpu_ns = 0, run_delay_ns = 0;
    uint16_t measured = 0;
    t->stamp = now;
    if (start && t->resources) {
        cpu_ns = advance_cpu(t);
        run_delay_ns = advance_run_delay(t, pp_thread_stamps_ns(t, start, now), cpu_ns);
        measured = t->schedstat_fd >= 0 ? PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY : PP_SPAN_HAS_CPU;
    }
    struct pp_span *s = start ? record_slot(t) : NULL;
    if (s) {
        write_lap(s, start, now, record_stamp_kind(t), phase, lap ? lap : &no_lap, cpu_ns, run_delay_ns,
                  measured);
        if (t->expected && t->expected <= PP_OPEN_SPANS_MAX) /* ends, as in pp_span_end */
            t->ring->opened[t->expected - 1].ends_at = t->head + 1;
        record_publish(t);
    }
    record_unexpect(t);
    record_settle(t);
}

void pp_lap_end(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    if (!t)
        return;
    if (__builtin_expect(t->head >= t->straight_until || !lap, 0)) {
        lap_end_with_care(t, phase, lap);
        return;
    }
    uint64_t start = t->stamp, now = pp_stamp_now(1);
    t->stamp = now;
    /* The line of a record some way ahead, for writing: the drain has read it on another core, or it has left
     * the cache since the last round. A hint; processors without it take it for nothing. */
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(t->slots[(t->head + RECORDS_AHEAD) & t->mask]));
#else
    __builtin_prefetch(&t->slots[(t->head + RECORDS_AHEAD) & t->mask], 1);
#endif
    write_lap(&t->slots[t->head & t->mask], start, now, PP_STAMP_TICKS, phase, lap, 0, 0, 0);
    record_publish(t);
}

#define COST_BATCHES 9
#define COST_LAPS 100

uint64_t pp_lap_cost_ns(struct pp_session *s)
{
    struct pp_ring_file *ring = calloc(1, sizeof(*ring));
    struct pp_span *slots = calloc(COST_LAPS, sizeof(*slots));
    uint64_t took[COST_BATCHES] = {0};
    if (!s || !ring || !slots)
        goto out;
    for (int b = 0; b < COST_BATCHES; b++) {
        struct pp_thread t = {.ring = ring,
                              .slots = slots,
                              .mask = UINT64_MAX,
                              .check_at = UINT64_MAX,
                              .recording = 1,
                              .tsc = s->file->clock == PP_CLOCK_TSC,
                              .resources = (int)s->file->resources,
                              .schedstat_fd = -1,
                              .session = s};
        pp_lap_start(&t);
        uint64_t t0 = pp_now_ns();
        for (int i = 0; i < COST_LAPS; i++)
            pp_lap_end(&t, PP_PHASE_READ, NULL);
        uint64_t batch = pp_now_ns() - t0;
        int k = b;
        for (; k > 0 && took[k - 1] > batch; k--) /* sorted, for the median */
            took[k] = took[k - 1];
        took[k] = batch;
    }
out:
    free(slots);
    free(ring);
    return took[COST_BATCHES / 2] / COST_LAPS;
}

uint64_t pp_lap_stamp_ns(const struct pp_thread *t)
{
    return is_recording(t) && t->stamp ? pp_clock_ns_of(t->session->file, t->stamp) : 0;
}

static void put_span(struct pp_thread *t, const struct pp_span *span, uint8_t unit)
{
    struct pp_span *s = is_recording(t) ? record_slot(t) : NULL;
    if (!s)
        return;
    *s = *span;
    s->reserved = unit;
    record_publish(t);
}

void pp_span_put(struct pp_thread *t, const struct pp_span *span)
{
    put_span(t, span, PP_STAMP_NS);
}

uint64_t pp_thread_stamp(const struct pp_thread *t)
{
    return pp_stamp_now(t->tsc);
}

void pp_span_put_stamped(struct pp_thread *t, const struct pp_span *span)
{
    put_span(t, span, t && t->tsc ? PP_STAMP_TICKS : PP_STAMP_NS);
}

/* ---- spans that begin and end in two calls, and laps that say beforehand what they are: what is open stands
 * in the ring's header, where a kill leaves it for the drain or the recovery ---- */

static void push_open(struct pp_thread *t, uint64_t start, pp_phase phase, const struct pp_lap *lap)
{
    if (t->open < PP_OPEN_SPANS_MAX)
        t->ring->opened[t->open] = (struct pp_open_span){
            .start = start,
            .sample = lap->sample,
            .batch = lap->batch,
            .epoch = lap->epoch,
            .name = lap->name,
            .flags = lap->flags,
            .phase = (uint8_t)phase,
            .stamp = record_stamp_kind(t),
        };
    record_set_open(t, t->open + 1);
}

void pp_span_begin(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    if (!is_recording(t))
        return;
    if (t->resources && t->open < PP_OPEN_SPANS_MAX) {
        t->opened[t->open].run_delay_ns = 0;
        pp_run_delay_read(t->schedstat_fd, &t->opened[t->open].run_delay_ns);
        t->opened[t->open].cpu_ns = pp_thread_cpu_ns();
    }
    push_open(t, pp_stamp_now(t->tsc), phase, lap ? lap : &no_lap);
}

void pp_span_end(struct pp_thread *t, uint64_t bytes, unsigned flags)
{
    if (!is_recording(t) || !t->open)
        return;
    uint64_t now = pp_stamp_now(t->tsc);
    uint32_t which = t->open - 1;
    if (which >= PP_OPEN_SPANS_MAX) {
        __atomic_store_n(&t->ring->dropped, t->ring->dropped + 1,
                         __ATOMIC_RELAXED); /* this thread is its only writer */
        record_set_open(t, which);
        return;
    }
    const struct pp_open_span *o = &t->ring->opened[which];
    struct pp_span *s = record_slot(t);
    if (s) {
        *s = (struct pp_span){
            .start_ns = o->start,
            .dur_ns = now - o->start,
            .sample = o->sample,
            .bytes = bytes,
            .batch = o->batch,
            .epoch = o->epoch,
            .name = o->name,
            .phase = o->phase,
            .reserved = o->stamp,
            .flags = (uint16_t)(o->flags | flags),
        };
        if (t->resources) {
            uint64_t delay;
            s->cpu_ns = pp_thread_cpu_ns() - t->opened[which].cpu_ns;
            s->flags |= PP_SPAN_HAS_CPU;
            if (pp_run_delay_read(t->schedstat_fd, &delay)) {
                s->run_delay_ns = pp_run_delay_within(delay - t->opened[which].run_delay_ns,
                                                      pp_thread_stamps_ns(t, o->start, now), s->cpu_ns);
                s->flags |= PP_SPAN_HAS_DELAY;
            }
        }
        /* It is about to be published as the next record: before the release of head, which makes it true. */
        t->ring->opened[which].ends_at = t->head + 1;
        record_publish(t);
    }
    record_set_open(t, which);
}

void pp_lap_expect(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    if (!is_recording(t) || !t->stamp)
        return;
    record_unexpect(t);
    push_open(t, t->stamp, phase, lap ? lap : &no_lap);
    t->expected = t->open;
    record_settle(t);
}

/* ---- counters, the end ---- */

void pp_counter_put(struct pp_thread *t, uint16_t name, uint64_t value)
{
    struct pp_span *s = is_recording(t) ? record_slot(t) : NULL;
    if (!s)
        return;
    *s = (struct pp_span){
        .start_ns = pp_stamp_now(t->tsc),
        .sample = PP_NO_SAMPLE,
        .bytes = value,
        .batch = PP_NO_BATCH,
        .name = name,
        .phase = PP_PHASE_COUNTER,
        .reserved = record_stamp_kind(t),
    };
    record_publish(t);
}

void pp_thread_retire(struct pp_thread *t)
{
    if (!is_recording(t))
        return;
    record_unexpect(t);
    while (t->open)
        pp_span_end(t, 0, PP_SPAN_UNFINISHED);
    __atomic_store_n(&t->recording, 0, __ATOMIC_RELAXED);
    record_settle(t);
    if (t->schedstat_fd >= 0)
        close(t->schedstat_fd);
    t->schedstat_fd = -1;
    __atomic_store_n(&t->ring->retired, 1,
                     __ATOMIC_RELEASE); /* pairs with the acquire in pp_session_ring_info */
    pp_slot_leave(t->session, t->id);
}

const struct pp_observer *pp_observer_now;

void pp_trace_set_observer(const struct pp_observer *o)
{
    __atomic_store_n(&pp_observer_now, o, __ATOMIC_RELEASE);
}
