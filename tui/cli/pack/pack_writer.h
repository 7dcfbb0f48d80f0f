/* cli/pack/pack_writer.h: writers of shards, for `pipeprobe pack`. A format is a row: it is given samples one
 * after the other and begins a new shard when the one at hand has reached its size. Files are made in a
 * directory of the caller's. One thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pack_sample {
    const uint8_t *data;
    size_t size;
    int64_t label; /* -1: none */
    uint64_t number;
    const char *kind; /* "jpg", "png", "webp" */
};

struct pack_into {
    const char *dir;
    uint64_t shard_bytes; /* a shard ends with the sample that reaches them */
};

struct pack_format {
    /* state: so many bytes, beginning with a struct pack_into, all 0 behind it. end is called also without
     * add, and writes what is left if failed is 0; the caller frees. */
    size_t state_bytes;
    pp_status (*add)(void *state, const struct pack_sample *s, struct pp_err *err);
    pp_status (*end)(void *state, int failed, uint64_t *shards, struct pp_err *err);
};

extern const struct pack_format pack_tar, pack_mds;
