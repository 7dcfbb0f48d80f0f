/* transform/resize.h: PIL's BILINEAR resampling, bit for bit, for the part of the result that is wanted.
 *
 * Formulas: Pillow's src/libImaging/Resample.c (precompute_coeffs, normalize_coeffs_8bpc,
 * ImagingResampleHorizontal/Vertical_8bpc): a triangle of support max(1, in / out) around the centre (i +
 * 0.5) * in / out, weights normalised in double, then rounded to 22-bit fixed point; rows first, rounded to 8
 * bits, then columns. All sums are exact in 32 bits, so the order of addition and the vector width cannot
 * change a bit. */
#pragma once

#include "probe/base/std.h"

#define PP_WEIGHT_BITS 22 /* 32 bits, less 8 of the sample, less 2 of headroom */
#define PP_WEIGHT_LOW_BITS 15

/* A pair of weights as _mm256_madd_epi16 takes it: weight = high * 2^15 + low, two neighbouring taps in one
 * 32-bit word each. */
struct pp_weight_pair {
    int16_t high[2], low[2];
};

/* How the outputs of a part are made of a region of the source. */
struct pp_axis {
    int count;
    int taps;   /* per output; padded with zero weights to an even number where the region is long enough */
    int *start; /* [count] first source sample, relative to the region; start + taps stays inside it */
    int32_t *weight;             /* [count][taps] */
    struct pp_weight_pair *pair; /* [count][taps / 2], only when taps is even */
};

/* Outputs first..first+count-1 of an axis resized from in to out samples. */
struct pp_resize_part {
    int in, out, first, count;
};

/* The source samples [*begin, *end) that the part depends on. */
void pp_axis_span(const struct pp_resize_part *part, int *begin, int *end);
/* An upper bound of taps, and the bytes pp_axis_fill needs for its tables. */
int pp_axis_max_taps(int in, int out);
size_t pp_axis_bytes(int in, int out, int count);
/* Fills the axis for a region [begin, begin + length) that covers the span; its tables lie in memory (aligned
 * to 8, borrowed). */
void pp_axis_fill(struct pp_axis *a, const struct pp_resize_part *part, int begin, int length, void *memory);

/* Resamples rows of RGBX into rows of axis->count RGB pixels. Four rows at a time; row pointers may repeat.
 * With SIMD writes one byte more than the pixels. */
typedef void pp_resize_rows_fn(const struct pp_axis *axis, const uint8_t *const from[4],
                               uint8_t *const to[4]);
/* One output row of bytes samples from axis->taps rows. With SIMD reads and writes up to the next multiple of
 * 32 bytes. */
typedef void pp_resize_column_fn(const struct pp_axis *axis, int output, const uint8_t *const *rows,
                                 uint8_t *to, size_t bytes);

pp_resize_rows_fn pp_resize_rows_portable;
pp_resize_column_fn pp_resize_column_portable;
#if defined(__x86_64__)
#define PP_RESIZE_HAS_AVX2 __builtin_cpu_supports("avx2")
pp_resize_rows_fn pp_resize_rows_avx2;
pp_resize_column_fn pp_resize_column_avx2;
#else
#define PP_RESIZE_HAS_AVX2 0
#define pp_resize_rows_avx2 pp_resize_rows_portable
#define pp_resize_column_avx2 pp_resize_column_portable
#endif
