#include "report/replay.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>

/* Something that takes time: blocked until a known moment, or holding a demand for CPU that is served at a rate depending on who else runs. */
enum activity { IDLE, BLOCKED, RUNNING };

struct agent {
    enum activity activity;
    double until;     /* BLOCKED: when it ends */
    double demand;    /* RUNNING: CPU ns still needed */
    double asked;     /* when it asked for the lock; of the copy lane, when it had nothing to do */
    int stage;        /* which part of its job it is in */
    uint64_t batch;   /* job */
    size_t sample;
};

/* Stages of a worker, in order; each is either blocked or CPU time and may be of length 0. */
enum { W_READ_LATENCY, W_READ_LINK, W_READ_CPU, W_SERIAL, W_WORK_BLOCKED, W_WORK_CPU, W_COLLATE, W_DONE };
enum { C_LINK, C_CPU, C_DONE };
enum { T_BLOCKED, T_CPU, T_SYNC, T_DONE };

struct batch_state {
    uint64_t number;
    uint32_t claimed, unfinished;
    int finished;
};

struct sim {
    const struct pp_replay_setup *s;
    const struct pp_replay_sample *samples;
    size_t n;
    uint64_t batches;

    double now;
    struct agent *agents; /* workers, then copy lane, then trainer */
    int n_agents, copy, trainer;
    struct batch_state *slots; /* by batch % n_slots while in flight */
    size_t n_slots, slots_used;
    uint64_t next_open, next_sample, next_copy;
    uint64_t *done_queue; /* out of order: finished batches in order of finishing */
    uint64_t done_head, done_tail;
    int buffers_used;
    uint64_t arrived, stepped;
    int open; /* slot index + 1 of the batch being claimed, 0: none */
    int lock_holder; /* agent + 1 */
    double storage_free; /* when the link has moved what was asked of it so far */

    double wait_since, waited, half_time, half_waited;
    double cpu_used, slot_waited;
    double running_time; /* of all: time holding a demand for CPU */
};

static void start_cpu(struct agent *a, double ns)
{
    a->activity = RUNNING;
    a->demand = ns;
}

static void start_blocked(struct agent *a, double until)
{
    a->activity = BLOCKED;
    a->until = until;
}

/* ---- workers --------------------------------------------------------------------------------------------------------------- */

static struct batch_state *slot_of(struct sim *m, uint64_t batch)
{
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->slots[i].number == batch)
            return &m->slots[i];
    return NULL;
}

static int open_batch(struct sim *m)
{
    if (m->next_open == m->batches || m->slots_used == m->n_slots)
        return 0;
    struct batch_state *b = slot_of(m, UINT64_MAX);
    *b = (struct batch_state){.number = m->next_open++, .unfinished = (uint32_t)m->s->batch_size};
    m->slots_used++;
    m->open = (int)(b - m->slots) + 1;
    return 1;
}

