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
#ifndef PP_DECODE_IMAGE_H
#define PP_DECODE_IMAGE_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

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

#endif
