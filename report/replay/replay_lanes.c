/* The copy lane and the trainer of a replay: finished batches over the link into device buffers, and a step
 * on each. */
#include "report/replay/replay_impl.h"

#include <math.h>

enum { C_IDLE, C_WAKE, C_CPU, C_LINK, C_LINK_WAKE, C_DONE };
enum { T_WAITING, T_BLOCKED, T_CPU, T_SYNC, T_COLLECTIVE, T_DONE };

/* Staged on the CPU first, then on the link. */
static void begin_copy_stage(struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now;
    switch (m->copy_stage) {
    case C_WAKE:
        pp_agents_sleep(&m->agents, m->copy, now > m->copy_idle_since ? now + s->copy_wake_ns : now);
        break;
    case C_CPU: pp_agents_run(&m->agents, m->copy, s->copy_cpu_ns); break;
    case C_LINK: pp_agents_sleep(&m->agents, m->copy, m->copy_link_done = now + s->copy_ns); break;
    default: pp_agents_sleep(&m->agents, m->copy, now + s->copy_link_wake_ns); break;
    }
}

int pp_replay_try_copy(struct pp_sim *m)
{
    if (m->copy_stage != C_IDLE || m->buffers_used == m->s->copy_buffers || !m->ready.n)
        return 0;
    m->copied = pp_line_leave(&m->ready);
    m->buffers_used++;
    m->copy_stage = C_WAKE;
    begin_copy_stage(m);
    return 1;
}

void pp_replay_copy_on(struct pp_sim *m)
{
    if (++m->copy_stage < C_DONE) {
        begin_copy_stage(m);
        return;
    }
    m->copy_stage = C_IDLE;
    m->copy_idle_since = m->agents.now;
    pp_line_join(&m->arrived, m->slots[m->copied].samples);
    pp_line_join(&m->free_slots, m->copied);
}

/* When the other ranks have done the step too: so long after the meeting before, at which this one began to
 * wait for its batch. */
static double ranks_meet(const struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    return s->n_others ? m->wait_since + s->others_ns[m->stepped % s->n_others] * s->others_factor : 0;
}

/* A device sync ends when the copy that is on the link then has ended (one that begins meanwhile is not
 * waited for), and takes its own time. */
static void begin_step_stage(struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now;
    switch (m->trainer_stage) {
    case T_BLOCKED:
        pp_agents_sleep(&m->agents, m->trainer,
                        now + (now > m->wait_since ? s->trainer_wake_ns : 0) + s->step_ns);
        break;
    case T_CPU: pp_agents_run(&m->agents, m->trainer, s->step_cpu_ns); break;
    case T_SYNC: pp_agents_sleep(&m->agents, m->trainer, fmax(m->copy_link_done, now) + s->sync_ns); break;
    default: pp_agents_sleep(&m->agents, m->trainer, fmax(ranks_meet(m), now)); break;
    }
}

int pp_replay_try_step(struct pp_sim *m)
{
    if (m->trainer_stage != T_WAITING || !m->arrived.n)
        return 0;
    m->stepping = pp_line_leave(&m->arrived);
    m->waited += m->agents.now - m->wait_since;
    m->trainer_stage = T_BLOCKED;
    begin_step_stage(m);
    return 1;
}

void pp_replay_step_on(struct pp_sim *m)
{
    m->trainer_stage += m->trainer_stage == T_CPU && !m->s->sync ? 2 : 1;
    m->trainer_stage += m->trainer_stage == T_COLLECTIVE && !m->s->n_others;
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
