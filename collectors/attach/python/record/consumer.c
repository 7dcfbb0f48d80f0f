#include "collectors/attach/python/record/record.h"
#include <sys/syscall.h>
#include <unistd.h>

/* Both below are under the interpreter's lock, which every caller in this file holds. A thread of this
 * process has called backward, and the count of forks it was in. */
static struct {
    int any;
    uint64_t forks;
} trained;

/* Threads that another has taken a batch from, the last few. */
enum { GIVERS = 16 };
static const struct record_local *givers[GIVERS];
static uint64_t given_in; /* record_forks() in which one gave last, and 1 */

/* ---- what a thread is ---- */

enum record_role record_role_of(struct record_local *l)
{
    struct record_consumer *c = &l->consumer;
    if (c->trains)
        return RECORD_TRAINER;
    for (size_t i = 0; i < GIVERS && !c->gives; i++)
        c->gives = givers[i] == l;
    if (c->gives || (trained.any && trained.forks == record_forks()))
        return RECORD_PREFETCHER;
    if (!c->is_main)
        c->is_main = syscall(SYS_gettid) == getpid() ? 1 : -1;
    return c->is_main > 0 || c->counts_as_trainer ? RECORD_TRAINER : RECORD_UNDECIDED;
}

static const struct {
    pp_lane lane;
    const char *name;
} lanes[] = {
    [RECORD_UNDECIDED] = {PP_LANE_MAIN, "batches"},
    [RECORD_TRAINER] = {PP_LANE_TRAINER, "trainer"},
    [RECORD_PREFETCHER] = {PP_LANE_COPY, "prefetch"},
};

/* The trainer's wait is the prefetching thread's get_wait; what that does between two of them is not the
 * step. */
static void put_as_role(struct record_consumer *c, struct pp_span *s)
{
    int prefetches = c->role == RECORD_PREFETCHER;
    if (prefetches && s->phase == PP_PHASE_DATA_WAIT) {
        s->phase = PP_PHASE_GET_WAIT;
        s->sample = PP_NO_SAMPLE;
        s->flags &= (uint16_t)~PP_SPAN_COUNT;
    }
    int copies = s->phase == PP_PHASE_GET_WAIT || s->phase == PP_PHASE_PUT_WAIT;
    if (copies == prefetches)
        pp_span_put_stamped(c->lane.trace, s);
}

/* Its role as of now; what waited for it to be known is put. */
static enum record_role settle_role(struct record_local *l)
{
    struct record_consumer *c = &l->consumer;
    enum record_role role = record_role_of(l);
    if (role == c->role)
        return role;
    c->role = role;
    pp_thread_set_lane(c->lane.trace, lanes[role].lane);
    if (c->lane.trace)
        pp_thread_rename(c->lane.trace, lanes[role].name);
    for (unsigned i = 0; c->lane.trace && i < c->n_held; i++)
        put_as_role(c, &c->held[i]);
    c->n_held = 0;
    for (uint64_t i = c->own.got; role == RECORD_TRAINER && i < c->own.put; i++)
        record_use_taken(&c->own.parcel[i % RECORD_HANDED_MAX].about);
    return role;
}

/* Of the thread, before it ends. */
static void end_consumer(struct record_local *l)
{
    l->consumer.counts_as_trainer = 1;
    if (record_lane_is_open(&l->consumer.lane))
        settle_role(l);
    for (size_t i = 0; i < GIVERS; i++)
        if (givers[i] == l) /* its place in memory may become another thread's */
            givers[i] = NULL;
    free(l->consumer.held);
    l->consumer.held = NULL;
}

int record_consumer_open(struct record_local *l)
{
    struct record_consumer *c = &l->consumer;
    if (record_lane_is_open(&c->lane))
        return 1;
    l->before_end = end_consumer;
    c->role = record_role_of(l);
    c->n_held = 0;
    return record_lane_open(&c->lane, lanes[c->role].lane, lanes[c->role].name);
}

void record_trains(struct record_local *l)
{
    l->consumer.trains = 1;
    record_loop_trains(l);
    l->consumer.step.flags |= PP_SPAN_TRAINED; /* of the batch at hand; the next one sets them anew */
    trained.any = 1;
    trained.forks = record_forks();
    if (record_lane_is_open(&l->consumer.lane))
        settle_role(l);
    if (record_is_on())
        record_use_trained();
}

