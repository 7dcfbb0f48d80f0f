/* The region decode against full decodes by plain libjpeg, EXIF rotation against its definition, PNG kinds
 * against the pixels they were made of, and damaged files. */
#include "probe/base/clock.h"
#include "probe/decode/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/image_samples.h"

static struct pp_decoder *make_decoder(int exif_rotate)
{
    struct pp_decoder *d = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = exif_rotate}, &d, &err),
                     PP_OK);
    return d;
}

static int same_pixels(const struct pp_pixels *p, const uint8_t *whole, int whole_width, struct pp_rect crop)
{
    if (p->width != crop.width || p->height != crop.height)
        return 0;
    for (int y = 0; y < crop.height; y++) {
        for (int x = 0; x < crop.width; x++) {
            const uint8_t *a = p->data + (size_t)y * p->stride + (size_t)x * 4;
            const uint8_t *b = whole +
                               ((size_t)(crop.y + y) * (size_t)whole_width + (size_t)(crop.x + x)) * 4;
            if (memcmp(a, b, 3) != 0) {
                print_message("# pixel (%d, %d) of the crop: %d %d %d, full decode has %d %d %d\n", x, y,
                              a[0], a[1], a[2], b[0], b[1], b[2]);
                return 0;
            }
        }
    }
    return 1;
}

static int between(struct pp_rng *r, int low, int high)
{
    return low + (int)pp_rng_below(r, (uint64_t)(high - low + 1));
}

static struct pp_rect random_rect(struct pp_rng *r, int width, int height)
{
    struct pp_rect c = {.width = between(r, 1, width), .height = between(r, 1, height)};
    c.x = between(r, 0, width - c.width);
    c.y = between(r, 0, height - c.height);
    return c;
}

static void check_region(struct pp_decoder *d, struct bytes file, const uint8_t *whole, int width, int height,
                         struct pp_rect crop, const char *what)
{
    struct pp_image_info info;
    struct pp_pixels p;
    struct pp_err err = {0};
    pp_status status = pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                       &err);
    if (status == PP_OK)
        status = pp_decoder_region(d, crop, &p, &err);
    if (status != PP_OK || info.width != width || info.height != height ||
        !same_pixels(&p, whole, width, crop))
        fail_msg("%s, %dx%d, region %dx%d at (%d, %d): %s", what, width, height, crop.width, crop.height,
                 crop.x, crop.y, err.text);
}

static const struct {
    const char *name;
    J_COLOR_SPACE space;
    int h[4], v[4];
} samplings[] = {
    {"4:4:4", JCS_YCbCr, {1, 1, 1}, {1, 1, 1}},
    {"4:2:2", JCS_YCbCr, {2, 1, 1}, {1, 1, 1}},
    {"4:2:0", JCS_YCbCr, {2, 1, 1}, {2, 1, 1}},
    {"4:4:0", JCS_YCbCr, {1, 1, 1}, {2, 1, 1}},
    {"4:1:1", JCS_YCbCr, {4, 1, 1}, {1, 1, 1}},
    {"4:1:0", JCS_YCbCr, {4, 1, 1}, {2, 1, 1}},
    {"1x4", JCS_YCbCr, {1, 1, 1}, {4, 1, 1}},
    {"Cb 2x2, Cr 1x2", JCS_YCbCr, {2, 2, 1}, {2, 2, 2}},
    {"subsampled luma", JCS_YCbCr, {1, 2, 2}, {1, 2, 2}},
    {"RGB", JCS_RGB, {1, 1, 1}, {1, 1, 1}},
    {"grey", JCS_GRAYSCALE, {1}, {1}},
    {"grey 2x2", JCS_GRAYSCALE, {2}, {2}},
    {"CMYK", JCS_CMYK, {1, 1, 1, 1}, {1, 1, 1, 1}},
    {"CMYK 4:2:0", JCS_CMYK, {2, 1, 1, 2}, {2, 1, 1, 2}},
    {"CMYK, C alone in full", JCS_CMYK, {2, 1, 1, 1}, {2, 1, 1, 1}},
    {"YCCK", JCS_YCCK, {1, 1, 1, 1}, {1, 1, 1, 1}},
    {"YCCK 4:2:0", JCS_YCCK, {2, 1, 1, 2}, {2, 1, 1, 2}},
    {"YCCK 4:2:2", JCS_YCCK, {2, 1, 1, 2}, {1, 1, 1, 1}},
};
enum { N_SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]) };

