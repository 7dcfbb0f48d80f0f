/* The trainer: waits for a batch, does a step, gives the device buffer back. The data_wait spans recorded
 * here are the stall a GPU sees. */
#include "probe/loader/loader_impl.h"

#include "probe/base/clock.h"
#include "probe/device/device.h"
#include "probe/loader/fault.h"
#include "probe/ranks/collective.h"
#include "probe/ranks/lease.h"
#include "probe/trace/observe.h"
#include "probe/trace/trace.h"

const char *pp_step_name(enum pp_step_kind step)
{
    static const char *const names[] = {[PP_STEP_NONE] = "none",
                                        [PP_STEP_SLEEP] = "sleep",
                                        [PP_STEP_SPIN] = "spin",
                                        [PP_STEP_DEVICE] = "cuda",
                                        [PP_STEP_DEVICE_WORK] = "cuda-work"};
    return names[step];
}

static void tick(struct pp_loader *l, const struct pp_loader_result *r, uint64_t wait_ns)
{
    const struct pp_loader_events *ev = &l->opts.events;
    struct pp_loader_progress p = {.batches = r->batches,
                                   .samples = r->samples,
                                   .epoch = r->epoch,
                                   .elapsed_ns = pp_now_ns() - r->start_ns,
                                   .wait_ns = wait_ns};
    if (ev->tick && ev->tick(ev->ctx, &p))
        pp_stop_request(&l->stop);
}

/* PP_OK with a batch; PP_END: there are no more; PP_E_INTERRUPTED: deadline, or asked to stop. */
static pp_status wait_batch(struct pp_loader *l, const struct pp_loader_result *r, uint64_t deadline_ns,
                            uint64_t *wait_ns, struct pp_device_batch **out)
{
    for (;;) {
        uint64_t now = pp_now_ns(), look = now + PP_STOP_CHECK_NS;
        void *item;
        pp_status st = pp_queue_get(&l->arrived, &item, look < deadline_ns ? look : deadline_ns);
        *wait_ns += pp_now_ns() - now;
        *out = st == PP_OK ? item : NULL;
        if (st != PP_E_INTERRUPTED || pp_stop_is_requested(&l->stop) || pp_now_ns() >= deadline_ns)
            return st;
        tick(l, r, *wait_ns);
    }
}

static pp_status device_step(struct pp_loader *l, uint64_t batch, struct pp_err *err)
{
    pp_device_begin(l->opts.device, batch);
    pp_status st = pp_device_step_start(l->opts.device, l->opts.step_ns, err);
    if (st == PP_OK)
        st = pp_device_step_wait(l->opts.device, err);
    pp_device_end(l->opts.device);
    return st;
}

static pp_status step(struct pp_loader *l, uint64_t batch, struct pp_err *err)
{
    uint64_t cpu_end = pp_thread_cpu_ns() + l->opts.step_ns;
    switch (l->opts.step) {
    case PP_STEP_NONE: break;
    case PP_STEP_SPIN: /* of CPU time, as the host part of a real step is: a trainer that has to share its CPU
                          takes longer */
        while (pp_thread_cpu_ns() < cpu_end && !pp_stop_is_requested(&l->stop)) {
        }
        break;
    case PP_STEP_SLEEP: pp_stop_sleep(&l->stop, l->opts.step_ns); break;
    case PP_STEP_DEVICE:
    case PP_STEP_DEVICE_WORK: {
        /* Without the device, a sleep. */
        int sleeps = pp_fallback_is_taken(&l->fallback);
        pp_status st = sleeps ? PP_OK : device_step(l, batch, err);
        if (st != PP_OK && pp_fallback_take(l, err)) {
            sleeps = 1;
            st = PP_OK;
        }
        if (sleeps)
            pp_stop_sleep(&l->stop, l->opts.step_ns);
        return st;
    }
    }
    return PP_OK;
}

/* ---- the other ranks ---- */

struct counters {
    uint16_t depth[3], last_rank, others_ns;
};

static struct counters counters_of(struct pp_session *s)
{
    return (struct counters){
        .depth = {pp_name_intern(s, "queue_ready_batches"), pp_name_intern(s, "queue_free_slots"),
                  pp_name_intern(s, "queue_device_batches")},
        .last_rank = pp_name_intern(s, "collective_last_rank"),
        .others_ns = pp_name_intern(s, "collective_others_ns"),
    };
}