void record_optimized(void)
{
    if (record_is_on() && !(trained.any && trained.forks == record_forks()))
        record_use_trained();
}

/* A span of it, as the trainer's; a thread that prefetches has it as what it is for it, or not at all. */
static void put_span(struct record_local *l, pp_phase phase, const struct record_mark *from,
                     const struct record_mark *to, const struct record_about *about)
{
    struct record_consumer *c = &l->consumer;
    struct pp_span s = record_span(&c->lane, phase, from, to, about);
    if (settle_role(l) != RECORD_UNDECIDED) {
        put_as_role(c, &s);
        return;
    }
    if (!c->held)
        c->held = calloc(RECORD_HELD_MAX, sizeof(*c->held));
    if (c->held)
        c->held[c->n_held++] = s;
    /* No thread trains: the one that takes the batches is what they are for. */
    c->counts_as_trainer = !c->held || c->n_held == RECORD_HELD_MAX;
    if (c->counts_as_trainer)
        settle_role(l);
}

void record_put_step(struct record_local *l, const struct record_mark *until)
{
    if (l->consumer.step_from.stamp)
        put_span(l, PP_PHASE_STEP, &l->consumer.step_from, until, &l->consumer.step);
}

/* ---- batches from one thread to another ---- */

static const struct record_parcel no_batch = {{.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH}, 0};

static void put_parcel(struct record_handover *h, struct record_parcel parcel)
{
    h->parcel[h->put++ % RECORD_HANDED_MAX] = parcel;
    if (h->put - h->got > RECORD_HANDED_MAX)
        h->got = h->put - RECORD_HANDED_MAX;
}

static struct record_parcel get_parcel(struct record_handover *h)
{
    return h->got < h->put ? h->parcel[h->got++ % RECORD_HANDED_MAX] : no_batch;
}

/* It has the batch since then, and trains on it or hands it over. */
static void step_begins(struct record_local *l, const struct record_mark *from,
                        const struct record_about *about)
{
    l->consumer.step_from = *from;
    l->consumer.step = *about;
    put_parcel(&l->consumer.own, (struct record_parcel){*about, 1});
    if (l->consumer.role == RECORD_TRAINER)
        record_use_taken(about);
}

int record_may_hand_over(struct record_local *l, int known)
{
    const struct record_handover *own = &l->consumer.own;
    return record_lane_is_open(&l->consumer.lane) && (known || own->got < own->put) &&
           settle_role(l) != RECORD_TRAINER;
}

void record_hand_over(struct record_local *l, struct record_handover *h)
{
    l->consumer.gives |= h->taken;
    h->from = l;
    put_parcel(h, get_parcel(&l->consumer.own));
}

void record_handed_over(struct record_local *l, const struct record_mark *from)
{
    struct record_mark now = record_now(&l->consumer.lane, 1);
    put_span(l, PP_PHASE_PUT_WAIT, from, &now, &no_batch.about);
}

void record_got_handed(struct record_local *l, const struct record_mark *from, struct record_handover *h)
{
    struct record_mark now = record_now(&l->consumer.lane, 1);
    struct record_parcel got = get_parcel(h);
    h->taken = 1;
    if (h->from && h->from != l) {
        static unsigned at;
        size_t i = 0;
        given_in = record_forks() + 1;
        while (i < GIVERS && givers[i] != h->from)
            i++;
        if (i == GIVERS)
            givers[at++ % GIVERS] = h->from;
    }
    record_put_step(l, from);
    l->consumer.step_from.stamp = 0;
    put_span(l, got.is_batch ? PP_PHASE_DATA_WAIT : PP_PHASE_EPOCH_BOUNDARY, from, &now, &got.about);
    if (!got.is_batch)
        return;
    step_begins(l, &now, &got.about);
    record_gpu_batch(got.about.batch, l->consumer.role != RECORD_PREFETCHER);
}

/* ---- batches of a DataLoader ---- */

#define WORTH_A_SPAN_NS 50000u

int record_iter_begin(struct record_local *l)
{
    struct record_consumer *c = &l->consumer;
    if (l->slot >= 0 || c->taking || c->beginning)
        return 0;
    if (record_role_of(l) == RECORD_TRAINER)
        (void)record_consumer_open(l);
    if (!record_lane_is_open(&c->lane))
        return 0;
    c->beginning = record_session();
    c->drawn = (struct record_mark){0};
    c->begun = record_now_delayed(&c->lane);
    return 1;
}