static struct jpeg_kind random_kind(struct pp_rng *r, int sampling)
{
    struct jpeg_kind k = {.space = samplings[sampling].space, .quality = between(r, 20, 100)};
    memcpy(k.h, samplings[sampling].h, sizeof(k.h));
    memcpy(k.v, samplings[sampling].v, sizeof(k.v));
    k.width = pp_rng_below(r, 4) ? between(r, 1, 200) : between(r, 1, 40);
    k.height = pp_rng_below(r, 4) ? between(r, 1, 200) : between(r, 1, 40);
    switch (pp_rng_below(r, 5)) {
    case 0: k.progressive = 1; break;
    case 1: k.separate_scans = 1; break;
    case 2: k.arithmetic = 1; break;
    default: break;
    }
    switch (pp_rng_below(r, 3)) {
    case 0: k.restart_rows = between(r, 1, 3); break;
    case 1: k.restart_blocks = between(r, 1, 9); break;
    default: break;
    }
    return k;
}

static void region_equals_crop_of_full_decode(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    struct pp_rng r = pp_rng_key(1, 2, 3, 4);
    for (int round = 0; round < 40; round++) {
        for (int s = 0; s < N_SAMPLINGS; s++) {
            struct jpeg_kind k = random_kind(&r, s);
            struct bytes file = encode_jpeg(&k, pp_rng_next(&r));
            int width, height;
            char what[160];
            uint8_t *whole = decode_jpeg_whole(file, &width, &height);
            snprintf(what, sizeof(what), "%s%s%s%s restart %d/%d quality %d", samplings[s].name,
                     k.progressive ? " progressive" : "", k.separate_scans ? " separate scans" : "",
                     k.arithmetic ? " arithmetic" : "", k.restart_rows, k.restart_blocks, k.quality);
            check_region(d, file, whole, width, height, (struct pp_rect){0, 0, width, height}, what);
            for (int i = 0; i < 8; i++)
                check_region(d, file, whole, width, height, random_rect(&r, width, height), what);
            free(whole);
            free(file.data);
        }
    }
    pp_decoder_destroy(d);
}

/* Every row and column as the crop's first and last, around MCU borders, for the kinds where upsampling looks
 * at neighbours. */
static void every_small_crop(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    for (int s = 0; s < N_SAMPLINGS; s++) {
        struct jpeg_kind k = {.width = 67, .height = 53, .space = samplings[s].space};
        memcpy(k.h, samplings[s].h, sizeof(k.h));
        memcpy(k.v, samplings[s].v, sizeof(k.v));
        struct bytes file = encode_jpeg(&k, (uint64_t)s);
        int width, height;
        uint8_t *whole = decode_jpeg_whole(file, &width, &height);
        for (int x = 0; x < width; x++)
            check_region(d, file, whole, width, height, (struct pp_rect){x, x * (height - 1) / width, 1, 1},
                         samplings[s].name);
        for (int y = 0; y < height; y++) {
            check_region(d, file, whole, width, height, (struct pp_rect){0, y, width, 1}, samplings[s].name);
            check_region(d, file, whole, width, height, (struct pp_rect){20, y, 30, height - y},
                         samplings[s].name);
            check_region(d, file, whole, width, height, (struct pp_rect){33, 0, 17, y + 1},
                         samplings[s].name);
        }
        free(whole);
        free(file.data);
    }
    pp_decoder_destroy(d);
}

static pp_status decode_one_corner(struct pp_decoder *d, struct bytes file, struct pp_err *err)
{
    struct pp_image_info info;
    struct pp_pixels p;
    pp_status status = pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                       err);
    return status == PP_OK ? pp_decoder_region(d, (struct pp_rect){0, 0, 1, 1}, &p, err) : status;
}

/* Data that stops early but ends properly: libjpeg warns and fills up (smoothing blocks of a progressive
 * image whose later scans are missing), PIL accepts it, and the region must still be the full decode's. */
static void early_end_with_end_marker(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    struct pp_rng r = pp_rng_key(8, 0, 0, 0);
    int refused = 0;
    for (int round = 0; round < 180; round++) {
        struct jpeg_kind k = random_kind(&r, round % N_SAMPLINGS);
        k.arithmetic = 0;
        k.separate_scans = 0;
        k.progressive = round % 3 != 0;
        k.width = between(&r, 60, 200);
        k.height = between(&r, 60, 200);
        struct bytes file = encode_jpeg(&k, pp_rng_next(&r));
        /* Past the first scan's header, so that there is something to fill up from. */
        size_t size = file.size / 3 + pp_rng_below(&r, file.size / 2);
        file.data[size - 2] = 0xff;
        file.data[size - 1] = JPEG_EOI;
        file.size = size;
        int width, height;
        uint8_t *whole = decode_jpeg_whole(file, &width, &height);
        if (!whole) { /* the cut went through a table between two scans */
            assert_int_equal(decode_one_corner(d, file, NULL), PP_E_CORRUPT);
            refused++;
        }
        for (int i = 0; whole && i < 6; i++)
            check_region(d, file, whole, width, height, random_rect(&r, width, height),
                         k.progressive ? "progressive, ended early" : "ended early");
        free(whole);
        free(file.data);
    }
    assert_true(refused < 60);
    pp_decoder_destroy(d);
}

