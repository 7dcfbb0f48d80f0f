/* The workers of a replay: samples through storage, CPUs and the lock into batches, and batches in their
 * order. */
#include "report/replay/replay_impl.h"

#include <math.h>

/* Stages of a worker, in order; each is either blocked or CPU time and may be of length 0. */
enum {
    W_NO_SAMPLE,
    W_START_AGAIN,
    W_READ_LATENCY,
    W_READ_LINK,
    W_READ_CPU,
    W_SERIAL,
    W_WORK_BLOCKED,
    W_WORK_CPU,
    W_COLLATE
};

static int open_batch(struct pp_sim *m)
{
    if (m->next_open == m->batches || !m->free_slots.n)
        return 0;
    size_t slot = pp_line_leave(&m->free_slots);
    uint64_t samples = m->s->batch_size;
    if (m->s->epoch_samples) {
        if (!m->epoch_left) {
            m->epoch++;
            m->epoch_left = m->s->epoch_samples;
        }
        samples = samples < m->epoch_left ? samples : m->epoch_left;
        m->epoch_left -= samples;
    }
    m->slots[slot] = (struct pp_replay_slot){.batch = m->next_open++,
                                             .epoch = m->epoch,
                                             .samples = samples,
                                             .unfinished = samples};
    m->last_opened = m->agents.now;
    m->open = slot + 1;
    return 1;
}

/* When storage takes a request that is made now: behind the outage that now lies in. */
static double storage_begins(const struct pp_sim *m)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now;
    if (!s->n_outages)
        return now;
    double at = fmod(now, s->outage_period_ns);
    size_t low = 0, high = s->n_outages; /* the first that ends after `at` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->outages[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_outages && s->outages[low].start <= at ? now + s->outages[low].end - at : now;
}

/* When the link that all reads share has done this one: its own part of the link's time, behind what was
 * asked before. */
static double link_done(struct pp_sim *m, const struct pp_replay_sample *x)
{
    double bytes_per_s = m->s->storage_bytes_per_s, reads_per_s = m->s->storage_reads_per_s;
    double ns = (bytes_per_s > 0 ? x->bytes / bytes_per_s * 1e9 : 0) +
                (reads_per_s > 0 ? 1e9 / reads_per_s : 0);
    if (!(ns > 0) || !x->bytes)
        return m->agents.now;
    return m->storage_free = fmax(m->storage_free, m->agents.now) + ns;
}

static int sleep_until(struct pp_sim *m, int w, double until)
{
    if (until <= m->agents.now)
        return 0;
    pp_agents_sleep(&m->agents, w, until);
    return 1;
}

static int run_for(struct pp_sim *m, int w, double cpu_ns)
{
    if (!(cpu_ns > 0))
        return 0;
    pp_agents_run(&m->agents, w, cpu_ns);
    return 1;
}

/* One worker at a time: the others wait in line. */
static int begin_serial(struct pp_sim *m, int w, double cpu_ns)
{
    if (!(cpu_ns > 0))
        return 0;
    if (m->locked)
        pp_line_join(&m->lock_line, (size_t)w);
    else
        pp_agents_run(&m->agents, w, cpu_ns);
    m->locked = 1;
    return 1;
}

static int wait_for_answer(struct pp_sim *m, int w, const struct pp_replay_sample *x)
{
    double slow = (size_t)w < m->s->n_slow ? m->s->slow_ns[w] : 0, until = m->agents.now + x->read_blocked;
    if (x->bytes)
        until += storage_begins(m) - m->agents.now + slow;
    m->read_waited += until - m->agents.now;
    return sleep_until(m, w, until);
}

/* Begins the stage that the worker stands in. 0: it takes no time. */
static int begin_stage(struct pp_sim *m, int w)
{
    const struct pp_replay_worker *a = &m->workers[w];
    const struct pp_replay_sample *x = &m->samples[a->sample];
    double now = m->agents.now;
    switch (a->stage) {
    case W_START_AGAIN: return sleep_until(m, w, now + (a->starts_again ? m->s->restart_ns : 0));
    case W_READ_LATENCY: return wait_for_answer(m, w, x);
    case W_READ_LINK: return sleep_until(m, w, link_done(m, x));
    case W_READ_CPU: return run_for(m, w, x->read_cpu);
    case W_SERIAL: return begin_serial(m, w, x->serial_cpu);
    case W_WORK_BLOCKED: return sleep_until(m, w, now + x->work_blocked);
    case W_WORK_CPU: return run_for(m, w, x->work_cpu);
    default: return run_for(m, w, m->s->collate_cpu_ns);
    }
}

static int claim(struct pp_sim *m, int w)
{
    struct pp_replay_worker *a = &m->workers[w];
    if (!m->open && !open_batch(m))
        return 0;
    struct pp_replay_slot *b = &m->slots[m->open - 1];
    a->slot = m->open - 1;
    a->sample = m->next_sample++ % m->n;
    a->stage = W_START_AGAIN;
    a->starts_again = a->epoch != b->epoch;
    a->epoch = b->epoch;
    if (++b->claimed == b->samples)
        m->open = 0;
    return 1;
}

static void finish_batch(struct pp_sim *m, size_t slot)
{
    if (!m->s->in_order) {
        pp_line_join(&m->ready, slot);
        return;
    }
    size_t *next;
    m->finished[m->slots[slot].batch % m->n_slots] =
        slot + 1; /* slots come free in order, so batches in flight are a window of n_slots numbers */
    while (*(next = &m->finished[m->next_ready % m->n_slots])) {
        pp_line_join(&m->ready, *next - 1);
        *next = 0;
        m->next_ready++;
    }
}

static void release_lock(struct pp_sim *m)
{
    m->locked = m->lock_line.n > 0;
    if (m->locked) {
        int next = (int)pp_line_leave(&m->lock_line);
        pp_agents_run(&m->agents, next, m->samples[m->workers[next].sample].serial_cpu);
    }
}

static void end_stage(struct pp_sim *m, int w)
{
    struct pp_replay_worker *a = &m->workers[w];
    if (a->stage == W_SERIAL && m->samples[a->sample].serial_cpu > 0)
        release_lock(m);
    if (a->stage == W_COLLATE)
        finish_batch(m, a->slot);
    a->stage = a->stage == W_COLLATE ? W_NO_SAMPLE : a->stage + 1;
    if (a->stage == W_COLLATE && --m->slots[a->slot].unfinished > 0)
        a->stage = W_NO_SAMPLE;
}

/* On to the next stage that takes time, of this sample or of the next, or to waiting for a slot. */
static void work(struct pp_sim *m, int w)
{
    struct pp_replay_worker *a = &m->workers[w];
    for (;;) {
        if (a->stage == W_NO_SAMPLE && !claim(m, w)) {
            a->parked_at = m->agents.now;
            pp_line_join(&m->parked, (size_t)w);
            return;
        }
        if (begin_stage(m, w))
            return;
        end_stage(m, w);
    }
}

int pp_replay_try_work(struct pp_sim *m)
{
    if (!m->parked.n || (!m->open && !open_batch(m)))
        return 0;
    int w = (int)pp_line_leave(&m->parked);
    m->slot_waited += m->agents.now - m->workers[w].parked_at;
    work(m, w);
    return 1;
}

void pp_replay_work_on(struct pp_sim *m, int worker)
{
    end_stage(m, worker);
    work(m, worker);
}
