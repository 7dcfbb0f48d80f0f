/* trace/stamp.h: the clock of the recorder. A stamp is a tick of the invariant TSC where there is one (10 ns
 * to read against 22 ns for clock_gettime), else CLOCK_MONOTONIC nanoseconds; PIPEPROBE_CLOCK=monotonic asks
 * for the latter.
 *
 * Ticks become nanoseconds by the segments in the session file (pipeprobe/ring.h). The owner of the session
 * appends a segment about once a second: the new one starts where the old one ends and is steered so that it
 * meets CLOCK_MONOTONIC a second later. */
#pragma once

#include "probe/base/clock.h"

#include <pipeprobe/ring.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define PP_HAVE_TSC 1
#else
#define PP_HAVE_TSC 0
#endif

/* rdtsc is not serialising: a stamp may move by the few dozen instructions the core has in flight, far below
 * what a phase lasts. */
static inline uint64_t pp_stamp_now(int tsc)
{
#if PP_HAVE_TSC
    if (tsc)
        return __rdtsc();
#endif
    (void)tsc;
    return pp_now_ns();
}

/* The owner's side of the calibration; private to the process that opened the session. */
struct pp_stamp_sync {
    uint64_t tick, ns;    /* the last pair read */
    uint64_t interval_ns; /* until the next: doubles from the first few milliseconds to one second */
};

/* Chooses the clock and, for the TSC, takes the first two readings 5 ms apart. */
void pp_stamp_begin(struct pp_session_file *f, struct pp_stamp_sync *sync);
/* The owner's side passes to this process. */
void pp_stamp_resume(const struct pp_session_file *f, struct pp_stamp_sync *sync);
/* Appends a segment when one is due. One thread at a time. */
void pp_stamp_anchor(struct pp_session_file *f, struct pp_stamp_sync *sync);
