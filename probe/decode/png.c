/* The PNG decoder, through libpng.
 *
 * The whole image is decoded whatever the crop: rows depend on one another through the filters and the
 * deflate stream, and a file that is damaged below the crop is an error for every crop, not for some epochs.
 * Colours follow PIL's convert("RGB"): alpha and transparent colours are dropped, not blended; 16-bit colour
 * keeps its high byte; 16-bit grey is *clipped* to 255, not scaled (PIL reads it as mode I); a palette index
 * beyond the palette is that shade of grey. Where we differ: PIL does not look at the checksum of the image
 * data nor miss it when the file ends right before it; here both are errors. */
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"

#include <png.h>
#include <setjmp.h>

/* deflate expands at most 1032:1 (zlib's own bound). */
#define DEFLATE_MAX_RATIO 1032u
#define SIGNATURE_BYTES 8
#define CHUNK_OVERHEAD 12 /* length, type, checksum */

struct png {
    struct pp_image_arena *arena; /* borrowed; first, as decode.c sets it */
    struct pp_encoded in;         /* of the image last opened */
};

struct reader {
    jmp_buf on_error;
    pp_status status;
    char reason[160];
    struct pp_image_arena *arena;
    const uint8_t *data;
    size_t size, at;
    png_structp png;
    png_infop info;
    uint8_t palette[256][4]; /* RGBX */
};

static _Noreturn void on_error(png_structp png, png_const_charp message)
{
    struct reader *r = png_get_error_ptr(png);
    snprintf(r->reason, sizeof(r->reason), "%s", message);
    longjmp(r->on_error, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    struct reader *r = png_get_io_ptr(png);
    if (n > r->size - r->at)
        png_error(png, "the file is truncated: its data ends before the image does");
    memcpy(to, r->data + r->at, n);
    r->at += n;
}

static png_voidp on_alloc(png_structp png, png_alloc_size_t size)
{
    struct reader *r = png_get_mem_ptr(png);
    void *p = pp_image_arena_alloc(r->arena, size);
    if (!p)
        r->status = PP_E_NO_MEMORY;
    return p;
}

/* The arena takes everything back at once. What libpng allocates per image is bounded by the row size and the
 * few chunks that are read. */
static void on_free(png_structp png, png_voidp p)
{
}

/* Creates the reader; errors, here and later, jump to r->on_error. */
static void reader_begin(struct reader *r, const struct png *p)
{
    r->status = PP_E_CORRUPT;
    r->arena = p->arena;
    r->data = p->in.data;
    r->size = p->in.size;
    r->at = 0;
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, on_alloc, on_free);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info) {
        snprintf(r->reason, sizeof(r->reason), "libpng could not be set up");
        r->status = PP_E_NO_MEMORY;
        longjmp(r->on_error, 1);
    }
    png_set_read_fn(r->png, r, on_read);
    /* Nothing beside the pixels matters here, and text chunks are where hostile files are large. */
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    /* The limits are ours to check, so that the sentence names them. */
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
}

static pp_status open_image(void *state, const struct pp_encoded *in, struct pp_image_info *info,
                            struct pp_err *err)
{
    struct png *p = state;
    struct reader r;
    p->in = *in;
    if (setjmp(r.on_error))
        return pp_fail(err, r.status, "cannot read the PNG header: %s", r.reason);
    reader_begin(&r, p);
    png_read_info(r.png, r.info);
    *info = (struct pp_image_info){
        .width = (int)png_get_image_width(r.png, r.info),
        .height = (int)png_get_image_height(r.png, r.info),
        .channels = png_get_channels(r.png, r.info),
        .orientation = 1,
    };
    /* The eXIf chunk, found without libpng so that it is bounded by the file alone. */
    for (size_t at = SIGNATURE_BYTES, length; r.size - at >= CHUNK_OVERHEAD; at += length + CHUNK_OVERHEAD) {
        length = pp_be32(r.data + at);
        if (length > r.size - at - CHUNK_OVERHEAD)
            break;
        if (memcmp(r.data + at + 4, "eXIf", 4) == 0) {
            info->orientation = pp_exif_orientation(r.data + at + 8, length);
            break;
        }
    }
    uint64_t width = png_get_image_width(r.png, r.info), height = png_get_image_height(r.png, r.info);
    pp_status status = pp_image_check_size(width, height, err);
    if (status != PP_OK)
        return status;
    if (png_get_rowbytes(r.png, r.info) * height / DEFLATE_MAX_RATIO > r.size)
        return pp_fail(err, PP_E_CORRUPT,
                       "the PNG claims %llux%llu pixels, but its %zu bytes cannot hold them",
                       (unsigned long long)width, (unsigned long long)height, r.size);
    return PP_OK;
}

/* What libpng's rows hold. */
enum row_kind { ROW_COLOUR, ROW_INDEXED, ROW_GREY_16 };

