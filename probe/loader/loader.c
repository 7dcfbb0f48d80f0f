#include "probe/loader/loader_impl.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/device/device.h"
#include "probe/ranks/lease.h"
#include "probe/sampler/sampler.h"
#include "probe/trace/trace.h"
#include "probe/transform/transform.h"

#include <stdarg.h>

#define PATIENCE_NS 500000000u /* for a read, once the run is to end at once */

pp_status pp_loader_check(const struct pp_loader_opts *o, struct pp_err *err)
{
    uint64_t len = o->streaming ? 0 : pp_sampler_len(o->sampler);
    if (o->workers < 1 || o->prefetch < 1 || o->batch_size < 1 || o->copy_buffers < 1)
        return pp_fail(err, PP_E_USAGE,
                       "workers, prefetch, batch size and copy buffers must each be at least 1");
    if (o->ballast_cpus > o->workers)
        return pp_fail(err, PP_E_USAGE, "--cpu-ballast %.3g: more CPUs than %d workers can use",
                       o->ballast_cpus, o->workers);
    if (o->streaming) {
        /* Opening a stream reads nothing yet, and says what cannot be streamed: a rank without a shard, a
         * cursor of other ranks. */
        struct pp_stream_opts so = pp_reader_stream_opts(o, o->start_epoch);
        struct pp_stream *stream = NULL;
        if (o->on_error == PP_ON_ERROR_SUBSTITUTE)
            return pp_fail(
                err, PP_E_USAGE,
                "--on-error substitute needs random access and a stream has none; use --on-error skip, or leave out --stream");
        if (o->cached_batches)
            return pp_fail(
                err, PP_E_USAGE,
                "--cached-batches repeats the same batches, and --stream delivers new ones; leave out --stream");
        pp_status st = pp_stream_open(o->dataset, &so, &stream, err);
        pp_stream_close(stream);
        return st;
    }
    if (o->drop_last_batch && len < o->batch_size)
        return pp_fail(
            err, PP_E_USAGE,
            "a batch of %llu is larger than this rank's %llu samples and --drop-last drops it; use --batch-size %llu or less",
            (unsigned long long)o->batch_size, (unsigned long long)len, (unsigned long long)len);
    if (o->start_position > len)
        return pp_fail(err, PP_E_USAGE,
                       "the resumed run had consumed %llu samples of its epoch, but this epoch has %llu",
                       (unsigned long long)o->start_position, (unsigned long long)len);
    return PP_OK;
}

