#include "probe/loader/decoding.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/decode/jpeg_plain.h"
#include "probe/device/device.h"
#include "probe/loader/fault.h"
#include "probe/loader/loader_impl.h"
#include "probe/trace/observe.h"
#include "probe/trace/trace.h"
#include "probe/transform/axes.h"
#include "probe/transform/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_ALIGN 64u
#define MOST_PIXELS ((uint64_t)1 << 28) /* of one image: its pixels are 800 MB on the device */
#define COMPARED 16                     /* images, of the first that are decoded */
#define COMPARED_PIXELS \
    ((uint64_t)1 << 24) /* larger ones are not compared: it takes the copy lane's time \
                         */

static size_t aligned(size_t n)
{
    return (n + TABLES_ALIGN - 1) / TABLES_ALIGN * TABLES_ALIGN;
}

static int is_off(const struct pp_decoding *d)
{
    return atomic_load_explicit(&((struct pp_decoding *)d)->off, memory_order_relaxed);
}

/* ---- making and ending ---- */

static pp_status make_rescue(struct pp_loader *l, struct pp_err *err)
{
    struct pp_worker *w = l->decoding.rescue = calloc(1, sizeof(*w));
    if (!w)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the copy lane's decoder");
    w->loader = l;
    w->number = l->opts.workers;
    w->in_hand = &w->sample;
    w->sample.limit = l->opts.sample_memory;
    pp_status st = pp_decoder_create(&(struct pp_decoder_opts){.content = PP_CONTENT_IMAGE,
                                                               .exif_rotate = l->opts.exif_rotate,
                                                               .memory_limit = l->opts.sample_memory},
                                     &w->decoder, err);
    return st == PP_OK ? pp_scratch_create(&w->scratch, err) : st;
}

pp_status pp_decoding_init(struct pp_loader *l, struct pp_err *err)
{
    struct pp_decoding *d = &l->decoding;
    size_t batch = l->opts.batch_size;
    if (!l->opts.decode_on_device)
        return PP_OK;
    pthread_mutex_init(&d->lock, NULL);
    d->device = l->opts.device;
    d->images = calloc(batch, sizeof(*d->images));
    d->usable = calloc(batch, 1);
    if (!d->images || !d->usable)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu images", batch);
    for (size_t i = 0; i < l->n_slots; i++)
        if (!(l->dispatch.slots[i].inputs = calloc(batch, sizeof(struct pp_row_input))))
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu images", batch);
    pp_status st = make_rescue(l, err);
    for (int i = 0; i < l->opts.workers && st == PP_OK; i++)
        st = pp_device_parser_create(d->device, &l->workers[i].parser, err);
    return st;
}

void pp_decoding_free(struct pp_loader *l)
{
    struct pp_decoding *d = &l->decoding;
    if (!d->device)
        return;
    for (int i = 0; l->workers && i < l->opts.workers; i++)
        pp_device_parser_destroy(l->workers[i].parser);
    for (size_t i = 0; l->dispatch.slots && i < l->n_slots; i++) {
        struct pp_row_input *inputs = l->dispatch.slots[i].inputs;
        for (size_t k = 0; inputs && k < l->opts.batch_size; k++)
            if (inputs[k].wide)
                pp_device_free(d->device, inputs[k].wide, inputs[k].wide_size);
        free(inputs);
    }
    if (d->rescue) {
        pp_scratch_destroy(d->rescue->scratch);
        pp_decoder_destroy(d->rescue->decoder);
        pp_sample_free(&d->rescue->sample);
    }
    free(d->rescue);
    free(d->images);
    free(d->usable);
    pthread_mutex_destroy(&d->lock);
}

/* ---- the worker's part ---- */

int pp_decoding_takes(struct pp_worker *w, const struct pp_encoded *in, const struct pp_image_info *info)
{
    const struct pp_loader *l = w->loader;
    int rotates = l->opts.exif_rotate && info->orientation > 1;
    return !is_off(&l->decoding) && !strcmp(info->format, pp_decode_jpeg.name) && !rotates &&
           (uint64_t)info->width * (uint64_t)info->height <= MOST_PIXELS &&
           !pp_jpeg_not_plain(in->data, in->size) && pp_device_parser_accepts(w->parser, in->data, in->size);
}

