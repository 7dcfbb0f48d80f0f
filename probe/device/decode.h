/* device/decode.h: JPEG decoded on the device, a batch at a time, and made into finished samples there.
 *
 *   worker      parser_accepts: can the device decode these bytes? they go into page-locked memory
 *   copy lane   start: the batch's images -> pixels; images that the decoder refuses come back as failed
 *               finish: pixels -> samples of the batch, by a kernel; samples made on the CPU are copied beside
 *               wait: both are done; when the decoder worked, by the device's own events
 *
 * Several batches may be between start and wait: as many as the device has copy buffers. A decoder belongs to
 * its device and ends with it. A parser belongs to one thread and is destroyed before the device is closed;
 * the rest is called by the copy lane alone, but for open and info. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_device;

/* Bytes of zero that follow each image in memory: the decoder may read beyond its end. */
#define PP_DEVICE_DECODE_PADDING 256

struct pp_device_decode_opts {
    int backend;  /* 0: the best that can be had; else of enum pp_nvjpeg_backend (device/nvjpeg.h), or fail */
    size_t batch; /* samples of a batch at most */
    int cpu_threads;   /* that the decoder may use where it needs the CPU; at least 1 */
    int width, height; /* of a finished sample */
    int value_bytes;   /* 1: interleaved bytes (NHWC); 2, 4: planes (NCHW) of values from the table */
    const void *table; /* value v of channel c becomes table[c * 256 + v]; read by open alone; value_bytes 1:
                          unused */
};

struct pp_device_decode_info {
    const char *library, *backend; /* "libnvjpeg.so.12", "HARDWARE" */
    const char *note;              /* NULL or why it is not a better back end */
    int version;                   /* of the library: 12004 is 12.4 */
    uint64_t most_pixels;          /* of an image: a larger one has no room there */
    unsigned engines, cores;       /* of the device that decode and do nothing else; cores: of each */
};

/* A part of an image. width 0: the whole image. */
struct pp_device_region {
    int x, y, width, height;
};

/* One image, and how its pixels become a sample; what tables and counts mean: probe/transform/transform.h. */
struct pp_device_image {
    const uint8_t *data; /* padding behind; not changed until the decoding is done */
    size_t size;
    int width, height;              /* of the whole image */
    struct pp_device_region region; /* that is decoded, and has the pixels that the tables speak of; start may
                                       make it the whole */
    int crop_x, crop_y;             /* the first pixel that the tables speak of */
    const void *tables;
    size_t tables_bytes;
    int x_count, x_taps, y_count, y_taps, left, top, flip;
    uint32_t row; /* of the batch; may change until finish */
    int failed;   /* set by start: the decoder refuses this image, and it has no pixels; or, before finish, by
                     who does not want them */
};

/* A batch: row `image->row` from each image that did not fail, the others from the host's memory. */
struct pp_device_rows {
    const uint8_t *data;
    size_t row_bytes, count;
    const struct pp_device_image *images;
    size_t n_images;
};

struct pp_device_decode_times {
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
};

/* Makes the decoder. PP_E_UNSUPPORTED: this device or machine has none; err says why. PP_E_NO_MEMORY. */
pp_status pp_device_decode_open(struct pp_device *d, const struct pp_device_decode_opts *opts,
                                struct pp_err *err);
void pp_device_decode_info(const struct pp_device *d, struct pp_device_decode_info *out);

struct pp_device_parser;
pp_status pp_device_parser_create(struct pp_device *d, struct pp_device_parser **out, struct pp_err *err);
/* region: what of the image is wanted; becomes the whole image where the decoder gives no part of it. */
int pp_device_parser_accepts(struct pp_device_parser *p, const uint8_t *data, size_t size,
                             struct pp_device_region *region);
void pp_device_parser_destroy(struct pp_device_parser *p); /* NULL is fine */

/* PP_OK also when images failed. PP_E_NO_MEMORY: not on the device now. PP_E_UNSUPPORTED: the decoder works
 * no more, the device does. PP_E_SYSTEM: the device is lost. Without PP_OK there is no ticket, and nothing is
 * under way. */
pp_status pp_device_decode_start(struct pp_device *d, struct pp_device_image *images, size_t n,
                                 uint64_t *ticket, struct pp_err *err);
/* Blocks until the images of start are pixels: their bytes may be overwritten. */
pp_status pp_device_decode_settle(struct pp_device *d, uint64_t ticket, struct pp_err *err);
/* What is decoded of an image: its region, or all of it. */
static inline struct pp_device_region pp_device_decoded(const struct pp_device_image *image)
{
    return image->region.width ? image->region
                               : (struct pp_device_region){.width = image->width, .height = image->height};
}
/* Of image i of the last start, after settle: the pixels of what was decoded of it, RGB, width x height x 3
 * bytes. */
pp_status pp_device_decode_pixels(struct pp_device *d, uint64_t ticket, size_t i, uint8_t *to,
                                  struct pp_err *err);
/* Errors as start, and then the ticket is gone. */
pp_status pp_device_decode_finish(struct pp_device *d, uint64_t ticket, const struct pp_device_rows *rows,
                                  struct pp_err *err);
pp_status pp_device_decode_wait(struct pp_device *d, uint64_t ticket, struct pp_device_decode_times *out,
                                struct pp_err *err);
/* Gives the memory for pixels back to the device, for who decodes no more: after pp_device_sync. Batches that
 * are finished may still be waited for and read. */
void pp_device_decode_trim(struct pp_device *d);
/* After wait: the first size bytes of the batch as it lies on the device. */
pp_status pp_device_decode_read(struct pp_device *d, uint64_t ticket, void *to, size_t size,
                                struct pp_err *err);
