#include "report/replay/replay.h"

#include "probe/base/err.h"
#include "report/replay/agents.h"

#include <math.h>
#include <stdlib.h>

/* One replay is four parts: the workers with storage and slots, the copy lane, the device's decoder, and the
 * trainer. Each leaves for the next what that waits for: finished batches in `ready`, copied ones in
 * `encoded`, batches to step on in `arrived`, free slots and device buffers. No part calls another. */

/* Who waits, or what is ready, in order of coming. There is room for all there are. */
struct line {
    size_t *at;
    size_t room, head, n;
};

struct worker {
    int stage; /* of the sample at hand; 0: none */
    size_t slot, sample;
    uint64_t epoch;
    int starts_again; /* for this epoch, before the sample at hand */
    double parked_at; /* since when it waits for a slot */
    /* with batches per worker: */
    struct line given; /* slots of its batches that it has not begun */
    size_t open;       /* slot + 1 of the one at hand; 0: none */
    int parked;
    /* with reads ahead: */
    uint64_t first, end; /* claims that it holds: the one at hand, and behind the newest */
    int holds, waits;    /* one is at hand; its read is waited for */
};

/* A claim of a worker's that is read ahead. */
struct ahead {
    int stage; /* W_READ_LATENCY and on; W_NO_SAMPLE: it has been read */
    size_t slot, sample;
};

/* Of a batch in flight, until it has been copied; with batches per worker, until the trainer takes it. */
struct slot {
    uint64_t batch, epoch;
    size_t worker; /* that it was given to */
    uint64_t samples, claimed, unfinished, on_device;
};

struct sim {
    const struct pp_replay_setup *s;
    const struct pp_replay_sample *samples;
    size_t n;
    uint64_t batches;

    struct pp_agents agents; /* the workers, then the copy lane, the trainer, the device's decoder */
    struct worker *workers;
    struct ahead *ahead; /* s->inflight of each worker; the agents behind the decoder. NULL: none are ahead */
    size_t reads_each;   /* 0: none are ahead */
    int copy, trainer, decoder;
    struct line parked;    /* workers for whom there is no slot */
    struct line lock_line; /* workers who wait for the lock */
    int locked;

    struct slot *slots;
    struct line free_slots, ready;
    size_t n_slots;
    size_t *finished; /* in order: slot + 1, by batch % n_slots, of those that wait for an earlier batch */
    size_t open;      /* slot + 1 of the batch that is being claimed; 0: none */
    uint64_t next_open, next_sample, next_ready;
    uint64_t epoch, epoch_left; /* samples of it that are in no batch yet */
    uint64_t epoch_batches;     /* of a whole one; 0: they do not drain */
    size_t turn;                /* the worker that is given the next batch, in order */
    struct line roomy;          /* out of order: workers that may be given one, once for each */
    double last_opened;         /* when there were no more batches to begin */
    int reader;                 /* the agent that reads a stream */
    int reader_stage;           /* W_READ_LATENCY and on; W_NO_SAMPLE: it waits for room */
    uint64_t read;              /* samples that it has read */
    size_t items;               /* that it has read or begun, and no worker has finished */
    double storage_free;        /* when the link has moved what was asked of it so far */
    double read_waited;         /* of all reads, for the answer */

    int copy_stage;
    size_t copied; /* the slot under way */
    double copy_idle_since;
    double device_done; /* when copies on the link and decodes that have begun will have ended */
    int buffers_used;
    struct line encoded; /* slots that have been copied and hold samples for the device's decoder */
    int decoding;
    size_t decoded;      /* the slot under way there */
    struct line arrived; /* batches on the device, waiting for their step: how many samples each has */
    struct line held;    /* with batches per worker, their slots */

    int trainer_stage;
    uint64_t stepped, stepping,
        half_samples; /* batches; samples of the one under way, and of those of the second half */
    double wait_since, waited, half_time, half_waited, slot_waited;
    double settled_since, settled_time, first_waits; /* epochs that drain */
    uint64_t settled_samples, n_first_waits;
};

static int line_init(struct line *q, size_t room)
{
    *q = (struct line){.at = calloc(room, sizeof(*q->at)), .room = room};
    return q->at != NULL;
}

static void line_join(struct line *q, size_t item)
{
    q->at[(q->head + q->n++) % q->room] = item;
}

static size_t line_leave(struct line *q)
{
    size_t item = q->at[q->head];
    q->head = (q->head + 1) % q->room;
    q->n--;
    return item;
}

enum { T_WAITING, T_BLOCKED, T_CPU, T_SYNC, T_COLLECTIVE, T_EPOCH_GAP, T_DONE };

