/* The copy lane of a run that decodes on the device: one batch after another, several under way. */

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/device/device.h"
#include "probe/loader/loader_impl.h"
#include "probe/trace/observe.h"
#include "probe/trace/trace.h"

struct flight {
    struct pp_slot *slot;
    struct pp_device_batch *buffer;
    struct pp_device *device;         /* that was given it */
    uint64_t ticket, pixels, crossed; /* bytes: of decoded pixels; that go to the device */
    size_t images;                    /* decoded there; 0: the batch is copied, as the CPU made it */
    size_t regions;                   /* of them, as a part */
};

struct lane {
    struct pp_loader *l;
    struct pp_thread *trace, *device; /* of the copy lane; of the spans by the device's events */
    struct flight *flight;            /* copy_buffers, a ring */
    size_t first, n, most;
    struct pp_device_batch *buffer; /* taken, and not used yet */
    uint64_t useless;
};

/* ---- what the CPU makes after all ---- */

/* Decodes what the device did not (all: what it could not) here. Rows that cannot be used leave the batch. */
static void make_here(struct lane *lane, struct pp_slot *s, size_t n, int all)
{
    struct pp_loader *l = lane->l;
    struct pp_decoding *d = &l->decoding;
    uint32_t row = 0, gone = 0;
    memset(d->usable, 1, s->valid);
    for (size_t i = 0; i < n; i++) {
        const struct pp_device_image *image = &d->images[i];
        if (!all && !image->failed)
            continue;
        struct pp_encoded in = {.data = image->data, .size = image->size, .index = s->indexes[image->row]};
        s->inputs[image->row].on_device = 0;
        d->usable[image->row] = (uint8_t)pp_worker_make_row(d->rescue, s, image->row, &in);
        d->refused++;
    }
    for (size_t i = 0; i < n; i++) { /* images go up by row */
        for (uint32_t end = d->images[i].row; row < end; row++)
            gone += !d->usable[row];
        d->images[i].row -= gone;
    }
    s->valid = pp_slot_close_up(l, s, s->valid, d->usable);
}

/* Nothing of the batch came from the device, or what came is gone: rows still hold what it was given. */
static void remake(struct lane *lane, struct flight *f)
{
    lane->l->decoding.on_device -= f->images;
    lane->l->decoding.regions -= f->images ? f->regions : 0;
    f->images = 0;
    make_here(lane, f->slot, pp_decoding_gather(lane->l, f->slot), 1);
}

/* Decoding a batch failed with st. PP_OK: the run goes on on the CPU, and nothing on the device reads the
 * batch's rows any longer. */
static pp_status give_up(struct pp_loader *l, pp_status st, struct pp_err *err)
{
    struct pp_decoding *d = &l->decoding;
    if (l->opts.decode_required)
        return st;
    if (st != PP_E_SYSTEM) { /* the decoder as a whole has failed, and the device works */
        if (!atomic_exchange_explicit(&d->off, 1, memory_order_relaxed)) {
            snprintf(d->reason, sizeof(d->reason), "%s", err->text);
            d->off_ns = pp_now_ns();
            pp_loader_note(l, "--decode auto goes on on the CPU: %s", d->reason);
        }
        st = pp_device_sync(d->device, err);
        if (st == PP_OK) /* the memory of its pixels is free */
            pp_device_decode_trim(d->device);
    }
    return st == PP_OK || pp_fallback_take(l, err) ? PP_OK : st;
}

/* ---- one batch on its way ---- */

/* As rows that the CPU made. */
static pp_status copy_rows(struct pp_loader *l, struct flight *f, struct pp_err *err)
{
    f->crossed = f->slot->valid * l->row_bytes;
    for (int again = 0;; again = 1) {
        f->device = pp_fallback_device(l);
        pp_status st = pp_device_copy_start(f->device, f->slot->data, f->crossed, &f->ticket, err);
        if (st == PP_OK || again || !pp_fallback_take(l, err))
            return st;
    }
}

static pp_status decode_rows(struct lane *lane, struct flight *f, size_t n, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct pp_decoding *d = &l->decoding;
    struct pp_slot *s = f->slot;
    size_t failed = 0;
    pp_status st = pp_device_decode_start(d->device, d->images, n, &f->ticket, err);
    if (st != PP_OK)
        return st;
    pp_decoding_compare(l, s, f->ticket, n);
    for (size_t i = 0; i < n; i++)
        failed += d->images[i].failed != 0;
    if (failed) /* rows will be overwritten */
        st = pp_device_decode_settle(d->device, f->ticket, err);
    if (st == PP_OK && failed)
        make_here(lane, s, n, 0);
    size_t images = n - failed;
    f->crossed = (s->valid - images) * l->row_bytes;
    f->pixels = f->regions = 0;
    for (size_t i = 0; i < n; i++)
        if (!d->images[i].failed) {
            struct pp_device_region decoded = pp_device_decoded(&d->images[i]);
            f->pixels += 3 * (uint64_t)decoded.width * (uint64_t)decoded.height;
            f->regions += d->images[i].region.width != 0;
            f->crossed += d->images[i].size + d->images[i].tables_bytes;
        }
    const struct pp_device_rows rows = {
        .data = s->data, .row_bytes = l->row_bytes, .count = s->valid, .images = d->images, .n_images = n};
    if (st == PP_OK)
        st = pp_device_decode_finish(d->device, f->ticket, &rows, err);
    if (st == PP_OK) {
        f->device = d->device;
        f->images = images;
        d->on_device += images;
        d->regions += f->regions;
    }
    return st;
}