/* When storage takes a request that is made now: behind the outage that now lies in. */
static double storage_begins(const struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    if (!s->n_outages)
        return m->now;
    double at = fmod(m->now, s->outage_period_ns);
    size_t low = 0, high = s->n_outages; /* the first that ends after `at` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->outages[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_outages && s->outages[low].start <= at ? m->now + s->outages[low].end - at : m->now;
}

static double link_done(struct sim *m, const struct pp_replay_sample *x)
{
    if (!(m->s->storage_bytes_per_s > 0) || !x->bytes)
        return m->now;
    return m->storage_free = fmax(m->storage_free, m->now) + (double)x->bytes / m->s->storage_bytes_per_s * 1e9;
}

/* Begins the stage that the worker stands in. 0: it has to wait for the lock. */
static int begin_stage(struct sim *m, int w)
{
    struct agent *a = &m->agents[w];
    const struct pp_replay_sample *x = &m->samples[a->sample];
    switch (a->stage) {
    case W_READ_LATENCY: start_blocked(a, (x->bytes ? storage_begins(m) : m->now) + x->read_blocked); return 1;
    case W_READ_LINK: start_blocked(a, link_done(m, x)); return 1;
    case W_READ_CPU: start_cpu(a, x->read_cpu); return 1;
    case W_SERIAL:
        if (x->serial_cpu > 0 && m->lock_holder) {
            a->asked = a->activity == IDLE ? a->asked : m->now;
            a->activity = IDLE;
            return 0;
        }
        m->lock_holder = x->serial_cpu > 0 ? w + 1 : m->lock_holder;
        start_cpu(a, x->serial_cpu);
        return 1;
    case W_WORK_BLOCKED: start_blocked(a, m->now + x->work_blocked); return 1;
    case W_WORK_CPU: start_cpu(a, x->work_cpu); return 1;
    default: start_cpu(a, m->s->collate_cpu_ns); return 1;
    }
}

static void claim(struct sim *m, int w)
{
    struct agent *a = &m->agents[w];
    a->activity = IDLE;
    a->stage = W_DONE;
    if (!m->open && !open_batch(m))
        return;
    struct batch_state *b = &m->slots[m->open - 1];
    a->batch = b->number;
    a->sample = m->next_sample++ % m->n;
    a->stage = W_READ_LATENCY;
    if (++b->claimed == m->s->batch_size)
        m->open = 0;
    begin_stage(m, w);
}

static void finish_batch(struct sim *m, uint64_t number)
{
    slot_of(m, number)->finished = 1;
    if (!m->s->in_order)
        m->done_queue[m->done_tail++ % m->n_slots] = number;
}

static void end_worker_stage(struct sim *m, int w)
{
    struct agent *a = &m->agents[w];
    if (a->stage == W_SERIAL && m->lock_holder == w + 1)
        m->lock_holder = 0;
    if (a->stage == W_COLLATE)
        finish_batch(m, a->batch);
    a->stage++;
    if (a->stage == W_COLLATE && --slot_of(m, a->batch)->unfinished > 0)
        a->stage = W_DONE;
    if (a->stage == W_DONE)
        claim(m, w);
    else
        begin_stage(m, w);
}

/* ---- copy lane and trainer ------------------------------------------------------------------------------------------------ */

static int next_ready(struct sim *m, uint64_t *number)
{
    if (!m->s->in_order) {
        *number = m->done_queue[m->done_head % m->n_slots];
        return m->done_head < m->done_tail;
    }
    struct batch_state *b = slot_of(m, m->next_copy);
    *number = m->next_copy;
    return b && b->finished;
}

static void try_copy(struct sim *m)
{
    struct agent *c = &m->agents[m->copy];
    uint64_t number;
    if (c->activity != IDLE || m->buffers_used == m->s->copy_buffers || !next_ready(m, &number))
        return;
    m->done_head += !m->s->in_order;
    m->next_copy++;
    m->buffers_used++;
    c->batch = number;
    c->stage = C_LINK;
    start_blocked(c, m->now + (m->now > c->asked ? m->s->copy_wake_ns : 0) + m->s->copy_ns);
}

static void end_copy_stage(struct sim *m)
{
    struct agent *c = &m->agents[m->copy];
    if (++c->stage == C_CPU) {
        start_cpu(c, m->s->copy_cpu_ns);
        return;
    }
    c->activity = IDLE;
    c->asked = m->now;
    slot_of(m, c->batch)->number = UINT64_MAX;
    m->slots_used--;
    m->arrived++;
}

static void try_step(struct sim *m)
{
    struct agent *t = &m->agents[m->trainer];
    if (t->activity != IDLE || m->arrived == m->stepped)
        return;
    m->waited += m->now - m->wait_since;
    t->stage = T_BLOCKED;
    start_blocked(t, m->now + (m->now > m->wait_since ? m->s->trainer_wake_ns : 0) + m->s->step_ns);
}

/* A device sync ends when the copy under way has ended (a batch whose turn comes meanwhile is not waited for), and takes its own time. */
static double sync_done(const struct sim *m)
{
    const struct agent *c = &m->agents[m->copy];
    return (c->activity == BLOCKED ? fmax(c->until, m->now) : m->now) + m->s->sync_ns;
}

static void end_step_stage(struct sim *m)
{
    struct agent *t = &m->agents[m->trainer];
    t->stage += t->stage == T_CPU && !m->s->sync ? 2 : 1;
    if (t->stage == T_CPU) {
        start_cpu(t, m->s->step_cpu_ns);
        return;
    }
    if (t->stage == T_SYNC) {
        start_blocked(t, sync_done(m));
        return;
    }
    t->activity = IDLE;
    m->wait_since = m->now;
    m->buffers_used--;
    if (++m->stepped == m->batches / 2) {
        m->half_time = m->now;
        m->half_waited = m->waited;
    }
}

/* ---- the engine ------------------------------------------------------------------------------------------------------------ */

static void advance(struct sim *m, double dt, double rate)
{
    m->now += dt;
    for (int i = 0; i < m->n_agents; i++) {
        struct agent *a = &m->agents[i];
        if (a->activity == RUNNING) {
            a->demand -= dt * rate;
            m->cpu_used += dt * rate;
            m->running_time += dt;
        } else if (i < m->copy && a->stage == W_DONE && m->slots_used == m->n_slots) {
            m->slot_waited += dt;
        }
    }
}

/* Of each of n runnable threads. */
static double service_rate(const struct pp_replay_setup *s, int n)
{
    return fmin(fmin(1, s->cpus / n), s->machine_cpus / (n * (1 + s->groups) + s->others));
}

/* Time to the next thing that ends, and the rate at which runnable agents advance until then. -1: nothing is under way. */
static double next_event(const struct sim *m, double *rate)
{
    int running = 0;
    double dt = INFINITY, least = INFINITY;
    for (int i = 0; i < m->n_agents; i++) {
        const struct agent *a = &m->agents[i];
        if (a->activity == BLOCKED)
            dt = fmin(dt, a->until - m->now);
        if (a->activity == RUNNING) {
            running++;
            least = fmin(least, a->demand);
        }
    }
    *rate = running ? service_rate(m->s, running) : 1;
    if (running)
        dt = fmin(dt, least / *rate);
    return isinf(dt) ? -1 : fmax(dt, 0);
}

static int ended(const struct sim *m, const struct agent *a)
{
    const double eps = 1e-3; /* ns; absorbs rounding of the shares */
    return (a->activity == BLOCKED && a->until <= m->now + eps) || (a->activity == RUNNING && a->demand <= eps);
}

/* The lock goes to whoever asked first. */
static int grant_lock(struct sim *m)
{
    int first = -1;
    for (int w = 0; w < m->copy; w++)
        if (m->agents[w].activity == IDLE && m->agents[w].stage == W_SERIAL && (first < 0 || m->agents[w].asked < m->agents[first].asked))
            first = w;
    return first >= 0 && !m->lock_holder && begin_stage(m, first);
}

/* Ends everything that is due, and starts what that makes possible, until nothing more happens at this moment. */
static void settle(struct sim *m)
{
    int changed = 1;
    while (changed) {
        changed = 0;
        for (int i = 0; i < m->n_agents; i++) {
            struct agent *a = &m->agents[i];
            if (ended(m, a)) {
                changed = 1;
                if (i < m->copy)
                    end_worker_stage(m, i);
                else if (i == m->copy)
                    end_copy_stage(m);
                else
                    end_step_stage(m);
            }
        }
        try_copy(m);
        try_step(m);
        for (int w = 0; w < m->copy; w++) {
            struct agent *a = &m->agents[w];
            if (a->activity != IDLE)
                continue;
            if (a->stage != W_SERIAL && (m->open || (m->next_open < m->batches && m->slots_used < m->n_slots)))
                claim(m, w), changed = 1;
        }
        changed |= grant_lock(m);
    }
}

static pp_status check(const struct pp_replay_setup *s, size_t n, uint64_t batches, struct pp_err *err)
{
    if (s->workers < 1 || s->prefetch < 1 || s->copy_buffers < 1 || s->batch_size < 1 || !(s->cpus > 0) || !(s->machine_cpus >= s->cpus) || !(s->others >= 0) || !(s->groups >= 0) || n < 1 || batches < 4)
        return pp_fail(err, PP_E_USAGE, "replay: workers, prefetch, copy buffers, batch size and CPUs must be positive, and there must be samples and at least 4 batches");
    return PP_OK;
}

pp_status pp_replay(const struct pp_replay_setup *setup, const struct pp_replay_sample *samples, size_t n, uint64_t batches,
                    struct pp_replay_result *out, struct pp_err *err)
{
    pp_status st = check(setup, n, batches, err);
    if (st != PP_OK)
        return st;
    struct sim m = {.s = setup, .samples = samples, .n = n, .batches = batches, .n_slots = (size_t)setup->workers * (size_t)setup->prefetch + 1,
                    .copy = setup->workers, .trainer = setup->workers + 1, .n_agents = setup->workers + 2};
    m.agents = calloc((size_t)m.n_agents, sizeof(*m.agents));
    m.slots = calloc(m.n_slots, sizeof(*m.slots));
    m.done_queue = calloc(m.n_slots, sizeof(*m.done_queue));
    if (!m.agents || !m.slots || !m.done_queue) {
        st = pp_fail(err, PP_E_NO_MEMORY, "replay: no memory for %d workers", setup->workers);
        goto out;
    }
    for (size_t i = 0; i < m.n_slots; i++)
        m.slots[i].number = UINT64_MAX;
    for (int w = 0; w < m.copy; w++)
        m.agents[w].stage = W_DONE;
    settle(&m);
    while (m.stepped < batches) {
        double rate, dt = next_event(&m, &rate);
        if (dt < 0) {
            st = pp_fail(err, PP_E_SYSTEM, "replay: stuck after %llu of %llu batches", (unsigned long long)m.stepped, (unsigned long long)batches);
            goto out;
        }
        advance(&m, dt, rate);
        settle(&m);
    }
    double span = m.now - m.half_time;
    *out = (struct pp_replay_result){
        .samples_per_s = span > 0 ? (double)(batches - batches / 2) * (double)setup->batch_size * 1e9 / span : INFINITY,
        .data_wait_share = span > 0 ? (m.waited - m.half_waited) / span : 0,
        .cpu_share = m.now > 0 ? m.cpu_used / (setup->cpus * m.now) : 0,
        .slot_wait_share = m.now > 0 ? m.slot_waited / (setup->workers * m.now) : 0,
        .service_rate = m.running_time > 0 ? m.cpu_used / m.running_time : 1,
        .batches = batches,
    };
out:
    free(m.done_queue);
    free(m.slots);
    free(m.agents);
    return st;
}
