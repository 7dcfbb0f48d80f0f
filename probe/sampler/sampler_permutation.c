#include "probe/sampler/sampler_permutation.h"

#include "probe/base/rng.h"

#define STREAM_PERMUTATION 0x7065726d /* "perm": keeps these keys apart from other uses of (seed, epoch) */
#define BLOCK 64                      /* indexes permuted side by side; a multiple of any vector's lanes */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A hash of a half, as a fraction of 2^32. The top bits are the good ones: they depend on all bits of x and
 * of the key. */
ALWAYS_INLINE uint32_t hash(const struct pp_permutation *p, int round, uint32_t x)
{
    uint32_t h = (x ^ p->key[round].offset) * 0x9e3779b1u;
    h ^= h >> 15;
    return h * p->key[round].factor;
}

/* Two rounds. Both hashes become numbers below the other half's size by a multiply and a shift, without
 * division (Lemire 2019); a value's share is off by at most 2^20 / 2^32 at n = 2^40. */
ALWAYS_INLINE void round_pair(const struct pp_permutation *p, int round, uint32_t *hi, uint32_t *lo)
{
    uint32_t sum = *hi + (uint32_t)(((uint64_t)hash(p, round, *lo) * p->hi_count) >> 32);
    uint32_t wrapped = sum -
                       p->hi_count; /* huge when sum < hi_count: the smaller of both is sum mod hi_count */
    *hi = wrapped < sum ? wrapped : sum;
    *lo ^= (uint32_t)(((uint64_t)hash(p, round + 1, *hi) << p->lo_bits) >> 32);
}

ALWAYS_INLINE uint64_t pass(const struct pp_permutation *p, int rounds, uint64_t x)
{
    uint32_t lo = (uint32_t)(x & ((UINT64_C(1) << p->lo_bits) - 1));
    uint32_t hi = (uint32_t)(x >> p->lo_bits);
    for (int r = 0; r < rounds; r += 2)
        round_pair(p, r, &hi, &lo);
    return (uint64_t)hi << p->lo_bits | lo;
}

void pp_permutation_init(struct pp_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch)
{
    int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
    struct pp_rng rng = pp_rng_key(seed, epoch, n, STREAM_PERMUTATION);
    p->n = n;
    p->lo_bits = (uint32_t)bits / 2;
    p->hi_count = (uint32_t)((n + (UINT64_C(1) << p->lo_bits) - 1) >> p->lo_bits);
    for (int r = 0; r < PP_PERMUTATION_ROUNDS_SMALL; r++) {
        uint64_t word = pp_rng_next(&rng);
        p->key[r].offset = (uint32_t)word;
        p->key[r].factor = (uint32_t)(word >> 32) | 1;
    }
}

uint64_t pp_permutation_at(const struct pp_permutation *p, uint64_t x)
{
    if (p->n < PP_PERMUTATION_SMALL_N) {
        do
            x = pass(p, PP_PERMUTATION_ROUNDS_SMALL, x);
        while (x >= p->n);
    } else {
        do
            x = pass(p, PP_PERMUTATION_ROUNDS, x);
        while (x >= p->n);
    }
    return x;
}

/* One pass over BLOCK inputs, written so that the compiler turns the loops into vectors. */
ALWAYS_INLINE void pass_block(const struct pp_permutation *p, uint64_t first, uint64_t stride, uint64_t *out)
{
    uint32_t hi[BLOCK], lo[BLOCK];
    uint32_t lo_mask = (uint32_t)((UINT64_C(1) << p->lo_bits) - 1);
    for (int i = 0; i < BLOCK; i++) {
        uint64_t x = first + (uint64_t)i * stride;
        hi[i] = (uint32_t)(x >> p->lo_bits);
        lo[i] = (uint32_t)x & lo_mask;
    }
    for (int r = 0; r < PP_PERMUTATION_ROUNDS; r += 2)
        for (int i = 0; i < BLOCK; i++)
            round_pair(p, r, &hi[i], &lo[i]);
    for (int i = 0; i < BLOCK; i++)
        out[i] = (uint64_t)hi[i] << p->lo_bits | lo[i];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void pass_block_avx2(const struct pp_permutation *p, uint64_t first,
                                                            uint64_t stride, uint64_t *out)
{
    pass_block(p, first, stride, out);
}
#endif

typedef void pass_block_fn(const struct pp_permutation *p, uint64_t first, uint64_t stride, uint64_t *out);

void pp_permutation_fill(const struct pp_permutation *p, uint64_t first, uint64_t stride, uint64_t *out,
                         size_t count)
{
    size_t done = 0;
    if (p->n >= PP_PERMUTATION_SMALL_N) {
        pass_block_fn *block = pass_block;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2"))
            block = pass_block_avx2;
#endif
        for (; count - done >= BLOCK; done += BLOCK) {
            block(p, first + done * stride, stride, out + done);
            for (int i = 0; i < BLOCK; i++)
                if (out[done + i] >= p->n)
                    out[done + i] = pp_permutation_at(p, out[done + i]);
        }
    }
    for (; done < count; done++)
        out[done] = pp_permutation_at(p, first + done * stride);
}
