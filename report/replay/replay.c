#include "report/replay/replay_impl.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>

static int line_init(struct pp_line *q, size_t room)
{
    *q = (struct pp_line){.at = calloc(room, sizeof(*q->at)), .room = room};
    return q->at != NULL;
}

void pp_line_join(struct pp_line *q, size_t item)
{
    q->at[(q->head + q->n++) % q->room] = item;
}

size_t pp_line_leave(struct pp_line *q)
{
    size_t item = q->at[q->head];
    q->head = (q->head + 1) % q->room;
    q->n--;
    return item;
}

static void end_of(struct pp_sim *m, int who)
{
    if (who == m->trainer)
        pp_replay_step_on(m);
    else if (who == m->copy)
        pp_replay_copy_on(m);
    else
        pp_replay_work_on(m, who);
}

static pp_status play(struct pp_sim *m, struct pp_err *err)
{
    for (size_t w = 0; w < (size_t)m->s->workers; w++)
        pp_line_join(&m->parked, w);
    while (m->stepped < m->batches) {
        while (pp_replay_try_step(m) || pp_replay_try_copy(m) || pp_replay_try_work(m)) {
        }
        int who = pp_agents_next(&m->agents);
        if (who < 0)
            return pp_fail(err, PP_E_SYSTEM, "replay: stuck after %llu of %llu batches",
                           (unsigned long long)m->stepped, (unsigned long long)m->batches);
        end_of(m, who);
    }
    return PP_OK;
}

static struct pp_replay_result result_of(struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    const struct pp_agents *a = &m->agents;
    double span = a->now - m->half_time;
    while (m->parked.n)
        m->slot_waited += fmax(m->last_opened - m->workers[pp_line_leave(&m->parked)].parked_at, 0);
    return (struct pp_replay_result){
        .samples_per_s = span > 0 ? (double)m->half_samples * 1e9 / span : INFINITY,
        .data_wait_share = span > 0 ? (m->waited - m->half_waited) / span : 0,
        .cpu_share = a->now > 0 ? a->cpu_used / (s->cpus * a->now) : 0,
        .slot_wait_share = a->now > 0 ? m->slot_waited / (s->workers * a->now) : 0,
        .service_rate = a->running_time > 0 ? a->cpu_used / a->running_time : 1,
        .reads_waiting = a->now > 0 ? m->read_waited / a->now : 0,
        .batches = m->batches,
    };
}

static int sim_init(struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    struct pp_cpus cpus = {.ours = s->cpus,
                           .machine = s->machine_cpus,
                           .others = s->others,
                           .groups = s->groups};
    size_t workers = (size_t)s->workers;
    m->n_slots = workers * (size_t)s->prefetch + 1;
    m->epoch_left = s->epoch_samples;
    m->copy = s->workers;
    m->trainer = s->workers + 1;
    m->workers = calloc(workers, sizeof(*m->workers));
    m->slots = calloc(m->n_slots, sizeof(*m->slots));
    m->finished = calloc(m->n_slots, sizeof(*m->finished));
    int there = pp_agents_init(&m->agents, s->workers + 2, &cpus) && line_init(&m->parked, workers) &&
                line_init(&m->lock_line, workers) && line_init(&m->free_slots, m->n_slots) &&
                line_init(&m->ready, m->n_slots) && line_init(&m->arrived, (size_t)s->copy_buffers) &&
                m->workers && m->slots && m->finished;
    for (size_t i = 0; there && i < m->n_slots; i++)
        pp_line_join(&m->free_slots, i);
    return there;
}

static void sim_free(struct pp_sim *m)
{
    pp_agents_free(&m->agents);
    free(m->workers);
    free(m->slots);
    free(m->finished);
    free(m->parked.at);
    free(m->lock_line.at);
    free(m->free_slots.at);
    free(m->ready.at);
    free(m->arrived.at);
}

static pp_status check(const struct pp_replay_setup *s, size_t n, uint64_t batches, struct pp_err *err)
{
    if (s->workers < 1 || s->prefetch < 1 || s->copy_buffers < 1 || s->batch_size < 1 || !(s->cpus > 0) ||
        !(s->machine_cpus >= s->cpus) || !(s->others >= 0) || !(s->groups >= 0) || n < 1 || batches < 4)
        return pp_fail(
            err, PP_E_USAGE,
            "replay: workers, prefetch, copy buffers, batch size and CPUs must be positive, and there must be samples and at least 4 batches");
    return PP_OK;
}

pp_status pp_replay(const struct pp_replay_setup *setup, const struct pp_replay_sample *samples, size_t n,
                    uint64_t batches, struct pp_replay_result *out, struct pp_err *err)
{
    struct pp_sim m = {.s = setup, .samples = samples, .n = n, .batches = batches};
    pp_status st = check(setup, n, batches, err);
    if (st != PP_OK)
        return st;
    if (!sim_init(&m))
        st = pp_fail(err, PP_E_NO_MEMORY, "replay: no memory for %d workers", setup->workers);
    if (st == PP_OK)
        st = play(&m, err);
    if (st == PP_OK)
        *out = result_of(&m);
    sim_free(&m);
    return st;
}