/* ---- and at its end ---- */

/* First for its pixels, then for its samples. */
static pp_status wait_for(struct lane *lane, const struct flight *f, struct pp_err *err)
{
    const struct pp_slot *s = f->slot;
    struct pp_lap lap = pp_batch_lap(lane->l, s->batch, s->epoch, s->valid);
    struct pp_device_decode_times times;
    pp_status st = PP_OK;
    if (f->images) {
        struct pp_lap decoded = lap;
        decoded.sample = f->images;
        decoded.bytes = f->pixels;
        pp_phase_begin(lane->trace, PP_PHASE_GPU_DECODE, lap.batch);
        st = pp_device_decode_settle(f->device, f->ticket, err);
        decoded.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
        pp_phase_end(lane->trace, PP_PHASE_GPU_DECODE, &decoded);
    }
    if (st != PP_OK)
        return st;
    pp_phase_begin(lane->trace, PP_PHASE_H2D, lap.batch);
    if (f->images)
        st = pp_device_decode_wait(f->device, f->ticket, &times, err);
    else if (f->crossed)
        st = pp_device_copy_wait(f->device, f->ticket, err);
    lap.bytes = f->crossed;
    lap.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
    pp_phase_end(lane->trace, PP_PHASE_H2D, &lap);
    if (st == PP_OK && f->images) {
        pp_span_put(lane->device, &(struct pp_span){.start_ns = times.start_ns,
                                                    .dur_ns = times.end_ns - times.start_ns,
                                                    .sample = f->images,
                                                    .bytes = f->pixels,
                                                    .batch = lap.batch,
                                                    .epoch = lap.epoch,
                                                    .phase = PP_PHASE_GPU_DECODE,
                                                    .flags = lap.flags});
    }
    return st;
}

/* The oldest batch under way: to the trainer, and its slot to the workers. Where the device is lost
 * meanwhile, the batch is made here. */
static pp_status complete(struct lane *lane, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct flight f = lane->flight[lane->first];
    struct pp_slot *s = f.slot;
    const uint8_t *data = s->data;
    lane->first = (lane->first + 1) % lane->most;
    lane->n--;
    pp_status st = wait_for(lane, &f, err);
    if (st != PP_OK && pp_fallback_take(l, err)) {
        remake(lane, &f);
        st = s->valid ? copy_rows(l, &f, err) : PP_OK;
        if (st == PP_OK && s->valid)
            st = wait_for(lane, &f, err);
    }
    /* What was made on the device is read back, beside the rows: should that fail, they are still there. */
    if (st == PP_OK && l->opts.events.deliver && f.images) {
        size_t bytes = s->valid * l->row_bytes;
        data = l->decoding.delivered;
        st = pp_device_decode_read(f.device, f.ticket, l->decoding.delivered, bytes, err);
        if (st != PP_OK && pp_fallback_take(l, err)) {
            remake(lane, &f);
            data = s->data;
            st = PP_OK;
        } else if (st == PP_OK && l->opts.cached_batches) { /* it is delivered again */
            memcpy(s->data, data, bytes);
        }
    }
    if (st == PP_OK)
        pp_slot_deliver(l, s, data, f.crossed, f.buffer);
    s->copied = 1;
    pp_dispatch_release(&l->dispatch, s);
    return st == PP_OK ? pp_queue_put(&l->arrived, f.buffer) : st;
}

/* ---- the lane ---- */

