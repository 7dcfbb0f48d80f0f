/* loader/fallback.h: the device that batches go to, and what takes its place when it fails in the middle of a
 * run that is to go on all the same (--decode auto).
 *
 * A device that is lost copies nothing, decodes nothing and runs no steps. From then on images are decoded on
 * the CPU, batches stay in host memory (the host device times their copies on its simulated link), and a step
 * of the device is a sleep of the same length. Memory of the lost device that is the host's, as batch slots
 * are, stays valid until the device is closed. */
#ifndef PP_LOADER_FALLBACK_H
#define PP_LOADER_FALLBACK_H

#include <pipeprobe/status.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct pp_device;
struct pp_loader;

struct pp_fallback {
    struct pp_device *host; /* opened before the threads start; NULL: a failure of the device ends the run */
    pthread_mutex_t lock;
    atomic_int taken; /* relaxed: it orders nothing, host was there before */
    /* Of the first failure; guarded by lock until the threads have been joined */
    char reason[480];
    uint64_t taken_ns; /* 0: the device never failed */
};

/* For a loader whose device decodes and need not; else there is none. */
pp_status pp_fallback_init(struct pp_loader *l, struct pp_err *err);
void pp_fallback_free(struct pp_loader *l);

/* Any thread: where copies and synchronisation go now. */
struct pp_device *pp_fallback_device(const struct pp_loader *l);
static inline int pp_fallback_is_taken(const struct pp_fallback *f)
{
    return atomic_load_explicit(&((struct pp_fallback *)f)->taken, memory_order_relaxed);
}
/* Copy lane, trainer: the device failed, and err says at what. 1: the run goes on without it, as is said once
 * by the event note; what failed is to be done again. 0: err is the run's. */
int pp_fallback_take(struct pp_loader *l, const struct pp_err *err);

#endif
