/* The trainer: waits for a batch, does a step, gives the device buffer back. The data_wait spans recorded
 * here are the stall a GPU sees. */
#include "probe/loader/loader_impl.h"

#include "probe/base/clock.h"
#include "probe/device/device.h"
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

/* ---- the other ranks ---- */

struct counters {
    uint16_t depth[3], last_rank, others_ns;
};

struct waiting {
    struct pp_loader *loader;
    const struct pp_loader_result *result;
    uint64_t wait_ns, deadline_ns;
};

/* The run ends on time also while another rank is waited for. */
static int look_while_waiting(void *ctx)
{
    const struct waiting *w = ctx;
    tick(w->loader, w->result, w->wait_ns);
    return pp_stop_is_requested(&w->loader->stop) || pp_now_ns() >= w->deadline_ns;
}

/* As an all-reduce after each step makes it: no rank goes on before the slowest has come. b NULL: before the
 * first step, until all are there. */
static void meet_ranks(struct pp_loader *l, struct pp_thread *t, const struct pp_device_batch *b,
                       const struct counters *names, struct waiting *w, struct pp_loader_result *r)
{
    struct pp_collective *c = l->opts.collective;
    struct pp_meeting met;
    if (!c || (b && pp_collective_is_alone(c)))
        return;
    struct pp_lap lap = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH, .epoch = (uint16_t)r->epoch};
    if (b)
        lap = pp_batch_lap(l, b->batch, b->epoch, b->samples);
    pp_phase_begin(t, PP_PHASE_COLLECTIVE, lap.batch);
    pp_status st = pp_collective_meet(c, look_while_waiting, w, b ? &met : NULL);
    lap.flags |= st == PP_E_INTERRUPTED ? PP_SPAN_UNFINISHED : 0;
    pp_phase_end(t, PP_PHASE_COLLECTIVE, &lap);
    if (st != PP_OK || !b)
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
    if (text)
        pp_loader_note(l, "%s", text);
    while (l->opts.lease && pp_lease_news(l->opts.lease, leased, sizeof(leased)))
        pp_loader_note(l, "%s", leased);
}

/* How full the queues are, where a resumed run goes on (behind the batch with the highest number, since every
 * batch before it has been delivered by then), and the step. */
static void do_step(struct pp_loader *l, struct pp_thread *t, const struct pp_device_batch *b,
                    const struct counters *names, uint64_t *highest, struct pp_loader_result *r)
{
    struct pp_lap lap = pp_batch_lap(l, b->batch, b->epoch, b->samples);
    struct pp_device *device = l->opts.device;
    struct pp_err err;
    if (!r->batches || b->batch >= *highest) {
        *highest = b->batch;
        r->epoch = b->epoch;
        r->position = b->end_position;
        r->cursor = b->cursor;
    }
    if (t) {
        pp_counter_put(t, names->depth[0], pp_queue_depth(&l->ready));
        pp_counter_put(t, names->depth[1], pp_dispatch_look(&l->dispatch).free_slots);
        pp_counter_put(t, names->depth[2], pp_queue_depth(&l->arrived));
    }
    if (l->opts.step != PP_STEP_NONE) {
        struct pp_lap stepped = lap;
        uint64_t cpu_end = pp_thread_cpu_ns() + l->opts.step_ns;
        int on_device = l->opts.step == PP_STEP_DEVICE || l->opts.step == PP_STEP_DEVICE_WORK;
        int sleeps = l->opts.step == PP_STEP_SLEEP || (on_device && pp_fallback_is_taken(&l->fallback));
        pp_status st = PP_OK;
        pp_phase_begin(t, PP_PHASE_STEP, lap.batch);
        if (on_device && !sleeps) {
            pp_device_begin(device, b->batch);
            st = pp_device_step_start(device, l->opts.step_ns, &err);
            if (st == PP_OK)
                st = pp_device_step_wait(device, &err);
            pp_device_end(device);
            if (st != PP_OK && pp_fallback_take(l, &err)) { /* without the device, a sleep */
                sleeps = 1;
                st = PP_OK;
            }
        }
        if (sleeps)
            pp_stop_sleep(&l->stop, l->opts.step_ns);
        /* Of CPU time, as a real step's host part is: a trainer that has to share its CPU takes longer. */
        while (l->opts.step == PP_STEP_SPIN && pp_thread_cpu_ns() < cpu_end &&
               !pp_stop_is_requested(&l->stop)) {
        }
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
        pp_fault_pass(l->opts.faults, PP_FAULT_SYNC);
        pp_phase_end(t, PP_PHASE_DEVICE_SYNC, &lap);
    }
}

void pp_trainer_run(struct pp_loader *l, struct pp_loader_result *r)
{
    const struct pp_loader_opts *o = &l->opts;
    struct pp_thread *t = pp_thread_register(o->session, PP_LANE_TRAINER, "pp-trainer");
    const struct counters names = {
        .depth = {pp_name_intern(o->session, "queue_ready_batches"),
                  pp_name_intern(o->session, "queue_free_slots"),
                  pp_name_intern(o->session, "queue_device_batches")},
        .last_rank = pp_name_intern(o->session, "collective_last_rank"),
        .others_ns = pp_name_intern(o->session, "collective_others_ns"),
    };
    uint64_t highest = 0, wait_ns = 0, deadline = UINT64_MAX;
    int draining = 0;

    pp_lap_start(t);
    r->start_ns = pp_now_ns();
    meet_ranks(l, t, NULL, &names, &(struct waiting){.loader = l, .result = r, .deadline_ns = UINT64_MAX}, r);
    r->start_ns = pp_now_ns(); /* the ranks of a run start together */
    if (o->max_ns)
        deadline = r->start_ns + o->max_ns;
    r->ended_by = o->max_steps ? "steps" : "epochs";
    if (!o->warmup_steps)
        r->warm_ns = r->start_ns;
    for (;;) {
        struct pp_device_batch *b;
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
            int first_of_epoch = r->batches && b->epoch != r->epoch;
            struct pp_lap lap = pp_batch_lap(l, b->batch, b->epoch, b->samples);
            lap.bytes = b->bytes;
            pp_phase_end(t, first_of_epoch ? PP_PHASE_EPOCH_BOUNDARY : PP_PHASE_DATA_WAIT, &lap);
            if (!r->batches)
                r->first_batch_ns = pp_now_ns();
            do_step(l, t, b, &names, &highest, r);
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
            pp_dispatch_end(&l->dispatch, 0);
        }
    }
    r->end_ns = pp_now_ns();
    if (o->lease)
        tell_news(l);
    pp_thread_retire(t);
}
