/* base/clock.h: the one clock of the house, CLOCK_MONOTONIC in nanoseconds, and the CPU clock of a thread. */
#pragma once

#include "probe/base/std.h"

#include <time.h>

static inline uint64_t pp_clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t pp_now_ns(void)
{
    return pp_clock_of(CLOCK_MONOTONIC);
}

static inline uint64_t pp_thread_cpu_ns(void)
{
    return pp_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t pp_process_cpu_ns(void)
{
    return pp_clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Sleeps until the absolute monotonic time, going on after signals. */
static inline void pp_sleep_until_ns(uint64_t t)
{
    struct timespec ts = {.tv_sec = (time_t)(t / 1000000000u), .tv_nsec = (long)(t % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) != 0) {
    }
}
