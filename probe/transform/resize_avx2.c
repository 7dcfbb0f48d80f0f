/* The AVX2 kernels of resize.h. A 22-bit weight does not fit the 16-bit multiplier, so it is split in two and
 * each half is summed by _mm256_madd_epi16, two taps at once; (high << 15) + low is then the exact sum,
 * wrapping in between or not. */
#include "probe/transform/resize.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

INLINE __m256i finish(__m256i high, __m256i low)
{
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, PP_WEIGHT_LOW_BITS), low),
                             PP_WEIGHT_BITS);
}

/* Two pixels of each of two rows as 16-bit words, tap beside tap: r0 r1 g0 g1 b0 b1 x0 x1, the second row in
 * the high lane. */
INLINE __m256i pair_words(__m256i pixels, int which)
{
    const __m256i first = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, 0, -1, 4,
                                           -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    const __m256i second = _mm256_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1, 8,
                                            -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
    return _mm256_shuffle_epi8(pixels, which ? second : first);
}

/* Of two rows, by the load that is given: four pixels of each, or two. */
#define LOAD_TWO_ROWS(load, a, b) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(load((const __m128i *)(a))), load((const __m128i *)(b)), 1)

INLINE __m256i broadcast(const int16_t pair[2])
{
    int32_t word;
    memcpy(&word, pair, sizeof(word));
    return _mm256_set1_epi32(word);
}

struct sums {
    __m256i high01, low01, high23, low23;
};

INLINE void add_pair(struct sums *s, __m256i rows01, __m256i rows23, const struct pp_weight_pair *w)
{
    __m256i high = broadcast(w->high), low = broadcast(w->low);
    s->high01 = _mm256_add_epi32(s->high01, _mm256_madd_epi16(rows01, high));
    s->low01 = _mm256_add_epi32(s->low01, _mm256_madd_epi16(rows01, low));
    s->high23 = _mm256_add_epi32(s->high23, _mm256_madd_epi16(rows23, high));
    s->low23 = _mm256_add_epi32(s->low23, _mm256_madd_epi16(rows23, low));
}

/* Four bytes for three: the next pixel overwrites the fourth. */
INLINE void store_pixel(uint8_t *to, __m128i v, int which)
{
    int32_t word = which ? _mm_extract_epi32(v, 1) : _mm_cvtsi128_si32(v);
    memcpy(to, &word, sizeof(word));
}

/* pairs apart from the axis, so that a constant unrolls the loop. */
INLINE void resize_rows(const struct pp_axis *axis, const uint8_t *const from[4], uint8_t *const to[4],
                        int pairs)
{
    /* In locals, for a byte stored might else be part of a pointer. */
    const uint8_t *from0 = from[0], *from1 = from[1], *from2 = from[2], *from3 = from[3];
    uint8_t *to0 = to[0], *to1 = to[1], *to2 = to[2], *to3 = to[3];
    const struct pp_weight_pair *w = axis->pair;
    const int *start = axis->start;
    const __m256i half = _mm256_set1_epi32(1 << (PP_WEIGHT_BITS - 1));
    int count = axis->count;
    for (int x = 0; x < count; x++, to0 += 3, to1 += 3, to2 += 3, to3 += 3) {
        size_t at = (size_t)start[x] * 4;
        struct sums s = {_mm256_setzero_si256(), half, _mm256_setzero_si256(), half};
        int p = 0;
        for (; p + 2 <= pairs; p += 2, at += 16, w += 2) {
            __m256i rows01 = LOAD_TWO_ROWS(_mm_loadu_si128, from0 + at, from1 + at),
                    rows23 = LOAD_TWO_ROWS(_mm_loadu_si128, from2 + at, from3 + at);
            add_pair(&s, pair_words(rows01, 0), pair_words(rows23, 0), w);
            add_pair(&s, pair_words(rows01, 1), pair_words(rows23, 1), w + 1);
        }
        if (p < pairs) {
            __m256i rows01 = LOAD_TWO_ROWS(_mm_loadl_epi64, from0 + at, from1 + at),
                    rows23 = LOAD_TWO_ROWS(_mm_loadl_epi64, from2 + at, from3 + at);
            add_pair(&s, pair_words(rows01, 0), pair_words(rows23, 0), w++);
        }
        /* Low lane: rows 0 and 2, high lane: rows 1 and 3. */
        __m256i words = _mm256_packs_epi32(finish(s.high01, s.low01), finish(s.high23, s.low23));
        __m256i bytes = _mm256_packus_epi16(words, words);
        __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
        store_pixel(to0, even, 0);
        store_pixel(to1, odd, 0);
        store_pixel(to2, even, 1);
        store_pixel(to3, odd, 1);
    }
}

AVX2 void pp_resize_rows_avx2(const struct pp_axis *axis, const uint8_t *const from[4], uint8_t *const to[4])
{
    switch (axis->taps) {
    case 2: resize_rows(axis, from, to, 1); break;
    case 4: resize_rows(axis, from, to, 2); break;
    case 6: resize_rows(axis, from, to, 3); break;
    default: resize_rows(axis, from, to, axis->taps / 2);
    }
}

AVX2 void pp_resize_column_avx2(const struct pp_axis *axis, int output, const uint8_t *const *rows,
                                uint8_t *to, size_t bytes)
{
    int pairs = axis->taps / 2;
    const struct pp_weight_pair *weights = axis->pair + (size_t)output * (size_t)pairs;
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (PP_WEIGHT_BITS - 1));
    for (size_t at = 0; at < bytes; at += 32) {
        __m256i high[4] = {zero, zero, zero, zero}, low[4] = {half, half, half, half};
        for (int p = 0; p < pairs; p++) {
            __m256i a = _mm256_loadu_si256((const __m256i *)(rows[2 * p] + at)),
                    b = _mm256_loadu_si256((const __m256i *)(rows[2 * p + 1] + at));
            __m256i front = _mm256_unpacklo_epi8(a, b), back = _mm256_unpackhi_epi8(a, b);
            __m256i words[4] = {_mm256_unpacklo_epi8(front, zero), _mm256_unpackhi_epi8(front, zero),
                                _mm256_unpacklo_epi8(back, zero), _mm256_unpackhi_epi8(back, zero)};
            __m256i weight_high = broadcast(weights[p].high), weight_low = broadcast(weights[p].low);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) { /* unrolled, or the sums live in memory */
                high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(words[i], weight_high));
                low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(words[i], weight_low));
            }
        }
        __m256i front = _mm256_packs_epi32(finish(high[0], low[0]), finish(high[1], low[1]));
        __m256i back = _mm256_packs_epi32(finish(high[2], low[2]), finish(high[3], low[3]));
        _mm256_storeu_si256((__m256i *)(to + at), _mm256_packus_epi16(front, back));
    }
}

#endif
