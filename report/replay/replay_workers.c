/* Workers and the reader of a stream in a replay: samples through storage, CPUs and the lock into batches. */
#include "report/replay/replay_impl.h"
#include "probe/base/array.h"

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

static int open_batch(struct sim *m)
{
    if (m->next_open == m->batches || !m->free_slots.n)
        return 0;
    if (m->epoch_batches && !m->epoch_left && m->next_open != m->stepped)
        return 0;
    if (m->s->on_demand && (m->trainer_stage != T_WAITING || m->next_open != m->stepped))
        return 0;
    size_t slot = line_leave(&m->free_slots);
    uint64_t samples = m->s->batch_size;
    if (m->s->epoch_samples) {
        if (!m->epoch_left) {
            m->epoch++;
            m->turn = m->epoch_batches ? 0 : m->turn;
            m->epoch_left = m->s->epoch_samples;
        }
        samples = samples < m->epoch_left ? samples : m->epoch_left;
        m->epoch_left -= samples;
    }
    /* What a recorded batch cost was one worker's: its samples stay together. */
    uint64_t at = 0, most = 2 * m->s->batch_size < m->n ? 2 * m->s->batch_size : m->n;
    while (m->s->per_worker && at < most && !m->samples[(m->next_sample + at) % m->n].begins)
        at++;
    m->slots[slot] = (struct slot){.batch = m->next_open++,
                                   .epoch = m->epoch,
                                   .samples = samples,
                                   .unfinished = samples,
                                   .first = m->s->per_worker ? m->next_sample + (at < most ? at : 0) : 0};
    if (m->s->per_worker)
        m->next_sample = m->slots[slot].first + samples;
    m->last_opened = m->agents.now;
    m->open = slot + 1;
    return 1;
}

static int sleep_until(struct sim *m, int w, double until)
{
    if (until <= m->agents.now)
        return 0;
    pp_agents_sleep(&m->agents, w, until);
    return 1;
}

static int run_for(struct sim *m, int w, double cpu_ns)
{
    if (!(cpu_ns > 0))
        return 0;
    pp_agents_run(&m->agents, w, cpu_ns);
    return 1;
}

static int hold_lock(struct sim *m, int w)
{
    double ns = m->samples[m->workers[w].sample].serial_cpu;
    return m->s->lock_sleeps ? sleep_until(m, w, m->agents.now + ns) : run_for(m, w, ns);
}

/* Begins a stage of a read. who: the agent that reads, for worker w. 0: it takes no time. */
static int begin_read(struct sim *m, int stage, int who, int w, const struct pp_replay_sample *x)
{
    const struct pp_replay_setup *s = m->s;
    double now = m->agents.now, until = now, ns;
    switch (stage) {
    case W_READ_LATENCY:
        until += x->read_blocked;
        if (x->bytes) {
            double begins = now; /* behind the outage that now lies in */
            if (s->n_outages) {
                double at = fmod(now, s->outage_period_ns);
                size_t first = PP_BEFORE(s->n_outages, i, s->outages[i].end <= at); /* that ends after it */
                if (first < s->n_outages && s->outages[first].start <= at)
                    begins = now + s->outages[first].end - at;
            }
            until += begins - now + ((size_t)w < s->n_slow ? s->slow_ns[w] : 0);
        }
        m->read_waited += until - now;
        return sleep_until(m, who, until);
    case W_READ_LINK:
        /* When the link that all reads share has done this one: its own part of the link's time, behind what
         * was asked before. A limit in slices owes what was left over in the last one (the generic cell rate
         * algorithm, ITU-T I.371). */
        ns = (s->storage_bytes_per_s > 0 ? x->bytes / s->storage_bytes_per_s * 1e9 : 0) +
             (s->storage_reads_per_s > 0 ? 1e9 / s->storage_reads_per_s : 0);
        if (ns > 0 && x->bytes) {
            m->storage_free = fmax(m->storage_free, now - s->storage_burst_ns) + ns;
            until = fmax(m->storage_free, now);
        }
        return sleep_until(m, who, until);
    default: return run_for(m, who, x->read_cpu);
    }
}