static void several_regions_of_one_image(void **state)
{
    struct jpeg_kind k = {.width = 120, .height = 90, .space = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}};
    struct bytes file = encode_jpeg(&k, 9);
    struct pp_decoder *d = make_decoder(0);
    struct pp_image_info info;
    struct pp_pixels p;
    int width, height;
    uint8_t *whole = decode_jpeg_whole(file, &width, &height);
    assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                     NULL),
                     PP_OK);
    for (int i = 0; i < 3; i++) {
        struct pp_rect crop = {10 * i, 20 * i, 40, 45};
        assert_int_equal(pp_decoder_region(d, crop, &p, NULL), PP_OK);
        assert_true(same_pixels(&p, whole, width, crop));
    }
    free(whole);
    free(file.data);
    pp_decoder_destroy(d);
}

static void region_outside_is_refused(void **state)
{
    struct jpeg_kind k = {.width = 20, .height = 10, .space = JCS_GRAYSCALE};
    struct bytes file = encode_jpeg(&k, 9);
    struct pp_decoder *d = make_decoder(0);
    struct pp_image_info info;
    struct pp_pixels p;
    static const struct pp_rect bad[] = {{0, 0, 21, 10}, {1, 0, 20, 10}, {0, 0, 0, 1},
                                         {-1, 0, 2, 2},  {0, 9, 1, 2},   {0, 0, 1, -1}};
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, 1, 1}, &p, NULL), PP_E_USAGE);
    assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                     NULL),
                     PP_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(pp_decoder_region(d, bad[i], &p, NULL), PP_E_USAGE);
    free(file.data);
    pp_decoder_destroy(d);
}

static void header_facts(void **state)
{
    static const struct {
        struct jpeg_kind kind;
        int channels;
    } rows[] = {
        {{.width = 31, .height = 17, .space = JCS_YCbCr}, 3},
        {{.width = 1, .height = 1, .space = JCS_GRAYSCALE}, 1},
        {{.width = 9, .height = 300, .space = JCS_YCCK, .progressive = 1}, 4},
        {{.width = 31, .height = 17, .space = JCS_YCbCr, .orientation = 6}, 3},
        {{.width = 31, .height = 17, .space = JCS_YCbCr, .orientation = 8, .exif_big_endian = 1}, 3},
    };
    struct pp_decoder *d = make_decoder(0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jpeg_kind *k = &rows[i].kind;
        struct bytes file = encode_jpeg(k, i);
        struct pp_image_info info;
        assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                         NULL),
                         PP_OK);
        assert_string_equal(info.format, "JPEG");
        assert_int_equal(info.width, k->width);
        assert_int_equal(info.height, k->height);
        assert_int_equal(info.channels, rows[i].channels);
        assert_int_equal(info.progressive, k->progressive);
        assert_int_equal(info.orientation, k->orientation ? k->orientation : 1);
        free(file.data);
    }
    pp_decoder_destroy(d);
}

/* Where the stored pixel of shown (x, y) lies, by EXIF's table: row 0 and column 0 of what is stored are
 * shown at ... */
static void stored_of_shown(int orientation, int x, int y, int width, int height, int *sx, int *sy)
{
    switch (orientation) {
    case 2: *sx = width - 1 - x, *sy = y; break;
    case 3: *sx = width - 1 - x, *sy = height - 1 - y; break;
    case 4: *sx = x, *sy = height - 1 - y; break;
    case 5: *sx = y, *sy = x; break;
    case 6: *sx = y, *sy = height - 1 - x; break;
    case 7: *sx = width - 1 - y, *sy = height - 1 - x; break;
    case 8: *sx = width - 1 - y, *sy = x; break;
    default: *sx = x, *sy = y;
    }
}

