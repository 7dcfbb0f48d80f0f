/* The WebP decoder: any crop of a still image against libwebp's plain decode of all of it, orientation,
 * truncation, damage, the memory limit. Skipped by name in a build without libwebp. */
#include "probe/base/rng.h"
#include "probe/decode/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if PP_HAVE_WEBP
#include <webp/decode.h>
#include <webp/encode.h>

#define MIB ((size_t)1 << 20)

struct file {
    uint8_t *data;
    size_t size;
};

enum kind { LOSSY, LOSSY_ALPHA, LOSSLESS, KINDS };

/* A field with noise; alpha goes from 0 to 255, so that a blend would show. */
static struct file encode(enum kind kind, int width, int height, uint64_t seed)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, 0);
    uint8_t *rgba = malloc((size_t)width * (size_t)height * 4), *to = rgba;
    struct file f = {0};
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, to += 4) {
            to[0] = (uint8_t)(x * 3 + (int)pp_rng_below(&r, 20));
            to[1] = (uint8_t)(y * 5);
            to[2] = (uint8_t)((x + y) * 2);
            to[3] = kind == LOSSY ? 255 : (uint8_t)(x * 7);
        }
    f.size = kind == LOSSLESS ? WebPEncodeLosslessRGBA(rgba, width, height, width * 4, &f.data)
                              : WebPEncodeRGBA(rgba, width, height, width * 4, 70, &f.data);
    free(rgba);
    assert_true(f.size > 0);
    return f;
}

static struct pp_decoder *make(int rotate, size_t limit)
{
    struct pp_decoder *d;
    struct pp_decoder_opts o = {.exif_rotate = rotate, .memory_limit = limit};
    assert_int_equal(pp_decoder_create(&o, &d, NULL), PP_OK);
    return d;
}

static pp_status open_file(struct pp_decoder *d, struct file f, struct pp_image_info *info,
                           struct pp_err *err)
{
    return pp_decoder_open(d, &(struct pp_encoded){.data = f.data, .size = f.size}, info, err);
}

static void every_crop_is_of_the_whole(void **state)
{
    struct pp_decoder *d = make(0, 0);
    struct pp_rng r = pp_rng_key(3, 0, 0, 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct file f = encode((enum kind)kind, 73, 51, 9);
        int width, height;
        uint8_t *whole = WebPDecodeRGBA(f.data, f.size, &width, &height);
        struct pp_image_info info;
        struct pp_pixels p;
        assert_int_equal(open_file(d, f, &info, NULL), PP_OK);
        assert_string_equal(info.format, "WebP");
        assert_int_equal(info.width, 73);
        assert_int_equal(info.height, 51);
        assert_int_equal(info.channels, kind == LOSSY ? 3 : 4);
        for (int i = 0; i < 40; i++) {
            struct pp_rect c = {.x = (int)pp_rng_below(&r, 73), .y = (int)pp_rng_below(&r, 51)};
            c.width = 1 + (int)pp_rng_below(&r, (uint64_t)(73 - c.x));
            c.height = 1 + (int)pp_rng_below(&r, (uint64_t)(51 - c.y));
            assert_int_equal(pp_decoder_region(d, c, &p, NULL), PP_OK);
            for (int y = 0; y < c.height; y++)
                for (int x = 0; x < c.width; x++)
                    assert_memory_equal(p.data + (size_t)y * p.stride + (size_t)x * 4,
                                        whole + ((size_t)(c.y + y) * 73 + (size_t)(c.x + x)) * 4, 3);
        }
        WebPFree(whole);
        WebPFree(f.data);
    }
    pp_decoder_destroy(d);
}

/* The same image in a container that says how it is to be shown; "Exif" before the block as some write it. */
static struct file with_orientation(struct file f, int orientation, int named)
{
    static const uint8_t tiff[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                   0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    uint8_t vp8x[18] = {'V', 'P', '8', 'X', 10, 0, 0, 0, 0x08 /* EXIF */, 0, 0, 0, 72, 0, 0, 50, 0, 0};
    size_t image = f.size - 12, exif = sizeof(tiff) + (named ? 6 : 0), size = 12 + 18 + image + 8 + exif;
    uint8_t *data = WebPMalloc(size), *to = data + 12;
    memcpy(data, "RIFF....WEBP", 12);
    for (int i = 0; i < 4; i++)
        data[4 + i] = (uint8_t)((size - 8) >> 8 * i);
    memcpy(to, vp8x, 18);
    memcpy(to + 18, f.data + 12, image);
    to += 18 + image;
    memcpy(to, "EXIF\0\0\0\0", 8);
    to[4] = (uint8_t)exif;
    if (named)
        memcpy(to + 8, "Exif\0\0", 6);
    memcpy(data + size - sizeof(tiff), tiff, sizeof(tiff));
    data[size - sizeof(tiff) + 18] = (uint8_t)orientation;
    return (struct file){data, size};
}

static void orientation_is_that_of_its_exif_chunk(void **state)
{
    struct file plain = encode(LOSSY, 73, 51, 1);
    struct pp_decoder *d = make(1, 0);
    struct pp_image_info info;
    struct pp_pixels p;
    for (int o = 1; o <= 8; o++)
        for (int named = 0; named < 2; named++) {
            struct file f = with_orientation(plain, o, named);
            assert_int_equal(open_file(d, f, &info, NULL), PP_OK);
            assert_int_equal(info.orientation, o);
            assert_int_equal(info.width, o >= 5 ? 51 : 73);
            assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, info.width, info.height}, &p, NULL),
                             PP_OK);
            WebPFree(f.data);
        }
    WebPFree(plain.data);
    pp_decoder_destroy(d);
}

