/* The two lanes around the workers: the shard reader before them (streaming only) and the copy lane after
 * them. */
#include "probe/loader/loader_impl.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "probe/ranks/lease.h"
#include "probe/sampler/sampler.h"
#include "probe/trace/observe.h"
#include "probe/trace/trace.h"

/* ---- reader: shards -> items, in stream order, epoch after epoch ---- */

struct reader {
    struct pp_loader *l;
    struct pp_thread *trace;
    struct pp_stream *stream;
    uint64_t epoch, samples;
    struct pp_err first_error;                /* of the epoch; code PP_OK: none */
    uint64_t leased;                          /* shards, in this epoch */
    int dry, over;                            /* no shard is free now; all shards of the epoch are done */
    uint16_t leases_held, shard, shard_first; /* counters */
};

static struct pp_lap reader_lap(const struct reader *r)
{
    return (struct pp_lap){.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH, .epoch = (uint16_t)r->epoch};
}

/* A place in a shard that cannot be read. The stream goes on behind it, or at the same place after a passing
 * failure. PP_OK: go on. */
static pp_status stream_error(struct reader *r, const struct pp_item *item, pp_status st,
                              const struct pp_err *err)
{
    const struct pp_loader_opts *o = &r->l->opts;
    struct pp_lap lap = reader_lap(r);
    lap.flags = PP_SPAN_ERROR;
    pp_phase_end(r->trace, PP_PHASE_READ, &lap);
    if (st == PP_E_TRANSIENT) {
        atomic_fetch_add_explicit(&r->l->stream_retries, 1, memory_order_relaxed);
        pp_phase_begin(r->trace, PP_PHASE_RETRY, PP_NO_BATCH);
        pp_stop_sleep(&r->l->stop, o->retry_backoff_ns);
        lap.flags = PP_SPAN_RETRY;
        pp_phase_end(r->trace, PP_PHASE_RETRY, &lap);
        return PP_OK;
    }
    int fails = o->on_error == PP_ON_ERROR_FAIL || pp_stop_is_machines(st);
    atomic_fetch_add_explicit(&r->l->stream_errors, 1, memory_order_relaxed);
    if (r->first_error.code == PP_OK)
        r->first_error = *err;
    const struct pp_loader_error e = {.sample = PP_NO_SAMPLE,
                                      .batch = PP_NO_BATCH,
                                      .path = item->path,
                                      .action = fails ? "failed" : "skipped"};
    pp_loader_report_error(r->l, r->trace, e, st, err);
    return fails ? st : PP_OK;
}

/* ---- leases (probe/ranks/lease.h) ---- */

/* Before the stream is asked for its next sample: what it reads is this rank's. */
static pp_status keep_leases(struct reader *r, struct pp_err *err)
{
    const struct pp_loader_opts *o = &r->l->opts;
    uint64_t at = pp_stream_at(r->stream), shard;
    if (at != UINT64_MAX && pp_lease_is_lost(o->lease, r->epoch, at))
        pp_stream_leave(r->stream);
    if (r->dry || !pp_stream_wants(r->stream))
        return PP_OK;
    /* The next shard is leased, or it is found that there is none now (r->dry). */
    for (int tries = 0;; tries++) {
        struct pp_lap lap = reader_lap(r);
        enum pp_lease_answer answer = PP_LEASE_WAIT;
        pp_phase_begin(r->trace, PP_PHASE_LEASE, PP_NO_BATCH);
        pp_status st = pp_lease_take(o->lease, r->epoch, pp_stream_order(r->stream), &shard, &answer, err);
        if (st == PP_OK && answer == PP_LEASE_TAKEN)
            st = pp_stream_add(r->stream, shard, err);
        lap.flags = st == PP_OK ? 0 : PP_SPAN_ERROR;
        pp_phase_end(r->trace, PP_PHASE_LEASE, &lap);
        if (st == PP_OK) {
            pp_counter_put(r->trace, r->leases_held, pp_lease_counts(o->lease).held);
            r->leased += answer == PP_LEASE_TAKEN;
            r->dry = answer != PP_LEASE_TAKEN;
            r->over = answer == PP_LEASE_OVER;
            if (r->dry)
                pp_stream_drain(r->stream, 1);
        }
        if (st != PP_E_TRANSIENT || tries >= o->retries)
            return st;
        pp_stop_sleep(&r->l->stop, o->retry_backoff_ns << tries);
    }
}

