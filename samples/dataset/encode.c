#include "samples/dataset/encode.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* A minimal EXIF segment: little-endian TIFF with one entry, Orientation (tag 0x0112, SHORT, count 1). The
 * last byte of the "no further directory" offset is the string's own NUL. */
static void write_orientation(struct jpeg_compress_struct *c, int orientation)
{
    uint8_t exif[] = "Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x01\0\0\0\0\0\0";
    exif[24] = (uint8_t)orientation;
    jpeg_write_marker(c, JPEG_APP0 + 1, exif, sizeof exif);
}

static void set_sampling(struct jpeg_compress_struct *c, int h, int v)
{
    c->comp_info[0].h_samp_factor = h;
    c->comp_info[0].v_samp_factor = v;
}

static void set_kind(struct jpeg_compress_struct *c, const struct sample_plan *plan)
{
    switch (plan->kind) {
    case KIND_444: set_sampling(c, 1, 1); break;
    case KIND_422: set_sampling(c, 2, 1); break;
    case KIND_GREY: jpeg_set_colorspace(c, JCS_GRAYSCALE); break;
    case KIND_CMYK:
        /* Every other one as YCCK with 4:2:0 chroma, which TurboJPEG's API refuses and libjpeg's reads. */
        if (plan->index % 2) {
            jpeg_set_colorspace(c, JCS_YCCK);
            set_sampling(c, 2, 2);
            c->comp_info[3].h_samp_factor = c->comp_info[3].v_samp_factor = 2;
        }
        break;
    case KIND_PROGRESSIVE: jpeg_simple_progression(c); break;
    default: break; /* libjpeg's own default is 4:2:0 */
    }
}

/* Inverted, as Adobe's CMYK JPEGs are and as decoders expect them. Black takes the part all three inks share.
 */
static void to_cmyk(const uint8_t *rgb, int width, uint8_t *out)
{
    for (int x = 0; x < width; x++, rgb += 3, out += 4) {
        int white = rgb[0] > rgb[1] ? rgb[0] : rgb[1];
        white = rgb[2] > white ? rgb[2] : white;
        for (int c = 0; c < 3; c++)
            out[c] = white ? (uint8_t)(rgb[c] * 255 / white) : 255;
        out[3] = (uint8_t)white;
    }
}

uint8_t *encode_jpeg(const struct sample_plan *plan, const uint8_t *rgb, size_t *size)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t *out = NULL, *inks = malloc((size_t)plan->width * 4);
    unsigned long written = 0;
    if (!inks)
        return NULL;

    c.err = jpeg_std_error(
        &errors); /* libjpeg prints and exits; encoding into memory fails only without memory */
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &written);
    c.image_width = (JDIMENSION)plan->width;
    c.image_height = (JDIMENSION)plan->height;
    c.input_components = plan->kind == KIND_CMYK ? 4 : 3;
    c.in_color_space = plan->kind == KIND_CMYK ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, plan->quality, TRUE);
    set_kind(&c, plan);
    jpeg_start_compress(&c, TRUE);
    if (plan->orientation != 1)
        write_orientation(&c, plan->orientation);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = (JSAMPROW)rgb + (size_t)c.next_scanline * (size_t)plan->width * 3;
        if (plan->kind == KIND_CMYK) {
            to_cmyk(row, plan->width, inks);
            row = inks;
        }
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(inks);
    *size = written;
    return out;
}

uint8_t *encode_png(const uint8_t *rgb, int width, int height, size_t *size)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t need = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *out = malloc(need);
    if (!out || !png_image_write_to_memory(&image, out, &need, 0, rgb, 0, NULL)) {
        free(out);
        return NULL;
    }
    *size = need;
    return out;
}