/* How one of them becomes RGBX. bytes: of one source pixel; row: its first wanted pixel. */
static void convert_row(const struct reader *r, enum row_kind kind, const uint8_t *row, size_t bytes,
                        uint8_t *to, int width)
{
    for (int x = 0; kind == ROW_COLOUR && x < width; x++, row += bytes, to += 4)
        memcpy(to, row, 3);
    for (int x = 0; kind == ROW_INDEXED && x < width; x++, row += bytes, to += 4)
        memcpy(to, r->palette[*row], 4);
    for (int x = 0; kind == ROW_GREY_16 && x < width; x++, row += bytes, to += 4)
        memset(to, row[0] ? 255 : row[1], 4);
}

/* Asks libpng for bytes (16-bit grey apart, which is clipped and not scaled) and says how to read them. Grey
 * of 8 bits goes through the grey ramp of the palette. */
static enum row_kind choose_conversion(struct reader *r)
{
    int colour = png_get_color_type(r->png, r->info), depth = png_get_bit_depth(r->png, r->info);
    if (colour == PNG_COLOR_TYPE_GRAY && depth == 16)
        return ROW_GREY_16;
    if (depth == 16)
        png_set_strip_16(r->png);
    if (colour & PNG_COLOR_MASK_ALPHA) /* not wanted, and not kept: interlaced rows are held until the end */
        png_set_strip_alpha(r->png);
    if (colour == PNG_COLOR_TYPE_GRAY && depth < 8)
        png_set_expand_gray_1_2_4_to_8(r->png);
    if (colour == PNG_COLOR_TYPE_PALETTE)
        png_set_packing(r->png);
    return colour & PNG_COLOR_MASK_COLOR && colour != PNG_COLOR_TYPE_PALETTE ? ROW_COLOUR : ROW_INDEXED;
}

static pp_status decode_region(void *state, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                               struct pp_err *err)
{
    struct png *p = state;
    struct reader r;
    pp_image_arena_reset(p->arena);
    if (setjmp(r.on_error))
        return pp_fail(err, r.status, "cannot decode the PNG: %s", r.reason);
    reader_begin(&r, p);
    png_read_info(r.png, r.info);
    /* PIL starts a palette as a grey ramp and fills in what the file has. */
    png_colorp colours;
    int n = 0;
    for (int i = 0; i < 256; i++)
        memset(r.palette[i], i, 3);
    if (png_get_color_type(r.png, r.info) == PNG_COLOR_TYPE_PALETTE &&
        png_get_PLTE(r.png, r.info, &colours, &n))
        for (int i = 0; i < n && i < 256; i++) {
            r.palette[i][0] = colours[i].red;
            r.palette[i][1] = colours[i].green;
            r.palette[i][2] = colours[i].blue;
        }
    enum row_kind kind = choose_conversion(&r);
    int passes = png_set_interlace_handling(r.png);
    png_read_update_info(r.png, r.info);

    /* Room for the region's RGBX rows, then for libpng's own: one row, or the region's where interlaced. */
    int height = (int)png_get_image_height(r.png, r.info);
    size_t row_bytes = png_get_rowbytes(r.png, r.info),
           pixel_bytes = row_bytes / png_get_image_width(r.png, r.info),
           kept_rows = passes > 1 ? (size_t)crop.height : 1,
           stride = pp_memory_aligned((size_t)crop.width * 4), size = stride * (size_t)crop.height;
    if (pp_buffer_reserve(buf, size + row_bytes * kept_rows) != 0)
        return pp_fail(err, PP_E_NO_MEMORY, "cannot decode the PNG: no memory for the decoded region");
    for (int pass = 0; pass < passes; pass++) {
        for (int y = 0; y < height; y++) {
            int wanted = y >= crop.y && y < crop.y + crop.height;
            uint8_t *row = buf->data + size + (passes > 1 && wanted ? (size_t)(y - crop.y) * row_bytes : 0);
            png_read_row(r.png, wanted ? row : NULL, NULL);
            if (pass == passes - 1 && wanted)
                convert_row(&r, kind, row + (size_t)crop.x * pixel_bytes, pixel_bytes,
                            buf->data + (size_t)(y - crop.y) * stride, crop.width);
        }
    }
    *out = (struct pp_pixels){.data = buf->data,
                              .width = crop.width,
                              .height = crop.height,
                              .stride = stride};
    return PP_OK;
}

const struct pp_decode_ops pp_decode_png = {
    .name = "PNG",
    .content = PP_CONTENT_IMAGE,
    .result = PP_DECODED_PIXELS,
    .signature = {{0, SIGNATURE_BYTES, "\x89PNG\r\n\x1a\n"}},
    .state_bytes = sizeof(struct png),
    .destroy = free,
    .open = open_image,
    .region = decode_region,
};