/* Room for size bytes beside the row. */
static pp_status widen(struct pp_loader *l, struct pp_row_input *input, size_t size, struct pp_err *err)
{
    pp_status st = PP_OK;
    pthread_mutex_lock(&l->decoding.lock);
    if (input->wide)
        pp_device_free(l->decoding.device, input->wide, input->wide_size);
    input->wide_size = size + size / 4;
    st = pp_device_alloc(l->decoding.device, input->wide_size, (void **)&input->wide, err);
    if (st != PP_OK)
        input->wide = NULL, input->wide_size = 0;
    pthread_mutex_unlock(&l->decoding.lock);
    return st;
}

static uint8_t *base_of(const struct pp_loader *l, const struct pp_slot *s, uint32_t row)
{
    const struct pp_row_input *input = &s->inputs[row];
    return input->is_wide ? input->wide : s->data + row * l->row_bytes;
}

pp_status pp_decoding_put(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                          const struct pp_image_info *info, const struct pp_transform_plan *plan,
                          struct pp_err *err)
{
    struct pp_loader *l = w->loader;
    struct pp_row_input *input = &c->slot->inputs[c->row];
    struct pp_transform_axes axes;
    size_t tables = pp_transform_axes_bytes(l->opts.transform, plan),
           size = aligned(tables) + in->size + PP_DEVICE_DECODE_PADDING;
    input->is_wide = size > l->row_bytes;
    pp_status st = input->is_wide && size > input->wide_size ? widen(l, input, size, err) : PP_OK;
    if (st != PP_OK)
        return st;
    uint8_t *at = base_of(l, c->slot, c->row);
    st = pp_transform_axes(l->opts.transform, plan, w->scratch, at, &axes, err);
    if (st != PP_OK)
        return st;
    at += aligned(axes.bytes);
    memcpy(at, in->data, in->size);
    memset(at + in->size, 0, PP_DEVICE_DECODE_PADDING);
    input->image = (struct pp_device_image){.size = in->size,
                                            .width = info->width,
                                            .height = info->height,
                                            .crop_x = plan->crop.x,
                                            .crop_y = plan->crop.y,
                                            .tables_bytes = axes.bytes,
                                            .x_count = axes.x_count,
                                            .x_taps = axes.x_taps,
                                            .y_count = axes.y_count,
                                            .y_taps = axes.y_taps,
                                            .left = axes.left,
                                            .top = axes.top,
                                            .flip = axes.flip};
    input->on_device = 1;
    return PP_OK;
}

void pp_decoding_move(struct pp_slot *s, uint32_t to, uint32_t from)
{
    struct pp_row_input moved = s->inputs[from];
    s->inputs[from] = s->inputs[to]; /* its memory is still the slot's */
    s->inputs[to] = moved;
}

/* ---- the copy lane's part: one batch ---- */

struct flight {
    struct pp_slot *slot;
    struct pp_device_batch *buffer;
    uint64_t ticket, pixels, crossed; /* bytes: of decoded pixels; that go to the device */
    size_t images;                    /* decoded there; 0: the batch is copied, as the CPU made it */
};

struct lane {
    struct pp_loader *l;
    struct pp_thread *trace, *device; /* of the copy lane; of the spans by the device's events */
    struct flight *flight;            /* copy_buffers, a ring */
    size_t first, n, most;
    struct pp_device_batch *buffer; /* taken, and not used yet */
    uint64_t useless;
};

/* The images of the slot's rows, in row order. Addresses are set now: rows have been moved together. */
static size_t gather(struct pp_loader *l, const struct pp_slot *s)
{
    size_t n = 0;
    for (uint32_t row = 0; row < s->valid; row++) {
        struct pp_row_input *input = &s->inputs[row];
        if (!input->on_device)
            continue;
        struct pp_device_image *image = &l->decoding.images[n++];
        uint8_t *at = base_of(l, s, row);
        *image = input->image;
        image->tables = at;
        image->data = at + aligned(image->tables_bytes);
        image->row = row;
    }
    return n;
}

