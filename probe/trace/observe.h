/* trace/observe.h: phases that are recorded and can be observed while they happen: by our own NVTX ranges.
 *
 * pp_lap_end (pipeprobe.h) says what a phase was when it ends; an observer must hear of it when it begins. So
 * a phase of the loader has two calls: pp_phase_begin where it begins, which tells the observer and announces
 * it to the ring (pp_lap_expect), and pp_phase_end or pp_phase_skip where it ends, which are pp_lap_end and
 * pp_lap_skip, observed. The phase that counts is the one that the end names: what was waited for may only be
 * known then. A phase that begins while another is open closes that one. Recording may be off (a NULL
 * pp_thread): the observer hears all the same. Without an observer that costs one load and a test. */
#pragma once

#include <pipeprobe/pipeprobe.h>

struct pp_observer {
    void (*begin)(pp_phase phase,
                  uint32_t batch); /* on the thread that begins it; batch may be PP_NO_BATCH */
    void (*end)(void);             /* on the same thread; also when nothing is open */
};

/* For the process; set before its threads begin to record, NULL takes it away. The observer is borrowed. */
void pp_trace_set_observer(const struct pp_observer *o);

extern const struct pp_observer *pp_observer_now; /* atomic; only for what is below */

static inline const struct pp_observer *pp_observer_get(void)
{
    return __atomic_load_n(&pp_observer_now,
                           __ATOMIC_ACQUIRE); /* pairs with the release in pp_trace_set_observer */
}

/* Also announces the phase to the ring, so that a kill leaves it there as unfinished. t is the thread that
 * records the phase; NULL is fine. */
static inline void pp_phase_begin_sample(struct pp_thread *t, pp_phase phase, uint32_t batch, uint64_t sample)
{
    const struct pp_observer *o = pp_observer_get();
    pp_lap_expect(t, phase, &(struct pp_lap){.sample = sample, .batch = batch});
    if (__builtin_expect(o != NULL, 0))
        o->begin(phase, batch);
}

static inline void pp_phase_begin(struct pp_thread *t, pp_phase phase, uint32_t batch)
{
    pp_phase_begin_sample(t, phase, batch, PP_NO_SAMPLE);
}

static inline void pp_observer_end(void)
{
    const struct pp_observer *o = pp_observer_get();
    if (__builtin_expect(o != NULL, 0))
        o->end();
}

/* pp_lap_end and pp_lap_skip, observed. */
static inline void pp_phase_end(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    pp_observer_end();
    pp_lap_end(t, phase, lap);
}

static inline void pp_phase_skip(struct pp_thread *t)
{
    pp_observer_end();
    pp_lap_skip(t);
}
