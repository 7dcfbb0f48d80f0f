/* transform/transform_store.h: finished rows of 8-bit RGB to where they belong in the sample: in planes (f32,
 * f16) or interleaved (u8), mirrored or not, each value normalised. Inside the room only. */
#ifndef PP_TRANSFORM_TRANSFORM_STORE_H
#define PP_TRANSFORM_TRANSFORM_STORE_H

#include "probe/transform/transform_internal.h"

struct pp_store {
    const struct pp_transform *t; /* borrowed */
    void *out;                    /* pp_transform_bytes */
    int left;                     /* padding before the picture's rows, in pixels of the unmirrored sample */
    int flip;
    int portable; /* no SIMD */
};

/* count pixels of output row row. rgb may be read up to PP_STORE_OVERREAD bytes past its end. */
#define PP_STORE_OVERREAD 32
void pp_store_row(const struct pp_store *s, const uint8_t *rgb, int count, int row);

/* The whole sample as black pixels become, for what padding there is. */
void pp_store_padding(const struct pp_store *s);

/* Whether the SIMD arithmetic gives value_f32 for every value, found out by trying them all; 0 without the
 * instructions. */
int pp_store_simd_is_exact(const struct pp_transform *t);

#endif
