/* Pixels of the device's decoder against libjpeg-turbo's. */
#include "probe/loader/decoding.h"

#include "probe/decode/decode.h"
#include "probe/loader/loader_impl.h"

#include <stdlib.h>

#define COMPARED 16 /* images, of the first that are decoded */
/* Larger ones are not compared: it takes the copy lane's time. */
#define COMPARED_PIXELS ((uint64_t)1 << 24)

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

/* What cannot be compared is left out. */
void pp_decoding_compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n)
{
    struct pp_decoding *d = &l->decoding;
    struct pp_err err;
    for (size_t i = 0; i < n && d->compared < COMPARED; i++) {
        const struct pp_device_image *image = &d->images[i];
        struct pp_encoded in = pp_decoding_bytes(s, image);
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
