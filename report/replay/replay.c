#include "report/replay/replay_impl.h"

#include "probe/base/err.h"

#include <math.h>

static pp_status play(struct sim *m, struct pp_err *err)
{
    for (size_t w = 0; w < (size_t)m->s->workers; w++) {
        m->workers[w].parked = 1;
        if (!m->s->per_worker)
            line_join(&m->parked, w);
    }
    while (m->stepped < m->batches) {
        while (pp_sim_try_step(m) || pp_sim_try_decode(m) || pp_sim_try_copy(m) || pp_sim_try_work(m) ||
               pp_sim_try_read(m)) {
        }
        int who = pp_agents_next(&m->agents);
        if (who < 0)
            return pp_fail(err, PP_E_SYSTEM, "replay: stuck after %llu of %llu batches",
                           (unsigned long long)m->stepped, (unsigned long long)m->batches);
        if (who == m->reader)
            pp_sim_reader_on(m);
        else if (who > m->decoder)
            pp_sim_read_on(m, who);
        else if (who == m->decoder)
            pp_sim_decode_on(m);
        else if (who == m->trainer)
            pp_sim_step_on(m);
        else if (who == m->copy)
            pp_sim_copy_on(m);
        else
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

static void sim_free(struct sim *m)
{
    pp_agents_free(&m->agents);
    for (int w = 0; m->workers && w < m->s->workers; w++)
        free(m->workers[w].given.at);
    free(m->workers);
    free(m->ahead);
    free(m->slots);
    free(m->finished);
    free(m->parked.at);
    free(m->lock_line.at);
    free(m->free_slots.at);
    free(m->ready.at);
    free(m->encoded.at);
    free(m->arrived.at);
    free(m->held.at);
    free(m->roomy.at);
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
    sim_free(&m);
    return st;
}
