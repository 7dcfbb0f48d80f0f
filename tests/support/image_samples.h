/* Pictures for the image tests, encoded and decoded by plain libjpeg and libpng calls, so that the tests have
 * a truth of their own. */
#pragma once

#include "probe/base/rng.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>

struct bytes {
    uint8_t *data;
    size_t size;
};

struct jpeg_kind {
    int width, height;
    J_COLOR_SPACE space; /* in the file */
    int h[4], v[4];      /* sampling factors per component */
    int progressive, arithmetic, restart_rows, restart_blocks, quality, separate_scans;
    int orientation; /* > 0: an EXIF block that says so */
    int exif_big_endian;
};

/* A picture of that kind; the caller frees .data. The same seed gives the same bytes. */
struct bytes encode_jpeg(const struct jpeg_kind *k, uint64_t seed);

/* The whole image by libjpeg alone, as RGBX; NULL when libjpeg refuses the file or runs out of data. */
uint8_t *decode_jpeg_whole(struct bytes file, int *width, int *height);

/* rows: height rows of packed samples as PNG has them (16-bit big-endian). */
struct bytes encode_png(int width, int height, int depth, int colour, int interlaced, const uint8_t *samples,
                        size_t row_bytes, const png_color *palette, int n_palette);

/* The checksum of PNG chunks, bit by bit. */
uint32_t png_crc(const uint8_t *data, size_t size);
