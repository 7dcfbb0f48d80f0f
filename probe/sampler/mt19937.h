/* sampler/mt19937.h: the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), the generator behind
 * PyTorch's CPU randperm. Here for --sampler torch only; everything else draws from base/rng.h. One thread at
 * a time. */
#pragma once

#include "probe/base/std.h"

#define PP_MT19937_WORDS 624

struct pp_mt19937 {
    uint32_t word[PP_MT19937_WORDS];
    int used; /* words of this block already handed out */
};

/* init_genrand of the 2002 reference. PyTorch's manual_seed hands over the low 32 bits of its 64. */
void pp_mt19937_seed(struct pp_mt19937 *mt, uint32_t seed);
uint32_t pp_mt19937_next(struct pp_mt19937 *mt);