struct waiting {
    struct pp_loader *loader;
    const struct pp_loader_result *result;
    uint64_t wait_ns, deadline_ns;
};

/* The run ends on time also while another rank is waited for. */
static int look(void *ctx)
{
    const struct waiting *w = ctx;
    tick(w->loader, w->result, w->wait_ns);
    return pp_stop_is_requested(&w->loader->stop) || pp_now_ns() >= w->deadline_ns;
}

static void gather(struct pp_loader *l, struct pp_thread *t, const struct pp_loader_result *r)
{
    struct waiting w = {.loader = l, .result = r, .deadline_ns = UINT64_MAX};
    pp_phase_begin(t, PP_PHASE_COLLECTIVE, PP_NO_BATCH);
    pp_status st = pp_collective_gather(l->opts.collective, look, &w);
    pp_phase_end(t, PP_PHASE_COLLECTIVE,
                 &(struct pp_lap){.sample = PP_NO_SAMPLE,
                                  .batch = PP_NO_BATCH,
                                  .epoch = (uint16_t)r->epoch,
                                  .flags = st == PP_OK ? 0 : PP_SPAN_UNFINISHED});
}

/* As an all-reduce after each step makes it: no rank goes on before the slowest has come. */
static void meet_ranks(struct pp_loader *l, struct pp_thread *t, const struct pp_device_batch *b,
                       const struct counters *names, struct waiting *w, struct pp_loader_result *r)
{
    struct pp_collective *c = l->opts.collective;
    struct pp_meeting met;
    if (!c || pp_collective_is_alone(c))
        return;
    pp_phase_begin(t, PP_PHASE_COLLECTIVE, (uint32_t)b->batch);
    pp_status st = pp_collective_meet(c, look, w, &met);
    pp_phase_end(t, PP_PHASE_COLLECTIVE,
                 &(struct pp_lap){.sample = b->samples,
                                  .batch = (uint32_t)b->batch,
                                  .epoch = (uint16_t)b->epoch,
                                  .flags = PP_SPAN_COUNT | pp_batch_flags(l, b->batch) |
                                           (st == PP_E_INTERRUPTED ? PP_SPAN_UNFINISHED : 0)});
    if (st != PP_OK)
        return;
    r->meetings++;
    pp_counter_put(t, names->last_rank, met.last_rank);
    pp_counter_put(t, names->others_ns, met.others_ns);
}

/* Only where the run goes on: that the ranks of a run end together is no news. */
static void tell_news(struct pp_loader *l)
{
    const char *text = l->opts.collective ? pp_collective_news(l->opts.collective) : NULL;
    char leased[320];
    if (text && l->opts.events.note)
        l->opts.events.note(l->opts.events.ctx, text);
    while (l->opts.lease && pp_lease_news(l->opts.lease, leased, sizeof(leased)))
        if (l->opts.events.note)
            l->opts.events.note(l->opts.events.ctx, leased);
}

static void record_depths(struct pp_loader *l, struct pp_thread *t, const uint16_t names[3])
{
    if (!t)
        return;
    const uint64_t depth[3] = {pp_queue_depth(&l->ready), pp_dispatch_free_slots(&l->dispatch),
                               pp_queue_depth(&l->arrived)};
    for (int i = 0; i < 3; i++)
        pp_counter_put(t, names[i], depth[i]);
}

/* Where a resumed run goes on: behind the batch with the highest number, since every batch before it has been
 * delivered by then. */
static void note_position(struct pp_loader_result *r, const struct pp_device_batch *b, uint64_t *highest)
{
    if (r->batches && b->batch < *highest)
        return;
    *highest = b->batch;
    r->epoch = b->epoch;
    r->position = b->end_position;
    r->cursor = b->cursor;
}

