/* dataset/plan.h: what sample number i of a generated set is: size, JPEG kind, quality, class. A pure
 * function of (seed, i), so the same seed gives the same bytes for any number of threads, as a folder and as
 * shards. */
#pragma once

#include <stdint.h>

enum sample_kind {
    KIND_420,
    KIND_444,
    KIND_422,
    KIND_PROGRESSIVE,
    KIND_GREY,
    KIND_CMYK,
    KIND_ROTATED,
    KIND_COUNT
};

struct plan_opts {
    uint64_t seed, classes;
    double width, height; /* mean size in pixels */
    int skewed;           /* one sample in SKEW_EVERY has 100 times the pixels of the others */
};

#define SKEW_EVERY 16

struct sample_plan {
    uint64_t index, cls;
    enum sample_kind kind;
    int width, height, quality;
    int orientation; /* EXIF, 1 unless KIND_ROTATED */
};

void sample_plan(const struct plan_opts *opts, uint64_t index, struct sample_plan *out);
const char *sample_kind_name(enum sample_kind kind);

/* Streams of pp_rng_key that belong to the generator. */
enum { STREAM_PLAN = 101, STREAM_PICTURE, STREAM_FIELD, STREAM_TOKENS, STREAM_ODD };
