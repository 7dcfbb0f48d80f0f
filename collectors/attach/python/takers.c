#include "collectors/attach/python/record.h"

#include "probe/trace/join.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One that was called backward in this process, and the count of forks it was in. The interpreter's lock is
 * held by every caller in this file. */
static struct {
    int any;
    uint64_t forks;
} trained;

/* ---- what a thread is ---- */

static int is_main(struct record_local *l)
{
    if (!l->taker.main)
        l->taker.main = syscall(SYS_gettid) == getpid() ? 1 : -1;
    return l->taker.main > 0;
}

static int another_trains(void)
{
    return trained.any && trained.forks == record_forks();
}

/* Threads that another has taken a batch from, the last few. */
static const struct record_local *givers[16];

static void note_giver(const struct record_local *from)
{
    static unsigned at;
    for (size_t i = 0; i < sizeof(givers) / sizeof(*givers); i++)
        if (givers[i] == from)
            return;
    givers[at++ % (sizeof(givers) / sizeof(*givers))] = from;
}

static int gives(struct record_local *l)
{
    for (size_t i = 0; i < sizeof(givers) / sizeof(*givers) && !l->taker.gives; i++)
        l->taker.gives = givers[i] == l;
    return l->taker.gives;
}

static enum record_role role_of(struct record_local *l)
{
    if (l->taker.trains)
        return RECORD_TRAINER;
    if (gives(l) || another_trains())
        return RECORD_PREFETCHES;
    return is_main(l) || l->taker.settled ? RECORD_TRAINER : RECORD_UNDECIDED;
}

static const struct {
    pp_lane lane;
    const char *name;
} lanes[] = {
    [RECORD_UNDECIDED] = {PP_LANE_MAIN, "batches"},
    [RECORD_TRAINER] = {PP_LANE_TRAINER, "trainer"},
    [RECORD_PREFETCHES] = {PP_LANE_COPY, "prefetch"},
};

/* The trainer's wait is the prefetching thread's get_wait; what that does between two of them is not the
 * step. */
static void put_as(struct record_local *l, struct pp_span *s)
{
    if (l->taker.role == RECORD_PREFETCHES && s->phase == PP_PHASE_DATA_WAIT) {
        s->phase = PP_PHASE_GET_WAIT;
        s->sample = PP_NO_SAMPLE;
        s->flags &= (uint16_t)~PP_SPAN_COUNT;
    }
    int copies = s->phase == PP_PHASE_GET_WAIT || s->phase == PP_PHASE_PUT_WAIT;
    if (copies == (l->taker.role == RECORD_PREFETCHES))
        pp_span_put_stamped(l->trainer.trace, s);
}

/* Its role as of now; what waited for it to be known is put. */
static enum record_role settle(struct record_local *l)
{
    enum record_role role = role_of(l);
    if (role == l->taker.role)
        return role;
    l->taker.role = role;
    pp_thread_set_lane(l->trainer.trace, lanes[role].lane);
    if (l->trainer.trace)
        pp_thread_rename(l->trainer.trace, lanes[role].name);
    for (unsigned i = 0; l->trainer.trace && i < l->taker.n_held; i++)
        put_as(l, &l->taker.held[i]);
    l->taker.n_held = 0;
    return role;
}

int record_taker_is_open(const struct record_local *l)
{
    return l->trainer.trace && l->trainer.forks == record_forks();
}

int record_taker_open(struct record_local *l)
{
    if (record_taker_is_open(l))
        return 1;
    l->taker.role = role_of(l);
    l->taker.n_held = 0;
    return record_lane_open(&l->trainer, lanes[l->taker.role].lane, lanes[l->taker.role].name);
}

void record_taker_open_early(struct record_local *l)
{
    if (role_of(l) == RECORD_TRAINER)
        (void)record_taker_open(l);
}

