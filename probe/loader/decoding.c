#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/device/device.h"
#include "probe/loader/loader_impl.h"
#include "probe/transform/transform.h"

/* The largest image: its pixels are 800 MB, wherever there is room for them */
#define MOST_PIXELS ((uint64_t)1 << 28)

/* ---- making and ending ---- */

pp_status pp_decoding_init(struct pp_loader *l, struct pp_err *err)
{
    struct pp_decoding *d = &l->decoding;
    size_t batch = l->opts.batch_size;
    if (!l->opts.decode_on_device)
        return PP_OK;
    pthread_mutex_init(&d->lock, NULL);
    struct pp_device_decode_info info;
    pp_device_decode_info(l->opts.device, &info);
    d->device = l->opts.device;
    d->most_pixels = info.most_pixels < MOST_PIXELS ? info.most_pixels : MOST_PIXELS;
    d->images = calloc(batch, sizeof(*d->images));
    d->usable = calloc(batch, 1);
    if (l->opts.events.deliver)
        d->delivered = malloc(batch * l->row_bytes);
    if (!d->images || !d->usable || (l->opts.events.deliver && !d->delivered))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu images", batch);
    for (size_t i = 0; i < l->n_slots; i++)
        if (!(l->dispatch.slots[i].inputs = calloc(batch, sizeof(struct pp_row_input))))
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu images", batch);
    d->rescue = calloc(1, sizeof(*d->rescue));
    if (!d->rescue)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the copy lane's decoder");
    pp_status st = pp_worker_init(d->rescue, l, l->opts.workers, err);
    for (int i = 0; i < l->opts.workers && st == PP_OK; i++)
        st = pp_device_parser_create(d->device, &l->workers[i].parser, err);
    if (st != PP_OK || l->opts.decode_required)
        return st;
    pthread_mutex_init(&l->fallback.lock, NULL);
    return pp_device_open(&(struct pp_device_opts){.kind = "host"}, &l->fallback.host, err);
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
    if (d->rescue)
        pp_worker_free(d->rescue);
    free(d->rescue);
    free(d->images);
    free(d->usable);
    free(d->delivered);
    pthread_mutex_destroy(&d->lock);
    if (l->fallback.host) {
        pp_device_close(l->fallback.host);
        pthread_mutex_destroy(&l->fallback.lock);
    }
}

/* ---- the worker's part ---- */

/* Bytes and tables into the row, or beside it. */
static pp_status store_input(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                             const struct pp_transform_plan *plan, const struct pp_device_image *image,
                             struct pp_err *err)
{
    struct pp_loader *l = w->loader;
    struct pp_row_input *input = &c->slot->inputs[c->row];
    struct pp_transform_axes axes;
    size_t tables = pp_transform_axes_bytes(l->opts.transform, plan),
           size = pp_memory_aligned(tables) + in->size + PP_DEVICE_DECODE_PADDING;
    pp_status st = PP_OK;
    input->is_wide = size > l->row_bytes;
    if (input->is_wide && size > input->wide_size) {
        pthread_mutex_lock(&l->decoding.lock);
        if (input->wide)
            pp_device_free(l->decoding.device, input->wide, input->wide_size);
        input->wide_size = size + size / 4;
        st = pp_device_alloc(l->decoding.device, input->wide_size, (void **)&input->wide, err);
        if (st != PP_OK)
            input->wide = NULL, input->wide_size = 0;
        pthread_mutex_unlock(&l->decoding.lock);
    }
    if (st != PP_OK)
        return st;
    uint8_t *at = input->is_wide ? input->wide : c->slot->data + c->row * l->row_bytes;
    st = pp_transform_axes(l->opts.transform, plan, &w->scratch, at, &axes, err);
    if (st != PP_OK)
        return st;
    at += pp_memory_aligned(axes.bytes);
    memcpy(at, in->data, in->size);
    memset(at + in->size, 0, PP_DEVICE_DECODE_PADDING);
    input->image = *image;
    input->image.size = in->size;
    input->image.tables_bytes = axes.bytes;
    input->image.x_count = axes.x_count;
    input->image.x_taps = axes.x_taps;
    input->image.y_count = axes.y_count;
    input->image.y_taps = axes.y_taps;
    input->image.left = axes.left;
    input->image.top = axes.top;
    input->image.flip = axes.flip;
    input->sampling = pp_jpeg_sampling(in->data, in->size);
    input->on_device = 1;
    return PP_OK;
}

int pp_decoding_take(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                     const struct pp_image_info *info, const struct pp_transform_plan *plan)
{
    struct pp_decoding *d = &w->loader->decoding;
    const struct pp_rect *crop = &plan->crop;
    int rotates = w->loader->opts.exif_rotate && info->orientation > 1;
    int is_off = pp_decoding_is_off(d) || (info->channels == 1 && pp_decoding_is_off_gray(d));
    int is_part = crop->width < info->width || crop->height < info->height;
    struct pp_device_image image = {.width = info->width,
                                    .height = info->height,
                                    .crop_x = crop->x,
                                    .crop_y = crop->y};
    struct pp_err err;
    if (is_off || strcmp(info->format, pp_decode_jpeg.name) != 0 || rotates ||
        pp_jpeg_not_plain(in->data, in->size))
        return 0;
    if ((uint64_t)info->width * (uint64_t)info->height > d->most_pixels) {
        if (atomic_fetch_add_explicit(&d->too_large, 1, memory_order_relaxed) == 0) {
            atomic_store_explicit(&d->too_wide, info->width, memory_order_relaxed);
            atomic_store_explicit(&d->too_high, info->height, memory_order_relaxed);
        }
        return 0;
    }
    if (is_part)
        image.region = (struct pp_device_region){crop->x, crop->y, crop->width, crop->height};
    return pp_device_parser_accepts(w->parser, in->data, in->size, &image.region) &&
           store_input(w, c, in, plan, &image, &err) == PP_OK;
}