/* A slot that is ready goes on its way. */
static pp_status send_off(struct lane *lane, struct pp_slot *s, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct pp_decoding *d = &l->decoding;
    struct flight *f = &lane->flight[(lane->first + lane->n) % lane->most];
    pp_status st = PP_OK;
    *f = (struct flight){.slot = s, .buffer = lane->buffer};
    if (!s->valid || s->discard) {
        if (!s->discard) {
            lane->useless += s->rows;
            st = pp_check_useless(l, lane->useless, err);
        }
        pp_dispatch_release(&l->dispatch, s);
        return st;
    }
    int width = atomic_load_explicit(&d->too_wide, memory_order_relaxed),
        height = atomic_load_explicit(&d->too_high, memory_order_relaxed);
    if (height && !d->told_too_large) {
        d->told_too_large = 1;
        pp_loader_note(
            l,
            "an image of %d x %d pixels is too large for the GPU's memory (%llu pixels at most): the CPU decodes such images",
            width, height, (unsigned long long)d->most_pixels);
    }
    struct pp_device_info device;
    int is_there = l->opts.cached_batches && s->copied;
    size_t n = is_there ? 0 : pp_decoding_gather(l, s);
    int copies = !is_there && n == 0;
    pp_device_info(l->opts.device, &device);
    pp_device_begin(l->opts.device, s->batch);
    if (n && !pp_decoding_is_off(d)) {
        st = decode_rows(lane, f, n, err);
        copies = st != PP_OK && (st = give_up(l, st, err)) == PP_OK;
    } else if (n) {
        copies = 1;
    }
    if (copies && n)
        remake(lane, f);
    if (st == PP_OK && copies && s->valid)
        st = copy_rows(l, f, err);
    pp_fault_copy(l->opts.faults, f->crossed, device.pinned);
    pp_device_end(l->opts.device);
    if (st != PP_OK) {
        pp_dispatch_release(&l->dispatch, s);
        return st;
    }
    lane->useless = 0;
    lane->buffer = NULL;
    lane->n++;
    return PP_OK;
}

/* PP_E_INTERRUPTED: there is none now, and batches are under way. When a batch that was there left its queue
 * is told all the same, by a wait of no length. */
static pp_status take_from(struct lane *lane, struct pp_queue *q, pp_phase waiting, void **item)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    if (!lane->n)
        pp_phase_begin(lane->trace, waiting, PP_NO_BATCH);
    pp_status st = pp_queue_get(q, item, lane->n ? 0 : UINT64_MAX);
    if (st == PP_OK && waiting == PP_PHASE_GET_WAIT) {
        const struct pp_slot *s = *item;
        lap = pp_batch_lap(lane->l, s->batch, s->epoch, s->valid);
    }
    if (!lane->n)
        pp_phase_end(lane->trace, waiting, &lap);
    else if (st == PP_OK && waiting == PP_PHASE_GET_WAIT)
        pp_span_put(lane->trace, &(struct pp_span){.start_ns = pp_now_ns(),
                                                   .sample = lap.sample,
                                                   .batch = lap.batch,
                                                   .epoch = lap.epoch,
                                                   .phase = waiting,
                                                   .flags = lap.flags});
    return st;
}

void *pp_decoding_main(void *arg)
{
    struct pp_loader *l = arg;
    struct lane lane = {.l = l, .most = (size_t)l->opts.copy_buffers};
    struct pp_err err;
    pthread_setname_np(pthread_self(), "pp-copy");
    lane.trace = pp_thread_register(l->opts.session, PP_LANE_COPY, "pp-copy");
    lane.device = pp_thread_register(l->opts.session, PP_LANE_DEVICE, "gpu-decode");
    l->decoding.rescue->trace = lane.trace;
    pp_err_clear(&err);
    pp_lap_start(lane.trace);
    lane.flight = calloc(lane.most, sizeof(*lane.flight));
    pp_status st = lane.flight
                       ? PP_OK
                       : pp_fail(&err, PP_E_NO_MEMORY, "no memory for %zu batches under way", lane.most);
    for (pp_status got = PP_OK; st == PP_OK && (got == PP_OK || got == PP_E_INTERRUPTED);) {
        void *item = NULL;
        got = PP_OK;
        if (!lane.buffer && (got = take_from(&lane, &l->buffers, PP_PHASE_PUT_WAIT, &item)) == PP_OK)
            lane.buffer = item;
        if (got == PP_OK)
            got = take_from(&lane, &l->ready, PP_PHASE_GET_WAIT, &item);
        if (got == PP_OK)
            st = send_off(&lane, item, &err);
        else if (got == PP_E_INTERRUPTED)
            st = complete(&lane, &err);
    }
    while (st == PP_OK && lane.n)
        st = complete(&lane, &err);
    if (st != PP_OK && st != PP_END)
        pp_stop_fail(&l->stop, st, &err);
    if (lane.n) { /* what is still read from the slots */
        struct pp_err none;
        pp_device_sync(l->opts.device, &none);
    }
    for (; lane.n; lane.n--, lane.first = (lane.first + 1) % lane.most)
        pp_dispatch_release(&l->dispatch, lane.flight[lane.first].slot);
    free(lane.flight);
    pp_queue_close(&l->arrived);
    pp_thread_retire(lane.device);
    pp_thread_retire(lane.trace);
    return NULL;
}
