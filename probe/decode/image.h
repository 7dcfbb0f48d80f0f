/* decode/image.h: what a decoded image is: its header's facts, a region of pixels, and the limits that every
 * image codec keeps. Pixels are 8-bit RGB, exactly as PIL's Image.open(..).convert("RGB") gives them.
 *
 * A region is decoded, not the whole image: for JPEG only the rows and MCU columns the crop needs (plus one
 * MCU margin, which makes the result identical to a full decode with islow DCT and fancy upsampling), so the
 * caller says the crop first. For PNG and WebP the whole image is decoded whatever the crop.
 *
 * As PIL does: CMYK and YCCK are taken as Adobe's inverted kind and converted without a profile, alpha is
 * dropped and not blended, 16-bit colour keeps its high byte, 16-bit grey is clipped to 255. What PIL calls
 * truncated is PP_E_CORRUPT for every crop, also one above the missing part; what it merely warns about
 * (rubbish behind the image, a scan that ends early but with an end marker) is accepted. Where we differ:
 * damage that libjpeg meets only behind the last row is accepted here, and a PNG whose image data lack their
 * checksum is not. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#define PP_IMAGE_MAX_SIDE (1 << 17)
#define PP_IMAGE_MAX_PIXELS ((uint64_t)1 << 28)

struct pp_image_info {
    const char *format; /* the decoder's name: "JPEG", "PNG", "WebP" */
    int width,
        height; /* as a viewer of decoded pixels sees them: after EXIF rotation when the decoder applies it */
    int channels; /* in the file: JPEG 1, 3, 4; PNG 1 (grey, palette) to 4 (RGBA); WebP 3, 4 */
    int progressive;
    int orientation; /* EXIF 1..8, 1 when absent; of a PNG: its eXIf chunk, of a WebP: EXIF */
};

struct pp_rect {
    int x, y, width, height;
};

/* Pixels: RGBX, 4 bytes per pixel (X undefined), row-major. Memory belongs to the decoder and is valid until
 * its next call. */
struct pp_pixels {
    const uint8_t *data;
    int width, height;
    size_t stride; /* bytes */
};

/* PP_E_CORRUPT for an empty image, PP_E_UNSUPPORTED for more than PP_IMAGE_MAX_PIXELS or a side above
 * PP_IMAGE_MAX_SIDE: before anything is allocated for them. */
pp_status pp_image_check_size(uint64_t width, uint64_t height, struct pp_err *err);

/* Orientation 1..8 from a TIFF block as EXIF carries it (from "II*\0" or "MM\0*" on); 1 when there is none to
 * be had. Any bytes. */
int pp_exif_orientation(const uint8_t *tiff, size_t size);

/* How far pixels of another decoder are off ours. Plain data, added up image by image. */
struct pp_pixels_off {
    uint64_t images, values; /* compared; values: three of each pixel */
    uint64_t sum;            /* of their absolute differences, of 255 each */
    int largest;
};

/* rgb: the other decoder's, without gaps; ours is as large. Returns the largest difference of this image. */
int pp_pixels_off_add(struct pp_pixels_off *to, const uint8_t *rgb, const struct pp_pixels *ours);

/* Memory that a decoder keeps from one image to the next, so that a warm decode
 * allocates nothing.
 *
 * The arena serves whatever libjpeg and libpng ask for during one image and is reset before the next; after a
 * reset one chunk holds what the last image needed in several. The buffer is one growing block for pixels.
 * Both count every call they make to the system's allocator, and give memory beyond PP_KEEP_BYTES back, so
 * that one huge image does not stay with a worker for the rest of the run. What all of a decoder hold
 * together stays within its budget: an image of a few megabytes can ask for gigabytes. Not thread-safe: one
 * owner. Zeroed structs are valid and empty. */

#define PP_KEEP_BYTES ((size_t)32 << 20)
/* A cache line, and the most libjpeg-turbo's SIMD code asks for (twice its 32 bytes) */
#define PP_MEMORY_ALIGN 64

static inline size_t pp_memory_aligned(size_t size)
{
    return (size + PP_MEMORY_ALIGN - 1) / PP_MEMORY_ALIGN * PP_MEMORY_ALIGN;
}

/* Shared by the memories of one decoder. */
struct pp_image_budget {
    size_t limit;   /* 0: none */
    size_t held;    /* by all of them, and by the encoded sample */
    size_t refused; /* what would have been held after the allocation that was refused; 0: none was */
};

/* Whether size more bytes are within the budget; takes none. b may be NULL: always. */
int pp_image_budget_allows(struct pp_image_budget *b, size_t size);

struct pp_image_arena_chunk;
struct pp_image_arena {
    struct pp_image_budget *budget;    /* borrowed; NULL: none */
    struct pp_image_arena_chunk *head; /* the chunk in use; the full ones behind it */
    size_t held_bytes;
    uint64_t grown;
};

/* Aligned to PP_MEMORY_ALIGN, uninitialised; NULL when the system has no memory, or the budget no room. Valid
 * until the reset. */
void *pp_image_arena_alloc(struct pp_image_arena *a, size_t size);
void pp_image_arena_reset(struct pp_image_arena *a);
void pp_image_arena_free(struct pp_image_arena *a);

struct pp_buffer {
    struct pp_image_budget *budget; /* borrowed; NULL: none */
    uint8_t *data;
    size_t capacity;
    uint64_t grown;
};

/* At least size bytes, aligned to PP_MEMORY_ALIGN, contents lost on growth. 0, or -1 without memory or
 * room in the budget. */
int pp_buffer_reserve(struct pp_buffer *b, size_t size);
void pp_buffer_trim(struct pp_buffer *b); /* gives it back when it is larger than PP_KEEP_BYTES */
void pp_buffer_free(struct pp_buffer *b);
