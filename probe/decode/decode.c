#include "probe/decode/decode.h"

#include "probe/base/err.h"
#include "probe/decode/image_codec.h"

#include <stdlib.h>
#include <string.h>

struct pp_decoder {
    int exif_rotate;
    struct pp_image_arena arena;
    struct pp_jpeg *jpeg;
    struct pp_png png;
    struct pp_buffer pixels, rotated;
    struct pp_image_info info; /* of the image last opened; kind is PP_IMAGE_UNKNOWN when that failed */
};

static const struct signature {
    enum pp_image_kind kind;
    uint8_t at, length;
    const char *bytes, *name;
} signatures[] = {
    {PP_IMAGE_JPEG, 0, 3, "\xff\xd8\xff", "JPEG"},
    {PP_IMAGE_PNG, 0, 8, "\x89PNG\r\n\x1a\n", "PNG"},
    {PP_IMAGE_UNKNOWN, 0, 4, "GIF8", "a GIF"},
    {PP_IMAGE_UNKNOWN, 8, 4, "WEBP", "a WebP image"},
    {PP_IMAGE_UNKNOWN, 0, 2, "BM", "a BMP image"},
    {PP_IMAGE_UNKNOWN, 0, 4, "II*\0", "a TIFF image"},
    {PP_IMAGE_UNKNOWN, 0, 4, "MM\0*", "a TIFF image"},
    {PP_IMAGE_UNKNOWN, 4, 8, "ftypavif", "an AVIF image"},
    {PP_IMAGE_UNKNOWN, 4, 8, "ftypheic", "a HEIC image"},
    {PP_IMAGE_UNKNOWN, 4, 8, "ftypmif1", "a HEIF image"},
    {PP_IMAGE_UNKNOWN, 0, 4, "\0\0\1\0", "an ICO image"},
    {PP_IMAGE_UNKNOWN, 0, 8, "\0\0\0\x0cjP  ", "a JPEG 2000 image"},
    {PP_IMAGE_UNKNOWN, 0, 2, "\x1f\x8b", "a gzip file"},
    {PP_IMAGE_UNKNOWN, 0, 4, "PK\3\4", "a zip archive"},
    {PP_IMAGE_UNKNOWN, 0, 4, "%PDF", "a PDF document"},
    {PP_IMAGE_UNKNOWN, 0, 5, "<?xml", "an XML document"},
    {PP_IMAGE_UNKNOWN, 0, 4, "<svg", "an SVG image"},
    {PP_IMAGE_UNKNOWN, 0, 9, "<!DOCTYPE", "an HTML page (a failed download?)"},
    {PP_IMAGE_UNKNOWN, 0, 9, "<!doctype", "an HTML page (a failed download?)"},
    {PP_IMAGE_UNKNOWN, 0, 5, "<html", "an HTML page (a failed download?)"},
    {PP_IMAGE_UNKNOWN, 0, 5, "<HTML", "an HTML page (a failed download?)"},
    {PP_IMAGE_UNKNOWN, 0, 4, "\0\0\0\0", "a run of zero bytes (a hole left by an interrupted copy?)"},
};

static const struct signature *signature_of(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        const struct signature *s = &signatures[i];
        if (size >= (size_t)s->at + s->length && memcmp(data + s->at, s->bytes, s->length) == 0)
            return s;
    }
    return NULL;
}

enum pp_image_kind pp_image_sniff(const uint8_t *data, size_t size)
{
    const struct signature *s = signature_of(data, size);
    return s ? s->kind : PP_IMAGE_UNKNOWN;
}

static pp_status fail_unknown(const uint8_t *data, size_t size, struct pp_err *err)
{
    const struct signature *s = signature_of(data, size);
    if (s)
        return pp_fail(err, PP_E_UNSUPPORTED, "neither JPEG nor PNG: it looks like %s", s->name);
    for (size_t i = 0; i < 2; i++) { /* a file cut inside its signature */
        if (size < signatures[i].length && memcmp(data, signatures[i].bytes, size) == 0)
            return pp_fail(err, PP_E_CORRUPT, "a %s of only %zu bytes: the file is truncated",
                           signatures[i].name, size);
    }
    return pp_fail(err, PP_E_UNSUPPORTED, "neither JPEG nor PNG: it starts with the byte%s 0x%02x 0x%02x",
                   size > 1 ? "s" : "", data[0], size > 1 ? data[1] : 0u);
}

pp_status pp_decoder_create(int exif_rotate, struct pp_decoder **out, struct pp_err *err)
{
    struct pp_decoder *d = calloc(1, sizeof(*d));
    if (!d)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for an image decoder (%zu bytes)", sizeof(*d));
    d->exif_rotate = exif_rotate;
    d->png.arena = &d->arena;
    pp_status status = pp_jpeg_create(&d->arena, &d->jpeg, err);
    if (status != PP_OK) {
        pp_decoder_destroy(d);
        return status;
    }
    *out = d;
    return PP_OK;
}

void pp_decoder_destroy(struct pp_decoder *d)
{
    if (!d)
        return;
    pp_jpeg_destroy(d->jpeg);
    pp_buffer_free(&d->rotated);
    pp_buffer_free(&d->pixels);
    pp_image_arena_free(&d->arena);
    free(d);
}

uint64_t pp_decoder_grown(const struct pp_decoder *d)
{
    return d->arena.grown + d->pixels.grown + d->rotated.grown;
}

