/* dataset/extras.h: what goes beside the healthy pictures: damaged files, shards, token files. */
#pragma once

#include "probe/base/err.h"
#include "samples/dataset/picture.h"
#include "samples/dataset/plan.h"

#include <stddef.h>
#include <stdint.h>

pp_status write_file(const char *path, const void *data, size_t size, struct pp_err *err);

/* Encodes sample index; *data is malloc'ed. Any thread. */
pp_status make_sample(const struct picture_field *f, const struct plan_opts *opts, uint64_t index,
                      struct sample_plan *plan, uint8_t **data, size_t *size, struct pp_err *err);

/* Writes into dir one file of every damage a real set has been seen with: odd_truncated, odd_empty, odd_png
 * (healthy, named .jpg), odd_1x1 (healthy), odd_bitflip, odd_text, odd_unreadable (mode 0), odd_dangling (a
 * link to nothing, which even root cannot read), all .jpg. */
pp_status write_odd(const char *dir, const struct picture_field *f, const struct plan_opts *opts,
                    struct pp_err *err);

/* WebDataset shard: samples [from, to) as NNNNNN.jpg + NNNNNN.cls. *bytes grows by the images' sizes. */
pp_status write_shard(const char *path, const struct picture_field *f, const struct plan_opts *opts,
                      uint64_t from, uint64_t to, uint64_t *bytes, struct pp_err *err);

/* n uint16 tokens, Zipf-like over 50257 as text is; .npy when path ends so, raw otherwise. */
pp_status write_tokens(const char *path, uint64_t n, uint64_t seed, struct pp_err *err);
