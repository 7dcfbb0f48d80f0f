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

uint32_t pp_mt19937_next(struct pp_mt19937 *mt)
{
    if (mt->used == N) {
        uint32_t *w = mt->word;
        for (int i = 0; i < N; i++) {
            uint32_t y = (w[i] & 0x80000000u) | (w[i + 1 < N ? i + 1 : 0] & 0x7fffffffu);
            w[i] = w[i < N - M ? i + M : i + M - N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        mt->used = 0;
    }
    uint32_t y = mt->word[mt->used++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}
