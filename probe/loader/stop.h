/* loader/stop.h: the end of a run, as all its threads share it: the request to stop, the first failure, and a
 * sleep that a request ends. Every call may be made by any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* How often a long wait checks whether the run is to stop. */
#define PP_STOP_CHECK_NS 50000000u

/* Why samples could not be used, by kind, for the sentence of a run in which none can: pp_loader_report_error
 * counts, pp_check_useless says what was most frequent. */
struct pp_useless {
    uint64_t times[PP_STATUS_COUNT];
    char example[PP_STATUS_COUNT][320]; /* the first: "PATH: reason" */
};

struct pp_stop {
    /* Relaxed: it orders nothing. Batches end under the locks of the queues, and the failure has its own. */
    atomic_int requested;
    pthread_mutex_t lock;
    pp_status failure; /* the first one; guarded by lock until the threads have been joined */
    struct pp_err failure_err;
    struct pp_useless useless; /* guarded by lock */
};

/* Finish the batch in hand and end. Async-signal-safe. */
static inline void pp_stop_request(struct pp_stop *s)
{
    atomic_store_explicit(&s->requested, 1, memory_order_relaxed);
}

static inline int pp_stop_is_requested(const struct pp_stop *s)
{
    return atomic_load_explicit(&s->requested, memory_order_relaxed);
}

/* Keeps the first failure and requests the stop. err is copied. */
void pp_stop_fail(struct pp_stop *s, pp_status st, const struct pp_err *err);

/* Whether a sample that failed so tells of the machine and not of itself: memory or descriptors are short,
 * and the next one would fail as well. */
static inline int pp_stop_is_machines(pp_status st)
{
    return st == PP_E_LIMIT || st == PP_E_NO_MEMORY;
}

/* Sleeps for ns. Returns within PP_STOP_CHECK_NS of a request. */
void pp_stop_sleep(const struct pp_stop *s, uint64_t ns);

/* A thread within a call that nothing can end (a read of a disk that does not answer), and the end of a run
 * that does not wait for it.
 *
 * The thread enters before the call and leaves after it. While it is inside, the thread that ends the run may
 * give it up: it then touches nothing of the run any more, for leaving does not return. What the call itself
 * uses has to stay until the process ends. */
enum pp_gate_state { PP_GATE_OUTSIDE, PP_GATE_INSIDE, PP_GATE_GIVEN_UP, PP_GATE_ENDED };

struct pp_gate {
    atomic_int state; /* enum pp_gate_state; zero: outside */
};

static inline void pp_gate_enter(struct pp_gate *g)
{
    /* release: pairs with the acquire in pp_gate_give_up, which reads what the thread has counted */
    atomic_store_explicit(&g->state, PP_GATE_INSIDE, memory_order_release);
}

static inline void pp_gate_leave(struct pp_gate *g)
{
    int inside = PP_GATE_INSIDE;
    if (!atomic_compare_exchange_strong_explicit(&g->state, &inside, PP_GATE_OUTSIDE, memory_order_relaxed,
                                                 memory_order_relaxed))
        for (;;)
            pause();
}

/* The last thing that the thread does; it is then soon joined. */
static inline void pp_gate_end(struct pp_gate *g)
{
    atomic_store_explicit(&g->state, PP_GATE_ENDED, memory_order_relaxed);
}

static inline int pp_gate_has_ended(struct pp_gate *g)
{
    return atomic_load_explicit(&g->state, memory_order_relaxed) == PP_GATE_ENDED;
}

/* By the thread that ends the run. 1: it was inside, and will not come back. */
static inline int pp_gate_give_up(struct pp_gate *g)
{
    int inside = PP_GATE_INSIDE;
    return atomic_compare_exchange_strong_explicit(&g->state, &inside, PP_GATE_GIVEN_UP, memory_order_acquire,
                                                   memory_order_relaxed);
}
