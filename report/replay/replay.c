#include "report/replay/replay_impl.h"

#include "probe/base/err.h"

/* ---- copy lane, device decoder and trainer: batches get into device buffers, and a step on each ---- */

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

static int try_copy(struct sim *m)
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

/* One batch at a time, in the order of their copies, and none overtakes: one without samples for the decoder
 * waits its turn. Its slot is read until then, and a device sync waits for it. */
static int try_decode(struct sim *m)
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

/* A device sync ends when the copy that is on the link then, and the decode under way, have ended (what
 * begins meanwhile is not waited for), and takes its own time. */
static void begin_step_stage(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    struct pp_agents *a = &m->agents;
    double now = a->now, rate, meet;
    switch (m->trainer_stage) {
    case T_BLOCKED:
        pp_agents_sleep(&m->agents, m->trainer,
                        now + (now > m->wait_since ? s->trainer_wake_ns : 0) + s->step_ns);
        break;
    case T_CPU: /* who helps the trainer competes meanwhile, and the longer the less of a CPU each has */
        a->beside = s->step_threads;
        rate = pp_cpus_rate(&a->cpus, (double)a->n_running + 1 + a->beside);
        pp_agents_run(a, m->trainer, s->step_cpu_ns * fmax(pow(s->step_rate / rate, s->step_drag), 1));
        break;
    case T_SYNC: pp_agents_sleep(&m->agents, m->trainer, fmax(m->device_done, now) + s->sync_ns); break;
    case T_COLLECTIVE: /* the other ranks have done the step so long after the meeting before, at which this
                          one began to wait for its batch */
        meet = s->n_others ? m->wait_since + s->others_ns[m->stepped % s->n_others] * s->others_factor : 0;
        pp_agents_sleep(a, m->trainer, fmax(meet, now));
        break;
    default: pp_agents_sleep(&m->agents, m->trainer, now + s->epoch_gap_ns); break;
    }
}

static int try_step(struct sim *m)
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