/* The stream has nothing. PP_OK: go on; it was waited for a lease. What the stream still held is on its way:
 * the batch that it is in is closed short, and the shards of other ranks, or the last steps on this one's,
 * are waited for. */
static pp_status wait_for_lease(struct reader *r)
{
    enum { STEP_NS = 10000000 };
    struct pp_loader *l = r->l;
    struct pp_lap lap = reader_lap(r);
    int over = !l->opts.lease || r->over;
    r->dry = r->over = 0;
    if (over)
        return PP_END;
    int wanted = pp_dispatch_flush(&l->dispatch);
    uint64_t now = pp_now_ns(), until = now + pp_lease_look_ns(l->opts.lease);
    pp_phase_begin(r->trace, PP_PHASE_LEASE_WAIT, PP_NO_BATCH);
    for (; wanted && now < until; now = pp_now_ns()) {
        /* When all that was read has gone through the trainer, the shards are done whose last samples no
         * batch told of: those that end in damage, or hold none. Device buffers are free again after their
         * step. */
        if (pp_dispatch_look(&l->dispatch).idle &&
            pp_queue_depth(&l->buffers) == (size_t)l->opts.copy_buffers)
            pp_lease_delivered(l->opts.lease, r->epoch, r->leased);
        pp_sleep_until_ns(now + STEP_NS < until ? now + STEP_NS : until);
        wanted = pp_dispatch_flush(&l->dispatch) && !pp_stop_is_requested(&l->stop);
    }
    pp_phase_end(r->trace, PP_PHASE_LEASE_WAIT, &lap);
    return wanted ? PP_OK : PP_E_INTERRUPTED;
}

/* ---- an epoch ---- */

/* One epoch of the stream into items. PP_END: the epoch is over; PP_E_INTERRUPTED: the loader is stopping. */
static pp_status read_epoch(struct reader *r, struct pp_err *err)
{
    struct pp_dispatch *d = &r->l->dispatch;
    for (;;) {
        struct pp_item *item;
        struct pp_lap lap = reader_lap(r);
        pp_status leased = r->l->opts.lease ? keep_leases(r, err) : PP_OK;
        if (leased != PP_OK)
            return leased;
        pp_phase_begin(r->trace, PP_PHASE_PUT_WAIT, PP_NO_BATCH);
        if (pp_dispatch_item_get(d, &item) != PP_OK)
            return PP_E_INTERRUPTED;
        pp_phase_end(r->trace, PP_PHASE_PUT_WAIT, &lap);
        item->path[0] = '\0';
        pp_phase_begin(r->trace, PP_PHASE_READ, PP_NO_BATCH);
        pp_gate_enter(&r->l->reader_gate);
        pp_status st = pp_stream_next(r->stream, &item->sample, item->path, sizeof(item->path), err);
        pp_gate_leave(&r->l->reader_gate);
        if (st == PP_E_INTERRUPTED && r->l->opts.lease &&
            pp_stream_wants(r->stream)) { /* the buffer is not full, and the next shard is to be leased */
            pp_phase_end(r->trace, PP_PHASE_READ, &lap);
            pp_dispatch_item_done(d, item);
            continue;
        }
        if (st != PP_OK) {
            pp_status go_on = st == PP_END ? st : stream_error(r, item, st, err);
            pp_dispatch_item_done(d, item);
            if (st == PP_END)
                go_on = wait_for_lease(r);
            if (go_on != PP_OK)
                return go_on;
            continue;
        }
        /* for the judgement of the order afterwards (report/findings/shuffle.c) */
        for (uint64_t shard, first; pp_stream_begun(r->stream, &shard, &first);) {
            pp_counter_put(r->trace, r->shard, shard);
            pp_counter_put(r->trace, r->shard_first, first);
        }
        lap.sample = item->sample.index;
        lap.bytes = item->sample.size;
        if (item->sample.cache_known) {
            lap.flags |= PP_SPAN_HAS_CACHE;
            lap.cache_hit_kib = (uint32_t)((item->sample.cache_hit_bytes + 512) >> 10);
        }
        pp_phase_end(r->trace, PP_PHASE_READ, &lap);
        item->epoch = r->epoch;
        pp_stream_cursor(r->stream, &item->cursor);
        pp_dispatch_item_put(d, item);
        r->samples++;
    }
}