/* ---- what the copy lane asks ---- */

/* Addresses are set now: rows have been moved together. */
size_t pp_decoding_gather(struct pp_loader *l, const struct pp_slot *s)
{
    size_t n = 0;
    for (uint32_t row = 0; row < s->valid; row++) {
        struct pp_row_input *input = &s->inputs[row];
        if (!input->on_device)
            continue;
        struct pp_device_image *image = &l->decoding.images[n++];
        uint8_t *at = input->is_wide ? input->wide : s->data + row * l->row_bytes;
        *image = input->image;
        image->tables = at;
        image->data = at + pp_memory_aligned(image->tables_bytes);
        image->row = row;
    }
    return n;
}

void pp_decoding_report(const struct pp_loader *l, struct pp_loader_decode *out)
{
    const struct pp_decoding *d = &l->decoding;
    *out = (struct pp_loader_decode){.too_large = atomic_load_explicit(&d->too_large, memory_order_relaxed),
                                     .images = d->on_device,
                                     .refused = d->refused,
                                     .regions = d->regions};
    for (int i = 0; i < PP_JPEG_SAMPLINGS; i++)
        if (d->difference[i].images) {
            const struct pp_pixels_off *from = &d->difference[i];
            double sum = out->mean * out->values + (double)from->sum;
            out->values += (double)from->values;
            out->mean = sum / out->values;
            out->largest = from->largest > out->largest ? from->largest : out->largest;
            out->compared += from->images;
            out->difference[out->differences++] = (struct pp_loader_difference){
                .sampling = pp_jpeg_sampling_name(i),
                .images = from->images,
                .mean = (double)from->sum / (double)from->values,
                .largest = from->largest,
            };
        }
    snprintf(out->gave_up, sizeof(out->gave_up), "%s", d->reason);
    out->gave_up_ns = d->off_ns;
    snprintf(out->lost, sizeof(out->lost), "%s", l->fallback.reason);
    out->lost_ns = l->fallback.taken_ns;
}

/* ---- pixels against libjpeg-turbo's ----
 *
 * By the sampling of chroma: decoders round and scale it up in ways of their own. */

#define COMPARED 16 /* images of each kind, of the first that are decoded */
/* Larger ones are not compared: it takes the copy lane's time. */
#define COMPARED_PIXELS ((uint64_t)1 << 24)
/* A grey image has no chroma: two decoders differ by how they round. One that is further off was not made
 * into grey pixels at all. */
#define MOST_OFF_GRAY 8

_Static_assert((int)PP_LOADER_DIFFERENCES == (int)PP_JPEG_SAMPLINGS, "a row for each kind");

/* What cannot be compared is left out; grey images that are none go back to the CPU. */
void pp_decoding_compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n)
{
    struct pp_decoding *d = &l->decoding;
    for (size_t i = 0; i < n; i++) {
        struct pp_device_image *image = &d->images[i];
        enum pp_jpeg_sampling kind = s->inputs[image->row].sampling;
        int is_gray = kind == PP_JPEG_GRAY, largest = 0;
        struct pp_encoded in = {.data = image->data, .size = image->size, .index = s->indexes[image->row]};
        struct pp_image_info info;
        struct pp_pixels pixels;
        struct pp_err err;
        struct pp_device_region part = pp_device_decoded(image);
        uint64_t size = (uint64_t)part.width * (uint64_t)part.height;
        int compared = d->difference[kind].images < COMPARED && !image->failed && size <= COMPARED_PIXELS;
        uint8_t *rgb = compared ? malloc(size * 3) : NULL;
        if (rgb && pp_device_decode_settle(d->device, ticket, &err) == PP_OK &&
            pp_device_decode_pixels(d->device, ticket, i, rgb, &err) == PP_OK &&
            pp_decoder_open(d->rescue->decoder, &in, &info, &err) == PP_OK &&
            pp_decoder_region(d->rescue->decoder, (struct pp_rect){part.x, part.y, part.width, part.height},
                              &pixels, &err) == PP_OK)
            largest = pp_pixels_off_add(&d->difference[kind], rgb, &pixels);
        free(rgb);
        if (is_gray && largest > MOST_OFF_GRAY && !pp_decoding_is_off_gray(d)) {
            atomic_store_explicit(&l->decoding.off_gray, 1, memory_order_relaxed);
            pp_loader_note(
                l,
                "the GPU's pixels of a grey image are off by %d of 255: from here on the CPU decodes grey images",
                largest);
        }
        if (is_gray && pp_decoding_is_off_gray(d))
            image->failed = 1;
    }
}

/* ---- without the device ---- */

int pp_fallback_take(struct pp_loader *l, const struct pp_err *err)
{
    struct pp_fallback *f = &l->fallback;
    if (!f->host)
        return 0;
    pthread_mutex_lock(&f->lock);
    int first = !f->taken_ns;
    if (first) {
        snprintf(f->reason, sizeof(f->reason), "%s", err->text);
        f->taken_ns = pp_now_ns();
        atomic_store_explicit(&l->decoding.off, 1, memory_order_relaxed);
        atomic_store_explicit(&f->taken, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&f->lock);
    if (first)
        pp_loader_note(
            l,
            "--decode auto goes on without the GPU: from here on the CPU decodes, the copies are those of a simulated link, and the steps sleep; %s",
            f->reason);
    return 1;
}
