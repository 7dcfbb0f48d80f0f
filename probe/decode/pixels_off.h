/* decode/pixels_off.h: how far pixels of another decoder are off ours. Plain data, added up image by image.
 */
#ifndef PP_DECODE_PIXELS_OFF_H
#define PP_DECODE_PIXELS_OFF_H

#include <stdint.h>

struct pp_pixels; /* probe/decode/decode.h */

struct pp_pixels_off {
    uint64_t images, values; /* compared; values: three of each pixel */
    uint64_t sum;            /* of their absolute differences, of 255 each */
    int largest;
};

/* rgb: the other decoder's, without gaps; ours is as large. Returns the largest difference of this image. */
int pp_pixels_off_add(struct pp_pixels_off *to, const uint8_t *rgb, const struct pp_pixels *ours);

#endif