static struct pp_encoded bytes_of(const struct pp_slot *s, const struct pp_device_image *image)
{
    return (struct pp_encoded){.data = image->data, .size = image->size, .index = s->indexes[image->row]};
}

/* Decodes what the device did not (all: what it could not), here. Rows that cannot be used leave the batch.
 */
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
        struct pp_encoded in = bytes_of(s, image);
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

/* The decoder as a whole has failed: the run ends, or the CPU takes over. */
static pp_status give_up(struct lane *lane, pp_status st, const struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct pp_decoding *d = &l->decoding;
    if (l->opts.decode_required || st == PP_E_SYSTEM)
        return st;
    if (!is_off(d)) {
        atomic_store_explicit(&d->off, 1, memory_order_relaxed);
        snprintf(d->reason, sizeof(d->reason), "%s", err->text);
        char text[sizeof(d->reason) + 64];
        snprintf(text, sizeof(text), "--decode auto goes on on the CPU: %s", err->text);
        if (l->opts.events.note)
            l->opts.events.note(l->opts.events.ctx, text);
    }
    return PP_OK;
}

/* ---- pixels against libjpeg-turbo's ---- */

static void compare_pixels(struct pp_decoding *d, const uint8_t *rgb, const struct pp_pixels *p)
{
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            const uint8_t *ours = p->data + (size_t)y * p->stride + (size_t)x * 4;
            for (int c = 0; c < 3; c++, rgb++) {
                int off = abs(*rgb - ours[c]);
                d->difference += (uint64_t)off;
                d->largest = off > d->largest ? off : d->largest;
            }
        }
    d->values += (uint64_t)p->width * (uint64_t)p->height * 3;
    d->compared++;
}

/* Of the run's first images; what cannot be compared is left out. */
static void compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n)
{
    struct pp_decoding *d = &l->decoding;
    struct pp_err err;
    for (size_t i = 0; i < n && d->compared < COMPARED; i++) {
        const struct pp_device_image *image = &d->images[i];
        struct pp_encoded in = bytes_of(s, image);
        struct pp_image_info info;
        struct pp_pixels pixels;
        uint64_t size = (uint64_t)image->width * (uint64_t)image->height;
        uint8_t *rgb = image->failed || size > COMPARED_PIXELS ? NULL : malloc(size * 3);
        if (rgb && pp_device_decode_settle(d->device, ticket, &err) == PP_OK &&
            pp_device_decode_pixels(d->device, ticket, i, rgb, &err) == PP_OK &&
            pp_decoder_open(d->rescue->decoder, &in, &info, &err) == PP_OK &&
            pp_decoder_region(d->rescue->decoder,
                              (struct pp_rect){.width = info.width, .height = info.height}, &pixels,
                              &err) == PP_OK)
            compare_pixels(d, rgb, &pixels);
        free(rgb);
    }
}

/* ---- one batch ---- */

/* The batch on its way as rows that the CPU made. */
static pp_status copy_rows(struct pp_loader *l, struct flight *f, struct pp_err *err)
{
    f->images = 0;
    f->crossed = f->slot->valid * l->row_bytes;
    return pp_device_copy_start(l->decoding.device, f->slot->data, f->crossed, &f->ticket, err);
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
    for (size_t i = 0; i < n; i++)
        failed += d->images[i].failed != 0;
    if (failed) /* rows will be overwritten */
        st = pp_device_decode_settle(d->device, f->ticket, err);
    if (st == PP_OK && d->compared < COMPARED)
        compare(l, s, f->ticket, n);
    if (st == PP_OK && failed)
        make_here(lane, s, n, 0);
    f->images = n - failed;
    f->crossed = (s->valid - f->images) * l->row_bytes;
    f->pixels = 0;
    for (size_t i = 0; i < n; i++)
        if (!d->images[i].failed) {
            f->pixels += 3 * (uint64_t)d->images[i].width * (uint64_t)d->images[i].height;
            f->crossed += d->images[i].size + d->images[i].tables_bytes;
        }
    if (st == PP_OK)
        st = pp_device_decode_finish(d->device, f->ticket,
                                     &(struct pp_device_rows){.data = s->data,
                                                              .row_bytes = l->row_bytes,
                                                              .count = s->valid,
                                                              .images = d->images,
                                                              .n_images = n},
                                     err);
    if (st == PP_OK)
        d->on_device += f->images;
    return st;
}