void record_taker_put(struct record_local *l, pp_phase phase, const struct record_mark *from,
                      const struct record_mark *to, const struct record_about *about)
{
    struct pp_span s = record_span(&l->trainer, phase, from, to, about);
    if (settle(l) != RECORD_UNDECIDED) {
        put_as(l, &s);
        return;
    }
    if (!l->taker.held)
        l->taker.held = calloc(RECORD_HELD_MAX, sizeof(*l->taker.held));
    if (l->taker.held)
        l->taker.held[l->taker.n_held++] = s;
    /* No thread trains: the one that takes the batches is what they are for. */
    l->taker.settled = !l->taker.held || l->taker.n_held == RECORD_HELD_MAX;
    if (l->taker.settled)
        settle(l);
}

void record_taker_end(struct record_local *l)
{
    l->taker.settled = 1;
    if (record_taker_is_open(l))
        settle(l);
    for (size_t i = 0; i < sizeof(givers) / sizeof(*givers); i++)
        if (givers[i] == l) /* its place in memory may become another thread's */
            givers[i] = NULL;
    free(l->taker.held);
    l->taker.held = NULL;
}

void record_trains(struct record_local *l)
{
    l->taker.trains = 1;
    trained.any = 1;
    trained.forks = record_forks();
}

/* ---- batches from one thread to another ---- */

static const struct record_parcel no_batch = {{.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH}, 0};

static void add(struct record_handed *h, struct record_parcel parcel)
{
    h->parcel[h->put++ % RECORD_HANDED_MAX] = parcel;
    if (h->put - h->got > RECORD_HANDED_MAX)
        h->got = h->put - RECORD_HANDED_MAX;
}

static struct record_parcel take(struct record_handed *h)
{
    return h->got < h->put ? h->parcel[h->got++ % RECORD_HANDED_MAX] : no_batch;
}

void record_holds(struct record_local *l, const struct record_about *about)
{
    add(&l->taker.own, (struct record_parcel){*about, 1});
}

int record_may_hand_over(struct record_local *l, int known)
{
    const struct record_handed *own = &l->taker.own;
    return record_taker_is_open(l) && (known || own->got < own->put) && settle(l) != RECORD_TRAINER;
}

void record_hand_over(struct record_local *l, struct record_handed *h)
{
    l->taker.gives |= h->taken;
    h->from = l;
    add(h, take(&l->taker.own));
}

void record_hand_back(struct record_local *l, struct record_handed *h)
{
    if (h->put > h->got && h->parcel[--h->put % RECORD_HANDED_MAX].is_batch && l->taker.own.got)
        l->taker.own.got--;
}

void record_put_end(struct record_local *l, const struct record_mark *from)
{
    struct record_mark now = record_now(&l->trainer, 1);
    record_taker_put(l, PP_PHASE_PUT_WAIT, from, &now, &no_batch.about);
}

struct record_mark record_ago(const struct record_lane *lane, uint64_t ns)
{
    const uint64_t probe = 1000000;
    struct record_mark m = {.stamp = pp_thread_stamp(lane->trace)};
    double ns_per_stamp = (double)pp_thread_stamps_ns(lane->trace, m.stamp - probe, m.stamp) / (double)probe;
    m.stamp -= (uint64_t)((double)ns / (ns_per_stamp > 0 ? ns_per_stamp : 1));
    return m;
}

void record_get_end(struct record_local *l, const struct record_mark *from, struct record_handed *h)
{
    struct record_mark now = record_now(&l->trainer, 1);
    struct record_parcel got = take(h);
    h->taken = 1;
    if (h->from && h->from != l)
        note_giver(h->from);
    if (l->step_from.stamp)
        record_taker_put(l, PP_PHASE_STEP, &l->step_from, from, &l->step);
    l->step_from.stamp = 0;
    record_taker_put(l, got.is_batch ? PP_PHASE_DATA_WAIT : PP_PHASE_EPOCH_BOUNDARY, from, &now, &got.about);
    if (!got.is_batch)
        return;
    l->step_from = now;
    l->step = got.about;
    record_holds(l, &got.about);
    record_gpu_batch(l, got.about.batch);
}