void record_iter_end(struct record_local *l, const struct record_iteration *it)
{
    struct record_consumer *c = &l->consumer;
    uint32_t session = c->beginning;
    c->beginning = 0;
    if (!it || session != record_session() || it->session != session || !record_lane_is_open(&c->lane))
        return;
    struct pp_loader_row *row = record_loader_row(it->loader);
    int starts = row && !it->round && row->workers; /* workers, for this iteration */
    struct record_mark now = record_now_delayed(&c->lane), drawing = now;
    struct record_about first = {.sample = PP_NO_SAMPLE,
                                 .batch = it->first_batch,
                                 .epoch = (uint16_t)it->epoch};
    if (!starts && pp_thread_stamps_ns(c->lane.trace, c->begun.stamp, now.stamp) < WORTH_A_SPAN_NS)
        return;
    if (pp_thread_stamps_ns(c->lane.trace, now.stamp - c->drawn.stamp, now.stamp) >= WORTH_A_SPAN_NS) {
        drawing.stamp -= c->drawn.stamp;
        drawing.cpu_ns -= c->drawn.cpu_ns;
    }
    if (c->begun.stamp > c->step_from.stamp)
        record_put_step(l, &c->begun);
    c->step_from.stamp = 0;
    put_span(l, starts ? PP_PHASE_STARTUP : PP_PHASE_EPOCH_BOUNDARY, &c->begun, &drawing,
             starts ? &first : &no_batch.about);
    if (starts)
        row->wait_ns += pp_thread_stamps_ns(c->lane.trace, c->begun.stamp, drawing.stamp);
    if (drawing.stamp != now.stamp)
        put_span(l, PP_PHASE_SAMPLER, &drawing, &now, &first);
}

int record_draw_begin(struct record_local *l, struct record_mark *from)
{
    struct record_consumer *c = &l->consumer;
    if ((!c->taking && !c->beginning) || l->slot >= 0 || !record_lane_is_open(&c->lane))
        return 0;
    *from = record_now(&c->lane, 1);
    return 1;
}

void record_draw_end(struct record_local *l, const struct record_mark *from)
{
    struct record_consumer *c = &l->consumer;
    if (!record_lane_is_open(&c->lane)) /* the session was left meanwhile */
        return;
    struct record_mark now = record_now(&c->lane, 1);
    c->drawn.stamp += now.stamp - from->stamp;
    c->drawn.cpu_ns += now.cpu_ns - from->cpu_ns;
}

void record_take_begin(struct record_local *l, struct record_iteration *it, struct record_mark *from)
{
    struct record_consumer *c = &l->consumer;
    *from = record_now(&c->lane, 1);
    record_put_step(l, from);
    c->step_from.stamp = c->get_from.stamp = 0;
    c->unpickle_stamps = c->unpickle_cpu_ns = c->unpickle_tensors = 0;
    c->drawn = (struct record_mark){0};
    /* A loader without workers makes the batch in this thread. */
    l->worker.making = it;
    l->worker.first_batch = it->first_batch;
    l->worker.batch = it->first_batch + it->taken;
    l->worker.epoch = (uint16_t)it->epoch;
    l->worker.place = 0; /* its first sample follows none */
}

/* Of the batch that was just taken: as its worker or its index said, or by the loader's arguments, where the
 * last one of an epoch may be short. */
static uint64_t samples_of(const struct record_iteration *it)
{
    uint64_t before = (it->batches - 1) * it->batch_size;
    uint32_t ago = it->sent - it->given;
    uint64_t came = record_short_find(it, it->given);
    if (came)
        return came;
    if (ago && ago <= RECORD_LENGTHS && it->length[it->given % RECORD_LENGTHS])
        return it->length[it->given % RECORD_LENGTHS];
    return it->batches && it->taken == it->batches && it->samples > before &&
                   it->samples < before + it->batch_size
               ? it->samples - before
               : it->batch_size;
}

