/* report/measure/threads.h: what the job's native threads did while the trainer waited: of looks from outside
 * (table thread_look) those that fell into a stall. It is all that is known of a loader in C++, whose threads
 * record no span.
 *
 * Means over those looks, in threads. The trainer's own thread counts where it is the only one at work, and
 * polling a socket where nothing else is done. A recording is a stranger's file: threads beyond
 * PP_LOOKED_THREADS are left out, and letters that stand for nothing are threads that do nothing. */
#ifndef PP_REPORT_MEASURE_THREADS_H
#define PP_REPORT_MEASURE_THREADS_H

#include "report/measure/timeline.h"

struct pp_thread_work {
    double looks; /* in stalls; 0: nothing below is known */
    double computes, ready, reads, network;
    double locked;  /* waits for the lock of its Python's interpreter; none of those at work */
    char names[96]; /* of those that work most, as the kernel has them; "": none does */
};

/* Threads at work: on a CPU, ready for one, in a read or on the network. */
static inline double pp_thread_work_all(const struct pp_thread_work *w)
{
    return w->computes + w->ready + w->reads + w->network;
}

#define PP_LEAST_LOOKS 20 /* in stalls: three standard errors tell a half from a fifth */
/* Of those that would compute: of two threads that hold it by turns one waits for it, all the time but when
 * they change. */
#define PP_LOCKED_MUCH 0.3
static inline double pp_thread_work_locked(const struct pp_thread_work *w)
{
    double all = w->locked + pp_thread_work_all(w);
    return all > 0 ? w->locked / all : 0;
}

pp_status pp_thread_work_read(const struct pp_source *source, const struct pp_timeline *tl,
                              struct pp_thread_work *out, struct pp_err *err);

#endif