static void exif_rotation_in_regions(void **state)
{
    struct pp_decoder *d = make_decoder(1);
    struct pp_rng r = pp_rng_key(5, 0, 0, 0);
    for (int o = 1; o <= 8; o++) {
        struct jpeg_kind k = {.width = 61,
                              .height = 37,
                              .space = JCS_YCbCr,
                              .h = {2, 1, 1},
                              .v = {2, 1, 1},
                              .orientation = o,
                              .exif_big_endian = o & 1};
        struct bytes file = encode_jpeg(&k, (uint64_t)o);
        int width, height;
        uint8_t *stored = decode_jpeg_whole(file, &width, &height);
        int shown_width = o >= 5 ? height : width, shown_height = o >= 5 ? width : height;
        uint8_t *shown = malloc((size_t)width * (size_t)height * 4);
        for (int y = 0; y < shown_height; y++) {
            for (int x = 0; x < shown_width; x++) {
                int sx, sy;
                stored_of_shown(o, x, y, width, height, &sx, &sy);
                memcpy(shown + ((size_t)y * (size_t)shown_width + (size_t)x) * 4,
                       stored + ((size_t)sy * (size_t)width + (size_t)sx) * 4, 4);
            }
        }
        for (int i = 0; i < 20; i++)
            check_region(d, file, shown, shown_width, shown_height,
                         random_rect(&r, shown_width, shown_height), "rotated");
        free(shown);
        free(stored);
        free(file.data);
    }
    pp_decoder_destroy(d);
}

static void check_png(int depth, int colour, int interlaced, struct pp_rng *r)
{
    static const int channels_of[] = {[PNG_COLOR_TYPE_GRAY] = 1,
                                      [PNG_COLOR_TYPE_RGB] = 3,
                                      [PNG_COLOR_TYPE_PALETTE] = 1,
                                      [PNG_COLOR_TYPE_GRAY_ALPHA] = 2,
                                      [PNG_COLOR_TYPE_RGB_ALPHA] = 4};
    int width = between(r, 1, 40), height = between(r, 1, 40), channels = channels_of[colour];
    size_t row_bytes = ((size_t)width * (size_t)channels * (size_t)depth + 7) / 8;
    uint8_t *samples = malloc(row_bytes * (size_t)height),
            *expected = calloc((size_t)width * (size_t)height, 4);
    png_color palette[256];
    for (size_t i = 0; i < row_bytes * (size_t)height; i++)
        samples[i] = (uint8_t)pp_rng_next(r);
    for (int i = 0; i < 256; i++)
        palette[i] = (png_color){(uint8_t)(i * 7), (uint8_t)(255 - i), (uint8_t)(i ^ 0x55)};

    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            uint8_t *to = expected + ((size_t)y * (size_t)width + (size_t)x) * 4;
            const uint8_t *row = samples + (size_t)y * row_bytes;
            for (int c = 0; c < 3; c++) {
                int sample = x * channels + (channels >= 3 ? c : 0), v;
                if (depth == 16)
                    v = colour == PNG_COLOR_TYPE_GRAY ? (row[sample * 2] ? 255 : row[sample * 2 + 1])
                                                      : row[sample * 2];
                else
                    v = row[sample * depth / 8] >> (8 - depth - sample * depth % 8) & ((1 << depth) - 1);
                if (colour == PNG_COLOR_TYPE_PALETTE)
                    v = c == 0 ? palette[v].red : c == 1 ? palette[v].green : palette[v].blue;
                else if (depth < 8)
                    v = v * 255 / ((1 << depth) - 1);
                to[c] = (uint8_t)v;
            }
        }
    }
    struct bytes file = encode_png(width, height, depth, colour, interlaced, samples, row_bytes,
                                   colour == PNG_COLOR_TYPE_PALETTE ? palette : NULL,
                                   1 << (depth < 8 ? depth : 8));
    struct pp_decoder *d = make_decoder(1);
    char what[64];
    snprintf(what, sizeof(what), "PNG depth %d colour type %d%s", depth, colour,
             interlaced ? " interlaced" : "");
    for (int i = 0; i < 6; i++)
        check_region(d, file, expected, width, height, random_rect(r, width, height), what);
    pp_decoder_destroy(d);
    free(file.data);
    free(expected);
    free(samples);
}

static void png_kinds(void **state)
{
    static const struct {
        int depth, colour;
    } rows[] = {
        {1, PNG_COLOR_TYPE_GRAY},        {2, PNG_COLOR_TYPE_GRAY},      {4, PNG_COLOR_TYPE_GRAY},
        {8, PNG_COLOR_TYPE_GRAY},        {16, PNG_COLOR_TYPE_GRAY},     {1, PNG_COLOR_TYPE_PALETTE},
        {2, PNG_COLOR_TYPE_PALETTE},     {4, PNG_COLOR_TYPE_PALETTE},   {8, PNG_COLOR_TYPE_PALETTE},
        {8, PNG_COLOR_TYPE_RGB},         {16, PNG_COLOR_TYPE_RGB},      {8, PNG_COLOR_TYPE_GRAY_ALPHA},
        {16, PNG_COLOR_TYPE_GRAY_ALPHA}, {8, PNG_COLOR_TYPE_RGB_ALPHA}, {16, PNG_COLOR_TYPE_RGB_ALPHA},
    };
    struct pp_rng r = pp_rng_key(6, 0, 0, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int interlaced = 0; interlaced < 2; interlaced++)
            check_png(rows[i].depth, rows[i].colour, interlaced, &r);
    }
}

