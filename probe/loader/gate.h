/* loader/gate.h: a thread within a call that nothing can end (a read of a disk that does not answer), and the
 * end of a run that does not wait for it.
 *
 * The thread enters before the call and leaves after it. While it is inside, the thread that ends the run may
 * give it up: it then touches nothing of the run any more, for leaving does not return. What the call itself
 * uses has to stay until the process ends. */
#ifndef PP_LOADER_GATE_H
#define PP_LOADER_GATE_H

#include <stdatomic.h>
#include <unistd.h>

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

#endif