static void step_on(struct sim *m)
{
    int stage = m->trainer_stage, next;
    m->agents.beside = 0;
    do
        next = ++m->trainer_stage;
    while ((next == T_SYNC && !m->s->sync) || (next == T_COLLECTIVE && !m->s->n_others) ||
           (next == T_EPOCH_GAP && !(m->epoch_batches && (m->stepped + 1) % m->epoch_batches == 0)));
    if (m->epoch_batches > 1 && stage < T_EPOCH_GAP && m->trainer_stage >= T_EPOCH_GAP) {
        /* the second halves of epochs, when the pipeline has filled */
        uint64_t of_epoch = m->stepped % m->epoch_batches + 1;
        if (of_epoch == m->epoch_batches / 2)
            m->settled_since = m->agents.now;
        m->settled_samples += of_epoch > m->epoch_batches / 2 ? m->stepping : 0;
        if (of_epoch == m->epoch_batches)
            m->settled_time += m->agents.now - m->settled_since;
    }
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

/* ---- all of them ---- */

static pp_status play(struct sim *m, struct pp_err *err)
{
    for (size_t w = 0; w < (size_t)m->s->workers; w++) {
        m->workers[w].parked = 1;
        if (!m->s->per_worker)
            line_join(&m->parked, w);
    }
    while (m->stepped < m->batches) {
        while (try_step(m) || try_decode(m) || try_copy(m) || pp_sim_try_work(m) || pp_sim_try_read(m)) {
        }
        int who = pp_agents_next(&m->agents);
        if (who < 0)
            return pp_fail(err, PP_E_SYSTEM, "replay: stuck after %llu of %llu batches",
                           (unsigned long long)m->stepped, (unsigned long long)m->batches);
        if (who == m->reader)
            pp_sim_reader_on(m);
        else if (who > m->decoder)
            pp_sim_read_on(m, who);
        else if (who == m->decoder) {
            m->decoding = 0;
            arrive(m, m->decoded);
        } else if (who == m->trainer)
            step_on(m);
        else if (who == m->copy && ++m->copy_stage < C_DONE)
            begin_copy_stage(m);
        else if (who == m->copy) {
            m->copy_stage = C_IDLE;
            m->copy_idle_since = m->agents.now;
            if (m->s->decoder_per_s > 0)
                line_join(&m->encoded, m->copied);
            else
                arrive(m, m->copied);
        } else
            pp_sim_work_on(m, who);
    }
    return PP_OK;
}

static int sim_init(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    struct pp_cpus cpus = {.ours = s->cpus,
                           .machine = s->machine_cpus,
                           .others = s->others,
                           .groups = s->groups,
                           .left = s->left};
    size_t workers = (size_t)s->workers;
    m->n_slots = workers * (size_t)s->prefetch + !s->per_worker;
    m->epoch_left = s->epoch_samples;
    m->epoch_batches = s->drains ? pp_replay_epoch_batches(s) : 0;
    m->copy = s->workers;
    m->trainer = s->workers + 1;
    m->decoder = s->workers + 2;
    m->reads_each = s->inflight > 1 && !s->stream_items ? (size_t)s->inflight : 0;
    m->ahead = m->reads_each ? calloc(workers * m->reads_each, sizeof(*m->ahead)) : NULL;
    m->workers = calloc(workers, sizeof(*m->workers));
    m->slots = calloc(m->n_slots, sizeof(*m->slots));
    m->finished = calloc(m->n_slots, sizeof(*m->finished));
    m->reader = m->decoder + 1 + (int)(workers * m->reads_each);
    int there = pp_agents_init(&m->agents, m->reader + 1, &cpus) && line_init(&m->parked, workers) &&
                line_init(&m->lock_line, workers) && line_init(&m->free_slots, m->n_slots) &&
                line_init(&m->ready, m->n_slots) && line_init(&m->encoded, (size_t)s->copy_buffers) &&
                line_init(&m->arrived, (size_t)s->copy_buffers) && line_init(&m->held, m->n_slots) &&
                line_init(&m->roomy, m->n_slots) && m->workers && m->slots && m->finished &&
                (m->ahead || !m->reads_each);
    for (size_t w = 0; there && s->per_worker && w < workers; w++)
        there = line_init(&m->workers[w].given, (size_t)s->prefetch);
    for (size_t i = 0; there && s->per_worker && i < m->n_slots; i++)
        line_join(&m->roomy, i % workers);
    for (size_t i = 0; there && i < m->n_slots; i++)
        line_join(&m->free_slots, i);
    return there;
}

pp_status pp_replay(const struct pp_replay_setup *setup, const struct pp_replay_sample *samples, size_t n,
                    uint64_t batches, struct pp_replay_result *out, struct pp_err *err)
{
    struct sim m = {.s = setup, .samples = samples, .n = n, .batches = batches};
    if (setup->workers < 1 || setup->prefetch < 1 || setup->copy_buffers < 1 || setup->batch_size < 1 ||
        !(setup->cpus > 0) || !(setup->machine_cpus >= setup->cpus) || !(setup->others >= 0) ||
        !(setup->groups >= 0) || n < 1 || batches < 4 || !(setup->decoder_per_s >= 0) ||
        !(setup->decoder_floor_ns >= 0) || (setup->per_worker && setup->stream_items))
        return pp_fail(
            err, PP_E_USAGE,
            "replay: workers, prefetch, copy buffers, batch size and CPUs must be positive, with samples and at least 4 batches");
    pp_status st = PP_OK;
    if (!sim_init(&m))
        st = pp_fail(err, PP_E_NO_MEMORY, "replay: no memory for %d workers", setup->workers);
    if (st == PP_OK)
        st = play(&m, err);
    if (st == PP_OK) {
        const struct pp_replay_setup *s = m.s;
        const struct pp_agents *a = &m.agents;
        double span = a->now - m.half_time;
        for (int w = 0; w < s->workers; w++)
            if (m.workers[w].parked)
                m.slot_waited += fmax(m.last_opened - m.workers[w].parked_at, 0);
        *out = (struct pp_replay_result){
            .samples_per_s = span > 0 ? (double)m.half_samples * 1e9 / span : INFINITY,
            .data_wait_share = span > 0 ? (m.waited - m.half_waited) / span : 0,
            .cpu_share = a->now > 0 ? a->cpu_used / (s->cpus * a->now) : 0,
            .slot_wait_share = a->now > 0 ? m.slot_waited / (s->workers * a->now) : 0,
            .service_rate = a->running_time > 0 ? a->cpu_used / a->running_time : 1,
            .reads_waiting = a->now > 0 ? m.read_waited / a->now : 0,
            .settled_per_s = m.settled_time > 0 ? (double)m.settled_samples * 1e9 / m.settled_time : 0,
            .first_wait_ns = m.n_first_waits ? m.first_waits / (double)m.n_first_waits : 0,
            .batches = m.batches,
        };
    }
    pp_agents_free(&m.agents);
    for (int w = 0; m.workers && w < setup->workers; w++)
        free(m.workers[w].given.at);
    free(m.workers);
    free(m.ahead);
    free(m.slots);
    free(m.finished);
    free(m.parked.at);
    free(m.lock_line.at);
    free(m.free_slots.at);
    free(m.ready.at);
    free(m.encoded.at);
    free(m.arrived.at);
    free(m.held.at);
    free(m.roomy.at);
    return st;
}