static void what_is_not_an_image(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        pp_status status;
        const char *says;
    } rows[] = {
        {"", 0, PP_E_EMPTY, "empty"},
        {"\xff\xd8", 2, PP_E_CORRUPT, "truncated"},
        {"\x89PNG", 4, PP_E_CORRUPT, "truncated"},
        {"GIF89a......", 12, PP_E_UNSUPPORTED, "GIF"},
        {"RIFF\x10\0\0\0WEBPVP8 ", 16, PP_HAVE_WEBP ? PP_E_CORRUPT : PP_E_UNSUPPORTED, "WebP"},
        {"<!DOCTYPE html><html>", 21, PP_E_UNSUPPORTED, "HTML"},
        {"\0\0\0\0\0\0\0\0", 8, PP_E_UNSUPPORTED, "zero bytes"},
        {"hello, this is text", 19, PP_E_UNSUPPORTED, "0x68 0x65"},
        {"x", 1, PP_E_UNSUPPORTED, "0x78"},
        {"\xff\xd8\xff\xe0", 4, PP_E_CORRUPT, "truncated"},
        {"\xff\xd8\xff\xd9", 4, PP_E_CORRUPT, "no image"},
    };
    struct pp_decoder *d = make_decoder(0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_image_info info;
        struct pp_err err = {0};
        pp_status status = pp_decoder_open(d,
                                           &(struct pp_encoded){.data = (const uint8_t *)rows[i].bytes,
                                                                .size = rows[i].size},
                                           &info, &err);
        if (status != rows[i].status || err.code != status || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %s: %s", i, pp_status_name(status), err.text);
    }
    pp_decoder_destroy(d);
}

/* A truncated file is an error for every crop, also for one that lies above the missing part. */
static void truncation_is_seen_from_any_crop(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    for (int progressive = 0; progressive < 2; progressive++) {
        struct jpeg_kind k = {.width = 200,
                              .height = 150,
                              .space = JCS_YCbCr,
                              .h = {2, 1, 1},
                              .v = {2, 1, 1},
                              .progressive = progressive};
        struct bytes file = encode_jpeg(&k, 3);
        assert_int_equal(decode_one_corner(d, file, NULL), PP_OK);
        for (size_t cut = 64; cut < file.size - 64; cut += 97) {
            struct pp_err err = {0};
            uint8_t *copy = malloc(file.size - cut); /* its own block, so that reading past the end is seen */
            memcpy(copy, file.data, file.size - cut);
            pp_status status = decode_one_corner(d, (struct bytes){copy, file.size - cut}, &err);
            if (status != PP_E_CORRUPT || !strstr(err.text, "truncated"))
                fail_msg("%zu bytes cut: %s: %s", cut, pp_status_name(status), err.text);
            free(copy);
        }
        free(file.data);
    }
    pp_decoder_destroy(d);
}

/* PIL takes a file that lacks no more than its end marker, and one with rubbish behind it. */
static void missing_end_marker_and_trailing_bytes(void **state)
{
    struct jpeg_kind k = {.width = 100, .height = 80, .space = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}};
    struct pp_decoder *d = make_decoder(0);
    struct bytes file = encode_jpeg(&k, 3);
    int width, height;
    uint8_t *whole = decode_jpeg_whole(file, &width, &height);
    uint8_t *longer = malloc(file.size + 500);
    memcpy(longer, file.data, file.size);
    memset(longer + file.size, 'x', 500);
    check_region(d, (struct bytes){longer, file.size + 500}, whole, width, height,
                 (struct pp_rect){3, 5, 60, 40}, "trailing bytes");
    /* Some bits of padding must be left for the last code's look-ahead: two bytes of it, as encoders that pad
     * with 0xFF 0x00 write. */
    memset(longer + file.size - 2, 0, 8);
    check_region(d, (struct bytes){longer, file.size + 6}, whole, width, height,
                 (struct pp_rect){3, 5, 60, 40}, "no end marker");
    free(longer);
    free(whole);
    free(file.data);
    pp_decoder_destroy(d);
}