static pp_status launch(struct lane *lane, struct flight *f, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct pp_slot *s = f->slot;
    struct pp_device_info device;
    int is_there = l->opts.cached_batches && s->copied;
    size_t n = is_there ? 0 : gather(l, s);
    pp_status st = PP_OK;
    int copies = !is_there && n == 0;
    pp_device_info(l->opts.device, &device);
    pp_device_begin(l->opts.device, s->batch);
    if (n) {
        st = decode_rows(lane, f, n, err);
        if (st != PP_OK && (st = give_up(lane, st, err)) == PP_OK &&
            (st = pp_device_sync(l->opts.device, err)) == PP_OK) { /* nothing reads the rows any longer */
            n = gather(l, s);                                      /* rows may have left the batch */
            make_here(lane, s, n, 1);
            copies = 1;
        }
    }
    if (st == PP_OK && copies && s->valid)
        st = copy_rows(l, f, err);
    pp_fault_copy(l->opts.faults, f->crossed, device.pinned);
    pp_device_end(l->opts.device);
    return st;
}

static pp_status deliver(struct pp_loader *l, struct flight *f, struct pp_err *err)
{
    const struct pp_loader_events *ev = &l->opts.events;
    struct pp_slot *s = f->slot;
    pp_status st = PP_OK;
    if (!ev->deliver)
        return PP_OK;
    if (f->images) /* the bytes that the rows held are used up */
        st = pp_device_decode_read(l->decoding.device, f->ticket, s->data, s->valid * l->row_bytes, err);
    if (st == PP_OK)
        ev->deliver(ev->ctx, &(struct pp_loader_delivery){.batch = s->batch,
                                                          .epoch = s->epoch,
                                                          .data = s->data,
                                                          .labels = s->labels,
                                                          .indexes = s->indexes,
                                                          .samples = s->valid});
    return st;
}

/* Waits for the batch: first for its pixels, then for its samples. */
static pp_status land(struct lane *lane, struct flight *f, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct pp_device *d = l->decoding.device;
    struct pp_lap lap = pp_batch_lap(l, f->slot);
    struct pp_device_decode_times times;
    pp_status st = PP_OK;
    if (f->images) {
        struct pp_lap decoded = lap;
        decoded.sample = f->images;
        decoded.bytes = f->pixels;
        pp_phase_begin(lane->trace, PP_PHASE_GPU_DECODE, lap.batch);
        st = pp_device_decode_settle(d, f->ticket, err);
        decoded.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
        pp_phase_end(lane->trace, PP_PHASE_GPU_DECODE, &decoded);
    }
    if (st != PP_OK)
        return st;
    pp_phase_begin(lane->trace, PP_PHASE_H2D, lap.batch);
    if (f->images)
        st = pp_device_decode_wait(d, f->ticket, &times, err);
    else if (f->crossed)
        st = pp_device_copy_wait(d, f->ticket, err);
    lap.bytes = f->crossed;
    lap.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
    pp_phase_end(lane->trace, PP_PHASE_H2D, &lap);
    if (st == PP_OK && f->images)
        pp_span_put(lane->device, &(struct pp_span){.start_ns = times.start_ns,
                                                    .dur_ns = times.end_ns - times.start_ns,
                                                    .sample = f->images,
                                                    .bytes = f->pixels,
                                                    .batch = lap.batch,
                                                    .epoch = lap.epoch,
                                                    .phase = PP_PHASE_GPU_DECODE,
                                                    .flags = lap.flags});
    return st;
}

/* ---- the lane ---- */

