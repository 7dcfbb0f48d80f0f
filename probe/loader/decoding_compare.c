/* Pixels of the device's decoder against libjpeg-turbo's, by the sampling of chroma: decoders round and scale
 * it up in ways of their own. */
#include "probe/loader/decoding.h"

#include "probe/decode/decode.h"
#include "probe/device/device.h"
#include "probe/loader/loader_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define COMPARED 16 /* images of each kind, of the first that are decoded */
/* Larger ones are not compared: it takes the copy lane's time. */
#define COMPARED_PIXELS ((uint64_t)1 << 24)
/* A grey image has no chroma: two decoders differ by how they round. One that is further off was not made
 * into grey pixels at all. */
#define MOST_OFF_GRAY 8

_Static_assert((int)PP_LOADER_DIFFERENCES == (int)PP_JPEG_SAMPLINGS, "a row for each kind");

/* -1: it cannot be compared. */
static int compare_image(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t i)
{
    struct pp_decoding *d = &l->decoding;
    const struct pp_device_image *image = &d->images[i];
    struct pp_encoded in = pp_decoding_bytes(s, image);
    struct pp_image_info info;
    struct pp_pixels pixels;
    struct pp_err err;
    int largest = -1;
    struct pp_device_region part = pp_device_decoded(image);
    uint64_t size = (uint64_t)part.width * (uint64_t)part.height;
    uint8_t *rgb = image->failed || size > COMPARED_PIXELS ? NULL : malloc(size * 3);
    if (rgb && pp_device_decode_settle(d->device, ticket, &err) == PP_OK &&
        pp_device_decode_pixels(d->device, ticket, i, rgb, &err) == PP_OK &&
        pp_decoder_open(d->rescue->decoder, &in, &info, &err) == PP_OK &&
        pp_decoder_region(d->rescue->decoder, (struct pp_rect){part.x, part.y, part.width, part.height},
                          &pixels, &err) == PP_OK)
        largest = pp_pixels_off_add(&d->difference[s->inputs[image->row].sampling], rgb, &pixels);
    free(rgb);
    return largest;
}

/* What cannot be compared is left out; grey images that are none go back to the CPU. */
void pp_decoding_compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n)
{
    struct pp_decoding *d = &l->decoding;
    for (size_t i = 0; i < n; i++) {
        enum pp_jpeg_sampling kind = s->inputs[d->images[i].row].sampling;
        int is_gray = kind == PP_JPEG_GRAY, largest = 0;
        if (d->difference[kind].images < COMPARED)
            largest = compare_image(l, s, ticket, i);
        if (is_gray && largest > MOST_OFF_GRAY && !pp_decoding_is_off_gray(d)) {
            char text[160];
            snprintf(
                text, sizeof(text),
                "the GPU's pixels of a grey image are off by %d of 255: from here on the CPU decodes grey images",
                largest);
            atomic_store_explicit(&l->decoding.off_gray, 1, memory_order_relaxed);
            if (l->opts.events.note)
                l->opts.events.note(l->opts.events.ctx, text);
        }
        if (is_gray && pp_decoding_is_off_gray(d))
            d->images[i].failed = 1;
    }
}