size_t pp_decoder_footprint(const struct pp_decoder *d)
{
    return sizeof(*d) + d->arena.held_bytes + d->pixels.capacity + d->rotated.capacity;
}

/* Orientations 5 to 8 exchange width and height. */
static int swaps_sides(int orientation)
{
    return orientation >= 5;
}

static int rotates(const struct pp_decoder *d)
{
    return d->exif_rotate && d->info.orientation > 1;
}

pp_status pp_decoder_open(struct pp_decoder *d, const uint8_t *data, size_t size, struct pp_image_info *info,
                          struct pp_err *err)
{
    pp_status status;
    pp_jpeg_abort(d->jpeg); /* resets the arena */
    pp_buffer_trim(&d->pixels);
    pp_buffer_trim(&d->rotated);
    d->info = (struct pp_image_info){.kind = PP_IMAGE_UNKNOWN};
    if (size == 0)
        return pp_fail(err, PP_E_EMPTY, "the file is empty");

    struct pp_image_info read = {.kind = PP_IMAGE_UNKNOWN};
    switch (pp_image_sniff(data, size)) {
    case PP_IMAGE_JPEG: status = pp_jpeg_open(d->jpeg, data, size, &read, err); break;
    case PP_IMAGE_PNG: status = pp_png_open(&d->png, data, size, &read, err); break;
    default: status = fail_unknown(data, size, err);
    }
    if (status != PP_OK)
        return status;
    d->info = read;
    if (rotates(d) && swaps_sides(read.orientation)) {
        d->info.width = read.height;
        d->info.height = read.width;
    }
    *info = d->info;
    return PP_OK;
}

/* An orientation as the way from a shown pixel to the stored one: exchange x and y, then mirror in the stored
 * image. */
static const struct orientation {
    unsigned char swap, mirror_x, mirror_y;
} orientations[9] = {
    [1] = {0, 0, 0}, [2] = {0, 1, 0}, [3] = {0, 1, 1}, [4] = {0, 0, 1},
    [5] = {1, 0, 0}, [6] = {1, 0, 1}, [7] = {1, 1, 1}, [8] = {1, 1, 0},
};

/* The stored region that is shown as r. */
static struct pp_rect stored_region(const struct pp_decoder *d, struct pp_rect r)
{
    const struct orientation *o = &orientations[d->info.orientation];
    int width = d->info.width, height = d->info.height;
    if (o->swap) {
        r = (struct pp_rect){.x = r.y, .y = r.x, .width = r.height, .height = r.width};
        width = d->info.height;
        height = d->info.width;
    }
    if (o->mirror_x)
        r.x = width - r.x - r.width;
    if (o->mirror_y)
        r.y = height - r.y - r.height;
    return r;
}

static pp_status rotate(struct pp_decoder *d, struct pp_pixels *p, struct pp_err *err)
{
    const struct orientation *o = &orientations[d->info.orientation];
    int width = o->swap ? p->height : p->width, height = o->swap ? p->width : p->height;
    size_t stride = (size_t)width * 4;
    if (pp_buffer_reserve(&d->rotated, stride * (size_t)height) != 0)
        return pp_fail(err, PP_E_NO_MEMORY,
                       "no memory to rotate the image by its EXIF orientation (%zu bytes)",
                       stride * (size_t)height);

    ptrdiff_t along_x = o->mirror_x ? -4 : 4,
              along_y = o->mirror_y ? -(ptrdiff_t)p->stride : (ptrdiff_t)p->stride;
    const uint8_t *first = p->data + (o->mirror_x ? (size_t)(p->width - 1) * 4 : 0) +
                           (o->mirror_y ? (size_t)(p->height - 1) * p->stride : 0);
    ptrdiff_t step_x = o->swap ? along_y : along_x, step_y = o->swap ? along_x : along_y;
    for (int y = 0; y < height; y++) {
        uint8_t *to = d->rotated.data + (size_t)y * stride;
        for (int x = 0; x < width; x++)
            memcpy(to + (size_t)x * 4, first + x * step_x + y * step_y, 4);
    }
    *p = (struct pp_pixels){.data = d->rotated.data, .width = width, .height = height, .stride = stride};
    return PP_OK;
}

pp_status pp_decoder_region(struct pp_decoder *d, struct pp_rect crop, struct pp_pixels *out,
                            struct pp_err *err)
{
    pp_status status;
    if (d->info.kind == PP_IMAGE_UNKNOWN)
        return pp_fail(err, PP_E_USAGE, "no image is open to decode a region of");
    if (crop.x < 0 || crop.y < 0 || crop.width < 1 || crop.height < 1 ||
        crop.width > d->info.width - crop.x || crop.height > d->info.height - crop.y)
        return pp_fail(err, PP_E_USAGE, "region %dx%d at (%d, %d) does not lie inside the image of %dx%d",
                       crop.width, crop.height, crop.x, crop.y, d->info.width, d->info.height);
    if (rotates(d))
        crop = stored_region(d, crop);
    if (d->info.kind == PP_IMAGE_JPEG)
        status = pp_jpeg_region(d->jpeg, crop, &d->pixels, out, err);
    else
        status = pp_png_region(&d->png, crop, &d->pixels, out, err);
    if (status == PP_OK && rotates(d))
        status = rotate(d, out, err);
    return status;
}
