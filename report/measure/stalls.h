/* report/measure/stalls.h: what went on while the trainer waited. */
#pragma once

#include "report/measure/tally.h"
#include "report/measure/timeline.h"

/* Who held the batch while the trainer waited: the lanes' time during the stalls, and the phase that owns it.
 *
 * Time is thread-time: with four workers a stall of 1 s is 4 s of worker time. The stage with the largest
 * part owns the wait; when the workers themselves mostly waited for a slot or for work, they were not what
 * was missing, and the copy lane or the shard reader is asked, which may wait for the leases of other ranks.
 * When those were idle too, the hand-off between them is what is left (phase PP_PHASE_NONE). */

struct pp_owner {
    int known;
    pp_lane lane;
    pp_phase phase;        /* PP_PHASE_NONE: the hand-off */
    double share;          /* of its lane's thread-time during the stalls */
    struct pp_split split; /* of the phase during the stalls */
    double worker_idle;    /* workers' thread-time in slot_wait and dispatch_wait during the stalls; NAN: no
                              stall or no worker */
    double phase_share[PP_PHASE_COUNT]; /* workers' thread-time in each phase in the stalls; 0: unknown */
    double unnamed;                     /* the rest of it, which no span covers; NAN likewise */
    double copy_busy, pin_busy;         /* copy lane's time in h2d, in pin; likewise */
    double decode_busy;                 /* in gpu_decode: it waits for the device's decoder */
};

/* Lane time above which it counts as busy, or idle: more than not. */
#define PP_ATTRIBUTE_MOST 0.5

void pp_attribute(const struct pp_timeline *timeline, const struct pp_tally *tally, struct pp_owner *out);

/* What the job's native threads did while the trainer waited: of looks from outside (table thread_look) those
 * that fell into a stall. It is all that is known of a loader in C++, whose threads record no span.
 *
 * Means over those looks, in threads. The trainer's own thread counts where it is the only one at work, and
 * polling a socket where nothing else is done. A recording is a stranger's file: threads beyond
 * PP_LOOKED_THREADS are left out, and letters that stand for nothing are threads that do nothing. */

struct pp_thread_work {
    double looks; /* in stalls; 0: nothing below is known */
    double computes, ready, reads, network;
    double locked;             /* waits for the lock of its Python's interpreter; none of those at work */
    double steps, step_locked; /* looks in steps; at how many the trainer waits for that lock */
    char names[96];            /* of those that work most, as the kernel has them; "": none does */
};

/* Threads at work: on a CPU, ready for one, in a read or on the network. */
static inline double pp_thread_work_all(const struct pp_thread_work *w)
{
    return w->computes + w->ready + w->reads + w->network;
}

#define PP_LEAST_LOOKS 20 /* in stalls: three standard errors tell a half from a fifth */
/* Of those that would compute: of two threads that hold it by turns one waits for it nearly all the time. */
#define PP_LOCKED_MUCH 0.3
#define PP_LOCKED_STEPS 0.15 /* of the time: what a fix has to gain */
/* Of the time: the trainer's steps wait for it. NAN: too few looks. */
static inline double pp_thread_steps_locked(const struct pp_thread_work *w)
{
    return w->steps >= PP_LEAST_LOOKS ? w->step_locked / (w->steps + w->looks) : NAN;
}

static inline double pp_thread_work_locked(const struct pp_thread_work *w)
{
    double all = w->locked + pp_thread_work_all(w);
    return all > 0 ? w->locked / all : 0;
}

pp_status pp_thread_work_read(const struct pp_source *source, const struct pp_timeline *tl,
                              struct pp_thread_work *out, struct pp_err *err);
