/* dataset/dataset_tokens.h: the options of token files. */
#ifndef PP_DATASET_DATASET_TOKENS_H
#define PP_DATASET_DATASET_TOKENS_H

#include "probe/dataset/options.h"

#include <stdint.h>

struct pp_tokens_opts {
    int64_t window;      /* tokens per sample; 0: 1025 (1024 + the next token). Windows begin every window - 1
                          * tokens: neighbours share one, so that each token but the first is a target once; a
                          * tail shorter than a window is left out */
    int64_t token_bytes; /* 2 or 4 for .bin; 0: 2; .npy says its own (uint16, uint32, int32) */
};

struct pp_tokens_opts *pp_tokens_opts(const struct pp_dataset_options *o);

#endif
