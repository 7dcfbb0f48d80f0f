/* Spans that begin and end in two calls, and laps that say beforehand what they are: what is open stands in
 * the ring's header, where a kill leaves it for the drain or the recovery. */
#include "probe/trace/record.h"
#include "probe/trace/run_delay.h"

static const struct pp_lap nothing = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};

static void push(struct pp_thread *t, uint64_t start, pp_phase phase, const struct pp_lap *lap)
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
            .stamp = pp_record_stamp_kind(t),
        };
    pp_record_set_open(t, t->open + 1);
}

void pp_span_begin(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    if (!pp_is_recording(t))
        return;
    if (t->resources && t->open < PP_OPEN_SPANS_MAX) {
        t->opened[t->open].run_delay_ns = 0;
        pp_run_delay_read(t->schedstat_fd, &t->opened[t->open].run_delay_ns);
        t->opened[t->open].cpu_ns = pp_thread_cpu_ns();
    }
    push(t, pp_stamp_now(t->tsc), phase, lap ? lap : &nothing);
}

static void measure(const struct pp_thread *t, uint32_t which, struct pp_span *s)
{
    uint64_t delay;
    s->cpu_ns = pp_thread_cpu_ns() - t->opened[which].cpu_ns;
    s->flags |= PP_SPAN_HAS_CPU;
    if (pp_run_delay_read(t->schedstat_fd, &delay)) {
        s->run_delay_ns = delay - t->opened[which].run_delay_ns;
        s->flags |= PP_SPAN_HAS_DELAY;
    }
}

void pp_span_end(struct pp_thread *t, uint64_t bytes, unsigned flags)
{
    if (!pp_is_recording(t) || !t->open)
        return;
    uint64_t now = pp_stamp_now(t->tsc);
    uint32_t which = t->open - 1;
    if (which >= PP_OPEN_SPANS_MAX) {
        __atomic_store_n(&t->ring->dropped, t->ring->dropped + 1,
                         __ATOMIC_RELAXED); /* this thread is its only writer */
        pp_record_set_open(t, which);
        return;
    }
    const struct pp_open_span *o = &t->ring->opened[which];
    struct pp_span *s = pp_record_slot(t);
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
        if (t->resources)
            measure(t, which, s);
        pp_record_ends_open(t, which);
        pp_record_publish(t);
    }
    pp_record_set_open(t, which);
}

void pp_lap_expect(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap)
{
    if (!pp_is_recording(t) || !t->stamp)
        return;
    pp_record_unexpect(t);
    push(t, t->stamp, phase, lap ? lap : &nothing);
    t->expected = t->open;
    pp_record_settle(t);
}
