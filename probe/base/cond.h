/* base/cond.h: condition variables on the house's clock (CLOCK_MONOTONIC), so that a wall-clock jump moves no
 * deadline. */
#pragma once

#include "probe/base/std.h"

#include <pthread.h>
#include <time.h>

static inline void pp_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

/* 0 when woken (perhaps for nothing: look again), ETIMEDOUT at the deadline. UINT64_MAX waits for ever. */
static inline int pp_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX)
        return pthread_cond_wait(c, m);
    struct timespec ts = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                          .tv_nsec = (long)(deadline_ns % 1000000000u)};
    return pthread_cond_timedwait(c, m, &ts);
}