struct pp_stream_opts pp_reader_stream_opts(const struct pp_loader_opts *o, uint64_t epoch)
{
    struct pp_stream_opts so = {.seed = o->seed,
                                .epoch = epoch,
                                .shuffle_shards = o->shuffle_shards,
                                .shuffle_buffer = o->shuffle_buffer,
                                .rank = o->rank,
                                .world_size = o->world_size,
                                .sample_limit = o->sample_memory,
                                .leased = o->lease != NULL};
    if (epoch == o->start_epoch && o->from_cursor)
        so.from = o->start_cursor;
    else if (epoch == o->start_epoch)
        so.skip = o->start_position;
    return so;
}

void *pp_reader_main(void *arg)
{
    struct pp_loader *l = arg;
    const struct pp_loader_opts *o = &l->opts;
    struct pp_err err;
    pthread_setname_np(pthread_self(), "pp-reader-0");
    struct reader r = {.l = l,
                       .trace = pp_thread_register(o->session, PP_LANE_READER, "pp-reader-0"),
                       .epoch = o->start_epoch,
                       .shard = pp_name_intern(o->session, "stream_shard"),
                       .shard_first = pp_name_intern(o->session, "stream_shard_first"),
                       .leases_held = o->lease ? pp_name_intern(o->session, "leases_held") : 0};
    pp_lap_start(r.trace);
    pp_err_clear(&err);
    for (; !o->max_epochs || r.epoch < o->max_epochs; r.epoch++) {
        struct pp_stream_opts so = pp_reader_stream_opts(o, r.epoch);
        int resumed = r.epoch == o->start_epoch && (so.skip || o->from_cursor);
        pp_gate_enter(&l->reader_gate);
        pp_status st = pp_stream_open(o->dataset, &so, &r.stream, &err);
        pp_gate_leave(&l->reader_gate);
        r.samples = r.leased = 0;
        pp_err_clear(&r.first_error);
        struct pp_lap lap = reader_lap(&r);
        pp_phase_end(r.trace, PP_PHASE_SAMPLER, &lap); /* the order of the shards */
        if (st == PP_OK)
            st = read_epoch(&r, &err);
        pp_stream_close(r.stream);
        r.stream = NULL;
        if (st == PP_END && !r.samples && !resumed && !o->lease)
            st = pp_fail(&err, PP_E_EMPTY, "epoch %llu of the stream had no sample: %s",
                         (unsigned long long)r.epoch,
                         r.first_error.code != PP_OK
                             ? r.first_error.text
                             : "check the shards, or --world-size (every rank needs a shard)");
        if (st != PP_END) {
            if (st != PP_E_INTERRUPTED)
                pp_stop_fail(&l->stop, st, &err);
            break;
        }
    }
    l->reader_io = pp_io_tally();
    pp_dispatch_item_put(&l->dispatch, NULL);
    pp_thread_retire(r.trace);
    pp_gate_end(&l->reader_gate);
    return NULL;
}

/* ---- copy lane: ready slots -> device ---- */

struct pp_lap pp_batch_lap(const struct pp_loader *l, uint64_t batch, uint64_t epoch, uint64_t samples)
{
    return (struct pp_lap){.sample = samples,
                           .batch = (uint32_t)batch,
                           .epoch = (uint16_t)epoch,
                           .flags = PP_SPAN_COUNT | pp_batch_flags(l, batch)};
}

void pp_slot_deliver(const struct pp_loader *l, const struct pp_slot *s, const void *data, uint64_t bytes,
                     struct pp_device_batch *out)
{
    const struct pp_loader_events *ev = &l->opts.events;
    if (ev->deliver)
        ev->deliver(ev->ctx, &(struct pp_loader_delivery){.batch = s->batch,
                                                          .epoch = s->epoch,
                                                          .data = data,
                                                          .labels = s->labels,
                                                          .indexes = s->indexes,
                                                          .samples = s->valid});
    *out = (struct pp_device_batch){.batch = s->batch,
                                    .epoch = s->epoch,
                                    .samples = s->valid,
                                    .bytes = bytes,
                                    .end_position = s->end_position,
                                    .cursor = s->cursor};
}