static void do_step(struct pp_loader *l, struct pp_thread *t, const struct pp_device_batch *b)
{
    struct pp_lap lap = {.sample = b->samples,
                         .batch = (uint32_t)b->batch,
                         .epoch = (uint16_t)b->epoch,
                         .flags = PP_SPAN_COUNT | pp_batch_flags(l, b->batch)};
    struct pp_err err;
    if (l->opts.step != PP_STEP_NONE) {
        struct pp_lap stepped = lap;
        pp_phase_begin(t, PP_PHASE_STEP, lap.batch);
        pp_status st = step(l, b->batch, &err);
        if (st != PP_OK) {
            pp_stop_fail(&l->stop, st, &err);
            stepped.flags |= PP_SPAN_ERROR;
        }
        pp_phase_end(t, PP_PHASE_STEP, &stepped);
    }
    if (l->opts.sync_every_step) {
        pp_phase_begin(t, PP_PHASE_DEVICE_SYNC, lap.batch);
        if (pp_device_sync(pp_fallback_device(l), &err) != PP_OK && !pp_fallback_take(l, &err))
            pp_stop_fail(&l->stop, err.code, &err);
        pp_fault_sync(l->opts.faults);
        pp_phase_end(t, PP_PHASE_DEVICE_SYNC, &lap);
    }
}

void pp_trainer_run(struct pp_loader *l, struct pp_loader_result *r)
{
    const struct pp_loader_opts *o = &l->opts;
    struct pp_thread *t = pp_thread_register(o->session, PP_LANE_TRAINER, "pp-trainer");
    struct counters names = counters_of(o->session);
    uint64_t highest = 0, wait_ns = 0, deadline = UINT64_MAX;
    int draining = 0;

    pp_lap_start(t);
    r->start_ns = pp_now_ns();
    if (o->collective)
        gather(l, t, r);
    r->start_ns = pp_now_ns(); /* the ranks of a run start together */
    if (o->max_ns)
        deadline = r->start_ns + o->max_ns;
    r->ended_by = o->max_steps ? "steps" : "epochs";
    if (!o->warmup_steps)
        r->warm_ns = r->start_ns;
    for (;;) {
        struct pp_device_batch *b;
        int first_of_epoch;
        tell_news(l);
        pp_phase_begin(t, PP_PHASE_DATA_WAIT, PP_NO_BATCH);
        pp_status st = wait_batch(l, r, draining ? UINT64_MAX : deadline, &wait_ns, &b);
        if (st != PP_OK) {
            pp_phase_end(t, PP_PHASE_DATA_WAIT,
                         &(struct pp_lap){.sample = PP_NO_SAMPLE,
                                          .batch = PP_NO_BATCH,
                                          .epoch = (uint16_t)r->epoch,
                                          .flags = st == PP_END ? 0 : PP_SPAN_UNFINISHED});
            if (st == PP_END)
                break;
        } else {
            first_of_epoch = r->batches && b->epoch != r->epoch;
            pp_phase_end(t, first_of_epoch ? PP_PHASE_EPOCH_BOUNDARY : PP_PHASE_DATA_WAIT,
                         &(struct pp_lap){.sample = b->samples,
                                          .bytes = b->bytes,
                                          .batch = (uint32_t)b->batch,
                                          .epoch = (uint16_t)b->epoch,
                                          .flags = PP_SPAN_COUNT | pp_batch_flags(l, b->batch)});
            if (!r->batches)
                r->first_batch_ns = pp_now_ns();
            note_position(r, b, &highest);
            record_depths(l, t, names.depth);
            do_step(l, t, b);
            meet_ranks(l, t, b, &names, &(struct waiting){l, r, wait_ns, draining ? UINT64_MAX : deadline},
                       r);
            r->batches++;
            r->samples += b->samples;
            if (o->lease)
                pp_lease_delivered(o->lease, b->epoch, b->cursor.shard);
            pp_queue_put(&l->buffers, b); /* never blocks: it holds every buffer there is */
            if (r->batches == o->warmup_steps) {
                r->warm_ns = pp_now_ns();
                r->warm_samples = r->samples;
            }
            tick(l, r, wait_ns);
        }
        if (!draining && (pp_stop_is_requested(&l->stop) || pp_now_ns() >= deadline)) {
            r->ended_by = pp_stop_is_requested(&l->stop) ? "interrupted" : "duration";
            if (o->in_order)
                break;
            /* Out of order, batches before the highest may still be on their way: a state saved now must not
             * skip them. */
            draining = 1;
            pp_dispatch_drain(&l->dispatch);
        }
    }
    r->end_ns = pp_now_ns();
    if (o->lease)
        tell_news(l);
    pp_thread_retire(t);
}
