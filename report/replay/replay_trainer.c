/* Copy lane, device decoder and trainer in a replay: finished batches over the link into device buffers, and
 * a step on each. */
#include "report/replay/replay_impl.h"

#include <math.h>

enum { C_IDLE, C_WAKE, C_CPU, C_LINK, C_LINK_WAKE, C_DONE };

/* Staged on the CPU first, then on the link. */
static void begin_copy_stage(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now;
    switch (m->copy_stage) {
    case C_WAKE:
        pp_agents_sleep(&m->agents, m->copy, now > m->copy_idle_since ? now + s->copy_wake_ns : now);
        break;
    case C_CPU: pp_agents_run(&m->agents, m->copy, s->copy_cpu_ns); break;
    case C_LINK:
        m->device_done = fmax(m->device_done, now + s->copy_ns);
        pp_agents_sleep(&m->agents, m->copy, now + s->copy_ns);
        break;
    default: pp_agents_sleep(&m->agents, m->copy, now + s->copy_link_wake_ns); break;
    }
}

int pp_sim_try_copy(struct sim *m)
{
    if (m->copy_stage != C_IDLE || m->buffers_used == m->s->copy_buffers || !m->ready.n)
        return 0;
    m->copied = line_leave(&m->ready);
    m->buffers_used++;
    m->copy_stage = C_WAKE;
    begin_copy_stage(m);
    return 1;
}

static void arrive(struct sim *m, size_t slot)
{
    line_join(&m->arrived, m->slots[slot].samples);
    line_join(m->s->per_worker ? &m->held : &m->free_slots, slot);
}

void pp_sim_copy_on(struct sim *m)
{
    if (++m->copy_stage < C_DONE) {
        begin_copy_stage(m);
        return;
    }
    m->copy_stage = C_IDLE;
    m->copy_idle_since = m->agents.now;
    if (m->s->decoder_per_s > 0)
        line_join(&m->encoded, m->copied);
    else
        arrive(m, m->copied);
}

/* One batch at a time, in the order of their copies, and none overtakes: one without samples for the decoder
 * waits its turn. Its slot is read until then, and a device sync waits for it. */
int pp_sim_try_decode(struct sim *m)
{
    if (m->decoding || !m->encoded.n)
        return 0;
    m->decoded = line_leave(&m->encoded);
    m->decoding = 1;
    double images = (double)m->slots[m->decoded].on_device,
           ns = images > 0 ? fmax(images * 1e9 / m->s->decoder_per_s, m->s->decoder_floor_ns) : 0;
    m->device_done = fmax(m->device_done, m->agents.now + ns);
    pp_agents_sleep(&m->agents, m->decoder, m->agents.now + ns);
    return 1;
}

void pp_sim_decode_on(struct sim *m)
{
    m->decoding = 0;
    arrive(m, m->decoded);
}

/* When the other ranks have done the step too: so long after the meeting before, at which this one began to
 * wait for its batch. */
static double ranks_meet(const struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    return s->n_others ? m->wait_since + s->others_ns[m->stepped % s->n_others] * s->others_factor : 0;
}

/* Who helps the trainer competes while it computes, and the longer the less of a CPU each has. */
static void compute(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    struct pp_agents *a = &m->agents;
    a->beside = s->step_threads;
    double rate = pp_cpus_rate(&a->cpus, (double)a->n_running + 1 + a->beside);
    pp_agents_run(a, m->trainer, s->step_cpu_ns * fmax(pow(s->step_rate / rate, s->step_drag), 1));
}

/* A device sync ends when the copy that is on the link then, and the decode under way, have ended (what
 * begins meanwhile is not waited for), and takes its own time. */
static void begin_step_stage(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now;
    switch (m->trainer_stage) {
    case T_BLOCKED:
        pp_agents_sleep(&m->agents, m->trainer,
                        now + (now > m->wait_since ? s->trainer_wake_ns : 0) + s->step_ns);
        break;
    case T_CPU: compute(m); break;
    case T_SYNC: pp_agents_sleep(&m->agents, m->trainer, fmax(m->device_done, now) + s->sync_ns); break;
    case T_COLLECTIVE: pp_agents_sleep(&m->agents, m->trainer, fmax(ranks_meet(m), now)); break;
    default: pp_agents_sleep(&m->agents, m->trainer, now + s->epoch_gap_ns); break;
    }
}

int pp_sim_try_step(struct sim *m)
{
    if (m->trainer_stage != T_WAITING || !m->arrived.n)
        return 0;
    m->stepping = line_leave(&m->arrived);
    if (m->s->per_worker) {
        size_t slot = line_leave(&m->held);
        line_join(&m->free_slots, slot);
        if (!m->s->in_order)
            line_join(&m->roomy, m->slots[slot].worker);
    }
    if (m->epoch_batches && m->stepped && m->stepped % m->epoch_batches == 0) {
        m->first_waits += m->agents.now - m->wait_since;
        m->n_first_waits++;
    }
    m->waited += m->agents.now - m->wait_since;
    m->trainer_stage = T_BLOCKED;
    begin_step_stage(m);
    return 1;
}

static int has_stage(const struct sim *m, int stage)
{
    switch (stage) {
    case T_SYNC: return m->s->sync;
    case T_COLLECTIVE: return m->s->n_others > 0;
    case T_EPOCH_GAP: return m->epoch_batches && (m->stepped + 1) % m->epoch_batches == 0;
    default: return 1;
    }
}

/* The second halves of epochs, when the pipeline has filled. */
static void note_settled(struct sim *m)
{
    uint64_t of_epoch = m->stepped % m->epoch_batches + 1;
    if (m->epoch_batches < 2)
        return;
    if (of_epoch == m->epoch_batches / 2)
        m->settled_since = m->agents.now;
    if (of_epoch <= m->epoch_batches / 2)
        return;
    m->settled_samples += m->stepping;
    if (of_epoch == m->epoch_batches)
        m->settled_time += m->agents.now - m->settled_since;
}

void pp_sim_step_on(struct sim *m)
{
    int stage = m->trainer_stage;
    m->agents.beside = 0;
    while (!has_stage(m, ++m->trainer_stage)) {
    }
    if (m->epoch_batches && stage < T_EPOCH_GAP && m->trainer_stage >= T_EPOCH_GAP)
        note_settled(m);
    if (m->trainer_stage < T_DONE) {
        begin_step_stage(m);
        return;
    }
    m->trainer_stage = T_WAITING;
    m->wait_since = m->agents.now;
    m->buffers_used--;
    m->half_samples += m->stepped >= m->batches / 2 ? m->stepping : 0;
    if (++m->stepped == m->batches / 2) {
        m->half_time = m->agents.now;
        m->half_waited = m->waited;
    }
}
