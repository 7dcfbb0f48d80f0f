/* dataset/synthetic_image.h: makes one encoded image in memory: smooth fields in four octaves and fine grain,
 * about as hard to decode as a photograph (3 to 4 bits per pixel at quality 90). The bytes are a function of
 * the arguments and the encoder's version. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum pp_synthetic_format { PP_SYNTHETIC_JPEG, PP_SYNTHETIC_PNG };

struct pp_synthetic_spec {
    int width, height; /* 1..16384 each */
    enum pp_synthetic_format format;
    int quality; /* JPEG: 1..100 */
    uint64_t seed;
    int luma_h, luma_v; /* JPEG: values of luma for one of chroma; 0: 2, which is 4:2:0 */
    int gray;           /* JPEG: luma alone */
};

/* *data is the caller's to free. Any thread. */
pp_status pp_synthetic_image(const struct pp_synthetic_spec *spec, uint8_t **data, size_t *size,
                             struct pp_err *err);
