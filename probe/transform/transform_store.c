#include "probe/transform/transform_internal.h"

/* Column of the first pixel and the step to the next one. */
static int first_column(const struct pp_store *s)
{
    return s->flip ? s->t->width - 1 - s->left : s->left;
}

/* Where a row of a channel begins in the planes. */
#define PLANAR_ROW_AT(t, channel, row) \
    (((size_t)(channel) * (size_t)(t)->height + (size_t)(row)) * (size_t)(t)->width)

/* Pixels [from, count) of a row into the planes, by the table of what a value becomes. */
#define PLANAR_ROW(name, type, table) \
    static void name(const struct pp_store *s, const uint8_t *rgb, int from, int count, int row) \
    { \
        int step = s->flip ? -1 : 1, column = first_column(s) + from * step; \
        for (int c = 0; c < 3; c++) { \
            const type *value = s->t->table[c]; \
            type *to = (type *)s->out + PLANAR_ROW_AT(s->t, c, row) + column; \
            for (int i = from; i < count; i++, to += step) \
                *to = value[rgb[i * 3 + c]]; \
        } \
    }
PLANAR_ROW(row_f32, float, value_f32)
PLANAR_ROW(row_f16, uint16_t, value_f16)

#if defined(__x86_64__)

#include <immintrin.h>

#define SIMD __attribute__((target("avx2,fma,f16c")))
#define INLINE SIMD static inline __attribute__((always_inline))

/* a / b correctly rounded: a quotient by the reciprocal, corrected by its exact remainder (Markstein 1990).
 * pp_store_simd_is_exact checks the result rather than the theorem's conditions. */
INLINE __m256 divide(__m256 a, __m256 b, __m256 reciprocal)
{
    __m256 quotient = _mm256_mul_ps(a, reciprocal);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(b, quotient, a), reciprocal, quotient);
}

struct constants {
    __m256 full, full_reciprocal, mean, std, std_reciprocal;
    int normalize;
};

INLINE struct constants constants_of(const struct pp_transform *t, int channel)
{
    float std = t->normalize == PP_NORMALIZE_NONE ? 1.0f : (float)t->std[channel];
    return (struct constants){
        .full = _mm256_set1_ps(255.0f),
        .full_reciprocal = _mm256_set1_ps(1.0f / 255.0f),
        .mean = _mm256_set1_ps((float)t->mean[channel]),
        .std = _mm256_set1_ps(std),
        .std_reciprocal = _mm256_set1_ps(1.0f / std),
        .normalize = t->normalize != PP_NORMALIZE_NONE,
    };
}

/* Eight samples, the low bytes of v, as pp_transform_parse makes them. */
INLINE __m256 values_of(__m128i v, const struct constants *k)
{
    __m256 x = divide(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v)), k->full, k->full_reciprocal);
    return k->normalize ? divide(_mm256_sub_ps(x, k->mean), k->std, k->std_reciprocal) : x;
}

/* One channel of eight pixels, in order and mirrored: which bytes of the first 16 and of the 16 from byte 8
 * on; -1: none. */
static const int8_t gathers[2][3][2][8] = {
    {
        {{0, 3, 6, 9, 12, 15, -1, -1}, {-1, -1, -1, -1, -1, -1, 10, 13}},
        {{1, 4, 7, 10, 13, -1, -1, -1}, {-1, -1, -1, -1, -1, 8, 11, 14}},
        {{2, 5, 8, 11, 14, -1, -1, -1}, {-1, -1, -1, -1, -1, 9, 12, 15}},
    },
    {
        {{-1, -1, 15, 12, 9, 6, 3, 0}, {13, 10, -1, -1, -1, -1, -1, -1}},
        {{-1, -1, -1, 13, 10, 7, 4, 1}, {14, 11, 8, -1, -1, -1, -1, -1}},
        {{-1, -1, -1, 14, 11, 8, 5, 2}, {15, 12, 9, -1, -1, -1, -1, -1}},
    },
};