void record_take_end(struct record_local *l, struct record_iteration *it, const struct record_mark *from,
                     int got)
{
    struct record_consumer *c = &l->consumer;
    struct record_mark now = record_now(&c->lane, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE,
                                 .batch = PP_NO_BATCH,
                                 .epoch = (uint16_t)it->epoch,
                                 .loader = it->loader,
                                 .looked_at = it->looked_at};
    if (got <= 0) {
        /* An epoch without a batch has no list and no take: where it stands among the others. */
        if (!got && !it->taken && !it->ended) {
            char number[16];
            snprintf(number, sizeof(number), "%u", it->first_batch);
            record_fact(it, "first_batch", number);
        }
        it->ended |= got == 0;
        c->epoch_ended |= got == 0;
        if (!got)
            record_use_ended(it->loader);
        about.flags = got ? PP_SPAN_ERROR : 0;
        put_span(l, got ? PP_PHASE_DATA_WAIT : PP_PHASE_EPOCH_BOUNDARY, from, &now, &about);
        return;
    }
    it->taken++;
    c->epoch_ended = 0;
    about.batch = it->first_batch + it->given;
    uint64_t samples = samples_of(it);
    if (samples) {
        about.sample = samples;
        about.flags = PP_SPAN_COUNT;
    }
    step_begins(l, &now, &about);
    put_span(l, PP_PHASE_DATA_WAIT, from, &now, &about);
    record_gpu_batch(about.batch, c->role != RECORD_PREFETCHER);
    if (c->role == RECORD_PREFETCHER)
        return;
    struct pp_loader_row *row = it->session == record_session() ? record_loader_row(it->loader) : NULL;
    if (row) {
        row->taken++;
        row->wait_ns += pp_thread_stamps_ns(c->lane.trace, from->stamp, now.stamp);
    }
    uint64_t drawn_ns = pp_thread_stamps_ns(c->lane.trace, now.stamp - c->drawn.stamp, now.stamp);
    if (drawn_ns >= WORTH_A_SPAN_NS)
        record_count(&c->lane, "sampler_ns", drawn_ns);
    if (!c->unpickle_stamps)
        return;
    record_count(&c->lane, "unpickle_ns",
                 pp_thread_stamps_ns(c->lane.trace, now.stamp - c->unpickle_stamps, now.stamp));
    if (c->unpickle_cpu_ns)
        record_count(&c->lane, "unpickle_cpu_ns", c->unpickle_cpu_ns);
    if (c->unpickle_tensors)
        record_count(&c->lane, "unpickle_tensors", c->unpickle_tensors);
}

/* ---- batches of no DataLoader (loop.c) ---- */

void record_loop_took(struct record_local *l, const struct record_mark *from, const struct record_mark *to,
                      int got)
{
    struct record_about about = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    if (got > 0)
        about.batch = l->loop.taken++, record_process.taken++;
    about.flags = got < 0 ? PP_SPAN_ERROR : 0;
    put_span(l, got ? PP_PHASE_DATA_WAIT : PP_PHASE_EPOCH_BOUNDARY, from, to, &about);
    if (got <= 0)
        return;
    step_begins(l, to, &about);
    record_gpu_batch(about.batch, l->consumer.role != RECORD_PREFETCHER);
    record_own_loop(1);
}

void record_loop_beside(const struct record_local *l)
{
    int own = l && l->consumer.trains && !l->consumer.taking && l->slot < 0 && !l->sample.depth;
    record_process.aside += own && record_is_on() &&
                            given_in != record_forks() + 1; /* else they are a DataLoader's */
}

/* ---- within a step: checkpoints, and waits for other ranks ---- */

void record_interrupted(struct record_local *l, const struct record_mark *from, pp_phase phase, int failed)
{
    struct record_consumer *c = &l->consumer;
    struct record_mark now = record_now(&c->lane, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE,
                                 .batch = c->step_from.stamp ? c->step.batch : PP_NO_BATCH,
                                 .epoch = c->step.epoch,
                                 .flags = failed ? PP_SPAN_ERROR : 0};
    put_span(l, phase, from, &now, &about);
    if (!c->step_from.stamp)
        return;
    c->step_from = now; /* the rest of the step; its samples have been counted */
    c->step.sample = PP_NO_SAMPLE;
    c->step.flags = 0;
}

void record_waited(struct record_local *l, const struct record_mark *from, int failed)
{
    if (from->stamp <= l->consumer.step_from.stamp)
        return;
    record_put_step(l, from);
    record_interrupted(l, from, PP_PHASE_COLLECTIVE, failed);
}
