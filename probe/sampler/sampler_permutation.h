/* sampler/sampler_permutation.h: a keyed permutation of [0, n) that is computed, not stored.
 *
 * A Feistel network over the grid [0, hi_count) x [0, 2^lo_bits) with hi_count * 2^lo_bits >= n: rounds in
 * turn add a keyed hash of the low half to the high half (mod hi_count) and xor a keyed hash of the high half
 * into the low half. Every round can be undone, so the whole is a bijection of the grid; a result >= n is fed
 * in again until it falls below n ("cycle walking", Black and Rogaway, Ciphers with Arbitrary Finite Domains,
 * 2002), which makes it one of [0, n). The grid has fewer than 2^lo_bits <= sqrt(2 n) cells too many, so
 * about one call in sqrt(n) walks.
 *
 * Rounds: 4 fail the statistics of tests/unit/probe/sampler/test_sampler_random.c, 6 pass at n = 1000 but not
 * at n = 64, 8 pass from n = 256 on (300,000 orders at n = 260). Below 256 the halves are so few that 24
 * rounds are needed until each of the n! orders is equally likely (tested for n = 3..6).
 *
 * Plain data; immutable after init, so any number of threads may ask it. */
#pragma once

#include "probe/base/std.h"

#define PP_PERMUTATION_ROUNDS 8
#define PP_PERMUTATION_ROUNDS_SMALL 24
#define PP_PERMUTATION_SMALL_N 256

struct pp_permutation {
    uint64_t n;
    uint32_t hi_count, lo_bits;
    struct {
        uint32_t offset, factor; /* factor is odd */
    } key[PP_PERMUTATION_ROUNDS_SMALL];
};

/* 1 <= n <= 2^40. Takes about 0.1 us. */
void pp_permutation_init(struct pp_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch);

/* Where x < n goes. */
uint64_t pp_permutation_at(const struct pp_permutation *p, uint64_t x);

/* out[i] = at(first + i * stride) for i < count; first + (count - 1) * stride < n. With AVX2 several times
 * faster than at(). */
void pp_permutation_fill(const struct pp_permutation *p, uint64_t first, uint64_t stride, uint64_t *out,
                         size_t count);