static void what_is_cut_is_called_truncated(void **state)
{
    struct pp_decoder *d = make(0, 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct file f = encode((enum kind)kind, 73, 51, 2);
        for (size_t n = 1; n < f.size; n += n < 64 ? 1 : 37) {
            struct pp_image_info info;
            struct pp_pixels p;
            struct pp_err err = {0};
            uint8_t *cut = malloc(n); /* its own block, so that reading past the end is seen */
            memcpy(cut, f.data, n);
            pp_status st = open_file(d, (struct file){cut, n}, &info, &err);
            if (st == PP_OK)
                st = pp_decoder_region(d, (struct pp_rect){0, 0, 1, 1}, &p, &err);
            if (st != PP_E_CORRUPT || !strstr(err.text, "truncated"))
                fail_msg("kind %d, %zu of %zu bytes: %s: %s", kind, n, f.size, pp_status_name(st), err.text);
            free(cut);
        }
        WebPFree(f.data);
    }
    pp_decoder_destroy(d);
}

static void an_animation_is_refused(void **state)
{
    static uint8_t head[] = "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0";
    struct pp_decoder *d = make(0, 0);
    struct pp_image_info info;
    struct pp_err err = {0};
    assert_int_equal(open_file(d, (struct file){head, sizeof(head) - 1}, &info, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "animated"));
    pp_decoder_destroy(d);
}

/* A few hundred bytes that ask for megabytes. */
static void a_decode_stays_within_its_memory(void **state)
{
    enum { SIDE = 1024 };
    uint8_t *zeros = calloc(SIDE * SIDE, 4);
    struct file lossless = {0}, lossy = {0};
    lossless.size = WebPEncodeLosslessRGBA(zeros, SIDE, SIDE, SIDE * 4, &lossless.data);
    lossy.size = WebPEncodeRGB(zeros, SIDE, SIDE, SIDE * 3, 50, &lossy.data);
    const struct {
        struct file file;
        size_t limit;
        pp_status status;
    } rows[] = {
        {lossless, 9 * MIB, PP_OK}, /* 4 bytes a pixel, twice */
        {lossless, 7 * MIB, PP_E_UNSUPPORTED},
        {lossy, 5 * MIB, PP_OK},
        {lossy, 3 * MIB, PP_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_decoder *d = make(0, rows[i].limit);
        struct pp_image_info info;
        struct pp_pixels p;
        struct pp_err err = {0};
        assert_int_equal(open_file(d, rows[i].file, &info, &err), PP_OK);
        pp_status st = pp_decoder_region(d, (struct pp_rect){0, 0, 8, 8}, &p, &err);
        if (st != rows[i].status || (st != PP_OK && !strstr(err.text, "decompression bomb: needs ")))
            fail_msg("row %zu: %s: %s", i, pp_status_name(st), err.text);
        pp_decoder_destroy(d);
    }
    free(zeros);
    WebPFree(lossless.data);
    WebPFree(lossy.data);
}

/* Whatever the damage: a sentence, or pixels that can be read; and the next sound file decodes. */
static void damaged_files_never_crash(void **state)
{
    struct pp_decoder *d = make(1, 0);
    struct pp_rng r = pp_rng_key(5, 0, 0, 0);
    int refused = 0, decoded = 0;
    for (int round = 0; round < 600; round++) {
        struct file f = encode((enum kind)(round % KINDS), 33, 27, (uint64_t)round);
        struct pp_image_info info;
        struct pp_pixels p;
        struct pp_err err = {0};
        for (uint64_t n = pp_rng_below(&r, 4); n < 4; n++)
            f.data[pp_rng_below(&r, f.size)] = (uint8_t)pp_rng_next(&r);
        pp_status st = open_file(d, f, &info, &err);
        if (st == PP_OK)
            st = pp_decoder_region(d, (struct pp_rect){0, 0, info.width, info.height}, &p, &err);
        if (st == PP_OK)
            decoded++;
        else
            refused++;
        if (st != PP_OK)
            assert_true(err.code == st && strlen(err.text) > 10);
        WebPFree(f.data);
    }
    assert_true(refused > 50 && decoded > 50);
    pp_decoder_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_crop_is_of_the_whole),
        cmocka_unit_test(orientation_is_that_of_its_exif_chunk),
        cmocka_unit_test(what_is_cut_is_called_truncated),
        cmocka_unit_test(an_animation_is_refused),
        cmocka_unit_test(a_decode_stays_within_its_memory),
        cmocka_unit_test(damaged_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
/* Without the library there is no row: a WebP is refused with what to install. */
static void a_build_without_libwebp_says_so(void **state)
{
    struct pp_decoder *d;
    struct pp_image_info info;
    struct pp_err err = {0};
    const struct pp_encoded in = {.data = (const uint8_t *)"RIFF\x10\0\0\0WEBPVP8 ", .size = 16};
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){0}, &d, NULL), PP_OK);
    assert_int_equal(pp_decoder_open(d, &in, &info, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "libwebp-dev"));
    pp_decoder_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_build_without_libwebp_says_so)};
    print_message("# the decoding of WebP is skipped: built without libwebp\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