/* The oldest batch under way: to the trainer, and its slot to the workers. */
static pp_status complete(struct lane *lane, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct flight f = lane->flight[lane->first];
    struct pp_slot *s = f.slot;
    lane->first = (lane->first + 1) % lane->most;
    lane->n--;
    pp_status st = land(lane, &f, err);
    if (st == PP_OK)
        st = deliver(l, &f, err);
    s->copied = 1;
    *f.buffer = (struct pp_device_batch){.batch = s->batch,
                                         .epoch = s->epoch,
                                         .samples = s->valid,
                                         .bytes = f.crossed,
                                         .end_position = s->end_position,
                                         .cursor = s->cursor};
    pp_dispatch_release(&l->dispatch, s);
    return st == PP_OK ? pp_queue_put(&l->arrived, f.buffer) : st;
}

/* A slot that is ready goes on its way. */
static pp_status begin(struct lane *lane, struct pp_slot *s, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    struct flight *f = &lane->flight[(lane->first + lane->n) % lane->most];
    pp_status st = PP_OK;
    *f = (struct flight){.slot = s, .buffer = lane->buffer};
    if (s->valid && !s->discard)
        st = launch(lane, f, err);
    if (st == PP_OK && s->valid && !s->discard) {
        lane->useless = 0;
        lane->buffer = NULL;
        lane->n++;
        return PP_OK;
    }
    if (st == PP_OK && !s->discard) {
        lane->useless += s->rows;
        st = pp_check_useless(l, lane->useless, err);
    }
    pp_dispatch_release(&l->dispatch, s);
    return st;
}

/* A batch that was there: when it left its queue is told all the same, by a wait of no length. */
static void put_taken(const struct lane *lane, const struct pp_slot *s)
{
    struct pp_lap lap = pp_batch_lap(lane->l, s);
    pp_span_put(lane->trace, &(struct pp_span){.start_ns = pp_now_ns(),
                                               .sample = lap.sample,
                                               .batch = lap.batch,
                                               .epoch = lap.epoch,
                                               .phase = PP_PHASE_GET_WAIT,
                                               .flags = lap.flags});
}

/* PP_E_INTERRUPTED: there is none now, and batches are under way. */
static pp_status take(struct lane *lane, struct pp_queue *q, pp_phase waiting, void **item)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    if (lane->n) {
        pp_status now = pp_queue_get(q, item, 0);
        if (now == PP_OK && waiting == PP_PHASE_GET_WAIT)
            put_taken(lane, *item);
        return now;
    }
    pp_phase_begin(lane->trace, waiting, PP_NO_BATCH);
    pp_status st = pp_queue_get(q, item, UINT64_MAX);
    if (st == PP_OK && waiting == PP_PHASE_GET_WAIT)
        lap = pp_batch_lap(lane->l, *item);
    pp_phase_end(lane->trace, waiting, &lap);
    return st;
}

static pp_status run(struct lane *lane, struct pp_err *err)
{
    struct pp_loader *l = lane->l;
    pp_status st = PP_OK;
    while (st == PP_OK) {
        void *item = NULL;
        pp_status got = PP_OK;
        if (!lane->buffer && (got = take(lane, &l->buffers, PP_PHASE_PUT_WAIT, &item)) == PP_OK)
            lane->buffer = item;
        if (got == PP_OK)
            got = take(lane, &l->ready, PP_PHASE_GET_WAIT, &item);
        if (got == PP_OK)
            st = begin(lane, item, err);
        else if (got == PP_E_INTERRUPTED)
            st = complete(lane, err);
        else
            break;
    }
    while (st == PP_OK && lane->n)
        st = complete(lane, err);
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
                       ? run(&lane, &err)
                       : pp_fail(&err, PP_E_NO_MEMORY, "no memory for %zu batches under way", lane.most);
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

void pp_decoding_report(const struct pp_loader *l, struct pp_loader_decode *out)
{
    const struct pp_decoding *d = &l->decoding;
    *out = (struct pp_loader_decode){.images = d->on_device,
                                     .refused = d->refused,
                                     .compared = d->compared,
                                     .mean = d->values ? (double)d->difference / (double)d->values : 0,
                                     .largest = d->largest};
    snprintf(out->gave_up, sizeof(out->gave_up), "%s", d->reason);
}