/* front, back: which bytes. */
INLINE __m128i channel_of(const uint8_t *rgb, __m128i front, __m128i back)
{
    return _mm_or_si128(_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)rgb), front),
                        _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(rgb + 8)), back));
}

INLINE void store_f16(uint16_t *to, __m256 values)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}

/* How many pixels were done, a multiple of eight. */
#define PLANAR_ROW_SIMD(name, type, store) \
    SIMD static int name(const struct pp_store *s, const uint8_t *rgb, int count, int row) \
    { \
        int whole = count & ~7, step = s->flip ? -8 : 8, column = first_column(s) - (s->flip ? 7 : 0); \
        for (int c = 0; c < 3 && whole; c++) { \
            struct constants k = constants_of(s->t, c); \
            const int8_t(*g)[8] = gathers[s->flip != 0][c]; \
            __m128i front = _mm_loadl_epi64((const __m128i *)g[0]), \
                    back = _mm_loadl_epi64((const __m128i *)g[1]); \
            type *to = (type *)s->out + PLANAR_ROW_AT(s->t, c, row) + column; \
            for (int i = 0; i < whole; i += 8, to += step) \
                store(to, values_of(channel_of(rgb + i * 3, front, back), &k)); \
        } \
        return whole; \
    }
PLANAR_ROW_SIMD(row_f32_simd, float, _mm256_storeu_ps)
PLANAR_ROW_SIMD(row_f16_simd, uint16_t, store_f16)

SIMD static int try_all_values(const struct pp_transform *t)
{
    for (int c = 0; c < 3; c++) {
        struct constants k = constants_of(t, c);
        for (int v = 0; v < 256; v += 8) {
            uint8_t sample[16] = {0};
            float x[8];
            uint16_t h[8];
            for (int i = 0; i < 8; i++)
                sample[i] = (uint8_t)(v + i);
            __m256 value = values_of(_mm_loadu_si128((const __m128i *)sample), &k);
            _mm256_storeu_ps(x, value);
            store_f16(h, value);
            if (memcmp(x, &t->value_f32[c][v], sizeof(x)) != 0 ||
                memcmp(h, &t->value_f16[c][v], sizeof(h)) != 0)
                return 0;
        }
    }
    return 1;
}

#else
#define row_f32_simd(s, rgb, count, row) 0
#define row_f16_simd(s, rgb, count, row) 0
#endif

int pp_store_simd_is_exact(const struct pp_transform *t)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && try_all_values(t);
#else
    return 0;
#endif
}

void pp_store_row(const struct pp_store *s, const uint8_t *rgb, int count, int row)
{
    int simd = s->t->simd_is_exact && !s->portable;
    uint8_t *to;
    switch (s->t->dtype) {
    case PP_DTYPE_F32: row_f32(s, rgb, simd ? row_f32_simd(s, rgb, count, row) : 0, count, row); break;
    case PP_DTYPE_F16: row_f16(s, rgb, simd ? row_f16_simd(s, rgb, count, row) : 0, count, row); break;
    case PP_DTYPE_U8:
        to = (uint8_t *)s->out + ((size_t)row * (size_t)s->t->width + (size_t)first_column(s)) * 3;
        if (!s->flip)
            memcpy(to, rgb, (size_t)count * 3);
        for (int i = 0; s->flip && i < count; i++, to -= 3)
            memcpy(to, rgb + i * 3, 3);
        break;
    }
}

void pp_store_padding(const struct pp_store *s)
{
    const struct pp_transform *t = s->t;
    size_t plane = (size_t)t->width * (size_t)t->height;
    if (t->dtype == PP_DTYPE_U8) {
        memset(s->out, 0, pp_transform_bytes(t));
        return;
    }
    for (int c = 0; c < 3; c++) {
        for (size_t i = 0; i < plane; i++) {
            if (t->dtype == PP_DTYPE_F32)
                ((float *)s->out)[(size_t)c * plane + i] = t->value_f32[c][0];
            else
                ((uint16_t *)s->out)[(size_t)c * plane + i] = t->value_f16[c][0];
        }
    }
}