static struct ahead *ahead_of(const struct sim *m, int w, uint64_t number)
{
    return &m->ahead[(size_t)w * m->reads_each + number % m->reads_each];
}

/* Begins the stage that the worker stands in. 0: it takes no time. */
static int begin_stage(struct sim *m, int w)
{
    const struct worker *a = &m->workers[w];
    const struct pp_replay_sample *x = &m->samples[a->sample];
    double now = m->agents.now;
    switch (a->stage) {
    case W_START_AGAIN: return sleep_until(m, w, now + (a->starts_again ? m->s->restart_ns : 0));
    case W_READ_LATENCY:
        if (m->ahead) {
            /* What was read ahead costs the worker the time until it is there. */
            struct worker *own = &m->workers[w];
            own->waits = ahead_of(m, w, own->first)->stage != W_NO_SAMPLE;
            return own->waits;
        }
        return m->s->stream_items ? 0 : begin_read(m, a->stage, w, w, x);
    case W_READ_LINK:
    case W_READ_CPU: return m->ahead || m->s->stream_items ? 0 : begin_read(m, a->stage, w, w, x);
    case W_SERIAL: /* one worker at a time: the others wait in line */
        if (m->locked && x->serial_cpu > 0)
            line_join(&m->lock_line, (size_t)w);
        else if (!hold_lock(m, w))
            return 0;
        m->locked = 1;
        return 1;
    case W_WORK_BLOCKED: return sleep_until(m, w, now + x->work_blocked);
    case W_WORK_CPU: return run_for(m, w, x->work_cpu);
    default: return run_for(m, w, m->s->collate_cpu_ns);
    }
}

/* Of a stream, there is no sample before it has been read. */
static int is_read(const struct sim *m)
{
    return !m->s->stream_items || m->read > m->next_sample;
}

/* The next sample that no worker has taken; 0: worker w has no batch for it, or it has not been read. */
static int take_row(struct sim *m, int w, size_t *slot, size_t *sample)
{
    struct worker *a = &m->workers[w];
    /* the batch that it goes on with, as slot + 1 */
    size_t *at_hand = m->s->per_worker ? &a->open : &m->open;
    if (!is_read(m))
        return 0;
    if (m->s->per_worker && !a->open && a->given.n)
        a->open = line_leave(&a->given) + 1;
    if (!*at_hand && (m->s->per_worker || !open_batch(m)))
        return 0;
    struct slot *b = &m->slots[*at_hand - 1];
    *slot = *at_hand - 1;
    *sample = (m->s->per_worker ? b->first + b->claimed : m->next_sample++) % m->n;
    if (++b->claimed == b->samples)
        *at_hand = 0;
    return 1;
}

/* Stages of a read that take no time are passed. */
static void read_stages(struct sim *m, struct ahead *e)
{
    int w = (int)((size_t)(e - m->ahead) / m->reads_each), agent = m->decoder + 1 + (int)(e - m->ahead);
    while (e->stage != W_NO_SAMPLE && !begin_read(m, e->stage, agent, w, &m->samples[e->sample]))
        e->stage = e->stage == W_READ_CPU ? W_NO_SAMPLE : e->stage + 1;
}

/* As many as there is room for, and the oldest is at hand. */
static int claim_ahead(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    a->first += (uint64_t)a->holds;
    a->holds = 0;
    while (a->end - a->first < m->reads_each) {
        struct ahead *e = ahead_of(m, w, a->end);
        if (!take_row(m, w, &e->slot, &e->sample))
            break;
        a->end++;
        e->stage = W_READ_LATENCY;
        read_stages(m, e);
    }
    if (a->end == a->first)
        return 0;
    a->holds = 1;
    a->slot = ahead_of(m, w, a->first)->slot;
    a->sample = ahead_of(m, w, a->first)->sample;
    return 1;
}