static void set_jpeg_size(struct bytes file, int width, int height)
{
    for (size_t i = 0; i + 9 < file.size; i++) {
        if (file.data[i] == 0xff && file.data[i + 1] >= 0xc0 && file.data[i + 1] <= 0xc2) {
            file.data[i + 5] = (uint8_t)(height >> 8), file.data[i + 6] = (uint8_t)height;
            file.data[i + 7] = (uint8_t)(width >> 8), file.data[i + 8] = (uint8_t)width;
            return;
        }
    }
}

static void dimension_bombs(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    struct pp_image_info info;
    struct pp_err err = {0};
    for (int progressive = 0; progressive < 2; progressive++) {
        struct jpeg_kind k = {.width = 16, .height = 16, .space = JCS_YCbCr, .progressive = progressive};
        struct bytes file = encode_jpeg(&k, 1);
        set_jpeg_size(file, 65500, 65500);
        assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                         &err),
                         PP_E_UNSUPPORTED);
        set_jpeg_size(file, 16000, 16000);
        assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                         &err),
                         PP_E_CORRUPT);
        assert_non_null(strstr(err.text, "16000x16000"));
        free(file.data);
    }
    uint8_t pixel[3] = {1, 2, 3};
    struct bytes png = encode_png(1, 1, 8, PNG_COLOR_TYPE_RGB, 0, pixel, 3, NULL, 0);
    memcpy(png.data + 16, "\0\0\x30\0\0\0\x30\0", 8); /* 12288x12288, with its checksum */
    uint32_t crc = png_crc(png.data + 12, 17);
    for (int i = 0; i < 4; i++)
        png.data[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = png.data, .size = png.size}, &info,
                                     &err),
                     PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "12288x12288"));
    free(png.data);
    assert_true(pp_decoder_footprint(d) < 4u << 20);
    pp_decoder_destroy(d);
}

static size_t find_marker(struct bytes file, int marker, size_t from)
{
    while (from + 1 < file.size && !(file.data[from] == 0xff && file.data[from + 1] == marker))
        from++;
    return from;
}

static void kinds_that_are_not_decoded(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    struct pp_image_info info;
    struct jpeg_kind k = {.width = 16, .height = 16, .space = JCS_YCbCr};
    for (int i = 0; i < 2; i++) {
        struct bytes file = encode_jpeg(&k, 1);
        struct pp_err err = {0};
        size_t sof = find_marker(file, 0xc0, 0);
        if (i == 0)
            file.data[sof + 4] = 12; /* bits per sample */
        else
            file.data[sof + 1] = 0xc3; /* lossless */
        assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info,
                                         &err),
                         PP_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, i == 0 ? "precision 12" : "SOF type 0xc3"));
        free(file.data);
    }
    pp_decoder_destroy(d);
}

static pp_status decode_within(struct bytes file, size_t limit, struct pp_rect crop, size_t *footprint,
                               struct pp_err *err)
{
    struct pp_decoder *d = NULL;
    struct pp_image_info info;
    struct pp_pixels p;
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){.memory_limit = limit}, &d, err), PP_OK);
    pp_status st = pp_decoder_open(d, &(struct pp_encoded){.data = file.data, .size = file.size}, &info, err);
    if (st == PP_OK)
        st = pp_decoder_region(d, crop, &p, err);
    *footprint = pp_decoder_footprint(d);
    pp_decoder_destroy(d);
    return st;
}

#define MIB ((size_t)1 << 20)

/* A few kilobytes that ask for megabytes, of each kind that keeps much: refused within the limit, decoded
 * with a higher one; and what keeps little is decoded whatever its size. */
