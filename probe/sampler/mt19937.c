#include "probe/sampler/mt19937.h"

#define N PP_MT19937_WORDS
#define M 397

void pp_mt19937_seed(struct pp_mt19937 *mt, uint32_t seed)
{
    mt->word[0] = seed;
    for (uint32_t i = 1; i < N; i++) {
        uint32_t last = mt->word[i - 1];
        mt->word[i] = 1812433253u * (last ^ (last >> 30)) + i;
    }
    mt->used = N;
}

static uint32_t twist(uint32_t upper, uint32_t lower, uint32_t far)
{
    uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
    return far ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
}

uint32_t pp_mt19937_next(struct pp_mt19937 *mt)
{
    if (mt->used == N) {
        uint32_t *w = mt->word;
        for (int i = 0; i < N - M; i++)
            w[i] = twist(w[i], w[i + 1], w[i + M]);
        for (int i = N - M; i < N - 1; i++)
            w[i] = twist(w[i], w[i + 1], w[i + M - N]);
        w[N - 1] = twist(w[N - 1], w[0], w[M - 1]);
        mt->used = 0;
    }
    uint32_t y = mt->word[mt->used++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}