pp_status pp_loader_create(const struct pp_loader_opts *opts, struct pp_loader **out, struct pp_err *err)
{
    pp_status st = pp_loader_check(opts, err);
    if (st != PP_OK)
        return st;
    struct pp_loader *l = calloc(1, sizeof(*l));
    if (!l)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the loader");
    const size_t buffers = (size_t)opts->copy_buffers;
    l->opts = *opts;
    pthread_mutex_init(&l->stop.lock, NULL);
    pp_faults_set_stop(opts->faults, &l->stop);
    /* workers x prefetch batches in the making or ready, and one under the copy lane's hands, or as many as
     * it has decoded at a time */
    l->n_slots = (size_t)opts->workers * (size_t)opts->prefetch + (opts->decode_on_device ? buffers : 1);
    if (opts->transform)
        l->row_bytes = pp_transform_bytes(opts->transform);
    else
        st = pp_dataset_row_bytes(opts->dataset, opts->sample_memory, &l->row_bytes, err);
    if (st != PP_OK ||
        (st = pp_device_alloc(opts->device, l->n_slots * opts->batch_size * l->row_bytes, &l->slot_data,
                              err)) != PP_OK ||
        (st = pp_queue_init(&l->ready, l->n_slots, err)) != PP_OK ||
        (st = pp_queue_init(&l->arrived, buffers, err)) != PP_OK ||
        (st = pp_queue_init(&l->buffers, buffers, err)) != PP_OK)
        goto out;
    l->device_batches = calloc(buffers, sizeof(*l->device_batches));
    if (!l->device_batches) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu device buffers", buffers);
        goto out;
    }
    for (size_t i = 0; i < buffers; i++)
        pp_queue_put(&l->buffers, &l->device_batches[i]);
    const struct pp_slot_memory memory = {.data = l->slot_data,
                                          .n_slots = l->n_slots,
                                          .row_bytes = l->row_bytes};
    st = pp_dispatch_init(&l->dispatch, &l->opts, &l->ready, &memory, err);
    if (st == PP_OK && !(l->workers = calloc((size_t)opts->workers, sizeof(*l->workers))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %d workers", opts->workers);
    for (int i = 0; i < opts->workers && st == PP_OK; i++) {
        st = pp_worker_init(&l->workers[i], l, i, err);
        if (st == PP_OK && opts->inflight > 1 && !opts->streaming && !opts->cached_batches)
            st = pp_ahead_create(&l->opts, i, &l->workers[i].ahead, err);
    }
    if (st == PP_OK)
        st = pp_decoding_init(l, err);
out:
    if (st != PP_OK)
        pp_loader_destroy(l);
    else
        *out = l;
    return st;
}

/* What given-up threads still use: reachable, so that it is no leak. */
static struct pp_loader *kept;

void pp_loader_destroy(struct pp_loader *l)
{
    if (!l)
        return;
    if (l->given_up) {
        kept = l;
        return;
    }
    pp_decoding_free(l);
    for (int i = 0; l->workers && i < l->opts.workers; i++) {
        pp_worker_free(&l->workers[i]);
        pp_ahead_destroy(l->workers[i].ahead);
    }
    free(l->workers);
    pp_dispatch_free(&l->dispatch);
    pp_queue_free(&l->buffers);
    pp_queue_free(&l->arrived);
    pp_queue_free(&l->ready);
    free(l->device_batches);
    if (l->slot_data)
        pp_device_free(l->opts.device, l->slot_data, l->n_slots * l->opts.batch_size * l->row_bytes);
    pp_faults_set_stop(l->opts.faults, NULL);
    pthread_mutex_destroy(&l->stop.lock);
    free(l);
}

double pp_loader_rate(const struct pp_loader_result *r)
{
    int warmed = r->warm_ns && r->samples > r->warm_samples;
    uint64_t from = warmed ? r->warm_ns : r->start_ns,
             samples = warmed ? r->samples - r->warm_samples : r->samples;
    return r->end_ns > from ? (double)samples * 1e9 / (double)(r->end_ns - from) : 0;
}

void pp_loader_stop(struct pp_loader *l)
{
    atomic_store_explicit(&l->hurried, 1, memory_order_relaxed); /* orders nothing, as the request */
    pp_stop_request(&l->stop);
}

void pp_loader_note(const struct pp_loader *l, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (!l->opts.events.note)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    l->opts.events.note(l->opts.events.ctx, text);
}

void pp_loader_report_error(struct pp_loader *l, const struct pp_thread *t, struct pp_loader_error e,
                            pp_status st, const struct pp_err *err)
{
    struct pp_useless *useless = &l->stop.useless;
    pthread_mutex_lock(&l->stop.lock);
    if (useless->times[st]++ == 0)
        snprintf(useless->example[st], sizeof(useless->example[st]), "%.120s: %.190s", e.path, err->text);
    pthread_mutex_unlock(&l->stop.lock);
    if (!l->opts.events.error)
        return;
    e.t_ns = pp_now_ns();
    e.thread = pp_thread_id(t);
    e.kind = pp_status_name(st);
    e.reason = err->text;
    l->opts.events.error(l->opts.events.ctx, &e);
}

int pp_loader_sample_path(struct pp_loader *l, uint64_t index, char *buf, size_t size)
{
    struct pp_dispatch *d = &l->dispatch;
    int found = 0;
    if (!l->opts.streaming && index < pp_dataset_len(l->opts.dataset)) {
        pp_dataset_path(l->opts.dataset, index, buf, size);
        return 1;
    }
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; l->opts.streaming && i < d->n_items && !found; i++)
        if (d->items[i].with_worker && d->items[i].sample.index == index) {
            snprintf(buf, size, "%s", d->items[i].path);
            found = 1;
        }
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* Waits for a thread that reads; 0 when it was given up instead. A thread that is not in a read is waited
 * for, however long it takes. */
static int join_reading(struct pp_loader *l, pthread_t thread, struct pp_gate *gate, uint64_t *patience_ends)
{
    enum { LOOK_NS = 5000000 };
    while (!pp_gate_has_ended(gate)) {
        uint64_t now = pp_now_ns();
        if (!atomic_load_explicit(&l->hurried, memory_order_relaxed))
            *patience_ends = now + PATIENCE_NS;
        else if (now >= *patience_ends && pp_gate_give_up(gate))
            return 0;
        pp_sleep_until_ns(now + LOOK_NS);
    }
    pthread_join(thread, NULL);
    return 1;
}

static void sum_result(struct pp_loader *l, struct pp_loader_result *r)
{
    uint64_t now = pp_now_ns();
    for (int i = 0; i < l->opts.workers; i++) {
        const struct pp_worker *w = &l->workers[i];
        r->errors += w->errors;
        r->retries += w->retries;
        r->skipped += w->skipped;
        r->substituted += w->substituted;
        r->images += w->images.n;
        r->images_baseline_jpeg += w->images.baseline_jpeg;
        r->image_pixels += w->images.pixels;
        r->opens += w->io.opens;
        r->reads += w->io.reads;
        if (w->given_up) /* its buffers are its own */
            continue;
        r->allocations_warm += w->warm ? pp_worker_grown(w) - w->grown_before_warm : 0;
        r->footprint_bytes += w->sample.cap + w->ahead_bytes + pp_decoder_footprint(w->decoder);
    }
    r->given_up = l->given_up;
    if (!l->reader_given_up) {
        r->opens += l->reader_io.opens;
        r->reads += l->reader_io.reads;
    }
    r->errors += atomic_load_explicit(&l->stream_errors, memory_order_relaxed);
    r->retries += atomic_load_explicit(&l->stream_retries, memory_order_relaxed);
    r->footprint_bytes += pp_dataset_footprint(l->opts.dataset) +
                          (l->dispatch.order ? pp_order_footprint(l->dispatch.order) : 0);
    if (l->opts.lease) {
        struct pp_lease_counts c = pp_lease_counts(l->opts.lease);
        r->leases = c.taken;
        r->leases_stolen = c.stolen;
        r->leases_lost = c.lost;
        memcpy(r->leases_holder, c.holder, sizeof(r->leases_holder));
    }
    if (l->decoding.device) {
        const struct pp_worker *w = l->decoding.rescue;
        pp_decoding_report(l, &r->decode);
        r->errors += w->errors;
        r->skipped += w->skipped;
        r->substituted += w->substituted;
    }
    r->slots = l->n_slots;
    r->slot_bytes = l->n_slots * l->opts.batch_size * l->row_bytes;
    r->queues = 0;
    pp_meter_report(&l->dispatch.slot_meter, "free_slots", now, &r->queue[r->queues++]);
    pp_meter_report(&l->ready.meter, "ready", now, &r->queue[r->queues++]);
    pp_meter_report(&l->arrived.meter, "device", now, &r->queue[r->queues++]);
    if (l->opts.streaming)
        pp_meter_report(&l->dispatch.item_meter, "stream", now, &r->queue[r->queues++]);
}

pp_status pp_loader_run(struct pp_loader *l, struct pp_loader_result *result, struct pp_err *err)
{
    *result = (struct pp_loader_result){.epoch = l->opts.start_epoch,
                                        .position = l->opts.start_position,
                                        .cursor = l->opts.start_cursor,
                                        .ended_by = "error"};
    pp_status st = PP_OK;
    int rc = pthread_create(&l->copy_thread, NULL, l->decoding.device ? pp_decoding_main : pp_copy_main, l);
    l->copy_started = rc == 0;
    if (!rc && l->opts.streaming) {
        rc = pthread_create(&l->reader_thread, NULL, pp_reader_main, l);
        l->reader_started = rc == 0;
    }
    for (int i = 0; i < l->opts.workers && !rc; i++) {
        rc = pthread_create(&l->workers[i].thread, NULL, pp_worker_main, &l->workers[i]);
        l->workers[i].started = rc == 0;
    }
    if (rc)
        st = pp_fail_errno(err, rc, "starting the loader's threads (%d workers) failed; try fewer --workers",
                           l->opts.workers);
    else if (l->opts.ballast_cpus > 0)
        st = pp_ballast_start(l->opts.ballast_cpus, l->opts.workers, &l->ballast, err);
    if (st == PP_OK)
        pp_trainer_run(l, result);
    else
        pp_stop_fail(&l->stop, st, err);
    /* All end: the workers and the reader, who may hang in a read, then the others. */
    uint64_t patience_ends = pp_now_ns() + PATIENCE_NS;
    pp_stop_request(&l->stop); /* what is being retried is given up */
    pp_dispatch_end(&l->dispatch, 1);
    pp_queue_close(&l->buffers);
    pp_queue_close(&l->arrived);
    for (int i = 0; i < l->opts.workers; i++)
        if (l->workers[i].started) {
            struct pp_worker *w = &l->workers[i];
            w->given_up = !join_reading(l, w->thread, &w->gate, &patience_ends);
            l->given_up += (unsigned)w->given_up;
        }
    if (l->reader_started)
        l->reader_given_up = !join_reading(l, l->reader_thread, &l->reader_gate, &patience_ends);
    l->given_up += (unsigned)l->reader_given_up;
    pp_ballast_stop(l->ballast);
    if (l->copy_started)
        pthread_join(l->copy_thread, NULL);
    sum_result(l, result);
    if (l->dispatch.failure != PP_OK) /* counts when nothing failed before it */
        pp_stop_fail(&l->stop, l->dispatch.failure, &l->dispatch.failure_err);
    if (l->stop.failure != PP_OK) {
        result->ended_by = "error";
        if (err)
            *err = l->stop.failure_err;
    }
    return l->stop.failure;
}
