/* dataset/encode.h: pixels to JPEG of every kind a real set has, and to PNG. Output is malloc'ed and the
 * caller's; NULL: no memory. */
#pragma once

#include "samples/dataset/plan.h"

#include <stddef.h>
#include <stdint.h>

/* rgb: width * height * 3 bytes of plan's size. */
uint8_t *encode_jpeg(const struct sample_plan *plan, const uint8_t *rgb, size_t *size);
uint8_t *encode_png(const uint8_t *rgb, int width, int height, size_t *size);