static pp_status copy_batch(struct pp_loader *l, struct pp_thread *t, struct pp_slot *s, struct pp_err *err)
{
    struct pp_device *device = l->opts.device;
    struct pp_lap lap = pp_batch_lap(l, s->batch, s->epoch, s->valid);
    void *item;
    size_t bytes = s->valid * l->row_bytes;
    pp_phase_begin(t, PP_PHASE_PUT_WAIT, lap.batch);
    pp_status st = pp_queue_get(&l->buffers, &item, UINT64_MAX);
    pp_phase_end(t, PP_PHASE_PUT_WAIT, &lap);
    if (st != PP_OK)
        return st;
    pp_phase_begin(t, PP_PHASE_H2D, lap.batch);
    if (!(l->opts.cached_batches && s->copied)) {
        struct pp_device_info info;
        uint64_t ticket;
        pp_device_info(device, &info);
        pp_fault_copy(l->opts.faults, bytes, info.pinned);
        pp_device_begin(device, s->batch);
        st = pp_device_copy_start(device, s->data, bytes, &ticket, err);
        if (st == PP_OK)
            st = pp_device_copy_wait(device, ticket, err);
        pp_device_end(device);
        lap.bytes = bytes;
    }
    s->copied = 1;
    lap.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
    pp_phase_end(t, PP_PHASE_H2D, &lap);
    if (st != PP_OK)
        return st;
    pp_slot_deliver(l, s, s->data, bytes, item);
    return pp_queue_put(&l->arrived, item);
}

/* A run in which nothing can be used would read for ever and deliver nothing: after a whole epoch of it, say
 * so. */
pp_status pp_check_useless(struct pp_loader *l, uint64_t useless, struct pp_err *err)
{
    const struct pp_useless *why = &l->stop.useless;
    size_t most = 0;
    if (useless < (l->opts.streaming ? 100000 : pp_sampler_len(l->opts.sampler)))
        return PP_OK;
    pthread_mutex_lock(&l->stop.lock);
    for (size_t i = 1; i < PP_STATUS_COUNT; i++)
        most = why->times[i] > why->times[most] ? i : most;
    pp_status st = pp_fail(
        err, PP_E_CORRUPT,
        "none of the last %llu sample%s could be used; most often they are %s (%llu), for example %s",
        (unsigned long long)useless, useless == 1 ? "" : "s", pp_status_name((pp_status)most),
        (unsigned long long)why->times[most], why->example[most]);
    pthread_mutex_unlock(&l->stop.lock);
    return st;
}

void *pp_copy_main(void *arg)
{
    struct pp_loader *l = arg;
    struct pp_err err;
    uint64_t useless = 0;
    void *item;
    pp_status st = PP_OK;
    pthread_setname_np(pthread_self(), "pp-copy");
    struct pp_thread *t = pp_thread_register(l->opts.session, PP_LANE_COPY, "pp-copy");
    pp_err_clear(&err);
    pp_lap_start(t);
    while (st == PP_OK) {
        pp_phase_begin(t, PP_PHASE_GET_WAIT, PP_NO_BATCH);
        if (pp_queue_get(&l->ready, &item, UINT64_MAX) != PP_OK)
            break;
        struct pp_slot *s = item;
        struct pp_lap lap = pp_batch_lap(l, s->batch, s->epoch, s->valid);
        pp_phase_end(t, PP_PHASE_GET_WAIT, &lap);
        if (s->valid && !s->discard) {
            st = copy_batch(l, t, s, &err);
            useless = 0;
        } else if (!s->discard) {
            useless += s->rows;
            st = pp_check_useless(l, useless, &err);
        }
        pp_dispatch_release(&l->dispatch, s);
    }
    if (st != PP_OK && st != PP_END)
        pp_stop_fail(&l->stop, st, &err);
    pp_queue_close(&l->arrived);
    pp_thread_retire(t);
    return NULL;
}