static void end_stage(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    if (a->stage == W_SERIAL && m->samples[a->sample].serial_cpu > 0) {
        m->locked = m->lock_line.n > 0;
        if (m->locked) {
            int next = (int)line_leave(&m->lock_line);
            hold_lock(m, next);
        }
    }
    if (a->stage == W_COLLATE && !m->s->in_order)
        line_join(&m->ready, a->slot);
    if (a->stage == W_COLLATE && m->s->in_order) {
        /* slots come free in order, so batches in flight are a window of n_slots numbers */
        m->finished[m->slots[a->slot].batch % m->n_slots] = a->slot + 1;
        for (size_t *next; *(next = &m->finished[m->next_ready % m->n_slots]); m->next_ready++) {
            line_join(&m->ready, *next - 1);
            *next = 0;
        }
    }
    a->stage = a->stage == W_COLLATE ? W_NO_SAMPLE : a->stage + 1;
    if (a->stage != W_COLLATE)
        return;
    m->items -= m->s->stream_items > 0;
    m->slots[a->slot].on_device += m->samples[a->sample].on_device;
    if (--m->slots[a->slot].unfinished > 0)
        a->stage = W_NO_SAMPLE;
}

/* On to the next stage that takes time, of this sample or of the next, or to waiting for a slot. */
static void take_stages(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    for (;;) {
        if (a->stage == W_NO_SAMPLE) {
            if (!(m->ahead ? claim_ahead(m, w) : take_row(m, w, &a->slot, &a->sample))) {
                a->parked_at = m->agents.now;
                a->parked = 1;
                if (!m->s->per_worker)
                    line_join(&m->parked, (size_t)w);
                return;
            }
            a->stage = W_START_AGAIN;
            a->starts_again = a->epoch != m->slots[a->slot].epoch;
            a->epoch = m->slots[a->slot].epoch;
        }
        if (begin_stage(m, w))
            return;
        end_stage(m, w);
    }
}

int pp_sim_try_work(struct sim *m)
{
    size_t w; /* who is woken, if it has waited for a slot */
    if (m->s->per_worker) {
        /* The next batch to the worker whose turn it is. */
        if (!open_batch(m))
            return 0;
        size_t slot = m->open - 1;
        w = m->s->in_order ? m->turn : line_leave(&m->roomy);
        m->open = 0;
        m->turn = (m->turn + 1) % (size_t)m->s->workers;
        m->slots[slot].worker = w;
        line_join(&m->workers[w].given, slot);
        if (!m->workers[w].parked)
            return 1;
    } else {
        if (!m->parked.n || !is_read(m) || (!m->open && !open_batch(m)))
            return 0;
        w = line_leave(&m->parked);
    }
    m->workers[w].parked = 0;
    m->slot_waited += m->agents.now - m->workers[w].parked_at;
    take_stages(m, (int)w);
    return 1;
}

void pp_sim_work_on(struct sim *m, int worker)
{
    end_stage(m, worker);
    take_stages(m, worker);
}

void pp_sim_read_on(struct sim *m, int who)
{
    struct ahead *e = &m->ahead[who - m->decoder - 1];
    int w = (int)((size_t)(e - m->ahead) / m->reads_each);
    struct worker *a = &m->workers[w];
    e->stage = e->stage == W_READ_CPU ? W_NO_SAMPLE : e->stage + 1;
    read_stages(m, e);
    if (a->waits && e->stage == W_NO_SAMPLE && e == ahead_of(m, w, a->first)) {
        a->waits = 0;
        pp_sim_work_on(m, w);
    }
}

/* ---- the reader of a stream: samples in their order, as long as there is room for them ---- */

int pp_sim_try_read(struct sim *m)
{
    if (m->reader_stage != W_NO_SAMPLE || m->items >= (size_t)m->s->stream_items)
        return 0;
    m->items++;
    m->reader_stage = W_READ_LATENCY;
    if (!begin_read(m, W_READ_LATENCY, m->reader, m->s->workers, &m->samples[m->read % m->n]))
        pp_sim_reader_on(m);
    return 1;
}

/* On to the next stage that takes time, of this sample or of a later one. */
void pp_sim_reader_on(struct sim *m)
{
    do {
        m->reader_stage = m->reader_stage == W_READ_CPU ? W_NO_SAMPLE : m->reader_stage + 1;
        m->read += m->reader_stage == W_NO_SAMPLE;
    } while (m->reader_stage != W_NO_SAMPLE &&
             !begin_read(m, m->reader_stage, m->reader, m->s->workers, &m->samples[m->read % m->n]));
}
