/* transform/transform_internal.h: a parsed transform, shared by transform_parse.c, transform_store.c and
 * transform.c. Inside the room only. */
#pragma once

#include "probe/transform/resize.h"
#include "probe/transform/transform.h"

/* Times PP_IMAGE_MAX_SIDE still fits an int, which the resized longer side has to */
#define PP_TRANSFORM_MAX_SIZE 8192

enum pp_resize_kind { PP_RESIZE_NONE, PP_RESIZE_RANDOM_CROP, PP_RESIZE_SHORTER, PP_RESIZE_EXACT };
enum pp_normalize_kind { PP_NORMALIZE_NONE, PP_NORMALIZE_IMAGENET, PP_NORMALIZE_CUSTOM };

struct pp_transform {
    enum pp_dtype dtype;
    enum pp_resize_kind resize;
    int resize_width, resize_height; /* equal for PP_RESIZE_SHORTER */
    double scale[2], ratio[2];       /* of the random crop */
    int has_center, center_width, center_height;
    int has_flip, flip_before_center;
    double flip_p;
    enum pp_normalize_kind normalize;
    double mean[3], std[3];
    int width, height; /* of the result */
    char text[512];
    /* What sample value v of channel c becomes: 256 values are all there are, so torchvision's float
     * arithmetic is done once. */
    float value_f32[3][256];
    uint16_t value_f16[3][256];
    int simd_is_exact; /* pp_store_simd_is_exact */
};

/* Finished rows of 8-bit RGB to where they belong in the sample: in planes (f32,
 * f16) or interleaved (u8), mirrored or not, each value normalised. Inside the room only. */

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
