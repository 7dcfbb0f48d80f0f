/* base/rng.h: counter-based randomness. A value depends on its key alone, so that what a sample gets does not
 * depend on which worker drew it or when. splitmix64's finaliser (Steele, Lea, Flood 2014) as mixing
 * function. */
#pragma once

#include "probe/base/std.h"

static inline uint64_t pp_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct pp_rng {
    uint64_t state;
};

/* Key of one sample in one epoch of one seed; streams keeps independent uses apart (augmentation, faults). */
static inline struct pp_rng pp_rng_key(uint64_t seed, uint64_t epoch, uint64_t sample, uint64_t stream)
{
    uint64_t s = pp_mix64(seed + 0x9e3779b97f4a7c15u);
    s = pp_mix64(s ^ (epoch * 0xd1342543de82ef95u + 1));
    s = pp_mix64(s ^ (sample * 0x9e3779b97f4a7c15u + 2));
    s = pp_mix64(s ^ (stream * 0xda942042e4dd58b5u + 3));
    return (struct pp_rng){s};
}

static inline uint64_t pp_rng_next(struct pp_rng *r)
{
    return pp_mix64(r->state += 0x9e3779b97f4a7c15u);
}

/* Uniform in [0, 1), 53 bits. */
static inline double pp_rng_unit(struct pp_rng *r)
{
    return (double)(pp_rng_next(r) >> 11) * 0x1.0p-53;
}

/* Uniform in [0, n), n > 0, without modulo bias (Lemire 2019). */
static inline uint64_t pp_rng_below(struct pp_rng *r, uint64_t n)
{
    unsigned __int128 m = (unsigned __int128)pp_rng_next(r) * n;
    if ((uint64_t)m < n) {
        uint64_t threshold = -n % n;
        while ((uint64_t)m < threshold)
            m = (unsigned __int128)pp_rng_next(r) * n;
    }
    return (uint64_t)(m >> 64);
}