static void a_decode_stays_within_its_memory(void **state)
{
    enum { SIDE = 1024 };
    struct pp_rect whole = {0, 0, SIDE, SIDE}, corner = {0, 0, 16, 16};
    uint8_t *zeros = calloc(SIDE * SIDE, 8);
    struct bytes png = encode_png(SIDE, SIDE, 16, PNG_COLOR_TYPE_RGB_ALPHA, 1, zeros, SIDE * 8, NULL, 0);
    struct jpeg_kind k = {.width = SIDE, .height = SIDE, .space = JCS_YCbCr, .h = {1, 1, 1}, .v = {1, 1, 1}};
    struct bytes baseline, progressive;
    baseline = encode_jpeg(&k, 1);
    k.progressive = 1;
    progressive = encode_jpeg(&k, 1);
    const struct {
        const char *what;
        struct bytes file;
        struct pp_rect crop;
        size_t limit, used;
        pp_status status;
    } rows[] = {
        {"interlaced PNG, 16 bit, alpha: 3 + 4 bytes a pixel, not 8", png, whole, 8 * MIB, 8 * MIB, PP_OK},
        {"the same with less", png, whole, 6 * MIB, MIB, PP_E_UNSUPPORTED},
        {"a corner of it", png, corner, MIB, MIB, PP_OK},
        {"progressive JPEG: 6 bytes a pixel of coefficients", progressive, corner, 8 * MIB, 8 * MIB, PP_OK},
        {"the same with less", progressive, corner, 6 * MIB, MIB, PP_E_UNSUPPORTED},
        {"baseline JPEG, a corner", baseline, corner, 2 * MIB, 2 * MIB, PP_OK},
        {"baseline JPEG, all of it", baseline, whole, 3 * MIB, MIB, PP_E_UNSUPPORTED},
        {"a file larger than the limit", baseline, corner, baseline.size - 1, MIB, PP_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_err err = {0};
        size_t used = 0;
        pp_status st = decode_within(rows[i].file, rows[i].limit, rows[i].crop, &used, &err);
        if (st != rows[i].status || used > rows[i].used)
            fail_msg("%s: %s, %zu bytes held, '%s'", rows[i].what, pp_status_name(st), used, err.text);
        if (st != PP_OK && !strstr(err.text, "MiB; raise it with --max-sample-memory"))
            fail_msg("%s: '%s'", rows[i].what, err.text);
        if (st != PP_OK && rows[i].limit >= 3 * MIB && !strstr(err.text, "decompression bomb: needs "))
            fail_msg("%s: '%s'", rows[i].what, err.text);
    }
    free(zeros);
    free(png.data);
    free(baseline.data);
    free(progressive.data);
}

/* A progressive file whose last scan comes 600 times: refused after 500, not decoded to the end. */
static void too_many_scans(void **state)
{
    struct pp_decoder *d = make_decoder(0);
    struct pp_err err = {0};
    struct jpeg_kind k = {.width = 64, .height = 64, .space = JCS_GRAYSCALE, .progressive = 1};
    struct bytes file = encode_jpeg(&k, 1);
    size_t sos = 0;
    for (size_t at = find_marker(file, 0xda, 0); at + 1 < file.size; at = find_marker(file, 0xda, at + 1))
        sos = at;
    size_t scan = file.size - 2 - sos, n = 600;
    uint8_t *many = malloc(sos + n * scan + 2);
    memcpy(many, file.data, sos);
    for (size_t i = 0; i < n; i++)
        memcpy(many + sos + i * scan, file.data + sos, scan);
    memcpy(many + sos + n * scan, "\xff\xd9", 2);
    assert_int_equal(decode_one_corner(d, (struct bytes){many, sos + n * scan + 2}, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "500 scans"));
    free(many);
    free(file.data);
    pp_decoder_destroy(d);
}

/* Of a large image fewer scans are taken: 4096 x 4096 grey, 100 scans that say nothing, each a pass over
 * 262,144 blocks. */
static void many_scans_of_a_large_image(void **state)
{
    enum { SIDE = 4096, SCANS = 100 };
    struct pp_decoder *d = make_decoder(0);
    struct pp_err err = {0};
    struct jpeg_kind k = {.width = SIDE, .height = SIDE, .space = JCS_GRAYSCALE, .progressive = 1};
    struct bytes file = encode_jpeg(&k, 1);
    /* A scan of one coefficient that ends at once: no block has it, as runs of 2^14 blocks say. */
    static const uint8_t table[] = {0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0,
                                    0,    0,    0, 0,  0,    0, 0, 0, 0, 0, 0xe0};
    static const uint8_t scan[] = {0xff, 0xda, 0, 8, 1, 1, 0, 63, 63, 0x00};
    size_t first = find_marker(file, 0xda, 0), runs = SIDE / 8 * SIDE / 8 / 16384, bits = runs * 15;
    size_t body = (bits + 7) / 8, one = sizeof(table) + sizeof(scan) + body;
    size_t at = find_marker(file, 0xc4, first + 1); /* the table of the second scan */
    uint8_t *many = calloc(1, at + SCANS * one + 2);
    memcpy(many, file.data, at);
    for (int i = 0; i < SCANS; i++) {
        memcpy(many + at, table, sizeof(table));
        memcpy(many + at + sizeof(table), scan, sizeof(scan));
        at += one; /* the codes are zeros: the symbol, and a run of 2^14 + 0 */
    }
    memcpy(many + at, "\xff\xd9", 2);
    uint64_t t0 = pp_now_ns();
    pp_status st = decode_one_corner(d, (struct bytes){many, at + 2}, &err);
    print_message("# %d scans of %d x %d took %.2f s: %s\n", SCANS, SIDE, SIDE,
                  (double)(pp_now_ns() - t0) / 1e9, err.text);
    assert_int_equal(st, PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "64 scans"));
    free(many);
    free(file.data);
    pp_decoder_destroy(d);
}

