#include "probe/decode/pixels_off.h"

#include "probe/decode/decode.h"

#include <stdlib.h>

int pp_pixels_off_add(struct pp_pixels_off *to, const uint8_t *rgb, const struct pp_pixels *ours)
{
    int largest = 0;
    for (int y = 0; y < ours->height; y++)
        for (int x = 0; x < ours->width; x++) {
            const uint8_t *pixel = ours->data + (size_t)y * ours->stride + (size_t)x * 4;
            for (int c = 0; c < 3; c++, rgb++) {
                int off = abs(*rgb - pixel[c]);
                to->sum += (uint64_t)off;
                largest = off > largest ? off : largest;
            }
        }
    to->largest = largest > to->largest ? largest : to->largest;
    to->values += (uint64_t)ours->width * (uint64_t)ours->height * 3;
    to->images++;
    return largest;
}