/* ---- workers: samples through storage, CPUs and the lock into batches, and batches in their order ---- */

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

static int may_open(const struct sim *m)
{
    if (m->next_open == m->batches || !m->free_slots.n)
        return 0;
    if (m->epoch_batches && !m->epoch_left && m->next_open != m->stepped)
        return 0;
    return !m->s->on_demand || (m->trainer_stage == T_WAITING && m->next_open == m->stepped);
}

static int open_batch(struct sim *m)
{
    if (!may_open(m))
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
    m->slots[slot] = (struct slot){.batch = m->next_open++,
                                   .epoch = m->epoch,
                                   .samples = samples,
                                   .unfinished = samples};
    m->last_opened = m->agents.now;
    m->open = slot + 1;
    return 1;
}

/* When storage takes a request that is made now: behind the outage that now lies in. */
static double storage_begins(const struct sim *m)
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
 * asked before. A limit in slices owes what was left over in the last one (the generic cell rate algorithm,
 * ITU-T I.371). */
static double link_done(struct sim *m, const struct pp_replay_sample *x)
{
    double bytes_per_s = m->s->storage_bytes_per_s, reads_per_s = m->s->storage_reads_per_s;
    double ns = (bytes_per_s > 0 ? x->bytes / bytes_per_s * 1e9 : 0) +
                (reads_per_s > 0 ? 1e9 / reads_per_s : 0);
    if (!(ns > 0) || !x->bytes)
        return m->agents.now;
    m->storage_free = fmax(m->storage_free, m->agents.now - m->s->storage_burst_ns) + ns;
    return fmax(m->storage_free, m->agents.now);
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

/* One worker at a time: the others wait in line. */
static int begin_serial(struct sim *m, int w, double cpu_ns)
{
    if (!(cpu_ns > 0))
        return 0;
    if (m->locked)
        line_join(&m->lock_line, (size_t)w);
    else
        pp_agents_run(&m->agents, w, cpu_ns);
    m->locked = 1;
    return 1;
}

/* who: the agent that reads, for worker w. */
static int wait_for_answer(struct sim *m, int who, int w, const struct pp_replay_sample *x)
{
    double slow = (size_t)w < m->s->n_slow ? m->s->slow_ns[w] : 0, until = m->agents.now + x->read_blocked;
    if (x->bytes)
        until += storage_begins(m) - m->agents.now + slow;
    m->read_waited += until - m->agents.now;
    return sleep_until(m, who, until);
}

/* Begins a stage of a read. 0: it takes no time. */
static int begin_read(struct sim *m, int stage, int who, int w, const struct pp_replay_sample *x)
{
    switch (stage) {
    case W_READ_LATENCY: return wait_for_answer(m, who, w, x);
    case W_READ_LINK: return sleep_until(m, who, link_done(m, x));
    default: return run_for(m, who, x->read_cpu);
    }
}

static struct ahead *ahead_of(const struct sim *m, int w, uint64_t number)
{
    return &m->ahead[(size_t)w * m->reads_each + number % m->reads_each];
}

static int agent_of(const struct sim *m, const struct ahead *e)
{
    return m->decoder + 1 + (int)(e - m->ahead);
}

/* What was read ahead costs the worker the time until it is there. */
static int wait_for_head(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    a->waits = ahead_of(m, w, a->first)->stage != W_NO_SAMPLE;
    return a->waits;
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
        if (m->ahead)
            return wait_for_head(m, w);
        return m->s->stream_items ? 0 : begin_read(m, a->stage, w, w, x);
    case W_READ_LINK:
    case W_READ_CPU: return m->ahead || m->s->stream_items ? 0 : begin_read(m, a->stage, w, w, x);
    case W_SERIAL: return begin_serial(m, w, x->serial_cpu);
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

/* The batch that worker w goes on with, as slot + 1; NULL: there is none. */
static size_t *batch_at_hand(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    if (!m->s->per_worker)
        return m->open || open_batch(m) ? &m->open : NULL;
    if (!a->open && a->given.n)
        a->open = line_leave(&a->given) + 1;
    return a->open ? &a->open : NULL;
}

/* The next sample that no worker has taken; 0: worker w has no batch for it, or it has not been read. */
static int take_row(struct sim *m, int w, size_t *slot, size_t *sample)
{
    size_t *at_hand = is_read(m) ? batch_at_hand(m, w) : NULL;
    if (!at_hand)
        return 0;
    struct slot *b = &m->slots[*at_hand - 1];
    *slot = *at_hand - 1;
    *sample = m->next_sample++ % m->n;
    if (++b->claimed == b->samples)
        *at_hand = 0;
    return 1;
}

/* Stages of a read that take no time are passed. */
static void read_stages(struct sim *m, struct ahead *e)
{
    int w = (int)((size_t)(e - m->ahead) / m->reads_each);
    while (e->stage != W_NO_SAMPLE && !begin_read(m, e->stage, agent_of(m, e), w, &m->samples[e->sample]))
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

static int claim(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    if (!(m->ahead ? claim_ahead(m, w) : take_row(m, w, &a->slot, &a->sample)))
        return 0;
    a->stage = W_START_AGAIN;
    a->starts_again = a->epoch != m->slots[a->slot].epoch;
    a->epoch = m->slots[a->slot].epoch;
    return 1;
}

static void finish_batch(struct sim *m, size_t slot)
{
    if (!m->s->in_order) {
        line_join(&m->ready, slot);
        return;
    }
    size_t *next;
    m->finished[m->slots[slot].batch % m->n_slots] =
        slot + 1; /* slots come free in order, so batches in flight are a window of n_slots numbers */
    while (*(next = &m->finished[m->next_ready % m->n_slots])) {
        line_join(&m->ready, *next - 1);
        *next = 0;
        m->next_ready++;
    }
}

static void release_lock(struct sim *m)
{
    m->locked = m->lock_line.n > 0;
    if (m->locked) {
        int next = (int)line_leave(&m->lock_line);
        pp_agents_run(&m->agents, next, m->samples[m->workers[next].sample].serial_cpu);
    }
}

static void end_stage(struct sim *m, int w)
{
    struct worker *a = &m->workers[w];
    if (a->stage == W_SERIAL && m->samples[a->sample].serial_cpu > 0)
        release_lock(m);
    if (a->stage == W_COLLATE)
        finish_batch(m, a->slot);
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
        if (a->stage == W_NO_SAMPLE && !claim(m, w)) {
            a->parked_at = m->agents.now;
            a->parked = 1;
            if (!m->s->per_worker)
                line_join(&m->parked, (size_t)w);
            return;
        }
        if (begin_stage(m, w))
            return;
        end_stage(m, w);
    }
}

static void wake_worker(struct sim *m, int w)
{
    m->workers[w].parked = 0;
    m->slot_waited += m->agents.now - m->workers[w].parked_at;
    take_stages(m, w);
}

/* The next batch to the worker whose turn it is. */
static int try_give(struct sim *m)
{
    if (!open_batch(m))
        return 0;
    size_t slot = m->open - 1, w = m->s->in_order ? m->turn : line_leave(&m->roomy);
    m->open = 0;
    m->turn = (m->turn + 1) % (size_t)m->s->workers;
    m->slots[slot].worker = w;
    line_join(&m->workers[w].given, slot);
    if (m->workers[w].parked)
        wake_worker(m, (int)w);
    return 1;
}

static int try_work(struct sim *m)
{
    if (m->s->per_worker)
        return try_give(m);
    if (!m->parked.n || !is_read(m) || (!m->open && !open_batch(m)))
        return 0;
    wake_worker(m, (int)line_leave(&m->parked));
    return 1;
}

static void work_on(struct sim *m, int worker)
{
    end_stage(m, worker);
    take_stages(m, worker);
}

static void read_on(struct sim *m, int who)
{
    struct ahead *e = &m->ahead[who - m->decoder - 1];
    int w = (int)((size_t)(e - m->ahead) / m->reads_each);
    struct worker *a = &m->workers[w];
    e->stage = e->stage == W_READ_CPU ? W_NO_SAMPLE : e->stage + 1;
    read_stages(m, e);
    if (a->waits && e->stage == W_NO_SAMPLE && e == ahead_of(m, w, a->first)) {
        a->waits = 0;
        work_on(m, w);
    }
}

/* ---- the reader of a stream: samples in their order, as long as there is room for them ---- */

static const struct pp_replay_sample *reads_now(const struct sim *m)
{
    return &m->samples[m->read % m->n];
}

/* On to the next stage that takes time, of this sample or of a later one. */
static void reader_stages(struct sim *m)
{
    while (m->reader_stage != W_NO_SAMPLE &&
           !begin_read(m, m->reader_stage, m->reader, m->s->workers, reads_now(m))) {
        m->reader_stage = m->reader_stage == W_READ_CPU ? W_NO_SAMPLE : m->reader_stage + 1;
        m->read += m->reader_stage == W_NO_SAMPLE;
    }
}

static int try_read(struct sim *m)
{
    if (m->reader_stage != W_NO_SAMPLE || m->items >= (size_t)m->s->stream_items)
        return 0;
    m->items++;
    m->reader_stage = W_READ_LATENCY;
    reader_stages(m);
    return 1;
}

static void reader_on(struct sim *m)
{
    m->reader_stage = m->reader_stage == W_READ_CPU ? W_NO_SAMPLE : m->reader_stage + 1;
    m->read += m->reader_stage == W_NO_SAMPLE;
    reader_stages(m);
}

/* ---- copy lane, decoder and trainer: finished batches over the link into device buffers, and a step on each
 * ---- */

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

static void copy_on(struct sim *m)
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

static void decode_on(struct sim *m)
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
    case T_CPU: pp_agents_run(&m->agents, m->trainer, s->step_cpu_ns); break;
    case T_SYNC: pp_agents_sleep(&m->agents, m->trainer, fmax(m->device_done, now) + s->sync_ns); break;
    case T_COLLECTIVE: pp_agents_sleep(&m->agents, m->trainer, fmax(ranks_meet(m), now)); break;
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

static void step_on(struct sim *m)
{
    int stage = m->trainer_stage;
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

/* ---- the whole run ---- */

static void end_of(struct sim *m, int who)
{
    if (who == m->reader)
        reader_on(m);
    else if (who > m->decoder)
        read_on(m, who);
    else if (who == m->decoder)
        decode_on(m);
    else if (who == m->trainer)
        step_on(m);
    else if (who == m->copy)
        copy_on(m);
    else
        work_on(m, who);
}

static pp_status play(struct sim *m, struct pp_err *err)
{
    for (size_t w = 0; w < (size_t)m->s->workers; w++) {
        m->workers[w].parked = 1;
        if (!m->s->per_worker)
            line_join(&m->parked, w);
    }
    while (m->stepped < m->batches) {
        while (try_step(m) || try_decode(m) || try_copy(m) || try_work(m) || try_read(m)) {
        }
        int who = pp_agents_next(&m->agents);
        if (who < 0)
            return pp_fail(err, PP_E_SYSTEM, "replay: stuck after %llu of %llu batches",
                           (unsigned long long)m->stepped, (unsigned long long)m->batches);
        end_of(m, who);
    }
    return PP_OK;
}

static struct pp_replay_result result_of(struct sim *m)
{
    const struct pp_replay_setup *s = m->s;
    const struct pp_agents *a = &m->agents;
    double span = a->now - m->half_time;
    for (int w = 0; w < s->workers; w++)
        if (m->workers[w].parked)
            m->slot_waited += fmax(m->last_opened - m->workers[w].parked_at, 0);
    return (struct pp_replay_result){
        .samples_per_s = span > 0 ? (double)m->half_samples * 1e9 / span : INFINITY,
        .data_wait_share = span > 0 ? (m->waited - m->half_waited) / span : 0,
        .cpu_share = a->now > 0 ? a->cpu_used / (s->cpus * a->now) : 0,
        .slot_wait_share = a->now > 0 ? m->slot_waited / (s->workers * a->now) : 0,
        .service_rate = a->running_time > 0 ? a->cpu_used / a->running_time : 1,
        .reads_waiting = a->now > 0 ? m->read_waited / a->now : 0,
        .settled_per_s = m->settled_time > 0 ? (double)m->settled_samples * 1e9 / m->settled_time : 0,
        .first_wait_ns = m->n_first_waits ? m->first_waits / (double)m->n_first_waits : 0,
        .batches = m->batches,
    };
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

static pp_status check(const struct pp_replay_setup *s, size_t n, uint64_t batches, struct pp_err *err)
{
    if (s->workers < 1 || s->prefetch < 1 || s->copy_buffers < 1 || s->batch_size < 1 || !(s->cpus > 0) ||
        !(s->machine_cpus >= s->cpus) || !(s->others >= 0) || !(s->groups >= 0) || n < 1 || batches < 4 ||
        !(s->decoder_per_s >= 0) || !(s->decoder_floor_ns >= 0) || (s->per_worker && s->stream_items))
        return pp_fail(
            err, PP_E_USAGE,
            "replay: workers, prefetch, copy buffers, batch size and CPUs must be positive, with samples and at least 4 batches");
    return PP_OK;
}

pp_status pp_replay(const struct pp_replay_setup *setup, const struct pp_replay_sample *samples, size_t n,
                    uint64_t batches, struct pp_replay_result *out, struct pp_err *err)
{
    struct sim m = {.s = setup, .samples = samples, .n = n, .batches = batches};
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