static struct bytes mutate(struct bytes file, struct pp_rng *r)
{
    size_t size = pp_rng_below(r, 4) ? file.size : 1 + pp_rng_below(r, file.size);
    uint8_t *copy = malloc(size);
    memcpy(copy, file.data, size);
    for (int n = between(r, 0, 6); n > 0; n--) {
        /* Half of the damage goes to the first bytes, where the headers are. */
        size_t at = pp_rng_below(r, pp_rng_below(r, 2) && size > 700 ? 700 : size);
        copy[at] = pp_rng_below(r, 3) ? (uint8_t)pp_rng_next(r)
                                      : copy[at] ^ (uint8_t)(1u << pp_rng_below(r, 8));
    }
    return (struct bytes){copy, size};
}

/* Whatever the damage: an error with a sentence or pixels that can be read, and the decoder goes on with the
 * next file. */
static void damaged_files_never_crash(void **state)
{
    struct pp_decoder *d = make_decoder(1);
    struct pp_rng r = pp_rng_key(77, 0, 0, 0);
    struct jpeg_kind sound_kind = {
        .width = 40, .height = 40, .space = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}};
    struct bytes sound = encode_jpeg(&sound_kind, 1);
    int width, height, refused = 0, decoded = 0;
    uint8_t *whole = decode_jpeg_whole(sound, &width, &height);
    uint8_t noise[48 * 32 * 3];
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)pp_rng_next(&r);
    for (int round = 0; round < 150; round++) {
        struct jpeg_kind k = random_kind(&r, round % N_SAMPLINGS);
        k.orientation = between(&r, 0, 8);
        struct bytes file = round % 6 == 5
                                ? encode_png(48, 32, 8, PNG_COLOR_TYPE_RGB, round & 1, noise, 48 * 3, NULL, 0)
                                : encode_jpeg(&k, (uint64_t)round);
        for (int i = 0; i < 24; i++) {
            struct bytes bad = mutate(file, &r);
            struct pp_image_info info;
            struct pp_pixels p;
            struct pp_err err = {0};
            pp_status status = pp_decoder_open(d, &(struct pp_encoded){.data = bad.data, .size = bad.size},
                                               &info, &err);
            if (status == PP_OK && (int64_t)info.width * info.height <= 1 << 20) {
                struct pp_rect crop = random_rect(&r, info.width, info.height);
                status = pp_decoder_region(d, crop, &p, &err);
                volatile unsigned sum = 0;
                for (int y = 0; status == PP_OK && y < p.height; y++)
                    sum += p.data[(size_t)y * p.stride] +
                           p.data[(size_t)y * p.stride + (size_t)(p.width - 1) * 4];
            }
            if (status != PP_OK) {
                refused++;
                assert_int_equal(err.code, status);
                assert_true(strlen(err.text) > 10);
            } else {
                decoded++;
            }
            free(bad.data);
        }
        check_region(d, sound, whole, width, height, (struct pp_rect){5, 5, 20, 20}, "after damaged files");
        free(file.data);
    }
    print_message("# %d damaged files refused, %d decoded\n", refused, decoded);
    assert_true(refused > 500 && decoded > 500);
    free(whole);
    free(sound.data);
    pp_decoder_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(region_equals_crop_of_full_decode),
        cmocka_unit_test(every_small_crop),
        cmocka_unit_test(early_end_with_end_marker),
        cmocka_unit_test(several_regions_of_one_image),
        cmocka_unit_test(region_outside_is_refused),
        cmocka_unit_test(header_facts),
        cmocka_unit_test(exif_rotation_in_regions),
        cmocka_unit_test(png_kinds),
        cmocka_unit_test(what_is_not_an_image),
        cmocka_unit_test(truncation_is_seen_from_any_crop),
        cmocka_unit_test(missing_end_marker_and_trailing_bytes),
        cmocka_unit_test(dimension_bombs),
        cmocka_unit_test(kinds_that_are_not_decoded),
        cmocka_unit_test(too_many_scans),
        cmocka_unit_test(many_scans_of_a_large_image),
        cmocka_unit_test(a_decode_stays_within_its_memory),
        cmocka_unit_test(damaged_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
