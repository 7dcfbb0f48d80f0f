#include "probe/dataset/synthetic_image.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <setjmp.h>

#include <jpeglib.h>
#include <png.h>

/* Random values on a coarse grid; between the grid's points the field is bilinear. */
struct octave {
    int cell;        /* pixels between grid points */
    float amplitude; /* in grey levels */
};

static const struct octave octaves[] = {{160, 70}, {48, 32}, {12, 18}, {4, 12}};
static const int grain = 14; /* grey levels, peak to peak, independent per pixel: what a sensor adds */

static void add_octave(float *field, int width, int height, const struct octave *o, struct pp_rng *rng,
                       float *grid)
{
    int columns = width / o->cell + 2, rows = height / o->cell + 2;
    for (int i = 0; i < columns * rows; i++)
        grid[i] = (float)(pp_rng_unit(rng) * 2 - 1) * o->amplitude;
    for (int y = 0; y < height; y++) {
        const float *top = grid + y / o->cell * columns, *bottom = top + columns;
        float v = (float)(y % o->cell) / (float)o->cell;
        for (int x = 0; x < width; x++) {
            int c = x / o->cell;
            float u = (float)(x % o->cell) / (float)o->cell;
            float a = top[c] + (top[c + 1] - top[c]) * u, b = bottom[c] + (bottom[c + 1] - bottom[c]) * u;
            field[(size_t)y * (size_t)width + (size_t)x] += a + (b - a) * v;
        }
    }
}

/* Interleaved RGB. The channels share the fine octaves, as the channels of photographs do, and differ in the
 * coarsest. */
static uint8_t *paint(const struct pp_synthetic_spec *spec)
{
    size_t width = (size_t)spec->width, height = (size_t)spec->height, pixels = width * height;
    float *luma = calloc(pixels, sizeof(*luma)), *tint = NULL;
    float *grid = malloc((width / 4 + 2) * (height / 4 + 2) *
                         sizeof(*grid)); /* of the finest octave, the largest */
    uint8_t *rgb = malloc(pixels * 3);
    struct pp_rng rng = pp_rng_key(spec->seed, width, height, 1);
    if (!luma || !grid || !rgb || !(tint = malloc(pixels * sizeof(*tint)))) {
        free(rgb);
        rgb = NULL;
        goto out;
    }
    for (size_t k = 1; k < sizeof(octaves) / sizeof(*octaves); k++)
        add_octave(luma, spec->width, spec->height, &octaves[k], &rng, grid);
    for (size_t i = 0; i < pixels; i++)
        luma[i] += 128 + (float)pp_rng_below(&rng, (uint64_t)grain) - (float)grain / 2;
    for (size_t channel = 0; channel < 3; channel++) {
        memset(tint, 0, pixels * sizeof(*tint));
        add_octave(tint, spec->width, spec->height, &octaves[0], &rng, grid);
        for (size_t i = 0; i < pixels; i++) {
            float v = luma[i] + tint[i];
            rgb[i * 3 + channel] = v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
        }
    }
out:
    free(luma);
    free(tint);
    free(grid);
    return rgb;
}

struct jpeg_failure {
    struct jpeg_error_mgr base; /* first: libjpeg hands back a pointer to it */
    jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
};

static void on_jpeg_error(j_common_ptr c)
{
    struct jpeg_failure *f = (struct jpeg_failure *)c->err;
    c->err->format_message(c, f->text);
    longjmp(f->jump, 1);
}

static pp_status encode_jpeg(const struct pp_synthetic_spec *spec, uint8_t *rgb, uint8_t **data, size_t *size,
                             struct pp_err *err)
{
    struct jpeg_compress_struct c;
    struct jpeg_failure failure;
    /* The most 4:2:0 can need, as libjpeg-turbo's tjBufSize has it, and twice as much for 4:4:4: libjpeg then
     * never replaces the buffer behind our back. */
    unsigned long length = ((unsigned long)spec->width + 15) / 16 * 16 *
                               (((unsigned long)spec->height + 15) / 16 * 16) * (spec->luma_h ? 6 : 3) +
                           2048;

    *data = malloc(length);
    if (!*data)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a synthetic JPEG of %dx%d", spec->width,
                       spec->height);
    c.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = on_jpeg_error;
    if (setjmp(failure.jump)) {
        jpeg_destroy_compress(&c);
        free(*data);
        *data = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "cannot make a synthetic JPEG of %dx%d: %s", spec->width,
                       spec->height, failure.text);
    }
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, data, &length);
    c.image_width = (JDIMENSION)spec->width;
    c.image_height = (JDIMENSION)spec->height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    if (spec->gray)
        jpeg_set_colorspace(&c, JCS_GRAYSCALE);
    if (spec->luma_h)
        c.comp_info[0].h_samp_factor = spec->luma_h;
    if (spec->luma_v)
        c.comp_info[0].v_samp_factor = spec->luma_v;
    jpeg_set_quality(&c, spec->quality, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = rgb + (size_t)c.next_scanline * (size_t)spec->width * 3;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *size = length;
    return PP_OK;
}

pp_status pp_synthetic_image(const struct pp_synthetic_spec *spec, uint8_t **data, size_t *size,
                             struct pp_err *err)
{
    *data = NULL;
    *size = 0;
    uint8_t *rgb = paint(spec);
    if (!rgb)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a synthetic image of %dx%d", spec->width,
                       spec->height);
    pp_status st = PP_OK;
    if (spec->format == PP_SYNTHETIC_PNG) {
        png_image image = {.version = PNG_IMAGE_VERSION,
                           .width = (png_uint_32)spec->width,
                           .height = (png_uint_32)spec->height,
                           .format = PNG_FORMAT_RGB};
        png_alloc_size_t length = PNG_IMAGE_PNG_SIZE_MAX(image);
        *data = malloc(length);
        if (!*data || !png_image_write_to_memory(&image, *data, &length, 0, rgb, 0, NULL)) {
            png_image_free(&image);
            free(*data);
            *data = NULL;
            st = pp_fail(err, PP_E_NO_MEMORY, "cannot make a synthetic PNG of %dx%d: %s", spec->width,
                         spec->height, image.message[0] ? image.message : "no memory");
        }
        *size = st == PP_OK ? length : 0;
    } else {
        st = encode_jpeg(spec, rgb, data, size, err);
    }
    free(rgb);
    uint8_t *fit = st == PP_OK ? realloc(*data, *size) : NULL;
    if (fit)
        *data = fit;
    return st;
}
